"""Where steps begin and end in a script that was not changed.

Steps are those of an optimizer, the calls of a function, or the whole run is one. Torch
has been imported when these are called.
"""

import functools
import inspect
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any, Protocol

from synctax.record.bootstrap.sitecustomize import AfterImport
from synctax.record.defined import Target, when_defined


class Steps(Protocol):
    """What is told of steps; the process becomes a rank with the first call."""

    over: bool
    """Whether nothing more is to be told: a step then costs next to nothing more."""

    def begin(self) -> None:
        """The first step begins; told once."""

    def step(self) -> None:
        """A step has ended."""


def _nothing(*_: object) -> None:
    """Stand where nothing is to be called."""


def by_optimizer(steps: Steps) -> None:
    """End a step with each step of the optimizer that has taken most.

    Of several that take turns that is the first, and the others end none. One that a
    script only tries beforehand is overtaken, and the count is then that of the other, as
    on ranks that did not try. Should the one that counts be deleted, the next to step
    takes its place.
    """
    # not by the optimizer itself: it need not be hashable
    taken: dict[int, tuple[Callable[[], object], int]] = {}
    most = 0
    leader: Callable[[], object] = lambda: None  # noqa: E731 - what a dead reference gives
    lock = threading.Lock()

    def stepped(optimizer: object) -> None:
        nonlocal most, leader
        with lock:
            it, number = taken.get(id(optimizer), (leader, 0))
            if leader() is None:
                number = most
            elif it() is not optimizer:  # one that is gone had the same address
                number = 0
            number += 1
            taken[id(optimizer)] = weakref.ref(optimizer), number
            if number <= most:
                return
            most, leader = number, weakref.ref(optimizer)
        steps.step()

    _around_optimizers(steps, after=stepped)


class _Nested(threading.local):
    """How deep this thread is in steps of optimizers that call each other."""

    depth = 0


def _around_optimizers(
    steps: Steps,
    before: Callable[[], None] = _nothing,
    after: Callable[[object], None] = _nothing,
) -> None:
    """Call functions before and after an optimizer steps, but not where one calls another.

    Torch's own hooks run inside the range `Optimizer.step`: a profiler's step that ended
    there would lie across it.
    """
    from torch.optim import Optimizer

    hook = Optimizer.profile_hook_step  # makes what replaces `step` of each class
    nested = _Nested()

    def enter() -> None:
        if steps.over:
            return
        if not nested.depth:
            before()
        nested.depth += 1

    def leave(optimizer: object | None) -> None:
        if steps.over:
            return
        nested.depth -= 1
        if not nested.depth and optimizer is not None:
            after(optimizer)

    entered, left = _untraced(enter), _untraced(leave)

    @functools.wraps(hook)
    def profile_hook_step(step: Callable[..., Any]) -> Callable[..., Any]:
        hooked = hook(step)

        @functools.wraps(hooked)
        def call(optimizer: object, *args: Any, **kwargs: Any) -> Any:
            entered()
            try:
                result = hooked(optimizer, *args, **kwargs)
            except BaseException:
                left(None)  # a step that failed is none
                raise
            left(optimizer)
            return result

        return call

    Optimizer.profile_hook_step = staticmethod(profile_hook_step)


def _untraced(function: Callable[..., None]) -> Callable[..., None]:
    """Make a function that torch.compile calls as it is, should it meet it."""
    chosen = function

    def call(*args: Any) -> None:
        chosen(*args)

    def choose(dynamo: Any) -> None:
        nonlocal chosen
        chosen = dynamo.disable(function)

    # only who compiles imports it, for a second
    AfterImport("torch._dynamo", choose).install()
    return call


def by_function(target: Target, steps: Steps, tell: Callable[[str], None]) -> None:
    """End a step whenever a function returns; a call that raises ends none.

    A coroutine returns when it has been awaited, a generator when it is exhausted.

    Parameters
    ----------
    target : Target
        The function; it is replaced as soon as it is defined.
    steps : Steps
    tell : callable
        Told what is missing, and "" once nothing is.
    """
    compiler = sys.modules.get("torch.compiler")
    is_compiling = getattr(compiler, "is_compiling", lambda: False)

    def passes() -> bool:
        return is_compiling() or steps.over  # one graph may be all that is wanted

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        tell(f"{target} was never called, or within torch.compile only")
        return _counted(function, steps, passes)

    when_defined(target, counted, tell)


def _counted(
    function: Callable[..., Any], steps: Steps, passes: Callable[[], bool]
) -> Callable[..., Any]:
    """Count the calls of a function, which end when it has done what it does.

    Raises
    ------
    TypeError
        If nothing tells when that is.
    """
    if inspect.isasyncgenfunction(function):
        raise TypeError("it is an asynchronous generator")
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            if passes():
                return await function(*args, **kwargs)
            steps.begin()
            result = await function(*args, **kwargs)
            steps.step()
            return result

        return awaited
    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def generated(*args: Any, **kwargs: Any) -> Any:
            if passes():
                return (yield from function(*args, **kwargs))
            steps.begin()
            result = yield from function(*args, **kwargs)
            steps.step()
            return result

        return generated

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if passes():
            return function(*args, **kwargs)
        steps.begin()
        result = function(*args, **kwargs)
        steps.step()
        return result

    return call


def by_run(steps: Steps) -> None:
    """Begin with the process group, the first forward pass, or an optimizer's step."""
    from torch.nn.modules.module import register_module_forward_pre_hook

    def begin(*_: Any) -> None:
        if not _in_data_loader():
            forward.remove()
            steps.begin()

    forward = register_module_forward_pre_hook(begin)
    _around_optimizers(steps, before=begin)
    _after_init_process_group(begin)


def _in_data_loader() -> bool:
    # transforms of images are modules, too
    from torch.utils.data import get_worker_info

    return get_worker_info() is not None


def _after_init_process_group(begin: Callable[[], None]) -> None:
    groups = sys.modules.get("torch.distributed.distributed_c10d")
    original = getattr(groups, "init_process_group", None)
    if original is None:  # built without distributed
        return

    @functools.wraps(original)
    def init_process_group(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        begin()
        return result

    # modules that imported it by name, such as device_mesh, have it of their own
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "torch":
            names = vars(module)
            if names.get("init_process_group") is original:
                names["init_process_group"] = init_process_group
