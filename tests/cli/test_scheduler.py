"""`--scheduler`: the answers of one machine, from workers that come and go."""

import json
import sys
from contextlib import contextmanager

import pytest

import synctax
from synctax.cli import reading
from synctax.synth import SynthJob
from synctax.synth.writer import write
from tests.conftest import ROOT, assert_in_words
from tests.dask_cluster import kill_a_worker, two_workers
from tests.laws import some

EXAMPLE = ROOT / "examples" / "tp4-fsdp2"


@pytest.fixture(scope="module")
def cluster():
    with two_workers() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    """Traces of 64 ranks."""
    folder = tmp_path_factory.mktemp("job")
    write(SynthJob(tp=4, fsdp=16, layers=1, steps=2), folder)
    return folder


def test_64_ranks_are_measured_to_the_same_bytes(run, cluster, ranks):
    asked = ("measure", ranks, "--no-cache", "--format", "json", "--per-collective")
    here = run(*asked)
    assert json.loads(here.stdout)["rows"], here.stderr
    there = run(*asked, "--scheduler", cluster.scheduler_address)
    assert there.exit_code == 0, there.stderr
    assert there.stdout_bytes == here.stdout_bytes


def test_a_worker_that_is_killed_on_the_way_changes_nothing(
    run, cluster, ranks, monkeypatch
):
    asked = ("measure", ranks, "--no-cache", "--format", "json")
    here = run(*asked)
    killed, read = [], set()

    @contextmanager
    def killing(sizes, **options):
        def on_progress(path, n):
            read.add(path)
            if len(read) >= 8 and not killed:
                killed.append(len(read))
                kill_a_worker(cluster)

        yield on_progress

    monkeypatch.setattr(reading, "reading_files", killing)
    there = run(*asked, "--scheduler", cluster.scheduler_address)
    assert there.exit_code == 0, there.stderr
    assert len(killed) == 1
    assert there.stdout_bytes == here.stdout_bytes


@pytest.mark.parametrize(
    "command",
    some(
        [
            ("attribute", "--group", "tp"),
            ("fit-evt", "--group", "tp", "--resamples", "50"),
            ("whatif", "--change", "class=gemm:median"),
            ("verify",),
            ("inspect",),
            ("measure", "--only-cache"),
            ("overlay", "-o", "job.json"),
        ]
    ),
    ids=" ".join,
)
def test_commands_answer_as_on_one_machine(run, cluster, tmp_path, monkeypatch, command):
    # relative paths and the workspace are meant from here, and not from where workers are
    monkeypatch.chdir(tmp_path)
    (tmp_path / "traces").symlink_to(EXAMPLE)
    name, *options = command
    as_json = ("--format", "json") if "-o" not in options else ()
    asked = (name, "traces", *options, *as_json)
    there = run(*asked, "--scheduler", cluster.scheduler_address)
    assert there.exit_code == 0, there.stderr
    written = (tmp_path / "job.json").read_bytes() if "-o" in options else b""
    if name != "inspect":
        assert len(list((tmp_path / ".synctax" / "columns").glob("*.arrow"))) == 8
    if "--only-cache" in options:
        assert json.loads(there.stdout)["files_kept"] == 8
        return
    here = run(*asked, *(() if name == "inspect" else ("--no-cache",)))
    assert there.stdout == here.stdout
    assert not written or written == (tmp_path / "job.json").read_bytes()


def test_in_python_a_scheduler_is_named_for_a_call_or_held_for_many(cluster):
    address = cluster.scheduler_address
    local = synctax.measure(synctax.load(EXAMPLE), group="tp")
    job = synctax.load(EXAMPLE, scheduler=address)
    with synctax.Scheduler(address) as workers:
        tax = synctax.measure(job, group="tp")
        assert tax.to_frame().equals(local.to_frame())
        found = synctax.attribute(tax, workers=workers)
        assert found.to_frame().equals(synctax.attribute(local).to_frame())
        blocks = synctax.block_times(tax, workers=workers)
        assert blocks.to_frame().equals(synctax.block_times(local).to_frame())


def test_local_starts_workers_and_ends_them(process, tmp_path):
    asked = ("measure", EXAMPLE, "--no-cache", "--format", "json")
    done = process(*asked, "--scheduler", "local", "--workers", 2, "-q", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert json.loads(done.stdout)["rows"]


def test_workers_of_a_cluster_are_not_counted_here(run):
    done = run("measure", EXAMPLE, "--scheduler", "tcp://host:1", "--workers", 2)
    assert done.exit_code == 2
    assert "--workers counts processes of this machine" in done.stderr


def test_an_empty_address_is_wrong_usage(run):
    done = run("measure", EXAMPLE, "--scheduler", "")
    assert done.exit_code == 2
    assert "the address is empty" in done.stderr


def test_a_wrong_address_ends_in_words(run):
    done = run("measure", EXAMPLE, "--no-cache", "--scheduler", "host")
    assert done.exit_code == 1
    assert_in_words(done)
    assert "host is no address of a Dask scheduler" in done.stderr


def test_without_dask_the_command_says_what_to_install(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    done = run("measure", EXAMPLE, "--no-cache", "--scheduler", "local")
    assert done.exit_code == 1
    assert "pip install 'synctax[dask]'" in done.stderr


def test_odd_things_of_a_cluster_are_notes(run, cluster, monkeypatch):
    from synctax.trace import dask_connect

    monkeypatch.setattr(dask_connect, "_odd", lambda connection: ["something is odd"])
    asked = ("measure", EXAMPLE, "--no-cache", "--scheduler", cluster.scheduler_address)
    assert "note: something is odd\n" in run(*asked).stderr
    assert "odd" not in run(*asked, "-q").stderr
