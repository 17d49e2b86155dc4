"""Profiles out of SimAI's times and AICB's workloads, and files that are neither."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synctax.cluster.characterize.simai import from_simai
from synctax.cluster.characterize.simai_csv import TOTALS, read_simai, simai_of
from synctax.cluster.characterize.simai_workload import read_workload, workload_of
from synctax.errors import BadInputError, SynctaxError
from tests.laws import examples

COLUMNS = (
    "fwd compute,wg compute,ig compute,fwd exposed comm,wg exposed comm,ig exposed comm,"
    "fwd total comm,algbw,busbw,wg total comm,algbw,busbw,ig total comm,algbw,busbw"
)


def times_file(
    *layers: tuple[float, ...],
    pipeline: float = 0,
    bubble: float = 0,
    packets: bool = False,
) -> str:
    """Layers are (forward, weights, inputs) computed, then exposed, in µs.

    With packets simulated, numbers are in full, sums follow, and the total leaves the
    pipeline out.
    """
    sums = [sum(column) for column in zip(*layers, strict=True)]
    compute, exposed = sum(sums[:3]), sum(sums[3:])
    total = compute + exposed + (0 if packets else pipeline + bubble)
    totals = 0, 0, exposed, 0, pipeline, bubble, compute, exposed, total
    shares = ", ".join(
        f"{one:.0f} ({100 * one / (total or 1):.2f}%)" for one in totals[:-1]
    )
    form = "{:.6f}" if packets else "{:.0f}"
    lines = [
        "File name, " + ", ".join(TOTALS),
        f"a,run, {shares}, {total:.0f}",
        f"layer_name,a,run,{COLUMNS}" + (",workload finished at" if packets else ""),
    ]
    for layer in layers:
        told = ",".join(form.format(one) for one in layer)
        lines.append(f"attention,a,run,{told},1,0.00,0.00,1,0.00,0.00,1,0.00,0.00")
    if packets:
        lines.append(
            "SUM,a,run," + ",".join(form.format(one) for one in sums) + ",1,NONE,NONE"
        )
        parts = zip(("total exposed comm", "total comp", "total time"),
                    (exposed, compute, total), strict=True)  # fmt: skip
        lines.append(",".join(f"{what},{form.format(one)}" for what, one in parts))
    return "\n".join(lines) + "\n"


def times(text: str):
    return simai_of(text.encode(), name="EndToEnd.csv")


LAYERS = ((556.4, 1.2, 1.3, 100.5, 0, 20.5), (600.5, 1.2, 1.3, 0, 300.25, 0))

HEADER = (
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 2 pp: 2 vpp: 1 ga: 3 "
    "all_gpus: 16 checkpoints: 0 checkpoint_initiates: 0 pp_comm: 1000.0"
)
WORKLOAD = f"""{HEADER}
3
embedding -1 500 ALLREDUCE 100 1 NONE 0 1 ALLGATHER 400 100
moe\t-1\t70\tALLTOALL_EP\t800\t1\tALLTOALL_EP\t800\t1\tREDUCESCATTER_DP_EP\t600\t100

norm -1 0 BROADCAST 50 1 NONE 0 1 NONE 0 100
"""


def workload(text: str = WORKLOAD):
    return workload_of(text.encode(), name="aicb.txt")


# ------------------------------------------------------------------ times


@pytest.mark.parametrize("packets", [False, True])
def test_computation_and_exposed_communication_are_those_of_all_layers(packets):
    found = times(times_file(*LAYERS, packets=packets))
    slack = 0.001 if packets else 1
    assert found.compute_us == pytest.approx(1_161.9, abs=slack)
    assert found.exposed_us == pytest.approx(421.25, abs=slack)
    assert found.total_us == pytest.approx(1_583.15, abs=slack)
    assert found.layers == 2
    profile = from_simai(found, gpus=8, iterations=2)
    assert profile.compute_s == pytest.approx(found.compute_us / 2e6)
    assert profile.network_s == pytest.approx(found.exposed_us / 2e6)
    assert (profile.workload, profile.gpus) == ("EndToEnd", 8)


@settings(max_examples=examples(40))
@given(
    st.lists(st.tuples(*[st.floats(0, 1e9)] * 6), min_size=1, max_size=6),
    st.floats(0, 1e8),
    st.floats(0, 1e8),
    st.booleans(),
)
def test_the_parts_of_a_profile_add_up_to_the_total(layers, pipeline, bubble, packets):
    text = times_file(*layers, pipeline=pipeline, bubble=bubble, packets=packets)
    found = times(text)
    profile = from_simai(found, gpus=4)
    total_us = (profile.compute_s + profile.network_s) * 1e6
    assert total_us == pytest.approx(found.total_us, abs=4, rel=2e-6)


def test_the_pipeline_counts_where_the_total_has_it():
    found = times(times_file(*LAYERS, pipeline=40, bubble=500))
    profile = from_simai(found, gpus=8)
    assert profile.compute_s == pytest.approx(1_662e-6, abs=1e-6)
    assert profile.network_s == pytest.approx(461e-6, abs=1e-6)
    assert "500 µs of waiting" in profile.notes[0].detail
    left_out = from_simai(
        times(times_file(*LAYERS, pipeline=40, bubble=500, packets=True)), gpus=8
    )
    assert left_out.network_s == pytest.approx(421.25e-6)
    assert "left out" in left_out.notes[0].detail


def test_times_without_totals_above_are_those_of_earlier_versions():
    text = times_file(*LAYERS, packets=True).split("\n", 2)[2]
    assert times(text).compute_us == pytest.approx(1_161.9)


def test_no_computation_is_noted():
    profile = from_simai(times(times_file((0, 0, 0, 5, 5, 5))), gpus=2)
    assert (
        "--aiob_enable" in {n.reason: n.detail for n in profile.notes}["simai_no_compute"]
    )


@pytest.mark.parametrize("packets", [False, True])
def test_times_cut_anywhere_are_refused_or_the_same(packets):
    text = times_file(*LAYERS, pipeline=40, bubble=500, packets=packets)
    whole = times(text)
    kept = 0
    for size in range(len(text)):
        try:
            cut = times(text[:size])
        except BadInputError as error:
            last = error
            continue
        kept += 1
        assert cut.compute_us == pytest.approx(whole.compute_us, abs=1)
        assert cut.exposed_us == pytest.approx(whole.exposed_us, abs=1)
    assert str(last).startswith("EndToEnd.csv")
    assert kept < 0.35 * len(text)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("File name", "file", "line 1: expected .*'File name, ...'"),
        ("bubble time", "bubbles", "line 1: expected .*columns Expose DP comm"),
        ("40 (", "NaN or Inf (", "line 2: expected .*Expose_PP_comm in µs, found 'NaN"),
        ("40 (", "-40 (", "line 2: .*Expose_PP_comm in µs"),
        ("40 (", "140 (", "expected a total time of 1,583 µs, or of 2,223"),
        ("a,run, 0 (0.00%), 0 (0.00%), ", "", "line 2: expected .* 9 totals"),
        ("fwd compute", "forward", "line 3: expected .*a column fwd compute"),
        ("attention,a,run,556", "attention,a,run,9556", "layers are missing"),
        (
            "attention,a,run,556",
            "attention,a,run,x",
            "line 4: .*fwd compute in µs, found 'x",
        ),
        (
            "attention,a,run,556,1,1,100",
            "attention,a,run,556",
            "line 4: .*a layer's columns",
        ),
        ("layer_name", "File name, x\nlayer_name", "line 3: .*found totals twice"),
    ],
)
def test_times_that_cannot_be_are_refused(old, new, problem):
    text = times_file(*LAYERS, pipeline=40, bubble=500)
    if "layer's columns" in problem:
        text = text.replace(",1,0.00,0.00,1,0.00,0.00,1,0.00,0.00", "")
    assert old in text
    with pytest.raises(BadInputError, match=problem):
        times(text.replace(old, new))


def test_two_runs_and_broken_sums_are_refused():
    text = times_file(*LAYERS, packets=True)
    with pytest.raises(BadInputError, match="found totals twice"):
        times(text + text.splitlines()[-1])
    with pytest.raises(BadInputError, match=r"line 7: .*total exposed comm, total comp"):
        times(text.replace("total time", "total"))
    with pytest.raises(BadInputError, match=r"byte 0: .*no UTF-8"):
        simai_of(b"\xff", name="EndToEnd.csv")
    with pytest.raises(BadInputError, match="its end without totals"):
        simai_of(b"\n", name="EndToEnd.csv")


def test_ten_megabytes_of_nonsense_are_refused(tmp_path):
    path = tmp_path / "EndToEnd.csv"
    path.write_bytes(b"0,1,2" * 2_000_000)
    with pytest.raises(BadInputError, match=r"line 1: .*found a line of 10,000,000 bytes"):
        read_simai(path)


# ------------------------------------------------------------------ workloads


def test_a_workload_sends_what_its_groups_do():
    found = workload()
    assert found.degrees == {"tp": 2, "ep": 2, "pp": 2, "vpp": 1, "ga": 3, "gpus": 16}
    assert found.compute_ns.sum() == 500 + 70 + 6
    profile = from_simai(times(times_file(*LAYERS)), found)
    # tp and ep of 2, dp of 16 / (2·2), dp_ep of 4 / 2; six messages between stages
    sent = 100 + 2 * 400 + 300 + 300 + 6_000
    assert profile.sent_bytes_per_worker == sent
    assert (profile.gpus, profile.barriers) == (16, 5)
    parts = ("tp all_reduce 100 B", "ep all_to_all 800 B", "dp all_gather 300 B")
    assert all(part in profile.bytes_from for part in parts)
    assert "dp_ep reduce_scatter 300 B, pp send_recv 6 kB" in profile.bytes_from
    assert {n.reason: n.count for n in profile.notes} == {
        "bytes_within_servers": 1,
        "simai_unknown_operation": 1,
    }
    assert "tensor-parallel groups of" in profile.notes[0].detail


def test_an_old_header_leaves_the_number_of_gpus_to_be_given():
    found = workload(WORKLOAD.replace(HEADER, "MICRO model_parallel_NPU_group: 2"))
    told = times(times_file(*LAYERS))
    with pytest.raises(SynctaxError, match="give AICB's workload, or their number"):
        from_simai(told, found)
    profile = from_simai(told, found, gpus=8)
    assert profile.gpus == 8
    assert "pp" not in profile.bytes_from


def test_times_alone_tell_no_bytes():
    profile = from_simai(times(times_file(*LAYERS)), gpus=8)
    assert np.isnan(profile.sent_bytes_per_worker)
    assert [note.reason for note in profile.notes] == ["simai_no_bytes"]


def test_gpus_that_no_layout_fits_and_wrong_calls_are_refused():
    told = times(times_file(*LAYERS))
    with pytest.raises(SynctaxError, match="6 GPUs are no multiple of tensor-parallel 2"):
        from_simai(told, workload(), gpus=6)
    with pytest.raises(SynctaxError, match="2 GPUs are no multiple"):
        from_simai(told, workload(), gpus=2)
    with pytest.raises(ValueError, match="iterations must be 1 or more"):
        from_simai(told, gpus=2, iterations=0)
    wide = replace(workload(), degrees=workload().degrees | {"ep": 64})
    assert from_simai(told, wide).sent_bytes_per_worker > 0


def test_a_workload_without_traffic_says_so():
    text = "DATA all_gpus: 4\n1\nlayer -1 5 NONE 0 5 NONE 0 5 NONE 0 1\n"
    profile = from_simai(times(times_file(*LAYERS)), workload(text))
    assert (profile.sent_bytes_per_worker, profile.barriers) == (0, 0)
    assert profile.bytes_from.endswith("nothing")


def test_a_workload_cut_anywhere_is_refused_or_lacks_the_end_of_its_last_number(tmp_path):
    path = tmp_path / "aicb.txt"
    path.write_text(WORKLOAD)
    assert read_workload(path).op.size == 9
    text = WORKLOAD.strip()
    for size in range(len(text) - 2):
        with pytest.raises(BadInputError, match=r"^aicb\.txt, line "):
            workload(text[:size])


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("HYBRID", "hybrid", "line 1: expected .*begins with a policy"),
        ("pp: 2", "pp: two", "line 1: expected pp, found 'two'"),
        ("pp: 2", "pp: 0", "line 1: expected pp of 1 or more, found 0"),
        ("1000.0", "1000.5", "line 1: expected pp_comm in bytes, found '1000.5'"),
        ("1000.0", "-5", "line 1: expected pp_comm in bytes, found '-5'"),
        ("\n3\n", "\nmany\n", "line 2: expected layers, found 'many'"),
        ("\n3\n", "\n4\n", "line 2: expected .*with 3 layers as below, found 4"),
        (" 400 100", " 400", "line 3: expected 12 fields of a layer, found 11"),
        (" 500 ", " -500 ", "line 3: expected a time in ns, found '-500'"),
        (" 400 ", " 9999999999999999 ", "line 3: expected bytes, found 9,999"),
        (" 400 ", " 99999999999999999999 ", "line 3: expected bytes, found '9999"),
    ],
)
def test_a_workload_that_cannot_be_is_refused_with_its_line(old, new, problem):
    assert old in WORKLOAD
    with pytest.raises(BadInputError, match=problem):
        workload(WORKLOAD.replace(old, new, 1))


@given(st.binary(max_size=120))
def test_nonsense_is_no_workload_and_no_times(junk):
    with pytest.raises(BadInputError):
        workload_of(junk, name="aicb.txt")
    with pytest.raises(BadInputError):
        simai_of(junk, name="EndToEnd.csv")


def test_bytes_that_are_no_text_are_named():
    with pytest.raises(BadInputError, match=r"byte 2: .*no UTF-8"):
        workload_of(b"ab\xff", name="aicb.txt")
