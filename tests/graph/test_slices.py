"""Exclusive slices: what a thread was in at each moment."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from synctax.graph.slices import exclusive_slices
from synctax.trace.model import EventKind
from tests.attribution.examples import read
from tests.laws import examples

EPOCH_NS = 1_700_000_000_000_000_000
CPU_KINDS = (EventKind.CPU_OP, EventKind.ANNOTATION, EventKind.RUNTIME)

# So small that most starts and ends fall together with others.
anything = st.lists(
    st.tuples(st.integers(-1, 1), st.integers(0, 12), st.integers(0, 8)), max_size=14
).map(lambda rows: [(lane, start, start + length) for lane, start, length in rows])
plain_law = settings(max_examples=examples(40))
"""Laws that a mistake breaks in nearly every trace."""
origins = st.sampled_from([0, EPOCH_NS, -EPOCH_NS])


@st.composite
def nested(draw):
    """Draw events that nest: brackets with time in between, which may be none."""
    rows, around, now = [], [], 0
    for opens in draw(st.lists(st.booleans(), max_size=24)):
        now += draw(st.integers(0, 2))
        if opens:
            around.append(len(rows))
            rows.append((0, now, now))
        elif around:
            row = around.pop()
            rows[row] = (0, rows[row][1], now)
    now += draw(st.integers(0, 2))
    for row in around:
        rows[row] = (0, rows[row][1], now)
    return rows


def cut(rows):
    """Slice rows (lane, start, end)."""
    lane, start, end = zip(*rows, strict=True) if rows else ((), (), ())
    return exclusive_slices(
        np.array(lane, np.int32), np.array(start, np.int64), np.array(end, np.int64)
    )


def listed(found):
    """List slices as (lane, start, end, event, ordinal)."""
    s = found.slices
    columns = (s.lane, s.start_ns, s.end_ns, s.event, s.ordinal)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def plain(found):
    """List slices of one lane as (event, start, end)."""
    return [(event, start, end) for _, start, end, event, _ in listed(found)]


def stack_of_open_events(rows):
    """Slice rows one moment after the other: slices, parents, clipped."""
    parent, end, clipped, pieces = [-1] * len(rows), [e for *_, e in rows], 0, []
    order = sorted(range(len(rows)), key=lambda r: (*rows[r][:2], -rows[r][2], r))
    around, last, now = [], None, 0
    for row in [*order, None]:
        lane, start, own_end = rows[row] if row is not None else (None, None, None)
        while around and (lane != last or end[around[-1]] <= start):
            closed = around.pop()
            pieces.append((last, now, end[closed], closed))
            now = end[closed]
        if lane == last and row is not None:
            pieces.append((lane, now, start, around[-1] if around else -1))
        if around:
            parent[row] = around[-1]
            clipped += own_end > rows[around[-1]][2]
            end[row] = min(own_end, end[around[-1]])
        around, last, now = [*around, row], lane, start
    pieces = [piece for piece in pieces if piece[1] < piece[2]]
    covered = set(order) - {event for *_, event in pieces}
    pieces += [(*rows[r][:2], rows[r][1], r) for r in order if r in covered]
    pieces.sort(key=lambda piece: piece[:3])
    seen, slices = defaultdict(int), []
    for *piece, event in pieces:
        slices.append((*piece, event, seen[event] if event >= 0 else 0))
        seen[event] += 1
    return slices, parent, clipped


def until(row, rows, parent):
    """Return the end of an event that no event around it outlives."""
    end = rows[row][2]
    while (row := parent[row]) >= 0:
        end = min(end, rows[row][2])
    return end


@given(st.one_of(anything, nested()))
def test_slices_are_those_of_a_stack_of_open_events(rows):
    found = cut(rows)
    assert (listed(found), found.parent.tolist(), found.clipped) == stack_of_open_events(
        rows
    )


@given(nested(), origins)
def test_of_events_that_nest_none_is_cut(rows, origin):
    assert cut([(lane, s + origin, e + origin) for lane, s, e in rows]).clipped == 0


@plain_law
@given(anything)
def test_a_thread_is_covered_once_from_its_first_moment_to_its_last(rows):
    found = cut(rows)
    for lane in {lane for lane, *_ in rows}:
        times = [(s, e) for at, s, e, *_ in listed(found) if at == lane]
        assert times == sorted(times)
        of_lane = [row for row, (at, *_) in enumerate(rows) if at == lane]
        parent = found.parent.tolist()
        reached = min(rows[row][1] for row in of_lane)
        for start, end in times:
            assert start == reached
            reached = end
        assert reached == max(until(row, rows, parent) for row in of_lane)


@plain_law
@given(anything)
def test_an_event_lasts_as_long_as_its_slices_and_the_events_in_it(rows):
    found = cut(rows)
    parent, total = found.parent.tolist(), [0] * len(rows)
    for _, start, end, event, _ in listed(found):
        around = event
        while around >= 0:
            total[around] += end - start
            around = parent[around]
    assert total == [until(r, rows, parent) - rows[r][1] for r in range(len(rows))]


@plain_law
@given(anything)
def test_every_event_has_a_slice_and_only_sole_slices_are_empty(rows):
    sizes = defaultdict(list)
    for _, start, end, event, ordinal in listed(cut(rows)):
        assert event == -1 or ordinal == len(sizes[event])
        sizes[event].append(end - start)
    gaps = sizes.pop(-1, [])
    assert min(gaps, default=1) > 0
    assert set(sizes) == set(range(len(rows)))
    assert all(len(each) == 1 or min(each) > 0 for each in sizes.values())


@plain_law
@given(anything, st.randoms(use_true_random=False))
def test_the_order_of_threads_among_each_other_is_of_no_account(rows, random):
    lanes = [lane for lane, *_ in rows]
    random.shuffle(lanes)
    queues = {lane: [r for r, (at, *_) in enumerate(rows) if at == lane] for lane in lanes}
    order = [queues[lane].pop(0) for lane in lanes]
    one, other = cut(rows), cut([rows[r] for r in order])
    back = np.array([*order, -1])  # -1 stays -1
    assert_array_equal(back[other.slices.event], one.slices.event)
    assert_array_equal(back[other.parent], one.parent[order])
    assert other.clipped == one.clipped
    for name in ("lane", "start_ns", "end_ns", "ordinal"):
        assert_array_equal(getattr(other.slices, name), getattr(one.slices, name))


@plain_law
@given(anything, origins)
def test_slices_move_with_the_clock_to_the_nanosecond(rows, origin):
    one, moved = cut(rows), cut([(lane, s + origin, e + origin) for lane, s, e in rows])
    assert_array_equal(moved.slices.start_ns, one.slices.start_ns + origin)
    assert_array_equal(moved.slices.end_ns, one.slices.end_ns + origin)
    assert_array_equal(moved.slices.event, one.slices.event)


def test_a_parent_is_split_around_its_children():
    found = cut([(0, 0, 100), (0, 20, 50), (0, 30, 40), (0, 60, 70)])
    assert plain(found) == [
        (0, 0, 20), (1, 20, 30), (2, 30, 40), (1, 40, 50),
        (0, 50, 60), (3, 60, 70), (0, 70, 100),
    ]  # fmt: skip
    assert [ordinal for *_, ordinal in listed(found)] == [0, 0, 0, 1, 1, 0, 2]
    assert found.parent.tolist() == [-1, 0, 1, 0]


def test_time_between_top_level_events_is_a_gap_of_their_thread_only():
    found = cut([(3, 0, 10), (5, 4, 6), (3, 10, 12), (3, 15, 20)])
    assert [(lane, *piece) for lane, *piece, _ in listed(found)] == [
        (3, 0, 10, 0), (3, 10, 12, 2), (3, 12, 15, -1), (3, 15, 20, 3), (5, 4, 6, 1),
    ]  # fmt: skip


def test_no_remainder_of_a_parent_is_empty():
    assert plain(cut([(0, 0, 9), (0, 0, 3), (0, 3, 5), (0, 7, 9)])) == [
        (1, 0, 3), (2, 3, 5), (0, 5, 7), (3, 7, 9),
    ]  # fmt: skip


def test_an_event_wholly_covered_keeps_an_empty_slice_at_its_start():
    assert plain(cut([(0, 5, 9), (0, 5, 7), (0, 7, 9)])) == [
        (0, 5, 5), (1, 5, 7), (2, 7, 9),
    ]  # fmt: skip


def test_an_empty_event_keeps_its_slice_and_splits_its_parent():
    found = cut([(0, 0, 9), (0, 4, 4)])
    assert plain(found) == [(0, 0, 4), (1, 4, 4), (0, 4, 9)]
    assert found.parent.tolist() == [-1, 0]


def test_what_starts_at_the_end_of_an_event_follows_it():
    found = cut([(0, 0, 5), (0, 5, 5), (0, 5, 5)])
    assert found.parent.tolist() == [-1, -1, -1]
    assert plain(found) == [(0, 0, 5), (1, 5, 5), (2, 5, 5)]


def test_an_empty_event_at_the_seam_of_two_is_in_the_second():
    assert cut([(0, 0, 5), (0, 5, 5), (0, 5, 9)]).parent.tolist() == [-1, 2, -1]


def test_of_two_with_one_start_the_longer_is_outside_wherever_it_stands():
    assert cut([(0, 0, 5), (0, 0, 9)]).parent.tolist() == [1, -1]


def test_of_two_with_equal_times_the_earlier_is_outside():
    found = cut([(0, 0, 9), (0, 0, 9)])
    assert found.parent.tolist() == [-1, 0]
    assert plain(found) == [(0, 0, 0), (1, 0, 9)]


def test_what_outlasts_the_event_it_started_in_is_cut_and_counted_once():
    # 1 leaves 0 at 10; 2 is cut with it; 3, past the cut, stands alone
    found = cut([(0, 0, 10), (0, 5, 15), (0, 6, 12), (0, 13, 14)])
    assert plain(found) == [(0, 0, 5), (1, 5, 6), (2, 6, 10), (-1, 10, 13), (3, 13, 14)]
    assert found.parent.tolist() == [-1, 0, 1, -1]
    assert found.clipped == 1


def test_a_crossing_on_one_thread_leaves_others_as_they_are():
    others = [(0, 0, 10), (0, 2, 4), (2, 1, 8)]
    both = cut([*others, (1, 0, 5), (1, 3, 7)])
    assert both.clipped == 1
    assert [s for s in listed(both) if s[0] != 1] == listed(cut(others))


def test_the_ends_of_int64_are_exact():
    low, high = -(2**63), 2**63 - 1
    found = cut([(0, low, high), (0, EPOCH_NS + 1, EPOCH_NS + 2), (1, high, high)])
    assert plain(found) == [
        (0, low, EPOCH_NS + 1), (1, EPOCH_NS + 1, EPOCH_NS + 2), (0, EPOCH_NS + 2, high),
        (2, high, high),
    ]  # fmt: skip


def test_seventy_thousand_events_in_each_other_are_no_special_case():
    depth = 70_000
    found = cut([(1 << 20, at, 3 * depth - at) for at in range(depth)])
    assert_array_equal(found.parent, np.arange(-1, depth - 1))
    assert len(found.slices) == 2 * depth - 1


def test_no_event_no_slice():
    found = cut([])
    assert len(found.slices) == found.parent.size == found.clipped == 0


def test_columns_of_different_lengths_are_refused():
    one, two = np.zeros(1, np.int64), np.zeros(2, np.int64)
    with pytest.raises(ValueError, match="2 lanes and 1 ends for 2 starts"):
        exclusive_slices(two.astype(np.int32), two, one)


def test_an_event_that_ends_before_it_starts_is_refused():
    with pytest.raises(ValueError, match="ends before it starts"):
        cut([(0, 5, 4)])


@pytest.mark.parametrize(
    ("name", "clipped"),
    [
        ("megatron-tp8-a100/megatron_kineto_0.json.gz", 0),
        ("torchrec4-sleep-rank2/*_19490.*.json.gz", 57),
        ("single/mi250-rocm.json.gz", 0),
    ],
)
def test_real_traces_are_sliced_as_by_a_stack(shared_traces, name, clipped):
    (path,) = shared_traces.glob(name)
    events = read(path).events
    cpu = np.flatnonzero(np.isin(events.kind, CPU_KINDS))
    lane, start = events.lane[cpu], events.start_ns[cpu]
    end = start + events.duration_ns[cpu]
    found = exclusive_slices(lane, start, end)
    rows = list(zip(lane.tolist(), start.tolist(), end.tolist(), strict=True))
    assert (listed(found), found.parent.tolist(), found.clipped) == stack_of_open_events(
        rows
    )
    assert found.clipped == clipped
