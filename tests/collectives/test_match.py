"""Which participations are one collective, and what may be said of it."""

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synctax.collectives.match import match
from synctax.collectives.matches import Identity, Matches, Status
from synctax.collectives.model import PER_ROW, Group, Op, RankCollectives
from tests.collectives.job import UNLABELLED, WORLD, C, lockstep, rank
from tests.laws import examples

PAIR = Group("0", (0, 1), "tp", 2, "kernel")
LONG = np.cumsum(np.random.default_rng(8).uniform(6_000, 9_000, 16)).tolist()
ENDS = [1_000.0, 2_300.0, 2_900.0, 4_700.0, 5_050.0, 7_200.0, 8_010.0, 9_900.0, 11_000.0]


def taxes_us(found: Matches) -> list[float]:
    """Largest less smallest duration of each collective."""
    duration = found.table.duration_ns[found.row]
    low = np.minimum.reduceat(duration, found.first[:-1])
    high = np.maximum.reduceat(duration, found.first[:-1])
    return [float(x) / 1_000 for x in high - low]


def statuses(found: Matches) -> list[str]:
    return [Status(int(code)).name for code in found.own_status]


def test_ranks_that_recorded_everything_match_one_to_one():
    found = match(lockstep(ENDS, [[40] * 9, [70] * 9, [50] * 9, [10] * 9]))
    assert taxes_us(found) == [60.0] * 9
    assert statuses(found) == ["OK"] * 9
    assert [Status(int(s)).name for s in found.status] == ["HEAD"] + ["OK"] * 8
    assert set(found.identity) == {Identity.ORDER}


def test_a_lost_head_of_one_rank_shifts_no_other_collective():
    ranks = lockstep(ENDS, [[40] * 9, [70] * 9, [50] * 9, [10] * 9])
    late = rank(2, [C(end, 50) for end in ENDS[1:]])
    found = match([ranks[0], ranks[1], late, ranks[3]])
    assert statuses(found) == ["PARTIAL"] + ["OK"] * 8
    assert taxes_us(found) == [60.0] * 9


@pytest.mark.parametrize("clock_us", [0.0, 320.0, -4_000.0, 3.6e9])
def test_a_shift_that_only_end_times_reveal_is_found_whatever_the_clock(clock_us):
    ends = np.cumsum(np.random.default_rng(3).uniform(500, 3_000, 40)).tolist()
    group = [Group("0", (0, 1), "tp", 2, "kernel")]
    ahead = rank(0, [C(e, 30) for e in ends[:-1]], groups=group)
    behind = rank(
        1, [C(e, 20) for e in ends[2:]], groups=group, clock_us=clock_us, host="b"
    )
    found = match([ahead, behind])
    assert statuses(found) == ["PARTIAL"] * 2 + ["OK"] * 37 + ["PARTIAL"]
    assert taxes_us(found)[2:-1] == [10.0] * 37


def test_a_collective_lost_in_the_middle_shifts_no_later_one():
    ends = np.cumsum(np.random.default_rng(5).uniform(500, 3_000, 30)).tolist()
    whole = rank(0, [C(e, 30) for e in ends], groups=[PAIR])
    holed = rank(
        1, [C(e, 20) for i, e in enumerate(ends) if i not in (11, 12)], groups=[PAIR]
    )
    found = match([whole, holed])
    expected = ["PARTIAL" if i in (11, 12) else "OK" for i in range(30)]
    assert statuses(found) == expected


def test_broadcasts_between_matched_collectives_match_though_their_ends_differ():
    ops = [
        Op.BROADCAST,
        Op.ALL_REDUCE,
        Op.BROADCAST,
        Op.BROADCAST,
        Op.ALL_REDUCE,
        Op.ALL_REDUCE,
    ]
    late = [3_000, 0, 1_500, 1_400, 0, 0]
    one = rank(0, [C(1e4 * (i + 1), 20, op) for i, op in enumerate(ops)], groups=[PAIR])
    two = rank(
        1,
        [C(1e4 * (i + 1) + late[i], 30, op) for i, op in enumerate(ops)],
        groups=[PAIR],
    )
    found = match([one, two])
    assert len(found) == 6
    assert statuses(found) == ["INVALID", "OK", "INVALID", "INVALID", "OK", "OK"]
    assert found.reasons[found.reason[0]] == "ranks do not leave this operation together"


def test_a_rank_that_ends_one_collective_late_makes_it_unmatched_not_a_number():
    ranks = lockstep(ENDS, [[40] * 9, [70] * 9, [50] * 9])
    late = rank(3, [C(end + 500 * (i == 4), 10) for i, end in enumerate(ENDS)])
    found = match([*ranks, late])
    assert statuses(found)[4] == "UNMATCHED"
    assert [s for i, s in enumerate(statuses(found)) if i != 4] == ["OK"] * 8
    assert found.end_spread_ns[4] == 500_000


def test_with_a_sequence_number_a_late_end_is_invalid_and_stays_matched():
    ranks = [
        rank(r, [C(e + 500 * (r == 3 and i == 4), 10, seq=i) for i, e in enumerate(ENDS)])
        for r in range(4)
    ]
    found = match(ranks)
    assert statuses(found)[4] == "INVALID"
    assert set(found.identity) == {Identity.SEQ}


def test_sequence_numbers_match_what_order_cannot():
    # Ends are exactly periodic and clocks unknown: order alone could be off by one.
    ends = [1_000.0 * (i + 1) for i in range(6)]
    one = rank(
        0, [C(e, 20, seq=7 + i) for i, e in enumerate(ends)], groups=[PAIR], host="a"
    )
    two = rank(
        1,
        [C(e, 30, seq=7 + i) for i, e in enumerate(ends)][1:],
        groups=[PAIR],
        host="b",
        clock_us=5e6,
    )
    found = match([one, two])
    assert statuses(found) == ["PARTIAL"] + ["OK"] * 5
    assert found.seq.tolist() == [7, 8, 9, 10, 11, 12]


def test_periodic_collectives_on_unrelated_clocks_are_called_uncertain():
    ends = [1_000.0 * (i + 1) for i in range(6)]
    one = rank(0, [C(e, 20) for e in ends], groups=[PAIR], host="a")
    two = rank(1, [C(e, 30) for e in ends[1:]], groups=[PAIR], host="b", clock_us=500)
    found = match([one, two])
    assert "OK" not in statuses(found)
    assert any("not certain" in reason for reason in found.reasons)


def test_coalesced_operations_that_share_a_number_match_by_order_within_it():
    def one(number: int, skip: int) -> object:
        kernels = [C(1_000 + 137 * i * i, 20 + number, seq=5) for i in range(3)]
        after = [C(4_000 + 990 * i, 20 + number, seq=6 + i) for i in range(6)]
        return rank(number, kernels[skip:] + after, groups=[PAIR])

    found = match([one(0, 0), one(1, 1)])
    assert statuses(found) == ["PARTIAL"] + ["OK"] * 8
    assert found.seq.tolist()[:3] == [5, 5, 5]
    assert taxes_us(found)[1:] == [1.0] * 8


def test_a_comms_id_beyond_int64_is_an_identity():
    ids = [17293822569102704640 + i for i in range(3)]
    ranks = [
        rank(
            r,
            [C(e, 20, comms_id=i, seq=1) for e, i in zip(ENDS, ids, strict=False)][r:],
            groups=[PAIR],
        )
        for r in range(2)
    ]
    found = match(ranks)
    assert statuses(found) == ["PARTIAL", "OK", "OK"]
    assert set(found.identity) == {Identity.COMMS_ID}


def test_sibling_groups_with_one_name_are_two_groups():
    low, high = Group("1", (0, 1), "tp", 2, "kernel"), Group("1", (2, 3), "tp", 2, "kernel")
    ranks = [rank(r, [C(e, 20 + r) for e in ENDS], groups=[low]) for r in (0, 1)]
    ranks += [rank(r, [C(e + 9, 20 + r) for e in ENDS], groups=[high]) for r in (2, 3)]
    found = match(ranks)
    assert [g.ranks for g in found.groups] == [(0, 1), (2, 3)]
    assert statuses(found) == ["OK"] * 18


def test_a_rank_that_knows_only_the_name_joins_the_group_that_lists_it():
    bare = Group("0", None, "tp", 2, "inferred")
    found = match(
        [
            rank(0, [C(e, 20) for e in ENDS], groups=[PAIR]),
            rank(1, [C(e, 30) for e in ENDS], groups=[bare]),
        ]
    )
    assert [g.ranks for g in found.groups] == [(0, 1)]
    assert [n.reason for n in found.notes] == ["group_ranks_from_other_ranks"]


def test_unlabelled_ranks_are_split_into_those_that_leave_together():
    draw = np.random.default_rng(1)
    ends = np.cumsum(draw.uniform(800, 1_200, 30))
    other = ends + draw.uniform(-60, 60, 30)
    ranks = [
        rank(r, [C(e, 20 + r) for e in (ends if r % 2 else other)], groups=[UNLABELLED])
        for r in range(4)
    ]
    found = match(ranks)
    assert sorted(g.ranks for g in found.groups) == [(0, 2), (1, 3)]
    assert set(found.identity) == {Identity.INFERRED}
    assert statuses(found) == ["OK"] * 60


def test_unlabelled_ranks_that_all_leave_together_stay_one_group():
    draw = np.random.default_rng(2)
    ends = np.cumsum(draw.uniform(800, 1_200, 30))
    ranks = [
        rank(r, [C(e + draw.uniform(0, 30), 20 + r) for e in ends], groups=[UNLABELLED])
        for r in range(8)
    ]
    assert [g.ranks for g in match(ranks).groups] == [tuple(range(8))]


def test_two_unlabelled_streams_are_two_groups():
    second = replace(UNLABELLED, stream=1)
    ranks = [
        rank(
            r,
            [C(e, 20 + r) for e in ENDS]
            + [C(e + 333, 9, Op.ALL_GATHER, group=1) for e in ENDS],
            groups=[UNLABELLED, second],
        )
        for r in range(2)
    ]
    found = match(ranks)
    assert [g.role for g in found.groups] == ["unlabelled stream 0", "unlabelled stream 1"]


def test_unlabelled_streams_are_paired_by_what_runs_on_them_not_by_their_number():
    second = replace(UNLABELLED, stream=1)
    gathers = [C(e + 333, 9, Op.ALL_GATHER, group=1) for e in ENDS]
    both = rank(0, [C(e, 20) for e in ENDS] + gathers, groups=[UNLABELLED, second])
    # Rank 1 lost every all-reduce, so its all-gathers are on its first stream.
    one = rank(1, [replace(c, group=0) for c in gathers], groups=[UNLABELLED])
    found = match([both, one])
    gathered = [g for g in found.groups if len(g.members) == 2]
    assert len(gathered) == 1
    ops = found.op[found.group == found.groups.index(gathered[0])]
    assert set(ops) == {Op.ALL_GATHER}


def test_a_head_without_a_name_may_be_the_all_to_all_that_others_name():
    one = rank(0, [C(e, 20, Op.ALL_TO_ALL) for e in ENDS], groups=[PAIR])
    first = C(ENDS[0], 30, Op.SEND_RECV, payload=-1, named=False)
    two = rank(1, [first, *(C(e, 30, Op.ALL_TO_ALL) for e in ENDS[1:])], groups=[PAIR])
    found = match([one, two])
    assert statuses(found) == ["OK"] * 9
    assert set(found.op) == {Op.ALL_TO_ALL}


def test_uneven_all_to_all_is_invalid():
    ranks = [
        rank(
            r,
            [C(e, 20 + r, Op.ALL_TO_ALL, uneven=i == 3) for i, e in enumerate(ENDS)],
            groups=[PAIR],
        )
        for r in range(2)
    ]
    assert statuses(match(ranks)) == ["OK"] * 3 + ["INVALID"] + ["OK"] * 5


def test_send_and_receive_pair_up_by_peer_and_are_no_tax():
    group = Group("0", (0, 1, 2), "pp", 3, "kernel")
    ranks = [
        rank(0, [C(100, 5, Op.SEND_RECV, peer=1, seq=1)], groups=[group]),
        rank(
            1,
            [
                C(100, 9, Op.SEND_RECV, peer=0, seq=1),
                C(300, 9, Op.SEND_RECV, peer=2, seq=1),
            ],
            groups=[group],
        ),
        rank(2, [C(300, 5, Op.SEND_RECV, peer=1, seq=1)], groups=[group]),
    ]
    found = match(ranks)
    assert len(found) == 2
    assert statuses(found) == ["INVALID", "INVALID"]


def test_a_rank_of_the_group_that_recorded_nothing_makes_all_partial():
    ranks = lockstep(ENDS, [[40] * 9, [70] * 9, [50] * 9, [10] * 9])
    silent = rank(3, [])
    assert statuses(match([*ranks[:3], silent])) == ["PARTIAL"] * 9


def test_a_group_of_which_one_rank_was_read_has_nothing_to_compare():
    found = match(lockstep(ENDS, [[40] * 9]))
    assert statuses(found) == ["UNMATCHED"] * 9


def test_a_subset_of_the_ranks_is_measured_among_itself():
    found = match(lockstep(ENDS, [[40] * 9, [70] * 9]))
    assert statuses(found) == ["OK"] * 9
    assert found.groups[0].size == 4


def test_windows_are_matched_apart_and_each_has_its_head():
    ranks = [
        rank(r, [C(e + shift, 20 + r) for e in ENDS], groups=[PAIR], window=window)
        for r in (0, 1)
        for window, shift in (("iteration_2", 0), ("iteration_11", 1e6))
    ]
    found = match(ranks)
    assert [one.window for one in found.groups] == ["iteration_2", "iteration_11"]
    assert found.index.tolist() == [*range(9), *range(9)]
    assert [Status(int(s)).name for s in found.status] == (["HEAD"] + ["OK"] * 8) * 2


def test_a_drifting_clock_on_another_host_is_fitted_and_ends_agree():
    ends = np.cumsum(np.random.default_rng(9).uniform(5e4, 3e5, 200))
    one = rank(0, [C(e, 30) for e in ends], groups=[PAIR], host="a")
    two = rank(
        1, [C(e * (1 + 20e-6), 20) for e in ends], groups=[PAIR], host="b", clock_us=777
    )
    found = match([one, two])
    assert statuses(found) == ["OK"] * 200
    assert found.end_spread_ns.max() <= 2
    clock = found.clocks[0][1]
    assert clock.drift == pytest.approx(20e-6, rel=1e-3)


@pytest.mark.parametrize(("on_cpu", "status"), [(True, "OK"), (False, "UNMATCHED")])
def test_ends_that_never_agree_leave_complete_sequences_in_order(on_cpu, status):
    # As gloo does on a busy host: each rank ends when it is scheduled again.
    draw = np.random.default_rng(4)
    ends = np.cumsum(draw.uniform(20_000, 30_000, 12))
    ranks = [
        rank(
            r,
            [C(e + draw.uniform(0, 4_000), 9_000) for e in ends],
            groups=[PAIR],
            on_cpu=on_cpu,
        )
        for r in (0, 1)
    ]
    found = match(ranks)
    assert np.diff(found.first).tolist() == [2] * 12
    assert statuses(found).count(status) >= 10


def test_ranks_that_share_nothing_are_not_matched_by_a_few_ends_that_happen_to_agree():
    one = rank(0, [C(e, 20) for e in ENDS[:4]], groups=[PAIR])
    two = rank(1, [C(e + 60, 30) for e in ENDS[5:]], groups=[PAIR])
    assert "OK" not in statuses(match([one, two]))


def test_no_ranks_no_collectives():
    assert len(match([])) == 0
    assert len(match([rank(0, [])])) == 0


durations = st.lists(st.integers(1, 5_000), min_size=8, max_size=8)


@settings(max_examples=examples(40))
@given(st.lists(durations, min_size=2, max_size=4), st.randoms(use_true_random=False))
def test_the_order_in_which_ranks_are_given_changes_nothing(rows, random):
    ranks = lockstep(ENDS[:8], rows, groups=[WORLD])
    shuffled = list(ranks)
    random.shuffle(shuffled)
    assert taxes_us(match(shuffled)) == taxes_us(match(ranks))


many_durations = st.lists(st.integers(1, 5_000), min_size=16, max_size=16)


@settings(max_examples=examples(40))
@given(
    st.lists(many_durations, min_size=2, max_size=4),
    st.lists(st.floats(-1e7, 1e7), min_size=4, max_size=4),
)
def test_clocks_that_are_off_change_no_tax(rows, clocks):
    common = [WORLD]
    plain = lockstep(LONG, rows, groups=common)
    shifted = [
        rank(
            r,
            [C(e, d) for e, d in zip(LONG, mine, strict=True)],
            groups=common,
            clock_us=round(clocks[r], 3),
            host=f"node{r}",
        )
        for r, mine in enumerate(rows)
    ]
    assert taxes_us(match(shifted)) == taxes_us(match(plain))
    assert statuses(match(shifted)) == statuses(match(plain))


@settings(max_examples=examples(40))
@given(st.lists(durations, min_size=2, max_size=4), st.integers(2, 20))
def test_times_that_are_all_longer_give_a_tax_as_much_longer(rows, factor):
    plain = lockstep(ENDS[:8], rows)
    scaled = lockstep(
        [e * factor for e in ENDS[:8]], [[d * factor for d in r] for r in rows]
    )
    assert taxes_us(match(scaled)) == [t * factor for t in taxes_us(match(plain))]


@settings(max_examples=examples(60))
@given(
    st.integers(2, 4),
    st.integers(9, 30),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=4, max_size=4),
    st.integers(0, 2**32 - 1),
)
def test_ranks_that_lost_different_ends_still_match_what_they_share(
    size, count, lost, seed
):
    draw = np.random.default_rng(seed)
    ends = np.cumsum(draw.uniform(300, 3_000, count))
    group = Group("0", tuple(range(size)), "tp", size, "kernel")
    ranks = [
        rank(
            r,
            [C(e, 10 + 7 * r + i) for i, e in enumerate(ends)][
                lost[r][0] : count - lost[r][1]
            ],
            groups=[group],
            clock_us=float(draw.uniform(-300, 300)),
            host=f"node{r}",
        )
        for r in range(size)
    ]
    found = match(ranks)
    first = min(head for head, _ in lost[:size])
    seen = [
        sum(lost[r][0] <= i < count - lost[r][1] for r in range(size)) for i in range(count)
    ]
    expected = [n for n in seen if n]
    assert np.diff(found.first).tolist() == expected
    assert found.index[0] == 0
    whole = [i for i, n in enumerate(seen[first:]) if n == size]
    assert [i for i, s in enumerate(statuses(found)) if s == "OK"] == whole


def test_clocks_of_one_host_that_differ_are_said():
    ranks = [
        rank(r, [C(e, 20 + r) for e in LONG], groups=[PAIR], clock_us=r * 5_000)
        for r in (0, 1)
    ]
    note = next(n for n in match(ranks).notes if n.reason == "clocks_of_one_host_differ")
    assert note.detail.endswith("clocks up to 5 ms apart: 1")
    assert not match([ranks[0], rank(1, [C(e, 21) for e in LONG], groups=[PAIR])]).notes


@pytest.mark.parametrize("bad", range(4))
def test_only_clocks_are_named_that_differ_from_what_most_agree_on(bad):
    group = Group("0", (0, 1, 2, 3), "tp", 4, "kernel")
    # the clocks of the others differ by less than ends do; that of one lost its beginning
    clock_us = [40.0 * r if r != bad else -1.774224e15 for r in range(4)]
    ranks = [
        rank(r, [C(e, 20 + r) for e in LONG], groups=[group], clock_us=clock_us[r])
        for r in range(4)
    ]
    note = next(n for n in match(ranks).notes if n.reason == "clocks_of_one_host_differ")
    assert (note.count, note.detail) == (
        1,
        f"ranks of one host with clocks up to 492,840 h apart: {bad}",
    )


def test_events_that_stand_twice_in_a_trace_count_once():
    plain = lockstep(ENDS, [[40] * 9, [70] * 9], groups=[PAIR])
    twice = rank(1, [C(e, 70) for e in ENDS + ENDS[3:5]], groups=[PAIR])
    found = match([plain[0], twice])
    assert taxes_us(found) == taxes_us(match(plain))
    assert [(n.reason, n.count) for n in found.notes] == [("event_repeated", 2)]


def test_all_that_a_rank_tells_of_a_participation_is_kept_or_dropped_with_it():
    whole = rank(0, [C(e, 40) for e in ENDS], busy=[(0, 1)], steps=[(0, 0.0, 9e3)])
    per_row = {
        name for name, value in vars_of(whole).items() if np.size(value) == len(whole)
    }
    assert per_row == set(PER_ROW)
    part = whole.take(slice(2, 5))
    assert {np.size(vars_of(part)[name]) for name in PER_ROW} == {3}
    assert part.busy_start_ns is whole.busy_start_ns


def vars_of(one: RankCollectives) -> dict[str, object]:
    return {field.name: getattr(one, field.name) for field in fields(one)}


def test_a_stream_without_a_collective_is_no_group_to_split():
    """Streams without metadata are told apart by ends; on one of them nothing ran."""
    silent = Group("", None, "unlabelled", None, "inferred", 1)
    ranks = lockstep(ENDS, [[40] * 9] * 4, groups=[UNLABELLED, silent])
    found = match(ranks)
    assert statuses(found) == ["OK"] * 9
