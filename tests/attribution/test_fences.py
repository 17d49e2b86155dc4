"""Where windows begin: fences are those that looking at all earlier collectives finds."""

from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from synctax.attribution.windows import OVERLAPPING, _fences
from tests.laws import examples


@dataclass
class Found:
    """As much of `Matches` as is looked at."""

    group: Any
    first: Any

    def __len__(self):
        return len(self.group)


def looked_for(group, ranks, start, end, usable):
    """As the description says it: all earlier ones, the nearest first."""
    found = []
    for slot in range(len(group)):
        best, left = -1, OVERLAPPING
        for other in range(slot - 1, -1, -1):
            if not usable[slot] or group[other] != group[slot] or not left:
                break
            fits = usable[other] and ranks[other] == ranks[slot]
            left_it = zip(end[other], start[slot], strict=False)
            if (
                fits
                and all(e <= s for e, s in left_it)
                and (best < 0 or end[other][0] > end[best][0])
            ):
                best = other
            left -= best >= 0
        found.append(best)
    return found


@given(st.randoms(use_true_random=False), st.integers(0, 40), st.sampled_from([1, 5, 60]))
@settings(max_examples=examples(300))
def test_a_fence_is_the_latest_to_end_of_those_that_all_left(rng, count, length):
    group = sorted(rng.choice((0, 1)) for _ in range(count))
    ranks = [rng.choice(([0, 1], [0, 1], [1, 2], [0, 1, 2])) for _ in range(count)]
    start = [[at + rng.randint(0, 4) for _ in r] for at, r in enumerate(ranks)]
    end = [[s + rng.randint(0, length) for s in row] for row in start]
    usable = [rng.random() < 0.8 for _ in range(count)]
    first = np.cumsum([0, *map(len, ranks)])
    flat = (np.array([*chain(*rows)], np.int64) for rows in (start, end))
    found = Found(np.array(group, np.int32), first)
    at = np.array([*chain(*ranks)], np.int32)
    fence = _fences(found, np.array(usable, np.bool_), *flat, at)
    assert fence.tolist() == looked_for(group, ranks, start, end, usable)
