"""What several tests of figures look at: the example, measured and attributed once."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

import synctax
from synctax.attribution.attribute import Attribution
from synctax.collectives.model import Group
from synctax.collectives.tax import Tax
from tests.attribution.examples import EXAMPLE, attributed, measured
from tests.collectives.job import C, rank

TRANSFER_US = 20


@pytest.fixture(scope="session")
def tax() -> Tax:
    """Measure the example with known answers: 8 ranks, tp of 4 and fsdp of 2."""
    return measured(EXAMPLE)


@pytest.fixture(scope="session")
def attribution() -> Attribution:
    """Attribute the same."""
    return attributed(EXAMPLE)


@pytest.fixture(scope="session")
def made() -> Callable[..., Tax]:
    """Measure made-up collectives: `made([[30, 0], [0, 30], ...], role="tp")`.

    Each row is a collective with the wait of each rank in µs; `group_of` has the number of
    its group, and `roles` a role a group. What comes first in a group counts as well.
    """

    def made(
        waits_us: Sequence[Sequence[float]],
        *,
        group_of: Sequence[int] | None = None,
        roles: Sequence[str] = ("tp",),
    ) -> Tax:
        waits = np.array(waits_us, np.float64)
        numbers = [0] * len(waits) if group_of is None else list(group_of)
        ranks = waits.shape[1]
        groups = [
            Group(str(k), tuple(range(ranks)), role, ranks, "kernel")
            for k, role in enumerate(roles)
        ]
        ends = 1_000.0 + (waits.max() + 2 * TRANSFER_US) * np.arange(len(waits))
        return synctax.measure(
            [
                rank(
                    number,
                    [
                        C(end, TRANSFER_US + wait, group=group)
                        for end, wait, group in zip(
                            ends, waits[:, number], numbers, strict=True
                        )
                    ],
                    groups=groups,
                )
                for number in range(ranks)
            ],
            include_head=True,
        )

    return made
