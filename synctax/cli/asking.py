"""What options name is read: no such thing is wrong usage, a bad file is not."""

from collections.abc import Callable
from typing import TypeVar

import click

from synctax.errors import BadInputError, SynctaxError

Found = TypeVar("Found")


def read_named(option: str, read: Callable[[], Found]) -> Found:
    """Read what an option names.

    Raises
    ------
    BadParameter
        If there is no such thing.
    BadInputError
        If the file is bad.
    """
    try:
        return read()
    except BadInputError:
        raise
    except SynctaxError as error:
        raise bad_option(option, str(error)) from error


def bad_option(option: str, said: str) -> click.BadParameter:
    """Make the error of an option's value."""
    return click.BadParameter(said, click.get_current_context(), param_hint=option)
