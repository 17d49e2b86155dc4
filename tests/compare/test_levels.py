"""The level of an interval has all its digits wherever it is written."""

from dataclasses import replace

import numpy as np
import pytest

import synctax
from synctax.collectives.tax import Tax
from synctax.comparison.compare import compare
from synctax.comparison.options import Options
from synctax.comparison.trend import Trend
from synctax.comparison.trend_intervals import Intervals, without
from synctax.comparison.verdict import verdict
from synctax.report import compare_tables_view, compare_view, trend_view
from synctax.report.output import Result
from synctax.report.tables import to_text
from synctax.schema.compare import COMPARE_CULPRITS, COMPARE_FIT, COMPARE_KERNELS
from synctax.schema.trend import TREND
from tests.compare.jobs import tax_of
from tests.compare.test_compare_words import RISE, fits
from tests.compare.windows import windows

LEVELS = [(0.975, "97.5 %", "2.5 %"), (0.9999, "99.99 %", "0.01 %")]

leveled = pytest.mark.parametrize(("level", "text", "alpha"), LEVELS)


def words(*said: str) -> str:
    """Join what is said; no level in it is rounded."""
    text = " ".join(" ".join(said).split())
    for rounded in ("98 %:", "98 % interval", "98 %)", "99.9 %", " 0.0 %"):
        assert rounded not in text
    return text


@pytest.fixture(scope="module")
def taxes(pair) -> tuple[Tax, Tax]:
    return tax_of(pair[0]), tax_of(pair[1])


@leveled
def test_levels_of_a_comparison_have_their_digits(taxes, level, text, alpha):
    found = compare(*taxes, options=Options(level, resamples=100))
    assert found.changed.any()
    assert f"({text}: +" in words(*verdict(found))
    table = words(to_text(compare_view.parts(found), to_file=True))
    assert f" {text} " in table
    assert f"(Benjamini-Hochberg, {alpha})" in table


@leveled
@pytest.mark.parametrize(
    ("schema", "view"),
    [
        (COMPARE_CULPRITS, compare_tables_view.culprits),
        (COMPARE_KERNELS, compare_tables_view.kernels),
    ],
)
def test_levels_of_tables_have_their_digits(schema, view, level, text, alpha):
    row = dict.fromkeys(schema.names) | {
        "kind": "rank", "group": "tp", "kernel_class": "gemm", "culprit_class": "gemm",
        "share_of_tax_a": 0.1, "share_of_tax_b": 0.2, "tax_a_us": 1.0, "tax_b_us": 2.0,
        "difference_us": 1.0, "difference_lo_us": 0.5, "difference_hi_us": 1.5,
    }  # fmt: skip
    frame = schema.to_frame({name: [row[name]] for name in schema.names})
    shown = words(to_text(view(Result(schema, frame, {"level": level})), to_file=True))
    assert f" {text} " in shown


@leveled
def test_the_level_of_a_fit_compared_has_its_digits(taxes, level, text, alpha):
    found = compare(taxes[0], taxes[0], options=Options(level, resamples=100))
    found = replace(found, fits=fits(RISE))
    result = Result(COMPARE_FIT, found.fit(), {"level": level})
    assert f" {text} " in words(
        to_text(compare_tables_view.fit(found, result), to_file=True)
    )


def trended(level: float, count: int = 12) -> Trend:
    """A trend as one of another level would be told: only few resamples are drawn."""
    rng = np.random.default_rng(0)
    delays = [rng.exponential(10, (24, 4)) for _ in range(count)]
    for late in delays[count // 2 :]:
        late[:, 2] += 60
    options = Options(resamples=200)
    found = synctax.trend(synctax.measure(windows(delays)), options=options)
    return replace(found, options=Options(level, resamples=100_000))


@leveled
def test_levels_of_a_trend_have_their_digits(level, text, alpha):
    found = trended(level)
    result = Result(TREND, found.to_frame())
    shown = words(to_text(trend_view.parts(found, result), to_file=True))
    assert f"{text}: interval of the mean" in shown
    assert f" mean {text} " in shown
    assert f"({text}: " in words(*found.verdict())
    few = words(*trended(level, count=5).verdict())
    assert f"beyond what chance shows in {alpha} of jobs" in few


@leveled
def test_levels_of_notes_have_their_digits(level, text, alpha):
    found = trended(level)
    none = Intervals((1.0, 2.0), (np.nan, np.nan), (np.nan, np.nan))
    missing = [[none] * len(line.tax_us) for line in found.lines]
    (note,) = without(found.lines, missing, found.options)
    assert f"at {text} these take" in words(note.detail)


@leveled
def test_levels_under_pictures_have_their_digits(taxes, level, text, alpha):
    pytest.importorskip("matplotlib")
    from synctax.report.figures import compare as pictures
    from synctax.report.figures.trend import trend

    figure = pictures.tax(compare(*taxes, options=Options(level, resamples=100)))
    assert f"with {text} intervals" in words(figure.get_supxlabel())
    figure = trend(trended(level))
    assert f"with {text} interval" in words(figure.get_supxlabel())
    assert text in figure.axes[0].get_legend_handles_labels()[1]
