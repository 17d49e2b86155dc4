"""The command: what it prints, where it writes, what it refuses."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from synctax.errors import SynctaxError
from tests.overlay import importers, made

Run = Callable[..., Result]


def test_clocks_are_printed_and_the_file_is_there(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "all.json.gz"
    space = ("--workspace", tmp_path / "space")
    one = run("overlay", made.EXAMPLE, "-o", target, "--paths", 3, *space)
    assert one.exit_code == 0, one.stderr
    lines = one.stdout.splitlines()
    assert lines[0].split() == [
        "rank", "host", "offset", "drift", "residual", "collectives", "linked", "events",
    ]  # fmt: skip
    assert "250.00 µs" in lines[2 + 4]
    assert "22,632 events of 8 ranks on one clock" in one.stdout
    assert "3 critical paths" in one.stdout
    assert not importers.faults(importers.read(target))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all.json.gz", "space"]
    # without traces, those of before
    again = run(
        "overlay", "-o", target, "--format", "json", "--paths", 0, "--keep", "gpu", *space
    )
    told = json.loads(again.stdout)
    assert told["schema"] == "synctax.overlay-clocks/1"
    assert [row["offset_us"] for row in told["rows"]] == [0.0] * 4 + [250.0] * 4
    assert (told["paths"], told["arrows"], told["culprits_coloured"]) == (0, 0, 0)
    assert told["size_bytes"] == target.stat().st_size
    assert "event_left_out" in {note["reason"] for note in told["excluded"]}


@pytest.mark.parametrize("command", ["inspect", "measure"])
def test_an_overlay_is_no_trace_and_says_what_to_do(
    run: Run, command: str, tmp_path: Path
) -> None:
    path = made.of_example()[1]
    one = run(command, path, *(["--no-cache"] if command == "measure" else []))
    assert one.exit_code == 3
    assert "an overlay of all ranks of a job" in one.stderr
    assert "synctax.overlay.split" in one.stderr


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    folder = tmp_path / "traces"
    folder.mkdir()
    for rank in range(2):
        events = made.reduces([(f"{100 + 20 * n - rank}", f"{7 + rank}") for n in range(4)])
        (folder / f"rank{rank}.json").write_text(made.trace(rank, events))
    return folder


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("traces/rank0.json", "would overwrite what is read"),
        ("out.csv", "none of a trace"),
        ("nowhere/out.json", "is no folder"),
    ],
)
def test_bad_targets_are_refused(run: Run, traces: Path, target: str, words: str) -> None:
    before = (traces / "rank0.json").read_bytes()
    one = run("overlay", traces, "--no-cache", "-o", traces.parent / target)
    assert one.exit_code == 2
    assert words in one.stderr
    assert (traces / "rank0.json").read_bytes() == before


def test_traces_that_were_measured_last_are_not_written_over(
    run: Run, traces: Path
) -> None:
    space = ("--workspace", traces.parent / "space")
    assert run("measure", traces, *space).exit_code == 0
    before = (traces / "rank1.json").read_bytes()
    one = run("overlay", "-o", traces / "rank1.json", *space)
    assert one.exit_code == 2
    assert "would overwrite what is read as a trace" in one.stderr
    assert (traces / "rank1.json").read_bytes() == before


def test_waits_are_drawn_where_no_path_can_be(
    run: Run, traces: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_args: object, **_kwargs: object) -> None:
        raise SynctaxError("no path is known")

    monkeypatch.setattr("synctax.attribution.attribute.attribute", none)
    target = traces.parent / "out.json"
    one = run("overlay", traces, "--no-cache", "-o", target)
    assert one.exit_code == 0, one.stderr
    assert "no critical path is drawn: no path is known" in one.stderr
    waits = [e for e in importers.read(target)["traceEvents"] if "wait " in e["name"]]
    assert [e["dur"] for e in waits] == [1000] * 3


def test_nothing_is_left_where_a_trace_is_gone(
    run: Run, traces: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("synctax.overlay.overlay.job_clocks", _vanishing(traces))
    target = traces.parent / "out.json.gz"
    one = run("overlay", traces, "--no-cache", "-o", target)
    assert one.exit_code == 3
    assert "cannot be read" in one.stderr
    assert not list(traces.parent.iterdir())


def _vanishing(traces: Path) -> Callable[..., object]:
    from synctax.collectives.job_clocks import job_clocks

    def gone(*args: object) -> object:
        found = job_clocks(*args)  # type: ignore[arg-type]
        shutil.rmtree(traces)
        return found

    return gone


def test_an_overlay_too_large_for_a_browser_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from synctax.report import overlay_view

    overlay = made.of_example()[0]
    extra = overlay_view.envelope(overlay, "o.json.gz", 5)
    assert not any("browser" in str(part) for part in overlay_view.parts(overlay, extra))
    monkeypatch.setattr(overlay_view, "LARGE_BYTES", overlay.text_bytes - 1)
    monkeypatch.setattr(overlay_view, "MANY_RANKS", 3)
    said = [str(part) for part in overlay_view.parts(overlay, extra)]
    assert any("--steps, --ranks or --keep gpu" in part for part in said)
    assert "… and 5 more; -v lists them" in said
