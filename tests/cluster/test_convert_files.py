"""Files of traces: which format they are, and what is none."""

import gzip
import io
import json
import os
import tarfile
from threading import Thread

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from synctax.cluster.convert.convert import convert
from synctax.cluster.convert.found import FORMAT_NAMES
from synctax.cluster.convert.summary import summary
from synctax.errors import BadInputError, SynctaxError
from tests.cluster.converting import (
    OF_LINES,
    TRACES,
    columns,
    noted,
    philly_jobs,
    read,
)

SACCT = "JobID|Submit|Start|End|AllocTRES|State"


@pytest.mark.parametrize("one", OF_LINES, ids=lambda one: one.files[0])
def test_every_format_is_recognised_and_may_be_named(one, tmp_path):
    paths = one.write(tmp_path, one.lines())
    found = read(*paths)
    assert found.format == one.name
    named = read(*paths, source=one.name)
    assert columns(named) == columns(found)
    assert one.name in FORMAT_NAMES


def test_order_of_columns_and_their_case_do_not_matter(tmp_path):
    head, *rows = [one.split(",") for one in OF_LINES[0].lines()]
    table = [[one.upper() for one in head], *rows]
    text = "\r\n".join(",".join(reversed(one)) for one in table)
    (tmp_path / "x.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    plain = read(TRACES / "helios_cluster_log.csv")
    assert columns(read(tmp_path / "x.csv")) == columns(plain)


def test_a_header_with_a_mark_that_is_never_closed_is_read_as_it_can_be(tmp_path):
    (tmp_path / "x.csv").write_text('job_id,submit,gpus,duration,"note\na,1,2,3,b\n')
    assert columns(read(tmp_path / "x.csv")) == [("a", 0.0, 2, 3.0)]


def test_compressed_files_and_several_of_one_format(tmp_path):
    rows = OF_LINES[0].lines()
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress("\n".join(rows[:2]).encode()))
    (tmp_path / "b.csv").write_text("\n".join([rows[0], *rows[3:]]))
    found = read(tmp_path / "a.csv.gz", tmp_path / "b.csv")
    assert found.job_id == ("101", "103", "105")
    assert len(found.files) == 2


def test_a_damaged_file_gives_what_was_before_the_damage(tmp_path):
    lines = OF_LINES[0].lines()
    data = gzip.compress("\n".join([*lines, *[lines[1]] * 2000]).encode())
    (tmp_path / "a.csv.gz").write_bytes(data[:-40])
    found = read(tmp_path / "a.csv.gz")
    assert "gzip_truncated" in noted(found)
    assert len(found) >= 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("JobID|JobName|State\n", "nearest is slurm (output of sacct -P), but there is no"),
        (SACCT.replace("TRES", "GRES"), "no column AllocTRES or ReqTRES; sacct -aPS 2026"),
        ("7_3|2026-02-02T09:00:00|gres/gpu=4|FAILED", "without its header; sacct -aPS"),
        ("JobID           JobName  Partition \n------- ---\n", "cut to a width; sacct"),
        ("       JobID    JobName  Partition \n------- ---\n", "cut to a width; sacct"),
        (
            "job_id,num_gpus,submit_time,duration\n",
            "tiresias (Tiresias job CSV), but there is no column num_gpu (num_gpus?)",
        ),
        ("job_id,submit_s,duration_s\n", "nearest is csv (CSV of jobs), but"),
        (
            '[{"jobid": "a"}]',
            "cluster_job_log, whose jobs have jobid and attempts; no",
        ),
        ("a,b,c\n", "known are philly, helios, "),
    ],
)
def test_what_is_nearly_a_trace_is_told_what_it_lacks(tmp_path, text, says):
    (tmp_path / "x").write_text(text)
    with pytest.raises(BadInputError) as error:
        read(tmp_path / "x")
    assert says in str(error.value)
    first = next(one for one in text.split("\n") if one).rstrip()
    assert str(error.value).startswith(f"{tmp_path / 'x'} begins {first!r}:")


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_tables_may_be_separated_otherwise(tmp_path, separator):
    text = (TRACES / "helios_cluster_log.csv").read_text()
    (tmp_path / "x.csv").write_text(text.replace(",", separator))
    assert columns(read(tmp_path / "x.csv")) == columns(
        read(TRACES / "helios_cluster_log.csv")
    )


def test_a_file_that_is_given_twice_is_refused():
    with pytest.raises(BadInputError, match="is given 2 times"):
        read(TRACES / "jobs.csv", TRACES / "jobs.csv")


def test_a_pipe_is_read_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    data = (TRACES / "jobs.csv").read_bytes()
    writer = Thread(target=(tmp_path / "pipe").write_bytes, args=(data,), daemon=True)
    writer.start()
    found = read(tmp_path / "pipe")
    writer.join(5)
    assert columns(found) == columns(read(TRACES / "jobs.csv"))


def test_lines_of_old_macs_and_bytes_that_are_no_utf8(tmp_path):
    text = (TRACES / "jobs.csv").read_bytes()
    (tmp_path / "x.csv").write_bytes(text.replace(b"\n", b"\r"))
    assert columns(read(tmp_path / "x.csv")) == columns(read(TRACES / "jobs.csv"))
    (tmp_path / "x.csv").write_bytes(text + b"caf\xe9,1,2,3,,\ncaf\xe8,1,2,3,,\n")
    found = read(tmp_path / "x.csv")
    assert set(found.job_id) >= {"caf\\xe9", "caf\\xe8"}
    assert noted(found) == {"not_utf8": 2}
    assert "line 6" in found.notes[0].where


@pytest.mark.parametrize("name", ["gpus", "job_id", "submit"])
def test_a_column_that_is_there_twice_is_refused(tmp_path, name):
    (tmp_path / "x.csv").write_text(f"job_id,submit,gpus,duration,{name}\na,1,2,3,4\n")
    with pytest.raises(BadInputError, match=f"has the column {name} twice"):
        read(tmp_path / "x.csv")


def test_columns_of_one_meaning_are_noted(tmp_path):
    (tmp_path / "x.csv").write_text("job_id,submit,submit_s,gpus,duration\na,1,2,3,4\n")
    found = read(tmp_path / "x.csv")
    assert noted(found) == {"column_twice": 1}
    assert found.origin.startswith("2 s")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (b"a,b\n1,2\n", "no trace of jobs that is known"),
        (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
        (b"PK\3\4rest", "archive"),
        ("job_id,submit,gpus".encode("utf-16"), "UTF-16; save it as UTF-8"),
        ("job_id,submit,gpus".encode("utf-16-le"), "UTF-16; save it as UTF-8"),
        ("job_id,submit,gpus".encode("utf-16-be"), "UTF-16; save it as UTF-8"),
        (
            gzip.compress(b"job_id,submit,gpus,duration\n", mtime=0)[:12],
            "gzip stream ends early",
        ),
        (
            gzip.compress(bytes(range(65, 123)) * 9, mtime=0)[:70],
            "ends early, and what is left",
        ),
    ],
)
def test_what_is_no_trace_is_refused_in_words(tmp_path, data, says):
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(BadInputError, match=says):
        read(tmp_path / "x")


def test_an_archive_is_to_be_unpacked(tmp_path):
    with tarfile.open(tmp_path / "t.tar.gz", "w:gz") as archive:
        info = tarfile.TarInfo("cluster_job_log")
        info.size = 3
        archive.addfile(info, io.BytesIO(b"[]\n"))
    with pytest.raises(BadInputError, match="unpack it"):
        read(tmp_path / "t.tar.gz")


def test_no_file_and_no_such_format_are_wrong_calls():
    with pytest.raises(ValueError, match="0 files"):
        convert([])
    with pytest.raises(ValueError, match="as pbs"):
        convert(["x"], source="pbs")


def test_formats_are_not_mixed_and_columns_are_needed():
    with pytest.raises(BadInputError, match="several formats"):
        read(TRACES / "sacct.txt", TRACES / "jobs.csv")
    with pytest.raises(BadInputError, match=r"no column job_id \(jobid\?\), gpu_num"):
        read(TRACES / "sacct.txt", source="helios")
    with pytest.raises(BadInputError, match="cannot be read"):
        read(TRACES / "nothing.csv")
    with pytest.raises(SynctaxError, match="no time zone"):
        read(TRACES / "sacct.txt", timezone="Europe/Nowhere")


def test_a_line_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("synctax.cluster.convert.lines.MOST_BYTES", 1000)
    with (tmp_path / "x.csv").open("w") as file:
        file.write("job_id,submit,gpus,duration\n" + "x" * 600_000)
    with pytest.raises(BadInputError, match="a line of more than"):
        read(tmp_path / "x.csv")


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("nodes.csv", "sn,cpu_milli,memory_mib,gpu,model\n", "openb's list"),
        ("machines", "m31,8, 24GB\n", "Philly's list"),
        ("machines.csv", "machineId, number of GPUs, single GPU mem\n", "Philly's list"),
        ("pai_sensor_table.csv", "a,b\n", "not read"),
        ("pai_job_table.header", "job_name\n", "header"),
        ("n.csv", "num_switch,num_node_p_switch,num_gpu_p_node\n", "specification"),
        ("n.csv", "num_switch,num_node_p_switch,num_gpu_p_node\nx,2,8\n", "x x 2 servers"),
        (
            "n.csv",
            f"num_switch,num_node_p_switch,num_gpu_p_node\n{'9' * 5000},2,8\n",
            "9 x 2 servers",
        ),
    ],
)
def test_lists_of_machines_are_told(tmp_path, name, text, says):
    (tmp_path / name).write_text(text)
    with pytest.raises(BadInputError, match=says):
        read(tmp_path / name)
    with pytest.raises(BadInputError, match="has no jobs"):
        read(tmp_path / name, source="tiresias")


def test_jobs_are_in_order_of_submission_from_the_first_kept_one(tmp_path):
    jobs = philly_jobs()
    (tmp_path / "log").write_text(json.dumps(jobs[::-1]))
    found, other = read(tmp_path / "log"), read(TRACES / "philly_cluster_job_log.json")
    assert columns(found) == columns(other)
    assert found.submit_s[0] == 0.0
    assert np.all(np.diff(found.submit_s) >= 0)
    assert_array_equal(found.start_s, other.start_s)
    (tmp_path / "none").write_text("job_id,submit,gpus,duration\n")
    none = read(tmp_path / "none")
    with pytest.raises(ValueError, match="no jobs"):
        summary(none)
