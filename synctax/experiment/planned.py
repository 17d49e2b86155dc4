"""Whether what was to be delayed is what was recorded: ranks, steps, one run."""

from collections.abc import Sequence

import numpy as np

from synctax.arrays import I64, NS_PER_S
from synctax.collectives.matches import Matches
from synctax.collectives.model import RankCollectives
from synctax.collectives.summary import ranks_text
from synctax.errors import BadInputError, SynctaxError
from synctax.experiment.injections import Injections
from synctax.notes import Note
from synctax.record.names import delays_file
from synctax.record.plan import DelayRule


def check(matches: Matches, injections: Injections) -> None:
    """Refuse a truth that says nothing of ranks, or tells of no delay.

    Raises
    ------
    BadInputError
        If ranks that were to be delayed say nothing of it.
    SynctaxError
        If nothing was delayed.
    """
    read = {rank.rank for rank in matches.ranks}
    meant = read if injections.meant is None else injections.meant
    silent = sorted(meant - injections.told)
    absent = [rank for rank in silent if rank not in read]
    if absent:
        raise BadInputError(
            f"rank {ranks_text(tuple(absent))} was to be delayed, and nothing is there of "
            f"it: there are the ranks {ranks_text(tuple(sorted(read)))}; delay one of "
            "these, or copy the folder whole"
        )
    if silent:
        raise BadInputError(
            f"rank {ranks_text(tuple(silent))} was to be delayed, and what was done to it "
            f"is missing: there is no {delays_file(silent[0])}; copy the folder whole"
        )
    if not len(injections):
        reason = _put_off(matches, injections.rules)
        if reason:
            raise SynctaxError(f"nothing was delayed: {reason}")
    require(injections)


def require(injections: Injections) -> None:
    """Refuse a job in which nothing was delayed, though its window lies where it should.

    Raises
    ------
    SynctaxError
        If there is no delay.
    """
    if not len(injections):
        raise SynctaxError(f"nothing was delayed{_why_nothing(injections)}")


def not_recorded(matches: Matches, rules: Sequence[DelayRule]) -> tuple[Note, ...]:
    """Count rules for steps that no trace of their ranks has."""
    missing = _missing(matches, rules)
    if not missing:
        return ()
    text = f"rules for steps that were not recorded: {_apart(matches, missing)}"
    return (Note("rule_outside_steps", len(missing), text),)


def refuse_other_run(
    matches: Matches, rank: RankCollectives, injections: Injections, mine: I64
) -> None:
    """Say why none of a rank's delays lies in a step of its trace.

    Raises
    ------
    SynctaxError
        If the window was put off beyond the steps that were to be delayed.
    BadInputError
        Else: truth and trace are of different runs.
    """
    reason = _put_off(matches, injections.rules)
    if reason:
        raise SynctaxError(reason)
    source = injections.sources[int(injections.source[mine[0]])]
    first_ns = int(injections.start_ns[mine].min())
    apart_s = (first_ns - rank.window_start_ns) / NS_PER_S
    when = "before" if apart_s < 0 else "after"
    raise BadInputError(
        f"{source} is of another run than {rank.path}: none of {mine.size} delays lies in "
        f"a step of the trace; the first is {abs(apart_s):,.3f} s {when} the trace begins"
    )


def put_off_text(planned: range, recorded: range) -> str:
    """Say that a window was put off until no delay was left for it.

    Parameters
    ----------
    planned, recorded : range
        Steps that were to be delayed, and those of the window.
    """
    return (
        f"the window was put off: steps {steps_text(planned)} were to be delayed, "
        f"and steps {steps_text(recorded)} were recorded; the recorder gives way to a "
        "profiler of the job: turn that off, or --skip the steps that it takes"
    )


def steps_text(steps: range) -> str:
    """Name steps by their ends.

    Examples
    --------
    >>> steps_text(range(6, 36)), steps_text(range(6, 7))
    ('6 to 35', '6')
    """
    first, last = steps.start, steps.stop - 1
    return f"{first}" if first == last else f"{first} to {last}"


def _why_nothing(injections: Injections) -> str:
    if injections.targets is not None:
        return " in the made-up job; give synctax synth some --delay"
    rules = injections.rules
    if not rules:
        return ": the truth has no rules; record with synctax inject"
    named = ", ".join(dict.fromkeys(rule.operator for rule in rules))
    return (
        f": no operator that ran in the recorded steps matches {named}; give --op a name "
        "as it stands in the traces, such as aten::mm or aten::addmm"
    )


def _put_off(matches: Matches, rules: Sequence[DelayRule]) -> str:
    """Say so if all that was recorded lies after what was to be delayed; else empty."""
    missing = _missing(matches, rules)
    if not rules or len(missing) < len(rules):
        return ""
    planned, recorded = _span(missing), _recorded(matches, missing)
    return put_off_text(planned, recorded) if recorded.start >= planned.stop else ""


def _missing(matches: Matches, rules: Sequence[DelayRule]) -> list[DelayRule]:
    """Rules for steps that no trace of their ranks has, where traces mark steps."""
    missing = []
    for rule in rules:
        steps = _steps(matches, rule)
        inside = steps >= rule.first_step
        if rule.end_step is not None:
            inside &= steps < rule.end_step
        if steps.size and not inside.any():
            missing.append(rule)
    return missing


def _steps(matches: Matches, rule: DelayRule) -> I64:
    """Return the steps that the traces have of the ranks that a rule is for."""
    ranks = (one for one in matches.ranks if rule.rank in (None, one.rank))
    return np.concatenate([np.zeros(0, np.int64), *(one.step_number for one in ranks)])


def _span(rules: Sequence[DelayRule]) -> range:
    first = min(rule.first_step for rule in rules)
    ends = [rule.end_step or rule.first_step + 1 for rule in rules]
    return range(first, max(ends))


def _recorded(matches: Matches, rules: Sequence[DelayRule]) -> range:
    steps = np.concatenate([_steps(matches, rule) for rule in rules])
    return range(int(steps.min()), int(steps.max()) + 1)


def _apart(matches: Matches, rules: Sequence[DelayRule]) -> str:
    planned, recorded = _span(rules), _recorded(matches, rules)
    return f"{steps_text(planned)}, while traces hold {steps_text(recorded)}"
