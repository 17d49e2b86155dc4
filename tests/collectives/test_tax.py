"""What is selected, what counts, and what the tables say of it."""

import numpy as np
import pytest

from synctax.collectives.model import Group, Op
from synctax.collectives.summary import ranks_text
from synctax.collectives.tax import measure
from synctax.errors import SynctaxError
from synctax.notes import Note
from synctax.schema import MEASURE, MEASURE_COLLECTIVES, MEASURE_RANKS
from tests.collectives.job import UNLABELLED, C, lockstep, rank

PAIR = Group("0", (0, 1), "tp", 2, "kernel")
OTHER = Group("7", (0, 1), "fsdp", 2, "kernel")
ENDS = [1_000.0, 2_300.0, 2_900.0, 4_700.0, 5_050.0, 7_200.0]


def pair(first: list[float], second: list[float], **kwargs: object) -> list:
    return lockstep(ENDS, [first, second], groups=[PAIR], **kwargs)


def test_the_first_collective_of_a_window_is_shown_apart():
    tax = measure(pair([5_000, 10, 10, 10, 10, 10], [10] * 6))
    assert tax.to_frame().collectives.tolist() == [5]
    assert tax.to_frame().tax_max_us_max.tolist() == [0.0]
    assert [(n.reason, n.count) for n in tax.excluded()] == [("head", 1)]
    with_head = measure(pair([5_000, 10, 10, 10, 10, 10], [10] * 6), include_head=True)
    assert with_head.to_frame().tax_max_us_max.tolist() == [4_990.0]
    assert with_head.excluded() == ()


def test_only_the_first_collective_is_head_however_large_later_ones_are():
    tax = measure(pair([10, 5_000, 4_000, 10, 10, 10], [10] * 6))
    assert tax.to_frame().tax_max_us_max.tolist() == [4_990.0]


def test_shares_medians_and_means_are_those_of_the_definition():
    group = Group("0", (0, 1, 2), "tp", 3, "kernel")
    ranks = lockstep(ENDS, [[100] * 6, [40] * 6, [25] * 6], groups=[group])
    row = measure(ranks).to_frame().iloc[0]
    assert row.tax_max_us_median == 75
    assert row.tax_median_us_median == 15
    assert row.tax_mean_us_median == pytest.approx(30)
    assert row.share_fastest_median == 0.75
    assert row.share_median_median == 15 / 40
    assert row.transfer_us_median == 25
    assert (row.straggler_rank, row.straggler_share) == (2, 1.0)
    assert row.straggler_longest_run == 5


def test_ties_are_no_order_and_leave_the_straggler_share():
    ranks = pair([10, 20, 20, 30, 30, 30], [10, 20, 20, 20, 40, 20])
    row = measure(ranks).to_frame().iloc[0]
    assert row.straggler_rank == 1
    assert row.straggler_share == 2 / 3
    tied = measure(pair([10] * 6, [10] * 6)).to_frame().iloc[0]
    assert tied.isna().straggler_rank


def test_waits_are_a_share_of_the_steps_they_lie_in():
    steps = [(3, 0, 5_000), (4, 5_000, 8_000)]
    ranks = [
        rank(
            r,
            [C(e, 500 - 400 * r, step=3 if e < 5_000 else 4) for e in ENDS],
            groups=[PAIR],
            steps=steps,
        )
        for r in (0, 1)
    ]
    row = measure(ranks, include_head=True).to_frame().iloc[0]
    assert row.wait_share_of_step == pytest.approx(6 * 400 / (2 * 8_000))
    only = measure(ranks, steps=range(4, 5)).per_collective()
    assert set(only.step) == {4}
    assert measure(ranks).gpu_hours_waited == pytest.approx(5 * 400e-6 / 3600)
    share = measure(ranks, steps=range(4, 5)).to_frame().wait_share_of_step[0]
    assert share == pytest.approx(2 * 400 / (2 * (8_000 - 4_700)))


def test_a_wait_beside_computation_is_not_exposed():
    busy = [(2_250, 2_290), (4_000, 4_650)]
    one = rank(0, [C(e, 100) for e in ENDS], groups=[PAIR], busy=busy)
    two = rank(1, [C(e, 20) for e in ENDS], groups=[PAIR])
    tax = measure([one, two])
    rows = tax.per_collective()
    assert rows.exposed_wait_us.tolist() == [40.0, 25.0, 40.0, 15.0, 40.0, 40.0]
    assert tax.gpu_hours_waited_exposed == pytest.approx(
        tax.gpu_hours_waited * (400 - 30 - 50) / 400
    )


def test_bus_bandwidth_is_net_of_the_wait_and_uses_the_declared_size():
    group = Group("0", (0, 1, 2, 3), "tp", 4, "kernel")
    ranks = lockstep(ENDS, [[900] * 6, [100] * 6], groups=[group], payload=10**8)
    row = measure(ranks).to_frame().iloc[0]
    assert row.busbw_gb_per_s_median == pytest.approx(1e8 * 1.5 / 100e-6 / 1e9)
    assert row.n_ranks == 4


def test_groups_are_selected_by_role_or_name():
    ranks = [
        rank(
            r,
            [C(e, 20 + r) for e in ENDS]
            + [C(e + 150, 9, Op.ALL_GATHER, group=1) for e in ENDS],
            groups=[PAIR, OTHER],
        )
        for r in (0, 1)
    ]
    for wanted in ("fsdp", "7"):
        assert measure(ranks, group=wanted).to_frame().group.tolist() == ["fsdp"]
    assert measure(ranks, op="all_reduce").to_frame().group.tolist() == ["tp"]
    with pytest.raises(SynctaxError, match="no group ep; there are tp, fsdp"):
        measure(ranks, group="ep")
    with pytest.raises(
        SynctaxError, match=r"no broadcast .*; there are all_gather, all_reduce"
    ):
        measure(ranks, op="broadcast")
    with pytest.raises(SynctaxError, match="no step is marked"):
        measure(ranks, steps=range(3))


def test_a_lone_unlabelled_group_answers_any_role_and_says_so():
    ranks = lockstep(ENDS, [[20] * 6, [30] * 6], groups=[UNLABELLED])
    tax = measure(ranks, group="tp")
    assert tax.to_frame().collectives.tolist() == [5]
    assert "unlabelled_group" in {note.reason for note in tax.notes}


def test_an_unlabelled_group_answers_no_slip_of_the_keyboard():
    ranks = lockstep(ENDS, [[20] * 6, [30] * 6], groups=[UNLABELLED])
    with pytest.raises(SynctaxError, match="no group tpp; there are unlabelled"):
        measure(ranks, group="tpp")


def test_waits_are_set_against_the_time_the_gpu_took_not_the_host_that_runs_ahead():
    # The host issued both steps in 2 ms; the GPU took 10 ms for each.
    steps = [(0, 0, 1_000), (1, 1_000, 2_000)]
    ends = [5_000.0, 10_000.0, 15_000.0, 20_000.0]
    ranks = [
        rank(
            r,
            [C(e, 1_010 - 1_000 * r, step=int(e > 10_000)) for e in ends],
            groups=[PAIR],
            steps=steps,
        )
        for r in (0, 1)
    ]
    whole = measure(ranks, include_head=True).to_frame().wait_share_of_step[0]
    assert whole == pytest.approx(4 * 1_000 / (2 * 20_000))
    second = measure(ranks, include_head=True, steps=range(1, 2)).to_frame()
    assert second.wait_share_of_step[0] == pytest.approx(2 * 1_000 / (2 * 10_000))


def test_whole_microseconds_a_resolution_apart_are_a_tie():
    tied = measure(pair([10] * 6, [11] * 6)).per_collective()
    assert tied.straggler_rank.isna().all()
    exact = measure(pair([10.001] * 6, [11] * 6)).per_collective()
    assert set(exact.straggler_rank) == {0}


def test_a_kernel_without_duration_is_no_transfer():
    tax = measure(pair([10, 10, 0, 10, 10, 10], [20] * 6))
    assert tax.per_collective().status.tolist()[2] == "invalid"
    assert tax.per_collective().reason[2] == "a rank's kernel has no duration"


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ({"job": ["traces/"]}, TypeError),
        ({"job": "traces/"}, TypeError),
        ({"job": [], "steps": 3}, TypeError),
        ({"job": [], "end_tolerance_us": float("nan")}, ValueError),
        ({"job": [], "end_tolerance_us": -1}, ValueError),
    ],
)
def test_wrong_calls_are_told_what_is_wanted(call, error):
    with pytest.raises(error):
        measure(**call)


def test_a_tax_shows_itself_in_one_line_and_as_a_table():
    tax = measure(pair([10] * 6, [20] * 6))
    assert repr(tax) == "<Tax: 5 of 6 collectives count, 2 ranks>"
    assert "<table" in tax._repr_html_()


def test_steps_that_do_not_exist_are_answered_with_those_that_do():
    ranks = [rank(r, [C(e, 20, step=5) for e in ENDS], groups=[PAIR]) for r in (0, 1)]
    with pytest.raises(SynctaxError, match="there are 5"):
        measure(ranks, steps=range(1, 3))


def test_ranks_without_communication_are_told_what_to_profile():
    with pytest.raises(SynctaxError, match="no communication kernel on any of 2 ranks"):
        measure([rank(0, []), rank(1, [])])


def test_what_may_not_be_believed_is_null_in_the_table_of_collectives():
    ops = [Op.ALL_REDUCE, Op.BROADCAST, *[Op.ALL_REDUCE] * 4]
    ranks = [
        rank(r, [C(e, 20 + r, op) for e, op in zip(ENDS, ops, strict=True)], groups=[PAIR])
        for r in (0, 1)
    ]
    row = measure(ranks).per_collective().iloc[1]
    assert row.status == "invalid"
    assert np.isnan(row.tax_max_us)
    assert np.isnan(row.busbw_gb_per_s)
    assert row.duration_max_us == 21
    assert row.reason == "ranks do not leave this operation together"


def test_tables_have_exactly_the_declared_columns():
    tax = measure(pair([10] * 6, [20] * 6))
    assert tuple(tax.to_frame().columns) == MEASURE.names
    assert tuple(tax.per_collective().columns) == MEASURE_COLLECTIVES.names
    assert tuple(tax.per_rank().columns) == MEASURE_RANKS.names


def test_each_rank_has_its_waits_and_its_clock():
    ranks = [
        rank(0, [C(e, 50) for e in ENDS], groups=[PAIR], host="a"),
        rank(1, [C(e, 20) for e in ENDS], groups=[PAIR], host="b", clock_us=300),
    ]
    rows = measure(ranks).per_rank().set_index("rank")
    assert rows.tax_mean_us.tolist() == [30.0, 0.0]
    assert rows.straggler_count.tolist() == [0, 5]
    assert rows.wait_us_sum.tolist() == [150.0, 0.0]
    assert np.isnan(rows.clock_offset_us[0])
    assert rows.clock_offset_us[1] == 300.0
    assert rows.clock_residual_us[1] == 0.0


def test_ranks_of_a_group_that_were_not_read_are_said():
    group = Group("0", (0, 1, 2, 3), "tp", 4, "kernel")
    tax = measure(lockstep(ENDS, [[90] * 6, [10] * 6], groups=[group]))
    said = {n.reason: n.detail for n in tax.excluded()}
    assert said["group_incomplete"].startswith("tp group with 2 of 4 ranks read")
    whole = measure(pair([90] * 6, [10] * 6))
    assert "group_incomplete" not in {n.reason for n in whole.excluded()}


def test_notes_of_ranks_are_added_up():
    from dataclasses import replace

    note = Note("unescaped_quote", 2, "quotes", "line 3")
    ranks = [replace(r, notes=(note,)) for r in pair([10] * 6, [20] * 6)]
    notes = {n.reason: n for n in measure(ranks).excluded()}
    assert notes["unescaped_quote"].count == 4
    assert notes["unescaped_quote"].where == "line 3"


@pytest.mark.parametrize(
    ("ranks", "text"),
    [((), ""), ((5,), "5"), ((0, 1), "0,1"), ((0, 1, 2, 5, 7, 8), "0-2,5,7,8")],
)
def test_ranks_are_written_shortly(ranks, text):
    assert ranks_text(ranks) == text


def test_columns_other_programs_rely_on_are_there():
    promised = """group, op, n_groups, n_ranks, collectives, payload_bytes_median,
    transfer_us_median, tax_max_us_median, tax_max_us_p90, tax_max_us_p99, tax_max_us_max,
    tax_median_us_median, tax_median_us_p90, tax_median_us_p99, tax_median_us_max,
    tax_mean_us_median, tax_mean_us_mean, share_fastest_median, share_fastest_max,
    share_median_median, share_median_max, busbw_gb_per_s_median, wait_share_of_step,
    straggler_rank, straggler_host, straggler_gpu, straggler_share, straggler_uniform_p"""
    names = tuple(name.strip() for name in promised.split(","))
    assert MEASURE.names[: len(names)] == names
    promised = """group, group_ranks, op, index, step, seq, payload_bytes, n_ranks,
    duration_min_us, duration_median_us, duration_max_us, tax_max_us, tax_median_us,
    tax_mean_us, share_fastest, share_median, busbw_gb_per_s, straggler_rank, fastest_rank,
    start_spread_us, end_spread_us, identity, status"""
    names = tuple(name.strip() for name in promised.split(","))
    assert MEASURE_COLLECTIVES.names[: len(names)] == names


def test_sums_of_waits_have_no_digits_below_the_ns():
    rows = measure(pair([10, 10.1, 10.2, 10.1, 10.2, 10.1], [10] * 6)).per_rank()
    assert rows.wait_us_sum.tolist() == [0.7, 0.0]  # 0.1 + 0.2 + ... is 0.7000000000000001
    assert rows.tax_mean_us.tolist() == [0.14, 0.0]
