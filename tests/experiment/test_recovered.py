"""Tables, numbers and sentences of what came back."""

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synctax.experiment.recovered import BIN_EDGES_US
from synctax.schema import INJECT, INJECT_COLLECTIVES
from tests.experiment.made import MISSING, recovered, row
from tests.laws import examples

sizes_us = st.lists(st.sampled_from([0.0, 1e3, 5e3, 20e3]), min_size=1, max_size=12)
LOST = {
    "rank_named": False,
    "operator_named": False,
    "straggler": 3,
    "culprit": "aten::add",
}


def one_a_size(*sizes_us, **more):
    return [
        row(size, 30.0 + size, cluster=n, step=n, **more) for n, size in enumerate(sizes_us)
    ]


@given(sizes_us, st.integers(0, 3))
def test_a_perfect_attribution_recovers_all_that_can_be_judged(sizes, missing):
    found = recovered(*one_a_size(*sizes), *[row(5e3, 0, **MISSING)] * missing)
    due = sum(size >= 5e3 for size in sizes)
    assert (found.tally.judged, found.tally.recovered) == (due, due)
    assert found.tally.reached == due + missing
    if due:
        assert found.tally.share == 1
        assert found.tally.share_of_reached == due / (due + missing)


@settings(max_examples=examples(25))
@given(sizes_us)
def test_rows_add_up_to_the_whole(sizes):
    found = recovered(*one_a_size(*sizes))
    frame = found.to_frame()
    assert tuple(frame) == INJECT.names
    assert frame.collectives.sum() == frame.delays.sum() == len(sizes)
    assert frame.dose_us.tolist() == sorted(set(sizes))
    np.testing.assert_allclose(frame.tax_max_us_median, frame.dose_us + 30)
    if 0.0 in sizes:
        np.testing.assert_allclose(frame.excess_us_median, frame.dose_us)
    else:
        assert frame.excess_us_median.isna().all()


def test_a_row_tells_shares_of_what_was_judged_and_of_what_was_reached():
    found = recovered(
        row(5e3, 6e3, step=1),
        row(5e3, 8e3, **LOST, operator_share=0.25),
        row(5e3, 7e3, operator_named=False),
        row(5e3, 0, **MISSING),
    )
    (one,) = found.to_frame().to_dict("records")
    assert (one["collectives"], one["judged"]) == (4, 3)
    assert one["rank_named_share"] == pytest.approx(2 / 3)
    assert one["operator_named_share"] == pytest.approx(1 / 3)
    assert one["recovered_share"] == pytest.approx(1 / 3)
    assert one["recovered_of_reached_share"] == pytest.approx(1 / 4)
    assert one["recovered_lo"] < 1 / 3 < one["recovered_hi"]
    assert (one["tax_max_us_median"], one["culprit_us_median"]) == (7e3, 5e3)
    assert one["operator_path_share_median"] == 0.5


def test_of_several_delays_none_need_be_the_culprit():
    twice = row(10e3, 10e3, delays=2, operator_named=False, culprit="diffuse")
    found = recovered(row(5e3, 5e3), row(10e3, 10e3), twice, row(10e3, 10e3, delays=2))
    assert (found.tally.reached, found.tally.judged, found.tally.recovered) == (4, 2, 2)
    assert found.tally.share == 1
    assert found.tally.share_of_reached == 3 / 4
    assert "2 more cannot be judged (2 reached by several delays" in found.verdict()[1]
    assert found.by_delay.collectives == 4, "they add up, and so count for the slope"
    assert found.to_frame().judged.tolist() == [1, 1]


def test_a_small_delay_that_lasted_longer_is_not_due():
    found = recovered(row(2e3, 9e3, delay_us=6e3, expected_us=6e3), row(5e3, 5e3))
    assert found.due.tolist() == [False, True]


def test_collectives_are_told_one_by_one():
    found = recovered(row(5e3, 6e3), row(5e3, 0, **MISSING), row(0.0, 9.0, host_share=0.0))
    frame = found.per_collective()
    assert tuple(frame) == INJECT_COLLECTIVES.names
    assert frame.status.tolist() == ["ok", "head", "ok"]
    assert frame.recovered.tolist()[0] is True
    assert frame.path_side.tolist()[::2] == ["cpu", "gpu"]
    assert frame.loc[1, ["recovered", "tax_max_us", "path_side"]].isna().all()
    assert frame.loc[1, "reason"] == "first"


def test_the_envelope_is_json_and_says_what_the_tables_do():
    found = recovered(*one_a_size(0.0, 1e3, 5e3, 20e3), row(20e3, 0, **MISSING))
    told = orjson.loads(orjson.dumps(found.envelope()))
    assert (told["delays"], told["reached"], told["judged"]) == (5, 5, 4)
    assert told["recovery"]["recovered"] == 2
    assert told["recovery"]["share_lo"] < 1 == told["recovery"]["share_hi"]
    assert told["controls"] == {
        "collectives": 1,
        "tax_max_us_median": 30.0,
        "tax_max_us_p90": 30.0,
        "recovered_share": 1.0,
    }
    assert told["lines"]["tax_by_delay"]["ordinary"]["slope"] == pytest.approx(1)
    assert told["lines"]["tax_by_excess"] is None
    assert told["end_spread_us_median"] == 2.0
    assert told["verdict"] == list(found.verdict())


def test_bins_hold_each_collective_once_and_tell_their_ends():
    sides = (-30e3, -3e3, 0.0, 1e3, 50e3)
    rows = [
        row(60e3, 1.0, slack_us=60e3 - side, expected_us=max(side, 0), host_share=side > 0)
        for side in sides
    ]
    bins = recovered(*rows, row(60e3, 1.0)).through_cpu()
    ends = [(one["from_us"], one["to_us"]) for one in bins]
    assert ends == [
        (None, BIN_EDGES_US[0]),
        (-5e3, -2e3),
        (0.0, 1e3),
        (1e3, 2e3),
        (BIN_EDGES_US[-1], None),
    ]
    assert [one["through_cpu_share"] for one in bins] == [0, 0, 0, 1, 1]
    assert all(one["collectives"] == 1 for one in bins)


def test_it_shows_itself():
    found = recovered(row(5e3, 6e3), row(5e3, 6e3, **LOST))
    assert repr(found) == "<Recovered: 1 of 2 collectives>"
    assert "recovered_share" in found._repr_html_()


# ------------------------------------------------------------------ sentences


def test_a_good_experiment_is_told_in_two_sentences():
    doses = 2 * [0.0, 1e3, 5e3, 20e3]
    first, second = recovered(*one_a_size(*doses)).verdict()
    assert first.startswith("recovered 4 of 4 collectives delayed by 5 ms or more")
    assert "100 % (95 % interval 51 % to 100 %); by rank alone 4" in first
    assert first.endswith("; by amount, too, within 50 %, 4")
    assert second.startswith(
        "tax rises by 1.000 (95 % interval 1.000 to 1.000) µs per µs of delay, from 30 µs "
        "without one"
    )


def test_an_intercept_below_0_has_its_sign():
    rows = [row(us, us - 50, cluster=n) for n, us in enumerate((5e3, 9e3))]
    assert "from −50 µs without one" in recovered(*rows).verdict()[1]


@pytest.mark.parametrize(
    ("blamed_us", "near"), [(2.4e3, False), (2.6e3, True), (7.4e3, True), (7.6e3, False)]
)
def test_an_amount_is_named_by_what_is_near_it(blamed_us, near):
    found = recovered(row(5e3, 8e3, blamed_us=blamed_us))
    assert found.tally.recovered == 1
    assert found.tally.amount_named == near
    assert found.to_frame().amount_named_share.tolist() == [near]
    assert found.per_collective().amount_named.tolist() == [near]


def test_no_amount_is_named_where_nothing_is():
    lost = row(5e3, 8e3, **LOST, blamed_us=None)
    nothing = row(5e3, 0, **MISSING, blamed_us=None)
    assert recovered(lost, nothing).tally.amount_named == 0


def test_what_is_blamed_is_told_of_single_delays_only():
    """Of several one may be the culprit: its variation is not that of their sum."""
    both = [row(10e3, 10e3, delays=2, culprit_us=5e3, cluster=9)] * 3
    found = recovered(*one_a_size(5e3, 20e3), *both)
    assert found.by_culprit.ordinary.slope == pytest.approx(1)
    assert found.by_culprit.collectives == 2


def test_controls_and_judged_are_those_of_the_rows():
    twice = row(0.0, 1e6, delays=2)
    found = recovered(row(0.0, 9.0), twice, row(10e3, 10e3, delays=2), row(5e3, 6e3))
    told, rows = found.envelope(), found.to_frame()
    assert told["controls"]["collectives"] == 1
    assert told["judged"] == rows.judged.sum() == 2
    assert told["attributed"] == 4


def test_what_was_missed_is_told_by_kind_and_with_the_noise():
    good = one_a_size(0.0, 5e3, 10e3, 20e3)
    diffuse = row(5e3, 12e3, operator_named=False, culprit="diffuse", culprit_us=None)
    other = row(5e3, 12e3, operator_named=False, culprit="aten::add")
    found = recovered(*good, row(5e3, 30e3, **LOST), diffuse, diffuse, other, cores=2)
    said = found.verdict()
    assert "recovered 3 of 7 collectives" in said[0]
    assert said[2] == (
        "of 4 collectives missed 1 where another rank was last; 2 where the rank is named, "
        "but no item explains half of the tax; 1 where the rank is named, but another "
        "culprit"
    )
    assert said[3] == (
        "noise of this job: without a delay ranks wait 30 µs in the median and 30 µs in "
        "one of ten; ends of one collective lie 2 µs apart in the median, 2 µs in one of "
        "ten; 4 ranks share 2 cores"
    )


def test_a_bent_slope_is_explained_even_if_all_is_recovered():
    rows = [row(size, 30 + 0.5 * size, cluster=n) for n, size in enumerate((0, 5e3, 9e3))]
    said = recovered(*rows, cores=8).verdict()
    assert "tax rises by 0.500" in said[1]
    assert said[2].startswith("noise of this job: without a delay ranks wait 30 µs")
    assert "cores" not in said[2]


def test_noise_is_told_as_far_as_it_is_known():
    rows = [row(size, 0.5 * size, cluster=n) for n, size in enumerate((5e3, 9e3))]
    found = recovered(*rows)
    assert found.verdict()[2].startswith("noise of this job: ends of one collective")
    found.setting.end_spread_us[:] = np.nan
    assert len(found.verdict()) == 2


def test_one_size_has_no_slope():
    said = recovered(row(5e3, 6e3), row(5e3, 6e3)).verdict()
    assert said[1] == "no slope of tax against delay: there are not two sizes of delay"


def test_a_slope_of_one_step_has_no_interval():
    said = recovered(row(0.0, 1.0), row(5e3, 5e3 + 1)).verdict()
    assert "tax rises by 1.000 (no interval: give two sizes two steps or more)" in said[1]


def test_nothing_large_says_nothing_of_recovery():
    said = recovered(*one_a_size(0.0, 1e3)).verdict()
    assert said[0].startswith("none of 2 collectives that delays reach had a delay of 5 ms")


def test_gpu_paths_are_told_on_both_sides_of_the_slack_if_there_are_both():
    def at(side_us, host):
        return row(
            9e3,
            max(side_us, 0) + 5,
            slack_us=9e3 - side_us,
            expected_us=max(side_us, 0.0),
            host_share=host,
        )

    one_side = recovered(at(6e3, 0.9), at(8e3, 0.9), on_gpu=True)
    assert not any("goes through the CPU" in text for text in one_side.verdict())
    both = recovered(at(6e3, 0.9), at(8e3, 0.0), at(-1e3, 0.0), on_gpu=True)
    assert (
        "the path goes through the CPU in 50 % of collectives whose delay exceeds its "
        "slack, and in 0 % of those where it does not"
    ) in both.verdict()
    assert "delay beyond the slack" in both.verdict()[1]
