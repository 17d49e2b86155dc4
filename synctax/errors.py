"""What can go wrong with a user's data or request, as types that carry an exit code.

`ValueError` is for a wrong call of a function; a `SynctaxError` is for data that cannot
be read or a request that the data cannot serve. Every message says what was asked, what
was found and what to do next.
"""


class SynctaxError(Exception):
    """The request cannot be served with this data.

    Of URLs in its text, what gives access is left out (`synctax.urls`): errors end in logs.
    """

    exit_code = 1

    def __init__(self, *args: object) -> None:
        super().__init__(*map(_shown, args))


def _shown(value: object) -> object:
    if isinstance(value, str) and "://" in value:
        from synctax.urls import without_secrets  # seldom needed, and of patterns

        return without_secrets(value)
    return value


class BadInputError(SynctaxError):
    """A file or folder is not what it should be."""

    exit_code = 3


class GateFailedError(SynctaxError):
    """A limit that the user set was exceeded."""

    exit_code = 4


class FitError(SynctaxError):
    """The data do not carry the fit that was asked for: too few, all equal, no optimum."""
