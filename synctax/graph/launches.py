"""Which call launched what on the GPU, and how far the host's clock is off the GPU's."""

from dataclasses import dataclass

import numpy as np

from synctax.arrays import ABSENT, I8, I64, NS_PER_US, Bool
from synctax.collectives.link import Calls, launching
from synctax.graph.lookup import settled
from synctax.graph.model import Provenance
from synctax.notes import Note
from synctax.trace.model import EventKind, Events

EARLY_NS = 200_000 * NS_PER_US
"""No queue of launches is this long all the time."""

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
        GPU events (kernels, copies, memsets), indices into `Events`, in order of start;
        of one start in order of launch.
    call : (g,) int64
        The launching call; the operator around it where the call is missing; -1 where
        neither is known.
    provenance : (g,) int8
        `RECORDED` for a call, `INFERRED` for an operator.
    inverted : (g,) bool
        The call starts after what it launched, on aligned clocks: it launches nothing.
    turn : (n,) int64
        Place of each event of the trace in the order of calls; see `call_order`.
    calls : Calls
        All calls of the trace, to look up more of them.
    skew_ns : int
        What has to be added to host times, 0 or less.
    notes : tuple of Note
    """

    event: I64
    call: I64
    provenance: I8
    inverted: Bool
    turn: I64
    calls: Calls
    skew_ns: int
    notes: tuple[Note, ...]

    @property
    def by_call(self) -> Bool:
        """Whether the launching call itself is known, (g,) bool."""
        by_call: Bool = (self.call >= 0) & (self.provenance == Provenance.RECORDED)
        return by_call

    @property
    def call_turn(self) -> I64:
        """Place of each launching call in the order of calls, (g,); -1 if unknown."""
        return np.where((self.call >= 0) & ~self.inverted, self.turn[self.call], ABSENT)


def call_order(events: Events, calls: I64) -> I64:
    """Number events in the order in which they began.

    Where times are cut to whole µs, a call and what it is to precede often have one start.
    Then their correlation ids, which a profiler hands out as calls begin, tell the order;
    of what has none the order of the file.

    Parameters
    ----------
    events : Events
    calls : (c,) int64
        Indices into `events`.

    Returns
    -------
    (n,) int64
        Place of each event; starts never fall from one place to the next.
    """
    turn = np.arange(len(events), dtype=np.int64)
    key = events.correlation[calls]
    known = key > 0
    rows, key = (calls, key) if known.all() else (calls[known], key[known])
    order = settled(events.start_ns[rows], key)
    if order is not None:
        turn[rows[order]] = rows
    return turn


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
    calls = Calls.of(events)
    turn = call_order(events, calls.event)
    gpu, call = _launched(events, calls, turn)
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
    elif by_call.any() and delay[by_call].min() > EARLY_NS:
        detail = (
            "every launch precedes its kernel by a fifth of a second or more: the host's "
            "clock may be behind the GPU's, which is not corrected"
        )
        notes.append(Note("host_clock_early", 1, detail))
    return Launches(
        gpu, call, provenance.astype(np.int8), inverted, turn, calls, skew_ns, tuple(notes)
    )


def _launched(events: Events, calls: Calls, turn: I64) -> tuple[I64, I64]:
    """GPU events in order of start, then launch, and the call that launched each."""
    gpu = np.flatnonzero(
        (events.kind == EventKind.KERNEL)
        | (events.kind == EventKind.MEMCPY)
        | (events.kind == EventKind.MEMSET)
    )
    call = launching(events, gpu, calls)
    known = np.flatnonzero(call >= 0)
    order = settled(events.start_ns[gpu[known]], turn[call[known]])
    if order is not None:
        gpu[known], call[known] = gpu[known[order]], call[known[order]]
    return gpu, call


def _skew_ns(delay_ns: I64) -> int:
    """Largest inversion, but for damaged launches far beyond the others.

    Inversions are judged among themselves: most launches of a busy GPU wait in a queue
    and tell nothing of clocks. A single one that is large is damage.
    """
    inverted = np.sort(delay_ns[delay_ns < 0])
    if not inverted.size:
        return 0
    usual = int(inverted[min(max(1, inverted.size // 100), inverted.size - 1)])
    if inverted.size == 1 and usual < -OUTLIER_NS:
        return 0
    return int(inverted[inverted >= usual - OUTLIER_NS].min())
