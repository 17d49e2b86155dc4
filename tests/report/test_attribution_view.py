"""Who made the others wait, as people read it: columns that say something, no others."""

import pytest

from synctax.attribution.envelope import envelope
from synctax.report import attribution_view, tables
from synctax.report.output import Result
from synctax.schema import ATTRIBUTE, ATTRIBUTE_COLLECTIVES, ATTRIBUTE_RANKS
from tests.attribution.examples import attributed


def text(parts) -> str:
    return tables.to_text(parts, to_file=True)


def test_classes_show_the_ranks_only_where_siblings_are_told_apart():
    found = attributed()
    pooled = Result(ATTRIBUTE, found.to_frame(), extra=envelope(found))
    apart = Result(ATTRIBUTE, found.to_frame(per_group=True), extra=envelope(found))
    assert "ranks" not in text([attribution_view.classes(pooled)]).splitlines()[0]
    shown = text([attribution_view.classes(apart)])
    assert "ranks" in shown.splitlines()[0]
    assert "tp      0-3" in shown
    whole = text(attribution_view.parts(found, pooled))
    for group in found.verdict():
        assert f"{group}: culprits are" in whole


def test_windows_stand_beside_collectives_and_ranks_where_there_are_several():
    found = attributed()
    for table, frame, view in (
        (ATTRIBUTE_COLLECTIVES, found.per_collective(), attribution_view.collectives),
        (ATTRIBUTE_RANKS, found.per_rank(), attribution_view.ranks),
    ):
        assert "window" not in text(view(Result(table, frame))).splitlines()[0]
        frame["window"] = "second"
        assert "second" in text(view(Result(table, frame)))
        assert text(view(Result(table, frame.iloc[:0]))).startswith("nothing to show")


def test_a_bar_is_as_long_as_its_share(monkeypatch):
    monkeypatch.setattr(attribution_view, "can_show_blocks", lambda: False)
    assert attribution_view._bar(0.5) == "#####"
    assert attribution_view._bar(None) == ""
    assert attribution_view._bar(1.0) == "#" * attribution_view.BAR_WIDTH


@pytest.mark.parametrize("columns", ["60", "100", "160"])
def test_on_a_narrow_terminal_the_columns_that_name_culprits_stay(monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    found = attributed()
    result = Result(ATTRIBUTE_COLLECTIVES, found.per_collective())
    head = tables.to_text(attribution_view.collectives(result)).splitlines()[0]
    assert {"tax", "straggler", "culprit"} <= set(head.split())
