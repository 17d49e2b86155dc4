"""Numbers no trace can mean are absent and counted; nothing is computed with them."""

import json
from contextlib import suppress

import pytest

from synctax.collectives.extract import extract
from synctax.collectives.groups import GroupFacts, resolve, visible_ranks
from synctax.collectives.load import survey
from synctax.collectives.overview import overview
from synctax.collectives.payload import UNKNOWN_SIZES, from_sizes, sizes
from synctax.errors import SynctaxError
from synctax.trace.discover import discover
from synctax.trace.facts import facts
from synctax.trace.model import TraceMeta
from synctax.trace.names import kernel as kernel_named
from synctax.trace.numbers import MAX_COUNT, MAX_RANK, bounded
from synctax.trace.steps import cpu_steps
from tests.laws import some
from tests.trace.builders import (
    annotation,
    collective,
    cpu_op,
    distributed,
    group_config,
    kernel,
    runtime,
    step,
    stream_wait,
    trace,
)
from tests.trace.reading import read, reasons

LONG = "9" * 5_000
NUMBERS = (
    str(2**31 - 1), str(2**63 - 1), str(2**64), "-1", "1e300", '"x"', "null", LONG,
    f"[0, {2**70}]",
)  # fmt: skip


@pytest.mark.parametrize("digits", ["", "-1", "1.0", "٣", " 1", str(MAX_RANK + 1), LONG])
def test_what_is_no_number_within_the_bound_is_absent(digits):
    assert bounded(digits, MAX_RANK) is None
    assert bounded(str(MAX_RANK), MAX_RANK) == MAX_RANK


@pytest.mark.parametrize("number", [str(MAX_COUNT + 1), "9" * 20, LONG])
def test_a_step_beyond_all_steps_is_absent_and_counted(tmp_path, number):
    result = read(
        tmp_path, trace(step(7, 1, 5), annotation(f"ProfilerStep#{number}", 7, 5))
    )
    assert cpu_steps(result).number.tolist() == [7]
    assert facts(result).steps == (7,)
    assert reasons(result) == {"integer_out_of_range": 1}


@pytest.mark.parametrize("peer", ["4294967296", "9" * 20, LONG])
def test_a_peer_beyond_all_ranks_is_absent_and_counted(tmp_path, peer):
    result = read(
        tmp_path,
        trace(
            annotation(f"nccl:send 0->{peer}", 1, 9),
            runtime("cudaLaunchKernel", 2, 1, corr=5),
            kernel("ncclDevKernel_SendRecv(x)", 20, 5, corr=5),
        ),
    )
    assert extract(result).peer.tolist() == [-1]
    assert reasons(result)["integer_out_of_range"] == 1


@pytest.mark.parametrize(
    ("key", "value", "column"),
    [
        ("Dst Rank", 2**63 - 1, "peer"),
        ("Dst Rank", 2**31, "peer"),
        ("Seq", 2**63 - 1, "seq"),
        ("Seq", -(2**63), "seq"),
    ],
)
def test_metadata_beyond_what_can_be_is_absent_and_counted(tmp_path, key, value, column):
    one = collective(1, 5, op="send", name="ncclDevKernel_SendRecv(x)")
    one["args"][key] = value
    result = read(tmp_path, trace(one))
    assert getattr(extract(result), column).tolist() == [-1]
    assert reasons(result) == {"integer_out_of_range": 1}


@pytest.mark.parametrize("elements", [2**62, 2**48 + 1, -(2**40)])
def test_a_count_of_elements_that_cannot_be_gives_no_payload(tmp_path, elements):
    one = collective(1, 5, elements=elements)
    one["args"]["dtype"] = "Double"
    result = read(tmp_path, trace(one))
    assert extract(result).payload_bytes.tolist() == [-1]
    assert reasons(result) == {"integer_out_of_range": 2}


@pytest.mark.parametrize(
    "dims",
    [
        "[[99999999999, 99999999999]]",
        f"[[{LONG}]]",
        f"[[{2**48}], [{2**48}], [{2**48}], [{2**48}], [{2**48}]]",
        "[[-4, -4]]",
        "[[-4]]",
        "[" * 100_000,
        "[[[[[4]]]]]",
        "[" * 900 + "]" * 900,
    ],
)
def test_shapes_that_no_memory_holds_give_no_bytes(dims):
    assert sizes(dims, json.dumps(["double"] * 5)).bytes == UNKNOWN_SIZES.bytes


def test_a_gathered_buffer_that_no_memory_holds_gives_no_bytes():
    size = sizes("[[1000000000]]", '["double"]')
    assert from_sizes(size, 1, MAX_RANK, both_sides=False) == -1


def test_a_huge_group_by_start_and_stride_is_not_listed():
    known = resolve(GroupFacts("0", "", "", 500_000_000, 0, 1), TraceMeta())
    assert (known.ranks, known.size) == (None, 500_000_000)
    wide = resolve(GroupFacts("0", "", "", 4, 0, MAX_RANK), TraceMeta())
    assert wide.ranks is None


def test_a_list_of_ranks_is_read_up_to_what_is_none():
    assert visible_ranks(f"[0, 1, {LONG}]").ranks == (0, 1)
    assert not visible_ranks(f"[0, 1, {2**31}]").complete


def test_a_mangled_name_of_endless_length_is_read_as_far_as_it_goes():
    assert kernel_named(f"_Z{LONG}x").kind == "other"


@pytest.mark.parametrize("ranks", [f"[0, {LONG}]", f"[0, {2**31}]", [0, 2**31], [0, 2**70]])
def test_declared_ranks_beyond_all_ranks_are_absent_and_counted(tmp_path, ranks):
    info = distributed(0, groups=[group_config("0", ranks)])
    result = read(tmp_path, trace(step(1, 1, 5), distributedInfo=info))
    assert result.meta.groups[0].ranks is None
    assert "integer_out_of_range" in reasons(result)


@pytest.mark.parametrize(
    ("listed", "threads"),
    [([31, 30, 30], (31, 30)), ([2**70, "x", 30], (30,)), ("none", ()), (None, ())],
)
def test_threads_that_the_recorder_lists_are_read_where_they_are_numbers(
    tmp_path, listed, threads
):
    result = read(tmp_path, trace(step(1, 1, 5), synctax={"gloo_threads": listed}))
    assert result.meta.runner_threads == threads


def test_a_group_named_by_a_number_beyond_64_bits_is_absent_and_counted(tmp_path):
    one = collective(1, 5)
    one["args"]["Process Group Name"] = 2**70
    assert reasons(read(tmp_path, trace(one)))["integer_out_of_range"] == 1


STORY = (
    step(1, 1, 200),
    cpu_op("c10d::send", 2, 9, args={"External id": 4, "Input Dims": [[4]],
           "Input type": ["float"]}),
    annotation("nccl:send 0->1", 3, 7, args={"Seq": 1, "Dst Rank": 1}),
    runtime("cudaLaunchKernel", 4, 1, corr=5),
    kernel("gemm", 20, 5, corr=4, args={"grid": [1, 1, 1], "graph node id": 3}),
    stream_wait(19, 1, stream=7, on_stream=20, on_corr=1),
    collective(30, 5, seq=3, corr=5),
    {**collective(60, 5), "args": {**collective(60, 5)["args"], "Comms Id": 4,
     "Process Group Ranks": "", "Global rank start": 0, "Global rank stride": 1}},
)  # fmt: skip
DOCUMENT = json.loads(
    trace(
        *STORY,
        distributedInfo=distributed(0, groups=[group_config("0", [0, 1])]),
        deviceProperties=[{"id": 0, "name": "H100"}],
        cuda_runtime_version=12080,
        baseTimeNanoseconds=10**9,
    )
)


def places(value, path=()):
    """Every number of a document, and every list that holds some."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from places(part, (*path, key))
    elif isinstance(value, list) and path != ("traceEvents",):
        yield path
    if isinstance(value, list):
        for i, part in enumerate(value):
            yield from places(part, (*path, i))
    elif isinstance(value, int | float):
        yield path


@pytest.mark.parametrize(
    "path", list(places(DOCUMENT)), ids=lambda p: "-".join(map(str, p))
)
def test_no_number_anywhere_is_more_than_bad_input(tmp_path, path):
    (tmp_path / "rank1.json").write_bytes(trace(*STORY, rank=1))
    document = json.loads(json.dumps(DOCUMENT))
    node = document
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = "HERE"
    text = json.dumps(document)
    for number in some(NUMBERS):
        (tmp_path / "rank0.json").write_text(text.replace('"HERE"', number))
        with suppress(SynctaxError):
            overview(survey(discover(tmp_path), workers=1))
