"""`synctax report`: what it reads, writes and says, and how it fails."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result

from synctax.cli import report_stages
from synctax.cli.recall import near
from synctax.schema import FIT_EVT
from tests.attribution.examples import EXAMPLE
from tests.conftest import assert_in_words
from tests.page.reading import assert_safe, data

Run = Callable[..., Result]


@pytest.fixture
def workspace(tmp_path: Path, columns: Callable[[Path, Path], Path]) -> Path:
    """A workspace that knows the columns of the example."""
    return columns(EXAMPLE, tmp_path / "kept")


def test_a_page_of_the_example_and_its_sentences(
    run: Run, tmp_path: Path, workspace: Path
) -> None:
    target = tmp_path / "job.html"
    told = run("report", EXAMPLE, "-o", target, "--workspace", workspace, "--n", "8,512")
    assert told.exit_code == 0, told.stderr
    root = assert_safe(target.read_bytes())
    (verdict,) = [one for one in root.all("ol") if one.attributes.get("class") == "verdict"]
    said = [one.text for one in verdict.all("li")]
    lines = told.stdout.splitlines()
    assert lines[:3] == said
    size = target.stat().st_size
    assert lines[4] == f"{target}: {size / 1e6:.2f} MB"
    assert size < 3e6
    assert "Mean wait of a rank by GEV: " in said[2]
    assert "switched, n = 512: B* at ε = −0.5 is " in said[2]
    own = data(root)
    assert set(own["fit"]["growth"]) < set(FIT_EVT.names)
    assert own["fit"]["growth"]["n"] == own["bandwidth"]["n"][:2] == [8, 512]
    curve = own["fit"]["curve"]
    width = np.diff(curve["z"])
    for name in ("gumbel_density", "gev_density"):
        middle = (np.array(curve[name])[1:] + np.array(curve[name])[:-1]) / 2
        assert 0.8 < float(width @ middle) < 1
    charts = {one.attributes.get("id", "") for one in root.all("div")}
    names = "tax-cdf last timeline variation classes ranks qq pdf growth bandwidth"
    assert {f"chart-{name}" for name in names.split()} <= charts
    tables = {one.attributes["id"] for one in root.all("table")}
    assert tables == {
        f"table-{name}"
        for name in ["measure", "ranks", "classes", "largest", "fit", "bandwidth", "notes"]
    }
    # the traces are now what was measured last
    again = run("report", "-o", target, "--workspace", workspace, "--group", "pp")
    assert again.exit_code == 1
    assert again.stderr.startswith(f"note: using {near(str(EXAMPLE))} as measured just now")
    assert target.stat().st_size == size


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["-o", "page.pdf"], 2, "'page.pdf' is no page: end it in .html or .htm"),
        (["-o", "none/page.html"], 2, "none is no folder"),
        (["--topology", "star"], 2, "no topology 'star'"),
        (["--n", "1"], 2, "waits for nobody"),
        (["--paths", "-1"], 2, "is not in the range"),
        (["--group", "pp"], 1, "no group pp; there are tp, fsdp"),
        (["--ranks", "3"], 1, "only one rank of the group was read"),
    ],
)
def test_what_cannot_be_served_leaves_no_file(
    run: Run, tmp_path: Path, workspace: Path, args: list[str], code: int, said: str
) -> None:
    target = tmp_path / "report.html"
    where = [] if "-o" in args else ["-o", target]
    told = run("report", EXAMPLE, "--workspace", workspace, *where, *args)
    assert (told.exit_code, said in told.stderr) == (code, True), told.stderr
    assert_in_words(told)
    assert told.stdout == ""
    assert not target.exists()


def test_an_input_is_not_overwritten(run: Run, tmp_path: Path) -> None:
    manifest = tmp_path / "ranks.html"
    manifest.write_text("file,rank\n")
    told = run("report", "--manifest", manifest, "-o", manifest)
    assert told.exit_code == 2
    assert "would overwrite what is read as --manifest" in told.stderr
    assert manifest.read_text() == "file,rank\n"


def test_a_trace_that_was_measured_last_is_not_overwritten(
    run: Run, tmp_path: Path, workspace: Path
) -> None:
    traces = tmp_path / "traces"
    shutil.copytree(EXAMPLE, traces)
    assert run("measure", traces, "--workspace", workspace, "-q").exit_code == 0
    target = tmp_path / "report.html"
    target.symlink_to(next(traces.glob("*.json.gz")))
    before = target.read_bytes()
    told = run("report", "-o", target, "--workspace", workspace)
    assert told.exit_code == 2
    assert "would overwrite what is read as a trace" in told.stderr
    assert target.read_bytes() == before


def test_later_stages_that_fail_say_why_on_the_page(
    run: Run, tmp_path: Path, shared_traces: Path
) -> None:
    target = tmp_path / "job.htm"
    told = run("report", shared_traces / "dlrm8-v100", "-o", target, "--no-cache")
    assert told.exit_code == 0, told.stderr
    assert "note: how the wait grows cannot be fitted: " in told.stderr
    assert "note: what bandwidth is worth cannot be told: without a fit " in told.stderr
    root = assert_safe(target.read_bytes())
    for name in ("fit", "bandwidth"):
        (why,) = [
            one
            for one in root.by_id(name).all("p")
            if one.attributes.get("class") == "missing"
        ]
        assert why.text.startswith("Not told: ")
    own = data(root)
    assert own["fit"] is own["bandwidth"] is None
    assert own["steps"] == [10, 10]
    assert not [one for one in root.all("div") if one.attributes.get("id") == "chart-qq"]


def test_a_trace_that_a_later_stage_cannot_read_leaves_what_was_found_and_exit_code_3(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    traces, target = tmp_path / "traces", tmp_path / "job.html"
    traces.mkdir()
    for rank in range(2):
        shutil.copy(EXAMPLE / f"rank{rank}.json.gz", traces)
    measured = report_stages.measured

    def then_overwritten(*args: Any) -> Any:
        tax = measured(*args)
        for path in traces.iterdir():
            path.write_bytes(b"no trace any more")
        return tax

    monkeypatch.setattr(report_stages, "measured", then_overwritten)
    told = run("report", traces, "-o", target, "--no-cache")
    assert told.exit_code == run("measure", traces, "--no-cache").exit_code == 3
    assert_in_words(told)
    lines = told.stderr.splitlines()
    for what in ("nobody can be blamed", "how the wait grows cannot be fitted"):
        assert any(line.startswith(f"note: {what}: ") for line in lines), what
    assert lines[-1].endswith(f"{target} holds the measurement, and says what it lacks")
    assert "rank0.json.gz" in lines[-1]
    root = assert_safe(target.read_bytes())
    for name in ("attribute", "fit", "bandwidth"):
        why = [
            p for p in root.by_id(name).all("p") if p.attributes.get("class") == "missing"
        ]
        assert why[0].text.startswith("Not told: "), name
    assert root.by_id("measure").all("table")
