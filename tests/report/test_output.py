"""Results as JSON, CSV, Parquet and tables; files that are whole or absent."""

import errno
import io
import json
import os
import stat
from dataclasses import replace
from pathlib import Path

import numpy as np
import orjson
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synctax.errors import SynctaxError
from synctax.files import replacing
from synctax.notes import Note
from synctax.report import output
from synctax.report.output import Output, Result, emit
from synctax.schema import Column, Table

TABLE = Table(
    "synctax.probe/1",
    "A table of each type.",
    (
        Column("group", "str", "", "Name."),
        Column("payload_bytes", "int", "bytes", "Size."),
        Column("tax_us", "float", "us", "Wait."),
        Column("late", "bool", "", "Whether late."),
    ),
)


def result(**columns):
    data = {
        "group": ["tp", None],
        "payload_bytes": [2**53 + 1, None],
        "tax_us": [0.1 + 0.2, None],
        "late": [True, None],
    }
    return Result(TABLE, TABLE.to_frame({**data, **columns}))


def as_json(of):
    return json.loads(b"".join(output.to_json(of)))


def as_csv(of):
    return b"".join(output.to_csv(of))


def test_json_is_an_envelope_around_the_rows():
    full = replace(
        result(),
        parameters={"steps": range(3, 10), "ranks": frozenset({2, 1}), "path": Path("a")},
        excluded=[Note("head", 3, "first of each group", "rank 0"), Note("partial", 1)],
        extra={"gpu_hours_waited": np.float64(1.5), "by_rank": {0: np.arange(2)}},
    )
    assert as_json(full) == {
        "schema": "synctax.probe/1",
        "parameters": {"steps": [3, 10], "ranks": [1, 2], "path": "a"},
        "excluded": [
            {
                "reason": "head",
                "count": 3,
                "detail": "first of each group",
                "where": "rank 0",
            },
            {"reason": "partial", "count": 1},
        ],
        "gpu_hours_waited": 1.5,
        "by_rank": {"0": [0, 1]},
        "rows": [
            {"group": "tp", "payload_bytes": 2**53 + 1, "tax_us": 0.1 + 0.2, "late": True},
            {"group": None, "payload_bytes": None, "tax_us": None, "late": None},
        ],
    }


def test_keys_of_the_envelope_stand_in_order():
    keys = list(as_json(replace(result(), extra={"more": 1})))
    assert keys == ["schema", "parameters", "excluded", "more", "rows"]


def test_an_open_end_of_steps_is_null():
    whole = replace(result(), parameters={"steps": range(3, 2**63 - 1)})
    assert as_json(whole)["parameters"] == {"steps": [3, None]}


def test_extra_may_not_replace_the_rows():
    with pytest.raises(ValueError, match="belong to the envelope"):
        as_json(replace(result(), extra={"rows": []}))


def test_what_json_cannot_say_is_a_wrong_call():
    with pytest.raises(TypeError):
        as_json(replace(result(), extra={"odd": object()}))


def test_text_that_is_no_utf8_does_not_stop_the_output():
    odd = os.fsdecode(b"rank\xff")
    of = result(group=[odd, "µ"])
    rows = as_json(replace(of, parameters={"file": [odd]}))
    assert rows["rows"][0]["group"] == "rank\\udcff"
    assert rows["parameters"]["file"] == ["rank\\udcff"]
    assert b"rank\\udcff" in as_csv(of)
    assert read_parquet(of)["group"].tolist() == ["rank\\udcff", "µ"]


@given(st.floats(), st.integers(-(2**63), 2**63 - 1))
def test_numbers_survive_every_format(number, integer):
    of = result(tax_us=[number, None], payload_bytes=[integer, None])
    row = as_json(of)["rows"][0]
    line = as_csv(of).decode().splitlines()[1].split(",")
    parquet = read_parquet(of)
    assert row["payload_bytes"] == int(line[1]) == integer
    assert parquet["payload_bytes"][0] == integer
    assert row["tax_us"] == number or (row["tax_us"] is None and not np.isfinite(number))
    if not np.isnan(number):
        assert float(line[2]) == parquet["tax_us"][0] == number


def read_parquet(of):
    return pq.read_table(io.BytesIO(output.to_parquet(of))).to_pandas()


def test_csv_writes_absent_as_empty():
    assert as_csv(result()) == (
        b"group,payload_bytes,tax_us,late\ntp,9007199254740993,0.30000000000000004,True\n"
        b",,,\n"
    )


def test_parquet_keeps_types_and_the_envelope():
    full = replace(result(), parameters={"group": "tp"}, excluded=[Note("head", 3)])
    table = pq.read_table(io.BytesIO(output.to_parquet(full)))
    assert [str(kind) for kind in table.schema.types] == [
        "string",
        "int64",
        "double",
        "bool",
    ]
    assert [column.null_count for column in table.columns] == [1, 1, 1, 1]
    assert json.loads(table.schema.metadata[output.PARQUET_KEY]) == {
        "schema": "synctax.probe/1",
        "parameters": {"group": "tp"},
        "excluded": [{"reason": "head", "count": 3}],
    }


def test_no_rows_are_a_result_in_every_format():
    empty = Result(TABLE, TABLE.to_frame({name: [] for name in TABLE.names}))
    assert as_json(empty)["rows"] == []
    assert as_csv(empty) == b"group,payload_bytes,tax_us,late\n"
    assert read_parquet(empty).empty


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 4, 5])
def test_pieces_make_one_document(monkeypatch, rows):
    data = {
        "group": [f'"\n{i}' for i in range(rows)],
        "payload_bytes": list(range(rows)),
        "tax_us": [0.5] * rows,
        "late": [True] * rows,
    }
    of = Result(TABLE, TABLE.to_frame(data))
    whole, csv = b"".join(output.to_json(of)), as_csv(of)
    monkeypatch.setattr(output, "ROWS_AT_A_TIME", 2)
    assert b"".join(output.to_json(of)) == whole
    assert as_csv(of) == csv
    assert [row["group"] for row in json.loads(whole)["rows"]] == data["group"]
    indented = orjson.dumps(json.loads(whole), option=orjson.OPT_INDENT_2)
    assert whole == indented + b"\n"


def test_columns_stand_in_the_order_they_are_declared():
    of = result()
    shuffled = replace(of, data=of.frame[sorted(of.frame)])
    assert list(output.to_json(of)) == list(output.to_json(shuffled))
    assert as_csv(of) == as_csv(shuffled)
    assert output.to_parquet(of) == output.to_parquet(shuffled)


@pytest.mark.parametrize("fmt", output.FORMATS)
def test_a_file_holds_what_stdout_would_get(tmp_path, capfdbinary, fmt):
    emit(result(), Output(fmt, tmp_path / "out"))
    emit(result(), Output(fmt))
    assert (tmp_path / "out").read_bytes() == capfdbinary.readouterr().out != b""


def test_render_decides_what_a_table_shows(capsys):
    emit(result(), Output(), render=lambda of: [f"{len(of.frame)} rows [bold]"])
    assert capsys.readouterr() == ("2 rows [bold]\n", "")


def test_stdout_that_cannot_say_a_sign_gets_the_nearest(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(raw, encoding="ascii"))
    emit(result(), Output(), render=lambda _: ["3 µs"])
    assert raw.getvalue() == b"3 us\n"


def write_half(path):
    with replacing(path) as file:
        file.write(b"half")
        raise KeyboardInterrupt


@pytest.mark.parametrize("before", [None, b"whole"])
def test_a_failed_write_leaves_what_was_there(tmp_path, before):
    path = tmp_path / "out.csv"
    if before is not None:
        path.write_bytes(before)
    with pytest.raises(KeyboardInterrupt):
        write_half(path)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == (
        {} if before is None else {"out.csv": before}
    )


def test_nobody_sees_a_file_half_written(tmp_path):
    path = tmp_path / "out.csv"
    with replacing(path) as file:
        file.write(b"half")
        file.flush()
        assert not path.exists()
    assert path.read_bytes() == b"half"


def test_a_new_file_has_the_rights_that_others_have(tmp_path):
    (tmp_path / "usual").touch()
    output.write(b"", tmp_path / "new")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_replaced_file_keeps_its_rights(tmp_path):
    path = tmp_path / "out.csv"
    path.touch()
    path.chmod(0o640)
    output.write(b"new", path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_link_stays_a_link(tmp_path):
    link = tmp_path / "latest.csv"
    link.symlink_to(tmp_path / "run-17.csv")
    output.write(b"new", link)
    assert link.is_symlink()
    assert (tmp_path / "run-17.csv").read_bytes() == b"new"


def test_a_device_is_written_to_and_not_replaced():
    output.write(b"new", Path(os.devnull))
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)


def test_a_stdout_that_fails_is_named(monkeypatch, tmp_path):
    (tmp_path / "out").touch()
    # it can only be read: as where stdout was closed
    with (tmp_path / "out").open("rb") as raw:
        closed = io.TextIOWrapper(io.BufferedWriter(Unwritable(raw.fileno(), errno.EBADF)))
        full = io.TextIOWrapper(io.BufferedWriter(Unwritable(raw.fileno(), errno.ENOSPC)))
        monkeypatch.setattr("sys.stdout", closed)
        with pytest.raises(SynctaxError, match=r"stdout is closed; .* -o FILE"):
            output.write(b"new", None)
        monkeypatch.setattr("sys.stdout", full)
        with pytest.raises(OSError, match="No space left on device: 'stdout'"):
            output.write(b"new", None)
        closed.buffer.raw.number = full.buffer.raw.number = None
        for stream in (closed, full):
            stream.close()


class Unwritable(io.RawIOBase):
    def __init__(self, descriptor, number):
        self.descriptor, self.number = descriptor, number

    def writable(self):
        return True

    def fileno(self):
        return self.descriptor

    def write(self, data):
        if self.number is not None:
            raise OSError(self.number, os.strerror(self.number))
        return len(data)


def test_a_link_to_a_pipe_is_written_to(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "link").symlink_to(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    output.write(b"new", tmp_path / "link")
    assert os.read(reader, 9) == b"new"
    os.close(reader)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "pipe"]


@pytest.mark.parametrize("folder", ["/dev/fd", "/proc/self/fd"])
def test_an_open_descriptor_is_written_to_where_it_stands(tmp_path, folder):
    with (tmp_path / "log").open("wb", buffering=0) as log:
        log.write(b"before ")
        output.write(b"new", Path(folder) / str(log.fileno()))
        log.write(b" after")
    assert (tmp_path / "log").read_bytes() == b"before new after"


def test_the_name_of_stdout_is_stdout(capfdbinary):
    output.write(b"new", Path("/dev/stdout"))
    assert capfdbinary.readouterr().out == b"new"


def test_a_descriptor_that_is_not_open_is_named(tmp_path):
    with pytest.raises(OSError, match="/dev/fd/9999"):
        output.write(b"new", Path("/dev/fd/9999"))


def test_notes_are_lines_on_stderr(capsys):
    output.notes([Note("head", 1200, "first of each group"), "rank 3 is missing"], Output())
    assert capsys.readouterr() == (
        "",
        "note: 1,200 × first of each group [head]\nnote: rank 3 is missing\n",
    )


def test_quiet_shows_no_notes(capsys):
    output.notes(["rank 3 is missing"], Output(verbosity=-1))
    assert capsys.readouterr() == ("", "")


def test_a_folder_that_takes_no_file_is_told_by_the_name_that_was_given(tmp_path):
    taken = tmp_path / "taken"
    taken.write_text("no folder")
    with pytest.raises(OSError, match="directory") as caught, replacing(taken / "x.csv"):
        pass
    assert caught.value.filename == str(taken / "x.csv")
