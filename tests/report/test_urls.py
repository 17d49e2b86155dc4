"""What gives access to a file does not travel with what is written about it."""

import pyarrow.parquet as pq
import pytest

from synctax.overlay.container import _names
from synctax.report.json_text import json_bytes
from synctax.report.output import FORMATS, Output, Result, emit
from synctax.report.page.markup import script_json
from synctax.report.streams import visible
from synctax.schema import Column, Table
from synctax.trace.urls import without_secrets


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
