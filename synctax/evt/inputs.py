"""What a fit is made from: sets of block times, brought to one number of ranks."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Protocol

import numpy as np

from synctax.errors import FitError, SynctaxError
from synctax.evt.cut import cut, join, keep_blocks
from synctax.evt.model import LEAST_RANKS, BlockTimes, Coverage
from synctax.evt.standard import Standard, standardise
from synctax.evt.tax import Origin
from synctax.notes import Note
from synctax.texts import percent


class Found(Protocol):
    """Block times with what is known of them; `attribution.blocks.FoundBlocks` is one."""

    @property
    def times(self) -> BlockTimes | None:
        """The times; None where no collective enters."""

    @property
    def coverage(self) -> Coverage | None:
        """What part of the tax they stand for; None where that is not known."""

    @property
    def group(self) -> str:
        """Role of the group, or empty."""

    @property
    def payload_bytes(self) -> int | None:
        """Largest payload of its collectives."""

    @property
    def notes(self) -> Sequence[Note]:
        """What was left out or inferred on the way."""


@dataclass(frozen=True, slots=True)
class Given:
    """Block times that come alone, without traces.

    Parameters
    ----------
    times : BlockTimes or None
    coverage : Coverage, optional
    group : str
    payload_bytes : int, optional
    notes : sequence of Note
    """

    times: BlockTimes | None
    coverage: Coverage | None = None
    group: str = ""
    payload_bytes: int | None = None
    notes: Sequence[Note] = ()


@dataclass(frozen=True, slots=True)
class Inputs:
    """What was fitted, and where it is from.

    Parameters
    ----------
    sets : tuple of BlockTimes
        Over all ranks that were observed, without blocks that are too rare; of each set.
    standard : Standard or None
        The same, cut to `m` ranks and pooled; None where there are maxima only.
    m : int
        Ranks of the fit.
    group : str
        Roles of the groups, or empty.
    payload_bytes : int or None
    coverage : Coverage or None
        Summed over the sets; None where one does not tell.
    source : Origin
    notes : tuple of Note
    """

    sets: tuple[BlockTimes, ...]
    standard: Standard | None
    m: int
    group: str = ""
    payload_bytes: int | None = None
    coverage: Coverage | None = None
    source: Origin = field(default_factory=Origin)
    notes: tuple[Note, ...] = ()

    @property
    def largest(self) -> int:
        """Ranks of the largest group that was observed."""
        return max((one.m for one in self.sets), default=self.m)


def gather(
    found: Sequence[Found],
    *,
    fit_ranks: int | None = None,
    seed: int = 0,
    source: Origin | None = None,
) -> tuple[Inputs, Standard]:
    """Pool sets of block times: blocks that are frequent enough, cut to as many ranks.

    Parameters
    ----------
    found : sequence of Found
        At least one.
    fit_ranks : int, optional
        Ranks to cut groups to; those of the smallest if absent.
    seed : int
        Of the cuts.
    source : Origin, optional

    Returns
    -------
    Inputs, Standard
        The second is that of the first.

    Raises
    ------
    FitError
        If no block of any set has enough instances, or all its times are equal.
    SynctaxError
        If groups are smaller than `fit_ranks`, or of one rank, or times are given twice.
    ValueError
        If nothing is given.
    """
    if not found:
        raise ValueError("no block times to fit")
    _check_apart([one.times for one in found if one.times is not None])
    coverage = pooled([one.coverage for one in found])
    told = [note for one in found for note in one.notes]
    kept, reasons = [], []
    for one in found:
        if one.times is None:
            reasons.append("no collective ends a block whose time is known on all ranks")
            continue
        try:
            standard = standardise(one.times)
        except FitError as error:  # raised below unless another set has what it takes
            reasons.append(str(error))
            continue
        told += standard.notes
        kept.append(standard.times)
    if not kept:
        raise FitError(refusal(reasons[0], coverage))
    if reasons:
        told.append(Note("set_without_blocks", len(reasons), reasons[0]))
    m = _size(kept, fit_ranks)
    parts = []
    for times in kept:
        part, notes = cut(times, m, seed=seed)
        parts.append(part)
        told += notes
    standard = standardise(join(parts))
    sets = _only(kept, standard)
    inputs = Inputs(
        sets=sets,
        standard=standard,
        m=m,
        group=", ".join(dict.fromkeys(role for one in found for role in _roles(one))),
        payload_bytes=max((p for one in found if (p := one.payload_bytes)), default=None),
        coverage=coverage,
        source=source or Origin("block_times"),
        notes=(*told, *standard.notes, *_unmeasured(sets)),
    )
    return inputs, standard


def _check_apart(sets: Sequence[BlockTimes]) -> None:
    """Refuse the same times twice: they would seem to tell twice as much."""
    for one, other in combinations(sets, 2):
        if len(one) and np.array_equal(one.us, other.us):
            names = dict.fromkeys(times.blocks[0].source for times in (one, other))
            raise SynctaxError(
                f"{' and '.join(filter(None, names)) or 'two sets'}: the same block times "
                "are given twice, and intervals would be narrower than they are; leave one "
                "out"
            )


def _unmeasured(sets: Sequence[BlockTimes]) -> tuple[Note, ...]:
    """Count instances that take no part where prediction and measurement are compared."""
    count = sum(len(times) for times in sets)
    unknown = int(sum(np.isnan(times.measured_us).sum() for times in sets))
    if unknown in (0, count):
        return ()
    detail = (
        f"instances of {count} whose wait was not measured: predictions are compared with "
        "that of the others"
    )
    return (Note("wait_not_measured", unknown, detail),)


def _roles(one: Found) -> list[str]:
    """Name the role of a set; a CSV file names it by block."""
    blocks = () if one.times is None else one.times.blocks
    named = [one.group] if one.group else [block.group for block in blocks]
    return [role for role in named if role]


def _only(sets: Sequence[BlockTimes], standard: Standard) -> tuple[BlockTimes, ...]:
    """Keep the blocks that stay after groups were cut: others differ on no rank left."""
    first = np.cumsum([0, *(len(times.blocks) for times in sets)])
    stays = np.zeros(first[-1], np.bool_)
    stays[standard.kept] = True
    found = []
    for times, begin in zip(sets, first[:-1], strict=True):
        found.append(keep_blocks(times, stays[begin : begin + len(times.blocks)]))
    return tuple(times for times in found if len(times))


def _size(sets: Sequence[BlockTimes], fit_ranks: int | None) -> int:
    smallest = min(times.m for times in sets)
    if smallest < LEAST_RANKS:
        raise SynctaxError(
            "the block times are of single ranks, where nobody waits; give those of all "
            "ranks of each group"
        )
    if fit_ranks is not None and fit_ranks > smallest:
        raise SynctaxError(
            f"cannot cut groups of {smallest} ranks to {fit_ranks} (--fit-ranks); give "
            f"{smallest} or fewer"
        )
    return fit_ranks or smallest


def pooled(coverages: Sequence[Coverage | None]) -> Coverage | None:
    """Sum up what several sets cover; None where one of them does not tell.

    Parameters
    ----------
    coverages : sequence of Coverage or None

    Examples
    --------
    >>> one = Coverage(10, 4, 200.0, 50.0)
    >>> pooled([one, one]).entered, pooled([one, None])
    (8, None)
    """
    known = [one for one in coverages if one is not None]
    if len(known) < len(coverages) or not known:
        return None
    if len(known) == 1:
        return known[0]
    return Coverage(
        collectives=sum(one.collectives for one in known),
        entered=sum(one.entered for one in known),
        tax_us=sum(one.tax_us for one in known),
        entered_tax_us=sum(one.entered_tax_us for one in known),
        left_out=tuple(note for one in known for note in one.left_out),
    )


def refusal(reason: str, coverage: Coverage | None) -> str:
    """Say why there is no fit, and of what there would have been one.

    Parameters
    ----------
    reason : str
    coverage : Coverage or None

    Examples
    --------
    >>> refusal("too few", Coverage(83, 32, 1000.0, 3.0, (Note("through_cpu", 51, "CPU"),)))
    'a fit would stand for 0.3 % of the tax (32 of 83 collectives) and cannot be made: too few; the rest: 51 × CPU'
    """  # noqa: E501
    if coverage is None:
        return reason
    rest = "; ".join(f"{note.count:,} × {note.detail}" for note in coverage.left_out)
    share = share_text(coverage.tax_share)
    return (
        f"a fit would stand for {share} of the tax ({coverage.entered:,} of "
        f"{coverage.collectives:,} collectives) and cannot be made: {reason}"
        + (f"; the rest: {rest}" if rest else "")
    )


def share_text(share: float) -> str:
    """Write what part of a tax is covered; of no tax, it is unknown.

    Parameters
    ----------
    share : float

    Examples
    --------
    >>> share_text(0.0028), share_text(float("nan"))
    ('0.3 %', 'an unknown share')
    """
    return percent(share) if share == share else "an unknown share"
