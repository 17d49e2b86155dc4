"""Which call launched what on the GPU, and how far the host's clock is off the GPU's."""

from dataclasses import dataclass

import numpy as np

from synctax.arrays import I8, I64, NS_PER_US, Bool
from synctax.collectives.link import launching
from synctax.graph.model import Provenance
from synctax.trace.model import EventKind, Events, Note

OUTLIER_NS = 100 * NS_PER_US
"""A launch that is this much more inverted than 99 % of all is damaged, not skew."""

NEVER_NS = int(np.iinfo(np.int64).min)
"""Stands for the time of a launch of which nothing is known."""


@dataclass(frozen=True, slots=True)
class Launches:
    """The launch of each GPU event.

    Parameters
    ----------
    event : (g,) int64
        GPU events (kernels, copies, memsets), indices into `Events`, in order of start.
    call : (g,) int64
        The launching call; the operator around it where the call is missing; -1 where
        neither is known.
    provenance : (g,) int8
        `RECORDED` for a call, `INFERRED` for an operator.
    inverted : (g,) bool
        The call starts after what it launched, on aligned clocks: it launches nothing.
    skew_ns : int
        What has to be added to host times, 0 or less.
    notes : tuple of Note
    """

    event: I64
    call: I64
    provenance: I8
    inverted: Bool
    skew_ns: int
    notes: tuple[Note, ...]

    @property
    def by_call(self) -> Bool:
        """Whether the launching call itself is known, (g,) bool."""
        by_call: Bool = (self.call >= 0) & (self.provenance == Provenance.RECORDED)
        return by_call

    def call_start_ns(self, events: Events) -> I64:
        """Start of each call on the GPU's clock, (g,) int64; `NEVER_NS` if unknown."""
        start = events.start_ns[self.call] + self.skew_ns
        return np.where((self.call >= 0) & ~self.inverted, start, NEVER_NS)


def launches(events: Events) -> Launches:
    """Link GPU events to their launches; estimate the skew of the clocks before judging.

    Host and GPU clocks of a rank can differ by tens of µs, so that kernels seem to start
    before their launch. Nothing starts before it is launched: the largest inversion is
    the least skew that explains them all. Without an inversion the skew cannot be told
    from the time that a launch takes, and is taken for 0.

    Parameters
    ----------
    events : Events

    Returns
    -------
    Launches
    """
    gpu = np.flatnonzero(
        (events.kind == EventKind.KERNEL)
        | (events.kind == EventKind.MEMCPY)
        | (events.kind == EventKind.MEMSET)
    )
    call = launching(events, gpu)
    by_call = (call >= 0) & (events.kind[call] == EventKind.RUNTIME)
    delay = events.start_ns[gpu] - events.start_ns[call]
    skew_ns = _skew_ns(delay[by_call])
    inverted = (call >= 0) & (delay < skew_ns)
    provenance = np.where(by_call, Provenance.RECORDED, Provenance.INFERRED)
    counted = (
        (
            "launch_missing",
            int((call < 0).sum()),
            "events on the GPU without a recorded launch",
        ),
        (
            "launch_by_operator",
            int(((call >= 0) & ~by_call).sum()),
            "the launching call is missing, the operator around it stands in",
        ),
        ("launch_inverted", int(inverted.sum()), "launches that start after their kernel"),
    )
    notes = [Note(reason, n, detail) for reason, n, detail in counted if n]
    if skew_ns:
        detail = f"the host's clock was {-skew_ns / 1000:.0f} µs ahead of its GPU's"
        notes.append(Note("host_clock_skew", 1, detail))
    return Launches(gpu, call, provenance.astype(np.int8), inverted, skew_ns, tuple(notes))


def _skew_ns(delay_ns: I64) -> int:
    """Largest inversion, but for launches far beyond all others: one of two is that."""
    if not delay_ns.size or delay_ns.min() >= 0:
        return 0
    beyond = min(max(1, delay_ns.size // 100), delay_ns.size - 1)
    usual = np.partition(delay_ns, beyond)[beyond]
    sane = delay_ns[delay_ns >= usual - OUTLIER_NS]
    return int(min(0, sane.min()))
