"""What GPUs use which NIC, what crosses rails, and what is not P2P."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synctax.planning.nccl.log import read_nccl_log
from synctax.planning.nccl.machine import Rail
from synctax.planning.nccl.rails import (
    Fallback,
    fallbacks,
    rails,
    ring_edges,
    strays,
    transfers,
)
from synctax.planning.nccl.topology import read_topology
from tests.planning.nccl_writing import (
    STYLES,
    Job,
    Xml,
    jobs,
    joined,
    read_texts,
    start,
    whole,
)


@pytest.fixture
def read(tmp_path):
    """Read texts as if each were a file."""
    return lambda *texts: read_texts(tmp_path, *texts)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("logs")


@settings(max_examples=40)
@given(jobs.filter(lambda job: job.hosts > 1), st.integers(0, 3))
def test_what_arrives_on_another_nic_crosses_rails(scratch, job, shift):
    moved = replace(job, arrive=lambda nic: (nic + shift) % job.gpus)
    path = scratch / "rails.log"
    path.write_text(whole(moved))
    log = read_nccl_log([path])
    crossed = job.channels * job.hosts if shift % job.gpus else 0
    found = [one for one in transfers(log).pairs if one.crosses]
    assert len(found) == crossed
    for one in found:
        assert one.source_nic == f"mlx5_{one.channel % job.gpus}"
        assert one.target_nic == f"mlx5_{(one.channel + shift) % job.gpus}"
        assert one.source_host != one.target_host


def test_each_gpu_has_the_nic_that_it_sends_on_for_others(read):
    log = read(whole(Job(hosts=2, gpus=4, channels=4)))
    assert [(rail.host, rail.gpu, rail.nic) for rail in rails(log)] == [
        (f"node-{host:02}", gpu, f"mlx5_{gpu}") for host in range(2) for gpu in range(4)
    ]
    assert [rail.rank for rail in rails(log)] == list(range(8))


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


def test_a_part_of_a_ring_still_tells_its_steps(read):
    ring = "Channel 00/01 :  0  1  2 ..."
    lines = start(0, 4, "h0", 0, commId="1d", lines=(ring,))
    lines += start(1, 4, "h1", 0, commId="1d") + start(2, 4, "h1", 1, commId="1d")
    # the last number before the dots may have lost digits
    (edge,) = ring_edges(read(joined(lines)))
    assert (edge.source_host, edge.target_host, edge.source_nic) == ("h0", "h1", "")


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
