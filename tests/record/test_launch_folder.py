"""A folder for a recording: what is ours is replaced if asked, all else stays."""

import gzip
import json
import os
import socket
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synctax.record import names
from synctax.record.claim import OccupiedFolderError, claim, of_recording
from synctax.record.plan import Plan
from synctax.record.state import RankState, write_state, write_whole
from synctax.record.truth import Truth, write_truth
from tests.laws import examples


def touch(*paths):
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")


def files(folder):
    return {path for path in folder.rglob("*") if path.is_file()}


def recording(folder, *, n_ranks=2):
    """Leave a recording of several ranks, with delays, and a process that is no rank."""
    write_whole(names.plan_path(folder), Plan(folder).to_json())
    word = {"schema": names.PROCESS_SCHEMA, "reason": "no optimizer stepped"}
    write_whole(names.process_path(folder, "node-a", 7), json.dumps(word))
    for rank in range(n_ranks):
        trace, delays = names.trace_path(9, rank), names.delays_path(9, rank)
        write_truth(folder / delays, Truth(rank, "node-a", (), {}, ()))
        (folder / trace).write_bytes(gzip.compress(b"{}"))
        state = RankState(rank, n_ranks, "node-a", 17, state="written", end_step=9)
        write_state(folder, with_files(state, trace, delays))
    return files(folder)


def with_files(state, trace="", delays=""):
    return replace(state, trace=str(trace), delays=str(delays))


# ------------------------------------------------------------------ what is ours


def test_a_recording_is_replaced_only_if_asked(tmp_path):
    ours = recording(tmp_path)
    assert len(ours) == 8
    kept = [tmp_path / "README.md", tmp_path / "record" / "notes.txt"]
    touch(*kept)
    with pytest.raises(
        OccupiedFolderError, match="holds a recording; --overwrite"
    ) as error:
        claim(tmp_path, overwrite=False)
    assert error.value.exit_code == 2
    assert ours < files(tmp_path)
    claim(tmp_path, overwrite=True)
    assert files(tmp_path) == set(kept)
    assert not (tmp_path / "iteration_9").exists()
    claim(tmp_path, overwrite=False)


@pytest.mark.parametrize("name", ["plan.json", "process-node-a-7.json"])
def test_notes_alone_are_not_removed_unasked_either(tmp_path, name):
    recording(tmp_path, n_ranks=0)
    for path in (tmp_path / "record").iterdir():
        if path.name != name:
            path.unlink()
    with pytest.raises(OccupiedFolderError, match="--overwrite"):
        claim(tmp_path, overwrite=False)
    claim(tmp_path, overwrite=True)
    assert not (tmp_path / "record").exists()


def test_a_job_that_is_recording_keeps_its_folder(tmp_path):
    recording(tmp_path)
    state = RankState(0, 2, socket.gethostname(), os.getpid(), state="waiting")
    write_state(tmp_path, state)
    (tmp_path / "iteration_9" / "rank0_trace.json.gz").unlink()
    (tmp_path / "iteration_9" / "rank0_delays.json").unlink()
    before = files(tmp_path)
    with pytest.raises(OccupiedFolderError, match="a job is recording into"):
        claim(tmp_path, overwrite=True)
    assert files(tmp_path) == before
    write_state(tmp_path, replace(state, state="nothing"))
    claim(tmp_path, overwrite=True)
    assert files(tmp_path) == set()


def test_what_a_killed_rank_was_writing_goes_with_it(tmp_path):
    state = RankState(3, 4, "node-a", 17, state="recording", end_step=9)
    write_state(tmp_path, state)
    parts = [
        tmp_path / "iteration_9" / ".rank3_trace.json.gz.17",
        tmp_path / "record" / ".rank3.json.17",
    ]
    others = [parts[0].with_suffix(".18")]
    touch(*parts, *others)
    claim(tmp_path, overwrite=True)
    assert files(tmp_path) == set(others)


# ------------------------------------------------------------------ what is not


@pytest.mark.parametrize(
    "name",
    [
        "rank0.json",
        "a/b/trace.json.zst",
        "x.json.gz",
        "record/settings.json",
        "record/rank9.json",
        "record/plan.json",
        "record/process-node-a-1.json",
        "iteration_9/rank7_trace.json.gz",
        "iteration_12/rank0_trace.json.gz",
        "iteration_9/rank7_delays.json",
        "rank0_delays.json",
    ],
)
@pytest.mark.parametrize("beside", [True, False])
@pytest.mark.parametrize("overwrite", [True, False])
def test_what_is_not_known_to_be_ours_is_neither_removed_nor_mixed_with(
    tmp_path, name, beside, overwrite
):
    if beside:
        recording(tmp_path)
    touch(tmp_path / name)
    before = files(tmp_path)
    with pytest.raises(OccupiedFolderError, match=f"such as {name}"):
        claim(tmp_path, overwrite=overwrite)
    assert files(tmp_path) == before


@pytest.mark.parametrize(
    "name",
    ["../rank0_trace.json.gz", "{}/rank0_trace.json.gz", "other.json.gz", "a/data.json"],
)
def test_a_state_names_no_file_elsewhere_and_none_of_another_kind(tmp_path, name):
    target = (tmp_path / "traces" / name.format(tmp_path)).resolve()
    touch(target)
    for trace, delays in [(name, ""), ("", name)]:
        state = RankState(0, 1, "node-a", 1)
        traces = tmp_path / "traces"
        write_state(traces, with_files(state, trace.format(tmp_path), delays))
        assert target not in {path.resolve() for path in of_recording(traces)}


@settings(max_examples=examples(50))  # each is a folder with files
@given(
    st.sets(st.sampled_from(["plan.json", "rank0.json", "rank1.json", "other.json"])),
    st.sampled_from([names.PLAN_SCHEMA, names.STATE_SCHEMA, "another/1"]),
    st.booleans(),
)
def test_nothing_is_removed_where_anything_is_refused(
    tmp_path_factory, notes, kind, overwrite
):
    folder = tmp_path_factory.mktemp("traces")
    for name in notes:
        write_whole(folder / "record" / name, json.dumps({"schema": kind}))
    touch(folder / "kept.txt")
    before = files(folder)
    try:
        claim(folder, overwrite=overwrite)
    except OccupiedFolderError:
        assert notes
        assert files(folder) == before
        assert not overwrite or kind == "another/1"
    else:
        assert files(folder) == {folder / "kept.txt"}
        assert not notes or (overwrite and kind != "another/1")


def test_a_state_that_is_damaged_but_ours_names_nothing(tmp_path):
    recording(tmp_path)
    note = names.state_path(tmp_path, 1)
    note.write_text(json.dumps({"schema": names.STATE_SCHEMA, "rank": "one"}))
    assert note in of_recording(tmp_path)
    with pytest.raises(OccupiedFolderError, match=r"iteration_9/rank1_delays\.json"):
        claim(tmp_path, overwrite=True)


def test_a_folder_is_made(tmp_path):
    claim(tmp_path / "a" / "b", overwrite=False)
    assert (tmp_path / "a" / "b").is_dir()
