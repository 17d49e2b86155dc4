"""The tax over many windows: what changes is found, what does not is not."""

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

import synctax
from synctax.cli import main
from synctax.collectives.model import Op
from synctax.comparison.options import Options
from synctax.comparison.trend_changes import changes
from synctax.errors import BadInputError, FitError, SynctaxError
from synctax.report import trend_view
from synctax.report.output import Result
from synctax.report.tables import to_text
from synctax.schema import TREND, TREND_CULPRITS, TREND_TESTS
from synctax.synth import Delay, SynthJob, write
from tests.compare.windows import windows

SAME = ("tax_max_us_median", "tax_max_us_p90", "n_ranks")


def measured(delays, **options):
    return synctax.measure(windows(delays, **options))


def steady(count=16, ranks=4, n=24, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.exponential(10, (n, ranks)) for _ in range(count)]


def slow_from(window, rank, delay_us, **options):
    made = steady(**options)
    for late in made[window:]:
        late[:, rank] += delay_us
    return made


@pytest.mark.parametrize(("window", "rank"), [(6, 2), (10, 0)])
def test_a_rank_that_becomes_slow_is_found_with_its_window(window, rank):
    found = synctax.trend(measured(slow_from(window, rank, 40)))
    row = found.tests().iloc[0]
    assert row["finding"] == "step_up"
    assert row["break_point"] == row["worse_point"] == window
    assert (row["worse_rank"], row["worse_host"]) == (rank, "node-0")
    assert row["break_iteration"] == 100 * (window + 1)
    assert row["worse_after_us"] > 2 * row["worse_before_us"]
    assert row["before_us"] + 20 < row["after_us"]
    said = found.verdict()[0]
    assert f"rises at iteration {100 * (window + 1):,}" in said
    assert f"for rank {rank} on node-0" in said


def test_a_rank_that_recovers_is_a_step_down_and_nobody_is_worse():
    made = [late[:, ::-1] for late in slow_from(8, 1, 40)][::-1]
    row = synctax.trend(measured(made)).tests().iloc[0]
    assert row["finding"] == "step_down"
    assert row["shift_us"] < 0
    assert (
        row["worse_rank"] is not row["worse_rank"]
        or row["worse_rank"] is None
        or (str(row["worse_rank"]) == "<NA>")
    )


def test_a_tax_that_grows_is_a_trend_with_its_slope():
    made = [
        late + np.array([0, 0, 0, 6.0 * i]) for i, late in enumerate(steady(count=20, n=60))
    ]
    found = synctax.trend(measured(made))
    row = found.tests().iloc[0]
    assert row["finding"] == "rise"
    assert row["per"] == "1,000 iterations"
    # 6 µs a window of 100 iterations, less what the others' lateness hides
    assert row["slope_us_lo"] <= row["slope_us"] <= row["slope_us_hi"]
    assert 40 < row["slope_us"] < 65
    assert "per 1,000 iterations" in found.verdict()[0]


def test_nothing_is_said_of_what_does_not_change():
    told = [
        synctax.trend(measured(steady(count=10, n=12, seed=seed)))
        .tests()
        .iloc[0]["finding"]
        for seed in range(12)
    ]
    assert told.count("none") >= 9  # 11.4 expected; fewer in 1 of 500
    found = synctax.trend(measured(steady()))
    assert found.verdict() == (
        "tp all_reduce: no change over 16 windows beyond what chance shows in 5 % of jobs",
    )


def test_rows_are_those_that_each_window_has_alone():
    made = slow_from(3, 2, 30, count=6)
    whole = synctax.trend(measured(made)).to_frame()
    alone = [measured([late]).to_frame().iloc[0] for late in made]
    for name in (
        "tax_max_us_median",
        "tax_max_us_p90",
        "straggler_share",
        "wait_share_of_step",
    ):
        assert whole[name].tolist() == pytest.approx([one[name] for one in alone]), name
    assert whole["straggler_rank"].tolist() == [one["straggler_rank"] for one in alone]
    assert whole["collectives"].tolist() == [one["collectives"] for one in alone]
    before = whole["straggler_rank"].shift()
    same = (whole["straggler_rank"] == before)[1:].tolist()
    # one is late by 30 µs from the fourth on; who was before, chance decided
    assert whole["straggler_is_new"].tolist()[1:] == [False, False, True, False, False]
    assert whole["straggler_as_before"].tolist()[1:] == same
    assert whole["straggler_as_before"].isna()[0]


def test_an_interval_holds_its_mean():
    frame = synctax.trend(measured(steady(n=60), steps=10)).to_frame()
    for name in ("mean", "median"):
        assert (frame[f"tax_max_{name}_us_lo"] <= frame[f"tax_max_us_{name}"]).all()
        assert (frame[f"tax_max_us_{name}"] <= frame[f"tax_max_{name}_us_hi"]).all()


def test_one_window_is_cut_into_steps():
    late = np.random.default_rng(0).exponential(10, (240, 4))
    late[120:, 3] += 60
    tax = measured([late], steps=24)
    one = synctax.trend(tax)
    assert len(one.points) == 1
    assert one.tests()["finding"].tolist() == ["too_few"]
    assert "--by step" in one.verdict()[-1]
    steps = synctax.trend(tax, by="step")
    frame = steps.to_frame()
    assert (
        frame["first_step"].tolist() == frame["last_step"].tolist() == list(range(100, 124))
    )
    assert frame["collectives"].sum() == one.to_frame()["collectives"].sum()
    assert frame["at_s"].is_monotonic_increasing
    row = steps.tests().iloc[0]
    assert (row["finding"], row["break_iteration"], row["worse_rank"]) == (
        "step_up",
        112,
        3,
    )
    assert "at step 112" in steps.verdict()[0]
    by_four = synctax.trend(tax, by=4).to_frame()
    assert by_four["first_step"].tolist() == [100, 104, 108, 112, 116, 120]
    assert by_four["last_step"].tolist() == [103, 107, 111, 115, 119, 123]


def test_windows_whose_steps_all_begin_at_0_are_told_apart_by_their_names():
    made = windows(steady(count=6), steps=2)
    again = [
        replace(
            one,
            step=one.step - one.step_number[0],
            step_number=one.step_number - one.step_number[0],
        )
        for one in made
    ]
    found = synctax.trend(synctax.measure(again), by="step")
    numbers = found.to_frame()["iteration"].tolist()
    assert numbers == [100 * w + s for w in range(1, 7) for s in range(2)]


def renamed(ranks, *, same_time):
    """Windows called a, b, ... with steps from 0 in each, a minute apart or at once."""
    labels = dict.fromkeys(one.window for one in ranks)
    names = {label: f"part {chr(97 + i)}" for i, label in enumerate(labels)}
    span = {"window_start_ns": 0, "window_end_ns": 10**12} if same_time else {}
    return [
        replace(
            one,
            window=names[one.window],
            step=one.step - one.step_number[0],
            step_number=one.step_number - one.step_number[0],
            **span,
        )
        for one in ranks
    ]


@pytest.mark.parametrize(
    ("count", "by", "title"),
    [
        (1, "window", "first step"),
        (1, 2, "first step"),
        (1, "step", "step"),
        (3, "window", "iteration"),
        (3, 2, "first step"),
    ],
)
def test_iterations_are_called_so_where_windows_name_them(count, by, title):
    found = synctax.trend(measured(steady(count=count)), by=by)
    result = Result(TREND, found.to_frame(), {}, (), {})
    lines = to_text(trend_view.parts(found, result)).splitlines()
    # of the table of points, which is the last
    head = max(i for i, line in enumerate(lines) if set(line) == {"─"}) - 1
    assert lines[head].startswith(f"{title}  ")


def test_windows_without_a_number_stand_by_time_and_else_one_after_the_other():
    ranks = windows(steady(count=12))
    timed = synctax.trend(synctax.measure(renamed(ranks, same_time=False)))
    assert timed.points.per == "hour"
    assert timed.to_frame()["at_s"].tolist() == [60.0 * i for i in range(12)]
    counted = synctax.trend(synctax.measure(renamed(ranks, same_time=True)))
    assert counted.points.per == "window"
    assert counted.to_frame()[["iteration", "at_s"]].isna().all(axis=None)
    assert counted.to_frame()["window"].iloc[0] == "part a"


def test_ranks_that_come_and_go_are_counted_and_not_accused():
    made = steady(count=12, ranks=4)
    made[5] = made[5][:, :3]
    there = [(0, 1, 2, 3)] * 12
    there[5] = (0, 1, 2)
    found = synctax.trend(measured(made, ranks=there))
    assert found.to_frame()["n_ranks"].tolist() == [4] * 5 + [3] + [4] * 6
    assert [
        (n.reason, n.count) for n in found.notes if n.reason == "rank_not_throughout"
    ] == [("rank_not_throughout", 1)]


def test_a_window_without_a_rank_hides_no_change_and_is_named():
    made = slow_from(6, 2, 40, count=12)
    there = [(0, 1, 2, 3)] * 12
    made[8], there[8] = made[8][:, [0, 1, 3]], (0, 1, 3)
    found = synctax.trend(measured(made, ranks=there))
    row, frame = found.tests().iloc[0], found.to_frame()
    assert (row["finding"], row["points"], row["worse_rank"]) == ("step_up", 11, 2)
    assert frame["compared"].tolist() == [True] * 8 + [False] + [True] * 3
    assert found.verdict()[-1].endswith("other ranks than most: iteration 900")
    text = to_text(trend_view.parts(found, Result(TREND, frame, {}, ())))
    assert "3 (out)" in text


def test_eight_windows_are_too_few_for_six_questions_and_so_said():
    ops = np.array([Op.ALL_REDUCE, Op.ALL_GATHER], np.int8)
    two = [replace(one, op=np.resize(ops, len(one))) for one in windows(steady(count=8))]
    found = synctax.trend(synctax.measure(two))
    assert found.tests()["finding"].tolist() == ["too_few"] * 2
    assert (found.tests()["least_p"] > 0.05).all()
    (said,) = found.verdict()
    assert "8 windows are too few to tell" in said
    assert "with 6 questions; 10 would do" in said


def test_windows_with_one_number_or_none_are_asked_about():
    ranks = windows(steady(count=6))
    names = {"iteration_600": "b/iteration_500", "iteration_100": "other"}
    odd = [replace(one, window=names.get(one.window, one.window)) for one in ranks]
    said = synctax.trend(synctax.measure(odd)).verdict()
    assert any("have one number" in one for one in said)
    assert any("other has no number" in one for one in said)
    moved = [replace(one, path=f"{'n' if '6' in one.window else 'w'}/x") for one in ranks]
    (_, asked) = synctax.trend(synctax.measure(moved)).verdict()
    assert asked == "windows of w and n are taken for one job's: are they?"


def test_what_is_no_tax_is_refused():
    tax = measured(steady(count=2))
    with pytest.raises(TypeError, match="measure"):
        synctax.trend([])
    for by in ("hour", 0, True, 1.5):
        with pytest.raises(ValueError, match="by must be"):
            synctax.trend(tax, by=by)


def test_steps_must_be_marked_to_cut_by_them():
    none = np.empty(0, np.int64)
    bare = [
        replace(
            one,
            step=np.full(len(one), -1),
            step_number=none,
            step_start_ns=none,
            step_end_ns=none,
        )
        for one in windows(steady(count=2))
    ]
    tax = synctax.measure(bare)
    with pytest.raises(SynctaxError, match="no collective belongs to a profiler step"):
        synctax.trend(tax, by="step")
    frame = synctax.trend(tax).to_frame()
    assert frame["step_us_median"].isna().all()
    assert (frame["wait_share_of_step"] > 0).all()


def test_too_many_points_are_refused():
    late = np.zeros((2_100, 2))
    late[:, 1] = 5
    with pytest.raises(SynctaxError, match="take more steps a point"):
        synctax.trend(measured([late], steps=2_100), by="step")


def test_orders_of_many_points_that_no_memory_holds_are_refused():
    late = np.zeros((1_200, 2))
    late[:, 1] = 5
    tax = measured([late], steps=1_200)
    with pytest.raises(SynctaxError, match="take 16,680 resamples or fewer, or more steps"):
        synctax.trend(tax, by="step", options=Options(resamples=100_000))


def test_answers_about_many_rows_that_no_memory_holds_are_refused():
    found = synctax.trend(measured(steady(8)))
    with pytest.raises(SynctaxError, match="take 66,666 resamples or fewer, or fewer rows"):
        list(changes(found.points, found.lines * 100, Options(resamples=100_000)))


def test_two_hundred_windows_have_a_row_each():
    found = synctax.trend(measured(steady(count=200, ranks=2, n=8)))
    assert len(found.to_frame()) == 200
    assert repr(found) == f"<Trend: 200 points, {0} of 1 rows change>"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Twelve windows of two ranks; from the seventh on rank 1 is slow."""
    folder = tmp_path_factory.mktemp("windows")
    for number in range(12):
        delays = [
            Delay(rank=1, step=step, kernel=3, delay_us=400.0)
            for step in range(2)
            if number >= 6
        ]
        job = SynthJob(
            tp=2, fsdp=1, layers=1, steps=2, seed=number, jitter=0.1, delays=tuple(delays),
            layout="flat", first_step=100 * number,
        )  # fmt: skip
        write(job, folder / f"iteration_{100 * number}")
    return folder


def run(*arguments, code=0):
    result = CliRunner().invoke(main, [*map(str, arguments)])
    assert result.exit_code == code, result.output
    return result


def test_the_command_says_who_became_slow_and_with_what(made, tmp_path):
    base = ("trend", made, "--workspace", tmp_path / "w", "--workers", 1, "-q")
    shown = run(*base, "--plot", tmp_path / "t.svg").stdout
    assert "iteration 600" in shown
    assert "rank 1" in shown
    assert "attention kernels then owe" in shown
    assert (tmp_path / "t.svg").read_bytes().startswith(b"<?xml")
    # what was read is remembered
    last = ("--workspace", tmp_path / "w", "-q")
    told = json.loads(run("trend", "--no-culprits", "--format", "json", *last).stdout)
    assert told["schema"] == TREND.schema
    assert {row["culprit_class"] for row in told["rows"]} == {None}
    assert told["parameters"]["by"] == "window"
    assert "step up" in run("trend", "--tests", "--no-culprits", *last).stdout
    shares = run("trend", "--culprits", "--format", "csv", *last).stdout
    assert shares.splitlines()[0] == ",".join(TREND_CULPRITS.names)
    assert "class" in run("trend", "--culprits", *last).stdout
    by_step = run("trend", "--by", 1, "--no-culprits", *last).stdout
    assert "24 steps are too few to tell: neighbours are correlated" in by_step


def test_level_resamples_and_seed_are_those_of_compare(made):
    options = [
        {one.opts[0]: one for one in main.get_command(None, name).params}
        for name in ("trend", "compare")
    ]
    for name in ("--level", "--resamples", "--seed"):
        one, other = (found[name] for found in options)
        assert (one.help, one.default) == (other.help, other.default)
    asked = ("--level", 0.9, "--resamples", 500, "--seed", 7, "--no-culprits", "-q")
    base = ("trend", made, "--no-cache", "--workers", 1, *asked)
    shown = run(*base).stdout
    assert "90 %: interval of the mean" in shown
    assert "(90 %: " in shown
    told = json.loads(run(*base, "--format", "json").stdout)
    assert [told["parameters"][n] for n in ("level", "resamples", "seed")] == [0.9, 500, 7]
    refused = run("trend", made, "--level", 0.999, "--resamples", 100, code=2).stderr
    assert "100 resamples tell no p-value at level 0.999: it takes 5,000" in refused


def test_where_no_culprit_can_be_told_the_rest_is(made, monkeypatch):
    def refuse(*_args, **_options):
        raise FitError("no paths")

    monkeypatch.setattr("synctax.attribution.attribute.attribute", refuse)
    base = ("trend", made, "--no-cache", "--workers", 1)
    found = run(*base)
    assert "culprits are not told: no paths" in found.stderr
    assert "iteration 600" in found.stdout
    assert run(*base, "--culprits", code=1).stderr.endswith("error: no paths\n")

    def damaged(*_args, **_options):
        raise BadInputError("rank0.json is damaged")

    monkeypatch.setattr("synctax.attribution.attribute.attribute", damaged)
    assert "rank0.json is damaged" in run(*base, code=3).stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--by", "hour"), "neither window nor step nor a number"),
        (("--by", "0"), "neither window nor step nor a number"),
        (("--tests", "--culprits"), "exclude each other"),
        (("--no-culprits", "--culprits"), "exclude each other"),
    ],
)
def test_wrong_usage_is_refused(arguments, said):
    assert said in run("trend", ".", *arguments, code=2).stderr


def test_tables_are_as_declared(made):
    tax = synctax.measure(synctax.load(made, workers=1))
    found = synctax.trend(tax, synctax.attribute(tax, workers=1))
    assert tuple(found.to_frame()) == TREND.names
    assert tuple(found.tests()) == TREND_TESTS.names
    shares = found.culprits().groupby(["group", "op", "point"])["share_of_tax"].sum()
    assert shares.to_numpy() == pytest.approx(1.0)
    with pytest.raises(ValueError, match="another tax"):
        synctax.trend(synctax.measure(tax.matches.ranks), synctax.attribute(tax, workers=1))


def test_many_windows_are_thinned_out_for_people():
    found = synctax.trend(measured(steady(count=60, ranks=2, n=6)))
    result = Result(TREND, found.to_frame(), {}, found.notes)
    text = to_text(trend_view.parts(found, result))
    assert "40 of 60 windows" in text
    for number in (100, 6_000):
        assert f"{number:,}" in text


def test_ties_and_single_collectives_are_told_as_absent():
    late = [np.zeros((2, 2)) for _ in range(3)]
    found = synctax.trend(measured(late, steps=1))
    frame = found.to_frame()
    assert frame["straggler_rank"].isna().all()
    assert frame["tax_max_mean_us_lo"].isna().all()
    (said,) = found.verdict()
    assert said.startswith("3 windows: a trend takes 5 at least, a break 8; --by step")
    text = to_text(trend_view.parts(found, Result(TREND, frame, {}, ())))
    assert "too few" in text


def test_a_tax_that_falls_is_said_to_fall():
    made = [late * (20 - i) / 20 for i, late in enumerate(steady(count=20, n=60))]
    found = synctax.trend(measured(made))
    assert found.changes[0].finding == "fall"
    assert "falls by" in found.verdict()[0]


def test_no_collective_that_counts_is_no_trend():
    tax = synctax.measure(windows(steady(count=2, n=1)))
    with pytest.raises(SynctaxError, match="no collective can be measured"):
        synctax.trend(tax)


def test_a_window_in_which_nothing_counts_is_left_out():
    made = steady(count=6)
    made[2] = made[2][:1]
    found = synctax.trend(measured(made, steps=1))
    assert found.to_frame()["iteration"].tolist() == [100, 200, 400, 500, 600]
    assert {note.reason: note.count for note in found.notes}["window_empty"] == 1


def test_steps_last_as_long_as_compare_says(tmp_path):
    # what follows the last collective of a window is no part of its last step
    write(SynthJob(tp=2, fsdp=1, layers=1, steps=6, jitter=0.05), tmp_path)
    ranks = [
        replace(one, step_end_ns=one.step_end_ns + np.array([0, 0, 0, 0, 0, 5_000_000]))
        for one in synctax.load(tmp_path).ranks
    ]
    tax = synctax.measure(ranks)
    told = synctax.trend(tax, by="step").to_frame()
    changes = synctax.compare(tax, tax).changes
    mean = next(one for one in changes if one.quantity == "step_us_mean").found.a
    of_step = told.groupby("first_step")["step_us_median"].first()
    assert of_step.size == 6
    assert of_step.mean() == pytest.approx(mean, rel=2e-3)
