"""Values that were recomputed twice, independently, from traces of real jobs."""

import numpy as np
import pandas as pd
import pytest

from synctax.collectives.load import load
from synctax.collectives.tax import Tax, measure
from tests.attribution.examples import kept


@pytest.fixture(scope="module")
def taxes(shared_traces):
    """Measure a set with its window heads, once."""
    known: dict[str, Tax] = {}

    def of(name: str) -> Tax:
        if name not in known:
            folder = shared_traces / name
            job = load([str(folder)], workers=1, cache=kept(folder))
            known[name] = measure(job, include_head=True)
        return known[name]

    return of


SETS = [
    ("megatron-tp8-a100", "all_reduce", "float16", 81, 2668, 2646.5, 426.133),
    ("megatron-tp8-a100", "all_reduce", "float32", 3, 6888, 6875, 20.664),
    ("ddp4-mi300", "all_reduce", None, 15, 3621.773, 2185.764, 67.658),
    ("dlrm8-v100", "all_reduce", None, 3, 582, 566.5, 1.686),
    ("dlrm8-v100", "all_to_all", None, 5, 535, 465.5, 9.555),
    ("torchrec4-sleep-rank2", "all_to_all", None, 12, 3023.5, 3019.5, 3033.070),
]


@pytest.mark.parametrize(
    ("name", "op", "dtype", "matched", "max_us", "median_us", "sum_ms"),
    SETS,
    ids=[f"{name}-{op}-{dtype or 'all'}" for name, op, dtype, *_ in SETS],
)
def test_real_sets_have_the_published_waits(
    taxes, name, op, dtype, matched, max_us, median_us, sum_ms
):
    rows = taxes(name).per_collective()
    rows = rows[(rows.op == op) & (rows.status == "ok")]
    if dtype:
        rows = rows[rows.dtype == dtype]
    assert len(rows) == matched
    assert rows.tax_max_us.median() == pytest.approx(max_us, abs=5e-4)
    assert rows.tax_median_us.median() == pytest.approx(median_us, abs=6e-4)
    assert rows.tax_max_us.sum() / 1e3 == pytest.approx(sum_ms, abs=6e-4)


def test_megatron_stragglers_are_counted_as_published_with_ties_to_the_lowest_rank(taxes):
    tax = taxes("megatron-tp8-a100")
    found = tax.matches
    duration = found.table.duration_ns[found.row].reshape(-1, 8)
    first = np.bincount(duration.argmin(axis=1), minlength=8)
    assert first.tolist() == [32, 4, 4, 13, 2, 0, 25, 4]
    # Ties are null in the table: no order is made up of what whole µs do not tell.
    tied = (duration - duration.min(axis=1, keepdims=True) <= 1_000).sum(axis=1) > 1
    assert int(tax.per_collective().straggler_rank.isna().sum()) == int(tied.sum())


def test_rank_3_of_the_ddp_job_is_last_in_17_of_all_21_communications(taxes):
    found = taxes("ddp4-mi300").matches
    duration = found.table.duration_ns[found.row].reshape(-1, 4)
    assert len(duration) == 21
    assert int((duration.argmin(axis=1) == 3).sum()) == 17


def test_broadcasts_of_the_ddp_job_are_no_tax_and_it_is_said_why(taxes):
    tax = taxes("ddp4-mi300")
    rows = tax.per_collective()
    rows = rows[rows.op == "broadcast"]
    assert len(rows) == 6
    assert set(rows.status) == {"invalid"}
    assert rows.tax_max_us.isna().all()
    assert rows.end_spread_us.max() > 3_000
    assert any("broadcast: ranks do not leave" in note.detail for note in tax.excluded())


def test_the_shift_that_only_ends_reveal_leaves_one_collective_partial(taxes):
    rows = taxes("torchrec4-sleep-rank2").per_collective()
    assert rows.status.tolist() == ["partial"] + ["ok"] * 12
    late = rows[rows.tax_max_us > 900_000]
    assert len(late) == 3
    assert set(late.straggler_rank) == {2}


def test_whole_microseconds_and_missing_metadata_are_marked_inferred(taxes):
    rows = taxes("megatron-tp8-a100").per_collective()
    assert set(rows.identity) == {"inferred"}
    assert set(rows.group) == {"unlabelled"}


def test_waits_told_by_starts_agree_with_waits_told_by_durations(taxes):
    for name in ("megatron-tp8-a100", "dlrm8-v100", "ddp4-mi300", "torchrec4-sleep-rank2"):
        apart = taxes(name).start_disagreement_us
        assert apart is not None
        assert apart[0] < 15


def test_the_head_is_set_apart_unless_it_is_asked_for(shared_traces):
    folder = shared_traces / "megatron-tp8-a100"
    tax = measure(load([str(folder)], workers=1, cache=kept(folder)))
    rows = tax.per_collective()
    assert rows.status.tolist() == ["head"] + ["ok"] * 83
    assert isinstance(tax.to_frame(), pd.DataFrame)
    assert tax.to_frame().collectives.tolist() == [83]
