"""What is made late on purpose is found again: rank, side, culprit and amount."""

from dataclasses import replace

import numpy as np
import pytest

import synctax
from synctax.attribution.attribute import attribute
from synctax.attribution.labels import culprit_text
from synctax.attribution.results import Known
from synctax.synth import Delay, SynthJob, write
from tests.attribution.examples import attributed, kept
from tests.attribution.injected import draw, judge, run
from tests.laws import some

QUIET = SynthJob(
    tp=4,
    fsdp=2,
    layers=2,
    steps=3,
    seed=3,
    sync_records="full",
    jitter=0.005,
    truth_paths=True,
)


def test_a_delay_that_shows_is_blamed_on_its_rank_and_cause(tmp_path):
    for seed in some(range(8)):
        verdict = run(draw(seed), tmp_path / str(seed))
        assert verdict.what in ("ok", "hidden"), (seed, verdict.detail)


def found_in(job, directory):
    """Attribute a job, and recall what was put into it."""
    known = write(job, directory)
    return attributed(directory), known


@pytest.fixture(scope="module")
def calm(tmp_path_factory):
    """Attribute the job without any delay."""
    return found_in(QUIET, tmp_path_factory.mktemp("calm"))[0]


def numbers(found, group):
    matches = found.tax.matches
    slots = found.results.slot
    role = [matches.groups[matches.group[slot]].role for slot in slots]
    return [n for n, name in enumerate(role) if name == group]


def test_a_host_delay_within_its_lead_changes_nothing(calm, tmp_path):
    delay = Delay(2, 2, 30, 150.0, "gap")
    same, known = found_in(replace(QUIET, delays=(delay,)), tmp_path)
    assert known.injected[0].slack_us > 150, "the host runs ahead by more"
    np.testing.assert_array_equal(same.results.tax_ns, calm.results.tax_ns)
    np.testing.assert_array_equal(
        same.results.path_variation_ns, calm.results.path_variation_ns
    )


def test_a_longer_host_delay_raises_the_tax_by_what_exceeds_the_lead(calm, tmp_path):
    delay = Delay(2, 2, 30, 9_000.0, "gap")
    found, known = found_in(replace(QUIET, delays=(delay,)), tmp_path)
    injected = known.injected[0]
    matches = found.tax.matches
    (number,) = (
        n
        for n in numbers(found, "tp")
        if matches.index[found.results.slot[n]] == injected.index
        and 2 in matches.groups[matches.group[found.results.slot[n]]].ranks
    )
    rise_us = (found.results.tax_ns[number] - calm.results.tax_ns[number]) / 1e3
    excess_us = injected.delay_us - injected.slack_us
    # where the delayed rank was not the first to arrive, the tax was not all its own
    assert abs(rise_us - excess_us) <= calm.results.tax_ns[number] / 1e3
    assert found.results.host_ns[number] > 0
    assert culprit_text(found, number).startswith("gap before ")


def test_who_waited_for_another_group_is_not_the_origin(tmp_path):
    """Rank 2 is late in tp; its tp group waits, and so is late for fsdp."""
    late = replace(QUIET, delays=(Delay(2, 1, 24, 5_000.0, "gpu"),))
    found, _ = found_in(late, tmp_path)
    results, matches = found.results, found.tax.matches
    hit = [
        n
        for n in numbers(found, "fsdp")
        if results.tax_ns[n] > 2_000_000 and results.known[n] == Known.OK
    ]
    assert len(hit) >= 3, "the other ranks of its tp group are late as well"
    bystanders = [n for n in hit if matches.ranks[found.slow.rank[n]].rank != 2]
    assert bystanders
    for number in bystanders:
        assert results.comm_slot[number] >= 0
        assert results.propagated_ns[number] > 0.9 * results.tax_ns[number]
        assert matches.ranks[results.origin_rank[number]].rank == 2
        assert "tp" in culprit_text(found, number)


@pytest.mark.parametrize("match", ["counterpart", "path"])
def test_both_ways_to_find_counterparts_find_a_slow_kernel(tmp_path, match):
    case = draw(1)
    case = replace(
        case,
        job=replace(QUIET, delays=(Delay(1, 1, 20, 3_000.0),)),
        delay=Delay(1, 1, 20, 3_000.0),
    )
    verdict = run(case, tmp_path, {"match": match})
    assert verdict.what == "ok", verdict.detail


def test_the_longest_kernel_is_not_the_late_one(tmp_path):
    """What a profiler's list of long kernels suggests is innocent here."""
    delay = Delay(1, 1, 2, 70.0)
    job = replace(QUIET, delays=(delay,))
    known = write(job, tmp_path)
    case = replace(draw(1), job=job, delay=delay)
    right = judge(case, attributed(tmp_path), known)
    wrong = judge(case, attributed(tmp_path, method="longest"), known)
    assert right.what == "ok", right.detail
    assert "culprit" in wrong.what


def test_renumbering_the_ranks_renumbers_the_answer(tmp_path):
    job = SynthJob(tp=4, fsdp=1, layers=2, steps=2, seed=4, metadata="none")
    write(job, tmp_path)
    ranks = synctax.load([str(tmp_path)], workers=1, cache=kept(tmp_path)).ranks
    other = {0: 2, 1: 3, 2: 1, 3: 0}
    moved = tuple(replace(rank, rank=other[rank.rank]) for rank in ranks)
    one, two = (
        attribute(synctax.measure(found), workers=1, cache=kept(tmp_path))
        for found in (ranks, moved)
    )
    np.testing.assert_array_equal(one.results.tax_ns, two.results.tax_ns)
    np.testing.assert_array_equal(one.results.culprit_ns, two.results.culprit_ns)
    assert len(one.results) > 20
    for number in range(len(one.results)):
        assert culprit_text(one, number) == culprit_text(two, number)
        late, as_late = (
            found.tax.matches.ranks[found.slow.rank[number]].rank for found in (one, two)
        )
        assert other[late] == as_late
