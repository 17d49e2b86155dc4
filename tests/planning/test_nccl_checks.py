"""What NCCL's own files add: hosts, NICs, rails, rings, P2P."""

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings

from synctax.planning.nccl.log import read_nccl_log
from synctax.planning.nccl.topology import read_topology
from synctax.planning.verify.nccl_checks import (
    hosts_in,
    links_in,
    log_checks,
    nccl_checks,
    topology_checks,
)
from synctax.planning.verify.speeds import Links
from tests.planning.nccl_writing import Job, Xml, jobs, read_texts, start, whole

EIGHT = [
    [([0], ["mlx5_0"]), ([1], ["mlx5_1"])],
    [([2], ["mlx5_2"]), ([3], ["mlx5_3"])],
]
"""Four GPUs, each with a NIC behind its own PCIe switch."""


@pytest.fixture
def topology(tmp_path):
    def topology(cpus, change=None, **more):
        path = tmp_path / "topo.xml"
        text = Xml(cpus, **more).text()
        path.write_text(text if change is None else change(text))
        return read_topology(path)

    return topology


@pytest.fixture
def log(tmp_path):
    return lambda job: read_texts(tmp_path, whole(job))


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("logs")


def one(checks, name):
    (found,) = [check for check in checks if check.name == name]
    return found


# ------------------------------------------------------------------ logs


@settings(max_examples=30)
@given(jobs)
def test_ranks_sit_where_the_log_says(scratch, job):
    path = scratch / "whole.log"
    path.write_text(whole(job))
    found = hosts_in(read_nccl_log([path]), job.ranks)
    assert found is not None
    assert found.rank.tolist() == list(range(job.ranks))
    assert found.host == tuple(f"node-{job.home(r)[0]:02}" for r in range(job.ranks))
    assert found.gpu.tolist() == [job.home(r)[1] for r in range(job.ranks)]


@settings(max_examples=30)
@given(jobs)
def test_a_job_wired_in_rails_breaks_nothing(scratch, job):
    path = scratch / "whole.log"
    path.write_text(whole(job))
    assert not [check for check in log_checks(read_nccl_log([path])) if check.broken]


def test_a_log_of_some_ranks_does_not_place_a_job(tmp_path, log):
    whole_log = log(Job())
    assert hosts_in(whole_log, 16) is None
    assert hosts_in(whole_log, None) is not None
    part = read_texts(tmp_path, "\n".join(start(0, 4, "a", 0)))
    assert hosts_in(part, 4) is None


def test_what_arrives_on_another_nic_crosses_rails(log):
    found = log(Job(arrive=lambda nic: nic ^ 1, cross_nic="2"))
    check = one(log_checks(found), "nic-rails")
    assert (check.level, check.unit) == ("warning", "connection")
    assert len(check.broken) == check.checked == 4
    assert check.broken[0].found == (
        "leaves node-00 on mlx5_0 and arrives at node-01 on mlx5_1"
    )
    assert check.because.startswith("NCCL_CROSS_NIC is 2; 0 keeps rings to one NIC")
    unset = log(Job(arrive=lambda nic: nic ^ 1))
    assert "NCCL_CROSS_NIC is not set" in one(log_checks(unset), "nic-rails").because


def test_connections_inside_one_host_have_no_rails(log):
    check = one(log_checks(log(Job(hosts=1))), "nic-rails")
    assert (check.status, check.found) == ("unknown", "")
    assert "both ends of no connection between hosts" in check.because


def test_pairs_without_p2p_are_named(log):
    check = one(log_checks(log(Job(hosts=1, shm=((0, 1),)))), "p2p")
    assert [wrong.found for wrong in check.broken] == [
        "GPU 0 and 1 of node-00 talk through host memory"
    ]
    assert check.found == "1 pair of GPUs without P2P"
    assert one(log_checks(log(Job(hosts=2, gpus=1))), "p2p").status == "unknown"


def test_rings_that_leave_hosts_more_often_than_they_must_are_named(log):
    found = log(Job(hosts=2, gpus=2, channels=1))
    zigzag = replace(found.rings[0], ranks=(0, 2, 1, 3))
    check = one(log_checks(replace(found, rings=(zigzag,))), "rings")
    assert [wrong.found for wrong in check.broken] == [
        "channel 0 leaves hosts 4 times, 2 do"
    ]
    assert check.broken[0].hosts == ("node-00", "node-01")
    cut = replace(found.rings[0], whole=False)
    check = one(log_checks(replace(found, rings=(cut,))), "rings")
    assert (check.status, check.unknown) == ("unknown", 1)
    beyond = replace(found.rings[0], ranks=(0, 1, 2, 9))
    assert one(log_checks(replace(found, rings=(beyond,))), "rings").unknown == 1


# ------------------------------------------------------------------ topologies


def test_gpus_with_a_nic_each_break_nothing(topology):
    found = topology(EIGHT)
    checks = topology_checks([found], None)
    assert [(check.name, check.status) for check in checks] == [
        ("nics", "ok"),
        ("nvlinks", "ok"),
    ]
    assert one(checks, "nics").found == "4 of 4 GPUs"
    assert one(checks, "nvlinks").found == "18 NVLinks on 4 of 4 GPUs"
    assert links_in([found]) == Links(18 * 25.0, 50.0)


def test_gpus_that_share_a_nic_or_have_none_beside_them_are_named(topology):
    check = one(topology_checks([topology([[([0, 1], ["mlx5_0"])]])], None), "nics")
    assert [wrong.ranks for wrong in check.broken] == [(0,), (1,)]
    assert "shares mlx5_0 with 1 GPU" in check.broken[0].found
    far = topology([[([0], [])], [([], ["mlx5_0"])]])
    check = one(topology_checks([far], None), "nics")
    assert re.search(r"reaches mlx5_0 through a CPU \((SYS|PHB)\)", check.broken[0].found)


def test_a_machine_without_nics_reaches_none(topology):
    alone = topology([[([0], []), ([1], [])]])
    check = one(topology_checks([alone], None), "nics")
    assert "no NIC is reached" in check.broken[0].found
    assert links_in([alone]).nic_gb_per_s is None
    assert links_in([]) == Links()


def test_nvlinks_that_are_down_are_counted(topology):
    found = topology(EIGHT, lambda text: text.replace('count="18"', 'count="16"', 1))
    check = one(topology_checks([found], None), "nvlinks")
    assert [wrong.found for wrong in check.broken] == ["GPU 0 has 16 NVLinks, others 18"]
    assert links_in([found]).nvlink_gb_per_s == 16 * 25.0


def test_nics_in_use_are_those_beside_their_gpus(topology, log):
    found = topology(EIGHT)
    used = log(Job(hosts=2, gpus=4, channels=4))
    check = one(topology_checks([found], used), "nic-in-use")
    assert (check.status, check.found) == ("ok", "8 of 8 GPUs")
    swapped = topology([[([0], ["mlx5_1"]), ([1], ["mlx5_0"])], EIGHT[1]])
    check = one(topology_checks([swapped], used), "nic-in-use")
    assert len(check.broken) == 4
    assert check.broken[0].found == (
        "GPU 0 of node-00 uses mlx5_0, and beside it is mlx5_1"
    )
    alone = one(topology_checks([found], log(Job(hosts=1))), "nic-in-use")
    assert (alone.status, alone.because) == ("unknown", "the log tells of no NIC in use")


def test_only_what_was_given_is_checked(topology, log):
    assert list(nccl_checks([], None)) == []
    assert {c.name for c in nccl_checks([topology(EIGHT)], None)} == {"nics", "nvlinks"}
    names = {check.name for check in nccl_checks([], log(Job()))}
    assert names == {"nic-rails", "p2p", "rings"}


def test_a_gpu_that_no_rank_uses_is_named_by_its_host(topology):
    found = topology([[([0, 1], ["mlx5_0"])]], lambda text: text.replace(' rank="1"', ""))
    check = one(topology_checks([found], None), "nics")
    assert [(wrong.ranks, wrong.hosts) for wrong in check.broken] == [
        ((0,), ("0x5d1f00aa",)),
        ((), ("0x5d1f00aa",)),
    ]
