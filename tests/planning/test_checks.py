"""Checks of groups and of where they sit: what healthy jobs keep, what faults break."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synctax.notes import Note
from synctax.planning.layout import Layout
from synctax.planning.training import ORDERS
from synctax.planning.verify.check import Broken, Check, tally
from synctax.planning.verify.checks import coverage, group_sizes, members, world
from synctax.planning.verify.hosts_file import LOG, HostMap
from synctax.planning.verify.job import Against, verify
from synctax.planning.verify.place_checks import domains, near, rails
from synctax.planning.verify.places import Seat, place
from synctax.planning.verify.planned import Planned
from synctax.planning.verify.read_checks import OTHER_PROCESSES, hosts, traced
from synctax.planning.verify.seen import seen_layout
from tests.planning.observed_jobs import (
    MEGATRON,
    TORCHTITAN,
    group,
    groups_of,
    in_blocks,
    job,
    placed,
    round_robin,
    without,
)

PUBLISHED = Layout(tp=8, pp=16, dp=8)
"""Layout A of the placement paper's worked example: 1,024 GPUs."""

degrees = st.sampled_from([1, 2, 4])
layouts = st.builds(Layout, tp=degrees, pp=degrees, dp=degrees, cp=degrees).filter(
    lambda one: 1 < one.gpus <= 32
)


def one(checks, name, role=""):
    (found,) = [check for check in checks if (check.name, check.role) == (name, role)]
    return found


def statuses(found):
    return {(check.name, check.role): check.status for check in found.checks}


# ------------------------------------------------------------------ laws


@given(
    layouts,
    st.sampled_from([MEGATRON, TORCHTITAN]),
    st.sampled_from(ORDERS),
    st.booleans(),
)
def test_a_job_that_sits_as_planned_breaks_nothing(layout, roles, order, with_plan):
    found = job(groups_of(layout, roles, order), in_blocks(layout.tp))
    planned = Planned(layout) if with_plan else None
    result = verify(found, None, Against(planned))
    assert result.failed(strict=True) == ()
    assert str(result.seen) == str(layout)
    names = {check.name for check in result.checks}
    assert {"world", "traced", "size", "coverage"} <= names
    assert ("members" in names) is with_plan


@given(layouts.filter(lambda one: one.tp > 1), st.permutations(range(64)))
def test_names_of_hosts_change_no_finding(layout, names):
    blocks, turns = in_blocks(layout.tp), round_robin(max(layout.gpus // layout.tp, 2))
    for host_of in (blocks, turns):
        first = verify(placed(layout, host_of), None, Against())
        renamed = placed(layout, lambda rank, of=host_of: names[of(rank)])
        assert statuses(verify(renamed, None, Against())) == statuses(first)


@given(layouts, st.data())
def test_what_is_not_read_breaks_nothing(layout, data):
    read = data.draw(st.sets(st.integers(0, layout.gpus - 1), min_size=1))
    whole = groups_of(layout)
    seen = [g for g in whole if set(g.ranks) & read]
    found = job(
        seen,
        lambda rank: rank // layout.tp if rank in read else None,
        traced=sorted(read),
        gpu_of=lambda rank: rank % layout.tp,
    )
    result = verify(found, None, Against(Planned(layout)))
    assert result.failed(strict=True) == ()


# ------------------------------------------------------------------ round robin


def test_a_launcher_that_deals_ranks_out_breaks_every_tp_group():
    found = verify(placed(PUBLISHED, round_robin(128)), None, Against())
    check = one(found.checks, "domain", "tp")
    assert (check.checked, len(check.broken), check.status) == (128, 128, "broken")
    assert found.failed() == (check,)
    assert check.broken[0].ranks == tuple(range(8))
    assert check.broken[0].hosts == tuple(f"node{rank}" for rank in range(8))
    for at, wrong in enumerate(check.broken):
        assert wrong.ranks == tuple(range(8 * at, 8 * at + 8))
        assert len(set(wrong.hosts)) == 8
    assert check.found == "128 of 128 over 8 domains"
    assert "rank r on host r mod 128" in check.because
    assert one(found.checks, "size", "tp").status == "ok"


def test_the_same_job_on_whole_hosts_is_as_it_should_be():
    found = verify(placed(PUBLISHED, in_blocks(8)), None, Against(Planned(PUBLISHED)))
    assert found.failed(strict=True) == ()
    assert one(found.checks, "domain", "tp").found == "all 128"
    assert one(found.checks, "members", "pp").found == "64 of 64 as tp-cp-ep-dp-pp"
    assert one(found.checks, "rails", "pp").found == "64 of 64"


def test_one_group_that_leaves_its_host_is_named_alone():
    moved = {7: 9, 9: 7}
    found = placed(PUBLISHED, lambda rank: moved.get(rank, rank) // 8)
    (check,) = domains(found, ["tp"])
    assert [wrong.ranks[0] for wrong in check.broken] == [0, 8]
    assert check.broken[0].found == "over 2 domains: 2 hosts (node0, node1)"
    assert check.because == (
        "each host taken for one domain, --domain N or --hardware tells another"
    )


def traces_and(names, source="map.csv"):
    """Four ranks, on n0 and n1 by their traces, and on these by another source."""
    seats = [Seat(rank, f"n{rank // 2}", (rank % 2,), 2) for rank in range(4)]
    silent = ("",) * 4
    told = HostMap(source, np.arange(4), tuple(names), silent, np.full(4, -1))
    found = placed(Layout(2, 1, 2), in_blocks(2))
    return replace(found, places=place(np.arange(4), seats, told))


@pytest.mark.parametrize(
    ("names", "source", "level", "moved"),
    [
        (["n1", "n1", "n0", "n0"], LOG, "warning", [0, 1, 2, 3]),
        (["n1", "n1", "n0", "n0"], "map.csv", "remark", [0, 1, 2, 3]),
        (["n0", "n1", "n0", "n1"], LOG, "warning", [1, 2]),
        # only other names, as in containers
        (["c7", "c7", "c9", "c9"], LOG, "remark", [0, 1, 2, 3]),
        (["c7", "c9", "c7", "c9"], LOG, "warning", [0, 1, 2, 3]),
    ],
)
def test_sources_that_name_other_hosts_are_told(names, source, level, moved):
    found = traces_and(names, source)
    (check,) = hosts(found)
    assert (check.level, check.status) == (level, "broken")
    assert [wrong.ranks for wrong in check.broken] == [(rank,) for rank in moved]
    result = verify(found, None, Against())
    assert any(wrong["check"] == "hosts" for wrong in result.broken()) == (
        level == "warning"
    )


def test_files_of_other_runs_are_told_without_failing():
    found = placed(Layout(2, 1, 2), in_blocks(2))
    note = Note(OTHER_PROCESSES, 2, "they are separate runs")
    result = verify(replace(found, notes=(note,)), None, Against())
    check = one(result.checks, "runs", "")
    assert (check.level, check.because) == ("remark", "they are separate runs")
    assert result.failed(strict=True) == ()
    assert ("runs", "") not in statuses(verify(found, None, Against()))


def test_sources_that_agree_are_not_mentioned():
    assert hosts(traces_and(["n0", "N0", "n1.cluster", "n1"])) == []


# ------------------------------------------------------------------ domains


def test_hosts_of_a_rack_are_one_domain():
    layout = Layout(tp=8, pp=9, dp=2)
    trays = placed(layout, in_blocks(4), domain_size=72, gpus_per_host=4)
    (check,) = domains(trays, ["tp"])
    assert (check.status, check.checked) == ("ok", 18)
    (check,) = domains(placed(layout, in_blocks(4)), ["tp"])
    assert len(check.broken) == 18


def test_tp_16_straddles_racks_of_72():
    layout = Layout(tp=16, pp=9, dp=1)
    found = placed(layout, in_blocks(4), domain_size=72, gpus_per_host=4)
    (check,) = domains(found, ["tp"])
    assert [wrong.ranks[0] for wrong in check.broken] == [64]
    # as long as consecutive hosts are only taken for a rack, this fails nothing
    assert check.level == "warning"
    assert "--hosts with a column domain tells which hosts are one" in check.because
    # no rack of 18 holds the 36 hosts of one group
    wide = placed(Layout(36, 1, 4), round_robin(36), domain_size=72, gpus_per_host=4)
    (check,) = domains(wide, ["tp"])
    assert (check.level, len(check.broken)) == ("rule", 4)


TRAYS = {"visible": 4}
"""Hosts of four GPUs."""


@given(
    st.sampled_from([2, 4, 8, 16]),
    st.sampled_from(["", "NVIDIA GB200", "NVIDIA GB300", "NVIDIA GH200 480GB", "new"]),
    st.integers(1, 4),
)
def test_what_may_be_one_domain_breaks_no_rule(tp, gpu, data):
    # consecutive ranks on trays of four, which NVLink may join
    layout = Layout(tp=tp, pp=1, dp=data)
    found = placed(layout, in_blocks(4), **TRAYS, model=gpu)
    result = verify(found, None, Against())
    assert result.failed() == ()
    check = one(result.checks, "domain", "tp")
    assert check.status == ("ok" if tp <= 4 or layout.gpus == 1 else "unknown")
    assert bool(check.because) == (check.status == "unknown")
    told = verify(
        placed(layout, in_blocks(4), **TRAYS, model=gpu, domain_size=72), None, Against()
    )
    assert one(told.checks, "domain", "tp").status == "ok"


def test_what_would_tell_of_domains_is_named():
    layout = Layout(tp=8, pp=1, dp=2)
    (check,) = domains(placed(layout, in_blocks(4), **TRAYS, model="GB200"), ["tp"])
    assert (check.checked, check.unknown, check.found) == (0, 2, "")
    assert check.because.startswith("NVLink joins hosts of such GPUs: --domain N tells")
    (check,) = domains(placed(layout, in_blocks(4), **TRAYS), ["tp"])
    assert check.because == (
        "groups of more ranks than the 4 GPUs of a host: if NVLink joins hosts, --domain N "
        "tells how many GPUs, else --domain 4"
    )
    (check,) = domains(placed(layout, in_blocks(4), **TRAYS, domain_size=4), ["tp"])
    assert len(check.broken) == 2


@pytest.mark.parametrize(
    "gpu", ["NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-40GB", "AMD Instinct MI300X", "B200"]
)
def test_hosts_that_nvlink_does_not_join_are_domains(gpu):
    layout = Layout(tp=8, pp=1, dp=2)
    (check,) = domains(placed(layout, in_blocks(4), **TRAYS, model=gpu), ["tp"])
    assert (check.level, len(check.broken)) == ("rule", 2)
    # unless NCCL found that it does
    joined = placed(layout, in_blocks(4), **TRAYS, model=gpu, joined=True)
    assert domains(joined, ["tp"])[0].status == "unknown"


def test_ranks_dealt_out_to_hosts_that_hold_the_group_are_broken():
    found = placed(Layout(tp=4, pp=1, dp=4), round_robin(4), **TRAYS)
    (check,) = domains(found, ["tp"])
    assert (check.level, len(check.broken)) == ("rule", 4)
    # but NVLink of a rack joins them just as well
    found = placed(Layout(tp=4, pp=1, dp=4), round_robin(4), **TRAYS, model="GB200")
    assert domains(found, ["tp"])[0].status == "unknown"


def test_rails_of_hosts_that_may_be_one_domain_are_unknown():
    layout = Layout(tp=4, pp=1, dp=2)
    turned = placed(
        layout, in_blocks(4), gpu_of=lambda rank: (rank + rank // 4) % 4, model="GB200"
    )
    check = one(rails(turned), "rails", "dp")
    assert (check.status, check.unknown) == ("unknown", 4)
    assert "--domain N" in check.because


def test_hosts_that_are_not_known_leave_groups_unknown():
    layout = Layout(tp=4, pp=1, dp=2)
    found = placed(layout, lambda rank: 0 if rank < 2 else None)
    (check,) = domains(found, ["tp"])
    assert (check.status, check.unknown, check.found) == ("unknown", 2, "")
    assert "the host of 6 ranks is not known: give --hosts FILE" in check.because
    # two hosts are enough to break it, whatever the others are
    found = placed(layout, lambda rank: rank if rank < 2 else None)
    (check,) = domains(found, ["tp"])
    assert (check.status, check.checked, check.unknown) == ("broken", 1, 1)


def test_cp_takes_the_fewest_domains_that_hold_it():
    layout = Layout(tp=4, pp=1, dp=1, cp=4)
    (check,) = near(placed(layout, in_blocks(8)), layout, ["tp"])
    assert (check.name, check.level, check.status) == ("near", "warning", "ok")
    assert check.expected == "in 2 domains, the fewest it fits into"
    # hosts of 4 cannot do better than four
    (check,) = near(placed(layout, in_blocks(4), domain_size=4), layout, ["tp"])
    assert (check.status, check.expected[:12]) == ("ok", "in 4 domains")
    # ranks 4 apart on hosts of 8 that hold every other block of TP
    spread = placed(layout, lambda rank: rank // 4 % 2 + rank % 2 * 2, domain_size=8)
    (check,) = near(spread, layout, ["tp"])
    assert check.status == "ok"
    assert near(spread, layout, ["tp", "cp"]) == []


def test_cp_over_more_domains_than_it_needs_is_a_warning():
    layout = Layout(tp=1, pp=1, dp=4, cp=4)
    (check,) = near(placed(layout, round_robin(4), domain_size=4), layout, ["tp"])
    assert (check.role, len(check.broken), check.level) == ("cp", 4, "warning")
    assert check.found == "4 of 4 over 4 domains"


def test_ep_that_tp_does_not_split_fits_into_fewer_domains():
    # eight neighbours on eight ranks, where an expert is on one
    layout = Layout(tp=2, pp=1, dp=32, ep=8)
    groups = groups_of(layout, expert_tp=False)
    whole = job(groups, in_blocks(8), domain_size=8)
    assert one(verify(whole, None, Against()).checks, "near", "ep").status == "ok"
    pairs = job(groups, lambda rank: rank // 2 % 8, domain_size=8)
    check = one(verify(pairs, None, Against()).checks, "near", "ep")
    assert (check.expected[:11], len(check.broken)) == ("in one doma", 8)
    assert check.found == "8 of 8 over 4 domains"
    # split over TP it takes two
    split = job(groups_of(layout, expert_tp=True), in_blocks(8), domain_size=8)
    check = one(verify(split, None, Against()).checks, "near", "ep")
    assert (check.status, check.expected[:12]) == ("ok", "in 2 domains")


@given(
    st.sampled_from([2, 4, 8]),
    st.sampled_from([2, 4, 8]),
    st.sampled_from(ORDERS),
    st.booleans(),
)
def test_experts_may_be_split_or_not_where_no_plan_tells(tp, ep, order, expert_tp):
    layout = Layout(tp=tp, pp=1, dp=8, ep=ep)
    groups = groups_of(layout, order=order, expert_tp=expert_tp)
    found = job(groups, in_blocks(8), domain_size=8)
    result = verify(found, None, Against(Planned(layout)))
    assert result.failed(strict=True) == ()
    # a plan that tells it is held to
    other = verify(found, None, Against(Planned(layout, None, not expert_tp)))
    assert {check.role for check in other.failed()} >= {"edp"}


def test_near_needs_domains():
    layout = Layout(tp=1, pp=1, dp=1, cp=4)
    assert near(placed(layout, lambda _: None), layout, []) == []


# ------------------------------------------------------------------ rails


def test_neighbours_on_other_rails_are_a_warning():
    layout = Layout(tp=4, pp=1, dp=2)
    turned = placed(layout, in_blocks(4), gpu_of=lambda rank: (rank + rank // 4) % 4)
    check = one(rails(turned), "rails", "dp")
    assert (check.level, len(check.broken), check.status) == ("warning", 4, "broken")
    assert check.broken[0].found == "GPU 0 of node0, GPU 1 of node1"
    found = verify(turned, None, Against())
    assert found.failed() == ()
    assert {c.name for c in found.failed(strict=True)} == {"rails"}


def test_hosts_of_one_domain_count_together_on_rails():
    # every third rank: each host has others, the two domains the same
    layout = Layout(tp=3, pp=1, dp=8)
    found = placed(layout, in_blocks(4), domain_size=12, gpus_per_host=4)
    assert one(rails(found), "rails", "dp").status == "ok"
    apart = placed(layout, in_blocks(4), domain_size=4, gpus_per_host=4)
    assert one(rails(apart), "rails", "dp").status == "broken"


def test_a_host_with_fewer_members_has_some_of_their_rails():
    groups = [group("default", range(16)), group("ep", range(12))]
    found = job(groups, in_blocks(8))
    assert one(rails(found), "rails", "ep").status == "ok"
    turned = job(groups, in_blocks(8), gpu_of=lambda rank: rank)
    assert one(rails(turned), "rails", "ep").status == "broken"


def test_members_of_a_host_count_together_on_rails():
    # two ranks of each DP group on each host
    layout = Layout(tp=2, pp=1, dp=4)
    check = one(rails(placed(layout, in_blocks(4))), "rails", "dp")
    assert (check.status, check.found) == ("ok", "2 of 2")


def test_without_local_indices_rails_are_unknown():
    found = placed(Layout(tp=2, pp=1, dp=2), in_blocks(2))
    blind = replace(found, places=replace(found.places, local=np.full(4, -1)))
    check = one(rails(blind), "rails", "dp")
    assert (check.status, check.unknown) == ("unknown", 2)
    assert "rank,host,gpu" in check.because


def test_groups_inside_a_domain_have_no_rails():
    assert rails(placed(Layout(tp=2, pp=1, dp=2), in_blocks(4))) == []


# ------------------------------------------------------------------ sizes


def test_one_group_of_another_size_is_named():
    layout = Layout(tp=4, pp=1, dp=4)
    groups = [g for g in groups_of(layout) if g.ranks != (4, 5, 6, 7)]
    halves = [group("tp", (4, 5)), group("tp", (6, 7))]
    check = one(group_sizes(job([*groups, *halves], in_blocks(4)), None), "size", "tp")
    assert check.found == "3 groups of 4 ranks, 2 of 2"
    assert [wrong.ranks for wrong in check.broken] == [(4, 5), (6, 7)]
    assert check.broken[0].hosts == ("node1",)


def test_two_families_of_one_role_may_differ_where_each_covers_all_ranks():
    # shards and replicas, both called data parallel by Megatron-LM
    layout = Layout(tp=1, pp=1, dp=8)
    shards = [group("dp", range(at, at + 4)) for at in (0, 4)]
    replicas = [group("dp", (at, at + 4)) for at in range(4)]
    found = job([*groups_of(layout, []), *shards, *replicas], in_blocks(8))
    assert one(group_sizes(found, None), "size", "dp").status == "ok"
    assert one(group_sizes(found, Planned(layout)), "size", "dp").status == "ok"
    assert seen_layout(found).layout == layout
    checks, _ = members(found, Planned(layout))
    assert one(checks, "members", "dp").status == "ok"


def test_sizes_are_held_against_the_plan():
    found = placed(Layout(tp=4, pp=2, dp=2), in_blocks(4))
    checks = group_sizes(found, Planned(Layout(tp=8, pp=2, dp=1)))
    assert one(checks, "size", "tp").expected == "8 ranks"
    assert len(one(checks, "size", "tp").broken) == 4
    assert one(checks, "size", "pp").status == "ok"
    assert one(checks, "size", "dp").broken[0].found == "2 ranks"


def test_a_dimension_that_is_planned_and_missing_is_broken():
    found = job(groups_of(Layout(tp=4, pp=1, dp=2), ["tp"]), in_blocks(4))
    check = one(group_sizes(found, Planned(Layout(tp=4, pp=1, dp=2))), "size", "dp")
    assert (check.status, check.found) == ("broken", "no group of dp")
    silent = replace(found, telling=np.array([], np.int64))
    check = one(group_sizes(silent, Planned(Layout(tp=4, pp=1, dp=2))), "size", "dp")
    assert check.status == "unknown"
    assert "do not declare their process groups" in check.because


def test_groups_of_one_rank_are_no_finding_where_one_is_planned():
    found = placed(Layout(tp=1, pp=1, dp=4), in_blocks(4))
    roles = {check.role for check in group_sizes(found, Planned(Layout(1, 1, 4)))}
    assert roles == {"dp", "dp_cp", "edp"}


# ------------------------------------------------------------------ ranks of groups


def test_a_rank_in_no_group_is_named_with_its_host():
    found = placed(Layout(tp=2, pp=1, dp=4), in_blocks(2))
    (lost,) = [g for g in found.of("tp") if g.ranks == (4, 5)]
    check = one(coverage(without(found, lost)), "coverage", "tp")
    assert check.broken == (Broken((4, 5), ("node2",), "rank 4-5 is in no group of tp"),)
    assert check.found == "6 of 8 ranks in 3 groups"


@given(st.sampled_from([2, 3, 4]), st.sampled_from([1, 2]), st.data())
def test_shards_and_replicas_of_one_role_and_size_break_nothing(size, cp, data):
    # as Megatron-LM declares them: the whole, and both parts, of one role
    layout = Layout(tp=2, pp=1, dp=size * size, cp=cp)
    groups = groups_of(layout, ("tp", "cp", "dp_cp"))
    planned = Planned(layout)
    for parts in planned.members("dp", size, ORDERS[0]):
        groups += [group("dp", ranks) for ranks in parts.tolist()]
    if data.draw(st.booleans()):
        groups += [
            group("dp", one_) for one_ in planned.members("dp", size**2, ORDERS[0])[0]
        ]
    groups = [replace(g, ranks=tuple(map(int, g.ranks))) for g in groups]
    found = job(groups, in_blocks(2))
    for against in (Against(), Against(planned)):
        result = verify(found, None, against)
        assert result.failed(strict=True) == ()
        assert result.seen.layout == layout


def test_a_rank_in_more_groups_than_the_others_is_named():
    groups = groups_of(Layout(tp=1, pp=1, dp=4), [])
    groups += [group("dp", pair) for pair in ((0, 1), (2, 3), (0, 2), (1, 3), (0, 3))]
    check = one(coverage(job(groups, in_blocks(4))), "coverage", "dp")
    assert {wrong.ranks for wrong in check.broken} >= {(0, 3)}
    assert "rank 0,3 is in more than 2 groups of dp" in {w.found for w in check.broken}


def test_a_rank_in_two_groups_is_named():
    found = placed(Layout(tp=2, pp=1, dp=2), in_blocks(2))
    extra = replace(found, groups=(*found.groups, group("tp", (1, 2))))
    check = one(coverage(extra), "coverage", "tp")
    assert "rank 1" in check.broken[0].found
    assert "is in the group 0-1 too" in check.broken[0].found


def test_ranks_that_were_not_read_are_in_no_group_that_is_known():
    layout = Layout(tp=2, pp=1, dp=2)
    seen = [g for g in groups_of(layout) if 0 in g.ranks]
    found = job(seen, in_blocks(2), traced=[0])
    check = one(coverage(found), "coverage", "tp")
    assert (check.status, check.found) == ("ok", "2 of 4 ranks in 1 group")
    assert check.because == "2 ranks in no group of those that were read"


def test_missing_ranks_are_listed():
    found = placed(Layout(tp=2, pp=1, dp=4), in_blocks(2), traced=[0, 1, 2, 4, 5, 6])
    check = traced(found)
    assert (check.status, check.level) == ("unknown", "remark")
    assert check.because == "not read: rank 3,7"
    assert traced(placed(Layout(2, 1, 2), in_blocks(2))).status == "ok"
    unsized = traced(replace(found, world=None))
    assert "do not tell how many ranks" in unsized.because


def test_members_are_those_of_the_order_that_fits():
    layout = Layout(tp=2, pp=2, dp=2)
    found = job(groups_of(layout, order=ORDERS[1]), in_blocks(2))
    checks, way = members(found, Planned(layout))
    assert way.order == "tp-cp-ep-pp-dp"
    assert all(check.status == "ok" for check in checks)
    checks, way = members(found, Planned(layout, ORDERS[0]))
    assert way.order == ORDERS[0]
    check = one(checks, "members", "pp")
    assert [wrong.ranks for wrong in check.broken] == [(0, 2), (1, 3), (4, 6), (5, 7)]
    assert check.expected == "0,4 | 1,5 | ..."
    assert one(checks, "members", "tp").status == "ok"


def test_an_incomplete_group_is_as_planned_if_its_known_ranks_are():
    layout = Layout(tp=4, pp=1, dp=2)
    known = group("tp", (4, 6), size=4)
    checks, _ = members(job([*groups_of(layout, []), known], in_blocks(4)), Planned(layout))
    assert one(checks, "members", "tp").status == "ok"
    known = group("tp", (3, 4), size=4)
    checks, _ = members(job([*groups_of(layout, []), known], in_blocks(4)), Planned(layout))
    assert one(checks, "members", "tp").status == "broken"


def test_members_of_another_number_of_ranks_are_not_compared():
    found = placed(Layout(tp=2, pp=1, dp=2), in_blocks(2))
    checks, way = members(found, Planned(PUBLISHED))
    assert way is None
    assert {check.status for check in checks} == {"unknown"}
    assert "has 1,024 ranks, the job 4" in checks[0].because


def test_ranks_beyond_the_layout_are_none_of_it():
    layout = Layout(tp=2, pp=1, dp=2)
    beyond = replace(
        job([*groups_of(layout, []), group("tp", (4, 5))], in_blocks(2)), world=None
    )
    checks, _ = members(beyond, Planned(layout))
    assert one(checks, "members", "tp").status == "broken"


# ------------------------------------------------------------------ world


def test_degrees_that_do_not_multiply_to_the_ranks_are_broken():
    groups = [
        group("default", range(8)),
        *(group("tp", (r, r + 1)) for r in range(0, 8, 2)),
    ]
    groups += [group("fsdp", (r, r + 2)) for r in (0, 1, 4, 5)]
    found = job(groups, in_blocks(2))
    check = world(found, seen_layout(found), None)
    assert check.status == "broken"
    assert check.found == "tp2 and dp·cp of 2, for 8 ranks"


def test_another_number_of_ranks_than_planned_is_broken():
    found = placed(Layout(tp=2, pp=1, dp=2), in_blocks(2))
    check = world(found, seen_layout(found), Planned(PUBLISHED))
    assert (check.status, check.found) == ("broken", "4 ranks")
    assert check.expected == "1,024 ranks, as tp8,pp16,dp8 has"


def test_what_no_group_tells_is_unknown():
    found = job(groups_of(Layout(tp=2, pp=1, dp=2), []), in_blocks(2))
    check = world(found, seen_layout(found), None)
    assert (check.status, check.found) == ("unknown", "no degree")


# ------------------------------------------------------------------ words


def test_a_remark_never_fails_and_a_warning_only_where_it_is_asked_for():
    wrong = (Broken((), (), ""),)
    for level, plain, strict in (
        ("rule", True, True),
        ("warning", False, True),
        ("remark", False, False),
    ):
        check = Check("x", "tp", level, "", "", 1, broken=wrong)
        assert check.fails(strict=False) is plain
        assert check.fails(strict=True) is strict
    assert not Check("x", "tp", "rule", "", "", 1).fails(strict=True)


@pytest.mark.parametrize(
    ("sizes", "said"),
    [([], "none"), ([4], "1 group of 4 ranks"), ([2, 8, 8], "2 groups of 8 ranks, 1 of 2")],
)
def test_sizes_are_counted_largest_first(sizes, said):
    assert tally(sizes) == said
