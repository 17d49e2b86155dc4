"""Profiles out of measured traces: no moment counts twice, and a wait is no transfer."""

import json
from collections.abc import Sequence
from math import isnan
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synctax.cluster.characterize.measured import from_tax
from synctax.collectives.load import load
from synctax.collectives.model import Group, Op
from synctax.collectives.tax import measure
from synctax.errors import SynctaxError
from tests.collectives.job import C, rank
from tests.laws import examples

PAIR = Group("0", (0, 1), "dp", 2, "kernel")
INNER = Group("1", (0, 1), "tp", 2, "kernel")
STEPS = [(number, 1_000.0 * number, 1_000.0 * (number + 1)) for number in range(3)]
EXAMPLE = Path("examples/tp4-fsdp2")


def step(number: int, duration: float, end: float = 900, **kwargs) -> C:
    """Write the collective of a step, which ends `end` µs after the step began."""
    return C(
        1_000 * number + end, duration, step=number, seq=kwargs.pop("seq", number), **kwargs
    )


def job(*durations: Sequence[float], busy: Sequence = ((), ()), hosts: str = ""):
    """Measure ranks with one collective a step."""
    return measure(
        [
            rank(
                number,
                [step(at, duration) for at, duration in enumerate(mine)],
                groups=[PAIR],
                busy=busy[number],
                steps=STEPS,
                host=f"{hosts}{number}" if hosts else "node",
            )
            for number, mine in enumerate(durations)
        ]
    )


def notes(profile) -> dict[str, str]:
    return {note.reason: note.detail for note in profile.notes}


def us(*values: float):
    return pytest.approx([value / 1e6 for value in values], abs=1e-12)


def times(profile) -> list[float]:
    return [profile.compute_s, profile.network_s, profile.tax_s]


def test_transfer_is_what_the_last_rank_takes_and_the_rest_is_waited():
    found = from_tax(job([500, 100, 100], [40, 40, 40], hosts="node"), workload="mine")
    assert times(found) == us(930, 40, 30)
    assert (found.workload, found.gpus, found.barriers) == ("mine", 2, 1)
    assert found.sent_bytes_per_worker == 1_024
    assert "dp all_reduce 1.02 kB" in found.bytes_from
    assert "2 ranks, 2 iterations each" in found.compute_from
    assert isnan(found.local_network_s)
    assert found.notes == ()


durations = st.lists(st.integers(1, 899), min_size=3, max_size=3)
spans = st.lists(st.integers(0, 3_000), max_size=8, unique=True).map(sorted)


def pairs(at: list[int]) -> list[tuple[float, float]]:
    return list(zip(at[::2], at[1::2], strict=False))


@settings(max_examples=examples(40))
@given(durations, durations, spans, spans)
def test_the_parts_of_an_iteration_add_up(first, second, busy, other):
    busy_of = pairs(busy), pairs(other)
    found = from_tax(job(first, second, busy=busy_of))
    assert sum(times(found)) == pytest.approx(1e-3)
    assert min(times(found)) >= 0
    bare = from_tax(job(first, second))
    transfer = sum(map(min, first[1:], second[1:])) / 2
    assert bare.network_s == pytest.approx(transfer / 1e6)
    assert found.network_s <= bare.network_s + 1e-12
    assert found.compute_s >= bare.compute_s - 1e-12
    assert found.sent_bytes_per_worker == bare.sent_bytes_per_worker


@settings(max_examples=examples(40))
@given(durations, durations, st.integers(1, 100))
def test_a_longer_transfer_is_network_time_and_no_tax(first, second, longer):
    first, second = ([min(one, 700) for one in mine] for mine in (first, second))
    before = from_tax(job(first, second))
    after = from_tax(job(*([one + longer for one in mine] for mine in (first, second))))
    assert after.network_s - before.network_s == pytest.approx(longer / 1e6)
    assert after.tax_s == pytest.approx(before.tax_s)


def test_what_computation_hides_is_neither_transfer_nor_wait():
    every = [(0.0, 3_000.0)]
    hidden = from_tax(job([9, 300, 300], [9, 50, 50], busy=(every, every)))
    assert times(hidden) == us(1_000, 0, 0)
    # of rank 0 the wait is hidden, of rank 1 half the transfer
    waiting, sending = (1_600.0, 1_850.0), (1_850.0, 1_875.0)
    some = [[one, (one[0] + 1_000, one[1] + 1_000)] for one in (waiting, sending)]
    found = from_tax(job([9, 300, 300], [9, 50, 50], busy=some))
    assert times(found) == us(962.5, 37.5, 0)


def test_collectives_side_by_side_count_once():
    ranks = [
        rank(
            number,
            [
                one
                for at in range(3)
                for one in (
                    step(at, 200, seq=at),
                    step(at, 200, 880, seq=at, group=1),
                )
            ],
            groups=[PAIR, INNER],
            steps=STEPS,
        )
        for number in range(2)
    ]
    found = from_tax(measure(ranks))
    assert times(found) == us(780, 220, 0)
    assert found.barriers == 2
    assert found.sent_bytes_per_worker == 2_048
    outer = from_tax(measure(ranks, group="dp"))
    assert times(outer) == us(800, 200, 0)
    assert (outer.barriers, outer.sent_bytes_per_worker) == (1, 1_024)
    assert "they count as computation" in notes(outer)["not_selected"]


def test_steps_that_were_asked_for_begin_where_the_one_before_ends():
    tax = job([10, 100, 300], [10, 40, 40])
    assert times(from_tax(tax)) == us(880, 40, 80)
    only = measure(tax.matches.ranks, steps=range(2, 3))
    assert times(from_tax(only)) == us(830, 40, 130)
    assert "1 iteration each" in from_tax(only).compute_from


def test_a_lone_step_leaves_out_what_ranks_wait_for_the_profiler():
    ranks = [
        rank(
            number,
            [step(0, first, 400, seq=0), step(0, second, 900, seq=1)],
            groups=[PAIR],
            steps=STEPS[:1],
        )
        for number, first, second in ((0, 300, 100), (1, 20, 40))
    ]
    found = from_tax(measure(ranks))
    # 1,000 µs a rank, of which rank 0 waits 280 at the head and 60 later
    assert times(found) == us(770, 60, 30)
    assert "140 µs of a rank's window (14 %)" in notes(found)["head_left_out"]


def test_a_window_without_steps_is_one_iteration_or_as_many_as_told():
    ranks = [
        rank(number, [C(400, 20, seq=0), C(900, d, seq=1)], groups=[PAIR])
        for number, d in ((0, 100), (1, 40))
    ]
    found = from_tax(measure(ranks))
    assert times(found) == us(900 - 60 - 30, 60, 30)
    assert "for 1 iteration" in notes(found)["window_is_iteration"]
    assert found.barriers == 2
    several = from_tax(measure(ranks), iterations=5)
    assert times(several) == us(162, 12, 6)
    assert several.sent_bytes_per_worker == found.sent_bytes_per_worker / 5
    assert "for 5 iterations" in notes(several)["window_is_iteration"]


def test_a_wait_that_is_not_known_is_network_time_and_said_to_be():
    ranks = [
        rank(
            number,
            [
                one
                for at in range(3)
                for one in (
                    step(at, 10, 500, seq=2 * at),
                    step(at, d, seq=2 * at + 1, op=Op.SEND_RECV, peer=1 - number),
                )
            ],
            groups=[PAIR],
            steps=STEPS,
        )
        for number, d in ((0, 300), (1, 100))
    ]
    found = from_tax(measure(ranks))
    assert times(found) == us(790, 210, 0)
    assert "(20 %) in collectives whose wait is not known" in notes(found)["wait_not_known"]
    assert found.sent_bytes_per_worker == 1_024 + 512
    assert found.barriers == 1


def test_one_rank_alone_tells_no_tax():
    mine = rank(0, [step(at, 100) for at in range(3)], groups=[PAIR], steps=STEPS)
    found = from_tax(measure([mine]))
    assert isnan(found.tax_s)
    assert (found.gpus, found.network_s) == (2, pytest.approx(1e-4))
    assert "1 of 2 ranks were read" in notes(found)["ranks_not_read"]
    assert from_tax(measure([mine]), gpus=16).gpus == 16
    assert found.hides


def test_traces_tell_nothing_of_a_smaller_job_and_their_own_steps_count():
    both = [
        rank(number, [step(at, 100) for at in range(3)], groups=[PAIR], steps=STEPS)
        for number in range(2)
    ]
    with pytest.raises(SynctaxError, match="traces of 2 ranks tell nothing of a job of 1"):
        from_tax(measure(both), gpus=1)
    told = from_tax(measure(both), iterations=7)
    assert times(told) == times(from_tax(measure(both)))
    assert "not the 7 iterations" in notes(told)["iterations_marked"]


def test_sizes_that_no_trace_tells_are_counted():
    def of(*payloads: int):
        return measure(
            [
                rank(
                    number,
                    [step(at, 10, payload=p) for at, p in enumerate(payloads)],
                    groups=[PAIR],
                    steps=STEPS,
                    on_cpu=True,
                )
                for number in range(2)
            ]
        )

    some = from_tax(of(64, 64, -1))
    assert some.sent_bytes_per_worker == 32
    assert "bytes_unknown" in notes(some)
    assert {"host_profile", "one_host"} <= set(notes(some))
    assert some.local_network_s == some.network_s
    none = from_tax(of(-1, -1, -1))
    assert isnan(none.sent_bytes_per_worker)
    assert none.bytes_from == "not told by the traces"


def test_a_rank_that_takes_part_in_nothing_computes():
    idle = rank(2, [], groups=[], steps=STEPS)
    busy = [
        rank(number, [step(at, 100) for at in range(3)], groups=[PAIR], steps=STEPS)
        for number in range(2)
    ]
    found = from_tax(measure([*busy, idle]))
    assert found.gpus == 3
    assert "2 to 3 iterations each" in found.compute_from
    assert found.network_s == pytest.approx(4 * 100e-6 / 7)


def test_wrong_calls_and_steps_without_time_are_refused():
    tax = job([1, 1, 1], [1, 1, 1])
    with pytest.raises(TypeError, match=r"synctax\.measure"):
        from_tax([])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="iterations must be 1 or more"):
        from_tax(tax, iterations=0)
    with pytest.raises(ValueError, match="gpus must be 1 or more"):
        from_tax(tax, gpus=0)
    unmarked = [
        rank(n, [C(900, 5, step=7, seq=1)], groups=[PAIR], steps=STEPS) for n in range(2)
    ]
    with pytest.raises(SynctaxError, match="no rank has any time"):
        from_tax(measure(unmarked, steps=range(7, 8)))


def test_the_example_sends_what_its_truth_says():
    tax = measure(load(EXAMPLE, workers=1))
    found = from_tax(tax)
    truth = json.loads((EXAMPLE / "truth.json").read_text())
    factor = {"all_reduce": 2.0, "all_gather": 1.0, "reduce_scatter": 1.0}
    sent = sum(
        one["payload_bytes"] * factor[one["op"]] * (one["n_ranks"] - 1)
        for one in truth["collectives"]
        if one["step"] > 0
    )
    assert found.sent_bytes_per_worker == pytest.approx(sent / 8 / 5)
    calls = sum(one["n_ranks"] for one in truth["collectives"] if one["step"] > 0)
    assert (found.gpus, found.barriers) == (8, calls / 8 / 5)
    assert found.gpu_type == "H100 80GB HBM3"
    # tensor-parallel all-reduces: 100.7 of 302 MB, on one of two hosts
    assert "33 % of the bytes" in notes(found)["bytes_within_hosts"]
    outer = from_tax(measure(tax.matches.ranks, group="fsdp"))
    assert outer.sent_bytes_per_worker == pytest.approx(found.sent_bytes_per_worker * 2 / 3)
    assert "bytes_within_hosts" not in notes(outer)


def test_a_real_step_is_taken_apart_as_by_hand(shared_traces):
    found = from_tax(measure(load(shared_traces / "dlrm8-v100", workers=1)))
    # by hand from the JSON: unions of kernels with nccl in their name, less the others;
    # 3,284 µs that ranks wait at the head of the window are left out of 16,007.75
    assert times(found) == us(10_146.5, 201.25, 2_376)
    assert "3.28 ms of a rank's window" in notes(found)["head_left_out"]
    assert (found.gpus, found.barriers, found.gpu_type) == (8, 8, "Tesla V100-SXM2-32GB")
