"""What became of the rules of a plan that delay operators, in sentences."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from synctax.errors import BadInputError
from synctax.record.plan import DelayRule, Plan
from synctax.record.truth import Made, Truth, read_truth

NS_PER_MS = 1e6
US_PER_MS = 1e3


def tell_delays(plan: Plan, files: Mapping[int, str], world_size: int) -> list[str]:
    """Say how much was delayed, and which rules delayed nothing, and why.

    Parameters
    ----------
    plan : Plan
    files : dict of int to str
        By rank, where its delays are told, below the folder.
    world_size : int
        Ranks of the job.
    """
    truths, lengths_ms, bad = {}, [], []
    for rank, name in files.items():
        path = plan.folder / Path(name)
        try:
            truth = read_truth(path)
            lengths_ms += [_length_ms(made) for made in truth.delays]
        except BadInputError as error:
            bad.append(str(error))
        except (TypeError, AttributeError):
            bad.append(f"{path} does not tell what was delayed: it is damaged")
        else:
            truths[rank] = truth
    if not truths:
        return bad
    silent = dict.fromkeys(_silent(plan, truths, world_size))
    ranks = [str(rank) for rank, truth in truths.items() if truth.delays]
    return [*bad, _total(lengths_ms, ranks), *silent]


def _length_ms(made: Made) -> float:
    if made.side == "host":
        return (made.end_ns - made.start_ns) / NS_PER_MS
    return made.asked_us / US_PER_MS  # nobody sees how long a GPU spins


def _total(lengths_ms: list[float], ranks: list[str]) -> str:
    if not ranks:
        return "no operator was delayed"
    number = len(lengths_ms)
    times = "1 delay" if number == 1 else f"{number:,} delays"
    of = "rank" if len(ranks) == 1 else "ranks"
    return f"{times}, {sum(lengths_ms):,.3f} ms in all, on {of} {', '.join(ranks)}"


def _silent(plan: Plan, truths: Mapping[int, Truth], world_size: int) -> Iterator[str]:
    done = {made.rule for truth in truths.values() for made in truth.delays}
    for number, rule in enumerate(plan.delays):
        if number not in done:
            why = _why(number, rule, truths, world_size)
            if why:
                yield f"the delay of {rule.operator} did nothing: {why}"


def _why(number: int, rule: DelayRule, truths: Mapping[int, Truth], world_size: int) -> str:
    """Say why a rule delayed nothing; empty if it cannot be known."""
    if rule.rank is not None and rule.rank >= world_size:
        return f"there is no rank {rule.rank} of {world_size}"
    meant = [t for rank, t in truths.items() if rule.rank in (None, rank)]
    if not meant:
        return ""
    steps = [counts for truth in meant for counts in truth.occurrences.values()]
    matched = sum(counts.get(number, 0) for counts in steps)
    if matched:
        return f"{matched:,} operators have that name, and none was chosen"
    return (
        "no operator of that name ran; names are those that the dispatcher calls, such as "
        "aten::mm, and not those that consist of others, such as aten::linear"
    )
