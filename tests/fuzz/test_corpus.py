"""What fuzzing found worth keeping is read by every vector unit, as the oracle reads it."""

import pytest

from synctax.trace import readers
from tests.fuzz.build import corpus
from tests.fuzz.oracle import check_all

TEXTS = corpus()
PARTS = 8


def test_there_is_a_corpus():
    assert len(TEXTS) > 100
    assert sum(path.stat().st_size for path in TEXTS) < 300_000


@pytest.mark.skipif(not readers.variants(), reason="the compiled reader was not built")
@pytest.mark.parametrize("part", range(PARTS))
def test_both_readers_read_it_alike(part):
    for path in TEXTS[part::PARTS]:
        try:
            check_all(path.read_bytes())
        except AssertionError as error:
            raise AssertionError(path.name) from error
