"""Logs of NCCL tell ranks, rings and NICs, whatever their version and what is around."""

import gzip
import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synctax.errors import BadInputError, SynctaxError
from synctax.planning import nccl_text
from synctax.planning.nccl_log import read_nccl_log
from synctax.planning.nccl_machine import Rail
from synctax.planning.nccl_messages import Unreadable, parse
from synctax.planning.nccl_model import NO_COMMUNICATOR, Branch, Member, NcclLog, Setting
from synctax.planning.nccl_rails import (
    Fallback,
    crossings,
    fallbacks,
    rails,
    ring_edges,
    strays,
    transfers,
)
from synctax.planning.nccl_topology import read_topology
from tests.planning.nccl_writing import Job, Xml

SAMPLES = Path(__file__).parent / "nccl_files"
STYLES = [(2, 7), (2, 10), (2, 14), (2, 17), (2, 18), (2, 21), (2, 27)]


@pytest.fixture
def read(tmp_path):
    """Read texts as if each were a file."""

    def read(*texts: str | bytes) -> NcclLog:
        paths = [tmp_path / f"{at}.log" for at in range(len(texts))]
        for path, text in zip(paths, texts, strict=True):
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_nccl_log(paths)

    return read


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("logs")


def joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def whole(job: Job) -> str:
    return joined([line for rank in job.texts() for line in rank])


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


def notes(log: NcclLog) -> dict[str, int]:
    return {note.reason: note.count for note in log.notes}


def told(log: NcclLog) -> NcclLog:
    """All but names of files."""
    return replace(log, files=(), notes=())


def same(one: NcclLog, other: NcclLog) -> bool:
    names = one.__dataclass_fields__
    return all(getattr(told(one), name) == getattr(told(other), name) for name in names)


jobs = st.builds(
    Job,
    hosts=st.integers(1, 3),
    gpus=st.integers(1, 4),
    channels=st.integers(1, 3),
    style=st.sampled_from(STYLES),
).filter(lambda job: job.ranks > 1)


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
    assert all(member.finished for member in log.members)
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


@settings(max_examples=40)
@given(jobs.filter(lambda job: job.hosts > 1), st.integers(0, 3))
def test_what_arrives_on_another_nic_crosses_rails(scratch, job, shift):
    moved = replace(job, arrive=lambda nic: (nic + shift) % job.gpus)
    path = scratch / "rails.log"
    path.write_text(whole(moved))
    log = read_nccl_log([path])
    crossed = job.channels * job.hosts if shift % job.gpus else 0
    assert len(crossings(log)) == crossed
    for one in crossings(log):
        assert one.source_nic == f"mlx5_{one.channel % job.gpus}"
        assert one.target_nic == f"mlx5_{(one.channel + shift) % job.gpus}"
        assert one.source_host != one.target_host


def test_each_gpu_has_the_nic_that_it_sends_on_for_others(read):
    log = read(whole(Job(hosts=2, gpus=4, channels=4)))
    assert [(rail.host, rail.gpu, rail.nic) for rail in rails(log)] == [
        (f"node-{host:02}", gpu, f"mlx5_{gpu}") for host in range(2) for gpu in range(4)
    ]
    assert [rail.rank for rail in rails(log)] == list(range(8))


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
    assert log.versions == ("2.21.5+cuda12.4",)
    # one host did not read it
    assert log.settings == (Setting("NCCL_CROSS_NIC", "0", 2),)
    assert log.values("NCCL_CROSS_NIC") == ("0",)
    assert log.values("NCCL_ALGO") == ()
    assert (log.multicast, log.no_multicast) == (1, 1)
    assert log.members[3] == Member(0, 3, "beta", 302, 1, "0000:22:00.0", None, True)
    assert log.branches[1] == Branch(0, 0, 1, 0, (2,))
    assert log.branches[2] == Branch(0, 1, 0, None, (1, 2))
    # channel 0 leaves on its own NIC and arrives on another in spite of NCCL_CROSS_NIC=0
    (crossing,) = crossings(log)
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
        assert set(log.branches) <= set(expected.branches)


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


@given(st.text(st.sampled_from("Channel Ring comm rank nranks:[]>-0123456789/NET/IB via")))
def test_no_message_is_too_odd(text):
    for start in (
        "",
        "Channel 00/0 : ",
        "Trees ",
        "comm 0x1 rank 0 nranks 2 ",
        "NET/IB : Using ",
    ):
        parse(start + text)
        parse(start + text, whole=False)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (
            "Channel 00 : 7[8b000] -> 8[7000] [receive] via NET/IB/0/GDRDMA/Shared",
            (0, 0, 7, 8, "8b000", "7000", "receive", "NET", "IB", 0, None, True, ""),
        ),
        (
            "Channel 07/1 : 12[4] -> 20[4] [send] via NET/AWS Libfabric/13(9)/GDRDMA(PCI)",
            (7, 1, 12, 20, "4", "4", "send", "NET", "AWS Libfabric", 13, 9, True, ""),
        ),
        (
            "Ring 01 : 3[ca000] -> 0[87000] [send] via NET/Socket/2",
            (1, 0, 3, 0, "ca000", "87000", "send", "NET", "Socket", 2, None, False, ""),
        ),
        (
            "Channel 00/0 : 1[7000] -> 0[b700] [receive] via NET/UCX/0 comm 0x2f nRanks 02",
            (0, 0, 1, 0, "7000", "b700", "receive", "NET", "UCX", 0, None, False, "0x2f"),
        ),
        (
            "Channel 03 : 0[7000] -> 1[a000] via direct shared memory",
            (3, 0, 0, 1, "7000", "a000", "", "SHM", "", None, None, False, ""),
        ),
        (
            "Channel 03 : 0[0] -> 1[1] via SHM/CE/direct",
            (3, 0, 0, 1, "0", "1", "", "SHM", "", None, None, False, ""),
        ),
        (
            "Channel 01/0 : 4[4] -> 5[5] via P2P/direct pointer/read",
            (1, 0, 4, 5, "4", "5", "", "P2P", "direct pointer", None, None, False, ""),
        ),
        (
            "Channel 01/0 : 0[0] -> 3[3] via P2P/indirect/2[2]/read",
            (1, 0, 0, 3, "0", "3", "", "P2P", "indirect", None, None, False, ""),
        ),
        (
            "Channel 01/0 : 0[0] -> 4[0] via P2P/MNNVL",
            (1, 0, 0, 4, "0", "0", "", "P2P", "MNNVL", None, None, False, ""),
        ),
    ],
)
def test_connections_of_all_versions_are_read(text, values):
    assert parse(text) == values


@pytest.mark.parametrize(
    "text",
    [
        "Channel 00/0 : 7[7] -> 8[",
        "Channel 00/0 : 7[7] -> 8[0] [send] via ",
        "Channel 00/0 : 7[7] -> 8[0] via NET/IB/0",
        "Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/",
        "Channel 00/0 : 7[7] -> 8[0] [send] via CARRIER/PIGEON",
        "Channel 99999999999/0 : 7[7] -> 8[0] via P2P/IPC",
        "Ring 00 :",
        "Trees none",
    ],
)
def test_a_connection_of_no_known_form_is_unreadable(text):
    assert isinstance(parse(text), Unreadable)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Connected all rings",
        "NET/Plugin: Using internal network plugin.",
        "NET/IB : No device found.",
        "comm 0x",
    ],
)
def test_other_messages_are_passed_over(text):
    assert parse(text) is None


def test_unreadable_lines_are_counted_with_the_first(read):
    text = whole(Job(gpus=1)) + "node-00:4000:5000 [0] NCCL INFO Channel 00/0 : 1[\n" * 3
    log = read(text)
    assert notes(log) == {"nccl_line_unreadable": 3}
    line = len(text.splitlines()) - 2
    assert log.notes[0].where.endswith(f"0.log, line {line}")


HEAD = "h1:10:11 [0] NCCL INFO "


def start(rank: int, nranks: int, host: str, gpu: int, **more: object) -> list[str]:
    """The beginning and the end of a communicator."""
    pid = 100 + gpu
    values = {"pointer": f"0x{rank + 1}", "commId": None, "lines": (), **more}
    after = f" commId 0x{values['commId']}" if values["commId"] else ""
    if "color" in values:
        after = (
            f" parent {values['parent']} splitCount {values['count']} "
            f"color {values['color']} key {rank}"
        )
    head = f"{host}:{pid}:{pid} [{gpu}] NCCL INFO "
    comm = (
        f"{head}comm {values['pointer']} rank {rank} nranks {nranks} cudaDev {gpu} "
        f"nvmlDev {gpu} busId {(gpu + 1) << 12:x}{after} - Init "
    )
    lines = values["lines"]
    assert isinstance(lines, tuple)
    return [f"{comm}START", *(head + line for line in lines), f"{comm}COMPLETE"]


def test_groups_of_two_kinds_are_told_apart_by_their_hash(read):
    lines = []
    for host in range(2):
        for gpu in range(2):
            name = f"h{host}"
            rank = 2 * host + gpu
            lines += start(rank, 4, name, gpu, pointer=f"0xa{rank}", commId="1d")
            lines += start(gpu, 2, name, gpu, pointer=f"0xb{rank}", commId=f"2{host}")
            lines += start(host, 2, name, gpu, pointer=f"0xc{rank}", commId=f"3{gpu}")
    log = read(joined(lines))
    sizes = [(one.name, one.nranks, one.members, one.mixed) for one in log.communicators]
    assert sizes[0] == ("1d", 4, 4, False)
    assert sorted(sizes[1:]) == [(f"{k}{at}", 2, 2, False) for k in (2, 3) for at in (0, 1)]
    assert [rail.rank for rail in rails(log)] == [0, 1, 2, 3]


def test_split_communicators_are_told_apart_by_parent_and_color(read):
    lines = []
    for host in range(2):
        for gpu in range(2):
            name, rank = f"h{host}", 2 * host + gpu
            lines += start(rank, 4, name, gpu, pointer=f"0xa{rank}", commId="1d")
            split = {"pointer": f"0xb{rank}", "parent": f"0xa{rank}", "count": 3}
            lines += start(host, 2, name, gpu, color=gpu, **split)
    log = read(joined(lines))
    assert [(one.name, one.members) for one in log.communicators[1:]] == [
        ("1d split 3 color 0", 2),
        ("1d split 3 color 1", 2),
    ]
    assert [(one.host, one.gpu) for one in log.members if one.communicator == 1] == [
        ("h0", 0),
        ("h1", 0),
    ]


def test_nameless_groups_inside_hosts_are_told_apart_by_host(read):
    lines = [
        line
        for host in range(2)
        for gpu in range(2)
        for line in start(gpu, 2, f"h{host}", gpu, pointer=f"0x{host}{gpu}")
    ]
    log = read(joined(lines))
    assert [(one.members, one.mixed) for one in log.communicators] == [(2, False)] * 2
    assert notes(log) == {}


def test_nameless_groups_across_hosts_are_mixed_and_said_to_be(read):
    net = "Channel 00/0 : {} [{}] via NET/IB/{}/GDRDMA"
    lines = []
    for gpu in range(2):
        sent = net.format(f"0[{gpu}] -> 1[{gpu}]", "send", gpu)
        got = net.format(f"0[{gpu}] -> 1[{gpu}]", "receive", gpu)
        tree = "Trees [0] 1/-1/-1->0->-1"
        lines += start(0, 2, "h0", gpu, pointer=f"0xa{gpu}", lines=(sent, tree))
        lines += start(1, 2, "h1", gpu, pointer=f"0xb{gpu}", lines=(got,))
    log = read(joined(lines))
    (communicator,) = log.communicators
    assert (communicator.members, communicator.mixed) == (4, True)
    # whose transfers these are is not known, which NIC each GPU uses is
    assert transfers(log).pairs == ()
    assert transfers(log).one_sided == 4
    assert [rail.dev for rail in rails(log)] == [0, 1, 0, 1]
    assert (log.branches, ring_edges(log)) == ((), ())
    assert notes(log) == {"nccl_communicator_mixed": 1, "nccl_link_unplaced": 6}


def test_nameless_groups_of_one_size_are_told_apart_by_their_turn(read):
    lines = []
    for turn in range(2):
        for gpu in range(2):
            lines += start(gpu, 2, "h0", gpu, pointer=f"0x{turn}{gpu}")
    assert [one.members for one in read(joined(lines)).communicators] == [2, 2]


def test_a_hash_of_zeros_names_nothing(read):
    lines = []
    for host in range(2):
        for gpu in range(2):
            lines += start(gpu, 2, f"h{host}", gpu, commId="0", pointer=f"0x{host}{gpu}")
    assert [one.name for one in read(joined(lines)).communicators] == ["", ""]


def test_what_is_connected_later_goes_where_ranks_and_gpus_fit(read):
    lines = []
    for rank, gpu in enumerate((0, 1)):
        lines += start(rank, 4, "h0", gpu, pointer=f"0xa{rank}", commId="1d")
        lines += start(0, 2, "h0", gpu, pointer=f"0xb{rank}", commId=f"2{gpu}")
    for rank, gpu in ((2, 0), (3, 1)):
        lines += start(rank, 4, "h1", gpu, pointer=f"0xa{rank}", commId="1d")
        lines += start(1, 2, "h1", gpu, pointer=f"0xb{rank}", commId=f"2{gpu}")
    pair = "Channel 00/1 : 0[0] -> 1[0]"
    later = [
        # rank 1 of the world has GPU 1, rank 1 of the pair GPU 0
        f"h0:100:900 [0] NCCL INFO {pair} [send] via NET/IB/3/GDRDMA",
        f"h1:100:900 [0] NCCL INFO {pair} [receive] via NET/IB/3/GDRDMA",
        "h0:100:901 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM",
        # of either communicator
        "h0:100:902 [0] NCCL INFO Channel 01/1 : 0[0] -> 1[7] [send] via NET/IB/3/GDRDMA",
    ]
    log = read(joined(lines + later))
    (pair,) = transfers(log).pairs
    assert log.communicators[pair.communicator].name == "20"
    (inside,) = [one for one in log.links if one.via == "P2P"]
    assert log.communicators[inside.communicator].name == "1d"
    assert (inside.gpu, inside.peer_gpu) == (0, 1)
    assert [one.communicator for one in log.links].count(NO_COMMUNICATOR) == 1
    assert transfers(log).one_sided == 1
    assert notes(log)["nccl_link_unplaced"] == 1


def test_links_inside_hosts_are_not_of_communicators_across_them(read):
    lines = [
        *start(0, 2, "h0", 0, pointer="0xa0", commId="1d"),
        *start(1, 2, "h1", 0, pointer="0xa1", commId="1d"),
        *start(0, 2, "h0", 0, pointer="0xb0", commId="2d"),
        *start(1, 2, "h0", 0, pointer="0xb1", commId="2d"),
        "h0:100:900 [0] NCCL INFO Channel 00 : 0[0] -> 1[0] via SHM/direct/direct",
    ]
    log = read(joined(lines))
    (link,) = log.links
    assert log.communicators[link.communicator].name == "2d"


def test_connections_of_no_communicator_still_tell_nics(read):
    log = read(
        joined(
            [
                f"{HEAD}NET/IB : Using [0]mlx5_4:1/IB ; OOB eth0:10.0.0.1<0>",
                f"{HEAD}Channel 00/0 : 0[5] -> 8[5] [send] via NET/IB/0/GDRDMA",
                f"{HEAD}Channel 00/0 : 0[7000] -> 8[7000] [send] via NET/IB/0",
                f"{HEAD}Channel 00/0 : 8[5] -> 0[5] [receive] via NET/IB/0(3)/GDRDMA",
                f"{HEAD}Trees [0] 1/-1/-1->0->-1",
                f"{HEAD}Channel 00 : 0[5] -> 1[6] via SHM/direct/direct",
            ]
        )
    )
    assert {rail.gpu: rail.nic for rail in rails(log)} == {5: "mlx5_4", 0: "mlx5_4"}
    assert fallbacks(log) == (Fallback("h1", 5, 6, "SHM", 1),)
    assert transfers(log).one_sided == 3
    assert notes(log) == {"nccl_link_unplaced": 5}


def test_a_line_that_names_its_communicator_goes_there(read):
    lines = [
        *start(0, 2, "h0", 0, pointer="0xa0", commId="1d"),
        *start(0, 2, "h0", 0, pointer="0xb0", commId="2d"),
        *(
            "h0:100:900 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC comm "
            f"{pointer} nRanks 02"
            for pointer in ("0xa0", "0xf0")
        ),
    ]
    log = read(joined(lines))
    names = [
        log.communicators[one.communicator].name
        for one in log.links
        if one.communicator != NO_COMMUNICATOR
    ]
    assert names == ["1d"]


def test_a_pointer_may_come_again_after_its_end(read):
    lines = start(0, 1, "h0", 0, commId="1d")
    end = lines[-1].replace("Init COMPLETE", "Destroy COMPLETE")
    again = start(0, 1, "h0", 0, commId="2d")
    third = start(0, 1, "h0", 0, commId="3d")
    log = read(joined([*lines, end, *again, *third]))
    assert [one.name for one in log.communicators] == ["1d", "2d", "3d"]
    assert notes(log) == {}


def test_the_same_log_twice_is_one(read, tmp_path):
    text = whole(Job(gpus=2))
    assert same(read(text, text), read(text))
    path = tmp_path / "0.log"
    assert same(read_nccl_log([path, path]), read(text))


def test_ranks_that_did_not_finish_are_counted(read):
    lines = start(0, 2, "h0", 0, commId="1d")[:-1]
    log = read(joined(lines))
    assert [one.finished for one in log.members] == [False]
    assert notes(log) == {"nccl_communicator_partial": 1, "nccl_rank_unfinished": 1}


def test_domains_of_nvlink_are_told(read):
    lines = start(0, 1, "h0", 0, commId="1d")
    head = "h0:100:100 [0] NCCL INFO comm 0x1 rank 0 nRanks 1"
    more = f"{head} nNodes 2 localRanks 8 localRank 3 MNNVL 1"
    log = read(joined([lines[0], more, lines[1]]))
    assert (log.communicators[0].nodes, log.communicators[0].mnnvl) == (2, True)
    assert log.members[0].local_rank == 3


def test_gpus_without_an_index_are_counted_by_their_bus(read):
    lines = [
        f"h0:{pid}:{pid} [0] NCCL INFO comm 0x{rank}0 rank {rank} nranks 3 cudaDev 0 "
        f"busId {bus} - Init COMPLETE"
        for rank, (pid, bus) in enumerate([(7, "c7000"), (8, "7000"), (9, "100008000")])
    ]
    log = read(joined(lines))
    assert [(one.gpu, one.busid) for one in log.members] == [
        (1, "0000:c7:00.0"),
        (0, "0000:07:00.0"),
        (2, "1000:08:00.0"),
    ]


def test_gpus_without_a_bus_have_the_index_of_cuda(read):
    lines = ["h0:7:7 [3] NCCL INFO comm 0x1 rank 0 nranks 1 cudaDev 3 - Init COMPLETE"]
    log = read(joined(lines))
    assert (log.members[0].gpu, log.members[0].busid) == (3, "")
    odd = ["h0:7:7 [3] NCCL INFO comm 0x1 rank 0 nranks 1 - Init COMPLETE"]
    assert read(joined(odd)).members[0].gpu == -1


def nic_lines(names: tuple[str, str], nics: tuple[int, int]) -> str:
    lines = []
    for host, (using, nic) in enumerate(zip(names, nics, strict=True)):
        end = "receive" if host else "send"
        link = f"Channel 00/0 : 0[0] -> 1[0] [{end}] via NET/IB/{nic}/GDRDMA"
        more = (f"NET/IB : Using {using}; OOB eth0:10.0.0.1<0>", link)
        lines += start(host, 2, f"h{host}", 0, commId="1d", lines=more)
    return joined(lines)


@pytest.mark.parametrize(
    ("names", "nics", "crosses"),
    [
        # one name is one rail, whatever its index
        (("[0]mlx5_0:1/IB [1]mlx5_1:1/IB", "[0]mlx5_1:1/IB"), (1, 0), False),
        (("[0]mlx5_0:1/IB [1]mlx5_1:1/IB", "[0]mlx5_1:1/IB"), (0, 0), True),
        # hosts that name NICs differently have indices in common
        (
            ("[0]rdma0:1/RoCE [1]rdma1:1/RoCE", "[0]mlx5_0:1/IB [1]mlx5_1:1/IB"),
            (1, 1),
            False,
        ),
        (
            ("[0]rdma0:1/RoCE [1]rdma1:1/RoCE", "[0]mlx5_0:1/IB [1]mlx5_1:1/IB"),
            (1, 0),
            True,
        ),
        # what a plugin tells goes before
        (("[0]a:1:4/IB [1]b:1:5/IB", "[0]a:1:5/IB [1]b:1:4/IB"), (0, 0), True),
        (("[0]a:1:4/IB [1]b:1:5/IB", "[0]a:1:5/IB [1]b:1:4/IB"), (0, 1), False),
        # several ports as one
        (("[0]={[0] a:1/IB, [1] b:1/IB}", "[0]={[0] a:1/IB, [1] b:1/IB}"), (0, 0), False),
        (("", ""), (2, 2), False),
        (("", ""), (2, 3), True),
    ],
)
def test_rails_are_told_by_plugin_name_or_index(read, names, nics, crosses):
    log = read(nic_lines(names, nics))
    assert [one.crosses for one in transfers(log).pairs] == [crosses]


def test_a_nic_of_no_known_name_is_called_by_its_network(read):
    log = read(nic_lines(("", ""), (2, 3)))
    assert [rail.nic for rail in rails(log)] == ["IB/2", "IB/3"]


def test_devices_are_listed_once_for_each_host(read):
    merged = "[0]={[0] a:1/IB, [1] b:1/IB} [1]c:1:7:0/IB"
    made = "h0:100:100 [0] NCCL INFO NET/IB : Made virtual device [2] name=a+c speed=1\n"
    log = read(nic_lines((merged, merged), (0, 0)) + made)
    found = [(one.host, one.dev, one.name, one.rail) for one in log.devices]
    assert found == [
        ("h0", 0, "a+b", None),
        ("h0", 1, "c", 7),
        ("h0", 2, "a+c", None),
        ("h1", 0, "a+b", None),
        ("h1", 1, "c", 7),
    ]


def test_addresses_are_no_rails(read):
    sockets = "NET/Socket : Using [0]eth0:10.0.0.1<0> [1]eth1:fe80::1:2%eth1<0>"
    log = read(joined(start(0, 1, "h0", 0, lines=(sockets,))))
    assert [(one.name, one.rail) for one in log.devices] == [("eth0", None), ("eth1", None)]


def test_pairs_without_p2p_are_counted_by_what_carries_them(read):
    lines = []
    for gpu, links in {
        0: (
            "Channel 00 : 0[0] -> 1[1] via SHM/direct/direct",
            "Channel 01 : 0[0] -> 1[1] via SHM/direct/direct",
            "Channel 00/0 : 0[0] -> 2[2] via P2P/indirect/1[1]",
            "Channel 02/0 : 0[0] -> 1[1] via P2P/CUMEM",
        ),
        1: ("Channel 00/0 : 1[1] -> 2[2] [send] via NET/Socket/0",),
        2: (
            "Channel 00/0 : 1[1] -> 2[2] [receive] via NET/Socket/0",
            "Channel 00 : 2[2] -> 0[0] via SHM/direct/direct",
            "Channel 05/0 : 2[2] -> 3[0] [send] via NET/Socket/0",
        ),
    }.items():
        lines += start(gpu, 4, "h0", gpu, commId="1d", lines=links)
    assert fallbacks(read(joined(lines))) == (
        Fallback("h0", 0, 1, "SHM", 2),
        Fallback("h0", 0, 2, "SHM", 1),
        Fallback("h0", 0, 2, "indirect", 1),
        Fallback("h0", 1, 2, "NET", 1),
    )


@pytest.mark.parametrize("style", STYLES)
def test_shared_memory_in_place_of_p2p_is_a_fallback(read, style):
    log = read(whole(Job(hosts=1, gpus=4, channels=2, style=style, shm=((1, 2),))))
    assert fallbacks(log) == (Fallback("node-00", 1, 2, "SHM", 2),)


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


def test_a_part_of_a_ring_still_tells_its_steps(read):
    ring = "Channel 00/01 :  0  1  2 ..."
    lines = start(0, 4, "h0", 0, commId="1d", lines=(ring,))
    lines += start(1, 4, "h1", 0, commId="1d") + start(2, 4, "h1", 1, commId="1d")
    # the last number before the dots may have lost digits
    (edge,) = ring_edges(read(joined(lines)))
    assert (edge.source_host, edge.target_host, edge.source_nic) == ("h0", "h1", "")


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


def test_versions_are_listed(read):
    text = whole(Job(gpus=1)) + "RCCL version 2.18.3+hip5.7 HEAD:b502725\n"
    text += f"{HEAD}NCCL version 2.29.2+cuda13.1\nworker: NCCL versions differ\n"
    assert read(text).versions == ("2.18.3+hip5.7", "2.27.3+cuda12.4", "2.29.2+cuda13.1")


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


def test_gpus_that_use_a_far_nic_are_strays(read, tmp_path):
    path = tmp_path / "topo.xml"
    path.write_text(Xml([[([0], ["mlx5_0"]), ([1], ["mlx5_1"])]]).text())
    topology = read_topology(path)
    log = read(whole(Job(hosts=2, gpus=2, channels=2)))
    assert strays(topology, rails(log)) == ()
    far = read(whole(Job(hosts=2, gpus=2, channels=2)).replace("NET/IB/1", "NET/IB/0"))
    found = strays(topology, rails(far))
    assert [(used.host, used.gpu, used.nic) for used, _ in found] == [
        ("node-00", 1, "mlx5_0"),
        ("node-01", 1, "mlx5_0"),
    ]
    assert [(near.host, near.nic, near.path) for _, near in found] == [
        ("node-00", "mlx5_1", "PIX"),
        ("node-01", "mlx5_1", "PIX"),
    ]


def test_of_a_topology_of_several_hosts_ranks_tell_which_gpu(tmp_path):
    one = Xml([[([0], ["mlx5_0"])]]).text()
    other = one.replace("0x5d1f00aa", "0x5d1f00bb").replace('rank="0"', 'rank="1"')
    other = other.replace("mlx5_0", "mlx5_9")
    path = tmp_path / "topo.xml"
    inner = other.split('<system version="1">')[1].split("</system>")[0]
    path.write_text(one.replace("</system>", inner + "</system>"))
    topology = read_topology(path)
    used = Rail("h0", 0, 1, "mlx5_0", 0, ("mlx5_0",), None)
    ((_, near),) = strays(topology, (used, replace(used, rank=None), replace(used, rank=7)))
    assert near.nic == "mlx5_9"
    assert strays(topology, (replace(used, rank=0), replace(used, near=()))) == ()
