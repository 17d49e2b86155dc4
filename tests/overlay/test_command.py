"""The command: what it prints, where it writes, what it refuses."""

import gzip
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import Result

import synctax
from synctax.errors import BadInputError, SynctaxError
from synctax.overlay.overlay import Overlay
from synctax.report import overlay_view
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
    assert "synctax.split_overlay" in one.stderr


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
    overlay = made.of_example()[0]
    extra = overlay_view.envelope(overlay, "o.json.gz")
    assert not any("browser" in str(part) for part in overlay_view.parts(overlay, extra))
    monkeypatch.setattr(overlay_view, "LARGE_BYTES", overlay.text_bytes - 1)
    monkeypatch.setattr(overlay_view, "MANY_RANKS", 3)
    said = [str(part) for part in overlay_view.parts(overlay, extra)]
    assert any("--steps, --ranks or --keep gpu" in part for part in said)
    assert "… and 5 more; -v lists them" in said


def test_only_where_no_path_can_be_known_is_none_drawn(
    run: Run, traces: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_args: object, **_kwargs: object) -> None:
        raise BadInputError("rank0.json: cannot be read")

    monkeypatch.setattr("synctax.attribution.attribute.attribute", gone)
    one = run("overlay", traces, "--no-cache", "-o", traces.parent / "out.json")
    assert one.exit_code == 3
    assert "rank0.json: cannot be read" in one.stderr
    assert not (traces.parent / "out.json").exists()


@pytest.mark.parametrize("paths", [0, 5])
def test_what_measure_refuses_is_refused(run: Run, tmp_path: Path, paths: int) -> None:
    events = made.reduces([("100", "7"), ("200", "7")])
    (tmp_path / "alone").mkdir()
    (tmp_path / "alone" / "rank0.json").write_text(made.trace(0, events))
    args = (tmp_path / "alone", "--no-cache")
    measured = run("measure", *args)
    one = run("overlay", *args, "-o", tmp_path / "out.json", "--paths", paths)
    assert one.exit_code == measured.exit_code == 1
    assert "none of 2 collectives can be measured" in one.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["alone"]


def test_names_may_be_as_long_as_files_have_them(run: Run, traces: Path) -> None:
    target = traces.parent / f"{'漢' * 82}.json"
    assert len(target.name.encode()) == 251
    one = run("overlay", traces, "--no-cache", "-o", target)
    assert one.exit_code == 0, one.stderr
    assert not importers.faults(importers.read(target))
    longer = target.with_name(f"漢漢{target.name}")
    one = run("overlay", traces, "--no-cache", "-o", longer)
    assert one.exit_code == 1
    assert "too long" in one.stderr
    assert sorted(path.name for path in traces.parent.iterdir()) == ["traces", target.name]


def test_windows_of_ranks_are_told_from_ranks(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    folder.mkdir()
    for rank in range(2):
        for window, start in enumerate((100, 9_000_000)):
            times = [(f"{start + 20 * n - rank}", f"{7 + rank}") for n in range(4)]
            text = made.trace(rank, made.reduces(times))
            stamp = 1_700_000_000_000 + 60_000 * window
            (folder / f"host_{rank}.{stamp}.pt.trace.json").write_text(text)
    one = run("overlay", folder, "--no-cache", "-o", tmp_path / "out.json")
    assert one.exit_code == 0, one.stderr
    assert "16 events of 2 ranks (4 windows) on one clock" in " ".join(one.stdout.split())


def test_culprits_are_counted_where_they_are_drawn_and_where_coloured() -> None:
    overlay, _, document = made.of_example()
    told = document["traceEvents"]
    drawn = sum(event["name"].startswith("culprit: ") for event in told)
    coloured = sum(e.get("cname") == "terrible" and e["cat"] != "synctax" for e in told)
    assert (overlay.culprits, overlay.coloured) == (drawn, coloured)
    assert min(drawn, coloured) > 0
    for one, words in (
        (overlay, f"coloured: {coloured} events of the traces"),
        (without_colour(overlay), "coloured: no event of the traces"),
    ):
        extra = overlay_view.envelope(one, "o.json.gz")
        text = "\n".join(str(part) for part in overlay_view.parts(one, extra))
        assert f"arrows and {drawn} culprits" in text
        assert words in text


def without_colour(overlay: Overlay) -> Overlay:
    pieces = tuple(replace(piece, coloured=0) for piece in overlay.pieces)
    return replace(overlay, pieces=pieces)


def test_one_call_writes_what_the_command_writes(
    run: Run, traces: Path, tmp_path: Path
) -> None:
    job = synctax.load([str(traces)], workers=1)
    found = synctax.attribute(synctax.measure(job), workers=1)
    overlay = synctax.write_overlay(job, found, tmp_path / "a.json.gz", workers=1)
    one = run("overlay", traces, "--no-cache", "-o", tmp_path / "b.json.gz")
    assert one.exit_code == 0
    texts = [gzip.decompress((tmp_path / f"{n}.json.gz").read_bytes()) for n in "ab"]
    assert texts[0] == texts[1]
    assert repr(overlay) == "<Overlay: 2 ranks, 8 events, 3 waits>"


def test_what_two_readings_of_a_file_say_is_said_once(run: Run, traces: Path) -> None:
    path = traces / "rank1.json"
    path.write_text(path.read_text().removesuffix("]}"))
    one = run("overlay", traces, "--no-cache", "-o", traces.parent / "out.json")
    assert one.exit_code == 0, one.stderr
    assert one.stderr.count("[truncated]") == 1


@pytest.mark.parametrize(
    ("offset_us", "words"),
    [(0.0, "0 µs"), (-250.0, "−250.00 µs"), (-1.774224e15, "−1,774,224,000.000 s")],
)
def test_offsets_of_clocks_that_are_set_otherwise_are_read_easily(
    offset_us: float, words: str
) -> None:
    assert overlay_view.offset_text(offset_us) == words
