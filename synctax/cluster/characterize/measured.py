"""Profiles of jobs whose traces were measured: what an iteration computed, sent, waited.

Each rank's time is taken apart without counting any moment twice. While its GPU
communicates and computes nothing, it transfers for as long as the last rank to arrive
takes, and waits for that one before; all other time is computation, with the gaps between
kernels.
"""

from math import nan
from typing import Final

import numpy as np

from synctax.arrays import NS_PER_S
from synctax.attribution.block_names import gpu_model
from synctax.cluster.characterize.measured_parts import Parts, parts
from synctax.cluster.characterize.measured_sent import Sent, sent
from synctax.cluster.characterize.profile import Profile
from synctax.collectives.tax import Tax
from synctax.errors import SynctaxError
from synctax.notes import Note
from synctax.texts import counted, percent, size_bytes, time_us

WORTH_SAYING: Final = 0.01
"""Shares of an iteration below this are not noted."""


def from_tax(
    tax: Tax, *, workload: str = "", gpus: int | None = None, iterations: int | None = None
) -> Profile:
    """Tell what an iteration of a measured job takes.

    Times are means over ranks, so that computation, tax and network time add up to an
    iteration: from the end of a step's last collective to that of the next step's. A first
    step that nothing precedes only says when the second begins.

    Parameters
    ----------
    tax : Tax
        As `measure` returns it; of its selection. What is not selected, say collectives
        within a server, counts as computation.
    workload : str
    gpus : int, optional
        Workers, no fewer than were read; None: ranks that were read or are named in process
        groups.
    iterations : int, optional
        How many a window holds that marks no steps; None: one. Of no use with others.

    Returns
    -------
    Profile
        With `tax_s`: what a rank waited; NaN where no wait is known. `local_network_s` is
        known where all ranks ran on one host, and is then the network time, too.

    Raises
    ------
    SynctaxError
        If no rank has a time in the steps asked for, or more ranks were read than `gpus`.
    TypeError, ValueError
        If `tax` is not what `measure` returns, or `iterations` or `gpus` is below 1.

    References
    ----------
    Synchronization-tax paper, section 3.2; MoSim paper (arXiv 2609.23278), section IV-A2.
    """
    if not isinstance(tax, Tax):
        raise TypeError("from_tax wants the tax that synctax.measure(job) returns")
    for name, value in (("iterations", iterations), ("gpus", gpus)):
        if value is not None and value < 1:
            raise ValueError(f"{name} must be 1 or more, not {value}")
    found = parts(tax, iterations or 1)
    moved = sent(tax, found.chosen)
    n = float(found.iterations.sum())
    if not n or not found.window_ns.sum():
        raise SynctaxError("no rank has any time in the steps asked for")

    def each_s(values: np.ndarray) -> float:
        return float(values.sum()) / n / NS_PER_S

    own, of_groups = _workers(tax)
    if gpus is not None and gpus < own:
        raise SynctaxError(
            f"traces of {counted(own, 'rank')} tell nothing of a job of {gpus:,}: its "
            "communication is another; leave the number of GPUs out"
        )
    hosts = {rank.host for rank in tax.matches.ranks}
    network_s = each_s(found.network_ns)
    steps = _steps_text(found)
    return Profile(
        workload=workload,
        gpus=gpus or max(own, of_groups),
        gpu_type=_gpu_type(tax),
        compute_s=each_s(found.compute_ns),
        network_s=network_s,
        local_network_s=network_s if len(hosts) == 1 and "" not in hosts else nan,
        sent_bytes_per_worker=float(moved.bytes.sum()) / n if moved.known else nan,
        barriers=float(moved.barriers.sum()) / n,
        compute_from=f"traces of {counted(own, 'rank')}, {steps}: all but communication "
        "that nothing hides",
        network_from="traces: communication that nothing hides, from when the last rank "
        "has arrived",
        bytes_from=_bytes_text(moved, n),
        notes=(
            *_notes(tax, found, moved, gpus or max(own, of_groups)),
            *_marked(found, iterations),
        ),
        tax_s=each_s(found.tax_ns) if (found.chosen & found.sure).any() else nan,
        hides=True,
    )


def _workers(tax: Tax) -> tuple[int, int]:
    """Count ranks that were read, and those that process groups name or have."""
    found = tax.matches
    read = {rank.rank for rank in found.ranks}
    named = read.union(*(group.ranks for group in found.groups))
    largest = max((group.size for group in found.groups), default=1)
    return len(read), max(len(named), largest)


def _gpu_type(tax: Tax) -> str:
    models = {gpu_model(rank.gpu) for rank in tax.matches.ranks}
    return ", ".join(sorted(models - {""}))


def _steps_text(found: Parts) -> str:
    """Say how many iterations there are of a rank."""
    counts = np.unique(found.iterations).tolist()
    told = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    return f"{told} iteration{'' if counts == [1] else 's'} each"


def _bytes_text(moved: Sent, n: float) -> str:
    if not moved.known:
        return "not told by the traces"
    parts_of = ", ".join(
        f"{name} {size_bytes(value / n)}" for name, value in moved.by_part.items()
    )
    return f"traces, nccl-tests' factors: {parts_of}"


def _notes(tax: Tax, found: Parts, moved: Sent, gpus: int) -> list[Note]:
    whole = float(found.window_ns.sum())
    notes = []
    unmarked = int((~found.marked).sum())
    if unmarked:
        notes.append(
            Note(
                "window_is_iteration",
                unmarked,
                "windows that mark no steps (ProfilerStep): each is taken for "
                f"{counted(int(found.iterations[~found.marked][0]), 'iteration')}",
            )
        )
    for reason, part, text in (
        ("head_left_out", found.head_ns, "in which ranks wait for each other's profiler"),
        (
            "wait_not_known",
            found.unsure_ns,
            "in collectives whose wait is not known: counted as network time, with it",
        ),
    ):
        share = float(part.sum()) / whole
        if share >= WORTH_SAYING:
            mean = time_us(float(part.mean()) / 1e3)
            told = f"{mean} of a rank's window ({percent(share)}) {text}"
            notes.append(Note(reason, int((part > 0).sum()), told))
    if moved.unknown:
        text = "parts in collectives whose size no trace tells: left out of the bytes"
        notes.append(Note("bytes_unknown", moved.unknown, text))
    sent_bytes = float(moved.bytes.sum())
    if moved.within:
        text = (
            f"{percent(moved.within / sent_bytes)} of the bytes are sent in groups that "
            "ran within a host; select a group, and the others count as computation"
        )
        notes.append(Note("bytes_within_hosts", 1, text))
    read = _workers(tax)[0]
    if read < gpus:
        text = f"{read:,} of {gpus:,} ranks were read: the others are taken to be alike"
        notes.append(Note("ranks_not_read", gpus - read, text))
    ranks = tax.matches.ranks
    if not any(rank.comm_kernels or rank.compute_kernels for rank in ranks):
        text = "ranks without a GPU: what hides communication is not known"
        notes.append(Note("host_profile", len(ranks), text))
    return [*notes, *_selected(tax), *_one_host(tax)]


def _marked(found: Parts, iterations: int | None) -> list[Note]:
    """Say where iterations are marked in traces, and were told as well."""
    marked = int(found.marked.sum())
    if iterations is None or not marked:
        return []
    text = (
        "windows that mark their steps (ProfilerStep): these count, not the "
        f"{counted(iterations, 'iteration')} that were given"
    )
    return [Note("iterations_marked", marked, text)]


def _selected(tax: Tax) -> list[Note]:
    left = int((~tax.shown).sum())
    if not left or tax.steps is not None:
        return []
    text = "collectives that were not selected: they count as computation"
    return [Note("not_selected", left, text)]


def _one_host(tax: Tax) -> list[Note]:
    hosts = {rank.host for rank in tax.matches.ranks}
    if len(hosts) != 1 or "" in hosts:
        return []
    text = "all ranks ran on one host: network time is that of links inside it"
    return [Note("one_host", len(tax.matches.ranks), text)]
