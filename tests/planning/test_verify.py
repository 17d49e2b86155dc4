"""What links and bytes tell of a job, and a plan that it is held against."""

from dataclasses import asdict, replace

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synctax.bandwidth.nccl_tests import Measured
from synctax.collectives.load import load
from synctax.collectives.model import Group, Op
from synctax.collectives.tax import measure
from synctax.errors import BadInputError, SynctaxError
from synctax.planning.inputs.named import read_platform
from synctax.planning.layout import Layout
from synctax.planning.shape import Model
from synctax.planning.training import ORDERS, Assumptions, Training
from synctax.planning.verify.job import Against, verify
from synctax.planning.verify.observed import observe
from synctax.planning.verify.plan_file import PlanFile, PlanRow, choose, read_plan
from synctax.planning.verify.planned import Planned
from synctax.planning.verify.speeds import Links
from synctax.planning.verify.verify_words import verdict
from synctax.synth import Delay, SynthJob, write
from tests.collectives.job import C, rank
from tests.laws import examples
from tests.planning.observed_jobs import group, groups_of, in_blocks, job

H100 = Links(nvlink_gb_per_s=450.0, nic_gb_per_s=50.0)
PAYLOAD_BYTES = 64_000_000
TRANSFER_US = 224.0
"""Of an all-reduce of that size over 8 ranks at 500 GB/s of bus bandwidth."""


def one(found, name, role):
    (check,) = [c for c in found.checks if (c.name, c.role) == (name, role)]
    return check


def named(found):
    return {(c.name, c.role) for c in found.checks}


class Made:
    """A job of TP groups that reduce at times which a test tells."""

    def __init__(self, groups=4, size=2, **each):
        self.groups = [tuple(range(at * size, at * size + size)) for at in range(groups)]
        self.size = size
        self.each = {
            "payload": PAYLOAD_BYTES,
            "op": Op.ALL_REDUCE,
            "steps": 1,
            "calls": 5,
        } | each

    def tax(self, durations_us):
        """`durations_us(rank)` of every collective."""
        ranks = []
        for ranks_of in self.groups:
            for number in ranks_of:
                own = Group("1", ranks_of, "tp", self.size, "kernel")
                calls = [
                    C(
                        50_000.0 * (k + 1) + 37 * (k % 3),
                        durations_us(number),
                        op=self.each["op"],
                        payload=self.each["payload"],
                        seq=k,
                        step=k * self.each["steps"] // self.each["calls"],
                    )
                    for k in range(self.each["calls"])
                ]
                steps = [(n, 0.0, 1e6) for n in range(self.each["steps"])]
                ranks.append(
                    rank(
                        number,
                        calls,
                        groups=[own],
                        host=f"n{number // self.size}",
                        steps=steps,
                    )
                )
        return measure(ranks)

    def observed(self, host_of=None, **more):
        groups = [group("tp", ranks, communicates=True, name="1") for ranks in self.groups]
        world = self.size * len(self.groups)
        every = [group("default", range(world)), *groups]
        return job(every, host_of or in_blocks(self.size), **more)

    def verify(self, durations_us, against=None, **more):
        tax = self.tax(durations_us)
        return verify(self.observed(**more), tax, against or Against(links=H100))


# ------------------------------------------------------------------ slow links, stragglers


def test_healthy_siblings_are_as_fast_as_each_other():
    found = Made().verify(lambda _: 300.0)
    check = one(found, "busbw", "tp")
    # 64 MB · 2·(1/2) in 300 µs
    assert check.found.startswith("median 213 GB/s (47 % of the link)")
    assert check.expected == "link 450 GB/s, 50 % of its siblings' or more"
    assert check.status == "ok"
    assert one(found, "straggler", "tp").found == "none of 4 groups"
    assert found.failed(strict=True) == ()


def test_a_slow_group_among_siblings_is_its_links_fault():
    found = Made().verify(lambda number: 3_000.0 if number in (4, 5) else 300.0)
    check = one(found, "busbw", "tp")
    assert [wrong.ranks for wrong in check.broken] == [(4, 5)]
    assert check.broken[0].hosts == ("node2",)
    assert "10 % of its siblings'" in check.broken[0].found
    assert "its links or its placement, not a straggler" in check.broken[0].found
    assert one(found, "straggler", "tp").found == "none of 4 groups"
    assert found.failed() == ()
    assert {c.name for c in found.failed(strict=True)} == {"busbw"}


def test_a_straggler_is_not_mistaken_for_a_slow_link():
    # rank 5 comes 10 ms late to every collective: its sibling waits
    found = Made().verify(lambda number: 10_300.0 if number == 4 else 300.0)
    assert one(found, "busbw", "tp").status == "ok"
    check = one(found, "straggler", "tp")
    assert check.level == "remark"
    assert check.found == (
        "1 of 4 groups, most 4-5: 97 % waiting (6.21 GB/s with it, 213 GB/s net), "
        "rank 5 (node2) last in 100 % of the long ones"
    )
    assert check.because == "late ranks: `synctax attribute` tells what made them so"
    assert found.failed(strict=True) == ()
    assert any(line.startswith("note: tp straggler: 1 of 4") for line in verdict(found))


def test_a_link_that_is_slow_and_a_rank_that_is_late_are_both_told():
    # ranks 4 and 5 by a tenth of the rate, and rank 5 late besides
    found = Made().verify(
        lambda number: {4: 30_000.0, 5: 3_000.0}.get(number, 300.0),
    )
    (wrong,) = one(found, "busbw", "tp").broken
    assert "its links or its placement, and late ranks too (90 % waiting)" in wrong.found
    check = one(found, "straggler", "tp")
    assert [late.ranks for late in check.broken] == [(4, 5)]
    assert "rank 5 (node2) last in 100 %" in check.broken[0].found


def test_who_made_others_late_is_named_before_whom_it_made_late():
    # rank 3 waits for rank 5 elsewhere and then keeps rank 2 waiting, as long as 5 does 4
    made = Made()
    slow = made.tax(lambda number: 10_300.0 if number in (2, 4) else 300.0)
    whole = Group("2", (3, 5), "dp", 2, "kernel")
    more = [
        rank(
            number,
            [
                C(
                    900_000.0 + 20_000 * k,
                    9_000.0 if number == 3 else 300.0,
                    payload=PAYLOAD_BYTES,
                    seq=k,
                    step=0,
                )
                for k in range(4)
            ],
            groups=[whole],
            steps=[(0, 0.0, 1e6)],
            window="iteration_2",
        )
        for number in (3, 5)
    ]
    observed = made.observed()
    dp = group("dp", (3, 5), communicates=True, name="2")
    observed = replace(observed, groups=(*observed.groups, dp))
    found = verify(observed, measure([*slow.matches.ranks, *more]), Against(links=H100))
    assert ", most 4-5: 97 % waiting" in one(found, "straggler", "tp").found


def test_a_rank_that_was_not_read_may_be_the_late_one():
    # of groups of four, rank 5 was not read: what is left does not tell the transfer
    made = Made(groups=2, size=4)
    tax = made.tax(lambda number: 10_300.0 if 4 <= number != 5 else 300.0)
    some = measure([r for r in tax.matches.ranks if r.rank != 5])
    found = verify(made.observed(traced=[0, 1, 2, 3, 4, 6, 7]), some, Against(links=H100))
    check = one(found, "busbw", "tp")
    assert (check.broken, check.checked, check.unknown) == ((), 1, 1)
    assert one(found, "straggler", "tp").unknown == 1
    alone = measure([r for r in tax.matches.ranks if r.rank in (4, 6, 7)])
    found = verify(made.observed(traced=[4, 6, 7]), alone, Against(links=H100))
    for name in ("busbw", "straggler"):
        check = one(found, name, "tp")
        assert check.status == "unknown"
        assert "give the traces of whole groups" in check.because


def test_waits_are_told_where_no_payload_is():
    found = Made(payload=-1).verify(lambda number: 10_300.0 if number == 4 else 300.0)
    assert one(found, "busbw", "tp").status == "unknown"
    check = one(found, "straggler", "tp")
    assert check.found == (
        "1 of 4 groups, most 4-5: 97 % waiting, rank 5 (node2) last in 100 % of the long "
        "ones"
    )


def test_ranks_that_are_late_in_turn_are_not_named():
    ranks = []
    for number in range(4):
        own = Group("1", (0, 1, 2, 3), "tp", 4, "kernel")
        calls = [
            C(50_000.0 * (k + 1), 300.0 if k % 4 == number else 10_000.0, seq=k, step=0,
              payload=PAYLOAD_BYTES)
            for k in range(9)
        ]  # fmt: skip
        ranks.append(rank(number, calls, groups=[own], steps=[(0, 0.0, 1e6)]))
    groups = [group("default", range(4)), group("tp", range(4), communicates=True)]
    found = verify(job(groups, in_blocks(4)), measure(ranks), Against())
    assert one(found, "straggler", "tp").found.endswith(" net), for 4 ranks in turn")


def test_next_to_nothing_of_nvlink_is_slow():
    # 60 GB/s are more than a NIC of 50, and no NVLink of 900
    links = Links(nvlink_gb_per_s=900.0, nic_gb_per_s=50.0)
    found = Made().verify(lambda _: 1_066.0, Against(links=links))
    check = one(found, "busbw", "tp")
    assert len(check.broken) == 4
    assert check.broken[0].found == (
        "60 GB/s net of the wait, and NVLink carries 900 GB/s: its links or its "
        "placement, not a straggler"
    )


def test_nvlink_is_no_link_of_groups_over_hosts_whose_nics_are_not_known():
    links = Links(nvlink_gb_per_s=450.0)
    found = Made().verify(lambda _: 300.0, Against(links=links), host_of=lambda rank: rank)
    assert "link" not in one(found, "busbw", "tp").expected
    known = Made().verify(lambda _: 300.0, host_of=lambda rank: rank)
    assert one(known, "busbw", "tp").expected.startswith("link 50 GB/s")


@settings(max_examples=examples(20))
@given(st.floats(1.0, 1e5), st.integers(0, 3))
def test_no_wait_changes_what_is_said_of_a_link(wait_us, late):
    made = Made(groups=2, calls=3)
    waited = made.verify(lambda number: 300.0 + (number == late ^ 1) * wait_us)
    assert one(waited, "busbw", "tp") == one(made.verify(lambda _: 300.0), "busbw", "tp")


def test_all_groups_at_the_rate_of_a_nic_are_no_nvlink():
    found = Made().verify(lambda _: 1_500.0)
    check = one(found, "busbw", "tp")
    assert len(check.broken) == 4
    assert "no more than a NIC carries (50 GB/s), and NVLink carries 450 GB/s" in (
        check.broken[0].found
    )
    # without a machine there is nothing to compare with but siblings
    assert one(Made().verify(lambda _: 1_500.0, Against()), "busbw", "tp").status == "ok"


def test_small_collectives_tell_latency_and_not_the_link():
    found = Made(payload=4_096).verify(lambda _: 20.0)
    check = one(found, "busbw", "tp")
    assert check.status == "unknown"
    assert check.because == "no collective of 1 MB or more whose wait is known"
    # large enough to compare siblings, too small to fill NVLink
    assert one(Made(payload=2_000_000).verify(lambda _: 60.0), "busbw", "tp").status == "ok"


def test_a_lone_group_without_a_machine_has_nothing_beside_it():
    check = one(Made(groups=1).verify(lambda _: 300.0, Against()), "busbw", "tp")
    assert check.status == "unknown"
    assert "--hardware NAME tells it" in check.because


def test_groups_that_leave_a_domain_go_by_as_many_nics_as_members():
    made = Made(groups=2, size=4)
    found = made.verify(lambda _: 2_000.0, host_of=lambda number: number // 2)
    # two members on each host: two NICs of 50 GB/s
    assert one(found, "busbw", "tp").expected.startswith("link 100 GB/s")
    assert found.per_group().query("group == 'tp'").link_gb_per_s.tolist() == [100.0] * 2


def test_a_group_faster_than_its_link_is_not_where_it_is_said_to_be():
    found = Made().verify(lambda _: 300.0, host_of=lambda number: number)
    check = one(found, "busbw", "tp")
    assert check.status == "ok"
    assert check.because == (
        "faster than its link can be in 4 groups, 213 GB/s over 50 GB/s: hosts, domains or "
        "hardware are not what they are said to be"
    )


def test_hosts_that_are_not_known_leave_the_link_open():
    found = Made().verify(lambda _: 300.0, host_of=lambda _: None)
    assert (
        one(found, "busbw", "tp").expected == "link 450 GB/s, 50 % of its siblings' or more"
    )
    groups = [group("dp", ranks, communicates=True) for ranks in ((0, 1), (2, 3))]
    observed = job([group("default", range(4)), *groups], lambda _: None)
    tax = Made(groups=2).tax(lambda _: 300.0)
    renamed = replace(observed, groups=tuple(replace(g, name="1") for g in observed.groups))
    check = one(verify(renamed, tax, Against(links=H100)), "busbw", "dp")
    assert check.expected == "50 % of its siblings' or more"


# ------------------------------------------------------------------ benchmarks


def benchmark(rate_gb_per_s, sizes=(1_000_000, 64_000_000), n=2, op="all_reduce"):
    """What nccl-tests print where every size runs at one rate."""
    factor = 2 * (n - 1) / n
    return tuple(
        Measured("out.txt", op, n, size, size * factor / rate_gb_per_s / 1e3)
        for size in sizes
    )


@pytest.mark.parametrize(
    ("rate", "status", "said"),
    [
        (250.0, "ok", "median 85 %, worst 85 %"),
        (500.0, "broken", "median 43 %, worst 43 %"),
    ],
)
def test_groups_are_held_against_what_was_measured(rate, status, said):
    against = Against(links=H100, benchmarks=benchmark(rate))
    check = one(Made().verify(lambda _: 300.0, against), "nccl-tests", "tp")
    assert (check.status, check.found) == (status, said)
    if check.broken:
        assert check.broken[0].found == "43 % of what nccl-tests measured, net of the wait"


def test_rates_between_two_sizes_are_interpolated():
    slow, fast = benchmark(100.0, (1_000_000,)), benchmark(300.0, (100_000_000,))
    made = Made(payload=10_000_000)
    against = Against(benchmarks=(*slow, *fast))
    # halfway between the sizes on a logarithmic scale: 200 GB/s
    check = one(made.verify(lambda _: 100.0, against), "nccl-tests", "tp")
    assert check.found.startswith("median 50 %")


@pytest.mark.parametrize(
    ("measured", "payload"),
    [
        (benchmark(300.0, n=8), PAYLOAD_BYTES),
        (benchmark(300.0, op="all_gather"), PAYLOAD_BYTES),
        (benchmark(300.0, (64_000_000,)), 2_000_000),
        (benchmark(300.0, (1_000_000,)), PAYLOAD_BYTES),
    ],
)
def test_what_was_not_measured_is_not_compared(measured, payload):
    made = Made(payload=payload)
    check = one(
        made.verify(lambda _: 300.0, Against(benchmarks=measured)), "nccl-tests", "tp"
    )
    assert (check.status, check.unknown, check.found) == ("unknown", 4, "")


def test_what_to_measure_is_named():
    against = Against(benchmarks=benchmark(300.0, n=8))
    check = one(Made().verify(lambda _: 300.0, against), "nccl-tests", "tp")
    assert check.because == "no size within reach was measured: all_reduce on 2 ranks"


# ------------------------------------------------------------------ bytes of a plan


def row(layout, microbatches=1.0, barriers=5.0, order=None, **sent):
    every = dict.fromkeys(("tp", "pp", "dp", "cp", "ep"), 0.0) | sent
    return PlanRow(layout, order, microbatches, barriers, every, True)


LAYOUT = Layout(tp=2, pp=1, dp=4)
STEP_BYTES = 5 * PAYLOAD_BYTES
"""Five all-reduces over two ranks send each payload once."""


def with_row(made, one_row, **more):
    return made.verify(lambda _: 300.0, Against(Planned(LAYOUT), one_row, **more))


def test_bytes_of_a_step_are_those_of_the_plan():
    found = with_row(Made(), row(LAYOUT, tp=STEP_BYTES))
    check = one(found, "bytes", "tp")
    assert (check.status, check.level) == ("ok", "warning")
    assert check.found == "320 MB, as predicted"
    assert one(found, "microbatches", "tp").found == "1 by 5 collectives of tp"


def test_twice_the_bytes_are_told_from_twice_the_microbatches():
    found = with_row(Made(), row(LAYOUT, 4.0, 10.0, tp=2 * STEP_BYTES))
    check = one(found, "bytes", "tp")
    assert check.status == "broken"
    assert check.found == "320 MB, 50 % less"
    assert check.because.startswith("2 times less: another number of microbatches")
    check = one(found, "microbatches", "tp")
    assert (check.status, check.expected) == ("broken", "4 a step")
    assert check.found == "2 by 5 collectives of tp"


def test_a_ratio_of_no_whole_number_is_not_explained():
    found = with_row(Made(), row(LAYOUT, tp=STEP_BYTES / 1.4))
    check = one(found, "bytes", "tp")
    assert (check.found, check.because) == ("320 MB, 40 % more", "")
    found = with_row(Made(), row(LAYOUT, tp=STEP_BYTES / 1.4), bytes_tolerance=0.5)
    assert one(found, "bytes", "tp").status == "ok"


def test_bytes_are_per_step():
    found = with_row(Made(steps=5), row(LAYOUT, tp=PAYLOAD_BYTES, barriers=1.0))
    assert one(found, "bytes", "tp").status == "ok"
    assert one(found, "microbatches", "tp").status == "ok"


def test_windows_of_a_rank_are_averaged():
    groups = [group("default", (0, 1)), group("tp", (0, 1), communicates=True)]
    own = Group("1", (0, 1), "tp", 2, "kernel")
    ranks = [
        rank(
            number,
            [
                C(50_000.0 * (k + 1), 300.0, payload=PAYLOAD_BYTES, seq=k, step=k)
                for k in range(steps)
            ],
            groups=[own],
            window=window,
            steps=[(k, 0.0, 1e6) for k in range(steps)],
        )
        for window, steps in (("iteration_1", 2), ("iteration_2", 4))
        for number in (0, 1)
    ]
    layout = Layout(2, 1, 1)
    against = Against(Planned(layout), row(layout, tp=PAYLOAD_BYTES, barriers=1.0))
    found = verify(job(groups, in_blocks(2)), measure(ranks), against)
    assert one(found, "bytes", "tp").found == "64 MB, as predicted"
    assert one(found, "microbatches", "tp").status == "ok"


def test_only_the_steps_that_were_asked_for_count():
    made = Made(steps=5)
    some = replace(made.tax(lambda _: 300.0), steps=range(1, 3))
    against = Against(Planned(LAYOUT), row(LAYOUT, tp=PAYLOAD_BYTES, barriers=1.0))
    assert one(verify(made.observed(), some, against), "bytes", "tp").status == "ok"


def test_groups_that_are_not_those_of_the_job_move_nothing():
    strange = job([group("default", range(8))], in_blocks(8))
    found = verify(strange, Made().tax(lambda _: 300.0), Against(row=row(LAYOUT, tp=1.0)))
    check = one(found, "bytes", "tp")
    assert check.because == "no collective of tp was recorded"
    assert ("busbw", "tp") not in named(found)


def test_groups_that_never_reduce_show_no_microbatch():
    made = Made(op=Op.ALL_GATHER)
    check = one(with_row(made, row(LAYOUT, 2.0, tp=STEP_BYTES)), "microbatches", "tp")
    assert (check.status, check.found) == ("broken", "0 by 0 collectives of tp")


def test_without_steps_bytes_are_unknown():
    found = with_row(Made(steps=0), row(LAYOUT, tp=STEP_BYTES))
    for name, role in (("bytes", "tp"), ("microbatches", "")):
        check = one(found, name, role)
        assert check.status == "unknown"
        assert "call profiler.step() once a training step" in check.because


def test_payloads_that_no_trace_tells_leave_bytes_unknown():
    found = with_row(Made(payload=-1), row(LAYOUT, tp=STEP_BYTES))
    check = one(found, "bytes", "tp")
    assert check.status == "unknown"
    assert check.because.startswith("the traces do not tell the bytes of 40 collectives")


def test_a_dimension_that_was_silent_is_unknown():
    found = with_row(Made(), row(LAYOUT, tp=STEP_BYTES, dp=1e9))
    check = one(found, "bytes", "dp")
    assert (check.status, check.because) == ("unknown", "no collective of dp was recorded")
    assert ("bytes", "cp") not in named(found)


def test_microbatches_that_nothing_tells_are_unknown():
    found = Made().verify(
        lambda _: 300.0, Against(Planned(Layout(1, 1, 8)), row(Layout(1, 1, 8)))
    )
    assert "it takes TP, EP or PP" in one(found, "microbatches", "").because
    found = with_row(Made(), row(LAYOUT, barriers=float("nan"), tp=STEP_BYTES))
    assert one(found, "microbatches", "").status == "unknown"


def test_messages_between_stages_count_half_and_tell_microbatches():
    # two stages: each sends m activations or gradients and receives as many
    layout = Layout(tp=1, pp=2, dp=1)
    ranks = []
    for number in (0, 1):
        own = Group("2", (0, 1), "pp", 2, "kernel")
        calls = [
            C(1_000.0 * (k + 1), 100.0, op=Op.SEND_RECV, payload=1_000_000, seq=k, step=0,
              peer=1 - number)
            for k in range(8)
        ]  # fmt: skip
        ranks.append(rank(number, calls, groups=[own], steps=[(0, 0.0, 1e6)]))
    groups = [group("default", (0, 1)), group("pp", (0, 1), communicates=True)]
    found = verify(
        job(groups, in_blocks(1)),
        measure(ranks),
        Against(Planned(layout), row(layout, 4.0, float("nan"), pp=4_000_000.0)),
    )
    assert one(found, "bytes", "pp").status == "ok"
    assert one(found, "microbatches", "pp").found == "4 by 8 collectives of pp"
    # ranks do not leave a send together, so its wait and rate are not known
    assert ("busbw", "pp") not in named(found)


# ------------------------------------------------------------------ made-up jobs end to end


def made_up(tmp_path, links=H100, **options):
    write(SynthJob(layers=2, steps=3, hosts=2, **options), tmp_path)
    read = load([str(tmp_path)])
    tax = measure(read)
    return verify(observe(read, tax.matches.groups), tax, Against(links=links))


def test_delays_of_one_rank_are_a_straggler(tmp_path):
    delays = tuple(
        Delay(5, step, None, 20_000.0, "op", f"tp:{at}")
        for step in range(3)
        for at in (1, 5, 9)
    )
    found = made_up(tmp_path, tp=4, fsdp=2, delays=delays)
    assert one(found, "busbw", "tp").status == "ok"
    assert "4-7: 9" in one(found, "straggler", "tp").found
    assert "rank 5 (node-1) last" in one(found, "straggler", "tp").found


def test_low_bandwidth_is_no_straggler(tmp_path):
    found = made_up(tmp_path, tp=4, fsdp=2, bandwidth_gb_per_s=20.0)
    assert len(one(found, "busbw", "tp").broken) == 2
    assert one(found, "straggler", "tp").found == "none of 2 groups"
    # FSDP crosses hosts and may be as slow as NICs
    assert one(found, "busbw", "fsdp").status == "ok"


# ------------------------------------------------------------------ roles that are not told


def test_a_nameless_group_stands_for_the_one_planned_dimension_of_its_size():
    nameless = [group("default", range(8), communicates=True)]
    found = verify(job(nameless, in_blocks(8)), None, Against(Planned(Layout(8, 1, 1))))
    assert found.seen.layout == Layout(8, 1, 1)
    assert one(found, "domain", "tp").status == "ok"
    assert [note.reason for note in found.notes] == ["group_taken_for_role"]
    # of two dimensions of that size it may be either
    square = [group("default", range(4), communicates=True)]
    found = verify(job(square, in_blocks(4)), None, Against(Planned(Layout(4, 1, 4))))
    assert found.notes == ()


def test_what_a_plan_keeps_in_a_domain_has_to_be_there():
    layout = Layout(tp=2, pp=2, dp=4)
    groups = [group("default", range(16))]
    for role in ("tp", "pp", "dp"):
        ranks = Planned(layout).members(role, getattr(layout, role), ORDERS[1])[0]
        groups += [group(role, one_) for one_ in ranks.tolist()]
    found = verify(
        job(groups, in_blocks(4), domain_size=4, gpus_per_host=4),
        None,
        Against(Planned(layout, ORDERS[1])),
    )
    assert one(found, "domain", "pp").status == "ok"
    assert ("domain", "dp") not in named(found)
    scattered = job(groups, lambda number: number % 4, domain_size=4, gpus_per_host=4)
    against = Against(Planned(layout, ORDERS[1]), row(layout))
    assert {c.role for c in verify(scattered, None, against).failed()} == {"tp", "pp"}
    # where only a layout was told, nobody planned where PP is
    found = verify(scattered, None, Against(Planned(layout, ORDERS[1])))
    assert {c.role for c in found.failed()} == {"tp"}
    assert one(found, "domain", "pp").level == "warning"


def test_tp_may_leave_a_domain_where_the_plan_lets_it():
    layout = Layout(tp=16, pp=1, dp=4)
    across = job(groups_of(layout), in_blocks(8), domain_size=8)
    against = Against(Planned(layout), row(layout), tp_across_domains=True)
    found = verify(across, None, against)
    assert found.failed(strict=True) == ()
    assert one(found, "near", "tp").expected == "in 2 domains, the fewest it fits into"
    assert one(verify(across, None, Against(Planned(layout))), "domain", "tp").broken
    # more domains than it needs are worth a word, and a TP that fits has to stay inside
    dealt = job(groups_of(layout), lambda number: number % 8, domain_size=8)
    assert one(verify(dealt, None, against), "near", "tp").status == "broken"
    small = Layout(tp=8, pp=1, dp=8)
    dealt = job(groups_of(small), lambda number: number % 8, domain_size=8)
    against = Against(Planned(small), row(small), tp_across_domains=True)
    assert {c.role for c in verify(dealt, None, against).failed()} == {"tp"}


# ------------------------------------------------------------------ tables


def test_tables_hold_every_check_and_every_group():
    found = Made().verify(lambda number: 3_000.0 if number in (4, 5) else 300.0)
    frame = found.to_frame()
    assert len(frame) == len(found.checks)
    row_ = frame[(frame.check == "busbw") & (frame.group == "tp")].iloc[0]
    assert (row_.status, row_.ranks, row_.hosts) == ("broken", "4-5", "node2")
    assert row_.groups_broken == 1
    assert frame[frame.check == "traced"].iloc[0].isna().group
    groups = found.per_group()
    slow = groups[groups.ranks == "4-5"].iloc[0]
    assert (slow.faults, slow.domains, slow.n_hosts) == ("busbw", "node2", 1)
    assert slow.busbw_of_siblings == pytest.approx(0.1)
    assert slow.busbw_gb_per_s_median == pytest.approx(21.33, rel=1e-3)
    silent = groups[groups.group == "default"].iloc[0]
    assert silent.isna().busbw_gb_per_s_median
    assert not silent.communicates
    (broken,) = found.broken()
    assert broken["ranks"] == [4, 5]
    assert broken["hosts"] == ["node2"]
    assert repr(found).startswith("<Verification: 1 broken, ")


def test_the_verdict_says_what_was_read_and_seen():
    found = Made().verify(lambda _: 300.0)
    assert verdict(found)[0].startswith("8 ranks of 8 read on 4 hosts; groups of tp2; the")
    blind = Made().verify(lambda _: 300.0, host_of=lambda _: None)
    assert verdict(blind)[0].startswith("8 ranks of 8 read, hosts unknown; groups of tp2")
    unsized = replace(blind, observed=replace(blind.observed, world=None))
    assert verdict(unsized)[0].startswith("8 ranks read, hosts unknown")


def test_the_verdict_names_faults_once_and_reasons_once():
    found = Made().verify(lambda number: 3_000.0 if number in (4, 5) else 300.0)
    lines = verdict(found)
    assert sum(line.startswith("warning: tp busbw: 1 of 4 groups") for line in lines) == 1
    assert any("every rule that can be checked holds, 1 warning" in line for line in lines)
    assert any(line.startswith("broken: tp busbw") for line in verdict(found, strict=True))
    unknown = [line for line in lines if line.startswith("unknown: ")]
    assert len(unknown) == len(set(unknown))


def test_nothing_known_is_said():
    silent = job([group("default", range(4))], lambda _: None)
    lines = verdict(verify(silent, None, Against()))
    assert "no rule can be checked" in lines


def test_the_order_of_a_job_is_read_off_its_groups():
    layout = Layout(tp=2, pp=2, dp=2)
    groups = [group("default", range(8))]
    for role in ("tp", "pp", "dp"):
        ranks = Planned(layout).members(role, 2, ORDERS[1])[0]
        groups += [group(role, one_) for one_ in ranks.tolist()]
    found = verify(job(groups, in_blocks(2)), None, Against())
    assert found.order == ORDERS[1]
    assert verdict(found)[0].endswith("those of tp2,pp2,dp2, ranks as tp-cp-ep-pp-dp")


# ------------------------------------------------------------------ files of plans

PLATFORM = read_platform("dgx-h100")
MODEL = Model(
    "made", 3, 1024, 16, 16, 4096, 1000, 1e9, 1e9, gated=True, tied_embeddings=False,
    head_dim=64,
)  # fmt: skip


def plan_text(count=1, **changes):
    one_row = {
        "layout": "tp2,pp1,dp4", "tp": 2, "pp": 1, "dp": 4, "cp": 1, "ep": 1,
        "virtual_stages": 1, "microbatches": 1, "barriers": 12.0, "tp_bytes": 5.0,
        "pp_bytes": 0, "dp_bytes": None, "cp_bytes": 0, "ep_bytes": 0, "more": "unread",
        "order": "tp-cp-ep-dp-pp", "eliminated_because": None,
    }  # fmt: skip
    document = {
        "schema": "synctax.plan/1",
        "parameters": {
            "model": asdict(MODEL),
            "platform": asdict(PLATFORM),
            "training": asdict(Training(batch=8, sequence=2048)),
            "assumptions": asdict(Assumptions()),
        },
        "rows": [dict(one_row) for _ in range(count)],
    }
    for path, value in changes.items():
        *parents, name = path.split("__")
        at = document
        for parent in parents:
            at = at[int(parent)] if parent.isdigit() else at[parent]
        at[name] = value
    return orjson.dumps(document)


def plan_file(tmp_path, data):
    path = tmp_path / "plan.json"
    path.write_bytes(data)
    return path


def test_a_plan_is_read_whole(tmp_path):
    found = read_plan(plan_file(tmp_path, plan_text()))
    assert isinstance(found, PlanFile)
    assert found.model == MODEL
    assert found.platform == PLATFORM
    assert found.training == Training(batch=8, sequence=2048)
    (only,) = found.rows
    assert only.layout == LAYOUT
    assert only.order == "tp-cp-ep-dp-pp"
    assert only.sent_bytes == {"tp": 5.0, "pp": 0.0, "dp": 0.0, "cp": 0.0, "ep": 0.0}
    assert only.feasible
    assert choose(found, None) == (only, ())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"schema": "synctax.measure/1"}, "has the schema 'synctax.measure/1'"),
        ({"rows": []}, "has no rows"),
        ({"parameters__model__layers": "many"}, r"parameters.model.layers"),
        (
            {"parameters__platform__domain": 0},
            "parameters.platform.domain is 0; expected a",
        ),
        ({"parameters__training": {}}, "missing required field `batch`"),
        ({"parameters__model__layers": 0}, "parameters.model.layers is 0; expected"),
        ({"parameters__training__batch": 0}, "parameters.training.batch is 0"),
        ({"parameters__assumptions__mfu": 0}, "parameters.assumptions.mfu is 0"),
        ({"rows__0__dp": 0}, "row 1 has dp 0; expected a whole number above 0"),
        ({"rows__0__dp": 10**18}, "row 1 has dp 1000000000000000000; expected"),
        ({"rows__0__microbatches": 0}, "row 1 has microbatches 0; expected above 0"),
        ({"rows__0__microbatches": -3.0}, "row 1 has microbatches -3; expected above 0"),
        ({"rows__0__tp_bytes": -5}, "row 1 has tp_bytes -5; expected 0 or more"),
        (
            {"rows__0__layout": "tp8,pp1,dp1"},
            "has the layout tp8,pp1,dp1 and degrees of tp2",
        ),
        ({"rows__0__layout": "x"}, "row 1: layout 'x'"),
        (
            {
                "rows__0__dp": 2**20,
                "rows__0__pp": 2**20,
                "rows__0__layout": f"tp2,pp{2**20},dp{2**20}",
            },
            "row 1: layout tp2,.* ranks; expected 4,194,304 at most",
        ),
        (
            {"rows__0__ep": 3, "rows__0__layout": "tp2,pp1,dp4,ep3"},
            "row 1: layout tp2,pp1,dp4,ep3: ep 3 divides neither dp·cp = 4 nor",
        ),
        ({"rows__0__tp_bytes": "5 GB"}, r"rows\[0\].tp_bytes"),
    ],
)
def test_a_plan_that_is_none_is_refused_with_its_place(tmp_path, changes, said):
    with pytest.raises(BadInputError, match=said) as caught:
        read_plan(plan_file(tmp_path, plan_text(**changes)))
    assert "plan.json" in str(caught.value)


@pytest.mark.parametrize("data", [b"", b"[1, 2]", b"{", b"\xff"])
def test_a_file_of_no_plan_is_refused(tmp_path, data):
    with pytest.raises(BadInputError, match="is no plan in JSON"):
        read_plan(plan_file(tmp_path, data))
    with pytest.raises(BadInputError, match="is no plan in JSON"):
        read_plan(tmp_path / "none.json")


def test_of_several_layouts_the_first_feasible_one_is_taken_and_said(tmp_path):
    found = read_plan(plan_file(tmp_path, plan_text(2)))
    out = replace(found.rows[0], feasible=False, layout=Layout(8, 1, 1))
    both = replace(found, rows=(out, found.rows[1]))
    chosen, (note,) = choose(both, None)
    assert chosen.layout == LAYOUT
    assert (note.reason, note.count) == ("plan_layout_chosen", 1)
    assert choose(both, "tp8,pp1,dp1") == (out, ())
    # without dp it has the ranks of the plan
    assert choose(both, "tp2") == (both.rows[1], ())
    with pytest.raises(SynctaxError, match="no layout tp1,pp1,dp8; it has tp8,pp1"):
        choose(both, "tp1")
    with pytest.raises(SynctaxError, match="does not divide 8"):
        choose(both, "tp3")
    with pytest.raises(SynctaxError, match="none is feasible; --layout tells"):
        choose(replace(both, rows=(out, out)), None)
    with pytest.raises(SynctaxError, match="and 2 more"):
        choose(replace(both, rows=(out,) * 8), "dp8")


def test_chunks_that_are_not_named_are_those_of_the_plan(tmp_path):
    changes = {"rows__0__virtual_stages": 2, "rows__0__layout": "tp2,pp1,dp4,v2"}
    found = read_plan(plan_file(tmp_path, plan_text(2, **changes)))
    first, second = found.rows
    assert choose(found, "tp2,dp4") == (first, ())
    assert choose(found, "tp2,dp4,v1") == (second, ())
    out = replace(found, rows=(replace(first, feasible=False), second))
    assert choose(out, "tp2")[0] == second


def test_a_plan_may_begin_with_a_byte_order_mark(tmp_path):
    path = plan_file(tmp_path, b"\xef\xbb\xbf" + plan_text())
    assert read_plan(path).rows[0].layout == LAYOUT


def test_the_order_of_a_plan_is_that_of_its_rows_else_of_the_training(tmp_path):
    changes = {
        "rows__0__order": None,
        "parameters__training__order": "tp-cp-ep-pp-dp",
    }
    found = read_plan(plan_file(tmp_path, plan_text(**changes)))
    assert found.rows[0].order == "tp-cp-ep-pp-dp"
    assert np.isnan(
        read_plan(plan_file(tmp_path, plan_text(rows__0__barriers=None))).rows[0].barriers
    )
