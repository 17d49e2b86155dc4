"""`--plot` of measure, attribute, whatif and inject: what is drawn, what is refused."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from synctax.cli import plotting
from tests.attribution.examples import EXAMPLE
from tests.conftest import assert_in_words
from tests.experiment.made import experiment


@pytest.fixture
def measure(run, tax, monkeypatch):
    """Measure the example, which was read and measured before."""
    monkeypatch.setattr("synctax.cli.reading.read_job", lambda *_args, **_named: tax)
    monkeypatch.setattr("synctax.collectives.load.require", lambda job: job)
    monkeypatch.setattr("synctax.collectives.tax.measure", lambda *_args, **_named: tax)

    def measure(*args):
        result = run("measure", EXAMPLE, "-q", "--no-cache", *args)
        assert_in_words(result)
        return result

    return measure


@pytest.mark.parametrize(
    ("figure", "label"),
    [
        ((), "collectives (%)"),
        (("--figure", "last"), "place among the tp collectives"),
        (("--figure", "runs"), "runs of k or more"),
    ],
)
def test_measure_draws_the_figure_beside_its_table(measure, tmp_path, figure, label):
    path = tmp_path / "made.svg"
    result = measure("--plot", path, *figure)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("group ")
    assert label in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("table", ["--per-collective", "--per-rank"])
def test_every_table_of_measure_goes_with_a_picture(measure, tmp_path, table):
    result = measure(table, "--plot", tmp_path / "made.svg", "-o", tmp_path / "made.csv")
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / "made.svg").read_bytes().startswith(b"<?xml")
    assert (tmp_path / "made.csv").stat().st_size


def test_a_gate_that_fails_still_leaves_its_picture(measure, tmp_path):
    path = tmp_path / "made.png"
    assert measure("--plot", path, "--fail-above-us", 1).exit_code == 4
    assert path.is_file()


@pytest.mark.parametrize(
    ("figure", "label"),
    [
        ("variation", "measured tax (µs)"),
        ("classes", "tax of tp (ms)"),
        ("ranks", "rank of tp"),
    ],
)
def test_attribute_draws_each_of_its_figures(
    run, tmp_path, monkeypatch, attribution, figure, label
):
    read = (attribution.tax, None)
    monkeypatch.setattr("synctax.cli.reading.measure_again", lambda *_args, **_named: read)
    monkeypatch.setattr(
        "synctax.attribution.attribute.attribute", lambda *_args, **_named: attribution
    )
    path = tmp_path / "made.svg"
    result = run(
        "attribute", EXAMPLE, "-q", "--no-cache", "--plot", path, "--figure", figure
    )
    assert result.exit_code == 0, result.stderr
    assert label in path.read_text(encoding="utf-8")


def test_whatif_and_inject_draw_theirs(run, tmp_path):
    folder = experiment(0.0, 20.0).write(tmp_path / "job")
    first, second = tmp_path / "steps.svg", tmp_path / "recovery.svg"
    asked = ("--no-cache", "--workers", 1, "-q", "--plot")
    result = run("whatif", folder, *asked, first, "--change", "tax=0")
    assert result.exit_code == 0, result.stderr
    assert ">tax=0<" in first.read_text(encoding="utf-8")
    result = run("inject", *asked, second, "--traces", folder)
    assert result.exit_code == 0, result.stderr
    assert ">delay (ms)<" in second.read_text(encoding="utf-8")


COMMANDS = (
    ("measure",),
    ("attribute",),
    ("whatif", "--change", "tax=0"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("made.jpg", "'made.jpg' tells no format; end it in .png, .svg or .pdf"),
        ("made", "'made' tells no format"),
        ("absent/made.png", "absent is no folder"),
    ],
)
def test_names_that_cannot_be_drawn_are_refused(run, tmp_path, command, name, said):
    result = run(*command, EXAMPLE, "--plot", tmp_path / name)
    assert result.exit_code == 2
    assert said in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_file(run, tmp_path):
    folder = tmp_path / "made.png"
    folder.mkdir()
    result = run("measure", EXAMPLE, "--plot", folder)
    assert result.exit_code == 2
    assert "is a directory" in result.stderr


def test_a_figure_without_a_file_is_refused(run):
    result = run("measure", EXAMPLE, "--figure", "last")
    assert result.exit_code == 2
    assert "--figure tells what --plot FILE draws; give both" in result.stderr


def test_a_figure_that_there_is_not_is_refused_with_those_that_there_are(run, tmp_path):
    plot = ("--plot", tmp_path / "made.png")
    result = run("measure", EXAMPLE, *plot, "--figure", "pie")
    assert result.exit_code == 2
    assert "'cdf', 'last', 'runs'" in result.stderr
    result = run("whatif", EXAMPLE, "--change", "tax=0", *plot, "--figure", "steps")
    assert result.exit_code == 2
    assert "No such option" in result.stderr


def test_picture_and_result_are_two_files(run, tmp_path):
    path = tmp_path / "made.svg"
    result = run("measure", EXAMPLE, "--plot", path, "-o", path, "--format", "csv")
    assert result.exit_code == 2
    assert f"both name {path}; give two files" in result.stderr


@pytest.mark.parametrize("fmt", ["json", "table"])
def test_picture_and_result_do_not_both_go_to_stdout(tmp_path, fmt):
    # a process of its own: its stdout is a file
    path, stdout = tmp_path / "made.svg", tmp_path / "stdout"
    path.symlink_to("/dev/stdout")
    command = [sys.executable, "-m", "synctax", "measure", EXAMPLE, "--no-cache", "-q"]
    with stdout.open("wb") as file:
        done = subprocess.run(
            [*command, "--format", fmt, "--plot", path],
            stdout=file,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert f"--plot {path} is stdout, where the result goes" in done.stderr
    assert stdout.read_bytes() == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is full")
def test_a_full_device_is_named_as_it_was_given(measure, tmp_path):
    path = tmp_path / "made.png"
    path.symlink_to("/dev/full")
    result = measure("--plot", path)
    assert result.exit_code == 1
    assert f"{path}: no space left on device" in result.stderr


def test_a_picture_goes_over_no_input(run, tmp_path):
    manifest = tmp_path / "ranks.svg"
    manifest.write_text("kept", encoding="utf-8")
    result = run("measure", EXAMPLE, "--manifest", manifest, "--plot", manifest)
    assert result.exit_code == 2
    assert "would overwrite what is read as --manifest" in result.stderr
    assert manifest.read_text(encoding="utf-8") == "kept"


def test_without_matplotlib_nothing_is_computed(run, tmp_path, monkeypatch):
    monkeypatch.setattr(plotting, "find_spec", lambda _name: None)
    result = run("measure", tmp_path / "absent", "--plot", tmp_path / "made.png")
    assert result.exit_code == 2
    assert "pip install 'synctax[plot]'" in result.stderr
    assert "absent" not in result.stderr


def test_without_the_option_matplotlib_is_not_looked_for(measure, monkeypatch):
    monkeypatch.setattr(plotting, "find_spec", lambda _name: pytest.fail("looked for"))
    assert measure().exit_code == 0


def test_help_names_figures_and_their_default(run):
    text = run("measure", "--help").stdout
    assert "--figure [cdf|last|runs]" in text
    assert "[default: cdf]" in " ".join(text.split())
    assert "--figure" not in run("inject", "--help").stdout


def test_settings_of_the_user_neither_reach_nor_stop_a_picture(tmp_path):
    # a process of its own: settings are read where the library is imported first
    settings = tmp_path / "matplotlibrc"
    settings.write_bytes(b"lines.linewidth: 9\n\xff\xfe no text")
    code = (
        "from synctax.cli.plotting import _set_aside\n_set_aside()\n"
        "from synctax.report.figures.style import styled\n"
        "import matplotlib as mpl\n"
        "with styled(): print(mpl.rcParams['lines.linewidth'])"
    )
    told = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "nonsense", "MATPLOTLIBRC": str(settings)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (told.stdout, told.stderr) == ("1.5\n", "")
