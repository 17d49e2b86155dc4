"""What an iteration takes: rooflines, rings, and numbers that are known."""

from dataclasses import replace
from math import inf, isnan, nan
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synctax.bandwidth.hardware import all_hardware
from synctax.cluster.characterize.gpus import PRECISIONS, gpu_type, gpu_types
from synctax.cluster.characterize.layers import Tally
from synctax.cluster.characterize.pool import default_pool, in_precision, workload
from synctax.cluster.characterize.profile import Assumptions, above_the_line, profile
from synctax.cluster.characterize.ring import ring_bytes, ring_s, two_level_s
from synctax.cluster.characterize.transformers import Stack
from synctax.cluster.characterize.workloads import Workload
from synctax.errors import SynctaxError
from synctax.planning.possible import ImpossibleError
from synctax.texts import number

V100 = gpu_type("v100")
NIC = 625e6
POOL = {one.name: one for one in default_pool()}

workers = st.integers(1, 4096)
payloads = st.floats(1, 1e12)
rates = st.floats(1e6, 1e12)
latencies = st.floats(0, 1e-3)


def profiled(one: Workload | str, gpus: int = 8, **options):
    options = {"gpu": V100, "nic_bytes_per_s": NIC, **options}
    return profile(POOL[one] if isinstance(one, str) else one, gpus, **options)


def hundred_mb(**more) -> Workload:
    return Workload(
        name="100 MB",
        dataset="",
        batch_per_gpu=1,
        parameters=25e6,
        gradient_bytes=100e6,
        flop_per_sample=1e12,
        dtype="fp32",
        source="",
        **more,
    )


@pytest.mark.parametrize(
    ("gpus", "network_s"), [(2, 0.16001), (4, 0.24003), (8, 0.28007), (16, 0.30015)]
)
def test_a_ring_takes_the_published_times(gpus, network_s):
    assert profiled(hundred_mb(), gpus).network_s == pytest.approx(network_s, abs=1e-12)


def test_a_ring_sends_the_published_bytes_at_nearly_the_rate_of_the_nic():
    one = profiled(hundred_mb(), 8)
    assert (one.sent_bytes_per_worker, 8 * one.sent_bytes_per_worker) == (175e6, 1.4e9)
    assert one.sent_bytes_per_worker / one.network_s / NIC == pytest.approx(
        0.9998, abs=1e-4
    )


@given(workers, payloads, rates, latencies)
def test_rings_take_longer_the_more_send_and_never_twice_the_payload(n, g, rate, latency):
    both = ring_s(n, g, rate, latency), ring_s(n + 1, g, rate, latency)
    assert both[0] < both[1]
    assert ring_bytes(n, g) < 2 * g
    assert both[0] == pytest.approx(ring_bytes(n, g) / rate + 2 * (n - 1) * latency)


@given(workers, payloads, rates, st.integers(1, 8), latencies)
def test_two_levels_of_one_rate_send_as_much_as_one_ring(n, g, rate, k, latency):
    both = two_level_s(n * k, k, g, (rate, rate), latency)
    # k - 1 over k in servers and m - 1 over m between them
    assert both >= ring_s(n * k, g, rate, 0.0) * (1 - 1e-9)
    assert two_level_s(n, 1, g, (1.0, rate), latency) == ring_s(n, g, rate, latency)
    assert two_level_s(k, k, g, (rate, 1.0), latency) == ring_s(k, g, rate, latency)


def test_two_levels_on_two_servers_of_four_put_the_gradients_through_each_nic_once():
    one = profiled(hundred_mb(), 8, assumptions=Assumptions(gpus_per_server=4))
    assert one.sent_bytes_per_worker == 100e6
    inside_s = 1.5 * 100e6 / 150e9 + 6 * 5e-6
    assert one.network_s == pytest.approx(inside_s + 100e6 / NIC + 2 * 5e-6)
    assert [(note.reason, note.count) for note in one.notes] == [("placement_assumed", 1)]
    assert "4 GPUs on each" in one.notes[0].detail
    assert "150 GB/s in servers of 4" in one.network_from
    assert "over 2 servers" in one.bytes_from


def test_two_levels_want_servers_that_divide_a_job_and_a_link_within_them():
    with pytest.raises(ImpossibleError, match="divides the 8 GPUs"):
        profiled("vgg-16", 8, assumptions=Assumptions(gpus_per_server=3))
    with pytest.raises(SynctaxError, match="how fast GPUs of a server send"):
        profiled("vgg-16", gpu=gpu_type("t4"), assumptions=Assumptions(gpus_per_server=4))


@pytest.mark.parametrize("one", POOL.values(), ids=POOL)
def test_one_worker_sends_nothing(one):
    alone = profiled(one, 1)
    assert (alone.network_s, alone.local_network_s, alone.sent_bytes_per_worker) == (
        0,
        0,
        0,
    )
    assert (alone.network_from, alone.bytes_from) == ("one worker", "one worker")
    assert alone.compute_s == profiled(one, 8).compute_s > 0


def test_infinite_nics_leave_the_steps_of_the_ring():
    assert profiled("vgg-16", 8, nic_bytes_per_s=inf).network_s == 14 * 5e-6


@given(st.floats(0.01, 2), st.floats(0.01, 1))
def test_compute_time_is_operations_over_a_share_of_the_peak_and_bytes_over_one_of_memory(
    share, memory
):
    one = profiled("resnet-50", assumptions=Assumptions(share, memory))
    of = POOL["resnet-50"]
    products_s = of.flop_per_sample / (share * 15.7e12)
    others_s = of.elementwise_bytes_per_sample / (memory * 900e9)
    assert one.compute_s == pytest.approx(64 * (products_s + others_s))


def test_a_profile_says_where_its_numbers_are_from():
    one = profiled("bert-base")
    assert one.compute_from == "roofline: 0.65 of 15.7 TFLOPS fp32, 0.75 of 900 GB/s"
    assert one.network_from == "ring: 0.625 GB/s, 5 µs a step"
    assert one.bytes_from == "ring of 436 MB of gradients"
    assert (one.gpu_type, one.barriers) == ("v100", 1)
    assert "GB/s" not in profiled(hundred_mb()).compute_from


def test_jobs_within_a_server_take_what_joins_its_gpus():
    assert profiled(hundred_mb()).local_network_s == ring_s(8, 100e6, 150e9, 5e-6)
    told = profiled(hundred_mb(), nvlink_bytes_per_s=10e9)
    assert told.local_network_s == ring_s(8, 100e6, 10e9, 5e-6)
    assert isnan(profiled(hundred_mb(), gpu=gpu_type("t4")).local_network_s)
    assert isnan(profiled(hundred_mb(), nvlink_bytes_per_s=nan).local_network_s)


# throughput of one GPU, published: samples a second


def bert_large() -> Workload:
    tally = Tally()
    Stack(24, 1024, 16, tokens=384, scored=384).add_to(tally)
    return workload("bert-large", tally, dataset="", batch_per_gpu=3, source="")


# NVIDIA: DeepLearningExamples, ResNet-50 v1.5 for PyTorch and BERT for TensorFlow 2
# (SQuAD); TENSORFLOW: performance benchmarks, synthetic data, batches of 64; LAMBDA: RTX
# 2080 Ti deep learning benchmarks, March 2019
@pytest.mark.parametrize(
    ("one", "gpu", "dtype", "per_s"),
    [
        (POOL["resnet-50"], "v100", "fp32", 367),  # NVIDIA
        (POOL["resnet-50"], "v100", "fp16", 1200),  # NVIDIA
        (POOL["resnet-50"], "a100", "tf32", 938),  # NVIDIA
        (POOL["resnet-50"], "a100", "fp16", 2470),  # NVIDIA
        (bert_large(), "v100", "fp32", 9.85),  # NVIDIA
        (bert_large(), "v100", "fp16", 39.1),  # NVIDIA, batches of 6
        (bert_large(), "v100", "fp16", 47.06),  # NVIDIA, batches of 12
        (bert_large(), "a100", "tf32", 43.9),  # NVIDIA
        (bert_large(), "a100", "fp16", 134.22),  # NVIDIA
        (POOL["resnet-50"], "p100", "fp32", 219),  # TENSORFLOW
        (POOL["inception-v3"], "p100", "fp32", 142),  # TENSORFLOW
        (POOL["inception-v3"], "v100", "fp32", 259),  # LAMBDA
    ],
)
def test_published_throughputs_are_met_within_a_factor_of_1_45(one, gpu, dtype, per_s):
    found = profiled(in_precision(one, dtype), 1, gpu=gpu_type(gpu))
    assert 1 / 1.45 < one.batch_per_gpu / found.compute_s / per_s < 1.45


@pytest.mark.parametrize(
    ("name", "gpu", "per_s", "over"),
    [
        # TENSORFLOW, CUDA 8 and cuDNN 5.1 of 2017
        ("vgg-16", "p100", 154, 0.46),
        ("resnet-50", "k80", 51.9, 1.55),
        ("inception-v3", "k80", 30.5, 2.15),
        ("vgg-16", "k80", 35.4, 0.82),
        # LAMBDA
        ("resnet-50", "v100", 405, 0.72),
    ],
)
def test_throughputs_that_shares_were_not_chosen_with_are_further_off(
    name, gpu, per_s, over
):
    one = POOL[name]
    found = profiled(one, 1, gpu=gpu_type(gpu))
    assert one.batch_per_gpu / found.compute_s / per_s == pytest.approx(over, abs=0.005)


def test_vgg_was_trained_with_fewer_multiplications_than_are_counted():
    # TENSORFLOW on a P100, as above: more operations a second than its peak has
    assert 154 * POOL["vgg-16"].flop_per_sample > 1.3 * gpu_type("p100").fp32_tflops * 1e12


def test_the_page_has_the_published_throughputs_as_they_are_computed():
    page = Path(__file__).parents[2] / "docs/characterizing.md"
    pool = {"bert-large, 384 tokens": bert_large(), **POOL}
    rows = [
        [cell.strip() for cell in line.strip("| ").split("|")]
        for line in page.read_text("utf-8").splitlines()
        if " ¹ |" in line or " ² |" in line or " ³ |" in line
    ]
    ratios = []
    for model, where, published, computed, over in rows:
        gpu, dtype = where.lower().split(", ")
        one = in_precision(pool[model.lower()], dtype)
        per_s = one.batch_per_gpu / profiled(one, 1, gpu=gpu_type(gpu)).compute_s
        ratio = per_s / float(published[:-2].replace(",", ""))
        assert number(per_s) == computed
        assert f"{ratio:.2f}" == over
        ratios.append(f"{ratio:.2f}")
    chosen, other = ratios[:12], ratios[12:]
    text = page.read_text("utf-8")
    assert f"from {min(chosen)} to {max(chosen)} of the published" in text
    assert f"from {min(other)} to {max(other)}" in text


# what is known


def test_what_is_known_is_taken_as_it_is():
    known = hundred_mb(compute_s=0.3, network_s=0.2, sent_bytes_per_worker=5e6, barriers=4)
    one = profiled(known, 4)
    assert (one.compute_s, one.network_s, one.sent_bytes_per_worker) == (0.3, 0.2, 5e6)
    assert (one.compute_from, one.network_from, one.bytes_from) == ("given",) * 3
    assert one.barriers == 4
    assert profiled(known, 1).network_s == 0


@given(st.integers(2, 64), st.integers(2, 64))
def test_what_is_known_of_other_numbers_of_gpus_is_scaled_as_a_ring(known, n):
    sent = ring_bytes(known, 100e6)
    given_for = hundred_mb(
        network_s=ring_s(known, 100e6, 1e9, 0.0),
        sent_bytes_per_worker=sent,
        measured_gpus=known,
    )
    one = profiled(given_for, n)
    assert one.sent_bytes_per_worker == pytest.approx(ring_bytes(n, 100e6))
    assert one.network_s == pytest.approx(ring_s(n, 100e6, 1e9, 0.0))
    assert (one.bytes_from == "given") == (n == known)


def test_what_is_known_of_one_gpu_tells_nothing_of_several():
    alone = hundred_mb(network_s=0.0, sent_bytes_per_worker=0.0, measured_gpus=1)
    with pytest.raises(SynctaxError, match="known on one GPU, where nothing is sent"):
        profiled(alone, 2)


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"gpus": 0}, "gpus"),
        ({"nic_bytes_per_s": 0.0}, "nic_bytes_per_s"),
        ({"nic_bytes_per_s": nan}, "nic_bytes_per_s"),
        ({"assumptions": Assumptions(efficiency=0.0)}, "efficiency"),
        ({"assumptions": Assumptions(memory_efficiency=inf)}, "memory_efficiency"),
        ({"assumptions": Assumptions(latency_s=-1.0)}, "latency_s"),
        ({"assumptions": Assumptions(gpus_per_server=0)}, "gpus_per_server"),
    ],
)
def test_what_cannot_be_is_refused_by_name(options, key):
    with pytest.raises(ImpossibleError) as refused:
        profiled("vgg-16", **options)
    assert refused.value.key == key


def test_a_model_that_no_gpu_can_hold_is_said_to_be_one():
    # 16 bytes a parameter in the 32 GB of a V100
    most = replace(hundred_mb(), parameters=2e9)
    assert profiled(most).notes == ()
    (note,) = profiled(replace(most, parameters=2.001e9)).notes
    assert note.reason == "state_exceeds_memory"
    assert "32 GB" in note.detail
    assert profiled(replace(most, parameters=1e12, compute_s=1.0)).notes == ()


@given(workers, payloads, rates)
def test_no_computed_profile_sends_faster_than_a_nic(n, g, rate):
    one = profiled(replace(hundred_mb(), gradient_bytes=g), n, nic_bytes_per_s=rate)
    assert above_the_line(one, rate) == ()


def test_a_given_profile_of_a_faster_network_is_said_to_be_one():
    known = hundred_mb(network_s=0.1, sent_bytes_per_worker=NIC)
    one = profiled(known)
    assert [note.reason for note in above_the_line(one, NIC)] == ["rate_above_nic"]
    assert above_the_line(one, 10 * NIC) == ()
    assert len(above_the_line(replace(one, network_s=0.0), NIC)) == 1


# kinds of GPUs


@pytest.mark.parametrize("gpu", gpu_types(), ids=lambda one: one.name)
def test_a_kind_of_gpu_is_found_in_any_case_and_has_its_source(gpu):
    assert gpu_type(f" {gpu.name.upper()} ") == gpu
    assert gpu.source
    peaks = [getattr(gpu, f"{one}_tflops") for one in PRECISIONS]
    assert peaks[0] > 0
    assert all(one is None or one >= peaks[0] for one in peaks)
    # tensor cores compute in precisions that the GPU has, about twice its FP32 or more
    cores = [getattr(gpu, f"{one}_tflops") for one in gpu.tensor_cores]
    assert "fp32" not in gpu.tensor_cores
    assert all(one > 1.9 * peaks[0] for one in cores)


def test_sixteen_bits_are_no_tensor_cores_before_volta():
    assert gpu_type("p100").fp16_tflops == 2 * gpu_type("p100").fp32_tflops
    without = [one.name for one in gpu_types() if not one.tensor_cores]
    assert without == ["k80", "p100"]
    assert gpu_type("v100").tensor_cores == gpu_type("t4").tensor_cores == ("fp16",)


def test_what_presets_of_hardware_tell_is_told_here_as_well():
    known = {one.name: one for one in all_hardware()}
    for name in ("a100", "h100", "h200", "b200"):
        same = known[name]
        assert gpu_type(name).bf16_tflops == same.bf16_tflops
        assert gpu_type(name).link_gb_per_s == same.link_gb_per_s
        assert same.source in gpu_type(name).source


def test_unknown_gpus_and_precisions_are_refused_with_those_there_are():
    with pytest.raises(SynctaxError, match="no GPU type 'a1000'; there are k80, p100"):
        gpu_type("a1000")
    with pytest.raises(SynctaxError, match=r"no GPU type 'Tesla .*; did you mean v100\?"):
        gpu_type("Tesla V100-SXM2-32GB")
    half = replace(POOL["vgg-16"], dtype="bf16")
    with pytest.raises(
        SynctaxError, match="v100 has no units for bf16; it computes in fp32"
    ):
        profiled(half)
