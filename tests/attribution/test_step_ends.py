"""What ends a step on a GPU."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from synctax.arrays import NS_PER_US
from synctax.attribution.step_ends import StepEnds, step_ends
from synctax.graph.build import build_graph
from synctax.trace.kineto import read_rank
from tests.laws import examples
from tests.trace import builders

US = NS_PER_US


@pytest.fixture
def lengths(tmp_path):
    """Number and length in µs of the steps of a rank."""

    def lengths(*events):
        path = tmp_path / "rank0.json"
        path.write_bytes(builders.trace(*events, rank=0))
        trace = read_rank(path)
        graph = build_graph(trace)
        number, length = step_ends(trace, graph).lengths_ns(graph.nodes.end_ns)
        return number.tolist(), (length / US).tolist()

    return lengths


def launched(name, call, start, duration, corr, *, stream=7):
    return [
        builders.runtime("cudaLaunchKernel", call, 2, corr=corr),
        builders.kernel(name, start, duration, corr=corr, stream=stream),
    ]


REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)"


def test_a_step_lasts_from_the_last_collective_of_the_step_before_to_that_of_its_own(
    lengths,
):
    number, length = lengths(
        builders.step(4, 0, 100),
        *launched("gemm", 10, 20, 100, 1),
        *launched(REDUCE, 40, 130, 50, 2, stream=9),  # runs when the host is in step 5
        *launched("gemm", 60, 185, 15, 3),
        builders.step(5, 100, 100),
        *launched("gemm", 110, 200, 100, 4),
        *launched(REDUCE, 120, 310, 90, 5, stream=9),
        builders.step(6, 200, 100),
        *launched(REDUCE, 210, 410, 40, 6, stream=9),
        *launched("adam", 220, 460, 50, 7),  # ends the window
    )
    assert (number, length) == ([4, 5, 6], [170, 220, 110])


def test_without_collectives_a_step_ends_with_its_last_work_whatever_its_stream(lengths):
    number, length = lengths(
        builders.step(0, 0, 100),
        *launched("gemm", 10, 20, 200, 1),
        *launched("gemm", 30, 40, 20, 2, stream=8),
        builders.step(1, 100, 100),
        *launched("gemm", 110, 230, 70, 3),
    )
    assert (number, length) == ([0, 1], [210, 80])


def test_a_first_step_begins_when_what_was_launched_before_it_is_over(lengths):
    before = launched("gemm", 10, 20, 150, 1)
    step = [builders.step(3, 100, 100), *launched("gemm", 110, 200, 60, 2)]
    assert lengths(*before, *step) == ([3], [90])
    assert lengths(*step) == ([3], [150])


def test_what_is_launched_after_the_last_step_is_in_none(lengths):
    step = [builders.step(3, 0, 100), *launched("gemm", 10, 20, 60, 1)]
    after = launched("gemm", 100, 200, 60, 2)
    assert lengths(*step, *after) == lengths(*step) == ([3], [70])


def test_a_step_that_launches_nothing_is_none(lengths):
    number, length = lengths(
        builders.step(0, 0, 100),
        *launched("gemm", 10, 20, 60, 1),
        builders.step(1, 100, 100),
        builders.step(2, 200, 100),
        *launched("gemm", 210, 220, 70, 2),
    )
    assert (number, length) == ([0, 2], [70, 210])
    assert lengths(builders.step(0, 0, 100), builders.cpu_op("aten::mm", 1, 9)) == ([], [])


def gpu_step(number, start, duration):
    name = f"ProfilerStep#{number}"
    return builders.event("gpu_user_annotation", name, start, duration, 0, 7)


@pytest.mark.parametrize("host", [True, False])
def test_without_launches_the_marks_on_the_gpu_tell_what_belongs_to_a_step(lengths, host):
    marks = [builders.step(1, 10, 40), builders.step(2, 50, 40)] if host else []
    number, length = lengths(
        *marks,
        builders.kernel("gemm", 5, 15),
        gpu_step(1, 30, 100),
        builders.kernel("gemm", 30, 90),
        gpu_step(2, 130, 100),
        builders.kernel("gemm", 140, 80),
        builders.kernel("gemm", 240, 80),
    )
    assert (number, length) == ([1, 2], [100, 100])


def test_without_launches_and_marks_on_the_gpu_those_of_the_host_must_do(lengths):
    number, length = lengths(
        builders.step(1, 0, 100),
        builders.kernel("gemm", 10, 80),
        builders.step(2, 100, 100),
        builders.kernel("gemm", 110, 80),
    )
    assert (number, length) == ([1, 2], [80, 100])


def test_what_the_gpu_marks_and_the_host_does_not_is_no_step(lengths):
    number, _ = lengths(
        builders.step(2, 0, 300),
        gpu_step(1, 30, 90),
        builders.kernel("gemm", 30, 90),
        gpu_step(2, 130, 100),
        builders.kernel("gemm", 140, 80),
    )
    assert number == [2]


@settings(max_examples=examples(40))
@given(st.lists(st.lists(st.integers(0, 10**6), min_size=1, max_size=4), max_size=5))
def test_steps_are_never_negative_and_add_up_whatever_ends_first(ranks):
    end = np.array([one for rank in ranks for one in (0, *rank)], np.int64)
    parts, base = [], [0]
    for rank in ranks:
        size = len(rank) + 1
        part = StepEnds(np.arange(-1, size - 1), np.arange(size + 1), np.arange(size))
        parts.append(part)
        base.append(base[-1] + size)
    joined = StepEnds.join([*parts, StepEnds.none()], np.array([*base, base[-1]]))
    number, length = joined.lengths_ns(end)
    assert (length >= 0).all()
    assert length.sum() == sum(max(rank) for rank in ranks)
    assert_array_equal(number, [at for rank in ranks for at in range(len(rank))])
