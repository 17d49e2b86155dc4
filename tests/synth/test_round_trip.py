"""The truth is what the files say, whatever the options."""

import json
import tempfile
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given, settings

from synctax.synth import TRUTH_FILE, SynthJob, truth, write
from synctax.synth.job import ROLES
from tests.laws import examples
from tests.synth import oracle
from tests.synth.jobs import jobs


@settings(max_examples=examples(20), deadline=None)
@given(jobs())
def test_the_truth_file_is_what_the_files_say(job):
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        write(job, directory)
        known = json.loads((directory / TRUTH_FILE).read_text())
        by_rank = oracle.traces(directory, known)
    size = {key: getattr(job, key) for key in ROLES}
    expected = oracle.expected(by_rank, size)
    rows = defaultdict(list)
    for row in known["collectives"]:
        rows[row["group"], tuple(row["group_ranks"])].append(row)
    ours = {(*group_of(job, row), row["index"]): row for row in expected}
    assert len(known["collectives"]) == len(expected) == len(ours)
    for row in known["collectives"]:
        durations = {int(rank): value for rank, value in row["duration_ns"].items()}
        found = ours[row["group"], tuple(row["group_ranks"]), row["index"]]
        assert durations == found["durations"]
        assert row["n_ranks"] == len(durations)
        assert row["tax_max_us"] == found["max"]
        assert row["tax_median_us"] == found["median"]
        assert row["tax_mean_us"] == pytest.approx(found["mean"], abs=1e-9)
        assert row["straggler_rank"] == found["straggler"]
        assert row["fastest_rank"] == found["fastest"]
        assert (row["status"] == "head") == (row["index"] == 0)
        if row["index"]:
            assert (row["status"] == "partial") == found["partial"]
        if job.metadata == "full":
            check_metadata(job, row, found["events"])
    for group in rows.values():
        assert [row["index"] for row in group] == list(range(len(group)))
    check_files(job, known, by_rank)


def group_of(job, row):
    """Role and ranks of the group that a marker names."""
    dimension, first = row["dimension"], row["first"]
    outer = {"tp": 1, "dp": job.tp * job.fsdp}
    stride = outer.get(dimension, job.tp)
    size = getattr(job, dimension)
    role = dimension
    if dimension == "fsdp" and job.descriptions == "megatron":
        role = "dp" if job.cp == 1 else "dp_cp"
    return role, tuple(range(first, first + stride * size, stride))


def check_metadata(job, row, events):
    payload = 0
    for event in events.values():
        args = event["args"]
        elements = max(args["In msg nelems"], args["Out msg nelems"])
        payload = max(payload, elements * oracle.ITEM_BYTES[args["dtype"]])
        assert args["dtype"] == row["dtype"]
        assert args["Process Group Name"] == row["group_name"]
        assert json.loads(args["Process Group Ranks"]) == row["group_ranks"]
        assert args["Group size"] == len(row["group_ranks"])
        assert args.get("Seq") == row["seq"]
    assert payload == row["payload_bytes"]
    assert len({event["args"].get("Comms Id") for event in events.values()}) == 1
    if row["status"] == "ok":
        splits = {event["args"]["In split size"] for event in events.values()}
        assert row["op"] != "broadcast"
        assert splits == {"[]"}


def check_files(job, known, by_rank):
    assert tuple(by_rank) == job.written
    for rank, described in zip(by_rank, known["ranks"], strict=True):
        trace = by_rank[rank]
        assert described["n_events"] == len(trace["traceEvents"])
        assert described["n_kernels"] == len(oracle.kernels(trace))
        assert trace["host_name"] == described["host"]
        info = trace.get("distributedInfo")
        assert (info is not None) == job.distributed_info
        if info is not None:
            assert (info["rank"], info["world_size"]) == (rank, job.world)
        assert all(
            event["ts"] >= 0 and event.get("dur", 0) >= 0 for event in trace["traceEvents"]
        )
        starts = [event for event in trace["traceEvents"] if event["ph"] == "s"]
        launches = {event["id"] for event in starts}
        assert len(launches) == len(starts)
        for end in (event for event in trace["traceEvents"] if event["ph"] == "f"):
            assert end["id"] in launches


@settings(max_examples=examples(6), deadline=None)
@given(jobs())
def test_the_truth_without_files_is_that_with_files(job):
    with tempfile.TemporaryDirectory() as folder:
        written = write(job, Path(folder))
    without = truth(job)
    assert list(without.collectives()) == list(written.collectives())
    assert without.ranks == written.ranks
    assert without.injected == written.injected


def test_the_marker_is_absent_unless_asked_for(tmp_path):
    known = write(SynthJob(steps=1, layers=1), tmp_path)
    for rank in known.ranks:
        assert "marker" not in oracle.text_of(tmp_path / rank.file)
