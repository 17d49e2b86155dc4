"""The runs of nccl-tests part ranks into the groups that the plan has, and no others."""

import re
from dataclasses import replace
from math import prod

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from synctax.errors import SynctaxError
from synctax.planning.domains import DIMENSIONS, place
from synctax.planning.grid import Axis, axes
from synctax.planning.inputs.named import read_model, read_platform
from synctax.planning.layout import Layout, Layouts, parse_layout
from synctax.planning.nccl.commands import BUCKET_PARAMETERS, Command, nccl_tests_commands
from synctax.planning.nccl.groups import select
from synctax.planning.platform import Tier
from synctax.planning.training import ORDERS, Assumptions, Training
from synctax.planning.volumes import volumes

LLAMA = read_model("llama3-405b")
DEEPSEEK = read_model("deepseek-v3")
HGX = read_platform("dgx-h100")
NVL72 = read_platform("gb200-nvl72")
EXAMPLE = Training(batch=2048, sequence=8192)


def colours(split: str, n: int) -> list[int]:
    """Colour ranks as nccl-tests do (src/common.cu)."""
    if not split:
        return [0] * n
    operation, text = split.split()
    value = int(text, 0)
    act = {
        "DIV": lambda rank: rank // value,
        "MOD": lambda rank: rank % value,
        "AND": lambda rank: rank & value,
    }[operation]
    return [act(rank) for rank in range(n)]


def parted(split: str, n: int) -> set[frozenset[int]]:
    groups: dict[int, set[int]] = {}
    for rank, colour in enumerate(colours(split, n)):
        groups.setdefault(colour, set()).add(rank)
    return {frozenset(group) for group in groups.values()}


def planned(grid: tuple[Axis, ...], names: set[str], n: int) -> set[frozenset[int]]:
    """Group the first n ranks that differ along the axes of `names` only."""
    sizes = [axis.size for axis in grid]
    groups: dict[tuple[int, ...], set[int]] = {}
    for rank in range(n):
        values = np.unravel_index(rank, sizes[::-1])[::-1]
        others = tuple(
            int(value)
            for axis, value in zip(grid, values, strict=True)
            if axis.name not in names
        )
        groups.setdefault(others, set()).add(rank)
    return {frozenset(group) for group in groups.values()}


degrees = st.lists(st.sampled_from([1, 2, 3, 4, 6, 8]), min_size=2, max_size=4).map(
    lambda sizes: axes([f"d{at}" for at in range(len(sizes))], sizes)
)


@given(degrees, st.data())
def test_colours_of_nccl_tests_are_the_groups_of_the_plan(grid, data):
    names = [axis.name for axis in grid]
    named = data.draw(st.sets(st.sampled_from(names), min_size=1))
    found = select(grid, tuple(named))
    assume(found is not None)
    assert parted(found.split, found.np) == planned(grid, named, found.np)
    assert found.ranks == prod(axis.size for axis in grid if axis.name in named)
    assert found.np * found.blocks == prod(axis.size for axis in grid)
    assert frozenset(found.members) in parted(found.split, found.np)
    assert found.block % found.ranks == 0
    assert found.np % found.block == 0


@given(degrees, st.data())
def test_any_one_dimension_can_be_run(grid, data):
    assert select(grid, (data.draw(st.sampled_from(grid)).name,)) is not None


def test_two_dimensions_apart_need_powers_of_two():
    names = ("tp", "cp", "pp", "dp")
    assert select(axes(names, (2, 3, 2, 2)), ("cp", "dp")) is None
    found = select(axes(names, (2, 4, 2, 2)), ("cp", "dp"))
    assert (found.split, found.ranks, found.groups) == ("AND 0x9", 8, 4)


def by_group(commands: tuple[Command, ...]) -> dict[tuple[str, str], Command]:
    return {(one.group, one.op): one for one in commands}


def example(layout: str, **changes: object) -> dict[tuple[str, str], Command]:
    training = replace(EXAMPLE, **changes)
    return by_group(nccl_tests_commands(LLAMA, HGX, training, parse_layout(layout)))


def test_the_worked_example_has_its_groups_and_payloads():
    found = example("tp8,pp16,dp8")
    assert list(found) == [
        ("tp", "all_reduce"),
        ("tp", "reduce_scatter"),
        ("tp", "all_gather"),
        ("dp", "reduce_scatter"),
        ("dp", "all_gather"),
        ("pp", "sendrecv"),
    ]
    # b·s·h of BF16 is printed as 268.4 MB, and each of eight ranks passes on its eighth
    assert found["tp", "all_gather"].payload_bytes == 8192 * 16384 * 2
    assert found["pp", "sendrecv"].payload_bytes == 8192 * 16384 * 2 // 8
    assert found["dp", "reduce_scatter"].payload_bytes == 4 * BUCKET_PARAMETERS
    assert found["dp", "all_gather"].payload_bytes == 2 * BUCKET_PARAMETERS
    rates = {one.group: (one.nic, one.busbw_gb_per_s) for one in found.values()}
    assert rates == {"tp": (False, 450.0), "dp": (True, 50.0), "pp": (True, 50.0)}


def test_a_line_can_be_run_as_it_stands():
    found = example("tp8,pp16,dp8")
    assert found["tp", "all_gather"].line == (
        "all_gather_perf -b 67108864 -e 1073741824 -f 2 -d bfloat16 -g 8"
    )
    assert found["pp", "sendrecv"].line == (
        "mpirun -np 1024 --hostfile hosts --map-by ppr:8:node "
        '-x NCCL_TESTS_SPLIT="MOD 64" '
        "sendrecv_perf -b 8388608 -e 134217728 -f 2 -d bfloat16 -g 1"
    )
    assert found["dp", "reduce_scatter"].line == (
        "mpirun -np 1024 --hostfile hosts --map-by ppr:8:node "
        '-x NCCL_TESTS_SPLIT="AND 0x3c7" '
        "reduce_scatter_perf -b 40000000 -e 640000000 -f 2 -d float -g 1"
    )


def test_a_sentence_says_what_is_checked():
    found = example("tp8,pp16,dp8")
    assert found["tp", "all_reduce"].checks == (
        "TP (8 ranks, neighbours) moves activations of a layer inside an NVLink domain: at "
        "most 450 GB/s of busbw, more where NVSwitches reduce (NVLS), on every host"
    )
    assert found["pp", "sendrecv"].checks == (
        "PP (16 ranks, 64 apart) moves activations from stage to stage over NICs: at most "
        "50 GB/s of busbw"
    )


def test_sizes_go_around_the_payload_by_doubling():
    for one in example("tp8,pp8,dp8,cp2").values():
        low, high = (int(text) for text in re.findall(r"-[be] (\d+)", one.line))
        sizes = [low * 2**at for at in range(10) if low * 2**at <= high]
        assert one.payload_bytes in sizes[1:-1]


def test_tp_over_two_hosts_has_all_their_nics():
    found = example("tp16,pp8,dp8")["tp", "all_reduce"]
    assert (found.ranks, found.groups, found.nic) == (16, 64, True)
    # eight ranks of it on each host, each with a NIC that the ring's channels share
    assert found.busbw_gb_per_s == 8 * 50.0
    assert "more where" not in found.checks


def test_a_fabric_of_faster_nics_is_bound_by_nvlink():
    fast = replace(HGX, nic_gb_per_s=100.0)
    found = by_group(
        nccl_tests_commands(LLAMA, fast, EXAMPLE, parse_layout("tp16,pp8,dp8"))
    )
    assert found["tp", "all_reduce"].busbw_gb_per_s == 450.0


def test_a_rack_of_72_runs_pipelines_rack_by_rack():
    training = replace(EXAMPLE, batch=2016)
    layout = parse_layout("tp8,pp9,dp14")
    found = by_group(nccl_tests_commands(LLAMA, NVL72, training, layout))
    pp = found["pp", "sendrecv"]
    assert (pp.nic, pp.busbw_gb_per_s, pp.groups) == (False, 900.0, 8)
    assert "-np 72 --hostfile hosts --map-by ppr:4:node" in pp.line
    assert pp.checks.endswith("on each of the 14 blocks of 72 ranks")
    assert found["dp", "all_gather"].nic


def test_tp_16_on_a_rack_of_72_is_bound_where_it_straddles():
    layout = parse_layout("tp16,pp9,dp7")
    found = by_group(nccl_tests_commands(LLAMA, NVL72, EXAMPLE, layout))["tp", "all_reduce"]
    # ranks 64 to 71 in one rack, 72 to 79 in the next
    assert (found.nic, found.busbw_gb_per_s) == (True, 400.0)


@pytest.mark.parametrize("order", ORDERS)
def test_cp_counts_into_the_group_that_reduces(order):
    layout = "tp8,pp8,dp8,cp2"
    over_both = example(layout, order=order)["dp", "reduce_scatter"]
    over_one = example(layout, order=order, shard_over="d")["dp", "reduce_scatter"]
    assert (over_both.ranks, over_one.ranks) == (16, 8)


def test_what_nccl_tests_cannot_part_is_run_without_cp():
    layout = "tp8,pp4,dp4,cp3"
    found = example(layout, order="tp-cp-ep-pp-dp")["dp", "reduce_scatter"]
    assert found.ranks == 4
    assert "gradients (DP without CP)" in found.checks
    assert example(layout, order="tp-cp-ep-dp-pp")["dp", "reduce_scatter"].ranks == 12


def test_keys_and_values_are_gathered_over_cp():
    found = example("tp8,pp8,dp8,cp2")
    # two times b·s·h_kv/t of BF16
    assert found["cp", "all_gather"].payload_bytes == 2 * 8192 * 1024 // 8 * 2
    assert found["cp", "reduce_scatter"].ranks == 2
    assert found["tp", "all_gather"].payload_bytes == 8192 // 2 * 16384 * 2


@pytest.mark.parametrize("model", [LLAMA, DEEPSEEK])
def test_all_layers_and_microbatches_gather_what_the_plan_sends(model):
    # gathered forward, and their gradients scattered back
    layout = parse_layout("tp4,pp1,dp8,cp4")
    found = by_group(nccl_tests_commands(model, HGX, EXAMPLE, layout))
    one = Layouts.of([layout])
    payload = found["cp", "all_gather"].payload_bytes * 3 / 4
    payload += found["cp", "reduce_scatter"].payload_bytes * 3 / 4
    planned = volumes(model, EXAMPLE, one).cp_bytes[0]
    assert payload * model.layers * 2048 / 8 == pytest.approx(planned)


def test_ranks_of_tp_beyond_the_heads_of_keys_hold_a_copy():
    found = example("tp16,pp4,dp8,cp2")
    assert found["cp", "all_gather"].payload_bytes == 2 * 8192 * 128 * 2


def test_a_whole_microbatch_is_passed_on_without_scatter_gather():
    found = example("tp8,pp16,dp8", scatter_gather=False)
    assert found["pp", "sendrecv"].payload_bytes == 8192 * 16384 * 2


def test_without_sequence_parallelism_tp_reduces_only():
    found = example("tp8,pp16,dp8", sequence_parallel=False)
    assert [op for group, op in found if group == "tp"] == ["all_reduce"]


@pytest.mark.parametrize(
    ("sharding", "ops"),
    [
        ("none", {"all_reduce": 4 * BUCKET_PARAMETERS}),
        ("optimizer", {"reduce_scatter": 4 * BUCKET_PARAMETERS, "all_gather": 80_000_000}),
        ("gradients", {"reduce_scatter": 4 * BUCKET_PARAMETERS, "all_gather": 80_000_000}),
    ],
)
def test_what_replicas_run_follows_from_what_they_shard(sharding, ops):
    found = example("tp8,pp16,dp8", sharding=sharding)
    sizes = {op: one.payload_bytes for (group, op), one in found.items() if group == "dp"}
    assert sizes == ops


def test_sharded_parameters_are_gathered_layer_by_layer():
    found = example("tp8,pp1,dp128", sharding="parameters")
    layer = LLAMA.parameters / 8 / 126
    assert found["dp", "all_gather"].payload_bytes == pytest.approx(2 * layer, rel=1e-8)
    assert found["dp", "reduce_scatter"].payload_bytes == pytest.approx(4 * layer, rel=1e-8)


def test_few_parameters_are_no_full_bucket():
    small = replace(LLAMA, parameters=8e6 * 8)
    found = by_group(nccl_tests_commands(small, HGX, EXAMPLE, parse_layout("tp8,pp1,dp2")))
    assert found["dp", "reduce_scatter"].payload_bytes == 4 * 8_000_000


def test_experts_send_tokens_over_their_group():
    training = Training(batch=2048, sequence=4096)
    layout = parse_layout("tp1,pp16,dp128,ep64")
    found = by_group(nccl_tests_commands(DEEPSEEK, HGX, training, layout))
    ep = found["ep", "alltoall"]
    assert (ep.ranks, ep.groups) == (64, 32)
    # eight copies of 4,096 tokens of 7,168 elements
    assert ep.payload_bytes == 8 * 4096 * 7168 * 2
    # 56 of 63 others are elsewhere, each over the rank's own NIC
    assert ep.busbw_gb_per_s == pytest.approx(50 * 63 / 56)
    assert found["edp", "reduce_scatter"].ranks == 2
    assert found["dp", "reduce_scatter"].ranks == 128


def test_experts_split_over_tp_are_as_far_apart():
    training = Training(batch=2048, sequence=4096)
    layout = parse_layout("tp4,pp4,dp16,ep8")
    split = by_group(nccl_tests_commands(DEEPSEEK, HGX, training, layout))
    training = replace(training, expert_tp=False)
    whole = by_group(nccl_tests_commands(DEEPSEEK, HGX, training, layout))
    assert "8 ranks, 4 apart" in split["ep", "alltoall"].checks
    assert "8 ranks, neighbours" in whole["ep", "alltoall"].checks
    assert split["ep", "alltoall"].payload_bytes == 8 * 4096 * 7168 * 2 // 4
    assert whole["edp", "all_gather"].ranks == 8


def test_experts_that_do_not_spread_are_named():
    with pytest.raises(SynctaxError, match=r"1 times 3 ranks .* tp·cp·dp = 8 ranks"):
        nccl_tests_commands(DEEPSEEK, HGX, EXAMPLE, Layout(tp=1, pp=1, dp=8, ep=3))
    other = replace(EXAMPLE, order=ORDERS[1])
    with pytest.raises(SynctaxError, match="in the order tp-cp-ep-pp-dp"):
        nccl_tests_commands(DEEPSEEK, HGX, other, Layout(tp=1, pp=2, dp=8, ep=4))


def test_one_rank_has_nothing_to_run():
    assert nccl_tests_commands(LLAMA, HGX, EXAMPLE, Layout(tp=1, pp=1, dp=1)) == ()


def test_hosts_of_several_groups_need_processes():
    found = example("tp4,pp1,dp2")
    assert found["tp", "all_gather"].line.startswith(
        'mpirun -np 8 --map-by ppr:8:node -x NCCL_TESTS_SPLIT="DIV 4" all_gather_perf'
    )
    assert not found["dp", "all_gather"].nic


def test_one_group_over_hosts_is_not_split():
    found = example("tp1,pp1,dp16")
    assert "NCCL_TESTS_SPLIT" not in found["dp", "all_gather"].line
    alone = example("tp2,pp1,dp1")["tp", "all_reduce"]
    assert alone.line.endswith("-g 2")
    assert not alone.checks.endswith("on every host")


def test_efficiencies_and_crowded_tiers_lower_what_is_expected():
    crowded = replace(HGX, tiers=(Tier(64, 2.0), Tier(512, 7.0)))
    taken = Assumptions(nvlink_efficiency=0.8, nic_efficiency=0.9)
    layout = parse_layout("tp8,pp16,dp8")
    found = by_group(nccl_tests_commands(LLAMA, crowded, EXAMPLE, layout, taken))
    assert found["tp", "all_gather"].busbw_gb_per_s == pytest.approx(360)
    rates = {one.busbw_gb_per_s for one in found.values() if one.nic}
    # 64 groups of DP leave a block of 64, whose uplinks carry 32 NICs, and 8 pipelines;
    # those of 512 carry 73
    assert rates == {50 * 0.9, 50 * 0.9 / 2}
    assert found["dp", "reduce_scatter"].busbw_gb_per_s == 50 * 0.9 / 2
    assert found["pp", "sendrecv"].busbw_gb_per_s == 50 * 0.9


layouts = st.builds(
    Layout,
    tp=st.sampled_from([1, 2, 4, 8, 16]),
    pp=st.sampled_from([1, 2, 3, 9]),
    dp=st.sampled_from([1, 2, 5, 8]),
    cp=st.sampled_from([1, 2, 4]),
)


@settings(max_examples=60)
@given(
    layouts,
    st.sampled_from([HGX, NVL72, replace(HGX, domain=6, gpus_per_host=2)]),
    st.sampled_from(ORDERS),
)
def test_what_leaves_a_domain_is_what_the_plan_says(layout, platform, order):
    training = replace(EXAMPLE, order=order)
    one = Layouts.of([layout])
    sent = volumes(LLAMA, training, one)
    table = np.array([getattr(sent, f"{name}_bytes") for name in DIMENSIONS])
    inside = place(platform, training, one, table).inside[:, 0]
    for command in nccl_tests_commands(LLAMA, platform, training, layout):
        if "without CP" not in command.checks:
            assert command.nic == (not inside[DIMENSIONS.index(command.group)])
        assert 0 < command.busbw_gb_per_s <= platform.nvlink_gb_per_s
