"""Block times: what traces tell of them is what was simulated; the rest is counted."""

import json
import re
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

import synctax
from synctax.attribution import blocks
from synctax.attribution.block_entry import REASONS, Entry, entries, tax_of_us
from synctax.attribution.block_names import operand_dtype
from synctax.attribution.block_walk import PathSums
from synctax.attribution.blocks import FoundBlocks, block_times
from synctax.attribution.walk import Reading
from synctax.attribution.windows import windows
from synctax.errors import SynctaxError
from synctax.synth import SynthJob, write
from synctax.synth.maxima import maxima
from synctax.synth.path import LATENCIES, Timeline
from synctax.synth.program import build
from synctax.synth.simulate import initial_state, simulate_step
from synctax.trace.model import EventKind
from synctax.trace.names import kernel
from tests.attribution.examples import EXAMPLE, kept, measured
from tests.laws import some

TIE_NS = 3_000
SMALL = SynthJob(tp=4, fsdp=1, layers=1, steps=3, seed=4)
JOBS = {
    "several groups": SynthJob(tp=3, fsdp=2, layers=2, steps=2, seed=5),
    "experts": SynthJob(tp=2, fsdp=2, ep=2, layers=1, steps=3, seed=6),
    "host decides at first": replace(SMALL, run_ahead_steps=0, autograd_thread=False),
    "host decides": replace(SMALL, cpu_jitter=20.0),
    "sharded data": SynthJob(tp=1, fsdp=3, layers=3, steps=3, seed=1),
    "graphs and clocks": SynthJob(
        tp=2, fsdp=2, layers=2, steps=2, seed=12, cuda_graphs=True, hosts=2,
        clock_offset_us=400.0,
    ),
}  # fmt: skip


@cache
def found_in(directory, *, group=None) -> FoundBlocks:
    """Find the blocks of a folder."""
    tax = measured(directory, group=group)
    return block_times(tax, workers=1, cache=kept(directory))


@pytest.fixture(scope="module", params=some(list(JOBS)))
def simulated(request, tmp_path_factory):
    """A job's folder, and the paths of all ranks to each collective with a fence."""
    job = replace(JOBS[request.param], truth_paths=True, sync_records="full")
    directory = tmp_path_factory.mktemp("traces")
    known = write(job, directory)
    program, state = build(job), initial_state(job, build(job))
    steps = {}
    for step in range(job.steps):
        steps[step], state = simulate_step(job, program, state, step, delays=())
    timeline = Timeline(job, program, maxima(program), steps)
    paths = {}
    for (step, number, _), row in known.rows():
        if row.lateness is not None:
            paths[row.group, row.group_ranks, row.index] = [
                timeline.path(
                    rank, step, program.comms[number], fence_ns=row.lateness.fence_ns
                )
                for rank in row.group_ranks
            ]
    return directory, timeline, paths


def true_entry(timeline, path) -> Entry:
    """Tell from the simulated path of a rank what keeps its collective out."""
    items = [item for item in path.items if item.kind not in LATENCIES and item.duration_ns]
    kinds = {item.kind for item in items}
    if kinds - {"kernel", "comm"}:
        return Entry.HOST
    if "comm" in kinds:
        return Entry.COLLECTIVE
    if not any(kernel(item.name).kind == "gemm" for item in items):
        return Entry.NO_GEMM
    whole_ns, _ = timeline.span(path.rank, items[0].key)
    return Entry.CUT if whole_ns < items[0].start_ns else Entry.ENTERED


def nearly_tied(path) -> bool:
    """Tell whether one of two parents is as good as the other."""
    return path.margin_ns is not None and path.margin_ns <= TIE_NS


def test_what_enters_and_its_times_are_those_of_the_simulation(simulated):
    directory, timeline, paths = simulated
    tax = measured(directory)
    checked = 0
    for group in {group.role for group in tax.matches.groups}:
        found = found_in(directory, group=group)
        row_of = {slot: row for row, slot in enumerate(found.slot.tolist())}
        for slot in np.flatnonzero(found.why >= 0).tolist():
            of = tax.matches.groups[tax.matches.group[slot]]
            own = paths.get((of.role, of.ranks, int(tax.matches.index[slot])))
            if own is None or any(nearly_tied(path) for path in own):
                continue
            reasons = {true_entry(timeline, path) for path in own} - {Entry.ENTERED}
            assert found.why[slot] == min(reasons, default=Entry.ENTERED)
            if not reasons:
                took_us = [
                    sum(i.duration_ns for i in path.items if i.kind == "kernel") / 1000
                    for path in own
                ]
                assert found.times.us[row_of[slot]].tolist() == took_us
                assert found.times.rank[row_of[slot]].tolist() == list(of.ranks)
            checked += 1
    assert checked > 8


def adds_up(found: FoundBlocks, tax: synctax.Tax) -> None:
    """Check that every collective that counts has entered or a reason, once."""
    covered, slots = found.coverage, np.flatnonzero(found.why >= 0)
    roles = [tax.matches.groups[number].role for number in tax.matches.group]
    own = np.array([role == found.group for role in roles])
    np.testing.assert_array_equal(slots, np.flatnonzero(tax.used & own))
    counts = {note.reason: note.count for note in covered.left_out}
    assert covered.entered + sum(counts.values()) == covered.collectives == slots.size
    tax_us = tax_of_us(tax)
    assert covered.tax_us == pytest.approx(tax_us[slots].sum())
    shares = [100 * covered.tax_share]
    details = [note.detail for note in covered.left_out]
    shares += [float(re.search(r"; ([\d.]+) % of the tax$", one)[1]) for one in details]
    for reason, name in REASONS.items():
        hit = found.why == reason
        assert counts.get(name, 0) == hit.sum()
    assert sum(shares) == pytest.approx(100, abs=0.05 * len(shares))
    entered = np.flatnonzero(found.why == Entry.ENTERED)
    np.testing.assert_array_equal(found.slot, entered)
    assert (found.times is None) == (not entered.size)


def test_coverage_adds_up(simulated):
    directory, _, _ = simulated
    tax = measured(directory)
    for group in {group.role for group in tax.matches.groups}:
        adds_up(found_in(directory, group=group), measured(directory, group=group))
    adds_up(found_in(directory), tax)


def test_where_paths_are_kernels_only_their_times_are_the_waits():
    """But for latencies, which differ by less than a µs over the ranks."""
    found = found_in(EXAMPLE, group="tp")
    us = found.times.us
    np.testing.assert_allclose(
        us.max(axis=1) - us.mean(axis=1), found.times.measured_us, atol=1, rtol=0
    )
    table = measured(EXAMPLE, group="tp").per_collective()
    told = dict(
        zip(
            zip(table["group_ranks"], table["index"], strict=True),
            table["tax_mean_us"],
            strict=True,
        )
    )
    matches = measured(EXAMPLE, group="tp").matches
    for slot, wait_us in zip(found.slot.tolist(), found.times.measured_us, strict=True):
        ranks = "0-3" if matches.groups[matches.group[slot]].ranks[0] == 0 else "4-7"
        assert wait_us == pytest.approx(told[ranks, int(matches.index[slot])])


def test_the_blocks_of_the_example_are_told_apart_and_shared_by_siblings():
    found = found_in(EXAMPLE)
    times = found.times
    assert found.group == "tp"
    assert (found.coverage.collectives, found.coverage.entered) == (94, 84)
    assert found.coverage.tax_share == pytest.approx(0.9016, abs=1e-4)
    assert [note.reason for note in found.coverage.left_out] == ["through_collective"]
    assert found.payload_bytes == 8_388_608
    names = [block.name for block in times.blocks]
    assert names == [f"all_reduce {number}" for number in range(1, 6)]
    assert [(block.kernels, block.phase) for block in times.blocks] == [
        (5, "forward"), (6, "forward"), (5, "backward"), (7, "backward"), (6, "backward"),
    ]  # fmt: skip
    for block in times.blocks:
        known = (block.group, block.op, block.gpu, block.dtype)
        assert known == ("tp", "all_reduce", "H100 80GB HBM3", "bf16")
        forward = block.phase == "forward"
        assert block.gemm.startswith("nvjet_tst" if forward else "cutlass::Kernel2")
        assert block.source == str(EXAMPLE)
    assert np.unique(times.series).tolist() == [0, 1]
    ranks = {tuple(row) for row in times.rank[times.series == 1].tolist()}
    assert ranks == {(4, 5, 6, 7)}
    for number in range(5):
        rows = times.block == number
        assert set(times.series[rows].tolist()) == {0, 1}
    assert times.resolution_us == 0


def test_rows_are_in_order_of_time_and_instances_numbered_in_it():
    found = found_in(EXAMPLE, group="tp")
    times, tax = found.times, measured(EXAMPLE, group="tp")
    start_ns = windows(tax).start_ns[tax.matches.first[found.slot]]
    for series in (0, 1):
        rows = np.flatnonzero(times.series == series)
        assert all(one < other for one, other in pairwise(start_ns[rows].tolist()))
        for block in range(len(times.blocks)):
            own = times.instance[rows[times.block[rows] == block]]
            assert own.tolist() == list(range(own.size))


def test_the_role_whose_tax_most_enters_is_chosen_and_the_others_named():
    (note,) = [n for n in found_in(EXAMPLE).notes if n.reason == "group_chosen"]
    assert note.count == 1
    assert "those of tp, of whose tax most enters, and not of fsdp" in note.detail
    assert found_in(EXAMPLE, group="fsdp").times is None
    assert not [n for n in found_in(EXAMPLE, group="tp").notes if "chosen" in n.reason]


def test_two_processes_find_what_one_finds():
    tax = measured(EXAMPLE, group="tp")
    asked: list[str] = []
    done: list[str] = []
    two = block_times(
        tax,
        workers=2,
        on_round=lambda what, sizes: asked.extend([what, *sizes]),
        on_progress=lambda path, _: done.append(path),
    )
    one = found_in(EXAMPLE, group="tp")
    np.testing.assert_array_equal(one.times.us, two.times.us)
    np.testing.assert_array_equal(one.times.rank, two.times.rank)
    assert one.times.blocks == two.times.blocks
    assert one.coverage == two.coverage
    assert asked[0] == "following paths"
    assert len(asked) == 9
    assert set(done) == set(asked[1:])


def test_renumbering_the_ranks_renumbers_the_rows(tmp_path):
    write(replace(SMALL, metadata="none"), tmp_path)
    ranks = synctax.load([str(tmp_path)], workers=1, cache=kept(tmp_path)).ranks
    other = {0: 2, 1: 3, 2: 1, 3: 0}
    moved = tuple(replace(rank, rank=other[rank.rank]) for rank in ranks)
    one, two = (
        block_times(synctax.measure(found), workers=1, cache=kept(tmp_path)).times
        for found in (ranks, moved)
    )
    assert len(one) > 10
    np.testing.assert_array_equal(one.block, two.block)
    np.testing.assert_array_equal(one.measured_us, two.measured_us)
    for row in range(len(one)):
        mine = {
            other[rank]: us
            for rank, us in zip(one.rank[row].tolist(), one.us[row].tolist(), strict=True)
        }
        theirs = zip(two.rank[row].tolist(), two.us[row].tolist(), strict=True)
        assert mine == dict(theirs)


@pytest.mark.parametrize(
    ("changes", "phases"),
    [
        ({}, {"forward", "backward"}),
        ({"cpu_ops_per_kernel": 0}, {"forward", "backward"}),
        ({"autograd_thread": False, "cpu_ops_per_kernel": 3}, {"forward", "backward"}),
        ({"autograd_thread": False, "cpu_ops_per_kernel": 0}, {""}),
    ],
)
def test_the_pass_is_known_by_autograds_operators_or_its_thread(tmp_path, changes, phases):
    write(replace(SMALL, **changes), tmp_path)
    found = found_in(tmp_path)
    assert {block.phase for block in found.times.blocks} == phases
    for block in found.times.blocks:
        if block.phase:
            assert block.gemm.startswith("nvjet") == (block.phase == "forward")


def test_whole_microseconds_are_said_to_be_so(tmp_path):
    write(replace(SMALL, whole_us=True), tmp_path)
    times = found_in(tmp_path).times
    assert times.resolution_us == 1
    assert (times.us % 1 == 0).all()


def changed(directory, rank, change) -> None:
    """Change the GEMMs of a rank, by number, in order of time."""
    (path,) = (p for p in directory.rglob("*.json") if p.name == f"rank{rank}_trace.json")
    text = json.loads(path.read_text())
    gemms = [
        event
        for event in text["traceEvents"]
        if event.get("cat") == "kernel" and "nvjet" in event["name"]
    ]
    for number, event in enumerate(gemms):
        change(number, event)
    path.write_text(json.dumps(text))


@pytest.mark.parametrize("what", ["name", "grid"])
def test_ranks_with_other_kernels_are_unequal_work(tmp_path, what):
    write(SMALL, tmp_path)
    before = found_in(tmp_path)
    later = tmp_path / "later"
    write(SMALL, later)

    def change(number, event):
        if number in (4, 5):
            if what == "name":
                event["name"] = "nvjet_tst_64x8_64x16_4x1_v_bz_TNT"
            else:
                event["args"]["grid"] = [1, 2, 3]

    changed(later, 1, change)
    found = found_in(later)
    (note,) = [n for n in found.coverage.left_out if n.reason == "unequal_work"]
    assert note.count in (1, 2)
    assert found.coverage.entered == before.coverage.entered - note.count
    assert len(found.times.blocks) == len(before.times.blocks)


def test_blocks_of_other_kernels_are_other_blocks(tmp_path):
    """On all ranks alike: the kernels of two GEMMs of one step."""
    write(SMALL, tmp_path / "one")
    write(SMALL, tmp_path / "two")
    for rank in range(4):
        changed(
            tmp_path / "two",
            rank,
            lambda number, event: event["args"].update(grid=[9, 9, 9 + number // 4]),
        )
    one, two = found_in(tmp_path / "one"), found_in(tmp_path / "two")
    np.testing.assert_array_equal(one.times.us, two.times.us)
    assert len(two.times.blocks) > len(one.times.blocks)


def test_groups_of_fewer_ranks_than_most_are_left_out(tmp_path):
    job = SynthJob(tp=3, fsdp=3, layers=1, steps=3, write_ranks=tuple(range(8)), seed=2)
    write(job, tmp_path)
    found = found_in(tmp_path, group="tp")
    (note,) = [n for n in found.coverage.left_out if n.reason == "other_size"]
    assert note.count == (found.times.series == 0).sum()
    assert found.times.m == 3
    assert set(found.times.rank.reshape(-1).tolist()) == set(range(6))
    adds_up(found, measured(tmp_path, group="tp"))


def test_the_head_of_the_window_has_no_fence(tmp_path):
    write(SMALL, tmp_path)
    job = synctax.load([str(tmp_path)], workers=1, cache=kept(tmp_path))
    tax = synctax.measure(job, include_head=True)
    found = block_times(tax, workers=1, cache=kept(tmp_path))
    assert ("no_fence", 1) in [(n.reason, n.count) for n in found.coverage.left_out]
    adds_up(found, tax)
    head = replace(tax, used=tax.used & (windows(tax).fence < 0))
    nothing = block_times(head, workers=1)
    assert nothing.times is None
    assert nothing.coverage.share == 0
    assert nothing.payload_bytes > 0


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    directory = tmp_path_factory.mktemp("small")
    write(SMALL, directory)
    tax = measured(directory)
    seen = windows(tax)
    reading = Reading(kept(directory), 3.0)
    return tax, seen, blocks._walk(tax, seen, reading, (1, None, None))


def reasons(walked, **changes) -> dict[Entry, int]:
    tax, seen, ranks = walked
    one = replace(ranks[1], sums=replace(ranks[1].sums, **changes))
    why = entries(tax, seen, {**ranks, 1: one}).why
    return {reason: int((why == reason).sum()) for reason in Entry}


def test_idle_time_of_unknown_cause_keeps_out_what_it_may_explain(walked):
    tax, _, ranks = walked
    sums = ranks[1].sums
    tax_ns = (tax.waits.longest_ns - tax.waits.shortest_ns)[sums.slot]
    before = reasons(walked)
    assert before[Entry.UNKNOWN] == 0
    less = reasons(walked, unknown_ns=tax_ns // 2 - 1)
    assert less == before
    more = reasons(walked, unknown_ns=tax_ns // 2 + 1)
    assert more[Entry.UNKNOWN] == before[Entry.ENTERED] + before[Entry.NO_GEMM]


def test_a_path_that_a_rank_lacks_keeps_its_collective_out(walked):
    tax, seen, ranks = walked
    sums = ranks[1].sums
    kept_sums = PathSums(*(getattr(sums, name)[3:] for name in PathSums.__slots__))
    why = entries(tax, seen, {**ranks, 1: replace(ranks[1], sums=kept_sums)}).why
    assert (why[sums.slot[:3]] == Entry.NO_PATH).all()
    assert not (why[sums.slot[3:]] == Entry.NO_PATH).any()


def test_a_window_that_begins_before_the_collective_before_holds_more(walked):
    tax, seen, ranks = walked
    entered = np.flatnonzero(entries(tax, seen, ranks).why == Entry.ENTERED)
    late = entered[-1]
    fence = seen.fence.copy()
    fence[late] = seen.fence[fence[late]]
    why = entries(tax, replace(seen, fence=fence), ranks).why
    assert why[late] == Entry.NOT_ALONE
    assert (why[entered[:-1]] == Entry.ENTERED).all()


def test_a_step_or_an_operation_that_was_selected_is_what_is_covered(tmp_path):
    write(SMALL, tmp_path)
    job = synctax.load([str(tmp_path)], workers=1, cache=kept(tmp_path))
    tax = synctax.measure(job, steps=range(1, 2))
    found = block_times(tax, workers=1, cache=kept(tmp_path))
    assert found.coverage.collectives == int(tax.used.sum())
    assert set(tax.matches.step[found.slot].tolist()) == {1}
    adds_up(found, tax)


def test_what_cannot_be_timed_is_refused(tmp_path):
    with pytest.raises(TypeError, match=r"tax that synctax\.measure\(job\) returns"):
        block_times("run-17")
    write(replace(SMALL, steps=1), tmp_path)
    tax = measured(tmp_path)
    with pytest.raises(SynctaxError, match=r"none of \d+ collectives asked for has a tax"):
        block_times(replace(tax, used=np.zeros_like(tax.used)), workers=1)


def test_the_source_of_blocks_is_the_folder_that_has_all_files(tmp_path):
    write(SMALL, tmp_path / "job")
    for rank, path in enumerate(sorted((tmp_path / "job").rglob("rank*.json"))):
        folder = tmp_path / "job" / f"node{rank}"
        folder.mkdir()
        path.rename(folder / path.name)
    found = found_in(tmp_path / "job")
    assert {block.source for block in found.times.blocks} == {str(tmp_path / "job")}


def test_a_file_that_is_gone_is_named(tmp_path):
    write(SMALL, tmp_path)
    tax = synctax.measure(synctax.load([str(tmp_path)], workers=1))
    gone = next(tmp_path.rglob("rank2*.json"))
    gone.unlink()
    with pytest.raises(SynctaxError, match=gone.name):
        block_times(tax, workers=1)


# --------------------------------------------------------------------- recorded jobs


def test_starved_hosts_leave_a_third_of_collectives_and_nearly_none_of_the_tax(
    shared_traces,
):
    """Megatron on 8 A100: 32 collectives of 16 to 87 µs out of 83."""
    tax = measured(shared_traces / "megatron-tp8-a100")
    found = found_in(shared_traces / "megatron-tp8-a100")
    adds_up(found, tax)
    assert (found.coverage.collectives, found.coverage.entered) == (83, 32)
    assert found.coverage.tax_share == pytest.approx(0.003, abs=0.0005)
    assert [(n.reason, n.count) for n in found.coverage.left_out] == [("through_cpu", 51)]
    entered_us = tax_of_us(tax)[found.slot]
    assert (entered_us.min(), entered_us.max()) == (16, 87)
    times = found.times
    assert times.m == 8
    assert times.resolution_us == 1
    assert np.bincount(times.block).tolist() == [11, 21]
    for block in times.blocks:
        assert (block.gpu, block.dtype) == ("A100-SXM4-80GB", "fp16")
    assert [block.kernels for block in times.blocks] == [9, 5]
    assert found.payload_bytes == 67_108_864


def test_block_times_are_the_kernels_of_the_one_stream_that_computes(shared_traces):
    """Which also has memsets, on the paths of one of the two blocks: no compute."""
    folder = shared_traces / "megatron-tp8-a100"
    tax, found = measured(folder), found_in(folder)
    seen, matches, memsets = windows(tax), tax.matches, 0
    for row, slot in enumerate(found.slot.tolist()):
        for number in range(8):
            one = matches.first[slot] + number
            rank = matches.ranks[matches.table.rank[matches.row[one]]]
            events = kept(folder).traces[rank.path].events
            fence = matches.first[seen.fence[slot]] + number
            end_ns = events.start_ns + events.duration_ns
            inside = (events.start_ns >= seen.end_ns[fence]) & (events.stream == 7)
            inside &= end_ns <= seen.start_ns[one]
            computes = inside & (events.kind == EventKind.KERNEL)
            assert found.times.us[row, number] == events.duration_ns[computes].sum() / 1000
            memsets += int((inside & (events.kind == EventKind.MEMSET)).sum())
    assert memsets > 100


@pytest.mark.parametrize(
    ("name", "left_out"),
    [
        ("ddp4-mi300", {"no_fence": 1, "through_cpu": 14}),
        ("dlrm8-v100", {"through_cpu": 7}),
        ("torchrec4-sleep-rank2", {"no_fence": 1, "through_cpu": 11}),
    ],
)
def test_jobs_whose_hosts_decide_have_no_block_times(shared_traces, name, left_out):
    found = found_in(shared_traces / name)
    adds_up(found, measured(shared_traces / name))
    assert found.times is None
    assert {note.reason: note.count for note in found.coverage.left_out} == left_out


# --------------------------------------------------------------------- names of GEMMs


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        ("bf16", "nvjet_tst_192x192_64x4_2x1_v_bz_TNN"),
        ("bf16", "cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_64x3_nt_align8"),
        ("bf16", "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64"),
        ("bf16", "Cijk_Ailk_Bljk_BBS_BH_UserArgs_MT16x16x32_MI16x16x1_SN"),
        ("bf16", "Cijk_Ailk_Bljk_BSS_BH_Bias_HA_S_SAV_UserArgs_MT512x128x64"),
        ("fp16", "nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_NNT"),
        ("fp16", "nvjet_sm90_hss_320x128"),
        ("fp16", "sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize192x128x32_stage4"),
        ("fp16", "ampere_fp16_s16816gemm_fp16_64x128_sliced1x2_ldg8_f2f_stages_64x3_nn"),
        ("fp16", "volta_h884gemm_128x64_ldg8_nn"),
        ("fp16", "Cijk_Ailk_Bljk_HHS_BH_MT16x16x64_MI16x16x16x1_SN_1LDSB0"),
        ("fp16", "igemm_fwd_gtcx3_nhwc_fp16_bx0_ex1_bt128x128x32_wt32x32x8"),
        ("tf32", "nvjet_sss_tf32_128x256_TNT"),
        ("tf32", "sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize32x32x64"),
        (
            "tf32",
            "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_256x128_nn_align4>",
        ),
        ("fp32", "volta_sgemm_128x64_tn"),
        ("fp32", "void gemmSN_TN_kernel<float, 128, 16, 2, 4, 8, 9, false>"),
        ("tf32", "Cijk_Alik_Bljk_S_MX_B_UserArgs_MT128x160x64_MI16x16x1_SN_LDSB0"),
        ("fp32", "Cijk_Ailk_Bljk_SB_MT64x64x8_SE_K1"),
        ("fp32", "Cijk_Alik_Bljk_S_B_Bias_HA_S_SAV_UserArgs_MT16x16x64"),
        ("fp64", "cutlass_80_tensorop_d884gemm_64x64_16x4_nn_align1"),
        ("fp64", "volta_dgemm_64x64_nn"),
        ("fp64", "Cijk_Ailk_Bljk_DB_MT64x64x8_SE_K1"),
        ("fp8", "nvjet_qqtst_128x256_128x6_2x1_2cta_v_bz_TNT"),
        ("fp8", "sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n_tilesize128x128x128"),
        ("fp8", "Cijk_Alik_Bljk_F8BS_BH_Bias_SHB_HA_S_SAV_UserArgs_MT256x256x128"),
        ("fp8", "Custom_Cijk_Ailk_Bljk_F8H_HHS_BH_MT32x64x256_MI16x16x1_Freesize_14"),
        ("int8", "Cijk_Alik_Bljk_I8BS_MT64x16x256"),
        ("fp8", "void deep_gemm::fp8_gemm_kernel<7168u, 2048u>(__nv_bfloat16*)"),
        ("fp4", "nvjet_ootst_128x256_256x6_2x1_2cta_v_bz_Avec16UE4M3_Bvec16UE4M3_TNT"),
        ("fp4", "bmm_E2m1_E2m1E2m1_Fp32_t128x64x256_swiGlu"),
        ("int8", "sm80_xmma_gemm_i8i8_i8i32_f32_tn_n_tilesize128x128x64"),
        ("int8", "turing_int8_i8816gemm_int8_128x128_ldg16_relu_stages_64x1_nt"),
        ("", "splitKreduce_kernel"),
        ("", "hipblaslt_gemm_kernel"),
        ("", "Cijk_Ailk_Bljk_MT64x64x8"),
    ],
)
def test_the_type_of_operands_is_known_by_name(dtype, name):
    assert operand_dtype(name) == dtype
