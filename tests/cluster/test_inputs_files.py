"""Clusters and pools of workloads from YAML: what is read, what is refused, and how."""

from contextlib import suppress
from dataclasses import replace
from math import inf, isnan, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synctax.cluster.characterize.gpus import gpu_type, near_gpu
from synctax.cluster.characterize.profile import profile
from synctax.cluster.characterize.workloads import Workload
from synctax.cluster.inputs import cluster_file, pool
from synctax.cluster.inputs.cluster_file import MOST_SERVERS, cluster_of
from synctax.cluster.inputs.named import cluster_names, read_cluster
from synctax.cluster.inputs.pool import Pool, pool_of, read_pool
from synctax.cluster.machines import Cluster, SwitchTier, check, uniform
from synctax.cluster.model_names import plain
from synctax.errors import BadInputError, SynctaxError
from synctax.planning.inputs.yaml_file import read_yaml
from synctax.planning.possible import ImpossibleError
from synctax.texts import number

ONE = "servers: [{gpus: 8, nic_bytes_per_s: 625e6}]\n"
MADE = "workloads:\n- {name: w, compute_s: 1, gradient_bytes: 1e8}\n"


def cluster(text: str) -> Cluster:
    return cluster_of(read_yaml(text.encode(), name="x.yaml", kind="a cluster"), name="x")


def workloads(text: str) -> Pool:
    return pool_of(read_yaml(text.encode(), name="x.yaml", kind="a pool"), name="x")


def group(**keys: object) -> str:
    usual = {"gpus": 8, "nic_bytes_per_s": "625e6"} | keys
    return "{" + ", ".join(f"{key}: {value}" for key, value in usual.items()) + "}"


def refused(text: str, read=cluster) -> str:
    with pytest.raises(BadInputError) as caught:
        read(text)
    return str(caught.value).removeprefix("x.yaml")


sizes = st.integers(1, 40)
rates = st.floats(1e7, 1e11)


@settings(max_examples=50)
@given(
    st.lists(st.tuples(sizes, sizes, rates, st.floats(0.1, 9)), min_size=1, max_size=4),
    st.sampled_from(("fifo", "easy")),
)
def test_groups_come_out_server_by_server_in_their_order(groups, queue):
    keys = ("count", "gpus", "nic_bytes_per_s", "speed")
    lines = [f"- {group(**dict(zip(keys, one, strict=True)))}" for one in groups]
    found = cluster("\n".join([f"queue: {queue}", "servers:", *lines]))
    assert found.servers == sum(one[0] for one in groups)
    expected = [one[1:] for one in groups for _ in range(one[0])]
    columns = (found.gpus, found.nic_bytes_per_s, found.speed)
    assert list(zip(*(one.tolist() for one in columns), strict=True)) == expected
    assert (found.queue, found.policy, found.name) == (queue, "bin-packing", "x")


VALUES = ("0", "1", "8", "1e9", "-1", "x", "null", "[]", "[1]", "{a: 1}", f"[{group()}]")


@given(st.dictionaries(st.sampled_from(cluster_file.KEYS), st.sampled_from(VALUES)))
def test_whatever_keys_say_a_cluster_can_be_or_is_refused(values):
    text = "\n".join(f"{key}: {value}" for key, value in values.items())
    with suppress(BadInputError):
        check(cluster(text))


@given(st.dictionaries(st.sampled_from(pool.WORKLOAD_KEYS), st.sampled_from(VALUES)))
def test_whatever_keys_say_a_pool_can_be_drawn_from_or_is_refused(values):
    inside = "\n".join(f"  {key}: {value}" for key, value in values.items())
    with suppress(BadInputError):
        assert workloads(f"workloads:\n-\n{inside}").draw(3, 0).tolist() == [0, 0, 0]


def test_the_testbeds_of_the_paper_are_built_in():
    assert cluster_names() == ("mosim-2x8", "mosim-4x8")
    for servers, name in ((2, "mosim-2x8"), (4, "MOSIM-4x8")):
        found = read_cluster(name)
        assert found.gpus.tolist() == [8] * servers
        assert set(found.nic_bytes_per_s.tolist()) == {5e9 / 8}
        assert (found.reference_gpu, found.name) == ("v100", name.lower())
        assert (found.policy, found.queue, found.notes) == ("bin-packing", "backfill", ())


def test_a_file_is_called_by_its_name_unless_it_tells(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(ONE)
    assert read_cluster(path).name == "mine"
    path.write_text(f"name: ours\n{ONE}")
    assert read_cluster(str(path)).name == "ours"
    with pytest.raises(SynctaxError, match=r"no cluster 'mosim-3x8' is built in; did you"):
        read_cluster("mosim-3x8")
    with pytest.raises(SynctaxError, match="a cluster is not read from stdin"):
        read_cluster("-")


def test_all_that_a_cluster_may_tell_is_read():
    found = cluster(
        "policy: least-allocated\nqueue: EASY\nreference_gpu: a100\nsource: here\n"
        f"servers:\n- {group(count=4, gpu_type='A100', nvlink_bytes_per_s='3e11')}\n"
        "tiers: [{servers: 2, oversubscription: 3}]\n"
    )
    assert (found.policy, found.queue) == ("least-allocated", "easy")
    assert found.gpu_type == ("a100",) * 4
    assert found.nvlink_bytes_per_s.tolist() == [3e11] * 4
    assert found.tiers == (SwitchTier(2, 3.0),)
    assert found.notes == ()


def compute_s(one: Workload, gpu: str) -> float:
    return profile(one, 1, gpu=gpu_type(gpu), nic_bytes_per_s=inf).compute_s


@pytest.mark.parametrize(
    ("gpu", "of_resnet"), [("p100", 0.71), ("a100", 1.44), ("h100", 4.1), ("k80", 0.274)]
)
def test_the_speed_of_other_gpus_is_that_of_the_roofline(gpu, of_resnet):
    servers = f"servers:\n- {group(gpu_type='v100')}\n- {group(gpu_type=gpu, count=2)}\n"
    found = cluster(servers)
    ratios = {
        one.name: compute_s(one, "v100") / compute_s(one, gpu)
        for one in read_pool().workloads
    }
    assert ratios["resnet-50"] == pytest.approx(of_resnet, rel=0.01)
    mean = np.exp(np.mean(np.log([*ratios.values()])))
    np.testing.assert_allclose(found.speed, [1, mean, mean])
    assert min(ratios.values()) < mean < max(ratios.values())
    note = found.notes[0]
    assert (note.reason, note.count) == ("speed_of_roofline", 2)
    assert "relative to v100" in note.detail
    assert f"{gpu} {number(mean)} in fp32 (" in note.detail
    assert f"{number(min(ratios.values()))} to " in note.detail
    # relative to another kind, all speeds change by one factor
    other = cluster(f"reference_gpu: {gpu}\n{servers}")
    np.testing.assert_allclose(other.speed, found.speed / mean)


def test_speeds_are_of_the_workloads_of_a_pool_in_their_precision():
    text = f"servers:\n- {group(gpu_type='v100')}\n- {group(gpu_type='p100')}\n"
    shape = "batch_per_gpu: 8, flop_per_sample: 1e12, parameters: 1e8"
    mixed = workloads(
        f"workloads:\n- {{name: h, {shape}, dtype: fp16, weight: 3}}\n"
        f"- {{name: f, {shape}}}\n- {{name: m, compute_s: 1, gradient_bytes: 1}}\n"
    )
    section = read_yaml(text.encode(), name="x.yaml", kind="a cluster")
    h, f, _ = mixed.workloads
    half = compute_s(h, "v100") / compute_s(h, "p100")
    full = compute_s(f, "v100") / compute_s(f, "p100")
    found = cluster_of(section, name="x", pool=mixed)
    np.testing.assert_allclose(found.speed[1], half**0.75 * full**0.25)
    assert "in fp16/fp32 (" in found.notes[0].detail
    # a K80 has no units for FP16 and computes in FP32
    section = read_yaml(text.replace("p100", "k80").encode(), name="x", kind="a cluster")
    half, full = (compute_s(one, "v100") / compute_s(f, "k80") for one in (h, f))
    found = cluster_of(section, name="x", pool=mixed)
    np.testing.assert_allclose(found.speed[1], half**0.75 * full**0.25)
    # where all bring their own times, those that are built in tell it
    known = workloads(MADE)
    assert (
        cluster_of(section, name="x", pool=known).speed[1]
        == cluster_of(section, name="x").speed[1]
    )


def test_speeds_that_the_file_tells_are_taken():
    found = cluster(
        f"servers:\n- {group(gpu_type='v100')}\n- {group(gpu_type='x', speed=3)}\n"
    )
    assert found.speed.tolist() == [1, 3]
    assert found.notes == ()


def test_what_is_odd_about_a_cluster_is_noted():
    found = cluster(
        f"servers: [{group(nic_bytes_per_s=5)}, {group()}]\n"
        "tiers: [{servers: 2, oversubscription: 2}]"
    )
    assert [(note.reason, note.count) for note in found.notes] == [
        ("nic_unusual", 1),
        ("tier_of_all_servers", 1),
    ]
    assert "5 Gb/s are 625e6" in found.notes[0].detail


def test_a_last_block_of_fewer_servers_is_noted():
    (note,) = cluster(
        f"servers: [{group(count=4)}]\ntiers: [{{servers: 3, oversubscription: 2}}]"
    ).notes
    assert (note.reason, note.count) == ("last_block_smaller", 1)
    assert "last block has 1 of 3 servers" in note.detail
    tiers = "tiers: [{servers: 2, oversubscription: 2}]"
    assert cluster(f"servers: [{group(count=4)}]\n{tiers}").notes == ()


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("Tesla V100-SXM2-32GB", "v100"),
        ("V100-SXM2-32GB", "v100"),
        ("NVIDIA A100-SXM4-80GB", "a100"),
        ("NVIDIA H100 80GB HBM3", "h100"),
        ("Tesla P100-PCIE-16GB", "p100"),
        ("Tesla T4", "t4"),
        ("H-100", "h100"),
        ("NVIDIA A10G", "a10"),
        ("NVIDIA GeForce RTX 2080", ""),
        ("", ""),
    ],
)
def test_kinds_of_gpus_are_meant_by_names_that_nvidia_smi_writes(said, kind):
    assert near_gpu(said) == kind


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ": expected a cluster, found an empty file"),
        ("servers: []", ", line 1: servers is a list; expected groups of servers such as"),
        ("policy: fifo", ": servers is missing; expected groups of servers such as [{co"),
        ("servers: 4", ", line 1: servers is '4'; expected a list of mappings such as"),
        ("nodes: 4", ", line 1: unknown key nodes; did you mean servers?"),
        ("servers: [{gpus: 8}]", ", line 1: servers[0].nic_bytes_per_s is missing"),
        ("servers: [{nic_bytes_per_s: 1}]", ", line 1: servers[0].gpus is missing"),
        (
            f"servers: [{group(nic_gbps=5)}]",
            ", line 1: unknown key servers[0].nic_gbps; did you mean nic_bytes_per_s (byt",
        ),
        (
            f"servers: [{group(gpus=2048)}]",
            ", line 1: servers[0].gpus is '2048'; exp",
        ),
        (
            f"servers:\n- {group()}\n- {group(count=MOST_SERVERS)}",
            ", line 3: servers[1].count is '1000000'; expected no more than 1,000,000",
        ),
        (f"servers: [{group(speed=0)}]", ", line 1: servers[0].speed is '0'; expected a"),
        (
            ONE + "queue: lifo",
            ", line 2: queue is 'lifo'; expected backfill or fifo or easy",
        ),
        (
            ONE + "policy: binpacking",
            ", line 2: policy is 'binpacking'; expected one of bin-packing, most-allocat",
        ),
        (
            ONE + "policy: os:getcwd",
            ", line 2: policy is 'os:getcwd'; expected one of bin-packing, most-allocated",
        ),
        (
            ONE + "reference_gpu: abc",
            ", line 2: reference_gpu is 'abc'; expected one of k80",
        ),
        (
            ONE + "tiers: [{servers: 1, oversubscription: 2}]",
            ", line 2: tiers[0].servers is '1'; expected more than 1 servers",
        ),
        (
            ONE + "tiers: [{servers: 2, oversubscription: 0.5}]",
            ", line 2: tiers[0].oversubscription is '0.5'; expected a number of 1 or more",
        ),
        (
            f"servers: [{group(gpu_type='v100')}, {group(gpu_type='a101')}]",
            ", line 1: servers[1].gpu_type is 'a101'; expected a10",
        ),
        (
            f"servers: [{group(gpu_type='v100')}, {group(gpu_type='zz')}]",
            ", line 1: servers[1].gpu_type is 'zz'; expected one of k80",
        ),
        (
            f"servers: [{group(gpu_type='v100')}, {group()}]",
            ", line 1: servers[1].gpu_type is missing; expected one of k80",
        ),
        (
            f"servers: [{group()}, {group(gpu_type='v100')}]",
            ", line 1: servers[1].speed is missing; expected a number, 1 for as fast as",
        ),
        (
            f"servers: [{group(gpu_type='tpu')}, {group(gpu_type='v100')}]",
            ", line 1: servers[1].speed is missing; expected a number, 1 for as fast as '",
        ),
    ],
)
def test_clusters_that_cannot_be_are_refused(text, said):
    message = refused(text)
    assert message.startswith(said)


def test_the_built_in_pool_has_the_twelve_workloads_of_the_paper():
    found = read_pool()
    assert found.name == read_pool(" Default").name == "default"
    assert len(found.workloads) == len({plain(one) for one in found.names}) == 12
    assert len(set(found.draw(1000, 0).tolist())) == 12


def test_all_that_a_pool_may_tell_is_read(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(
        "source: here\n"
        "workloads:\n"
        "- {name: computed, dataset: d, batch_per_gpu: 4, parameters: 1e8, dtype: FP16,\n"
        "   flop_per_sample: 6e9, elementwise_bytes_per_sample: 5, barriers: 3}\n"
        "- {name: measured, compute_s: 0.2, network_s: 0.1, sent_bytes_per_worker: 1e8,\n"
        "   measured_gpus: 8, weight: 3}\n"
    )
    found = read_pool(path)
    one, other = found.workloads
    assert found.name == "mine"
    assert found.weights.tolist() == [1, 3]
    assert (one.dataset, one.batch_per_gpu, one.dtype, one.barriers) == ("d", 4, "fp16", 3)
    # gradients are in FP32 also where matrix products are not
    assert one.gradient_bytes == 4e8
    assert (one.compute_s, one.measured_gpus, one.elementwise_bytes_per_sample) == (
        None,
        None,
        5,
    )
    assert (other.compute_s, other.network_s, other.sent_bytes_per_worker) == (
        0.2,
        0.1,
        1e8,
    )
    assert (other.measured_gpus, other.barriers) == (8, 1)
    assert isnan(other.gradient_bytes)
    assert other.source == f"{path}, line 5"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name: x", ": workloads is missing; expected a list such as [{name: mine"),
        ("workloads: [{compute_s: 1}]", ", line 1: workloads[0].name is missing; expected"),
        ("workloads: [{name: '--'}]", ", line 1: workloads[0].name is '--' in quotes"),
        (
            MADE + "- {name: W, compute_s: 1, gradient_bytes: 1}",
            ", line 2: workloads[0].",
        ),
        (MADE + "  dtype: fp8", ", line 3"),
        (
            "workloads: [{name: w, dtype: fp8}]",
            ", line 1: workloads[0].dtype is 'fp8'; expected one of fp32, tf32, fp16, bf16",
        ),
        (
            "workloads: [{name: w, batch: 8}]",
            ", line 1: unknown key workloads[0].batch; did you mean batch_per_gpu?",
        ),
        (
            "workloads: [{name: w, gradient_bytes: 1}]",
            ", line 1: workloads[0].batch_per_gpu is missing",
        ),
        (
            "workloads: [{name: w, gradient_bytes: 1, batch_per_gpu: 1}]",
            ", line 1: workloads[0].flop_per_sample is missing",
        ),
        (
            "workloads: [{name: w, compute_s: 1}]",
            ", line 1: workloads[0].gradient_bytes is missing; expected a number above 0",
        ),
        (
            "workloads: [{name: w, compute_s: 1, network_s: 1}]",
            ", line 1: workloads[0].sent_bytes_per_worker is missing; expected a",
        ),
        (
            "workloads: [{name: w, compute_s: 1, sent_bytes_per_worker: 1}]",
            ", line 1: workloads[0].network_s is missing; expected a number, as",
        ),
        (
            "workloads: [{name: w, compute_s: 1, network_s: 0, sent_bytes_per_worker: 1}]",
            ", line 1: workloads[0].network_s is '0'; expected a number above 0, as bytes",
        ),
        (
            "workloads: [{name: w, compute_s: 1, gradient_bytes: 1, weight: 1e13}]",
            ", line 1: workloads[0].weight is '1e13'; expected at most 1e+12",
        ),
    ],
)
def test_pools_that_cannot_be_are_refused(text, said):
    assert refused(text, workloads).startswith(said)


def test_a_pool_that_is_not_there_is_refused():
    with pytest.raises(SynctaxError, match=r"none\.yaml: no such file .* in: default"):
        read_pool("none.yaml")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"gpus": np.array([0, 8])}, "gpus is 0; expected 1 or more"),
        ({"nic_bytes_per_s": np.array([1.0, nan])}, "nic_bytes_per_s is nan; expected abo"),
        ({"speed": np.array([1.0, inf])}, "speed is inf; expected above 0, and finite"),
        ({"nvlink_bytes_per_s": np.array([nan, -1])}, "nvlink_bytes_per_s is -1; expected"),
        ({"tiers": (SwitchTier(2, nan),)}, r"tiers\[0\].oversubscription is nan; expected"),
        (
            {"tiers": (SwitchTier(3, 1), SwitchTier(4, 1))},
            r"tiers\[1\].servers is 4; expec",
        ),
        ({"queue": "lifo"}, "queue is 'lifo'; expected backfill or fifo or easy"),
    ],
)
def test_clusters_made_by_code_are_checked_too(changed, said):
    with pytest.raises(ImpossibleError, match=f"^{said}"):
        check(replace(uniform(2, 8, 1e9), **changed))


def test_a_cluster_has_servers_and_columns_of_one_length():
    with pytest.raises(ImpossibleError, match=r"^servers is 0; expected one"):
        check(uniform(0, 8, 1e9))
    with pytest.raises(ValueError, match="columns of a cluster differ in length"):
        check(replace(uniform(2, 8, 1e9), speed=np.ones(3)))
