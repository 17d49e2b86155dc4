"""Policies of one's own: how they are found, and what happens where they are wrong."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from synctax.cluster.engine import simulate
from synctax.cluster.inputs.cluster_file import cluster_of
from synctax.cluster.jobs import simple_jobs
from synctax.cluster.machines import uniform
from synctax.cluster.policies.ask import ask
from synctax.cluster.policies.free import FreeGpus
from synctax.cluster.policies.lookup import installed, policy
from synctax.cluster.policies.policy import JobView
from synctax.errors import SynctaxError
from synctax.planning.inputs.yaml_file import read_yaml
from tests.conftest import ROOT

OWN = ROOT / "examples" / "cluster" / "own_policy.py"
FREE = FreeGpus(np.array([3, 8, 5]))
JOB = JobView(simple_jobs([(0, 4, 1)]), 0)


def returning(answer):
    return lambda free, job, state: answer


def asked(answer):
    return ask(returning(answer), "mine", FREE, JOB, state=None)


def refused(find) -> str:
    with pytest.raises(SynctaxError) as error:
        find()
    said = str(error.value)
    assert "\n" not in said
    assert "Traceback" not in said
    return said


@pytest.mark.parametrize(
    "answer",
    [
        {1: 1, 0: 3},
        {0: 3, 1: 1, 2: 0},
        {np.int64(0): np.int32(3), np.int64(1): np.int64(1)},
    ],
)
def test_workers_by_server_become_a_placement_without_servers_of_none(answer):
    assert asked(answer) == ((0, 3), (1, 1))


def test_a_policy_may_have_a_job_wait():
    assert asked(None) is None


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({1: 3}, "placed 3 workers of job 0, which asks for 4: {1: 3}"),
        ({1: 3, 2: 2}, "placed 5 workers of job 0, which asks for 4: {1: 3, 2: 2}"),
        ({}, "placed 0 workers of job 0, which asks for 4: {}"),
        ({0: 4}, "put 4 workers of job 0 on server 0; 3 GPUs are free there"),
        (
            {3: 4},
            "put 4 workers of job 0 on server 3; servers are whole numbers from 0 to 2",
        ),
        ({-1: 4}, "on server -1; servers are whole numbers from 0 to 2"),
        ({"1": 4}, "on server '1'; servers are whole numbers from 0 to 2"),
        ({True: 4}, "on server True; servers are whole numbers from 0 to 2"),
        (
            {1: 5, 2: -1},
            "put -1 workers of job 0 on server 2; expected a whole number of 0",
        ),
        ({1: 4.0}, "put 4.0 workers of job 0 on server 1; expected a whole number of 0"),
        ({1: True}, "put True workers of job 0 on server 1; expected a whole number of 0"),
        (
            [0, 4, 0],
            "returned [0, 4, 0] for job 0; expected the number of workers by server",
        ),
        (1, "returned 1 for job 0; expected the number of workers by server"),
    ],
)
def test_an_answer_that_is_no_placement_is_refused_with_policy_job_and_reason(answer, said):
    message = refused(lambda: asked(answer))
    assert message.startswith("policy mine ")
    assert said in message


def test_a_policy_that_raises_is_named_with_job_exception_and_line(tmp_path):
    file = tmp_path / "broken.py"
    file.write_text("def f(free, job, state):\n    return {}[job.gpus]\n")
    mine = policy(f"{file}:f")
    message = refused(lambda: ask(mine, "broken.py:f", FREE, JOB, None))
    assert message == "policy broken.py:f failed on job 0: KeyError: 4 (broken.py, line 2)"


def test_an_exception_without_words_is_named_by_its_type():
    def give_up(free, job, state):
        raise NotImplementedError

    assert "failed on job 0: NotImplementedError (" in refused(
        lambda: ask(give_up, "mine", FREE, JOB, None)
    )


def test_a_policy_that_changes_free_gpus_is_refused_and_they_stay_as_they_are():
    def greedy(free, job, state):
        free[1] -= job.gpus
        return {1: job.gpus}

    assert "read-only" in refused(lambda: ask(greedy, "mine", FREE, JOB, None))
    assert FREE.gpus.tolist() == [3, 8, 5]


def test_an_interrupt_within_a_policy_is_not_held_up():
    def interrupted(free, job, state):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask(interrupted, "mine", FREE, JOB, None)


@pytest.mark.parametrize("how", ["sys.exit(0)", "raise BaseException('base')"])
def test_a_policy_that_would_end_the_program_is_told_as_any_other_fault(tmp_path, how):
    file = tmp_path / "leaving.py"
    file.write_text(f"import sys\ndef f(free, job, state):\n    {how}\n")
    mine = policy(f"{file}:f")
    message = refused(lambda: ask(mine, "mine", FREE, JOB, None))
    assert message.startswith("policy mine failed on job 0: ")
    assert message.endswith(": 0 (leaving.py, line 3)") or "BaseException: base" in message
    file.write_text(f"import sys\n{how}\n")
    message = refused(lambda: policy(f"{file}:f"))
    assert message.endswith("(leaving.py, line 2)")


def test_an_interrupt_while_a_policy_is_loaded_is_not_held_up(tmp_path):
    file = tmp_path / "interrupted.py"
    file.write_text("raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        policy(f"{file}:f")


def test_what_a_policy_prints_is_no_part_of_results(tmp_path, capsys):
    file = tmp_path / "talking.py"
    file.write_text(
        "print('loaded')\ndef f(free, job, state):\n"
        "    print('asked')\n    return {1: job.gpus}\n"
    )
    jobs = simple_jobs([(0, 4, 10)])
    found = simulate(jobs, uniform(2, 8, 1e9), policy=f"{file}:f")
    assert found.policy == f"{file}:f"
    assert capsys.readouterr() == ("", "loaded\nasked\n")


def test_a_policy_cannot_change_jobs_or_cluster():
    def cheating(free, job, state):
        for change in (
            lambda: job.jobs.duration_ns.fill(1),
            lambda: state.job(0).jobs.gpus.fill(1),
            lambda: state.cluster.nic_bytes_per_s.fill(1),
        ):
            with pytest.raises(ValueError, match="read-only"):
                change()
        return {0: job.gpus}

    jobs = simple_jobs([(0, 4, 100)])
    found = simulate(jobs, uniform(2, 8, 1e9), policy=cheating)
    assert found.end_ns.tolist() == [100e9]
    jobs.duration_ns[0] = 5  # whoever made them still may


def test_a_job_is_written_as_one_job():
    seen = JobView(simple_jobs([(at, 4, 100) for at in range(999)]), 7)
    assert repr(seen) == (
        "JobView(job_id='7', gpus=4, submit_s=7.0, duration_s=100.0, compute_s=1.0, "
        "network_s=0.0, workload='')"
    )


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Write a module that can be imported under a name that nothing else has."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(name: str, text: str) -> str:
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)
        return name

    return write


MINE = """
from __future__ import annotations
from dataclasses import dataclass, field

def first(free, job, state):
    return {1: job.gpus}

@dataclass
class Counting:
    asked: list[str] = field(default_factory=list)

    def __call__(self, free, job, state):
        self.asked.append(job.job_id)
        return {len(self.asked): job.gpus}

class Wrong:
    def __init__(self):
        raise OSError("no map of racks")

class Within:
    @staticmethod
    def other(a, b, c):
        return {2: b.gpus}

class Silent:
    pass

def two(free, job):
    return {1: job.gpus}

number = 3
"""


def test_a_policy_is_found_by_module_and_function(module):
    name = module("mine_by_module", MINE)
    assert policy(f"{name}:first")(FREE.gpus, JOB, None) == {1: 4}
    assert policy(f"{name}:Within.other")(FREE.gpus, JOB, None) == {2: 4}


def test_a_policy_is_found_by_file_and_function(tmp_path):
    file = tmp_path / "with: colon.py"
    file.write_text(MINE)
    assert policy(f"{file}:first")(FREE.gpus, JOB, None) == {1: 4}


@pytest.mark.parametrize("by", ["file", "module"])
def test_a_class_is_made_anew_for_each_simulation(by, module, tmp_path):
    where = module("mine_by_class", MINE)
    name = f"{where}:Counting" if by == "module" else f"{tmp_path / where}.py:Counting"
    for _ in range(2):
        assert policy(name)(FREE.gpus, JOB, None) == {1: 4}


@pytest.mark.parametrize(
    ("attribute", "said"),
    [
        ("third", "there is no third; the module has first, two"),
        ("first.missing", "there is no first.missing; the module has first, two"),
        ("number", "is 3, which cannot be called; expected a function of free, job, state"),
        ("two", "takes (free, job); expected a function of free, job, state"),
        ("Silent", "which cannot be called; expected a function of free, job, state"),
        ("Wrong", "cannot be loaded: OSError: no map of racks (mine_wrong.py, line 18)"),
    ],
)
def test_what_is_no_policy_is_refused_before_any_job_runs(module, attribute, said):
    name = f"{module('mine_wrong', MINE)}:{attribute}"
    message = refused(lambda: policy(name))
    assert message.startswith(f"policy {name}")
    assert said in message


def test_a_module_without_functions_is_told_so(module):
    name = module("mine_empty", "x = 1\n")
    assert "the module has no functions" in refused(lambda: policy(f"{name}:f"))


def test_a_missing_module_is_named():
    message = refused(lambda: policy("no_such_module.at_all:f"))
    assert message == (
        "policy no_such_module.at_all:f cannot be loaded: "
        "ModuleNotFoundError: No module named 'no_such_module'"
    )


def test_a_file_where_a_module_is_named_is_meant(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [one for one in sys.path if one])
    (tmp_path / "poli_of_mine.py").write_text(MINE)
    message = refused(lambda: policy("poli_of_mine:first"))
    assert message.endswith("did you mean poli_of_mine.py:first?")
    assert policy("poli_of_mine.py:first")(FREE.gpus, JOB, None) == {1: 4}


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("binpacking", "bin-packing"),
        ("Bin-Packing", "bin-packing"),
        ("load_balancing", "load-balancing"),
        ("LeastAllocated", "least-allocated"),
        ("spred", "spread"),
    ],
)
def test_a_name_that_is_near_one_is_told(name, meant):
    assert refused(lambda: policy(name)).endswith(f"; did you mean {meant}?")


def test_another_name_of_a_policy_is_kept_for_results():
    jobs = simple_jobs([(0, 4, 10)])
    for chosen in ("least-allocated", policy("least-allocated")):
        found = simulate(jobs, uniform(2, 8, 1e9), policy=chosen)
        assert found.policy == "least-allocated"
        assert found.placements == (((0, 2), (1, 2)),)


def test_a_missing_file_is_named(tmp_path):
    file = tmp_path / "none.py"
    assert f"there is no file {file}" in refused(lambda: policy(f"{file}:f"))
    assert "there is no file" in refused(lambda: policy(f"{tmp_path / 'folder.py'}:f"))


def test_a_file_that_is_no_python_is_told_with_its_line(tmp_path):
    file = tmp_path / "broken.py"
    file.write_text("x = 1\ndef f(:\n")
    message = refused(lambda: policy(f"{file}:f"))
    assert "cannot be loaded: SyntaxError: invalid syntax (broken.py, line 2)" in message


def test_a_file_that_fails_while_it_is_read_is_told_with_its_line_and_forgotten(tmp_path):
    file = tmp_path / "failing.py"
    file.write_text("x = 1\n1 / 0\n")
    message = refused(lambda: policy(f"{file}:f"))
    assert message.endswith("ZeroDivisionError: division by zero (failing.py, line 2)")
    assert not any(str(file) in name for name in sys.modules)


@pytest.mark.parametrize("name", ["bin-packed", "", ":f", "mine.py", "mine.py:", "a.b"])
def test_an_unknown_name_is_refused_with_those_that_there_are(name):
    message = refused(lambda: policy(name))
    assert message.startswith(f"policy is {name!r}; expected one of bin-packing, ")
    assert "least-allocated" in message
    assert "package.module:function, or file.py:function" in message


def test_compiled_code_that_does_not_tell_what_it_takes_is_tried():
    # numpy's ufuncs have no signature that Python can read
    assert policy("builtins:min")(3, 1, 2) == 1


@pytest.fixture
def offered(tmp_path, module):
    """Install packages that offer policies by entry points."""
    module("mine_offered", MINE)

    def install(package: str, *entries: str) -> None:
        info = tmp_path / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n"
        )
        lines = ["[synctax.policies]", *entries]
        (info / "entry_points.txt").write_text("\n".join(lines) + "\n")

    return install


def test_a_policy_that_an_installed_package_offers_is_found_and_listed(offered):
    offered("racks", "by-rack = mine_offered:first", "broken = mine_offered:third")
    assert policy("by-rack")(FREE.gpus, JOB, None) == {1: 4}
    assert {"by-rack", "broken"} <= set(installed())
    assert "by-rack" in refused(lambda: policy("by-tower"))
    assert "policy broken cannot be loaded: AttributeError" in refused(
        lambda: policy("broken")
    )


def test_a_cluster_file_may_name_what_is_installed_and_nothing_of_it_runs(offered):
    offered("racks", "by-rack = mine_offered:first")
    sys.modules.pop("mine_offered", None)
    text = b"servers: [{gpus: 8, nic_bytes_per_s: 1e9}]\npolicy: by-rack\n"
    section = read_yaml(text, name="x.yaml", kind="a cluster")
    assert cluster_of(section, name="x").policy == "by-rack"
    assert "mine_offered" not in sys.modules


def test_a_name_that_two_packages_offer_is_refused(offered):
    offered("racks", "by-rack = mine_offered:first")
    offered("rows", "by-rack = mine_offered:Within.other")
    message = refused(lambda: policy("by-rack"))
    assert "mine_offered:Within.other and mine_offered:first" in message


def test_a_package_cannot_take_the_name_of_a_policy_that_is_built_in(offered):
    offered("racks", "bin-packing = mine_offered:number")
    assert policy("bin-packing")(FREE.gpus, JOB, None) == {2: 4}


def test_jobs_that_a_policy_never_places_are_named_in_place_of_waiting_for_ever():
    jobs = simple_jobs([(0, 4, 10), (1, 2, 10)])
    with pytest.raises(SynctaxError, match=r"job.* 0"):
        simulate(jobs, uniform(2, 8, 1e9), policy=returning(None))


def test_the_example_that_keeps_jobs_together_has_them_wait_for_one_server():
    jobs = simple_jobs([(0, 6, 100), (0, 6, 50), (1, 4, 10), (2, 10, 5)])
    found = simulate(jobs, uniform(2, 8, 1e9), policy=f"{OWN}:one_server")
    assert found.placements[:3] == (((0, 6),), ((1, 6),), ((1, 4),))
    assert (found.start_ns[:3] / 1e9).tolist() == [0, 0, 50]
    # too large for any server: it takes several, at once when 10 GPUs are free
    assert found.placements[3] == ((0, 2), (1, 8))
    assert found.start_ns[3] == 60e9


def test_the_example_that_avoids_used_nics_is_slowed_by_nobody_where_bin_packing_is():
    jobs = simple_jobs(
        [(0, 10, 100), (1, 10, 100)], compute_s=0.5, network_s=0.5, network_bytes=5e9
    )
    cluster = uniform(4, 8, 1e9)
    packed = simulate(jobs, cluster, policy="bin-packing")
    avoiding = simulate(jobs, cluster, policy=f"{OWN}:quiet_nics")
    assert packed.placements == (((0, 8), (1, 2)), ((1, 2), (2, 8)))
    assert packed.factor.min() > 1
    assert avoiding.placements == (((0, 8), (1, 2)), ((2, 8), (3, 2)))
    assert avoiding.factor.tolist() == [1, 1]


def test_a_policy_sees_what_runs_where_and_who_crosses_which_nic():
    seen = []

    def looking(free, job, state):
        seen.append(
            SimpleNamespace(
                now_ns=state.now_ns,
                running=dict(state.running),
                crossing=state.crossing.tolist(),
                demand=state.demand_bytes_per_s.tolist(),
                first=state.job(0).gpus,
                free=free.tolist(),
            )
        )
        return policy("load-balancing")(free, job, state)

    jobs = simple_jobs(
        [(0, 4, 100), (3, 1, 5)], network_s=[1, 0], network_bytes=4e9, counting="sent"
    )
    simulate(jobs, uniform(2, 8, 1e10), policy=looking)
    assert vars(seen[1]) == {
        "now_ns": 3_000_000_000,
        "running": {0: ((0, 2), (1, 2))},
        "crossing": [1, 1],
        "demand": [5e8, 5e8],
        "first": 4,
        "free": [6, 6],
    }
