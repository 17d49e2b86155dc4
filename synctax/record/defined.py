"""Replace a function of a script as soon as it is defined, before it is first called."""

import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

from synctax.record.bootstrap.sitecustomize import AfterImport

Wrap = Callable[[Callable[..., Any]], Callable[..., Any]]
Names = dict[str, Any]

_SCRIPTS = ("__main__", "__mp_main__")
"""Modules that a script is: when it runs, and once more in spawned children."""


@dataclass(frozen=True, slots=True)
class Target:
    """A function: `train:step`, `train:Trainer.step`, `__main__:step`.

    Parameters
    ----------
    module : str
        Its module as it is imported; of the script itself `__main__` or its file's name.
    path : str
        The function in the module, with its classes.
    """

    module: str
    path: str

    @classmethod
    def parse(cls, text: str) -> "Target":
        """Read `module:function`."""
        module, _, path = text.partition(":")
        return cls(module, path)

    def __str__(self) -> str:
        return f"{self.module}:{self.path}"

    @property
    def first(self) -> str:
        """What the module itself has to define."""
        return self.path.partition(".")[0]

    def is_in(self, names: Names) -> bool:
        """Whether these are the names of the target's module."""
        own = names.get("__name__")
        if own == self.module:
            return True
        if own not in _SCRIPTS:
            return False
        spec = getattr(names.get("__spec__"), "name", None)  # of `python -m`
        file = names.get("__file__") or ""
        return self.module in ("__main__", spec, Path(file).stem)

    def replace(self, names: Names, wrap: Wrap) -> None:
        """Replace the function among the names of its module.

        Raises
        ------
        AttributeError
            If there is none.
        TypeError
            If it is something else.
        """
        *classes, name = self.path.split(".")
        if not classes:
            if name not in names:
                raise AttributeError(f"{self.module} has no {name}")
            names[name] = _wrapped(names[name], wrap)
            return
        owner: Any = SimpleNamespace(**names)
        shown = self.module
        for part in classes:
            owner, shown = _attribute(owner, part, shown), part
        _attribute(owner, name, shown)
        setattr(owner, name, _wrapped(inspect.getattr_static(owner, name), wrap))


def _attribute(owner: Any, name: str, shown: str) -> Any:
    if not hasattr(owner, name):
        raise AttributeError(f"{shown} has no {name}")
    return getattr(owner, name)


def _wrapped(found: Any, wrap: Wrap) -> Any:
    if isinstance(found, (staticmethod, classmethod)):
        return type(found)(wrap(found.__func__))
    if not callable(found):
        raise TypeError(f"it is no function but of type {type(found).__name__}")
    return wrap(found)


def when_defined(target: Target, wrap: Wrap, tell: Callable[[str], None]) -> None:
    """Replace a function now, or as soon as its module defines it.

    Parameters
    ----------
    target : Target
    wrap : callable
        Takes the function, returns what replaces it.
    tell : callable
        Told what is missing.
    """

    def replace(names: Names) -> None:
        try:
            target.replace(names, wrap)
        except (AttributeError, TypeError) as error:
            tell(f"{target} cannot be counted: {error}")

    frame = _running(target)
    if frame is not None:
        # a module that is running: a script above all, and what imports torch
        if target.first in frame.f_globals:
            replace(frame.f_globals)
        elif target.first in frame.f_code.co_names:
            tell(f"{target} was not defined")
            _once_defined(target.first, frame, replace, tell)
        else:
            tell(f"{target.module} defines no {target.first}")
        return
    modules = [getattr(one, "__dict__", {}) for one in list(sys.modules.values())]
    names = next(filter(target.is_in, modules), None)
    if names is not None:
        replace(names)
        return
    tell(f"{target.module} was never imported")
    AfterImport(target.module, lambda module: replace(vars(module))).install()


def _running(target: Target) -> FrameType | None:
    """Find the frame in which the target's module is being run."""

    def frames(frame: FrameType | None) -> Iterator[FrameType]:
        while frame is not None:
            yield frame
            frame = frame.f_back

    for frame in frames(sys._getframe()):  # noqa: SLF001 - the only way to a frame
        if frame.f_code.co_name == "<module>" and target.is_in(frame.f_globals):
            return frame
    return None


def _once_defined(
    first: str,
    frame: FrameType,
    call: Callable[[Names], None],
    tell: Callable[[str], None],
) -> None:
    """Look before each line of a module whether it has defined a name.

    Until then every call in this thread costs a call of `others` more.
    """
    if sys.gettrace() is not None:
        tell("a debugger or a measurement of coverage hides where functions are defined")
        return

    def line(frame: FrameType, _event: str, _argument: Any) -> Any:
        if first not in frame.f_globals:
            return line
        sys.settrace(None)
        frame.f_trace = None
        call(frame.f_globals)
        return None

    def others(_frame: FrameType, _event: str, _argument: Any) -> None:
        return None

    frame.f_trace = line
    sys.settrace(others)
