"""What came back of delays, in sentences."""

from typing import TYPE_CHECKING

import numpy as np

from synctax.arrays import Bool
from synctax.experiment.hits import AMOUNT_APART
from synctax.experiment.lines import INTERVAL, Envelope, quantile_us, wilson
from synctax.texts import counted, number, percent, time_us

if TYPE_CHECKING:
    from synctax.experiment.recovered import Recovered

GOOD_SHARE = 0.95
"""Where fewer than these come back, it is said why."""

SLOPE_APART = 0.1
"""Where a slope is further from 1, it is said why."""

REASONS_NAMED = 2

SEVERAL = "reached by several delays, of which none need be the culprit"


def verdict(found: "Recovered") -> tuple[str, ...]:
    """Say what came back, by rank, operator and amount; and where not, why.

    Parameters
    ----------
    found : Recovered

    Returns
    -------
    tuple of str
        Sentences without a full stop.
    """
    said = [_recovery(found), *_not_judged(found), *_amount(found), *_paths(found)]
    slope = found.by_excess or found.by_delay
    short = found.tally.judged and found.tally.share < GOOD_SHARE
    bent = slope is not None and abs(slope.ordinary.slope - 1) > SLOPE_APART
    said += _missed(found)
    if short or bent:
        said += _noise(found)
    return tuple(said)


def _beyond(found: "Recovered") -> str:
    what = "beyond their slack " if found.knows_slack else ""
    return f"{time_us(found.least_us)} {what}or more"


def _recovery(found: "Recovered") -> str:
    tally = found.tally
    if not tally.judged:
        return (
            f"none of {counted(len(found.hits), 'collective')} that delays reach had a "
            f"delay of {_beyond(found)} and could be judged: nothing is said of recovery"
        )
    ends = " to ".join(percent(end) for end in wilson(tally.recovered, tally.judged))
    return (
        f"recovered {tally.recovered:,} of {counted(tally.judged, 'collective')} delayed "
        f"by {_beyond(found)}, by rank and operator: {percent(tally.share)} ({INTERVAL} "
        f"{ends}); by rank alone {tally.rank_named:,}; by amount, too, within "
        f"{percent(AMOUNT_APART)}, {tally.amount_named:,}"
    )


def why_not_judged(found: "Recovered") -> str:
    """Count collectives that must come back and cannot be judged, by the chief reasons."""
    hits = found.hits
    why: dict[str, int] = {}
    for row in np.flatnonzero(found.due & ~(hits.judged & hits.alone)).tolist():
        status = SEVERAL if hits.judged[row] else hits.status[row]
        why[status] = why.get(status, 0) + 1
    most = sorted(why.items(), key=lambda pair: -pair[1])[:REASONS_NAMED]
    return ", ".join(f"{count:,} {status}" for status, count in most)


def _not_judged(found: "Recovered") -> list[str]:
    tally = found.tally
    missing = tally.reached - tally.judged
    if not missing:
        return []
    said = (
        f"{missing:,} more cannot be judged ({why_not_judged(found)}): of all "
        f"{tally.reached:,} that are reached {percent(tally.share_of_reached)} are "
        "recovered"
    )
    return [said]


def _amount(found: "Recovered") -> list[str]:
    line = found.by_excess or found.by_delay
    if line is None:
        return ["no slope of tax against delay: there are not two sizes of delay"]
    against = "delay beyond the slack" if found.by_excess else "delay"
    said = (
        f"tax rises by {_slope(line)} µs per µs of {against}, from "
        f"{time_us(line.ordinary.intercept_us)} without one, R² {_decimals(line.r2)}; "
        f"through the medians by {_decimals(line.robust.slope)}"
    )
    culprit = found.by_culprit
    if culprit is not None:
        said += f"; what is blamed on the operator by {_decimals(culprit.robust.slope)}"
    return [said]


def _slope(line: Envelope) -> str:
    one = line.ordinary
    if np.isnan(one.slope_lo):
        return f"{_decimals(one.slope)} (no interval: give two sizes two steps or more)"
    ends = " to ".join(_decimals(end) for end in (one.slope_lo, one.slope_hi))
    return f"{_decimals(one.slope)} ({INTERVAL} {ends})"


def _decimals(value: float) -> str:
    return f"{value:.3f}".replace("-", "−") if np.isfinite(value) else number(None)


def _paths(found: "Recovered") -> list[str]:
    if not found.setting.on_gpu:
        return []
    hits = found.hits
    if not found.knows_slack:
        said = (
            "launches run ahead of a GPU by a time that these traces do not tell: delays "
            "within it do not show, and lower the slope"
        )
        return [said]
    known = hits.judged & np.isfinite(hits.slack_us)
    sides = [known & rows for rows in (hits.expected_us == 0, hits.expected_us > 0)]
    if not all(side.any() for side in sides):
        return []
    hidden, shown = (percent(float(hits.on_cpu[s].mean())) for s in sides)
    said = (
        f"the path goes through the CPU in {shown} of collectives whose delay exceeds its "
        f"slack, and in {hidden} of those where it does not"
    )
    return [said]


def _missed(found: "Recovered") -> list[str]:
    hits = found.hits
    missed = found.due & hits.judged & hits.alone & ~hits.recovered
    if not missed.any():
        return []
    other = missed & ~hits.rank_named
    diffuse = missed & hits.rank_named & _is_diffuse(found)
    rest = missed & ~other & ~diffuse
    told = [
        f"{int(rows.sum()):,} {text}"
        for rows, text in (
            (other, "where another rank was last"),
            (
                diffuse,
                "where the rank is named, but no item explains half of the tax",
            ),
            (rest, "where the rank is named, but another culprit"),
        )
        if rows.any()
    ]
    return [f"of {counted(int(missed.sum()), 'collective')} missed {'; '.join(told)}"]


def _is_diffuse(found: "Recovered") -> Bool:
    return np.array([text in (None, "diffuse") for text in found.hits.culprit], np.bool_)


def _noise(found: "Recovered") -> list[str]:
    """What else makes ranks late: as much as there is without a delay."""
    hits, setting = found.hits, found.setting
    calm = hits.tax_us[found.controls & hits.judged]
    parts = []
    if calm.size:
        parts.append(
            f"without a delay ranks wait {time_us(quantile_us(calm, 0.5))} in the median "
            f"and {time_us(quantile_us(calm, 0.9))} in one of ten"
        )
    ends = setting.end_spread_us
    if np.isfinite(ends).any():
        parts.append(
            f"ends of one collective lie {time_us(quantile_us(ends, 0.5))} apart in the "
            f"median, {time_us(quantile_us(ends, 0.9))} in one of ten"
        )
    if setting.cores is not None and setting.cores < setting.ranks:
        cores = counted(setting.cores, "core")
        parts.append(f"{counted(setting.ranks, 'rank')} share {cores}")
    return [f"noise of this job: {'; '.join(parts)}"] if parts else []
