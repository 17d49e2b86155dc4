"""Real torch jobs, whose scripts were not changed, recorded from the command line."""

import json
import re
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
TORCHRUN = (sys.executable, "-m", "torch.distributed.run", "--nproc-per-node")
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

LONE_STEPS = 6


@pytest.fixture(scope="session")
def lone(folder):
    """Ranks that sum alone, in groups made after the window has begun, and together."""
    train = (*TRAIN, "--alone", "--steps", LONE_STEPS)
    return Job(folder(), *RANKS, 2, *train, options=("--whole-run",)).wait()


STEPS, LAYERS = 3, 2


@pytest.fixture(scope="session")
def four(folder):
    example = ROOT / "examples" / "tensor_parallel.py"
    sizes = ("--tp", 2, "--steps", 7, "--layers", LAYERS)
    return Job(folder(), *TORCHRUN, 4, example, *sizes).wait()


def test_a_job_of_torchrun_is_recorded_by_its_ranks_alone(four):
    assert four.exit_code == 0
    assert four.stdout.startswith("loss ")
    assert four.verdict == ["4 of 4 ranks recorded steps 3 to 5"]
    assert "USDT" not in four.stderr
    assert [one.backend for one in read_states(four.folder)] == ["gloo"] * 4


def asked(run, command, job):
    result = run(command, job.folder, "--no-cache", "--format", "json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_collectives_of_four_ranks_are_matched_within_the_groups_of_the_mesh(four, run):
    found = asked(run, "measure", four)
    rows = {(row["group"], row["op"]): row for row in found["rows"]}
    # of attention and MLP, forward and backward, in two groups of two ranks
    tensor_parallel = STEPS * LAYERS * 4 * 2
    for kind in (("tp", "all_gather"), ("tp", "all_reduce")):
        assert rows[kind]["n_ranks"] == 2
        assert tensor_parallel / 2 < rows[kind]["collectives"] <= tensor_parallel
    assert 0 < rows["fsdp", "all_gather"]["collectives"] <= STEPS * LAYERS * 2
    assert {group for group, _ in rows} <= {"tp", "fsdp", "default"}
    assert not any("another" in note["detail"] for note in found["excluded"])


def test_the_tax_of_four_ranks_can_be_attributed(four, run):
    found = asked(run, "attribute", four)
    assert {"tp", "fsdp"} <= {row["group"] for row in found["rows"]}


def test_what_lies_beside_the_traces_is_known_as_what_it_is(four, run):
    assert "not read" not in run("inspect", four.folder).stderr


def test_groups_of_a_whole_run_are_told_though_they_are_gone_at_its_end(lone, run):
    assert lone.exit_code == 0
    assert lone.verdict == ["2 of 2 ranks recorded the whole run"]
    (row,) = asked(run, "measure", lone)["rows"]
    assert (row["group"], row["op"], row["n_ranks"]) == ("default", "all_reduce", 2)
    # as many more, of one rank each, are of groups that wait for nobody
    assert row["collectives"] == LONE_STEPS - 1


# ------------------------------------------------------------------ something fails


@pytest.fixture(scope="session")
def killed(folder):
    return Job(folder(), *RANKS, 3, *TRAIN, "--do", "kill", "--at", 4, "--rank", 2).wait()


def test_where_a_rank_is_killed_the_others_leave_their_traces(killed):
    assert killed.exit_code == 1  # of rank 0, which misses rank 2
    assert killed.ranks[2]["state"] == "died"
    for rank in range(2):
        assert killed.ranks[rank]["state"] == "cut"
        assert killed.ranks[rank]["first_step"] == 3
        assert killed.ranks[rank]["reason"]
        assert killed.marks(rank)[0] == "ProfilerStep#3"
    assert any("rank 2 ended without a word while recording" in v for v in killed.verdict)


def test_where_a_rank_dies_before_the_window_the_others_do_not_wait_for_it(folder):
    odd = ("--do", "raise", "--at", 2, "--rank", 1)
    job = Job(folder(), *TORCHRUN, 2, *TRAIN[1:], *odd).wait()
    assert job.exit_code == 1
    assert job.ranks[1]["state"] == "nothing"
    assert "ValueError: the loss of step 2 is nan" in job.ranks[1]["reason"]
    # it ends by what it meets without the other, or by torchrun's first signal
    assert job.ranks[0]["state"] in ("cut", "nothing")
    assert re.search("SIGTERM|RuntimeError|[Cc]onnection", job.ranks[0]["reason"])
    assert "SIGKILL" not in job.stderr


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
