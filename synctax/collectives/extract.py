"""Which events of one rank are communication, of which group, operation and size.

On GPUs the participations are the communication kernels; in traces without one, the ranges
that a CPU backend (gloo) spends in each collective.
"""

import numpy as np

from synctax.arrays import ABSENT, I32, I64, Bool, distinct
from synctax.collectives import membership, sources
from synctax.collectives.amounts import amounts, peers, uneven
from synctax.collectives.busy import intersection, union
from synctax.collectives.catalog import Catalog, catalog
from synctax.collectives.issued import issued
from synctax.collectives.link import anchor
from synctax.collectives.model import Op, RankCollectives
from synctax.collectives.sources import Described, Operations, Sources, operations, settle
from synctax.notes import Note
from synctax.trace.facts import span_ns
from synctax.trace.model import RankTrace
from synctax.trace.steps import Steps, cpu_steps, gpu_steps


def extract(trace: RankTrace) -> RankCollectives:
    """Find every participation of a rank in a collective.

    Parameters
    ----------
    trace : RankTrace
        One window of one rank.

    Returns
    -------
    RankCollectives
        In order of start. `rank` and `host` as far as the trace itself knows them; `gpu`
        and `window` are empty until the file is placed beside the others. What was
        inferred, excluded or is unknown is counted in `notes`, after the notes of reading.

    Notes
    -----
    A participation's group and size stand on the kernel where PyTorch copied them there;
    else on the ranges around the call that launched it (`record_param_comms`,
    `nccl:*`, `c10d::*`).
    """
    found = catalog(trace)
    on_gpu = found.kernels.size > 0
    link = sources.of_kernels if on_gpu else sources.of_spans
    linked = link(trace, found)
    described = Described.of(trace, linked)
    does = operations(trace, linked, described)
    if on_gpu:
        member = membership.of_kernels(trace, linked, described)
        does = settle(trace, linked, does, member.group)
    else:
        member = membership.of_spans(trace, linked, described, does.op)
    carried = amounts(trace, linked, described, does.op, member)

    events = trace.events
    start, duration = events.start_ns[linked.event], events.duration_ns[linked.event]
    strings, kernel, dtype = _dictionary(trace, linked, carried.dtype)
    busy_start, busy_end = _busy(trace, found, linked)
    steps = cpu_steps(trace)
    first, last = span_ns(trace.events) or (0, 0)
    stream = events.stream[linked.event] if on_gpu else _thread(trace, linked)
    meta = trace.meta
    return RankCollectives(
        path=trace.path,
        rank=ABSENT if meta.rank is None else meta.rank,
        host=meta.host or "",
        gpu="",
        window="",
        start_ns=start,
        duration_ns=duration,
        launch_ns=_launched(trace, found, linked),
        op=does.op.astype(np.int8),
        group=member.group,
        kernel=kernel,
        dtype=dtype,
        payload_bytes=carried.payload_bytes,
        seq=described.first(trace.comms.seq),
        comms_id=described.comms_id(),
        step=_step(trace, linked, steps, start),
        stream=stream.astype(np.int64),
        uneven=uneven(trace, described, does.op),
        named=does.named,
        peer=peers(trace, linked, described, does.op, member),
        busy_start_ns=busy_start,
        busy_end_ns=busy_end,
        step_number=steps.number,
        step_start_ns=steps.start_ns,
        step_end_ns=steps.end_ns,
        window_start_ns=first,
        window_end_ns=last,
        compute_kernels=int(found.compute.size),
        comm_kernels=int(found.kernels.size),
        groups=member.groups,
        strings=strings,
        notes=(
            *trace.notes,
            *member.notes,
            *_notes(does, carried.payload_bytes, found),
            *_unobserved(trace, found, linked),
        ),
    )


def _dictionary(
    trace: RankTrace, linked: Sources, dtype: "np.ndarray[tuple[int], np.dtype[np.object_]]"
) -> tuple[tuple[str, ...], I32, I32]:
    """Make a dictionary of the strings that participations need: kernels, element types."""
    names, kernel = np.unique(trace.events.name[linked.event], return_inverse=True)
    types = sorted({text for text in dtype.tolist() if text})
    code = {text: names.size + i for i, text in enumerate(types)} | {"": ABSENT}
    strings = (*(trace.strings[name] for name in names.tolist()), *types)
    dtypes = np.array([code[text] for text in dtype.tolist()], np.int32)
    return strings, kernel.astype(np.int32), dtypes


def _busy(trace: RankTrace, found: Catalog, linked: Sources) -> tuple[I64, I64]:
    """When this GPU computed while it communicated."""
    events = trace.events
    spans = []
    for rows in (found.compute, linked.event):
        start = events.start_ns[rows]
        spans.append(union(start, start + events.duration_ns[rows]))
    return intersection(*spans[0], *spans[1])


def _launched(trace: RankTrace, found: Catalog, linked: Sources) -> I64:
    """When the host launched each kernel; when a thread issued what another one ran."""
    start = trace.events.start_ns
    anchors = linked.anchors
    launched = np.where(anchors.known, anchors.time_ns, start[linked.event])
    if not found.kernels.size:
        pairs = issued(trace, found, np.sort(found.spans))
        operator = np.full(len(trace.events), ABSENT, np.int64)
        operator[pairs.span] = pairs.operator
        by = operator[linked.event]
        launched = np.where(by >= 0, start[by], launched)
    return launched


def _step(trace: RankTrace, linked: Sources, steps: Steps, start_ns: I64) -> I64:
    """Step in which each participation was launched; where it ran, if that is unknown."""
    on_gpu = gpu_steps(trace)
    ran = (on_gpu if len(on_gpu) else steps).at(start_ns)
    return np.where(linked.anchors.known, steps.at(linked.anchors.time_ns), ran)


def _thread(trace: RankTrace, linked: Sources) -> I64:
    return trace.lanes.thread[trace.events.lane[linked.event]]


def _notes(does: Operations, payload_bytes: I64, found: Catalog) -> tuple[Note, ...]:
    counted = (
        (
            "op_unknown",
            (does.op == Op.UNKNOWN).sum(),
            "neither metadata nor name tells the operation",
        ),
        (
            "op_guessed",
            ((does.op != Op.UNKNOWN) & ~does.named).sum(),
            "the operation is guessed from the kernel's name and its like",
        ),
        (
            "payload_unknown",
            (payload_bytes < 0).sum(),
            "no element count and no shapes with types tell the bytes",
        ),
        (
            "kernel_by_metadata",
            found.by_metadata.sum(),
            "kernels of unknown name that carry collective metadata count as communication",
        ),
        (
            "cpu_collective",
            found.spans.size if found.kernels.size else 0,
            "collectives on the CPU beside those on the GPU are left out",
        ),
    )
    return tuple(Note(reason, int(n), text) for reason, n, text in counted if n)


def _unobserved(trace: RankTrace, found: Catalog, linked: Sources) -> tuple[Note, ...]:
    """Count calls that left no communication kernel."""
    copies = sources.around(trace, found, found.copies, anchor(trace.events, found.copies))
    served = _mark(trace, linked.annotation, linked.record, linked.operator)
    call = np.full(len(copies), ABSENT, np.int64)
    beside = np.zeros(len(copies), np.bool_)
    for level in (copies.annotation, copies.record, copies.operator):
        beside |= served[level]
        call = np.where(call < 0, level, call)
    engine = distinct(call[(call >= 0) & ~beside]).size
    empty = ~_mark(trace, linked.annotation, copies.annotation)[found.annotations]
    notes = []
    if engine:
        detail = "copied between GPUs by copy engines: no kernel shows when ranks met"
        notes.append(Note("copy_engine_collective", engine, detail))
    if empty.any() and not (found.kernels.size or found.compute.size):
        detail = (
            "calls into a GPU backend, but no kernel was recorded: GPU activity was off"
        )
        notes.append(Note("gpu_not_recorded", int(empty.sum()), detail))
    elif empty.any():
        detail = "calls without a communication kernel in this window"
        notes.append(Note("call_without_kernel", int(empty.sum()), detail))
    return tuple(notes)


def _mark(trace: RankTrace, *events: I64) -> Bool:
    """Mark events; -1 marks none and is not marked itself."""
    marked = np.zeros(len(trace.events) + 1, np.bool_)
    for event in events:
        marked[event] = True
    marked[-1] = False
    return marked
