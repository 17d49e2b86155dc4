"""Logs of NCCL tell ranks, rings and NICs, whatever their version and what is around."""

import gzip
import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synctax.errors import BadInputError, SynctaxError
from synctax.planning.nccl import text as nccl_text
from synctax.planning.nccl.log import read_nccl_log
from synctax.planning.nccl.model import Member, NcclLog, Setting
from synctax.planning.nccl.rails import (
    Fallback,
    fallbacks,
    rails,
    ring_edges,
    transfers,
)
from tests.planning.nccl_writing import (
    HEAD,
    STYLES,
    Job,
    jobs,
    joined,
    notes,
    read_texts,
    start,
    whole,
)

SAMPLES = Path(__file__).parent / "nccl_files"


@pytest.fixture
def read(tmp_path):
    """Read texts as if each were a file."""
    return lambda *texts: read_texts(tmp_path, *texts)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("logs")


def interleaved(texts: list[list[str]], seed: int) -> list[str]:
    """Mix lines of ranks; each rank's own stay in order."""
    dice = random.Random(seed)
    ahead = [list(reversed(lines)) for lines in texts if lines]
    mixed = []
    while ahead:
        lines = dice.choice(ahead)
        mixed.append(lines.pop())
        ahead = [lines for lines in ahead if lines]
    return mixed


def told(log: NcclLog) -> NcclLog:
    """All but names of files."""
    return replace(log, files=(), notes=())


def same(one: NcclLog, other: NcclLog) -> bool:
    names = one.__dataclass_fields__
    return all(getattr(told(one), name) == getattr(told(other), name) for name in names)


@settings(max_examples=40)
@given(jobs, st.integers(0, 2**32))
def test_the_order_of_ranks_and_files_changes_nothing(scratch, job, seed):
    in_order = scratch / "whole.log"
    in_order.write_text(whole(job))
    expected = read_nccl_log([in_order])
    dice = random.Random(seed)
    files: list[list[list[str]]] = [[] for _ in range(dice.randint(1, 3))]
    for rank in dice.sample(job.texts(), job.ranks):
        dice.choice(files).append(rank)
    paths = []
    for at, ranks in enumerate(filter(None, files)):
        paths.append(scratch / f"{at}.log")
        paths[-1].write_text(joined(interleaved(ranks, seed)))
    assert same(read_nccl_log(paths), expected)


@settings(max_examples=40)
@given(jobs)
def test_ranks_rings_and_links_come_back(scratch, job):
    path = scratch / "job.log"
    path.write_text(whole(job))
    log = read_nccl_log([path])
    (communicator,) = log.communicators
    assert (communicator.nranks, communicator.members) == (job.ranks, job.ranks)
    homes = [(member.rank, member.host, member.gpu) for member in log.members]
    assert homes == [
        (rank, f"node-{rank // job.gpus:02}", rank % job.gpus) for rank in range(job.ranks)
    ]
    assert [ring.ranks for ring in log.rings] == [
        _from_least(job, channel) for channel in range(job.channels)
    ]
    assert all(ring.whole for ring in log.rings)
    # each step of a ring is told once inside a host, and by both ends between hosts
    between = job.hosts if job.hosts > 1 else 0
    assert len(log.links) == job.channels * (job.ranks + between)
    edges = ring_edges(log)
    assert len(edges) == job.channels * between
    nics = {(edge.source_nic, edge.target_nic) for edge in edges}
    assert nics <= {(f"mlx5_{nic}", f"mlx5_{nic}") for nic in range(job.gpus)}
    assert transfers(log).one_sided == 0
    assert len(transfers(log).pairs) == job.channels * between
    assert notes(log) == {}


def _from_least(job: Job, channel: int) -> tuple[int, ...]:
    ring = job.ring(channel)
    at = ring.index(0)
    return tuple(ring[at:] + ring[:at])


@pytest.mark.parametrize("style", STYLES)
def test_lines_of_launchers_and_terminals_change_nothing(read, style):
    job = Job(style=style)
    expected = read(whole(job))
    lines = whole(job).splitlines()
    around = {
        "torchrun": [f"[default{at % 4}]:{line}" for at, line in enumerate(lines)],
        "srun": [f"{at % 8}: {line}" for at, line in enumerate(lines)],
        "mpirun": [f"[1,{at % 8}]<stdout>:{line}" for at, line in enumerate(lines)],
        "kubectl": [
            f"[pod/job-worker-{at % 2}/pytorch] {line}" for at, line in enumerate(lines)
        ],
        "ray": [f"(Worker pid={at}, ip=10.0.0.1) {line}" for at, line in enumerate(lines)],
        "times": [f"2026-01-02T03:04:05.678Z {line}" for line in lines],
        "nccl": [f"[2026-01-02 03:04:05] {line}" for line in lines],
        "colours": [f"\x1b[32m{line}\x1b[0m" for line in lines],
        "bars": [f"  3%|#     | 3/99\r{line}" for line in lines],
        "others": [part for line in lines for part in (line, "loss 2.71", "")],
    }
    for name, text in around.items():
        assert same(read(joined(text)), expected), name
    assert same(read(whole(job).replace("\n", "\r\n")), expected)
    assert same(read(gzip.compress(whole(job).encode())), expected)
    assert same(read(whole(job).encode(errors="replace") + b"\xff\xfe\n"), expected)


def test_a_sample_of_two_hosts():
    log = read_nccl_log([SAMPLES / "two_hosts.log"])
    # one host did not read it
    assert log.settings == (Setting("NCCL_CROSS_NIC", "0", 2),)
    assert log.values("NCCL_CROSS_NIC") == ("0",)
    assert log.values("NCCL_ALGO") == ()
    assert log.members[3] == Member(0, 3, "beta", 302, 1, "0000:22:00.0")
    # channel 0 leaves on its own NIC and arrives on another in spite of NCCL_CROSS_NIC=0
    (crossing,) = (one for one in transfers(log).pairs if one.crosses)
    assert (crossing.channel, crossing.source, crossing.target) == (0, 1, 2)
    assert (crossing.source_nic, crossing.target_nic) == ("mlx5_0", "mlx5_3")
    assert fallbacks(log) == (Fallback("beta", 0, 1, "SHM", 2),)
    # what a proxy beside another GPU sends is not the sender's NIC
    assert [(rail.host, rail.gpu, rail.nic, rail.near) for rail in rails(log)] == [
        ("alpha", 0, "mlx5_3", ("mlx5_3",)),
        ("alpha", 1, "mlx5_0", ("mlx5_0",)),
        ("beta", 0, "mlx5_3", ("mlx5_3",)),
        ("beta", 1, None, ()),
    ]
    assert {edge.target_nic for edge in ring_edges(log)} == {"mlx5_3"}
    assert notes(log) == {}


def test_a_log_that_is_cut_after_any_line_is_read(read):
    lines = whole(Job(cross_nic="0")).splitlines()
    for end in range(1, len(lines)):
        try:
            log = read(joined(lines[:end]))
        except SynctaxError as error:
            # nothing of ranks yet
            assert "no rank and no connection" in str(error) or end == 1  # noqa: PT017
            continue
        assert len(log.members) <= 8
        assert len(rails(log)) == len({(one.host, one.gpu) for one in log.members})


def test_a_cut_file_tells_nothing_that_the_whole_does_not(read):
    text = joined(Job(hosts=2, gpus=2, channels=1).texts()[1])
    text = text.replace("mlx5_1", "mlx5_17").replace("NET/IB/1", "NET/IB/17")
    expected = read(text)
    facts = {(one.source, one.target, one.nic, one.nic_name) for one in expected.links}
    first = text.index("Init START\n") + 11
    for end in range(first, len(text)):
        log = read(text[:end])
        found = {(one.source, one.target, one.nic, one.nic_name) for one in log.links}
        assert found <= facts, text[:end]
        assert [one.rank for one in log.members] == [1]


@settings(max_examples=100)
@given(st.data())
def test_changed_bytes_raise_nothing_else(scratch, data):
    text = bytearray(whole(Job(gpus=2)).encode())
    for _ in range(data.draw(st.integers(1, 6))):
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.integers(0, 255))
    path = scratch / "fuzzed.log"
    path.write_bytes(bytes(text))
    log = read_nccl_log([path])
    assert len(transfers(log).pairs) <= 8
    assert len(fallbacks(log)) <= 4
    assert rails(log)


def test_unreadable_lines_are_counted_with_the_first(read):
    text = whole(Job(gpus=1)) + "node-00:4000:5000 [0] NCCL INFO Channel 00/0 : 1[\n" * 3
    log = read(text)
    assert notes(log) == {"nccl_line_unreadable": 3}
    line = len(text.splitlines()) - 2
    assert log.notes[0].where.endswith(f"0.log, line {line}")


def test_a_long_ring_that_nccl_cut_is_joined_from_what_ranks_say(read):
    ring = "Channel 00/01 :  0  1  2  3  1..."
    nexts = [f"Ring 00 : {(r - 1) % 12} -> {r} -> {(r + 1) % 12}" for r in range(12)]
    cut = [
        line
        for rank in range(12)
        for line in start(
            rank, 12, "h0", rank, commId="1d", lines=(ring,) if rank == 0 else ()
        )
    ]
    log = read(joined(cut))
    assert [(one.ranks, one.whole) for one in log.rings] == [((0, 1, 2, 3), False)]
    assert notes(log) == {"nccl_ring_cut": 1}
    told_by_all = [
        line
        for rank in range(12)
        for line in start(rank, 12, "h0", rank, commId="1d", lines=(nexts[rank],))
    ]
    log = read(joined(told_by_all))
    assert [(one.ranks, one.whole) for one in log.rings] == [(tuple(range(12)), True)]


def test_a_ring_that_contradicts_itself_does_not_go_round_forever(read):
    nexts = ("Ring 00 : 1 -> 0 -> 1", "Ring 00 : 0 -> 1 -> 2", "Ring 00 : 1 -> 2 -> 1")
    lines = [
        line
        for rank, text in enumerate(nexts)
        for line in start(rank, 3, "h0", rank, commId="1d", lines=(text,))
    ]
    assert [(one.ranks, one.whole) for one in read(joined(lines)).rings] == [
        ((0, 1, 2), False)
    ]


def test_lines_of_two_processes_in_one_are_both_read(read):
    job = Job(hosts=2, gpus=1, channels=2)
    expected = read(whole(job))
    first, second = job.texts()
    at = next(i for i, line in enumerate(second) if "via NET" in line)
    glued = [*first[:-1], first[-1] + second[at]]
    text = joined([*second[:at], *glued, *second[at + 1 :]])
    log = read(text)
    assert same(log, expected)
    assert notes(log) == {"nccl_lines_joined": 1}


def test_a_message_that_another_interrupts_is_not_trusted_to_its_last_digit(read):
    job = Job(hosts=2, gpus=1, channels=1)
    first, second = job.texts()
    at = next(i for i, line in enumerate(first) if "[send] via NET" in line)
    cut = first[at].removesuffix("/GDRDMA").replace("NET/IB/0", "NET/IB/1")
    # of NIC 12, say, a digit and the rest of the line came too late
    text = joined([*second[:3], *first[:at], cut + second[3], "2/GDRDMA", *first[at + 1 :]])
    log = read(text + joined(second[4:]))
    assert [one.nic for one in log.links if one.source == 0] == [0]
    assert notes(log) == {"nccl_line_unreadable": 1, "nccl_lines_joined": 1}


def test_the_rest_of_a_line_does_not_stick_to_a_host(read):
    first, second = Job(hosts=2, gpus=1, channels=1).texts()
    head = "node-00:4000:5000 [0] NCCL INFO Setting aff"
    log = read(joined([head + second[0], *first, *second[1:]]))
    assert {one.host for one in log.members} == {"node-00", "node-01"}
    assert {one.host for one in log.devices} == {"node-00", "node-01"}
    alone = read(joined([head + second[2]]))
    assert {one.host for one in alone.members} == {"affnode-01"}


def test_warnings_are_counted_with_the_first(read):
    text = whole(Job(gpus=1)) + (
        "\nnode-00:4000:5000 [0] transport/net.cc:1 NCCL WARN first of all\n"
        "\nnode-00:4000:5000 [0] src/init.cc:42 (initRank) NCCL WARN another\n"
    )
    log = read(text)
    assert notes(log) == {"nccl_warning": 2}
    assert log.notes[0].detail == "first of all"


def test_settings_that_differ_between_ranks_are_all_listed(read):
    text = whole(Job(gpus=1, cross_nic="0")).replace("to 0.", "to 1.", 1)
    log = read(text)
    assert log.values("NCCL_CROSS_NIC") == ("0", "1")


def test_a_line_without_end_is_cut_and_counted(read):
    text = whole(Job(gpus=1))
    log = read(
        text + HEAD + "x" * 400_000 + "\n" + HEAD + "NCCL_ALGO set by environment to Ring\n"
    )
    assert notes(log) == {"nccl_line_long": 1}
    assert log.values("NCCL_ALGO") == ("Ring",)


def test_an_empty_file_beside_others_is_counted(read):
    log = read(whole(Job(gpus=1)), "")
    assert notes(log) == {"nccl_file_empty": 1}


def test_a_compressed_log_that_is_cut_is_read_so_far(read):
    log = read(gzip.compress(whole(Job(hosts=2, gpus=8)).encode())[:-200])
    assert 1 <= len(log.members) <= 16
    assert notes(log)["gzip_truncated"] == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no rank and no connection in the log; expected lines such as `comm"),
        ("step 1\nstep 2\n", r"0.log: no line of NCCL in 2 lines; expected lines such as"),
        ("# NCCL Tests compiled with\n", "no line of NCCL in 1 lines"),
        (f"{HEAD}Bootstrap : Using eth0\n", "run with NCCL_DEBUG=INFO"),
        ("h:1:2 [0] net.cc:1 NCCL WARN broken\n", "no rank and no connection"),
        (b"\x00\x01\x02" * 1000, "no line of NCCL"),
    ],
)
def test_what_is_no_log_is_refused(read, text, message):
    with pytest.raises(BadInputError, match=message):
        read(text)


def test_many_files_of_nothing_are_not_all_named(read):
    with pytest.raises(BadInputError, match=r"0\.log, .*2\.log, \.\.\.: no rank"):
        read("", "", "", "")


def test_a_folder_or_nothing_is_refused(tmp_path):
    with pytest.raises(BadInputError, match="cannot be read"):
        read_nccl_log([tmp_path])
    with pytest.raises(BadInputError, match="No such file"):
        read_nccl_log([tmp_path / "none.log"])


def test_a_file_without_end_is_given_up(read, monkeypatch):
    monkeypatch.setattr(nccl_text, "LARGEST_BYTES_WITHOUT", 2**20)
    with pytest.raises(BadInputError, match="no line of NCCL in the first GiB"):
        read(b"x" * 2**21)
    assert read(whole(Job(gpus=1)).encode() + b"%s\n" % (b"x" * 60_000) * 20).members


def test_the_same_log_twice_is_one(read, tmp_path):
    text = whole(Job(gpus=2))
    assert same(read(text, text), read(text))
    path = tmp_path / "0.log"
    assert same(read_nccl_log([path, path]), read(text))
