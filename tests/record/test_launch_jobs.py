"""Real torch jobs, whose scripts were not changed, recorded from the command line."""

import json
import signal
import subprocess
import sys
import sysconfig
import venv
from importlib.util import find_spec
from pathlib import Path

import pytest

from synctax.record.state import read_states
from synctax.trace.kineto import read_rank
from tests.conftest import ROOT

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(find_spec("torch") is None, reason="the extra torch is needed"),
]

JOBS = Path(__file__).parent / "launched"
RANKS = (sys.executable, JOBS / "ranks.py")
TRAIN = (sys.executable, JOBS / "train.py")
TORCHRUN = (sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", 2)
WINDOW = ("--skip", 2, "--warmup", 1, "--steps", 3)
"""Steps 3, 4 and 5."""


class Job:
    """A recorded job, started when it is made and waited for when it is asked about."""

    def __init__(self, folder, *command, options=WINDOW, interrupt=False):
        self.folder = folder / "traces"
        asked = ["record", "--format", "json", "-o", self.folder, *options, "--", *command]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "synctax", *map(str, asked)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._interrupt = interrupt

    def wait(self):
        """Wait for its end; `exit_code`, `stdout`, `stderr`, `ranks`, `verdict`."""
        before = ""
        if self._interrupt:
            while "hangs" not in before:
                line = self._process.stdout.readline()
                assert line, "it ended"
                before += line
            self._process.send_signal(signal.SIGINT)
        stdout, self.stderr = self._process.communicate(timeout=120)
        self.stdout, brace, rest = (before + stdout).partition("{\n")
        self.exit_code = self._process.returncode
        summary = json.loads(brace + rest)
        self.ranks = {row["rank"]: row for row in summary["rows"]}
        self.verdict = summary["verdict"]
        return self

    def marks(self, rank):
        """Read the trace of a rank; return the names of its steps."""
        trace = read_rank(str(self.folder / self.ranks[rank]["trace"]))
        assert not trace.truncated
        return sorted(name for name in trace.strings if name.startswith("ProfilerStep"))


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return lambda: tmp_path_factory.mktemp("job")


@pytest.fixture(scope="session")
def alone(folder):
    """Single processes, all at once: each mostly imports torch."""
    bare = folder() / "venv"
    venv.create(bare, symlinks=True)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(bare)}))
    # torch can be imported from there; synctax, which is installed by a .pth, cannot
    (site / "torch.pth").write_text(sysconfig.get_path("purelib"))
    bare_train = (bare / "bin" / "python", TRAIN[1])
    jobs = {
        "amid": Job(folder(), *TRAIN, "--do", "profile", "--at", 0, 4, 7, "--exit", 7),
        "whole": Job(folder(), *bare_train, options=("--whole-run",)),
        "raise": Job(
            folder(),
            *(*TRAIN, "--do", "raise", "--at", 4),
            options=("--step-at", "torch.optim.sgd:SGD.zero_grad", *WINDOW),
        ),
    }
    return {name: job.wait() for name, job in jobs.items()}


# ------------------------------------------------------------------ all goes well


@pytest.fixture(scope="session")
def pair(folder):
    example = ROOT / "examples" / "tensor_parallel.py"
    return Job(folder(), *TORCHRUN, example, "--tp", 2, "--steps", 7).wait()


def test_a_job_of_torchrun_is_recorded_by_its_ranks_alone(pair):
    assert pair.exit_code == 0
    assert pair.stdout.startswith("loss ")
    assert pair.verdict == ["2 of 2 ranks recorded steps 3 to 5"]
    assert "USDT" not in pair.stderr
    assert [one.backend for one in read_states(pair.folder)] == ["gloo", "gloo"]


def test_the_tax_of_what_was_recorded_can_be_measured(pair, run):
    rows = json.loads(run("measure", pair.folder, "--no-cache", "--format", "json").stdout)
    assert "all_gather" in {row["op"] for row in rows["rows"]}


# ------------------------------------------------------------------ something fails


@pytest.fixture(scope="session")
def killed(folder):
    return Job(folder(), *RANKS, 4, *TRAIN, "--do", "kill", "--at", 4, "--rank", 3).wait()


def test_where_a_rank_is_killed_the_others_leave_their_traces(killed):
    assert killed.exit_code == 1  # of rank 0, which misses rank 3
    assert killed.ranks[3]["state"] == "died"
    for rank in range(3):
        assert killed.ranks[rank]["state"] == "cut"
        assert killed.ranks[rank]["first_step"] == 3
        assert killed.ranks[rank]["reason"]
        assert killed.marks(rank)[0] == "ProfilerStep#3"
    assert any("rank 3 ended without a word while recording" in v for v in killed.verdict)


def test_ctrl_c_ends_ranks_with_their_traces_even_if_they_wait_for_another(folder):
    job = Job(
        folder(),
        *(*RANKS, 2, *TRAIN, "--do", "hang", "--at", 4, "--rank", 1),
        interrupt=True,
    ).wait()
    assert job.exit_code == 128 + signal.SIGINT
    assert {rank: row["state"] for rank, row in job.ranks.items()} == {0: "cut", 1: "cut"}
    assert job.ranks[1]["reason"] == "SIGINT came in step 4"
    assert job.marks(0)[0] == "ProfilerStep#3"


# ------------------------------------------------------------------ one process


def test_profilers_of_the_script_work_before_amid_and_after_a_window_that_they_end(alone):
    job = alone["amid"]
    assert job.exit_code == 7
    assert job.stdout == "rank 0 trained\n"
    assert job.ranks[0]["state"] == "cut"
    assert "profiler" in job.ranks[0]["reason"]
    assert (job.ranks[0]["first_step"], job.ranks[0]["end_step"]) == (3, 4)
    assert job.marks(0)[0] == "ProfilerStep#3"


def test_a_python_that_has_torch_and_no_synctax_is_recorded_as_a_whole(alone):
    job = alone["whole"]
    assert job.exit_code == 0
    assert [line.split(":")[0] for line in job.stderr.splitlines()] == ["synctax", "next"]
    assert job.ranks[0]["state"] == "written"
    assert (job.ranks[0]["first_step"], job.ranks[0]["end_step"]) == (0, 1)


def test_an_exception_in_a_step_of_a_function_of_a_library_is_the_reason(alone):
    job = alone["raise"]
    assert job.exit_code == 1
    assert job.ranks[0]["reason"] == "ValueError: the loss of step 4 is nan in step 4"
    assert job.ranks[0]["state"] == "cut"
    assert "ValueError: the loss of step 4 is nan\nand more\n" in job.stderr
