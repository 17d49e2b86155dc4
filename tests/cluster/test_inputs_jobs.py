"""The CSV of jobs: what is read, what is refused, and in which words."""

import gzip
import tracemalloc
from contextlib import suppress
from dataclasses import fields
from math import log, nan
from pathlib import Path

import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from synctax.cluster.characterize.ring import ring_bytes, ring_s
from synctax.cluster.characterize.workloads import Workload
from synctax.cluster.choices import COUNTINGS
from synctax.cluster.convert.formats import FORMATS
from synctax.cluster.engine.simulate import simulate
from synctax.cluster.inputs.job_table import job_table, parse_job_table
from synctax.cluster.inputs.job_tax import job_tax
from synctax.cluster.inputs.pool import Pool
from synctax.cluster.inputs.read_jobs import JobsRead, jobs_of, read_jobs
from synctax.cluster.job_columns import JOB_COLUMNS, job_csv
from synctax.cluster.jobs import LARGEST_S, nic_bytes
from synctax.cluster.machines import Cluster, uniform
from synctax.errors import BadInputError, SynctaxError
from synctax.evt.tax import Curve, Deviations, Gumbel, TaxModel
from synctax.planning.tax import plan_tax
from synctax.schema.characterize import CHARACTERIZE
from synctax.schema.convert import CONVERT

CLUSTER = uniform(4, 8, 625e6, gpu_type="v100")
NAMES = [one.name for one in JOB_COLUMNS]
NEEDED = "job_id,submit_s,gpus,duration_s"


def workload(name: str, **known) -> Workload:
    usual = {"compute_s": 0.2, "gradient_bytes": 100e6}
    shape = {
        "dataset": "",
        "batch_per_gpu": 1,
        "parameters": 25e6,
        "flop_per_sample": nan,
        "dtype": "fp32",
        "source": "made up",
    }
    return Workload(name, **(shape | usual | known))


POOL = Pool("mine", tuple(map(workload, ("VGG-16", "b", "c"))), np.array([1.0, 2.0, 1.0]))


def read(text: str | bytes, cluster: Cluster = CLUSTER, **options) -> JobsRead:
    data = text if isinstance(text, bytes) else text.encode()
    options = {"pool": POOL} | options
    return jobs_of(parse_job_table(data, name="x.csv"), cluster, **options)


def refused(text: str | bytes, **options) -> str:
    with pytest.raises(BadInputError) as caught:
        read(text, **options)
    assert caught.value.exit_code == 3
    return str(caught.value)


def alike(one: object, other: object) -> bool:
    """Whether two results hold the same, NaN being NaN."""
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if hasattr(one, "jobs") or hasattr(one, "job_id"):
        return all(
            alike(getattr(one, at.name), getattr(other, at.name)) for at in fields(one)
        )
    return one == other


few = settings(max_examples=20)
seconds = st.integers(0, 10**12).map(lambda ns: ns / 1e3)
positive = st.floats(1e-6, 1e6)


@st.composite
def columns(draw: st.DrawFn) -> dict[str, list[object]]:
    """Columns of jobs that can be, of every kind of row."""
    n = draw(st.integers(1, 6))

    def each(values: st.SearchStrategy) -> list[object]:
        return draw(st.lists(values, min_size=n, max_size=n))

    names = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=5)
    found = {
        "job_id": draw(st.lists(names, min_size=n, max_size=n, unique=True)),
        "submit_s": each(seconds),
        "gpus": each(st.integers(1, 32)),
        "duration_s": each(seconds),
        "workload": each(st.sampled_from(["", "b", "vgg16", "C"])),
        "barriers": each(st.none() | st.integers(0, 9)),
        "counting": each(st.sampled_from(["", *COUNTINGS])),
        "local_network_s": each(st.none() | positive),
        "start_s": each(st.none() | seconds),
    }
    found["end_s"] = [one and one + draw(seconds) for one in found["start_s"]]
    given = each(st.booleans())
    for name in ("compute_s", "network_s", "network_bytes"):
        found[name] = [draw(positive) if one else None for one in given]
    return found


@few
@given(columns(), st.randoms(), st.sampled_from(",;\t|"), st.booleans(), st.booleans())
def test_order_of_columns_separators_line_ends_and_marks_change_nothing(
    jobs, random, separator, windows, marked
):
    expected = read(job_csv(jobs))
    order = list(jobs)
    random.shuffle(order)
    lines = [order, *zip(*(jobs[name] for name in order), strict=True)]

    def cell(value: object) -> str:
        text = "" if value is None else str(value)
        return '"' + text.replace('"', '""') + '"'

    text = "\n\n".join(separator.join(map(cell, one)) for one in lines)
    text = text.replace("\n", "\r\n" if windows else "\n")
    data = text.encode("utf-8-sig" if marked else "utf-8")
    assert alike(read(data), expected)


@few
@given(columns())
def test_jobs_in_a_file_and_jobs_in_memory_are_the_same(jobs):
    assert alike(
        jobs_of(job_table(jobs, name="made up"), CLUSTER, pool=POOL), read(job_csv(jobs))
    )


@few
@given(columns())
def test_what_a_row_tells_comes_out_as_it_stands_and_in_order_of_submission(jobs):
    found = read(job_csv(jobs))
    order = sorted(range(len(found.jobs)), key=lambda at: jobs["submit_s"][at])
    assert found.jobs.job_id == tuple(jobs["job_id"][at] for at in order)
    for name in ("submit", "duration"):
        expected = [round(jobs[f"{name}_s"][at] * 1e3) * 10**6 for at in order]
        assert getattr(found.jobs, f"{name}_ns").tolist() == expected
    for place, at in enumerate(order):
        if jobs["compute_s"][at] is not None:
            assert found.jobs.source[place] == "given"
            assert found.jobs.compute_s[place] == jobs["compute_s"][at]
            assert found.jobs.network_bytes[place] == jobs["network_bytes"][at]
        elif jobs["workload"][at]:
            assert found.jobs.source[place] == "from the pool"
        else:
            assert found.jobs.source[place] == "drawn from the pool, seed 0"
        told = jobs["local_network_s"][at]
        assert told in (None, found.jobs.local_network_s[place])
    assert sum(many for _, many in found.counting) == len(found.jobs)


@settings(max_examples=50)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1), st.integers(0, 2**32))
def test_a_draw_depends_on_the_seed_and_the_place_of_a_job_only(named, seed):
    def drawn(which, gpus, **options):
        rows = (f"{at},{at},{gpus},1,{'b' * one[which]}" for at, one in enumerate(named))
        text = "\n".join([f"{NEEDED},workload", *rows])
        return read(text, seed=seed, **options).jobs.workload

    fast = uniform(9, 32, 1e12, gpu_type="h100")
    first, second = drawn(0, 2), drawn(1, 32, cluster=fast, counting="sent")
    for at, one in enumerate(named):
        assert any(one) or first[at] == second[at]


@given(st.integers(0, 5000), st.integers(0, 2**64))
def test_more_jobs_draw_what_fewer_drew_and_weights_count(n, seed):
    drawn = POOL.draw(5000, seed)
    np.testing.assert_array_equal(POOL.draw(n, seed), drawn[:n])
    share = np.bincount(drawn, minlength=3) / 5000
    # 6 standard deviations
    np.testing.assert_allclose(share, [0.25, 0.5, 0.25], atol=6 * 0.5 / 5000**0.5)


def test_draws_do_not_go_along_with_other_numbers_of_the_same_seed():
    many = Pool("many", POOL.workloads, np.ones(3))
    other = np.random.default_rng(3).random(2000)
    assert abs(np.corrcoef(many.draw(2000, 3), other)[0, 1]) < 0.1


@given(st.binary(max_size=99) | st.text(max_size=99).map(str.encode))
def test_whatever_bytes_a_file_has_it_is_jobs_or_refused(data):
    for begin in (b"", f"{NEEDED}\n".encode()):
        with suppress(BadInputError):
            assert len(read(begin + data).jobs)


CELLS = ("", "0", "1", "-1", "nan", "inf", "1e400", "9.3e9", "1,5", "x", "0:1", "1e-320")


@settings(max_examples=100)
@given(st.dictionaries(st.sampled_from(JOB_COLUMNS), st.sampled_from(CELLS)))
def test_whatever_values_a_row_has_its_numbers_are_finite_or_it_is_refused(values):
    usual = dict(zip(NEEDED.split(","), ("a", "0", "8", "60"), strict=True))
    jobs = {key: [one] for key, one in usual.items()}
    jobs |= {column.name: [text] for column, text in values.items()}
    with suppress(BadInputError):
        found = read(job_csv(jobs), tax=plan_tax(FITTED)).jobs
        assert np.isfinite([found.iteration_s, found.nic_bytes, found.tax_s]).all()
        assert (found.iteration_s > 0).all()
        assert (found.network_s > 0)[found.nic_bytes > 0].all()
        assert (found.duration_ns >= 0).all()
        assert (found.submit_ns >= 0).all()


@given(st.lists(st.booleans(), min_size=1, max_size=20))
def test_every_bad_row_is_counted_and_the_first_five_are_told(bad):
    rows = [f"j{at},0,{'x' if one else 8},1" for at, one in enumerate(bad)]
    text = "\n".join([NEEDED, *rows])
    if not any(bad):
        assert len(read(text).jobs) == len(bad)
        return
    message = refused(text)
    told = [at + 2 for at, one in enumerate(bad) if one]
    for line in told[:5]:
        assert f"line {line}: gpus is 'x'; expected a whole number" in message
    assert f"line {told[-1]}:" in message or len(told) > 5
    if len(told) > 1:
        assert f"{len(told)} of {len(bad)} rows are wrong" in message
    assert ("and " + str(len(told) - 5) + " more" in message) == (len(told) > 5)


@given(st.integers(1, 64), st.floats(0, 1e12))
def test_ways_of_counting_differ_as_they_say(gpus, sent):
    n, v = np.array([gpus]), np.array([sent])
    each = sent / gpus if gpus > 1 else 0.0
    assert nic_bytes(v, n, "sent") == pytest.approx(each)
    assert nic_bytes(2 * v, n, "sent+received") == pytest.approx(each)
    assert nic_bytes(v, n, "paper") == pytest.approx(each * (2 if gpus > 2 else 1))


def test_the_worked_example_of_two_pinned_jobs_comes_out_of_its_csv():
    two = uniform(2, 8, 5.0)
    found = read(
        f"{NEEDED},compute_s,network_s,network_bytes,servers\n"
        "A,0,8,1000,.5,.5,12,0:4;1:4\nB,0,8,400,.3,.5,16, 1 : 4 ; 0:4;\n",
        two,
    )
    assert found.jobs.pinned == (((0, 4), (1, 4)),) * 2
    assert found.jobs.nic_bytes.tolist() == [3, 4]
    # S = 8/5: B's 500 iterations of 1.1 s, and A's last 577 of its 1,000 without B
    done = simulate(found.jobs, two)
    a = 550 + (1000 - 550 / 1.3)
    np.testing.assert_allclose(done.end_ns / 1e9, [a, 550], atol=1e-6)


def test_bytes_are_counted_as_the_row_says_or_else_the_command():
    text = f"{NEEDED},compute_s,network_s,network_bytes,counting\n" + "\n".join(
        f"{at},0,8,60,.5,.5,16,{one}" for at, one in enumerate(["", *COUNTINGS, "SENT"])
    )
    assert read(text).jobs.nic_bytes.tolist() == [4, 4, 2, 1, 2]
    found = read(text, counting="sent+received")
    assert found.jobs.nic_bytes.tolist() == [1, 4, 2, 1, 2]
    assert found.counting == (("paper", 1), ("sent", 2), ("sent+received", 2))


def test_a_workload_of_the_pool_is_profiled_for_the_cluster():
    slow = Cluster(
        gpus=np.array([8, 8]),
        nic_bytes_per_s=np.array([1250e6, 625e6]),
        gpu_type=("v100", "v100"),
        speed=np.ones(2),
        nvlink_bytes_per_s=np.array([nan, 75e9]),
        reference_gpu="v100",
    )
    found = read(f"{NEEDED},workload\na,0,8,60,VGG16\nb,1,8,60,vgg-16\n", slow)
    jobs = found.jobs
    assert jobs.workload == ("VGG-16", "VGG-16")
    assert len(found.profiles) == 1
    assert jobs.compute_s[0] == 0.2
    # A.5 of the alpha-beta model: 100 MB over 5 Gb/s, the slower of the two
    assert jobs.network_s[0] == pytest.approx(0.28007)
    assert jobs.local_network_s[0] == pytest.approx(ring_s(8, 100e6, 75e9, 5e-6))
    assert jobs.nic_bytes[0] == ring_bytes(8, 100e6) == 175e6
    assert jobs.network_bytes[0] == pytest.approx(1.4e9)
    assert [note.reason for note in found.notes] == ["profiles_on_slowest_nic"]
    assert (found.notes[0].count, "625 MB/s" in found.notes[0].detail) == (2, True)


def test_a_job_with_its_own_profile_needs_no_pool_and_its_workload_is_a_label():
    found = read(
        f"{NEEDED},workload,compute_s,network_s,network_bytes\na,0,8,60,any,1,0,0\n",
        pool=None,
    )
    assert (found.pool, found.jobs.workload, found.profiles) == ("", ("any",), ())


def test_the_built_in_pool_is_taken_where_none_is_given():
    found = read(f"{NEEDED}\na,0,8,60\n", pool=None)
    assert found.pool == "default"
    assert found.jobs.workload[0] in [one.workload for one in found.profiles]


KNOWN = workload("known", network_s=0.1, sent_bytes_per_worker=1e6, measured_gpus=8)


@pytest.mark.parametrize(
    ("cluster", "one", "said"),
    [
        (uniform(4, 8, 1e9), workload("w", compute_s=None), "has no gpu_type"),
        (
            uniform(4, 8, 1e9, gpu_type="tpu"),
            workload("w", compute_s=None),
            "gpu_type 'tpu', of which no peak is known",
        ),
        (CLUSTER, workload("w", compute_s=1e10), "an iteration takes 1e+10 s"),
        (
            CLUSTER,
            workload("w", compute_s=0.0, network_s=0.0, sent_bytes_per_worker=0.0),
            "an iteration takes 0 s",
        ),
        (CLUSTER, workload("w", gradient_bytes=nan), "no network time follows"),
        (
            CLUSTER,
            workload("w", network_s=1.0, sent_bytes_per_worker=1e30),
            "each worker sends 1e+30 bytes",
        ),
        (
            CLUSTER,
            workload("w", network_s=0.0, sent_bytes_per_worker=1.0),
            "it sends 1 bytes in 0 s",
        ),
    ],
)
def test_a_workload_that_has_no_profile_on_the_cluster_is_refused(cluster, one, said):
    pool = Pool("p", (one,), np.ones(1))
    with pytest.raises(SynctaxError, match=r"give|change it in the pool") as caught:
        read(f"{NEEDED}\na,0,8,60\n", cluster, pool=pool)
    assert said in str(caught.value)


def test_measured_workloads_need_no_kind_of_gpu_and_hold_for_their_number_of_gpus():
    pool = Pool("p", (KNOWN,), np.ones(1))
    found = read(f"{NEEDED}\na,0,8,60\n", uniform(4, 8, 1e9), pool=pool).jobs
    assert (found.network_s[0], found.nic_bytes[0]) == (0.1, 1e6)
    assert np.isnan(found.local_network_s[0])


WIDE = (
    "compute_s,network_s,network_bytes,servers,barriers,counting,start_s,end_s,"
    "local_network_s"
)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (",0,8,1", "job_id is empty; expected what the job is called"),
        ("a,,8,1", "submit_s is empty; expected a time in seconds from 0 to 9.2e+09"),
        ("a,-1,8,1", "submit_s is '-1'; expected a time"),
        ("a,nan,8,1", "submit_s is 'nan'; expected a time"),
        ("a,2017-10-01 00:00:00,8,1", "submit_s is '2017-10-01 00:00:00'; expected a"),
        ("a,0,0,1", "gpus is '0'; expected a whole number of 1 or more"),
        ("a,0,2.5,1", "gpus is '2.5'; expected a whole"),
        ("a,0,,1", "gpus is empty; expected a whole"),
        ("a,0,1e300,1", "gpus is '1e300'; expected a whole"),
        ("a,0,33,1", "job 'a' asks for 33 GPUs, and cluster has 32; take a larger"),
        ("a,0,8,inf", "duration_s is 'inf'; expected a time"),
        ("a,0,8,9.3e9", "duration_s is '9.3e9'; expected a time"),
        ("a,0,8,1,1", "network_s is empty; expected a number, as compute_s"),
        ("a,0,8,1,,1,1", "compute_s is empty; expected a number, as compute_s"),
        ("a,0,8,1,0,0,0", "compute_s is '0'; expected together with network_s at least"),
        ("a,0,1_000,1", "gpus is '1_000'; expected a whole"),
        ("a,0,8,1_000", "duration_s is '1_000'; expected a time"),
        ("a\0,0,8,1", "job_id is 'a\\x00'; expected a name without control characters"),
        (
            "a,0,8,1,0,1,5,,,,,,0",
            "local_network_s is '0'; expected together with compute_s at least 1e-09 s",
        ),
        ("a,0,8,1,1,0,5", "network_s is '0'; expected at least 1e-12 s, as network_bytes"),
        ("a,0,8,1,1,1,-5", "network_bytes is '-5'; expected a number of bytes, 0 or"),
        (
            "a,0,8,1,1,1,1e25",
            "network_bytes is '1e25'; expected a number of bytes, 0 or",
        ),
        ("a,0,8,1,,,,x", "servers is 'x'; expected server:GPUs for each server"),
        ("a,0,8,1,,,,0:4;", "servers is '0:4;'; these are 4 GPUs; expected 8 as in"),
        (
            "a,0,8,1,,,,0:4;9:4",
            "servers is '0:4;9:4'; there is no server 9; expected servers from 0 to 3",
        ),
        ("a,0,8,1,,,,0:4;0:4", "servers is '0:4;0:4'; a server stands there twice"),
        ("a,0,9,1,,,,0:9", "servers is '0:9'; server 0 has 8 GPUs; expected 1 to as many"),
        (
            "a,0,8,1,,,,0:8;1:0",
            "servers is '0:8;1:0'; server 1 has 8 GPUs; expected 1 to as many",
        ),
        ("a,0,8,1,,,,,-1", "barriers is '-1'; expected how often all workers meet, 0 or"),
        ("a,0,8,1,,,,,,both", "counting is 'both'; expected paper or sent or sent+rece"),
        ("a,0,8,1,,,,,,,5,4", "end_s is '4'; expected no time before start_s"),
    ],
)
def test_rows_that_no_job_can_have_are_refused(row, said):
    width = len(f"{NEEDED},{WIDE}".split(","))
    padded = row + "," * (width - 1 - row.count(","))
    good = "good,0,8,1" + "," * (width - 4)
    message = refused(f"{NEEDED},{WIDE}\n{good}\n{padded}\n")
    assert message.startswith(f"x.csv, line 3: {said}")


def test_a_workload_that_computes_nothing_needs_a_network_time_on_one_server_too():
    idle = Pool("idle", (workload("w", compute_s=0.0),), np.ones(1))
    table = f"{NEEDED},workload,local_network_s\na,0,8,1,w,\nb,0,8,1,w,0\n"
    with pytest.raises(BadInputError, match=r"local_network_s of job 'b' is 0; .* of w, 0"):
        jobs_of(parse_job_table(table.encode(), name="x.csv"), CLUSTER, pool=idle)


def test_the_name_of_the_cluster_and_the_place_in_memory_are_told():
    table = job_table(
        {"job_id": ["a"], "submit_s": [0.0], "gpus": [16], "duration_s": [nan]},
        name="made up",
    )
    named = Cluster(
        gpus=np.array([8]),
        nic_bytes_per_s=np.ones(1),
        gpu_type=("",),
        speed=np.ones(1),
        nvlink_bytes_per_s=np.array([nan]),
        name="small",
    )
    with pytest.raises(
        BadInputError,
        match=r"^made up, row 1: job 'a' asks for 16 GPUs, and cluster small has 8",
    ):
        jobs_of(table, named)


def test_a_job_that_is_there_twice_is_refused_with_both_lines():
    message = refused(f"{NEEDED}\na,0,1,1\nb,0,1,1\n\na,5,1,1\n")
    assert message == (
        "x.csv, line 5: job_id is 'a' as in line 2; expected another for each job"
    )


def test_workloads_that_are_not_in_the_pool_are_refused_with_those_like_them():
    message = refused(f"{NEEDED},workload\na,0,1,1,vgg61\nb,0,1,1,zzz\n")
    assert "2 of 2 rows are wrong" in message
    assert "workload 'vgg61' is not in the pool mine; expected VGG-16, or" in message
    assert "workload 'zzz' is not in the pool mine; expected one of VGG-16, b, c" in message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "found an empty file; expected a CSV of jobs with the columns job_id, submit"),
        (" \n\n", "found an empty file"),
        (NEEDED, "no job below the header"),
        (f"{NEEDED}\n,,,\n", "no job below the header"),
        ("[1, 2]", "found JSON; expected a CSV"),
        ("id,submit,gpus,duration", "no column job_id, submit_s, duration_s; expected"),
        ("id,submit,gpu,duration", "did you mean: submit (submit_s?), gpu (gpus?)"),
        ("a b", "it begins a b"),
        (f"{NEEDED},gpus\na,0,1,1,1", "the column gpus is there twice"),
        (f"{NEEDED}\na,0,1\nb,0\n", "2 rows with other numbers of values than the 4"),
        (f"{NEEDED}\na,0,1\nb,0\n", "such as line 2 (3), 3 (2)"),
        (f'{NEEDED}\n"a"b,0,1,1', "line 2: ',' expected after '\"'"),
        (f'{NEEDED}\n\n"a,0,1,1\n', "line 3: unexpected end of data"),
        (b"job_id,\xff", "found byte 0xff at 7, which is no UTF-8"),
    ],
)
def test_files_that_are_no_csv_of_jobs_are_refused(text, said):
    message = refused(text)
    assert message.startswith("x.csv")
    assert said in message


@pytest.mark.parametrize(
    ("text", "whose"),
    [
        ("job_id,num_gpu,submit_time,iterations,model_name,duration,interval", "tiresias"),
        ("name,time,application,num_replicas,batch_size", "pollux"),
        ("job_id,user,vc,gpu_num,state,submit_time,start_time,end_time,duration", "helios"),
        ("JobID|Submit|Start|End|AllocTRES|NodeList|State", "slurm"),
        ("job_id,submit,gpus,duration", "csv"),
        ('[{"jobid": "a", "attempts": [], "submitted_time": "", "vc": ""}]', "philly"),
    ],
)
def test_traces_that_convert_reads_are_named(text, whose):
    message = refused(f"{text}\n")
    assert f"this looks like {FORMATS[whose].title}: synctax convert x.csv" in message


def test_empty_cells_beyond_the_header_are_no_cells():
    assert len(read(f"{NEEDED}\na,0,1,1,,,\nb,0,1,1\n").jobs) == 2


def test_columns_that_say_nothing_are_noted_with_what_they_are_like():
    names = [f"more{at}" for at in range(9)]
    found = read(f"{NEEDED},,barriors,{','.join(names)}\na,0,1,1{',' * 11}\n")
    note = found.notes[0]
    assert (note.reason, note.count) == ("columns_unknown", 11)
    assert "(no name), barriors (barriers?), more0" in note.detail
    assert note.detail.endswith("more5 and 3 more")


def test_columns_that_other_commands_write_are_not_noted():
    more = [one for one in (*CONVERT.names, *CHARACTERIZE.names) if one not in NAMES]
    assert {"model", "gpu_type"} <= set(more)
    found = read(f"{NEEDED},{','.join(more)}\na,0,1,1{',' * len(more)}\n")
    assert [one.reason for one in found.notes] == ["jobs_drawn"]


def test_what_was_inferred_is_noted():
    found = read(f"{NEEDED},start_s,end_s\na,5,1,1,4,5\nb,1,1,1,1,\n")
    notes = {note.reason: note for note in found.notes}
    assert list(notes) == ["jobs_sorted", "jobs_drawn", "measured_in_part"]
    assert notes["jobs_drawn"].count == 2
    assert notes["jobs_drawn"].detail.endswith("drawn from the pool mine, seed 0")
    assert notes["measured_in_part"].where == "job b"
    np.testing.assert_array_equal(found.start_s, [1, 4])
    np.testing.assert_array_equal(found.end_s, [np.nan, 5])


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress])
def test_compressed_files_are_read(tmp_path, pack):
    path = tmp_path / "jobs.csv.gz"
    path.write_bytes(pack(f"{NEEDED}\na,0,8,60\n".encode()))
    assert read_jobs(path, CLUSTER, pool=POOL).jobs.job_id == ("a",)


def test_files_that_cannot_be_read_are_refused(tmp_path):
    path = tmp_path / "jobs.csv.gz"
    path.write_bytes(gzip.compress(f"{NEEDED}\na,0,8,60\n".encode())[:-9])
    with pytest.raises(BadInputError, match="the gzip stream ends early"):
        read_jobs(path, CLUSTER)
    with pytest.raises(BadInputError, match="no such file"):
        read_jobs(tmp_path / "none.csv", CLUSTER)
    with pytest.raises(SynctaxError, match="not read from stdin; save them first"):
        read_jobs("-", CLUSTER)


def test_times_of_an_epoch_keep_their_nanoseconds():
    found = read(f"{NEEDED}\na,1700000000.123456789,1,{LARGEST_S:g}\n").jobs
    assert found.submit_ns[0] == 1_700_000_000_123_456_789
    assert found.duration_ns[0] == 9_200_000_000_000_000_000


def test_columns_that_are_none_of_a_job_are_not_written():
    row = {"job_id": ["a"], "submit_s": [0], "gpus": [1], "duration_s": [1]}
    with pytest.raises(ValueError, match=r"missing \['gpus'\], unknown \['gpu'\]"):
        job_csv({("gpu" if key == "gpus" else key): one for key, one in row.items()})
    with pytest.raises(ValueError, match="longer"):
        job_csv(row | {"workload": ["a", "b"]})
    with pytest.raises(ValueError, match="lacks the columns"):
        job_table({"job_id": []}, name="made up")


@pytest.mark.repo
def test_the_page_on_simulations_tells_every_column():
    page = Path(__file__).resolve().parents[2] / "docs" / "simulating.md"
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in page.read_text(encoding="utf-8").splitlines()
        if line.startswith("|")
    ]
    for one in JOB_COLUMNS:
        assert [f"`{one.name}`", one.unit, one.meaning] in rows


FITTED = TaxModel(4, a_us=10_000.0, b_us=200.0, r=0.02, gumbel=Gumbel(loc=1.0, scale=0.5))
CURVE = Curve((4.0, 8.0, 16.0), (300.0, 400.0, 600.0), (None,) * 3, (None,) * 3)
ENDING = TaxModel(4, a_us=10_000.0, deviations=Deviations(curve=CURVE))


@given(st.integers(4, 10_000), positive, st.integers(1, 999))
def test_the_tax_is_that_of_every_barrier_at_the_jobs_own_computation(n, busy_s, barriers):
    tax_s, _ = job_tax(
        plan_tax(FITTED), np.array([n]), np.array([busy_s]), np.array([barriers * 1.0])
    )
    a = busy_s / barriers
    one = 0.02 * a * (1.0 + 0.5 * (np.euler_gamma + log(n / 4)))
    assert tax_s[0] == pytest.approx(barriers * one)


def test_nobody_waits_where_nobody_meets():
    n, busy_s = np.array([1, 8, 8, 8]), np.array([1, 0, 1.0, 1])
    barriers = np.array([1, 1, 0.0, 1e-320])
    tax_s, notes = job_tax(plan_tax(FITTED), n, busy_s, barriers)
    assert (tax_s == 0).all()
    assert notes == ()
    assert (job_tax(None, n, busy_s, barriers)[0] == 0).all()


def test_where_the_tax_is_inferred_is_noted_in_jobs():
    n = np.array([1, 2, 4, 8, 16, 32, 64])
    ones = np.ones(n.size)
    tax_s, notes = job_tax(plan_tax(ENDING, "deviations"), n, ones, ones)
    np.testing.assert_allclose(tax_s[2:5], [0.03, 0.04, 0.06])
    np.testing.assert_allclose(tax_s[[1, 5, 6]], [0.015, 0.06, 0.06])
    assert [(one.reason, one.count) for one in notes] == [
        ("tax_below_fit", 1),
        ("tax_extrapolated", 2),
        ("tax_beyond_model", 2),
    ]
    assert "up to 4 times as many" in notes[1].detail
    assert "the 16 up to which deviations predicts" in notes[2].detail


def test_the_tax_is_part_of_an_iteration_and_another_workloads_microseconds_are_not():
    text = f"{NEEDED},compute_s,network_s,network_bytes,barriers\na,0,4,60,2,1,8,7\n"
    found = read(text, tax=plan_tax(FITTED)).jobs
    tax_s = 2 * 0.02 * (1.0 + 0.5 * np.euler_gamma)
    assert found.iteration_s[0] == pytest.approx(3 + tax_s)
    with pytest.raises(ValueError, match="in proportion to their own computation"):
        read(text, tax=plan_tax(FITTED, form="absolute"))


def test_a_tax_that_a_row_tells_is_taken_in_place_of_the_models():
    text = f"{NEEDED},compute_s,network_s,network_bytes,tax_s\n"
    text += "a,0,2,60,2,1,8,0.5\nb,0,4,60,2,1,8,\n"
    assert read(text).jobs.tax_s.tolist() == [0.5, 0.0]
    found = read(text, tax=plan_tax(FITTED))
    of_model = 2 * 0.02 * (1.0 + 0.5 * np.euler_gamma)
    assert found.jobs.tax_s.tolist() == pytest.approx([0.5, of_model])
    own = next(one for one in found.notes if one.reason == "tax_of_rows")
    assert own.count == 1
    untold = read(text.replace("b,0,4", "b,0,2"), tax=plan_tax(FITTED)).notes
    below = next(one for one in untold if one.reason == "tax_below_fit")
    assert below.count == 1
    with pytest.raises(BadInputError, match="tax_s is '-1'; expected a time in seconds"):
        read(f"{NEEDED},tax_s\na,0,4,60,-1\n")


@pytest.mark.parametrize("row", [f"{'a' * 300}\n", f"{' ' * 300},\n"])
def test_rows_that_are_no_jobs_take_no_memory(row):
    data = (NEEDED + "\na,0,1,1\n" + row * (2**20 // len(row))).encode()
    tracemalloc.start()
    try:
        if "a" in row:
            with pytest.raises(BadInputError, match="with other numbers of values"):
                parse_job_table(data, name="x.csv")
        else:
            assert len(parse_job_table(data, name="x.csv")) == 1
        _now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < len(data)


def test_more_jobs_than_there_can_be_are_refused(monkeypatch):
    monkeypatch.setattr("synctax.cluster.inputs.job_table.MOST_JOBS", 2)
    rows = [f"{name},0,1,1" for name in "abc"]
    assert len(parse_job_table("\n".join([NEEDED, *rows[:2]]).encode(), name="x")) == 2
    with pytest.raises(BadInputError, match="x: found more than 2 jobs"):
        parse_job_table("\n".join([NEEDED, *rows]).encode(), name="x")


def test_a_line_without_end_is_refused(monkeypatch):
    monkeypatch.setattr("synctax.cluster.inputs.job_table.LONGEST_LINE", 100)
    with pytest.raises(BadInputError, match="x, line 2: found more than 100 characters"):
        parse_job_table(f"{NEEDED}\n{'a,' * 60}\n".encode(), name="x")


@given(st.integers(0, 2**20 + 9))
@settings(max_examples=10)
def test_the_first_byte_that_is_no_utf_8_is_told_wherever_it_is(at):
    good = f"{NEEDED}\n" + "é,0,1,1\n" * 120_000
    data = bytearray(good.encode())
    data[at] = 0xFF
    with pytest.raises(UnicodeDecodeError) as expected:
        data.decode()
    first = expected.value.start
    with pytest.raises(BadInputError, match=f"at {first:,}, which is no UTF-8"):
        parse_job_table(bytes(data), name="x.csv")


@pytest.mark.parametrize(
    ("written", "workload"),
    [("bert", "bert-base"), ("inception3", "inception-v3"), ("ResNet50", "resnet-50")],
)
def test_models_are_called_here_as_traces_call_them(written, workload):
    table = parse_job_table(f"{NEEDED},workload\na,0,1,1,{written}\n".encode(), name="x")
    found = jobs_of(table, CLUSTER)
    assert found.jobs.workload == (workload,)


def test_a_workload_of_the_very_name_goes_before_another_name_of_one():
    both = Pool("both", tuple(map(workload, ("bert-base", "bert"))), np.ones(2))
    assert (both.find("BERT"), both.find("bert_base")) == (1, 0)


def test_a_parquet_file_is_called_so(tmp_path):
    (tmp_path / "jobs.csv").write_bytes(b"PAR1\xb5\xff")
    with pytest.raises(BadInputError, match="found Parquet; expected"):
        read_jobs(tmp_path / "jobs.csv", uniform(1, 8, 1e9))
