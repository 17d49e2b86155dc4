"""Ranks that lost collectives anywhere: what is called ok is what belongs together."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synctax.collectives.match import match
from synctax.collectives.matches import Matches, Status
from synctax.collectives.model import Group, Op, RankCollectives
from tests.collectives.job import C, rank
from tests.laws import examples

PAIR = Group("0", (0, 1), "tp", 2, "kernel")
COUNT = 100


def job(
    ends: np.ndarray,
    lost: tuple[set[int], set[int]],
    *,
    noise_us: float = 0.1,
    hosts: tuple[str, str] = ("n", "n"),
    clock_us: float = 0.0,
    seed: int = 0,
    **kwargs: object,
) -> list[RankCollectives]:
    """Two ranks; `step` says which collective each participation really is."""
    draw = np.random.default_rng(seed)
    return [
        rank(
            r,
            [
                C(end + abs(draw.normal(0, noise_us)), float(draw.uniform(4, 15)), step=k)
                for k, end in enumerate(ends)
                if k not in lost[r]
            ],
            groups=[PAIR],
            host=hosts[r],
            clock_us=clock_us * r,
            **kwargs,  # type: ignore[arg-type]
        )
        for r in (0, 1)
    ]


def right_and_wrong(found: Matches) -> tuple[int, int]:
    """How many collectives that are called ok are one, and how many are not."""
    step = found.table.step[found.row]
    low = np.minimum.reduceat(step, found.first[:-1])
    high = np.maximum.reduceat(step, found.first[:-1])
    ok = found.own_status == Status.OK
    return int((ok & (low == high)).sum()), int((ok & (low != high)).sum())


@pytest.mark.parametrize("gap_us", [20, 50, 100, 150, 190, 300, 1_000])
@pytest.mark.parametrize("place", [5, 50, 85, 95])
def test_a_collective_lost_in_the_middle_moves_no_other_however_close_they_follow(
    gap_us, place
):
    ends = np.cumsum(np.random.default_rng(1).normal(gap_us, gap_us / 10, COUNT))
    found = match(job(ends, (set(), {place})))
    assert right_and_wrong(found) == (COUNT - 1, 0)


@pytest.mark.parametrize(
    "lost",
    [({20}, {60}), ({15}, {85}), ({30}, {70}), ({10, 11}, {80, 81}), ({0}, {99})],
)
@pytest.mark.parametrize("hosts", [("n", "n"), ("a", "b"), ("", "")])
def test_ranks_that_lost_equally_many_are_not_taken_to_be_complete(lost, hosts):
    ends = np.cumsum(np.random.default_rng(3).normal(1_000, 20, COUNT))
    found = match(job(ends, lost, hosts=hosts))
    assert right_and_wrong(found) == (COUNT - len(lost[0] | lost[1]), 0)


@pytest.mark.parametrize("pattern", [(300,), (50, 250), (30, 60, 120)])
@pytest.mark.parametrize("hosts", [("n", "n"), ("a", "b"), ("", "")])
def test_a_shift_by_a_whole_layer_is_not_taken_for_the_right_one(pattern, hosts):
    for seed in range(5):
        draw = np.random.default_rng(seed)
        gaps = np.tile(pattern, COUNT)[:COUNT] + draw.normal(0, 2, COUNT)
        width = len(pattern)
        lost = (set(range(COUNT - width, COUNT)), set(range(width)))
        found = match(job(np.cumsum(gaps), lost, hosts=hosts, noise_us=0.05, seed=seed))
        assert right_and_wrong(found)[1] == 0


@pytest.mark.parametrize("gap_us", [2_000, 8_000])
def test_gloo_with_its_wide_tolerance_moves_no_collective_either(gap_us):
    ends = np.cumsum(np.random.default_rng(5).normal(gap_us, gap_us / 3, COUNT))
    found = match(job(ends, (set(), {50}), on_cpu=True))
    assert right_and_wrong(found) == (COUNT - 1, 0)


@settings(max_examples=examples(40), deadline=None)
@given(
    # Where noise is a tenth of the gap, losses side by side cannot be told from noise.
    spacing=st.sampled_from([(60, 0.1), (60, 1.0), (200, 0.1), (200, 4.0), (1_000, 10.0)]),
    lost=st.tuples(*[st.sets(st.integers(0, COUNT - 1), max_size=4)] * 2),
    clock_us=st.sampled_from([0.0, 300.0, -2_000.0]),
    seed=st.integers(0, 1_000),
)
def test_no_wrong_pair_is_called_ok(spacing, lost, clock_us, seed):
    gap_us, noise_us = spacing
    ends = np.cumsum(np.random.default_rng(seed).normal(gap_us, gap_us / 6, COUNT))
    ends = np.maximum.accumulate(ends) + np.arange(COUNT)
    hosts = ("a", "b") if clock_us else ("n", "n")
    ranks = job(ends, lost, noise_us=noise_us, hosts=hosts, clock_us=clock_us, seed=seed)
    assert right_and_wrong(match(ranks))[1] == 0


@pytest.mark.parametrize("hosts", [("n", "n"), ("a", "b")])
def test_coalesced_operations_that_lost_their_ends_are_not_paired_by_number(hosts):
    # Six operations with one Seq, 60 µs apart: rank 0 lost the first, rank 1 the last.
    ends = [1_000.0 + 60 * k for k in range(6)]
    later = [3_000.0 + 700 * k for k in range(8)]
    clock = {"a": 0.0, "b": 250.0, "n": 0.0}
    ranks = [
        rank(
            r,
            [C(e, 9, seq=5, step=k) for k, e in enumerate(ends) if k != 5 * r]
            + [C(e, 9, seq=6 + k, step=10 + k) for k, e in enumerate(later)],
            groups=[PAIR],
            host=hosts[r],
            clock_us=clock[hosts[r]],
        )
        for r in (0, 1)
    ]
    assert right_and_wrong(match(ranks)) == (4 + 8, 0)


def test_point_to_point_operations_of_several_pairs_may_share_a_comms_id():
    group = Group("0", (0, 1, 2), "pp", 3, "kernel")
    ranks = [
        rank(r, [C(e, 5, Op.SEND_RECV, peer=p, comms_id=7 + k) for k, (p, e) in
                 enumerate(calls)], groups=[group])
        for r, calls in enumerate(
            [
                [(1, 100), (1, 300)],
                [(0, 100), (2, 200), (0, 300), (2, 400)],
                [(1, 200), (1, 400)],
            ]
        )
    ]  # fmt: skip
    found = match(ranks)
    assert np.diff(found.first).tolist() == [2, 2, 2, 2]


def test_a_rank_without_comms_id_is_matched_by_the_seq_that_all_have():
    ends = [1_000.0 * (k + 1) for k in range(6)]
    ranks = [
        rank(r, [C(e, 5, seq=k, comms_id=(99 + k) * (1 - r)) for k, e in enumerate(ends)],
             groups=[PAIR])
        for r in (0, 1)
    ]  # fmt: skip
    assert np.diff(match(ranks).first).tolist() == [2] * 6
