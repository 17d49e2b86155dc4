"""From a name to a policy: built in, installed, or a function of a module or a file."""

import inspect
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import SourceFileLoader
from importlib.metadata import entry_points
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Final, TypeVar

from synctax.cluster.choices import ALIASES, POLICIES
from synctax.cluster.policies.built_in import built_in
from synctax.cluster.policies.fault import described
from synctax.cluster.policies.policy import Policy
from synctax.errors import SynctaxError
from synctax.planning.possible import ImpossibleError

GROUP: Final = "synctax.policies"
"""Entry points by which packages offer policies."""

_ARGUMENTS: Final = ("free", "job", "state")
_EXPECTED: Final = f"a function of {', '.join(_ARGUMENTS)}"

T = TypeVar("T")


def policy(name: str) -> Policy:
    """Find a policy.

    Parameters
    ----------
    name : str
        One that is built in, or another name of it; an entry point of group
        `synctax.policies` of an installed package; `package.module:function`; or
        `file.py:function`. In place of a function there may be a class: it is made anew
        with every call, so that a policy can remember what it did in one simulation.

    Returns
    -------
    Policy

    Raises
    ------
    ImpossibleError
        If no policy is called so.
    SynctaxError
        If the module or file cannot be read, has nothing of that name, or what it has
        cannot be called with free GPUs, a job and a state.

    Examples
    --------
    >>> import numpy as np
    >>> from synctax.cluster.jobs import simple_jobs
    >>> from synctax.cluster.policies.policy import JobView
    >>> job = JobView(simple_jobs([(0, 4, 100)]), 0)
    >>> policy("least-allocated")(np.array([3, 8, 5]), job, None)
    {1: 4}
    """
    found = built_in(name)
    if found is not None:
        return found
    where, _, attribute = name.rpartition(":")
    if where and attribute:
        found_there = _attribute(name, _module(name, where), attribute)
        return _callable(name, found_there)
    return _callable(name, _installed(name))


def installed() -> tuple[str, ...]:
    """Name the policies that installed packages offer."""
    return tuple(sorted({point.name for point in entry_points(group=GROUP)}))


def _installed(name: str) -> object:
    points = {point.value: point for point in entry_points(group=GROUP, name=name)}
    if not points:
        known = ", ".join((*POLICIES, *ALIASES, *installed()))
        expected = f"one of {known}, or package.module:function, or file.py:function"
        raise ImpossibleError("policy", name, expected)
    if len(points) > 1:
        values = " and ".join(sorted(points))
        raise SynctaxError(
            f"policy {name} is offered by several packages: {values}; "
            "name one of these in its place"
        )
    return _loaded(name, next(iter(points.values())).load)


def _module(name: str, where: str) -> ModuleType:
    if not where.endswith(".py"):
        return _loaded(name, lambda: import_module(where))
    path = Path(where)
    if not path.is_file():
        raise SynctaxError(f"policy {name}: there is no file {where}")
    return _loaded(name, lambda: _of_file(path))


def _of_file(path: Path) -> ModuleType:
    called = f"synctax policy {path.resolve()}"
    module = ModuleType(called)
    module.__file__ = str(path)
    # dataclasses look for the module of their fields' types here
    sys.modules[called] = module
    try:
        SourceFileLoader(called, str(path)).exec_module(module)
    except BaseException:
        del sys.modules[called]
        raise
    return module


def _loaded(name: str, load: Callable[[], T]) -> T:
    try:
        return load()
    except Exception as error:
        raise SynctaxError(f"policy {name} cannot be loaded: {described(error)}") from error


def _attribute(name: str, module: ModuleType, attribute: str) -> object:
    try:
        return attrgetter(attribute)(module)
    except AttributeError:
        there = [
            key
            for key, value in vars(module).items()
            if inspect.isfunction(value) and value.__module__ == module.__name__
        ]
        has = ", ".join(there) if there else "no functions"
        raise SynctaxError(
            f"policy {name}: there is no {attribute}; the module has {has}"
        ) from None


def _callable(name: str, found: object) -> Policy:
    made = _loaded(name, found) if inspect.isclass(found) else found
    if not callable(made):
        raise SynctaxError(
            f"policy {name} is {made!r:.80}, which cannot be called; expected {_EXPECTED}"
        )
    if not _takes(made):
        takes = inspect.signature(made)
        raise SynctaxError(f"policy {name} takes {takes}; expected {_EXPECTED}")
    policy: Policy = made
    return policy


def _takes(function: Callable[..., object]) -> bool:
    """Tell whether a function can be called with three values."""
    try:
        inspect.signature(function).bind(*_ARGUMENTS)
    except TypeError:
        return False
    except ValueError:  # compiled code may not tell what it takes
        return True
    return True
