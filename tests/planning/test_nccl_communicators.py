"""Ranks of a log come into the communicators that they are of."""

import pytest

from synctax.planning.nccl.model import NO_COMMUNICATOR
from synctax.planning.nccl.rails import (
    Fallback,
    fallbacks,
    rails,
    ring_edges,
    transfers,
)
from tests.planning.nccl_writing import (
    HEAD,
    joined,
    notes,
    read_texts,
    start,
)


@pytest.fixture
def read(tmp_path):
    """Read texts as if each were a file."""
    return lambda *texts: read_texts(tmp_path, *texts)


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
        lines += start(0, 2, "h0", gpu, pointer=f"0xa{gpu}", lines=(sent,))
        lines += start(1, 2, "h1", gpu, pointer=f"0xb{gpu}", lines=(got,))
    log = read(joined(lines))
    (communicator,) = log.communicators
    assert (communicator.members, communicator.mixed) == (4, True)
    # whose transfers these are is not known, which NIC each GPU uses is
    assert transfers(log).pairs == ()
    assert transfers(log).one_sided == 4
    assert [rail.dev for rail in rails(log)] == [0, 1, 0, 1]
    assert ring_edges(log) == ()
    assert notes(log) == {"nccl_communicator_mixed": 1, "nccl_link_unplaced": 4}


def test_nameless_groups_of_one_size_are_told_apart_by_their_turn(read):
    lines = []
    for turn in range(2):
        for gpu in range(2):
            lines += start(gpu, 2, "h0", gpu, pointer=f"0x{turn}{gpu}")
    assert [one.members for one in read(joined(lines)).communicators] == [2, 2]


def test_two_splits_of_one_color_are_told_apart_by_their_turn(read):
    # before 2.23 the name of a split follows from parent and color alone
    lines = []
    for turn in range(2):
        for host in range(2):
            pointer = f"0x{turn}{host}"
            lines += start(host, 2, f"h{host}", 0, pointer=pointer, commId="5a16")
    log = read(joined(lines))
    assert [(one.name, one.members, one.mixed) for one in log.communicators] == [
        ("5a16", 2, False),
        ("5a16", 2, False),
    ]
    assert notes(log) == {}


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
                f"{HEAD}Channel 00 : 0[5] -> 1[6] via SHM/direct/direct",
            ]
        )
    )
    assert {rail.gpu: rail.nic for rail in rails(log)} == {5: "mlx5_4", 0: "mlx5_4"}
    assert fallbacks(log) == (Fallback("h1", 5, 6, "SHM", 1),)
    assert transfers(log).one_sided == 3
    assert notes(log) == {"nccl_link_unplaced": 4}


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


def test_ranks_that_did_not_finish_are_counted(read):
    lines = start(0, 2, "h0", 0, commId="1d")[:-1]
    log = read(joined(lines))
    assert len(log.members) == 1
    assert notes(log) == {"nccl_communicator_partial": 1, "nccl_rank_unfinished": 1}


def test_domains_of_nvlink_are_told(read):
    lines = start(0, 1, "h0", 0, commId="1d")
    head = "h0:100:100 [0] NCCL INFO comm 0x1 rank 0 nRanks 1"
    more = f"{head} nNodes 2 localRanks 8 localRank 3 MNNVL 1"
    log = read(joined([lines[0], more, lines[1]]))
    assert (log.communicators[0].nodes, log.communicators[0].mnnvl) == (2, True)


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
