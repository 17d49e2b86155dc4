"""Connects a Dask scheduler where one is asked for; only then what it takes is imported."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from synctax.trace.pool import Workers

if TYPE_CHECKING:
    from distributed import Client


@contextmanager
def on_scheduler(workers: Workers, scheduler: "str | Client | None") -> Iterator[Workers]:
    """Give what reads files: `workers`, or a scheduler to which it is connected meanwhile.

    Raises
    ------
    ValueError
        If `workers` is given for a scheduler whose workers run already.
    """
    if scheduler is None:
        yield workers
    elif workers is not None and not isinstance(workers, int):
        raise ValueError("workers is a Scheduler already; leave out scheduler")
    else:
        from synctax.trace.dask_pool import Scheduler

        with Scheduler(scheduler, processes=workers) as found:
            yield found
