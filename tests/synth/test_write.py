"""Files and directories: names, sizes, repeatability, and what is never left behind."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from synctax.errors import SynctaxError
from synctax.synth import TRUTH_FILE, Delay, SynthJob, truth, write, writer
from tests.synth import oracle

TINY = SynthJob(tp=2, fsdp=1, layers=1, steps=1)


def files(directory):
    return sorted(
        str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()
    )


def contents(directory):
    return {name: (directory / name).read_bytes() for name in files(directory)}


@pytest.mark.parametrize("compress", ["none", "gz", "zst"])
def test_the_same_job_gives_the_same_bytes(tmp_path, compress):
    job = replace(TINY, compress=compress)
    for name in ("one", "two"):
        write(job, tmp_path / name)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_another_seed_gives_other_times(tmp_path):
    assert list(truth(TINY).collectives()) != list(
        truth(replace(TINY, seed=1)).collectives()
    )


@pytest.mark.parametrize(
    ("layout", "compress", "name"),
    [
        ("torchtitan", "gz", "profiling/traces/iteration_5/rank1_trace.json.gz"),
        ("torchtitan-old", "none", "profile_trace/iteration_5/rank1_trace.json"),
        ("tensorboard", "gz", "node-0_4064.1777365592000000001.pt.trace.json.gz"),
        ("megatron", "gz", "torch_profile/rank-1.json.gz"),
        ("flat", "zst", "rank1.json.zst"),
    ],
)
def test_files_have_the_names_of_their_framework(tmp_path, layout, compress, name):
    known = write(replace(TINY, layout=layout, compress=compress, first_step=4), tmp_path)
    assert known.ranks[1].file == name
    assert name in files(tmp_path)
    assert oracle.read(tmp_path / name)["traceName"] == Path(name).name


def test_megatron_has_an_execution_trace_beside_each_trace(tmp_path):
    write(replace(TINY, layout="megatron"), tmp_path)
    twin = json.loads((tmp_path / "chakra" / "rank-1.json").read_text())
    assert "nodes" in twin
    assert "traceEvents" not in twin


def test_only_the_ranks_asked_for_are_written(tmp_path):
    known = write(replace(TINY, layout="flat", write_ranks=(1,)), tmp_path)
    assert files(tmp_path) == ["rank1.json", TRUTH_FILE]
    rows = list(known.collectives())
    assert [row.status for row in rows[:2]] == ["head", "partial"]
    assert {row.straggler_rank for row in rows} == {None}


def test_the_truth_file_is_no_trace(tmp_path):
    known = write(replace(TINY, delays=(Delay(1, 0, 2, 5.0),)), tmp_path)
    found = json.loads((tmp_path / TRUTH_FILE).read_text())
    assert list(found) == ["schema", "parameters", "collectives", "ranks", "injected"]
    assert found["schema"] == "synctax.synth-truth/1"
    assert found["parameters"]["delays"] == [
        {
            "rank": 1,
            "step": 0,
            "kernel": 2,
            "delay_us": 5.0,
            "side": "gpu",
            "collective": "",
        }
    ]
    assert found["injected"][0]["kernel"].startswith("void at::native")
    assert len(found["collectives"]) == len(list(known.collectives()))


@pytest.mark.parametrize(("size_mb", "layers"), [(0.1, 1), (1.0, 4), (5.0, 4)])
def test_files_have_about_the_size_asked_for(tmp_path, size_mb, layers):
    job = SynthJob(tp=2, fsdp=2, size_mb=size_mb, write_ranks=(0,), layout="flat")
    known = write(job, tmp_path)
    assert known.job.layers == layers
    size = (tmp_path / "rank0.json").stat().st_size
    assert size == known.ranks[0].n_bytes
    assert size == pytest.approx(size_mb * 1e6, rel=0.25)


def test_more_ranks_than_files_may_be_open_take_several_runs(tmp_path, monkeypatch):
    job = replace(TINY, fsdp=2, delays=(Delay(1, 0, 2, 5.0),))
    write(job, tmp_path / "at once")
    monkeypatch.setattr(writer, "RANKS_AT_ONCE", 3)
    write(job, tmp_path / "in turn")
    assert contents(tmp_path / "at once") == contents(tmp_path / "in turn")


def test_progress_reaches_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr(writer, "RANKS_AT_ONCE", 3)
    told = []
    write(replace(TINY, fsdp=2, steps=2), tmp_path, progress=lambda *now: told.append(now))
    assert told == [(3, 8), (6, 8), (7, 8), (8, 8)]


def test_a_full_directory_is_refused_and_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(SynctaxError, match="is not empty"):
        write(TINY, tmp_path)
    assert files(tmp_path) == ["notes.txt"]


def test_a_file_is_no_directory(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SynctaxError, match="is a file"):
        write(TINY, tmp_path / "file")


def test_overwriting_removes_the_earlier_traces_and_nothing_else(tmp_path):
    write(replace(TINY, tp=4, layout="flat"), tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    write(replace(TINY, layout="megatron"), tmp_path, overwrite=True)
    assert files(tmp_path) == [
        "chakra/rank-0.json",
        "chakra/rank-1.json",
        "notes.txt",
        "torch_profile/rank-0.json",
        "torch_profile/rank-1.json",
        TRUTH_FILE,
    ]


@pytest.mark.parametrize("text", ["{", "[]", '{"ranks": [{}]}'])
def test_a_foreign_truth_file_is_not_guessed_at(tmp_path, text):
    (tmp_path / TRUTH_FILE).write_text(text)
    with pytest.raises(SynctaxError, match="is not a truth file"):
        write(TINY, tmp_path, overwrite=True)


def test_an_earlier_truth_cannot_name_files_elsewhere(tmp_path):
    outside = tmp_path / "outside.json"
    outside.write_text("mine")
    made = tmp_path / "made"
    made.mkdir()
    (made / TRUTH_FILE).write_text('{"ranks": [{"file": "../outside.json"}]}')
    write(TINY, made, overwrite=True)
    assert outside.read_text() == "mine"


def test_an_interruption_leaves_no_file(tmp_path):
    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(TINY, tmp_path, progress=stop)
    assert files(tmp_path) == []
    write(TINY, tmp_path)


@pytest.mark.parametrize(
    ("delay", "message"),
    [
        (Delay(0, 0, 999, 1.0), "names kernel 999, a step has"),
        (Delay(0, 5, 0, 1.0), "names step 5, the job has 1 steps"),
        (Delay(0, 0, None, 1.0, "gap", "tp:8"), "collective 8 of tp, a step has 8 of it"),
        (Delay(0, 0, None, 1.0, "op", "ep:0"), "collective 0 of ep, a step has 0 of it"),
    ],
)
def test_a_delay_must_find_its_place(delay, message):
    job = replace(TINY, size_mb=0.05, delays=(delay,))
    with pytest.raises(SynctaxError, match=message):
        truth(job)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"tp": 0}, "tp must be at least 1, got 0"),
        ({"jitter": float("nan")}, "jitter must be at least 0"),
        ({"bandwidth_gb_per_s": 0.0}, "bandwidth_gb_per_s must be at least 0.001"),
        ({"size_mb": -1.0}, "size_mb must lie between 0 and 1e"),
        ({"jitter": float("inf")}, "jitter must be at most 1000, got inf"),
        ({"clock_drift_ppm": float("nan")}, "clock_drift_ppm must be at least -100000"),
        ({"rank_clock_offset_us": {0: float("inf")}}, "must lie within 1e.* of 0, got inf"),
        ({"xi": 0.5}, "xi must lie between 0 and 0.5"),
        ({"fsdp": 4, "ep": 3}, "ep must divide fsdp, got ep 3 and fsdp 4"),
        ({"fsdp": 4, "cp": 8}, "cp must divide fsdp, got cp 8 and fsdp 4"),
        ({"fsdp_grad_payload_bytes": 0}, "fsdp_grad_payload_bytes must be at least 1"),
        ({"fsdp_grad_payload_bytes": 10**14}, "fsdp_grad_payload_bytes must be at most"),
        (
            {"fsdp_grad_payload_bytes": 10**12, "bandwidth_gb_per_s": 1e-3},
            "the longest transfer",
        ),
        ({"microbatches": 0}, "microbatches must be at least 1, got 0"),
        (
            {"layers": 100, "microbatches": 101},
            "layers \\* microbatches \\* coalesced must be at most 10,000, got 10,100",
        ),
        ({"hosts": 9}, "9 hosts need as many ranks, the world has 2"),
        ({"layout": "tree"}, "layout must be one of torchtitan"),
        ({"write_ranks": ()}, "write_ranks names no rank"),
        ({"write_ranks": (2,)}, "write_ranks names rank 2, the world has 2 ranks"),
        ({"lost_head": {7: 1}}, "lost_head names rank 7"),
        ({"lost_tail": {0: -1}}, "lost_tail must not be negative"),
        ({"delays": (Delay(3, 0, 0, 1.0),)}, "delays names rank 3"),
        ({"delays": (Delay(0, 3, 0, 1.0),)}, "a delay names step 3, the job has 1 steps"),
        ({"delays": (Delay(0, 0, 0, -1.0),)}, "a delay must lie between 0 and 1e"),
        ({"delays": (Delay(0, 0, 0, 1.0, "npu"),)}, "gpu, cpu, op, gap, call, got npu"),
        ({"delays": (Delay(0, 0, None, 1.0),)}, "neither a kernel nor a collective"),
        (
            {"delays": (Delay(0, 0, 3, 1.0, "op", "tp:5"),)},
            "names kernel 3 and collective tp:5; name one of them",
        ),
        ({"delays": (Delay(0, 0, None, 1.0, "op", "pp:5"),)}, "like tp:5, got 'pp:5'"),
        ({"delays": (Delay(0, 0, None, 1.0, "op", "tp"),)}, "like tp:5, got 'tp'"),
        ({"delays": (Delay(0, 0, None, 1.0, "gpu", "tp:5"),)}, "must be on the CPU"),
        ({"sync_records": "some"}, "sync_records must be one of none, full, unresolved"),
    ],
)
def test_a_job_that_cannot_be_is_refused(changed, message):
    with pytest.raises(ValueError, match=message):
        replace(TINY, **changed)
