"""Traces in an object store: a server that speaks S3, in this process."""

import json
import logging
import os
import subprocess
import sys

import pytest

from synctax.collectives import load
from synctax.errors import BadInputError, SynctaxError
from synctax.trace.discover import discover
from synctax.trace.kineto import read_rank
from synctax.trace.source import open_file
from synctax.workspace import Workspace
from tests.conftest import ROOT, assert_in_words

pytest.importorskip("s3fs", reason="needs s3fs, which reads s3://")
server = pytest.importorskip(
    "moto.server", reason="needs moto[server], a store of S3's kind"
)
boto3 = pytest.importorskip("boto3", reason="needs boto3, which fills the store")

EXAMPLE = ROOT / "examples" / "tp4-fsdp2"


@pytest.fixture(scope="module")
def address():
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    store = server.ThreadedMotoServer("localhost", port=0, verbose=False)
    store.start()
    host, port = store.get_host_and_port()
    yield f"http://{host}:{port}"
    store.stop()


@pytest.fixture
def environment(address):
    """What tells a process where the store is, and who it is."""
    return {
        "AWS_ENDPOINT_URL": address,
        "AWS_ACCESS_KEY_ID": "who",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }


@pytest.fixture
def s3(environment, monkeypatch):
    """A bucket with a run of eight ranks, and one with nothing."""
    import s3fs

    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    s3fs.S3FileSystem.clear_instance_cache()
    client = boto3.client("s3")
    for bucket in ("bucket", "empty"):
        client.create_bucket(Bucket=bucket)
    for path in EXAMPLE.iterdir():
        client.upload_file(str(path), "bucket", f"run/{path.name}")
    yield client
    s3fs.S3FileSystem.clear_instance_cache()


@pytest.mark.parametrize(
    ("target", "ranks"),
    [
        ("s3://bucket/run/", 8),
        ("s3://bucket", 8),
        ("s3://bucket/run/rank[0-2].json.gz", 3),
        ("s3://bucket/**/rank*.json.gz", 8),
        ("s3://bucket/run/rank5.json.gz", 1),
    ],
)
def test_all_rank_files_are_found(s3, target, ranks):
    found = discover(target)
    assert [one.rank_from_name for one in found.files] == (
        [5] if ranks == 1 else list(range(ranks))
    )
    sizes = [path.stat().st_size for path in sorted(EXAMPLE.glob("rank*.json.gz"))]
    assert {one.size_bytes for one in found.files} <= set(sizes)


def test_a_folder_is_listed_once_and_not_file_by_file(s3, monkeypatch):
    import s3fs

    asked = []
    call = s3fs.S3FileSystem._call_s3

    async def counted(self, method, *args, **options):
        asked.append(method)
        return await call(self, method, *args, **options)

    monkeypatch.setattr(s3fs.S3FileSystem, "_call_s3", counted)
    assert len(discover("s3://bucket/run/").files) == 8
    assert "head_object" not in asked


def test_a_run_is_measured_as_on_disk(s3, run):
    here = run("measure", EXAMPLE, "--no-cache", "--format", "json")
    there = run("measure", "s3://bucket/run/", "--no-cache", "--format", "json")
    assert there.exit_code == 0, there.stderr
    found, expected = json.loads(there.stdout), json.loads(here.stdout)
    assert found.pop("parameters")["traces"] == ["s3://bucket/run/"]
    del expected["parameters"]
    assert found == expected


def test_processes_read_from_a_store_at_the_same_time(s3, environment, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "synctax", "inspect", "s3://bucket/run/", "--workers", "2"],
        env={**os.environ, **environment},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "s3://bucket/run/" in done.stdout or "rank7.json.gz" in done.stdout


@pytest.mark.parametrize(
    "target",
    [
        "s3://nobucket/run/",
        "s3://bucket/walk/",
        "s3://bucket/run/rank9.json.gz",
    ],
)
def test_what_is_not_there_is_said(s3, run, target):
    done = run("measure", target, "--no-cache")
    assert done.exit_code == 3
    assert_in_words(done)
    assert f"{target} cannot be read: there is no such file, folder or bucket" in (
        done.stderr
    )


def test_an_empty_bucket_holds_no_trace(s3, run):
    done = run("measure", "s3://empty/", "--no-cache")
    assert done.exit_code == 3
    assert "no trace in s3://empty/: it holds no file at all" in done.stderr


def test_without_credentials_it_is_said_where_they_are_looked_for(
    s3, run, monkeypatch, tmp_path
):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))  # nor in a file
    done = run("measure", "s3://bucket/run/", "--no-cache")
    assert done.exit_code == 3
    assert_in_words(done)
    assert "the store refuses (Unable to locate credentials)" in done.stderr
    assert "set AWS_PROFILE, or AWS_ACCESS_KEY_ID" in done.stderr
    assert "FSSPEC_S3_ANON=true" in done.stderr


def test_a_store_that_cannot_be_reached_is_said(s3, run, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://localhost:1")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    done = run("measure", "s3://bucket/run/", "--no-cache")
    assert done.exit_code == 3
    assert_in_words(done)
    assert "the store cannot be reached" in done.stderr


def test_a_file_that_vanishes_before_it_is_read_is_bad_input(s3):
    (file,) = discover("s3://bucket/run/rank3.json.gz").files
    s3.delete_object(Bucket="bucket", Key="run/rank3.json.gz")
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()
    with pytest.raises(BadInputError, match="cannot be read: there is no such file"):
        read_rank(file.path)


def test_a_read_that_fails_on_the_way_is_told_in_words(s3, monkeypatch):
    import s3fs

    class ReadTimeoutError(Exception):
        pass

    def read(self, n):
        raise ReadTimeoutError("read timed out")

    monkeypatch.setattr(s3fs.core.S3File, "read", read)
    with pytest.raises(SynctaxError, match=r"cannot be reached \(read timed out\)"):
        read_rank("s3://bucket/run/rank0.json.gz")


def test_a_look_at_a_file_does_not_fetch_all_of_it(s3, monkeypatch):
    import s3fs

    s3.put_object(Bucket="bucket", Key="run/big.json", Body=b" " * 2_000_000)
    fetched = []
    fetch = s3fs.core.S3File._fetch_range

    def counted(self, start, end):
        fetched.append(end - start)
        return fetch(self, start, end)

    monkeypatch.setattr(s3fs.core.S3File, "_fetch_range", counted)
    from synctax.trace.sniff import sniff

    sniff("s3://bucket/run/big.json")
    assert 0 < sum(fetched) <= 200_000
    with open_file("s3://bucket/run/big.json") as file:
        assert len(file.read()) == 2_000_000
    s3.delete_object(Bucket="bucket", Key="run/big.json")


# ---------------------------------------------------------------------- columns kept


def test_columns_of_a_run_are_kept_and_nothing_is_fetched_again(
    s3, run, monkeypatch, tmp_path
):
    asked = ("measure", "s3://bucket/run/", "--format", "json")
    fresh = run(*asked, "--no-cache")
    asked += ("--workspace", tmp_path / "space")
    first = run(*asked)
    assert first.stdout == fresh.stdout
    assert first.stderr == fresh.stderr

    def read_rank(path, **options):
        raise AssertionError(f"{path} was read")

    monkeypatch.setattr(load, "read_rank", read_rank)
    assert run(*asked).stdout == fresh.stdout


def test_an_object_that_is_replaced_under_its_key_is_read_again(s3, tmp_path):
    url, key = "s3://bucket/one/rank0.json", "one/rank0.json"
    space = Workspace(tmp_path / "space")

    def put(rank):
        text = json.dumps({"distributedInfo": {"rank": rank}, "traceEvents": []})
        s3.put_object(Bucket="bucket", Key=key, Body=text.encode())

    def rank():
        # as a process does that lists the store first
        (file,) = discover(url).files
        return space.read(file.path, lambda: read_rank(url)).meta.rank

    for expected in (3, 3, 5, 4):  # of one size, and within a second
        put(expected)
        assert rank() == expected
        assert space.cached(url).meta.rank == expected
        assert len(list(space.directory.rglob("*.arrow"))) == 1

    def replaced():
        trace = read_rank(url)
        put(7)
        return trace

    put(6)
    assert space.read(url, replaced).meta.rank == 6
    assert space.cached(url) is None
    assert rank() == 7
    s3.delete_object(Bucket="bucket", Key=key)
    assert space.cached(url) is None


def test_processes_fill_a_workspace_from_a_store(s3, environment, tmp_path):
    asked = [sys.executable, "-m", "synctax", "measure", "s3://bucket/run/"]
    asked += ["--only-cache", "--workspace", str(tmp_path / "space"), "--workers", "2"]
    told = [
        subprocess.run(
            asked,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        for _ in range(2)
    ]
    assert [one.returncode for one in told] == [0, 0], told
    assert "8 kept in" in told[0].stdout
    assert "8 there already" in told[1].stdout
