"""How what came back is shown."""

import pytest

from synctax.report import inject_view
from synctax.report.output import Result
from synctax.report.tables import to_text
from synctax.schema import INJECT, INJECT_COLLECTIVES
from tests.experiment.made import MISSING, recovered, row


def shown(found):
    return to_text(inject_view.parts(found, Result(INJECT, found.to_frame())), to_file=True)


@pytest.fixture
def found():
    doses = (0.0, 1e3, 5e3, 5e3, 20e3)
    return recovered(*(row(us, us + 30, cluster=n) for n, us in enumerate(doses)))


def test_sentences_a_line_a_size_and_the_plot(found):
    text = shown(found)
    lines = text.splitlines()
    assert lines[0].startswith("recovered 3 of 3 collectives")
    first = [line.split("  ")[0].strip() for line in lines if line.endswith("100 %")]
    assert first == ["0 µs", "1 ms", "5 ms", "20 ms"]
    assert "tax of 5 collectives (o) against delay; all of it shows on the line" in text
    assert "paths through the CPU" not in text


def test_rows_of_sums_are_explained():
    found = recovered(row(5e3, 6e3), row(10e3, 9e3, delays=2), row(0.0, 9.0, delays=2))
    assert "several delays reach 1 collective: their sum is the size" in shown(found)
    assert "several delays" not in shown(recovered(row(5e3, 6e3)))


def test_one_size_is_not_drawn():
    text = shown(recovered(row(5e3, 6e3), row(5e3, 6e3)))
    assert "(o)" not in text
    assert "5 ms" in text


def test_nothing_judged_is_shown_as_absent():
    text = shown(recovered(row(5e3, 0, **MISSING)))
    assert "none of 1 collective" in text
    assert "–" in text


def test_gpu_paths_are_shown_by_delay_less_slack():
    sides = (-30e3, -3e3, 1.5e3, 40e3)
    rows = [
        row(50e3, max(s, 0) + 3, slack_us=50e3 - s, expected_us=max(s, 0), host_share=s > 0)
        for s in sides
    ]
    text = shown(recovered(*rows, on_gpu=True))
    assert "paths through the CPU, by delay less slack:" in text
    for ends in ("below −20 ms", "−5 ms to −2 ms", "1 ms to 2 ms", "from 20 ms"):
        assert ends in text
    assert "against delay beyond the slack" in text


def test_without_a_slack_paths_are_shown_by_delay():
    text = shown(recovered(row(5e3, 6e3), row(0.0, 6e3), on_gpu=True))
    assert "paths through the CPU, by delay:" in text
    assert "0 µs to 1 ms" in text


def test_no_path_no_table_of_paths():
    text = shown(recovered(row(5e3, 0, **MISSING), on_gpu=True))
    assert "paths through the CPU" not in text


def test_plain_text_draws_with_ascii(found, monkeypatch):
    monkeypatch.setattr(inject_view, "can_show_blocks", lambda: False)
    assert "on the line (.)" in shown(found)


def test_collectives_are_shown_one_by_one(found):
    more = recovered(row(5e3, 6e3), row(5e3, 0, **MISSING))
    result = Result(INJECT_COLLECTIVES, more.per_collective())
    text = to_text(inject_view.collectives(result), to_file=True)
    assert "recovered" in text
    assert "yes" in text
    assert "head" in text
    none = Result(INJECT_COLLECTIVES, recovered().per_collective())
    assert "no rows" in to_text(inject_view.collectives(none), to_file=True)
