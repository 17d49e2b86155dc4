"""The module's manners: what it gives is given once, and not while it works."""

import threading

import numpy as np
import pytest

from synctax.trace import readers
from synctax.trace.native import told
from tests.trace.native.texts import listed, simple

pytestmark = pytest.mark.skipif(
    not readers.variants(), reason="the compiled reader was not built"
)
VARIANT = readers.variants()[-1] if readers.variants() else ""


def scanner(**other):
    from synctax.trace import _scan

    return _scan.Scanner(**{**told(), "seed": 1, "variant": VARIANT, **other})


def fed(count: int):
    text = bytearray(listed(*[simple()] * (count + 1)) + bytes(64))
    found = scanner()
    found.scan(text, text.index(b"["))
    assert found.rows("events") == count
    return found


def test_a_column_is_given_once():
    found = fed(5)
    memory = found.take("events", 2)
    assert np.frombuffer(memory, np.int64).tolist() == [1000] * 5
    with pytest.raises(ValueError, match="events has no column 2"):
        found.take("events", 2)
    for column in (-1, 9):
        with pytest.raises(ValueError, match="no column"):
            found.take("events", column)


def test_columns_outlive_the_scanner_that_made_them():
    found = fed(3_000)
    column = np.frombuffer(found.take("events", 2), np.int64)
    del found
    assert (column == 1000).all()


def test_nothing_is_scanned_after_a_column_was_taken():
    found = fed(1)
    found.take("kernels", 0)
    with pytest.raises(RuntimeError, match="no columns any more"):
        found.scan(bytearray(1_000), 0)


def test_one_thread_at_a_time():
    """Threads that share a scanner, which no caller does, are told so and harm nothing."""
    text = bytearray(listed(*[simple()] * 20_000) + bytes(64))
    shared, refused = scanner(), []

    def work() -> None:
        for _ in range(20):
            try:
                shared.scan(bytearray(text), text.index(b"["))
                shared.texts("names")
                shared.counted()
            except RuntimeError as error:
                refused.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(refused) <= {"the scanner is at work"}
    assert shared.rows("events") % 19_999 == 0
    assert shared.texts("names") == [b"a"]


@pytest.mark.parametrize("wrong", [
    {"variant": "abacus"}, {"categories": [(b"x", 9)]}, {"categories": [(b"x", -1)]},
    {"event_keys": [(b"x", "nobody")]}, {"longest": -1},
    {"event_keys": [(b"%d" % i, "ph") for i in range(129)]},
])  # fmt: skip
def test_what_cannot_be_is_refused(wrong):
    with pytest.raises(ValueError, match=r"cannot run|no kind|no role|no event|too many"):
        scanner(**wrong)


@pytest.mark.parametrize("at", [-1, 1 << 40])
def test_places_outside_the_text_wait_for_more(at):
    from synctax.trace import _scan

    assert scanner().scan(bytearray(200), at) == (_scan.MORE_TEXT, at)
