"""Recorded jobs: which rank, side and culprit made the others wait most."""

import numpy as np
import pytest

from synctax.attribution.culprits import CLASSES, SIDES
from synctax.attribution.labels import culprit_text
from synctax.attribution.results import Known, Why
from tests.attribution import examples

SETS = ("megatron-tp8-a100", "ddp4-mi300", "dlrm8-v100", "torchrec4-sleep-rank2")


@pytest.fixture(scope="module")
def attributed(shared_traces):
    return lambda name, **options: examples.attributed(shared_traces / name, **options)


@pytest.mark.parametrize(
    ("name", "n"),
    [
        ("megatron-tp8-a100", 83),
        ("ddp4-mi300", 14),
        ("dlrm8-v100", 7),
        ("torchrec4-sleep-rank2", 11),
    ],
)
def test_equation_2_holds_and_random_walks_are_far_below(attributed, name, n):
    line = attributed(name).equation
    assert line.n == n
    assert line.slope == pytest.approx(1, abs=0.01)
    assert line.r2 == pytest.approx(1, abs=0.01)
    assert line.placebo_r2 < 0.6


@pytest.mark.parametrize("name", SETS)
def test_windows_are_accounted_for_to_the_nanosecond(attributed, name):
    found = attributed(name)
    for paths in (found.slow, found.fast):
        idle = paths.sum(paths.items.gap_ns) + paths.head_gap_ns
        busy = paths.sum(paths.items.duration_ns)
        np.testing.assert_array_equal(busy + idle, paths.end_ns - paths.begin_ns)
    tax_ns = found.results.tax_ns
    window_ns = [paths.end_ns - paths.begin_ns for paths in (found.slow, found.fast)]
    # ranks leave the fence and the collective together, to within what ends differ
    assert np.abs(window_ns[0] - window_ns[1] - tax_ns).max() < 200_000


def test_a_sleep_on_the_host_is_found_three_times(attributed):
    found = attributed("torchrec4-sleep-rank2")
    results, matches = found.results, found.tax.matches
    slept = np.flatnonzero(results.tax_ns > 500_000_000)
    assert slept.size == 3
    for number in slept:
        assert matches.ranks[found.slow.rank[number]].rank == 2
        assert SIDES[results.culprit_side[number]] == "cpu"
        text = culprit_text(found, number)
        assert text == "gap before _AlltoAllSingle in # running sparse arch"
        assert 0.98e9 < results.culprit_ns[number] < 1.02e9
    assert results.tax_ns[slept].sum() > 0.99 * results.tax_ns[found.used].sum()
    blamed = results.culprit_side[found.used]
    assert SIDES.index("gpu") not in blamed


def test_what_is_late_after_the_sleep_is_traced_back_to_it(attributed):
    found = attributed("torchrec4-sleep-rank2")
    results = found.results
    after = np.flatnonzero((results.tax_ns > 10_000_000) & (results.tax_ns < 500_000_000))
    assert after.size == 2
    for number in after:
        assert results.why[number] == Why.CARRIED
        assert culprit_text(found, number).startswith("gap before _AlltoAllSingle")


def test_starved_hosts_make_ranks_0_and_6_late(attributed):
    found = attributed("megatron-tp8-a100")
    results, used = found.results, np.flatnonzero(found.used)
    tax_ns = results.tax_ns[used]
    on_host = results.host_ns[used] > 0
    assert tax_ns[on_host].sum() > 0.995 * tax_ns.sum()
    gpu_only = tax_ns[~on_host]
    assert gpu_only.size == 32
    assert gpu_only.min() == 16_000
    assert gpu_only.max() == 87_000
    ranks = np.array([found.tax.matches.ranks[r].rank for r in found.slow.rank[used]])
    late = np.isin(ranks, (0, 6))
    assert tax_ns[late].sum() > 0.7 * tax_ns.sum()
    stalls = results.culprit_class[used] == CLASSES.index("host_stall")
    assert tax_ns[stalls].sum() > 0.8 * tax_ns.sum()
    names = {culprit_text(found, number) for number in used[stalls]}
    assert len(names) > 20, "stalls hit whatever was running"


def test_a_host_that_starts_steps_late_is_carried_and_diffuse(attributed):
    found = attributed("ddp4-mi300")
    results, used = found.results, np.flatnonzero(found.used)
    ranks = {found.tax.matches.ranks[r].rank for r in found.slow.rank[used]}
    assert ranks == {3}
    assert (results.host_ns[used] > 0).all()
    assert {culprit_text(found, number) for number in used} == {"diffuse"}
    assert results.carried_ns[used].sum() > 0.6 * results.tax_ns[used].sum()


def test_the_papers_alignment_finds_no_common_ancestor_where_hosts_decide(attributed):
    found = attributed("megatron-tp8-a100", window="lca")
    known = found.known[found.tax.shown]
    assert int((known == Known.OK).sum()) == 32
    fence = attributed("megatron-tp8-a100")
    at = {slot: n for n, slot in enumerate(fence.results.slot.tolist())}
    same = [at[slot] for slot in found.results.slot.tolist()]
    assert (fence.results.host_ns[same] == 0).all()
    np.testing.assert_array_equal(
        fence.results.path_variation_ns[same], found.results.path_variation_ns
    )


def test_the_papers_counterparts_agree_where_paths_run_through_the_same(attributed):
    ours = attributed("megatron-tp8-a100").results
    paper = attributed("megatron-tp8-a100", match="path").results
    np.testing.assert_array_equal(ours.path_variation_ns, paper.path_variation_ns)
    gpu_only = ours.host_ns == 0
    np.testing.assert_array_equal(ours.culprit[gpu_only], paper.culprit[gpu_only])
