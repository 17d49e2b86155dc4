"""What changed over the windows of a job, in sentences."""

import math
from typing import TYPE_CHECKING

import numpy as np

from synctax.comparison.trend_changes import Change, left_out, means_us
from synctax.comparison.trend_numbers import MIN_FOR_BREAK, MIN_FOR_TREND, points_needed
from synctax.comparison.trend_parts import Line
from synctax.texts import counted, p_equals, percent, signed_us, time_us

if TYPE_CHECKING:
    from synctax.comparison.trend import Trend

NOTABLE = 0.1
"""A class whose share of the tax moved by less is not worth a sentence."""

_NAMED = 5


def verdict(found: "Trend") -> tuple[str, ...]:
    """Say what changed: lines that change first, then how many do not."""
    pairs = list(zip(found.lines, found.changes, strict=True))
    told = [
        f"{_name(line)}: {'; '.join(clauses)}"
        for line, change in pairs
        if (clauses := _clauses(found, line, change))
    ]
    still = [
        (line, change)
        for line, change in pairs
        if change.finding == "none" and change.worse is None
    ]
    few = [
        change
        for _line, change in pairs
        if change.finding == "too_few" and change.worse is None
    ]
    return (
        *told,
        *_still(found, still),
        *_few(found, few),
        *_left_out(found),
        *found.points.doubts,
    )


def _name(line: Line) -> str:
    return f"{line.part.role} {line.part.op.label}"


def _clauses(found: "Trend", line: Line, change: Change) -> list[str]:
    clauses = []
    if change.finding in ("step_up", "step_down"):
        clauses.append(_step(found, line, change))
    elif change.finding in ("rise", "fall"):
        clauses.append(_slope(found, line, change))
    if change.worse is not None:
        worse = change.worse
        host = f" on {worse.host}" if worse.host else ""
        clauses.append(
            f"from {place(found, worse.point)} on the others wait "
            f"{time_us(worse.after_us)} a collective for rank {worse.rank}{host} instead "
            f"of {time_us(worse.before_us)}, {p_equals(change.worse_p)}"
        )
    moved = _moved(line, change) if clauses else ""
    return [*clauses, moved] if moved else clauses


def _step(found: "Trend", line: Line, change: Change) -> str:
    largest = change.largest
    if largest is None:
        raise ValueError("a step without a break")
    before, after = levels(line, change)
    word = "rises" if largest.shift > 0 else "falls"
    point = place(found, int(change.points[largest.first]))
    return (
        f"the mean tax {word} at {point} from {time_us(before)} to {time_us(after)}, by "
        f"{_range(found, largest.shift, largest.low, largest.high)}, "
        f"{p_equals(change.break_p)}"
    )


def levels(line: Line, change: Change) -> tuple[float, float]:
    """Median windows before the largest break, and from it on, in µs."""
    if change.largest is None:
        raise ValueError("no break was looked for")
    means = means_us(line, change.points)
    first = change.largest.first
    return float(np.median(means[:first])), float(np.median(means[first:]))


def _slope(found: "Trend", line: Line, change: Change) -> str:
    slope = change.slope
    if slope is None:
        raise ValueError("a trend without a slope")
    word = "rises" if change.finding == "rise" else "falls"
    first, last = means_us(line, change.points[[0, -1]])
    one = found.points.per
    per = one if one[0].isdigit() else f"{'an' if one[0] in 'ih' else 'a'} {one}"
    return (
        f"the mean tax {word} by {_range(found, slope.slope, slope.low, slope.high)} "
        f"{'per ' if one[0].isdigit() else ''}{per}, {p_equals(change.trend_p)}: "
        f"{time_us(first)} in the first {found.points.noun} and {time_us(last)} in the last"
    )


def _range(found: "Trend", value: float, low: float, high: float) -> str:
    if value < 0:
        value, low, high = -value, -high, -low
    if math.isnan(low):
        return f"{time_us(value)} (no interval)"
    level = percent(found.options.level)
    # a sign is told where the interval holds changes of either direction
    ends = " to ".join(signed_us(end).lstrip("+") for end in (low, high))
    return f"{time_us(value)} ({level}: {ends})"


def _share(found: "Trend") -> str:
    return f"{100 * found.options.alpha:.3g} %"


def place(found: "Trend", point: int) -> str:
    """Name a point: by its iteration, else its window, else its steps or its number."""
    at = found.points
    if at.iteration[point] >= 0:
        step = at.steps_each is not None
        return f"{'step' if step else 'iteration'} {at.iteration[point]:,}"
    if at.steps_each is None and at.window[point]:
        return at.window[point].replace("_", " ")
    return f"{at.noun} {point + 1}"


def _moved(line: Line, change: Change) -> str:
    """Say which class owes more of the tax than before, where that is notable."""
    cut = _cut(change)
    sides = (change.points[:cut], change.points[cut:])
    before, after = (_shares(line, side.tolist()) for side in sides)
    gains = {name: share - before.get(name, 0.0) for name, share in after.items()}
    if not before or not gains:
        return ""
    name = max(gains, key=lambda one: gains[one])
    if gains[name] < NOTABLE:
        return ""
    return (
        f"{_words(name)} then owe {percent(after[name])} of it instead of "
        f"{percent(before.get(name, 0.0))}"
    )


def _cut(change: Change) -> int:
    if change.worse is not None:
        return int(np.searchsorted(change.points, change.worse.point))
    if change.finding in ("step_up", "step_down") and change.largest is not None:
        return change.largest.first
    return change.points.size // 2


def _shares(line: Line, points: list[int]) -> dict[str, float]:
    """Mean share of each class over some points."""
    known = [line.culprits[point] for point in points if line.culprits[point]]
    names = dict.fromkeys(name for shares in known for name in shares)
    return {name: sum(one.get(name, 0.0) for one in known) / len(known) for name in names}


def _words(name: str) -> str:
    from synctax.attribution.labels import CLASS_TEXT

    return CLASS_TEXT.get(name, name)


def _still(found: "Trend", still: list[tuple[Line, Change]]) -> list[str]:
    if not still:
        return []
    names = ", ".join(_name(line) for line, _change in still)
    count = max(change.points.size for _line, change in still)
    what = "change" if count >= MIN_FOR_BREAK else "trend"
    text = f"{names}: no {what} over {counted(count, found.points.noun)}"
    return [f"{text} beyond what chance shows in {_share(found)} of jobs"]


def _few(found: "Trend", few: list[Change]) -> list[str]:
    """Say of what too few points are there to tell, and how many would do."""
    if not few:
        return []
    most = max(few, key=lambda change: change.points.size)
    what = "" if len(few) == len(found.lines) else f"{len(few)} rows: "
    count = most.points.size
    if count < MIN_FOR_TREND:
        return [f"{what}{_fewest(found, count, whole=not what)}"]
    if math.isnan(most.least_p):
        return [f"{what}{_correlated(found, most)}"]
    least = max(few, key=lambda change: change.least_p)
    kind = "step" if count >= MIN_FOR_BREAK else "trend"
    needed = max(points_needed(least.questions, found.options.alpha), count + 1)
    text = (
        f"{what}no change, but {counted(count, found.points.noun)} are too few to tell: "
        f"even the clearest {kind} has {p_equals(least.least_p)} with "
        f"{least.questions} questions; {needed} would do, or fewer rows (--group, --op)"
    )
    return [text]


def _fewest(found: "Trend", count: int, *, whole: bool) -> str:
    text = (
        f"{counted(count, found.points.noun)}: a trend takes {MIN_FOR_TREND} at "
        f"least, a break {MIN_FOR_BREAK}"
    )
    marked = whole and found.points.steps_each is None and found.points.first_step[0] >= 0
    return f"{text}; --by step cuts windows into steps" if marked else text


def _correlated(found: "Trend", change: Change) -> str:
    """Say that neighbours hang together too long to tell anything."""
    noun, count = found.points.noun, change.points.size
    each = change.block * (found.points.steps_each or 1)
    advice = f"record {each * MIN_FOR_BREAK:,} steps or more"
    if count // change.block >= MIN_FOR_TREND:
        advice += f", or try --by {each}"
    return (
        f"{counted(count, noun)} are too few to tell: neighbours are correlated by "
        f"{change.correlation:.2f}, so blocks of {change.block} would have to stay "
        f"together, and {MIN_FOR_BREAK} blocks are needed; {advice}"
    )


def _left_out(found: "Trend") -> list[str]:
    """Say which points were compared with none, for their ranks are others."""
    gone = sorted({int(point) for line in found.lines for point in left_out(line)})
    if not gone:
        return []
    names = ", ".join(place(found, point) for point in gone[:_NAMED])
    more = f" and {len(gone) - _NAMED:,} more" if len(gone) > _NAMED else ""
    return [f"not compared, for they have other ranks than most: {names}{more}"]
