"""Commands read files over as many processes as users have cores, and say the same."""

import json
from multiprocessing.process import BaseProcess

import pytest

from synctax.trace import pool
from tests.conftest import ROOT, assert_in_words
from tests.laws import some

EXAMPLE = ROOT / "examples" / "tp4-fsdp2"
CORES = pool.available_cores


@pytest.fixture
def one_process(monkeypatch):
    """Not here: the default is the point. Of one core it would be one process."""
    monkeypatch.setattr(pool, "available_cores", lambda: max(2, CORES()))


@pytest.fixture
def started(monkeypatch):
    """Counts the processes that were started."""
    names, start = [], BaseProcess.start

    def counted(self):
        names.append(self.name)
        start(self)

    monkeypatch.setattr(BaseProcess, "start", counted)
    return names


@pytest.mark.parametrize(
    "command",
    some(
        [
            ("measure", "--per-collective"),
            ("attribute", "--group", "tp"),
            ("fit-evt", "--group", "tp", "--resamples", "50"),
            ("verify",),
            ("inspect",),
        ]
    ),
    ids=" ".join,
)
def test_the_default_number_of_workers_changes_no_answer(run, started, command):
    name, *options = command
    unsaved = () if name == "inspect" else ("--no-cache",)
    asked = (name, EXAMPLE, *options, *unsaved, "--format", "json")
    one = run(*asked, "--workers", 1)
    assert_in_words(one)
    assert started == []
    by_default = run(*asked)
    assert len(started) >= 2
    assert by_default.exit_code == one.exit_code == 0, by_default.stderr
    assert json.loads(by_default.stdout) == json.loads(one.stdout)
