"""`synctax synth` as a user meets it."""

import json

import pytest

from synctax.synth import TRUTH_FILE, Delay, SynthJob, truth

SMALL = ("--tp", 2, "--fsdp", 1, "--layers", 1, "--steps", 1)


def test_options_reach_the_job(run, tmp_path):
    result = run(
        *("synth", tmp_path, *SMALL, "--layout", "flat", "--whole-us", "--no-seq"),
        *("--delay", "rank=1,step=0,kernel=2,ms=1.5,side=cpu", "--delay"),
        *("rank=0,step=0,kernel=4,us=7", "--lost-head", "1:2", "--write-ranks", "0-1"),
        *("--rank-clock-offset-us", "1:-2.5", "--format", "json"),
    )
    assert result.exit_code == 0, result.stderr
    job = SynthJob(
        tp=2,
        fsdp=1,
        layers=1,
        steps=1,
        layout="flat",
        whole_us=True,
        seq=False,
        delays=(Delay(1, 0, 2, 1500.0, "cpu"), Delay(0, 0, 4, 7.0)),
        lost_head={1: 2},
        write_ranks=(0, 1),
        rank_clock_offset_us={1: -2.5},
    )
    assert (tmp_path / TRUTH_FILE).read_bytes() == b"".join(truth(job).to_json())


@pytest.mark.parametrize(
    ("text", "delay"),
    [
        ("rank=1,step=0,kernel=2,us=40,side=gap", Delay(1, 0, 2, 40.0, "gap")),
        ("rank=1,step=0,collective=tp:3,ms=2", Delay(1, 0, None, 2000.0, "op", "tp:3")),
        (
            "rank=0,step=0,collective=tp:0,s=0.5,side=call",
            Delay(0, 0, None, 5e5, "call", "tp:0"),
        ),
    ],
)
def test_a_delay_names_its_place_and_side(run, tmp_path, text, delay):
    result = run("synth", tmp_path, *SMALL, "--delay", text, "--sync-records", "full")
    assert result.exit_code == 0, result.stderr
    job = SynthJob(tp=2, fsdp=1, layers=1, steps=1, delays=(delay,), sync_records="full")
    assert (tmp_path / TRUTH_FILE).read_bytes() == b"".join(truth(job).to_json())


def test_the_defaults_are_those_of_the_library(run, tmp_path):
    assert run("synth", tmp_path).exit_code == 0
    assert (tmp_path / TRUTH_FILE).read_bytes() == b"".join(truth(SynthJob()).to_json())


def test_every_option_of_a_job_can_be_set(run):
    text = run("synth", "--help").stdout
    for name in SynthJob.__dataclass_fields__.keys() - {"marker", "delays"}:
        assert f"--{name.replace('_', '-')} " in text


def test_the_summary_counts_what_was_written(run, tmp_path):
    result = run("synth", tmp_path, *SMALL, "--layout", "flat", "--lost-head", "1:2")
    known = truth(SynthJob(tp=2, fsdp=1, layers=1, steps=1, lost_head={1: 2}))
    n_events = sum(rank.n_events for rank in known.ranks)
    assert f"2 of 2 ranks, 0.2 MB as plain JSON, {n_events:,} events" in result.stdout
    assert "8 collectives (1 head, 6 ok, 1 partial)" in result.stdout
    assert result.stdout.splitlines()[-1] == f"truth: {tmp_path / TRUTH_FILE}"
    assert result.stderr == ""


def test_the_json_summary_has_a_row_for_each_file(run, tmp_path):
    result = run("synth", tmp_path, *SMALL, "--compress", "gz", "--format", "json")
    found = json.loads(result.stdout)
    assert found["schema"] == "synctax.synth/1"
    assert found["collectives"] == {"head": 1, "ok": 7}
    assert found["events"] == sum(row["n_events"] for row in found["rows"])
    assert all((tmp_path / row["file"]).is_file() for row in found["rows"])
    assert (tmp_path / found["truth"]).is_file()


def test_a_lone_file_is_named_alone(run, tmp_path):
    result = run("synth", tmp_path, *SMALL, "--layout", "flat", "--write-ranks", "1")
    assert result.stdout.splitlines()[1] == f"traces: {tmp_path / 'rank1.json'}"


def test_a_full_directory_needs_force(run, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    refused = run("synth", tmp_path, *SMALL)
    assert refused.exit_code == 1
    assert "is not empty; name a new directory, or use --force" in refused.stderr
    assert run("synth", tmp_path, *SMALL, "--force").exit_code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--ep", 3), "ep must divide fsdp, got ep 3 and fsdp 2"),
        (("--tp", 0), "tp must be at least 1, got 0"),
        (("--delay", "rank=1"), "'rank=1' is no delay like rank=2,step=1,kernel=3,ms=5"),
        (("--delay", "rank=1,step=0,kernel=0,ms=1,us=2"), "is no delay like"),
        (
            ("--delay", "rank=1,step=0,kernel=0,ms=1,side=npu"),
            "the side of a delay is gpu, cpu, op, gap or call, not 'npu'",
        ),
        (
            ("--delay", "rank=1,step=0,kernel=0,collective=tp:0,ms=1"),
            "collective=tp:5 for kernel=3",
        ),
        (("--delay", "rank=1,step=0,collective=tp,ms=1"), "like tp:5, got 'tp'"),
        (("--delay", "rank=1,step=0,collective=tp:1,ms=1,side=gpu"), "on the CPU"),
        (("--delay", "rank=1,step=0,kernel=0,ms=-1"), "a delay must lie between 0 and"),
        (("--delay", "rank=x,step=0,kernel=0,ms=1"), "'x' is not a valid integer"),
        (("--lost-head", "2"), "'2' is no rank with a number, like 2:1"),
        (("--lost-head", "2:x"), "'x' is not a valid integer"),
        (("--layout", "tree"), "'tree' is not one of"),
        (("--seed", 2**63), "seed must be at most 9,223,372,036,854,775,807, got"),
        (("--tp", 999_999_999_999), "tp must be at most 100,000, got 999999999999"),
        (("--tp", 1000, "--dp", 101), "at most 100,000 ranks, got 202,000"),
        (("--layers", 101, "--coalesced", 100), "at most 10,000, got 10,100"),
        (("--jitter", "nan"), "'nan' is no finite number"),
        (("--rank-clock-offset-us", "1:inf"), "'inf' is no finite number"),
        (("--delay", "rank=1,step=0,kernel=0,ms=nan"), "'nan' is no finite number"),
        (("--lost-tail", "1:9999999999"), "lost_tail must be at most 1,000,000,000"),
        (
            ("--tp-payload-bytes", 10**12, "--bandwidth-gb-per-s", 0.001),
            "the longest transfer (payload_bytes / bandwidth_gb_per_s) must take at most",
        ),
        (("--write-ranks", "8"), "write_ranks names rank 8, the world has 8 ranks"),
    ],
)
def test_wrong_usage_is_said_in_words(run, tmp_path, options, message):
    result = run("synth", tmp_path / "made", *options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, field in SynthJob.__dataclass_fields__.items()
        if type(field.default) in (int, float)
    ],
)
def test_every_number_has_an_end(run, tmp_path, name):
    result = run("synth", tmp_path / "made", f"--{name.replace('_', '-')}", "9" * 20)
    assert result.exit_code == 2
    assert f"{name} must " in result.stderr
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--tp", 50_000, "--layers", 1000), "a step has 3,500,200,000 kernels"),
        (("--steps", 100_000_000), "the job has 35,200,000,000 communication kernels"),
        (("--size-mb", 9e6), "at most 1,000,000,000 can be simulated"),
        (
            ("--dp-payload-bytes", 10**12, "--bandwidth-gb-per-s", 2, "--steps", 100_000),
            "the transfers of the job take up to",
        ),
    ],
)
def test_a_job_too_large_is_refused_before_anything_is_made(
    run, tmp_path, options, message
):
    result = run("synth", tmp_path / "made", *options)
    assert result.exit_code == 1
    assert message in result.stderr
    assert not (tmp_path / "made").exists()


def test_a_failed_run_leaves_no_folder(run, tmp_path, monkeypatch):
    def fails(*_):
        raise OSError(28, "No space left on device")

    (tmp_path / "kept").mkdir()
    monkeypatch.setattr("synctax.synth.writer.header", fails)
    assert run("synth", tmp_path / "new" / "made", *SMALL).exit_code == 1
    assert run("synth", tmp_path / "kept", *SMALL).exit_code == 1
    assert [path.name for path in tmp_path.rglob("*")] == ["kept"]


def test_a_delay_that_finds_no_kernel_cannot_be_served(run, tmp_path):
    result = run("synth", tmp_path, *SMALL, "--delay", "rank=0,step=0,kernel=99,ms=1")
    assert result.exit_code == 1
    assert "a delay names kernel 99, a step has 26" in result.stderr


@pytest.mark.parametrize(("steps", "shown"), [(3, False), (30, True)])
@pytest.mark.parametrize("quiet", [(), ("-q",)])
def test_long_work_shows_its_progress_on_a_terminal(
    run, tmp_path, monkeypatch, steps, shown, quiet
):
    monkeypatch.setattr("synctax.cli.synth._is_terminal", lambda: True)
    result = run("synth", tmp_path, *SMALL[:-1], steps, *quiet)
    assert ("writing" in result.stderr) == (shown and not quiet)
