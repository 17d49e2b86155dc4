"""Logs of ASTRA-sim, of all its forms: what is read, and that no GPU is missed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synctax.cluster.characterize.astra_log import log_of, read_log
from synctax.errors import BadInputError
from synctax.trace.whole import whole
from tests.laws import examples

times = st.lists(
    st.tuples(st.integers(0, 2**53), st.integers(0, 2**53)).map(sorted),
    min_size=1,
    max_size=12,
)


def line(sys: int, wall: int, exposed: int | None = None) -> str:
    told = "." if exposed is None else f", exposed communication {exposed} cycles."
    stamp = "[2026-01-02 03:04:05.678] [workload] [info] "
    return f"{stamp}sys[{sys}] finished, {wall} cycles{told}\n"


def statistics(sys: int, **of: int) -> str:
    return "".join(
        f"[statistics] [info] sys[{sys}], {what.replace('_', ' ')} time: {value}\n"
        for what, value in of.items()
    )


def log(*lines: str):
    return log_of("".join(lines).encode(), name="run.log")


@settings(max_examples=examples(40))
@given(times, st.randoms(use_true_random=False))
def test_each_gpu_is_told_whatever_the_order_of_lines(pairs, random):
    lines = [line(sys, wall, exposed) for sys, (exposed, wall) in enumerate(pairs)]
    random.shuffle(lines)
    read = log("ring of node 0, id: 0\n", *lines, "Exiting\n")
    assert read.wall_ns.tolist() == [wall for _, wall in pairs]
    assert read.exposed_ns.tolist() == [exposed for exposed, _ in pairs]
    assert (read.comm_ns == -1).all()


def test_communication_is_no_longer_than_the_time_of_communication():
    told = log(
        line(0, 100, 60),
        statistics(0, Wall=100, GPU=40, Comm=45, CPU=15),
        line(1, 100, 60),
        statistics(1, Wall=100, GPU=40, Comm=70),
        "sys[1], Total compute-communication overlap: 10\n",
    )
    assert told.exposed_ns.tolist() == [45, 60]
    assert told.other_ns.tolist() == [15, 0]
    assert told.comm_ns.tolist() == [45, 70]


def test_a_log_of_before_exposed_communication_was_counted_tells_wall_times():
    told = log(line(0, 100), line(1, 90))
    assert told.wall_ns.tolist() == [100, 90]
    assert told.exposed_ns.tolist() == [-1, -1]


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ([""], r"found no line 'sys\[0\] finished"),
        ([line(0, 1, 1), line(2, 1, 1)], r"up to sys\[2\], found no line of sys\[1\]"),
        ([line(9_999_999, 1, 1)], r"found no line of sys\[0\]"),
        ([line(0, 1, 1), line(0, 1, 1)], r"byte 147: .*sys\[0\] finished twice"),
        ([line(0, 10, 11)], "within the 10 cycles of"),
        ([line(0, 10, 2**64 - 5)], "found 18,446,744,073,709,551,611"),
        ([line(0, 2**64 - 1, 1)], "expected a number of cycles"),
        ([line(0, 1, 1), line(1, 1)], r"exposed communication of every GPU.*sys\[1\]"),
        ([line(0, 9, 1), line(1, 9, 1), statistics(0, Wall=9)], r"sys\[1\] \(statistics"),
        ([line(0, 9, 1), statistics(0, Comm=2**64 - 1)], "one time of sys"),
        ([line(0, 9, 1), statistics(0, Wall=9) * 2], "one time of sys"),
    ],
)
def test_a_log_that_cannot_be_is_refused(lines, problem):
    with pytest.raises(BadInputError, match=problem) as caught:
        log(*lines)
    assert str(caught.value).startswith("run.log")


def test_a_log_cut_anywhere_is_refused_or_says_the_same():
    text = "".join(
        line(sys, 1_000 + sys, 400) + statistics(sys, Wall=1_000 + sys, Comm=450)
        for sys in range(3)
    ).encode()
    whole_log = log_of(text, name="run.log")
    for size in range(len(text)):
        try:
            cut = log_of(text[:size], name="run.log")
        except BadInputError:
            continue
        # GPUs that are wholly missing at the end cannot be noticed
        n = len(cut)
        np.testing.assert_array_equal(cut.exposed_ns, whole_log.exposed_ns[:n])
        np.testing.assert_array_equal(cut.wall_ns, whole_log.wall_ns[:n])


@given(st.binary(max_size=200))
def test_nonsense_is_refused(junk):
    with pytest.raises(BadInputError):
        log_of(junk, name="run.log")


def test_files_that_are_none_are_named(tmp_path):
    with pytest.raises(BadInputError, match="a folder"):
        read_log(tmp_path)
    with pytest.raises(BadInputError, match="no such file"):
        read_log(tmp_path / "none.log")
    empty = tmp_path / "empty.log"
    empty.write_bytes(b"")
    with pytest.raises(BadInputError, match="an empty file"):
        read_log(empty)
    with pytest.raises(BadInputError, match="a pipe or a device"):
        read_log("/dev/zero")


def test_files_that_are_too_large_or_damaged_are_refused(tmp_path):
    import gzip

    path = tmp_path / "run.log.gz"
    path.write_bytes(gzip.compress(bytes(2**20 + 1)))
    with pytest.raises(BadInputError, match="more than 1 MiB"):
        whole(path, "a log", most=2**20)
    path.write_bytes(gzip.compress(line(0, 5, 3).encode()))
    assert read_log(path).exposed_ns.tolist() == [3]
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(BadInputError, match="damaged compressed stream"):
        read_log(path)
