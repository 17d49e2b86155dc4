"""Block times of jobs without a GPU: what the host does between leaving and issuing."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import synctax
from synctax.attribution.blocks import block_times
from tests.trace.builders import annotation, cpu_op, distributed, group_config, trace

MAIN, POOL = 61, 151
STEPS = 12
LEFT_EARLY_US = 20.0
"""How much earlier than rank 0 rank 1 leaves each collective."""


def block(at, gemm_us, *, gemm="aten::mm"):
    """What a rank does from `at` on, and when it has issued its collective."""
    add = at + 10 + gemm_us + 3
    return [
        cpu_op(gemm, at + 10, gemm_us, tid=MAIN),
        cpu_op("aten::add", add, 5, tid=MAIN),
        cpu_op("c10d::allreduce_", add + 7, 20, tid=MAIN),
    ], add + 27


def job(folder, gemm_us, **how):
    """Write a job of as many ranks as `gemm_us` (ranks, steps) has rows."""
    ranks, steps = gemm_us.shape
    events = [[] for _ in range(ranks)]
    left, begun = np.zeros(ranks), 0.0
    early = LEFT_EARLY_US * np.arange(ranks)
    true_us = np.zeros(gemm_us.shape)
    for k in range(steps):
        issued = np.zeros(ranks)
        for r in range(ranks):
            made, issued[r] = block(left[r], float(gemm_us[r, k]), **how)
            events[r] += made
        true_us[:, k] = issued - left
        ends = issued.max() + 30 + 200 - early
        for r in range(ranks):
            start = issued[r] + 30
            events[r] += [
                annotation("gloo:all_reduce", start, ends[r] - start, tid=POOL),
                annotation(f"ProfilerStep#{k}", begun, issued[r] - begun, tid=MAIN),
            ]
        left, begun = ends, ends.max()
    world = group_config("0", list(range(ranks)))
    world["backend_config"] = "cpu:gloo"
    for r in range(ranks):
        info = distributed(r, ranks, groups=[world])
        text = trace(*events[r], distributedInfo=info, host_name="a")
        (folder / f"rank{r}.json").write_bytes(text)
    return true_us


def found_in(folder):
    return block_times(synctax.measure(synctax.load([folder])), workers=1)


@pytest.fixture
def gemms():
    return 500 + 100 * np.random.default_rng(3).random((3, STEPS)).round(2)


def test_a_block_is_all_the_host_did_from_leaving_to_issuing(tmp_path, gemms):
    true_us = job(tmp_path, gemms)
    found = found_in(tmp_path)
    assert found.coverage.entered == STEPS - 1  # all but the head
    assert_allclose(found.times.us, true_us[:, 1:].T, atol=0.002)
    (one,) = found.times.blocks
    assert (one.gemm, one.op, one.gpu) == ("aten::mm", "all_reduce", "")
    assert [note.reason for note in found.notes].count("host_blocks") == 1


def test_a_rank_that_left_early_has_begun_before_the_others(tmp_path, gemms):
    """Equal work takes equal time on ranks that leave at different times."""
    same = np.tile(gemms[:1], (3, 1))
    job(tmp_path, same)
    times = found_in(tmp_path).times.us
    assert_allclose(times, times[:, :1] @ np.ones((1, 3)), atol=0.002)


def test_a_block_without_a_gemm_does_not_enter(tmp_path, gemms):
    job(tmp_path, gemms, gemm="aten::mul")
    found = found_in(tmp_path)
    assert found.times is None
    assert [note.reason for note in found.coverage.left_out] == ["no_gemm"]


def test_ranks_with_other_operators_are_unequal_work(tmp_path, gemms):
    job(tmp_path, gemms)
    path = tmp_path / "rank2.json"
    path.write_text(path.read_text().replace("aten::add", "aten::sub"))
    found = found_in(tmp_path)
    assert {note.reason for note in found.coverage.left_out} == {"unequal_work"}


def test_blocks_of_other_operators_are_other_blocks(tmp_path, gemms):
    job(tmp_path, gemms)
    for path in tmp_path.glob("*.json"):
        head, *rest = path.read_text().split('"aten::add"')
        swapped = ['"aten::add"', '"aten::sub"'] * len(rest)
        path.write_text(head + "".join(s + r for s, r in zip(swapped, rest, strict=False)))
    assert len(found_in(tmp_path).times.blocks) == 2
