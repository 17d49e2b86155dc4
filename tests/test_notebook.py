"""Results show themselves in notebooks: short, a heading, nothing but text in cells."""

import inspect
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import synctax
from synctax.cluster.characterize.profile import Profile
from synctax.cluster.pairs import pairs
from synctax.cluster.sweep import Sweep
from synctax.schema.html import LONGEST_CELL, MOST_ROWS, table_html
from tests.compare.windows import windows
from tests.experiment.made import judged

EXAMPLES = Path(__file__).parents[1] / "examples"
HOSTILE = "<img src=x onerror=alert(1)>"
LINE = 120
PROFILES = [
    Profile(name, 8, "v100", 0.5, 0.5, float("nan"), 1e9, 1, "", "", "") for name in "ab"
]


class Tags(HTMLParser):
    """Collects tags and rows of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.text += data


def parsed(text):
    tags = Tags()
    tags.feed(text)
    return tags


@pytest.fixture(scope="module")
def results():
    """One of every public result, of cheap data in which the host has a hostile name."""
    job = synctax.load(EXAMPLES / "tp4-fsdp2", workers=1)
    job = replace(
        job,
        ranks=tuple(replace(one, host=HOSTILE) for one in job.ranks),
        files=tuple(replace(one, host=HOSTILE) for one in job.files),
    )
    tax = synctax.measure(job, group="tp")
    attribution = synctax.attribute(tax, workers=1)
    index = int(attribution.per_collective().query("culprit.notna()")["index"].iloc[0])
    ranks = attribution.per_collective().query("culprit.notna()")["group_ranks"].iloc[0]
    blocks = synctax.block_times(tax, workers=1)
    model, machine = synctax.read_model("llama3-8b"), synctax.read_platform("dgx-h100")
    found = synctax.plan(model, machine, 16, synctax.Training(batch=64, sequence=4096))
    cluster = synctax.read_cluster("mosim-4x8")
    jobs = synctax.read_jobs(str(EXAMPLES / "cluster" / "two-jobs.csv"), cluster).jobs
    late = [np.random.default_rng(0).exponential(10, (4, 2)) for _ in range(25)]
    return {
        "Job": job,
        "Tax": tax,
        "Attribution": attribution,
        "Story": attribution.explain(index, group_ranks=ranks),
        "WhatIf": synctax.whatif(tax, "class=gemm:median", workers=1),
        "BlockTimes": blocks,
        "EvtFit": synctax.fit_evt(blocks),
        "Plan": found,
        "Simulation": synctax.simulate(jobs, cluster),
        "Trend": synctax.trend(synctax.measure(windows(late))),
        "Verification": synctax.verify(
            synctax.observe(job, tax.matches.groups), None, synctax.Against()
        ),
        "Recovered": judged(EXAMPLES / "tp2-injected" / "iteration_36"),
        "Pairs": pairs(PROFILES, nic_bytes_per_s=1e9, contention=synctax.Contention()),
        "Sweep": Sweep((), ()),
        "FoundBlocks": blocks,
        "Matches": tax.matches,
        "RankCollectives": job.ranks[0],
        "Jobs": jobs,
        "Cluster": cluster,
    }


TABULAR = (
    "Job", "Tax", "Attribution", "Story", "WhatIf", "BlockTimes", "FoundBlocks", "EvtFit",
    "Plan", "Simulation", "Trend", "Verification", "Recovered", "Pairs", "Sweep",
)  # fmt: skip
PLAIN = ("Matches", "RankCollectives", "Jobs", "Cluster")


def test_every_public_result_with_a_table_is_tried():
    public = {
        name
        for name in synctax.__all__
        if inspect.isclass(kind := getattr(synctax, name)) and hasattr(kind, "to_frame")
    }
    assert public - {"Comparison", "Overlay"} <= set(TABULAR)


@pytest.mark.parametrize("name", TABULAR)
def test_a_result_shows_a_heading_and_its_first_rows(results, name):
    one = results[name]
    frame, page = one.to_frame(), parsed(one._repr_html_())
    assert isinstance(frame, pd.DataFrame)
    assert page.tags.count("tr") == 1 + min(len(frame), MOST_ROWS)
    assert set(page.tags) <= {"p", "table", "thead", "tbody", "tr", "th", "td"}
    assert repr(one).strip("<>") in page.text
    if len(frame) > MOST_ROWS:
        assert f"and {len(frame) - MOST_ROWS:,} row" in page.text


@pytest.mark.parametrize("name", [*TABULAR, *PLAIN])
def test_a_result_is_a_line_in_a_terminal(results, name):
    line = repr(results[name])
    assert name.removeprefix("Found") in line
    assert len(line) <= LINE
    assert "\n" not in line


def test_names_from_traces_are_text(results):
    for name in ("Job", "Tax"):
        assert HOSTILE[:10] in parsed(results[name]._repr_html_()).text


def test_text_of_any_kind_and_length_is_one_cell():
    frame = pd.DataFrame(
        {"<b>": ["</td><script>alert(1)</script>", "x" * 500], "n": [None, 1.23456789]}
    )
    text = table_html("</p><script>", frame)
    page = parsed(text)
    assert "script" not in page.tags
    assert page.tags.count("td") == frame.size
    assert "x" * LONGEST_CELL not in page.text
    assert "1.23<" in text


def test_one_row_more_is_said_so():
    text = table_html("t", pd.DataFrame({"n": range(MOST_ROWS + 1)}))
    assert parsed(text).text.endswith("… and 1 row more: to_frame()")


def test_figures_show_themselves(results):
    pytest.importorskip("matplotlib")
    from synctax.report.figures.trend import trend

    picture = trend(results["Trend"])._repr_png_()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) < 60_000


@pytest.mark.parametrize("folder", [EXAMPLES, EXAMPLES.parent])
def test_the_notebook_finds_its_job_where_it_may_be_run(folder, monkeypatch):
    from tests.bench.notebook import CELLS

    monkeypatch.chdir(folder)
    names = {}
    exec(CELLS[1], names)
    assert len(names["job"].ranks) == 8


@pytest.mark.repo
def test_the_notebook_of_the_examples_still_shows_what_it_shows():
    nbformat = pytest.importorskip("nbformat")
    for needed in ("nbclient", "ipykernel", "matplotlib"):
        pytest.importorskip(needed)
    from tests.bench import notebook

    kept = nbformat.read(notebook.NOTEBOOK, as_version=4)
    assert [cell.source for cell in kept.cells] == list(notebook.CELLS)
    again = notebook.run(notebook.made(), notebook.NOTEBOOK.parent)
    assert notebook.texts(again) == notebook.texts(kept)
    assert notebook.NOTEBOOK.stat().st_size < 500_000
    pictures = [
        len(output.data["image/png"]) * 3 // 4
        for cell in kept.cells
        for output in cell.get("outputs", ())
        if "image/png" in output.get("data", {})
    ]
    assert len(pictures) == 3
    assert max(pictures) <= 60_000
