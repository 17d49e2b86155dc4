"""From a name to a policy: built in, installed, or a function of a module or a file."""

import inspect
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib import import_module
from importlib.machinery import SourceFileLoader
from importlib.metadata import entry_points
from importlib.util import find_spec
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Final, TypeVar

from synctax.arrays import I64
from synctax.cluster.choices import ALIASES, POLICIES
from synctax.cluster.policies.built_in import built_in
from synctax.cluster.policies.fault import described
from synctax.cluster.policies.policy import ClusterView, JobView, Policy
from synctax.errors import SynctaxError
from synctax.planning.possible import ImpossibleError

GROUP: Final = "synctax.policies"
"""Entry points by which packages offer policies."""

_ARGUMENTS: Final = ("free", "job", "state")
_EXPECTED: Final = f"a function of {', '.join(_ARGUMENTS)}"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Own:
    """A policy of somebody's own, under the name by which it was found.

    What it prints goes to stderr: stdout is for results, which others may read.

    Parameters
    ----------
    name : str
    function : Policy
    """

    name: str
    function: Policy

    def __call__(
        self, free: I64, job: JobView, state: ClusterView, /
    ) -> Mapping[int, int] | None:
        """Place a job, as any policy does."""
        with redirect_stdout(sys.stderr):
            return self.function(free, job, state)


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
        return found if found.name == name else replace(found, name=name)
    where, _, attribute = name.rpartition(":")
    if where and attribute:
        found_there = _attribute(name, _module(name, where), attribute)
        return _callable(name, found_there)
    return _callable(name, _installed(name))


def installed() -> tuple[str, ...]:
    """Name the policies that installed packages offer."""
    return tuple(sorted({point.name for point in entry_points(group=GROUP)}))


def named(name: str) -> bool:
    """Tell whether a policy of that name is built in or installed; runs no code of it."""
    return built_in(name) is not None or name in installed()


def names_hint(name: str) -> tuple[str, str]:
    """Say which names there are, and which of them is near another; "" where none is."""
    known = (*POLICIES, *ALIASES, *installed())
    plain = {one.replace("-", ""): one for one in known}
    asked = name.lower().replace("-", "").replace("_", "").replace(" ", "")
    near = get_close_matches(asked, plain, n=1, cutoff=0.75)
    return f"one of {', '.join(known)}", plain[near[0]] if near else ""


def _installed(name: str) -> object:
    points = {point.value: point for point in entry_points(group=GROUP, name=name)}
    if not points:
        known, near = names_hint(name)
        meant = f"; did you mean {near}?" if near else ""
        expected = f"{known}, or package.module:function, or file.py:function{meant}"
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
        here = Path(f"{where.replace('.', '/')}.py")
        if here.is_file() and not _can_be_imported(where):
            function = name.rpartition(":")[2]
            raise SynctaxError(
                f"policy {name}: there is no module {where} to import; did you mean "
                f"{here}:{function}?"
            )
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


def _can_be_imported(module: str) -> bool:
    top = module.partition(".")[0]
    return top in sys.modules or find_spec(top) is not None


def _loaded(name: str, load: Callable[[], T]) -> T:
    try:
        with redirect_stdout(sys.stderr):
            return load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # sys.exit() at import would end without a result
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
    return Own(name, made)


def _takes(function: Callable[..., object]) -> bool:
    """Tell whether a function can be called with three values."""
    try:
        inspect.signature(function).bind(*_ARGUMENTS)
    except TypeError:
        return False
    except ValueError:  # compiled code may not tell what it takes
        return True
    return True
