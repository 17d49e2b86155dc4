"""What one file's call needs of a function that knows of all files."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from synctax.trace.pool_worker import Function, OnBytes

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class OverPaths(Generic[T]):
    """Calls `function(path, on_bytes)` of the path with that number."""

    function: Callable[[str, OnBytes], T]
    paths: Sequence[str]

    def __call__(self, at: int, on_bytes: OnBytes) -> T:
        """Call the function on a path."""
        return self.function(self.paths[at], on_bytes)

    def own(self, at: int) -> Function[T]:
        """Give what calls it on one path, and knows no more than that needs."""
        return partial(_of_one, narrowed(self.function, self.paths[at]), self.paths[at])


def _of_one(
    function: Callable[[str, OnBytes], T], path: str, _at: int, on_bytes: OnBytes
) -> T:
    return function(path, on_bytes)


def narrowed(function: Callable[..., T], path: str) -> Callable[..., T]:
    """Leave in mappings by path, that are bound to a function, what belongs to one path.

    All of it to every worker would make what travels grow with the square of the ranks.

    >>> narrowed(partial(print, sep={"a": 1, "b": 2}), "b").keywords
    {'sep': {'b': 2}}
    """
    if not isinstance(function, partial):
        return function

    def own(value: Any) -> Any:
        if isinstance(value, Mapping) and path in value:
            return {path: value[path]}
        return narrowed(value, path) if isinstance(value, partial) else value

    keywords = {name: own(value) for name, value in function.keywords.items()}
    return partial(narrowed(function.func, path), *map(own, function.args), **keywords)
