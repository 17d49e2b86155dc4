"""The command `fit-evt` as users meet it."""

import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from synctax import schema
from synctax.cli import main
from synctax.cli.fit_evt_stages import shown_as, worth_saying
from synctax.cli.fit_evt_stages import told as note_told
from synctax.evt.fit import LANDMARKS, fit_evt_maxima
from synctax.evt.fit import fit_evt as fit_times
from synctax.evt.options import Options
from synctax.evt.tax_file import read_tax, to_json
from synctax.notes import Note
from synctax.report import tables
from synctax.report.output import Output, emit
from synctax.synth import SynthJob, write
from synctax.trace.discover import discover
from synctax.workspace import Workspace
from tests.conftest import ROOT, assert_in_words
from tests.evt.simulated import SCALE_US, gumbel_ranks

EXAMPLE = ROOT / "examples" / "tp4-fsdp2"

FEW = ("--resamples", "50")

QUICK = (*FEW, "--n", "64")
"""Where numbers do not matter."""

KEYS = [
    "verdict", "group", "n_fit", "blocks", "maxima", "a_us", "b_us", "r", "payload_bytes",
    "doubling_us", "predictor", "coverage", "fits", "refused", "lr", "gof", "profile",
    "resampling", "segments", "holdout", "checks",
]  # fmt: skip
"""Keys of the envelope that other programs rely on, beside those of every command."""


def remembered(fit):
    """Fit the same numbers in the same way once for all tests."""
    known = {}

    def fitted(*found, on_resample=None, **given):
        asked = pickle.dumps((found, given))
        if asked not in known:
            known[asked] = fit(*found, **given)
        return known[asked]

    return fitted


@pytest.fixture(scope="module", autouse=True)
def fits():
    """Not fitting again and again saves most of the time of these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("synctax.evt.fit.fit_evt", remembered(fit_times))
        patch.setattr("synctax.evt.fit.fit_evt_maxima", remembered(fit_evt_maxima))
        yield


@pytest.fixture
def afresh(monkeypatch):
    """Fit each time: where it is the point that the outcome is the same, or another."""
    monkeypatch.setattr("synctax.evt.fit.fit_evt", fit_times)
    monkeypatch.setattr("synctax.evt.fit.fit_evt_maxima", fit_evt_maxima)


@pytest.fixture
def command(run, tmp_path, monkeypatch):
    """Run a command in a folder of the test, with its workspace there."""
    monkeypatch.chdir(tmp_path)
    return run


@pytest.fixture
def fit_evt(command):
    """Fit with few resamples, and for one size unless the test gives others."""
    return lambda *args: command("fit-evt", *QUICK, *args)


@pytest.fixture(scope="module")
def times_csv(tmp_path_factory) -> Path:
    """Block times of 8 ranks by a Gumbel law."""
    path = tmp_path_factory.mktemp("csv") / "times.csv"
    found = fit_times(gumbel_ranks(60, 8), options=Options(resamples=4))
    found.per_instance().to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def whole(times_csv) -> dict:
    """The envelope of the fit of these times, as a whole."""
    given = ("--block-times", times_csv, "--no-cache", "-q", "--format", "json")
    return envelope(once("fit-evt", *given, *FEW))


@pytest.fixture(scope="module")
def whole_of_maxima(maxima_csv, tmp_path_factory) -> tuple[dict, Path]:
    """The envelope of the fit of maxima, and the workspace."""
    place = tmp_path_factory.mktemp("workspace") / ".synctax"
    given = ("--maxima", maxima_csv, *OF_MAXIMA, "--workspace", place, "--format", "json")
    return envelope(once("fit-evt", *given, *FEW)), place


@pytest.fixture(scope="module")
def maxima_csv(tmp_path_factory) -> Path:
    """Normalised maxima by a Gumbel law of location 0.8 and scale 0.65."""
    path = tmp_path_factory.mktemp("csv") / "z.csv"
    z = np.random.default_rng(0).gumbel(0.8, 0.65, 400)
    pd.DataFrame({"z": z}).to_csv(path, index=False)
    return path


OF_MAXIMA = ("--fit-n", 4, "--a-us", 10_000, "--r", 0.02)


def envelope(result) -> dict:
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def refused(result, code=1) -> str:
    assert result.exit_code == code, result.stdout + result.stderr
    assert_in_words(result)
    assert result.stdout == ""
    return result.stderr


# ------------------------------------------------------------------------- from traces


def once(*args) -> object:
    """Run a command outside of a test, for many of them."""
    # fixtures of a module come before those that set the width of a pipe, and one process
    args = *args, "--workers", 1
    return CliRunner().invoke(main, [str(arg) for arg in args], env={"COLUMNS": None})


@pytest.fixture(scope="module")
def shown(columns, tmp_path_factory) -> tuple[str, Path]:
    """What people see of the example, and the workspace."""
    place = columns(EXAMPLE, tmp_path_factory.mktemp("workspace") / ".synctax")
    result = once("fit-evt", EXAMPLE, "--workspace", place, "-q", *FEW)
    assert result.exit_code == 0, result.stderr
    return result.stdout, place


@pytest.fixture(scope="module")
def told(shown) -> dict:
    """The envelope of the example, of what was measured last."""
    _, place = shown
    given = ("--workspace", place, "--format", "json", *FEW)
    return envelope(once("fit-evt", *given))


def test_the_view_is_golden(shown, golden):
    golden("fit-evt/tp4-fsdp2.txt", shown[0])


def test_the_first_line_tells_the_share_of_the_tax(shown):
    first = shown[0].splitlines()[0]
    assert first.startswith("90 % of the tax of tp is in the fit ")
    assert "(84 of 94 collectives)" in first


def test_json_is_an_envelope_with_the_promised_keys(told):
    found = told
    assert found["schema"] == "synctax.fit-evt/1"
    assert list(found)[3:-1] == KEYS
    assert list(found["rows"][0]) == list(schema.FIT_EVT.names)
    assert found["group"] == "tp"
    assert found["coverage"]["entered"] == 84
    assert found["coverage"]["left_out"][0]["reason"] == "through_collective"
    assert found["payload_bytes"] == 8_388_608
    assert found["parameters"]["tolerance_us"] == 3.0
    assert [row["n"] for row in found["profile"]] == [row["n"] for row in found["rows"]]
    assert all(type(row["n"]) is int for row in found["profile"])
    assert not set(found["profile"][0]) - {"n"} & set(schema.FIT_EVT.names)
    assert {row["kind"] for row in found["holdout"]} == {"ranks", "time"}
    assert all(row["message"] for row in found["checks"] if row["fired"])
    assert found["segments"][0]["group"] == "all"


def test_the_tax_is_kept_with_what_it_is_of(told, shown):
    place = shown[1]
    model = Workspace(place).tax()
    assert model.source.kind == "traces"
    assert model.source.targets == (str(EXAMPLE),)
    assert model.source.when is not None
    assert model.gumbel.scale == told["fits"]["gumbel"]["scale"]
    assert model.coverage.share_of_tax == pytest.approx(0.9, abs=0.01)
    assert Workspace(place).measured_since(model) == ()
    assert model.gev.curve.tau_hi_us[0] > told["fits"]["gev"]["scale"]


def test_a_choice_and_a_lack_are_told_in_sentences():
    choice = Note("group_chosen", 2, "the blocks are those of tp")
    lack = Note("no_tail", 1, "16 distinct deviations")
    counted = Note("left_over_rank", 12, "3 ranks make 1 group of 2")
    assert [note_told(one) for one in (choice, lack, counted)] == [
        "the blocks are those of tp",
        "16 distinct deviations",
        counted,
    ]


def test_a_few_resamples_without_a_fit_are_told_with_v_only():
    few, many = (Note("resample_without_deviations", count) for count in (19, 20))
    other = Note("left_over_rank", 1)
    assert worth_saying([few, many, other], 400, 0) == [many, other]
    assert worth_saying([few, many, other], 400, 1) == [few, many, other]


@pytest.fixture(scope="module")
def job(tmp_path_factory) -> Path:
    """A small job whose blocks are seen often enough."""
    folder = tmp_path_factory.mktemp("job") / "traces"
    write(SynthJob(tp=2, fsdp=1, layers=2, steps=8, jitter=0.1), folder)
    return folder


@pytest.fixture(scope="module")
def other_job(tmp_path_factory) -> Path:
    """The same over groups of three."""
    folder = tmp_path_factory.mktemp("job") / "other"
    write(SynthJob(tp=3, fsdp=1, layers=2, steps=8, jitter=0.1), folder)
    return folder


def test_four_commands_work_one_after_the_other(command, job):
    assert command("measure", job).exit_code == 0
    assert command("attribute", "--group", "tp").exit_code == 0
    result = command("fit-evt", *QUICK)
    assert result.exit_code == 0, result.stderr
    assert "as measured just now (.synctax)" in result.stderr
    assert "note: the tax is kept in .synctax/tax.json for synctax bandwidth" in (
        result.stderr
    )
    result = command("bandwidth", "--topology", "switched", "--n", 512)
    assert result.exit_code == 0, result.stderr
    assert "using the tax of" in result.stderr
    assert "(tp), fitted just now (.synctax)" in result.stderr
    assert "llama3" not in result.stdout + result.stderr


def test_the_number_of_workers_changes_nothing(afresh, command, job):
    texts = {
        command(
            "fit-evt", job, "--no-cache", "--format", "json", *QUICK, "--workers", count
        ).stdout
        for count in (1, 2)
    }
    assert len(texts) == 1


def test_the_tax_file_can_be_read_and_is_the_same_each_time(afresh, fit_evt, maxima_csv):
    given = ("--maxima", maxima_csv, *OF_MAXIMA, "--no-cache", "-q")
    for name in ("one.json", "two.json"):
        assert fit_evt(*given, "--tax", name).exit_code == 0
    assert Path("one.json").read_bytes() == Path("two.json").read_bytes()
    assert not Path(".synctax").exists()
    assert read_tax("one.json").n_fit == 4


def test_traces_of_other_jobs_are_pooled(fit_evt, job, other_job):
    result = fit_evt(job, "--also", other_job, "--group", "tp", "--format", "json")
    found = envelope(result)
    assert found["parameters"]["also"] == [str(other_job)]
    assert (found["n_fit"], found["blocks"]) == (2, 8)
    assert {row["n"] for row in found["segments"][1:]} == {2, 3}
    assert Workspace(Path(".synctax")).last_measure().targets == (str(job),)
    assert found["parameters"]["end_tolerance_us"] > 0


def test_a_tax_of_another_job_is_not_taken_for_this_ones(command, fit_evt, job, tmp_path):
    assert fit_evt(job, "-q").exit_code == 0
    short = tmp_path / "short"
    write(SynthJob(tp=2, fsdp=1, layers=1, steps=2), short)
    assert command("measure", short, "-q").exit_code == 0
    said = refused(fit_evt())
    assert "a fit would stand for" in said
    assert "note: .synctax/tax.json still holds the tax that was fitted before" in said
    said = command("bandwidth", "--topology", "ring", "--n", 8).stderr
    assert "note: short was measured since, and this is not its tax" in said


def test_without_a_measurement_and_without_traces_nothing_is_fitted(fit_evt):
    assert "nothing was measured" in refused(fit_evt())


def test_a_host_bound_job_is_refused_with_its_share(
    fit_evt, command, columns, shared_traces
):
    traces = shared_traces / "megatron-tp8-a100"
    columns(traces, Path(".synctax"))
    assert command("measure", traces, "-q").exit_code == 0
    said = refused(fit_evt())
    assert "a fit would stand for 0.3 % of the tax (32 of 83 collectives)" in said
    assert "51 × the path of a rank runs through the CPU; 99.7 % of the tax" in said
    assert not Path(".synctax/tax.json").exists()
    said = command("bandwidth", "--topology", "switched", "--n", 512).stderr
    assert "using the built-in llama3-70b-h200" in said
    # cut to 4 ranks there are maxima enough; the share stands first
    lines = fit_evt("--fit-ranks", 4, "-q").stdout.splitlines()
    assert lines[0].startswith("0.3 % of the tax of unlabelled is in the fit ")
    assert lines[1].startswith("do not take this for the job's tax: 0.3 % of it is")


# ---------------------------------------------------------------------------- from CSV


@pytest.mark.parametrize(
    ("option", "table"),
    [
        ((), schema.FIT_EVT),
        (("--per-block",), schema.FIT_EVT_BLOCKS),
        (("--segments",), schema.FIT_EVT_SEGMENTS),
        (("--holdout",), schema.FIT_EVT_HOLDOUT),
        (("--checks",), schema.FIT_EVT_CHECKS),
        (("--points", "pdf"), schema.FIT_EVT_PDF),
        (("--points", "qq"), schema.FIT_EVT_QQ),
        (("--points", "return-level"), schema.FIT_EVT_LEVELS),
        (("--per-instance",), schema.FIT_EVT_INSTANCES),
    ],
)
def test_every_table_is_shown_and_goes_to_files_whole(a_fit, tmp_path, option, table):
    option, _, points = " ".join(option).partition(" ")
    if points:
        option = "--points"
    result, render = shown_as(a_fit, {"level": 0.95}, option, points or None, Output())
    assert result.table == table
    text = tables.to_text(render(result))
    assert len(text.splitlines()) > 2
    emit(result, Output("parquet", tmp_path / "out.parquet"), render=render)
    read = pd.read_parquet(tmp_path / "out.parquet")
    assert tuple(read.columns) == table.names
    assert len(read) > 0


@pytest.mark.parametrize(
    ("option", "key"),
    [("--segments", "segments"), ("--holdout", "holdout"), ("--checks", "checks")],
)
def test_what_the_rows_hold_is_not_repeated(command, whole, times_csv, option, key):
    given = ("--block-times", times_csv, "--no-cache", "-q", "--format", "json")
    told = envelope(command("fit-evt", *given, option, *FEW))
    assert key not in told
    assert told["rows"] == whole[key]
    assert set(whole) - set(told) == {key}


def test_parameters_tell_what_was_used(told, whole, whole_of_maxima):
    used = told["parameters"]
    assert used["fit_ranks"] == told["n_fit"] == 4
    assert used["n"] == [row["n"] for row in told["rows"]]
    assert used["end_tolerance_us"] > 0
    of_times = whole["parameters"]
    assert of_times["fit_ranks"] == 8
    assert of_times["end_tolerance_us"] is None
    of_maxima = whole_of_maxima[0]["parameters"]
    assert of_maxima["fit_ranks"] is None
    assert of_maxima["n"][-1] == 4_096


def test_the_level_does_not_change_what_is_doubted(fit_evt, times_csv):
    given = ("--block-times", times_csv, "--no-cache", "-q", "--format", "json")
    checks = [envelope(fit_evt(*given, "--level", at))["checks"] for at in (0.5, 0.99)]
    assert checks[0] == checks[1]


def test_help_names_all_sizes_that_are_predicted(command):
    said = " ".join(command("fit-evt", "--help").stdout.split())
    default = said[said.index("--n LIST") : said.index("--level")]
    assert all(str(n) in default for n in LANDMARKS)


@pytest.fixture(scope="module")
def a_fit():
    return fit_times(gumbel_ranks(60, 8), options=Options(resamples=4))


def test_block_times_that_were_written_are_read_back(fit_evt, times_csv):
    given = ("--block-times", times_csv, "--no-cache", "-q")
    assert fit_evt(*given, "--per-instance", "-o", "again.csv").exit_code == 0
    assert Path("again.csv").read_text() == times_csv.read_text()


def test_files_are_pooled_and_cut(fit_evt, times_csv, tmp_path):
    other = tmp_path / "other.csv"
    found = fit_times(gumbel_ranks(60, 4, seed=2), options=Options(resamples=4))
    found.per_instance().to_csv(other, index=False)
    given = ("--block-times", times_csv, "--block-times", other, "--fit-ranks", 3)
    told = envelope(fit_evt(*given, "--format", "json"))
    assert (told["n_fit"], told["maxima"]) == (3, 180)
    assert told["coverage"] is None
    model = Workspace(Path(".synctax")).tax()
    assert model.source.kind == "block_times"
    assert model.source.targets == ()


def test_files_are_pooled_with_traces(fit_evt, times_csv, job):
    given = (job, "--block-times", times_csv, "--format", "json")
    told = envelope(fit_evt(*given, "--no-cache"))
    assert told["n_fit"] == 2
    assert told["coverage"] is None


def test_a_law_that_is_known_is_found(whole):
    for row in whole["rows"]:
        true_us = SCALE_US * np.log(row["n"])
        assert row["tau_lo_us"] < true_us < row["tau_hi_us"]


def test_maxima_that_are_known_are_found(whole_of_maxima):
    told, place = whole_of_maxima
    assert told["fits"]["gumbel"]["loc"] == pytest.approx(0.8, abs=0.1)
    assert told["fits"]["gumbel"]["scale"] == pytest.approx(0.65, abs=0.08)
    assert (told["a_us"], told["b_us"]) == (10_000, 200)
    for row in told["rows"]:
        true_us = 200 * (0.8 + 0.65 * (np.euler_gamma + np.log(row["n"] / 4)))
        assert row["tau_lo_us"] < true_us < row["tau_hi_us"]
    assert Workspace(place).tax().source.kind == "maxima"


def test_maxima_are_shown_without_what_they_do_not_tell(fit_evt, maxima_csv):
    text = fit_evt("--maxima", maxima_csv, *OF_MAXIMA, "-q", "-v").stderr
    assert "exclude" in text
    text = fit_evt("--maxima", maxima_csv, *OF_MAXIMA).stdout
    assert text.startswith("400 maxima over groups of 4 ranks, for block times with a mean")
    assert "deviations" not in text
    assert "held-out" not in text
    assert "on these paths" not in text


def test_sizes_and_level_are_as_asked(fit_evt, maxima_csv):
    given = ("--maxima", maxima_csv, *OF_MAXIMA, "--format", "json")
    wide = envelope(fit_evt(*given, "--n", "8,72:288"))["rows"]
    assert [row["n"] for row in wide] == [8, 72, 144, 288]
    narrow = envelope(fit_evt(*given, "--n", "8,72:288", "--level", 0.5))["rows"]
    assert narrow[0]["tau_hi_us"] < wide[0]["tau_hi_us"]


def test_another_seed_draws_others(afresh, fit_evt, maxima_csv):
    given = ("--maxima", maxima_csv, *OF_MAXIMA, "--no-cache", "--format", "csv")
    assert fit_evt(*given).stdout == fit_evt(*given).stdout
    assert fit_evt(*given).stdout != fit_evt(*given, "--seed", 1).stdout


# ---------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--n", "8,4,096"), "'096' begins with 0"),
        (("--per-block", "--checks"), "--per-block and --checks exclude each other"),
        (("--fit-n", "4"), "--fit-n is for --maxima only"),
        (("--fit-n", "4", "--r", "1"), "--fit-n and --r are for --maxima only"),
        (("--points", "qq", "--points", "pdf"), "--points qq and --points pdf exclude"),
        (("--level", "nan"), "'nan' is no finite number"),
        (("--maxima", "z.csv", "--fit-n", "4", "--a-us", "1"), "also needs --r"),
        (("--maxima", "z.csv", *OF_MAXIMA, "--also", "t"), "stands alone"),
        (("--maxima", "z.csv", *OF_MAXIMA, "--block-times", "z.csv"), "stands alone"),
        (("--maxima", "z.csv", *OF_MAXIMA, "--segments"), "--segments is of block times"),
        (("--maxima", "z.csv", "--fit-n", "1"), "--fit-n"),
        (("--maxima", "z.csv", *OF_MAXIMA, "--fit-ranks", 2), "--fit-ranks cuts groups"),
        (("--maxima", "z.csv", *OF_MAXIMA, "--op", "x"), "--op: of traces only"),
        (
            ("--block-times", "z.csv", "--group", "tp", "--ranks", "0"),
            "--group and --ranks",
        ),
        (("--level", "1"), "--level"),
        (("--fit-ranks", "1"), "--fit-ranks"),
        (("--n", "1"), "waits for nobody"),
        (("--n", "9" * 30), f"{'9' * 20}... is above"),
        (("--points", "violin"), "--points"),
    ],
)
def test_wrong_usage_is_told(fit_evt, maxima_csv, args, words):
    Path("z.csv").write_bytes(maxima_csv.read_bytes())
    assert words in refused(fit_evt(*args), 2)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("block,instance,rank\na,0,0\n", "lacks the column us"),
        ("", "is empty"),
        ("block,instance,rank,us\na,0,0,x\n", "us is 'x'; expected"),
    ],
)
def test_a_damaged_file_is_told(fit_evt, text, words):
    Path("times.csv").write_text(text)
    assert words in refused(fit_evt("--block-times", "times.csv"), 3)


def test_too_few_instances_are_refused(fit_evt):
    lines = [
        "block,instance,rank,us",
        *(f"a,{i},{r},{i + r}" for i in range(9) for r in (0, 1)),
    ]
    Path("times.csv").write_text("\n".join(lines))
    said = refused(fit_evt("--block-times", "times.csv"))
    assert "needs 10 instances of a compute block" in said
    assert not Path(".synctax/tax.json").exists()


def test_sizes_below_the_fit_are_refused(fit_evt, times_csv):
    said = refused(fit_evt("--block-times", times_csv, "--n", "4"))
    assert "n = 4 is below the 8 ranks of the fit" in said


def test_a_workspace_that_is_not_ours_is_left_alone(fit_evt, times_csv):
    Path(".synctax").mkdir()
    Path(".synctax/tax.json").write_text('{"rate": 0.19}')
    said = refused(fit_evt("--block-times", times_csv))
    assert "holds what synctax did not make" in said
    assert Path(".synctax/tax.json").read_text() == '{"rate": 0.19}'


def test_a_tax_file_in_no_folder_is_refused(fit_evt, times_csv):
    said = refused(fit_evt("--block-times", times_csv, "--tax", "no/tax.json"), 2)
    assert "--tax no/tax.json: no is no folder" in said
    assert ".part" not in said
    # before anything is fitted or kept
    assert not Path(".synctax").exists()


@pytest.mark.parametrize("option", ["-o", "--tax"])
def test_what_is_read_is_not_overwritten(fit_evt, times_csv, maxima_csv, option):
    for source, given in (
        (times_csv, ("--block-times", "in.csv")),
        (maxima_csv, ("--maxima", "in.csv", *OF_MAXIMA)),
    ):
        text = source.read_bytes()
        Path("in.csv").write_bytes(text)
        Path("link.csv").unlink(missing_ok=True)
        Path("link.csv").symlink_to("in.csv")
        for name in ("in.csv", "link.csv"):
            said = refused(fit_evt(*given, option, name), 2)
            assert f"{option} {name} would overwrite what is read" in said
        assert Path("in.csv").read_bytes() == text


def test_a_trace_in_a_folder_that_is_read_is_not_overwritten(fit_evt, job):
    trace = Path(discover(job).files[0].path)
    before = trace.read_bytes()
    said = refused(fit_evt(job, "-o", trace, "--format", "json"), 2)
    assert "would overwrite what is read" in said
    assert trace.read_bytes() == before


def test_a_tax_replaces_a_tax_and_nothing_else(fit_evt, maxima_csv):
    given = ("--maxima", maxima_csv, *OF_MAXIMA, "--no-cache", "-q")
    Path("notes.json").write_text('{"mine": 1}')
    said = refused(fit_evt(*given, "--tax", "notes.json"), 2)
    assert "--tax would overwrite notes.json, which is no tax model" in said
    assert Path("notes.json").read_text() == '{"mine": 1}'
    Path("tax.json").write_text("")
    for seed in (0, 1):
        assert fit_evt(*given, "--tax", "tax.json", "--seed", seed).exit_code == 0
    assert read_tax("tax.json").n_fit == 4


def test_a_result_and_a_tax_are_not_written_to_one_file(fit_evt, maxima_csv):
    given = ("--maxima", maxima_csv, *OF_MAXIMA, "--no-cache", "-q")
    said = refused(fit_evt(*given, "--tax", "a.json", "-o", "./a.json"), 2)
    assert "-o and --tax both name a.json" in said


def test_what_cannot_be_kept_is_told_and_shown_all_the_same(fit_evt, times_csv, tmp_path):
    (tmp_path / "file").write_text("")
    result = fit_evt("--block-times", times_csv, "--workspace", "file/in")
    assert result.exit_code == 0
    assert "nothing is kept for later commands" in result.stderr


def test_a_tax_that_was_kept_is_the_one_that_is_written(fit_evt, times_csv):
    assert fit_evt("--block-times", times_csv, "--tax", "tax.json", "-q").exit_code == 0
    kept = Workspace(Path(".synctax")).tax()
    written = read_tax("tax.json")
    assert to_json(written) == Path("tax.json").read_bytes()
    assert kept.gumbel == written.gumbel
