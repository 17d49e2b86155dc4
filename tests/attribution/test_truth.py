"""Paths and verdicts agree with what the simulation of a job knows of itself."""

import pytest

from synctax.attribution.labels import culprit_text
from synctax.attribution.results import Known
from synctax.synth import SynthJob, write
from tests.attribution.examples import attributed
from tests.laws import some

TIE_NS = 3_000
JOBS = {
    "several groups": SynthJob(tp=4, fsdp=2, layers=2, steps=3, seed=5),
    "experts": SynthJob(tp=2, fsdp=4, ep=2, layers=2, steps=3, seed=6),
    "all-reduce": SynthJob(
        tp=4, fsdp=2, layers=2, steps=3, seed=7, tp_op="all_reduce", jitter=0.06
    ),
    "replicas": SynthJob(tp=2, fsdp=2, dp=2, layers=1, steps=3, seed=8),
    "long sequences": SynthJob(
        tp=2, fsdp=2, cp=2, layers=2, steps=2, microbatches=2, seed=9
    ),
    "heavy tails": SynthJob(tp=4, layers=2, steps=3, seed=10, jitter_law="frechet"),
    "two hosts": SynthJob(tp=2, fsdp=2, hosts=2, clock_offset_us=400.0, steps=3, seed=11),
    "graphs": SynthJob(tp=4, fsdp=2, layers=2, steps=3, seed=12, cuda_graphs=True),
}


@pytest.fixture(scope="module", params=some(list(JOBS)))
def known_and_found(request, tmp_path_factory):
    from dataclasses import replace

    job = replace(JOBS[request.param], truth_paths=True, sync_records="full")
    directory = tmp_path_factory.mktemp("traces")
    known = write(job, directory)
    found = attributed(directory)
    matches, rows = found.tax.matches, {}
    for number, slot in enumerate(found.results.slot.tolist()):
        group = matches.groups[matches.group[slot]]
        rows[group.role, group.ranks, int(matches.index[slot])] = number
    pairs = [
        (one, rows[one.group, one.group_ranks, one.index])
        for one in known.collectives()
        if one.lateness is not None
    ]
    assert len(pairs) > 20
    return found, pairs


def clear(pairs):
    """Those without a near-tie, in which one of two parents is as good as the other."""
    for one, number in pairs:
        margin = one.lateness.margin_ns
        if margin is None or margin > TIE_NS:
            yield one, number


def test_stragglers_fastest_ranks_and_fences_agree(known_and_found):
    found, pairs = known_and_found
    matches = found.tax.matches
    for one, number in pairs:
        slot = found.results.slot[number]
        assert matches.ranks[found.slow.rank[number]].rank == one.straggler_rank
        assert matches.ranks[found.fast.rank[number]].rank == one.fastest_rank
        assert matches.index[found.seen.fence[slot]] == one.lateness.fence_index


def gpu_items(found, paths, number):
    items = paths.items
    rows = range(paths.first[number], paths.first[number + 1])
    return [
        (found.texts[items.name[row]], int(items.duration_ns[row]))
        for row in rows
        if items.kind[row] in (1, 2) and items.duration_ns[row]
    ]


def host_ns(paths, number):
    items = paths.items
    rows = slice(paths.first[number], paths.first[number + 1])
    host = (items.kind[rows] > 2).nonzero()[0]
    return int(items.duration_ns[rows][host].sum())


def test_paths_agree_kernel_by_kernel_to_the_nanosecond(known_and_found):
    found, pairs = known_and_found
    checked = 0
    for one, number in clear(pairs):
        for paths, own in (
            (found.slow, one.lateness.slow),
            (found.fast, one.lateness.fast),
        ):
            theirs = [
                (item.name, item.duration_ns)
                for item in own.items
                if item.kind in ("kernel", "comm") and item.duration_ns
            ]
            assert gpu_items(found, paths, number) == theirs
            on_host = [
                item.duration_ns
                for item in own.items
                if item.kind in ("cpu", "call", "return", "gap", "sync")
            ]
            assert host_ns(paths, number) == sum(on_host)
            checked += 1
    assert checked > 40


def test_the_culprit_is_the_largest_variation(known_and_found):
    """But for what both ranks were in at the fence: that came from before."""
    found, pairs = known_and_found
    checked = 0
    for one, number in clear(pairs):
        cause, tax_ns = one.lateness.cause, found.results.tax_ns[number]
        began_before = one.lateness.fence_ns >= cause.item.start_ns
        if cause.carried or began_before or 2 * cause.variation_ns < tax_ns:
            continue
        assert found.results.known[number] == Known.OK
        assert found.results.culprit_ns[number] == min(cause.variation_ns, tax_ns)
        if cause.item.kind == "kernel":
            assert culprit_text(found, number) == cause.item.name
        checked += 1
    assert checked > 15


def test_waits_for_other_groups_agree(known_and_found):
    found, pairs = known_and_found
    for one, number in clear(pairs):
        assert found.results.propagated_ns[number] == one.lateness.propagated_ns


def test_equation_2_holds_and_random_walks_do_not(known_and_found):
    found, _ = known_and_found
    line = found.equation
    assert abs(line.slope - 1) < 0.01
    assert line.r2 > 0.99
    assert line.placebo_r2 < 0.3


def test_windows_are_accounted_for_to_the_nanosecond(known_and_found):
    found, _ = known_and_found
    for paths in (found.slow, found.fast):
        idle = paths.sum(paths.items.gap_ns) + paths.head_gap_ns
        busy = paths.sum(paths.items.duration_ns)
        assert (busy + idle == paths.end_ns - paths.begin_ns).all()
        assert (paths.items.gap_ns >= 0).all()
        assert (paths.head_gap_ns >= 0).all()
