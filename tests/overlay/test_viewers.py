"""Slices that touch and nest are seen to, however viewers read times."""

from collections.abc import Sequence
from itertools import pairwise

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from synctax.overlay.drawn import Sheet, Threads, draw_waits
from synctax.overlay.paths import draw_paths, largest
from synctax.overlay.viewers import Times, apart, around, end_seen, seen
from tests.laws import examples
from tests.overlay import importers, made

times_ns = st.integers(0, 2**50)


@given(time_ns=times_ns, later_ns=st.integers(0, 2_000))
def test_a_time_is_read_as_viewers_do(time_ns: int, later_ns: int) -> None:
    assert seen(time_ns) == importers.seen(time_ns)
    assert time_ns - 1 <= seen(time_ns) <= seen(time_ns + later_ns)


def dropped(slices: Sequence[tuple[int, Times]]) -> int:
    """Count slices, given with their threads, that one of the readings drops."""
    events = [
        {"ph": "X", "pid": 1, "tid": thread, "ts": start, "dur": lasts}
        for thread, (start, lasts) in slices
    ]
    return sum(
        importers.perfetto(events, read).faults["slice_drop_overlapping"]
        for read in (importers.seen, int)
    )


@given(
    begin_ns=times_ns, lengths_ns=st.lists(st.integers(1, 5_000), min_size=1, max_size=6)
)
@settings(max_examples=examples(300))
def test_slices_that_touch_are_drawn_apart_and_within_the_one_around(
    begin_ns: int, lengths_ns: list[int]
) -> None:
    starts = [begin_ns + sum(lengths_ns[:at]) for at in range(len(lengths_ns) + 1)]
    items = [
        apart((start, lasts), after)
        for start, lasts, after in zip(starts[:-1], lengths_ns, starts[1:], strict=True)
    ]
    whole = around(begin_ns, items)
    assert dropped([(1, whole), *((1, item) for item in items)]) == 0
    assert end_seen(whole) >= sum(items[-1])
    for (_, lasts), asked in zip(items, lengths_ns, strict=True):
        assert asked - 2 <= lasts <= asked


@given(
    begin_ns=times_ns,
    many=st.lists(st.tuples(st.integers(0, 3_000), st.integers(1, 3_000)), max_size=8),
)
@settings(max_examples=examples(300))
def test_a_thread_is_free_when_viewers_see_it_free(
    begin_ns: int, many: list[tuple[int, int]]
) -> None:
    threads, slices = Threads(), []
    for after, lasts in many:
        begin_ns += after
        slices.append((threads.lane((0, "waits"), (begin_ns, lasts)), (begin_ns, lasts)))
    assert dropped(slices) == 0
    ordered = sorted(slices)
    for (one, (start, lasts)), (other, (next_start, _)) in pairwise(ordered):
        assert one != other or start + lasts <= next_start


@given(shift_ns=st.integers(0, 10**14))
@settings(max_examples=examples(5))
def test_whatever_the_times_slices_are_seen_and_arrows_bound_to_them(
    shift_ns: int,
) -> None:
    _, tax, found = made.example()
    numbers = largest(found, 10)
    shift_ns -= min(one.window_start_ns for one in tax.matches.ranks)
    sheet = Sheet((shift_ns,) * 8, {int(found.results.slot[one]) for one in numbers})
    texts = [*draw_waits(tax, found, sheet), *draw_paths(found, numbers, sheet)]
    events = [importers.times_in_ns(orjson.loads(text)) for text in texts]
    exact, read = importers.perfetto(events, int), importers.perfetto(events)
    assert not +read.faults
    assert not +exact.faults
    bound = [
        sorted((arrow["id"], one["ts"], other["ts"]) for arrow, one, other in seen.arrows)
        for seen in (exact, read)
    ]
    assert bound[0] == bound[1]
    assert len(bound[0]) == sheet.arrows > 100
