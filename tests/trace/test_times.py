"""Times as text become exact nanoseconds, and times that cannot be true are found."""

from decimal import ROUND_HALF_EVEN, Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synctax.trace.times import Doubts, TimeStatus, parse_us
from tests.laws import examples

HOUR_NS = 3_600_000_000_000


def exact_ns(text: str) -> int:
    return int((Decimal(text) * 1000).to_integral_value(ROUND_HALF_EVEN))


numbers = st.one_of(
    st.integers(-(10**15), 4 * 10**15).map(str),
    st.tuples(
        st.integers(0, 2 * 10**15), st.text("0123456789", min_size=1, max_size=6)
    ).map(lambda parts: f"{parts[0]}.{parts[1]}"),
    st.tuples(st.integers(-999, 999), st.integers(0, 999), st.integers(-5, 9)).map(
        lambda parts: f"{parts[0]}.{parts[1]}e{parts[2]}"
    ),
)


@given(st.lists(numbers, min_size=1, max_size=20))
@settings(max_examples=examples(50), deadline=None)
def test_every_time_is_the_nearest_nanosecond_to_its_digits(texts):
    ns, status = parse_us([text.encode() for text in texts])
    assert status.tolist() == [TimeStatus.OK] * len(texts)
    assert ns.tolist() == [exact_ns(text) for text in texts]


@given(st.lists(numbers, min_size=1, max_size=10))
@settings(max_examples=examples(25), deadline=None)
def test_a_quoted_time_is_the_same_time(texts):
    plain, _ = parse_us([text.encode() for text in texts])
    quoted, _ = parse_us([f'"{text}"'.encode() for text in texts])
    assert quoted.tolist() == plain.tolist()


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        (b"1712195495505582.988", 1712195495505582988),
        (b"4503599627370497", 4503599627370497000),
        (b"0.0005", 0),
        (b"0.0015", 2),
        (b"1.5e+06", 1_500_000_000),
        (b"2E-3", 2),
        (b"1e-40", 0),
        (b"-1", -1000),
        (b'" 12.5 "', 12_500),
        (b"7.", 7_000),
        (b".25", 250),
    ],
)
def test_a_time_written_so_is_exactly(text, ns):
    assert parse_us([text])[0].tolist() == [ns]


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (b"", TimeStatus.MISSING),
        (b"null", TimeStatus.MISSING),
        (b'"nan"', TimeStatus.NOT_FINITE),
        (b'"-inf"', TimeStatus.NOT_FINITE),
        (b'"Infinity"', TimeStatus.NOT_FINITE),
        (b"true", TimeStatus.UNREADABLE),
        (b'"1,5"', TimeStatus.UNREADABLE),
        (b'"1.2.3"', TimeStatus.UNREADABLE),
        (b"1.2.3", TimeStatus.UNREADABLE),
        (b"[1]", TimeStatus.UNREADABLE),
        (b"1" * 500, TimeStatus.UNREADABLE),
        (b"1e400", TimeStatus.OUT_OF_RANGE),
        (b"9223372036854775.807", TimeStatus.OUT_OF_RANGE),
        (b"4611686018427387.904", TimeStatus.OUT_OF_RANGE),
        (b"4999999999999999.9", TimeStatus.OUT_OF_RANGE),
        (b"5000000000000000", TimeStatus.OUT_OF_RANGE),
        (b"99999999999999999999", TimeStatus.OUT_OF_RANGE),
    ],
)
def test_a_text_that_is_no_time_says_why(text, status):
    ns, found = parse_us([b"1.5", text, b"2"])
    assert ns.tolist() == [1500, 0, 2000]
    assert found.tolist() == [0, status, 0]


def test_no_texts_no_times():
    assert parse_us([])[0].size == 0


def found(start_ns, duration_ns, on_gpu=None, end_ns=None):
    start_ns = np.array(start_ns, np.int64)
    on_gpu = np.zeros(start_ns.size, bool) if on_gpu is None else np.array(on_gpu)
    part = start_ns, np.array(duration_ns, np.int64), on_gpu
    marks = Doubts(lambda: (part,), len(start_ns), end_ns).of(*part)
    return {
        reason: np.flatnonzero(mark).tolist() for reason, mark in marks.items() if any(mark)
    }


def test_a_usual_window_has_no_impossible_time():
    assert found([0, 1000, 2000], [500, 0, 10**10], [True, True, False]) == {}


def test_a_kernel_at_zero_for_zero_time_was_never_filled_in():
    assert found([0, 1000], [0, 10], [True, True]) == {"start_zero": [0]}


def test_a_host_event_at_zero_for_zero_time_stays():
    assert found([0, 1000], [0, 10], [False, True]) == {}


def test_a_start_of_zero_long_before_the_rest_was_never_filled_in():
    assert found([0, 10**15, 10**15 + 9], [5, 5, 5]) == {"start_zero": [0]}


def test_a_kernel_from_zero_that_lasts_until_the_rest_is_no_mistake():
    rest = 30 * 10**9
    assert found([0, rest, rest + 10**9], [rest, 5, 5], [True] * 3) == {}


def test_a_start_days_from_the_rest_is_outside_the_window():
    day = 24 * HOUR_NS
    starts = [100 * day + i for i in range(40)] + [3 * day]
    assert found(starts, [1] * 41) == {"start_outside_window": [40]}


def test_a_duration_of_236_years_is_beyond_the_window():
    assert found([10, 20, 30], [5, 236 * 365 * 24 * HOUR_NS // 100, 5]) == {
        "duration_beyond_window": [1]
    }


def test_a_collective_that_hung_for_half_an_hour_is_no_mistake():
    assert found([10, 20, 30], [5, HOUR_NS // 2, 5]) == {}


def test_nothing_ends_long_after_the_window_did():
    second = 10**9
    hung = [10, 20, 30], [5, 20 * second, 5]
    assert found(*hung) == {}
    assert found(*hung, end_ns=50) == {"duration_beyond_window": [1]}
    assert found(*hung, end_ns=19 * second + 20) == {}


def test_an_end_of_the_window_before_its_events_is_not_believed():
    assert found([10**12, 10**12 + 5], [5, 5], end_ns=7) == {}


def test_no_events_have_no_impossible_times():
    assert found([], []) == {}
