"""What is found in traces that others recorded."""

from collections import Counter
from pathlib import Path

import pytest

from synctax.collectives.extract import extract
from synctax.collectives.model import Op
from tests.attribution import examples

TRACES = Path(__file__).resolve().parents[3] / "shared" / "traces"
pytestmark = pytest.mark.skipif(not TRACES.is_dir(), reason="no ../shared/traces")


def read(path):
    return extract(examples.read(path))


def ranks_of(folder):
    return [read(path) for path in sorted((TRACES / folder).glob("*.json.gz"))]


def ops(found):
    return Counter(Op(code).label for code in found.op.tolist())


def dtypes(found):
    return Counter(
        found.strings[code] if code >= 0 else "" for code in found.dtype.tolist()
    )


def reasons(found):
    """What extraction has to say, without what reading left out."""
    return {n.reason: n.count for n in found.notes if n.reason != "skipped_category"}


def test_megatron_has_84_all_reduces_sized_by_the_shapes_of_their_ranges():
    for found in ranks_of("megatron-tp8-a100"):
        assert ops(found) == {"all_reduce": 84}
        assert dtypes(found) == {"float16": 81, "float32": 3}
        assert set(found.payload_bytes.tolist()) == {4 * 2048 * 4096 * 2, 4 * 2048 * 4}
        assert set(found.step.tolist()) == {3}
        assert [g.role for g in found.groups] == ["unlabelled"]
        assert reasons(found)["group_unlabelled"] == 84


def test_ddp_on_rccl_is_known_by_its_metadata_alone():
    for found in ranks_of("ddp4-mi300"):
        assert ops(found) == {"all_reduce": 15, "broadcast": 6}
        assert found.named.all()
        assert [(g.role, g.ranks) for g in found.groups] == [("default", (0, 1, 2, 3))]
        assert Counter(found.step.tolist()) == {9: 7, 10: 7, 11: 7}
        assert reasons(found) == {}


def test_dlrm_has_five_all_to_alls_in_send_recv_kernels():
    for found in ranks_of("dlrm8-v100"):
        assert ops(found) == {"all_to_all": 5, "all_reduce": 3}
        assert (found.payload_bytes > 0).all()


def test_torchrec_lacks_the_leading_all_to_all_on_one_rank():
    found = ranks_of("torchrec4-sleep-rank2")
    assert [ops(rank) for rank in found] == [{"all_to_all": n} for n in (13, 13, 12, 13)]
    # The leading one was launched before the window, so that only its like tell what it is.
    assert [int((~rank.named).sum()) for rank in found] == [1, 1, 0, 1]
    assert all(reasons(rank)["payload_unknown"] == len(rank) for rank in found)


def test_symmetric_memory_all_reduces_are_found_beside_nccl():
    found = read(TRACES / "single" / "b200-symmetric-memory-allreduce.json.gz")
    assert ops(found) == {"all_reduce": 73, "all_gather": 1}
    assert dtypes(found) == {"bfloat16": 74}
    assert {g.role for g in found.groups} == {"pg 3", "unlabelled"}


def test_a_large_trace_has_2020_all_reduces_in_five_steps():
    found = read(TRACES / "single" / "large-2020-allreduces.json.gz")
    assert ops(found) == {"all_reduce": 2020}
    assert Counter(found.step.tolist()) == dict.fromkeys(range(2, 7), 404)


def test_metadata_of_one_of_two_ranks_is_complete():
    found = read(TRACES / "single" / "collective-metadata-a100-rank0of2.json.gz")
    assert ops(found) == {"all_reduce": 15, "broadcast": 6}
    assert [g.ranks for g in found.groups] == [(0, 1)]
    assert found.busy_start_ns.size > 0
    assert reasons(found) == {}


@pytest.mark.parametrize(
    "name", ["alexnet-one-gpu", "cuda-event-sync-multi-stream", "mi250-rocm"]
)
def test_a_trace_without_communication_has_no_participations(name):
    found = read(TRACES / "single" / f"{name}.json.gz")
    assert len(found) == 0
    assert found.compute_kernels > 0
    assert reasons(found) == {}
