"""Steps: which windows, and which of them a moment belongs to."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from synctax.trace.steps import Steps, cpu_steps, gpu_steps
from tests.collectives.build import op, rank_trace
from tests.laws import examples


def step(number, ts, dur, *, tid=1, gpu=False):
    event = op(f"ProfilerStep#{number}", ts, dur, tid=tid)
    return {**event, "cat": "gpu_user_annotation"} if gpu else event


def test_steps_are_read_in_order_of_start():
    steps = cpu_steps(rank_trace([step(4, 100, 50), step(3, 0, 90)]))
    assert_array_equal(steps.number, [3, 4])
    assert_array_equal(steps.start_ns, [0, 100_000])
    assert_array_equal(steps.end_ns, [90_000, 150_000])


def test_a_moment_between_steps_belongs_to_none_and_an_end_to_the_next():
    steps = cpu_steps(rank_trace([step(3, 0, 90), step(4, 90, 10), step(5, 200, 10)]))
    at = steps.at(np.array([0, 89_999, 90_000, 150_000, 205_000, 210_000]))
    assert_array_equal(at, [3, 3, 4, -1, 5, -1])


def test_the_windows_of_the_gpu_are_kept_apart():
    trace = rank_trace([step(3, 0, 90), step(3, 40, 120, gpu=True)])
    assert_array_equal(cpu_steps(trace).end_ns, [90_000])
    assert_array_equal(gpu_steps(trace).end_ns, [160_000])


def test_the_windows_of_the_gpu_stand_in_where_the_cpu_has_none():
    assert_array_equal(cpu_steps(rank_trace([step(3, 40, 120, gpu=True)])).number, [3])


def test_a_step_marked_on_two_threads_is_one_step():
    steps = cpu_steps(rank_trace([step(3, 0, 90), step(3, 10, 100, tid=2)]))
    assert_array_equal(steps.number, [3])
    assert_array_equal(steps.end_ns, [110_000])


def test_without_steps_every_moment_is_outside():
    trace = rank_trace([op("ProfilerStep#x", 0, 9), op("aten::add", 0, 9)])
    assert_array_equal(cpu_steps(trace).at(np.array([0, 5])), [-1, -1])


@settings(max_examples=examples(30))
@given(st.lists(st.integers(1, 50), min_size=1, max_size=6), st.integers(-100, 100))
def test_a_shift_of_the_clock_moves_no_moment_to_another_step(lengths, shift):
    end = np.cumsum(lengths)
    steps = Steps(np.arange(end.size), end - lengths, end)
    shifted = Steps(steps.number, steps.start_ns + shift, steps.end_ns + shift)
    time_ns = np.arange(-2, int(end[-1]) + 2)
    assert_array_equal(steps.at(time_ns), shifted.at(time_ns + shift))
