"""What gives access to a file does not travel with what is written about it."""

import pickle
import traceback
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from synctax.errors import BadInputError, SynctaxError
from synctax.evt.tax_file import builtin, from_json, to_json
from synctax.overlay.container import _names
from synctax.report.json_text import json_bytes
from synctax.report.output import FORMATS, Output, Result, emit
from synctax.report.page.markup import script_json
from synctax.report.streams import visible
from synctax.schema import Column, Table
from synctax.trace import remote
from synctax.trace.sniff import NotATraceError
from synctax.urls import is_cut, secrets, without_secrets


@pytest.mark.parametrize(("text", "shown"), [
    ("s3://bucket/run/rank?.json.gz", "s3://bucket/run/rank?.json.gz"),
    ("s3://bucket/a@b/rank0.json", "s3://bucket/a@b/rank0.json"),
    ("http://me@host/x", "http://…@host/x"),
    ("sftp://me:p@ss:w%40rd@host:22/x", "sftp://…@host:22/x"),
    ("HTTPS://h/x?sig=a%2Fb&se=2027#part", "HTTPS://h/x?…#part"),
    ("URL('https://h/x?sig=ab'), 403", "URL('https://h/x?…'), 403"),
    ("https://h/x?sig=ab: no trace; try y.", "https://h/x?…: no trace; try y."),
    ("https://h/x? and http://h/y?a=b.", "https://h/x? and http://h/y?…."),
    ("one://a:b@c two://d:e@f", "one://…@c two://…@f"),
    ("nccl::kernel@", "nccl::kernel@"),
])  # fmt: skip
def test_secrets_are_left_out_of_urls_and_nothing_else(text, shown):
    assert without_secrets(text) == shown


URL = "https://me:hunter2@host/rank0.json?X-Amz-Signature=0f3a"


@pytest.mark.parametrize("write", [
    visible,
    lambda url: str(json_bytes({"path": url, url: [url]})),
    lambda url: str(script_json({"path": url})),
])  # fmt: skip
def test_whatever_is_written_leaves_them_out(write):
    text = write(URL)
    assert "hunter2" not in text
    assert "0f3a" not in text
    assert "host/rank0.json" in text


def test_what_a_file_is_called_beside_others_holds_no_secret():
    signed = "https://me:hunter2@host/run/rank%d.json.gz?sig=0f3a/x"
    assert _names([signed % 0, signed % 1]) == ["rank0.json.gz", "rank1.json.gz"]


def test_rows_leave_them_out_in_every_format(tmp_path):
    table = Table("synctax.probe/1", "Files.", (Column("file", "str", "", "URL."),))
    result = Result(table, table.to_frame({"file": [URL, None, "rank1.json"]}))
    for fmt in FORMATS:
        path = tmp_path / f"rows.{fmt}"
        emit(result, Output(fmt=fmt, path=path))
        written = path.read_bytes()
        assert b"hunter2" not in written
        assert b"0f3a" not in written
    shown = ["https://…@host/rank0.json?…", None, "rank1.json"]
    assert pq.read_table(tmp_path / "rows.parquet")["file"].to_pylist() == shown
    rows = (tmp_path / "rows.csv").read_text().splitlines()
    assert rows == ["file", shown[0], '""', shown[2]]


@pytest.mark.parametrize(("url", "parts"), [
    (URL, ("me:hunter2", "X-Amz-Signature=0f3a")),
    ("s3://key:sec/ret@bucket/rank0.json", ()),  # as URLs are read, there is no login
    ("s3://key:secret@bucket/rank?.json", ("key:secret",)),
    ("s3://bucket/rank?.json", ()),
    ("/traces/rank0.json?a@b", ()),
])  # fmt: skip
def test_what_may_give_access_is_known(url, parts):
    assert secrets(url) == parts
    assert is_cut(without_secrets(url)) == bool(parts)
    assert not is_cut(url)


@pytest.mark.parametrize("kind", [SynctaxError, BadInputError, NotATraceError])
def test_errors_leave_them_out_wherever_they_are_shown(kind):
    error = kind(f"{URL}: no trace; see https://docs/x", 7)
    again = pickle.loads(pickle.dumps(error))
    for one in (error, again):
        for text in (str(one), repr(one), *traceback.format_exception(one)):
            assert "hunter2" not in text
            assert "0f3a" not in text
        assert one.args == ("https://…@host/rank0.json?…: no trace; see https://docs/x", 7)


class Refuses:
    """A store that says more than it should, in its own type of error."""

    class Error(Exception):
        """Of no known type."""

    def __init__(self, url):
        self.url = url

    def __call__(self, url):
        login, query = secrets(self.url)
        raise self.Error(f"403 for {url}, ({login}) and <{query}>")


@pytest.mark.parametrize("ask", [remote.files_of, remote.state_of,
                                 lambda url: remote.opened(url, 1024)])  # fmt: skip
def test_what_a_store_says_is_passed_on_without_them(monkeypatch, ask):
    core = pytest.importorskip("fsspec").core
    monkeypatch.setattr(core, "url_to_fs", Refuses(URL))
    with pytest.raises((OSError, SynctaxError), match="403 for") as told:
        ask(URL)
    shown = "".join(traceback.format_exception(told.value)) + repr(told.value.args)
    assert "hunter2" not in shown
    assert "0f3a" not in shown


def test_what_a_store_says_of_other_urls_keeps_its_cause(monkeypatch):
    core = pytest.importorskip("fsspec").core

    def refuse(url):
        raise Refuses.Error("403")

    monkeypatch.setattr(core, "url_to_fs", refuse)
    with pytest.raises(BadInputError) as told:
        remote.files_of("s3://bucket/run")
    assert isinstance(told.value.__cause__, Refuses.Error)


def test_a_tax_holds_none():
    tax = builtin("llama3-70b-h200")
    origin = replace(tax.source, names=(URL,), targets=(URL, "/traces"))
    text = to_json(replace(tax, source=origin))
    assert b"hunter2" not in text
    assert b"0f3a" not in text
    cut = "https://…@host/rank0.json?…"
    found = from_json(text, name="tax.json").source
    assert (found.names, found.targets) == ((cut,), (cut, "/traces"))
