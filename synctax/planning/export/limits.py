"""What no framework runs, and how it is refused."""

from collections.abc import Collection, Iterable, Iterator

import numpy as np

from synctax.errors import SynctaxError
from synctax.planning.divisibility import Room, split_evenly
from synctax.planning.layout import Layout, Layouts
from synctax.planning.shape import Model
from synctax.planning.training import Training


def refuse(framework: str, layout: Layout, reasons: Iterable[str]) -> None:
    """Refuse a layout if there is a reason to.

    Parameters
    ----------
    framework : str
    layout : Layout
    reasons : iterable of str

    Raises
    ------
    SynctaxError
        With all reasons, if there are any.
    """
    found = list(reasons)
    if found:
        raise SynctaxError(f"{framework} cannot run {layout}: {'; '.join(found)}")


def plan_limits(
    model: Model, training: Training, layout: Layout, *, other: Collection[str] = ()
) -> Iterator[str]:
    """Say why a plan eliminates a layout: the whole numbers that do not divide.

    Parameters
    ----------
    model : Model
    training : Training
    layout : Layout
    other : collection of str
        Names of rules that the framework has otherwise.

    Yields
    ------
    str
        A reason.
    """
    at = np.zeros(1, np.int64)
    for rule in split_evenly(Room(model, training, layout.gpus), Layouts.of([layout])):
        if rule.broken[0] and rule.name not in other:
            yield rule.reason(at)[0]
