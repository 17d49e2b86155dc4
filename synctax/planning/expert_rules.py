"""Rules of whole numbers that experts bring: over which ranks they can spread."""

from collections.abc import Iterator

import numpy as np

from synctax.planning.domains import expert_tp
from synctax.planning.layout import Layouts
from synctax.planning.rule import Rule, always, divisors, keyed, nearest
from synctax.planning.shape import Model
from synctax.planning.training import Training


def expert_rules(model: Model, training: Training, layouts: Layouts) -> Iterator[Rule]:
    """Check how experts spread over the ranks of a stage.

    Parameters
    ----------
    model : Model
    training : Training
    layouts : Layouts
        k of them.

    Yields
    ------
    Rule

    References
    ----------
    Megatron-Core, arguments.py, parallel_state.py and moe.
    """
    e, t = layouts.ep, layouts.tp
    if model.experts is None:
        yield Rule(
            "experts",
            e > 1,
            keyed(lambda e: f"ep {e}, and {model.name} has no experts", e),
            always("ep 1"),
            "ep 1 without experts",
        )
        return
    count = model.experts.count
    there = t * layouts.cp * layouts.dp // expert_tp(training, layouts)

    def remedy(e: int, there: int) -> str:
        return f"ep {nearest(np.intersect1d(divisors(count), divisors(there)), e)}"

    yield Rule(
        "experts",
        count % e != 0,
        keyed(lambda e: f"{count} experts mod ep {e} = {count % e}", e),
        keyed(remedy, e, there),
        f"ep divides {count} experts",
    )
    called = "dp·cp" if training.expert_tp else "tp·dp·cp"
    yield Rule(
        "expert_ranks",
        there % e != 0,
        keyed(lambda e, n: f"{called} = {n:,} mod ep {e} = {n % e:,}", e, there),
        keyed(remedy, e, there),
        f"ep divides {called}",
    )
    yield Rule(
        "experts_sequence",
        (e > 1) & (t > 1) & (not training.sequence_parallel),
        keyed(
            lambda e, t: (
                f"ep {e} with tp {t} without sequence parallelism: each rank of TP "
                "would send the same tokens"
            ),
            e,
            t,
        ),
        always("sequence parallelism"),
        "experts with TP need sequence parallelism",
    )
