"""Which groups a job had, and where its ranks sat."""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synctax.collectives.load import load
from synctax.collectives.pool import gather
from synctax.errors import BadInputError, SynctaxError
from synctax.planning.layout import Layout
from synctax.planning.nccl.model import Communicator, Link, Member, NcclLog
from synctax.planning.verify.host_names import host_text, same_hosts
from synctax.planning.verify.hosts_file import HostMap, completed, of_job, read_hosts
from synctax.planning.verify.nccl_checks import hosts_in
from synctax.planning.verify.nvlink import hosts_joined, log_joins_hosts
from synctax.planning.verify.observed import answering, observe, taken_for, unnamed
from synctax.planning.verify.places import Seat, place
from synctax.planning.verify.seen import seen_layout
from synctax.synth import SynthJob, write
from tests.collectives.traces import all_reduce, gemm, trace
from tests.collectives.traces import write as write_trace
from tests.planning.observed_jobs import group, groups_of, in_blocks, job, placed


def hosts_csv(tmp_path, *lines, header="rank,host"):
    path = tmp_path / "map.csv"
    path.write_text("\n".join([header, *lines]) + "\n")
    return path


def host_map(hosts, domains=None, gpus=None):
    count = len(hosts)
    return HostMap(
        "map.csv",
        np.arange(count),
        tuple(hosts),
        tuple(domains or [""] * count),
        np.array(gpus if gpus is not None else [-1] * count),
    )


def seats(hosts, gpus=None, visible=8):
    return [
        Seat(rank, host, (rank if gpus is None else gpus[rank],), visible)
        for rank, host in enumerate(hosts)
    ]


# ------------------------------------------------------------------ the file of hosts


def test_a_file_names_host_domain_and_gpu(tmp_path):
    path = hosts_csv(
        tmp_path, "1, b, rack1, 3", "0,a,rack0,2", header="rank,host,domain,gpu"
    )
    found = read_hosts(path)
    assert found.rank.tolist() == [0, 1]
    assert (found.host, found.domain) == (("a", "b"), ("rack0", "rack1"))
    assert found.gpu.tolist() == [2, 3]


def test_a_line_stands_for_several_ranks(tmp_path):
    path = hosts_csv(tmp_path, "0-3,a,4-7", "4-7,b,", header="rank,host,gpu")
    found = read_hosts(path)
    assert found.rank.tolist() == list(range(8))
    assert found.host == ("a",) * 4 + ("b",) * 4
    assert found.gpu.tolist() == [4, 5, 6, 7, -1, -1, -1, -1]
    assert found.domain == ("",) * 8


def test_columns_may_stand_in_any_order_and_lines_be_short_or_empty(tmp_path):
    path = hosts_csv(tmp_path, "a,0", "", ",,", "b,1,r", header="Host,RANK,domain")
    found = read_hosts(path)
    assert (found.host, found.domain) == (("a", "b"), ("", "r"))


@given(st.data())
def test_what_a_line_says_beyond_the_columns_is_never_dropped(data):
    # every field of every line is read, or the file is refused
    names = data.draw(st.lists(st.sampled_from(["domain", "gpu", "domian", "note"])))
    columns = ["rank", "host", *names]
    known = len(set(names)) == len(names) and set(names) <= {"domain", "gpu"}
    many = data.draw(st.integers(2, 5))
    line = ["0", "a", "1", "1", "1"][:many]
    with TemporaryDirectory() as folder:
        path = hosts_csv(Path(folder), ",".join(line), header=",".join(columns))
        if known and many <= len(columns):
            assert read_hosts(path).host == ("a",)
            return
        with pytest.raises(BadInputError, match=r"has the column|fields"):
            read_hosts(path)


@pytest.mark.parametrize(
    ("lines", "header", "said"),
    [
        (["0,a"], "rank,node", "has the columns rank,node; expected rank,host"),
        ([], "", r"has the columns \(none\)"),
        ([], "rank,host", "no line below its header"),
        (["x,a"], "rank,host", "line 2 of .*map.csv has the rank 'x'"),
        (["3-1,a"], "rank,host", "has the rank '3-1'"),
        (["99999999999,a"], "rank,host", "has the rank"),
        (["0,"], "rank,host", "line 2 of .* names no host"),
        (["0,a", "0,b"], "rank,host", "lines 2 and 3 .* place rank 0 on a and b"),
        (["0-3,a,0-2"], "rank,host,gpu", "has 4 ranks and 3 GPUs"),
        (["0,a,one"], "rank,host,gpu", "has the gpu 'one'"),
        (["0,a,r"], "rank,host,domian", "has the column 'domian'; expected rank,host"),
        (["0,a,b"], "rank,host", "line 2 of .* has 3 fields, and its header 2: rank,host"),
        (["0,a,b"], "rank,host,host", "has the column host twice"),
        (["0,a,3", "1,a,3"], "rank,host,gpu", "ranks 0 and 1 on GPU 3 of a; a GPU runs"),
        (["0,a,3", "1,A.x,3"], "rank,host,gpu", "lines 2 and 3 .* ranks 0 and 1 on GPU 3"),
        (
            ["0,a,r0", "1,A.x,r1"],
            "rank,host,domain",
            "lines 2 and 3 .* host A.x into the domains r0 and r1",
        ),
        (["0,a,R0", "1,b,r0"], "rank,host,domain", "spell a domain R0 and r0"),
        (['0,"a', "1,b"], "rank,host", "cannot be read .*unexpected end of data"),
        (["0," + "a" * 200_000], "rank,host", "cannot be read .*field larger"),
    ],
)
def test_a_file_that_tells_no_hosts_is_refused_with_its_line(tmp_path, lines, header, said):
    with pytest.raises(BadInputError, match=said):
        read_hosts(hosts_csv(tmp_path, *lines, header=header))


def test_a_file_that_is_no_text_is_refused(tmp_path):
    path = tmp_path / "map.csv"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadInputError, match="cannot be read"):
        read_hosts(path)


def test_ranks_that_a_job_does_not_have_are_left_out_and_counted():
    given_map = host_map("aabb")
    assert of_job(given_map, None) == of_job(given_map, 4) == (given_map, ())
    found, (note,) = of_job(given_map, 2)
    assert (found.rank.tolist(), found.host) == ([0, 1], ("a", "a"))
    assert (note.reason, note.count) == ("hosts_beyond_job", 2)
    assert "the job of 2 ranks does not have" in note.detail


def test_ranks_that_count_from_one_are_refused():
    shifted = replace(host_map("aabb"), rank=np.arange(1, 5))
    with pytest.raises(BadInputError, match="names the ranks 1-4 and the job has 0-3: 1 r"):
        of_job(shifted, 4)
    # some of the ranks may be named
    assert of_job(replace(host_map("aa"), rank=np.array([1, 2])), 4)[1] == ()


def test_a_log_fills_in_domains_where_a_file_names_none():
    log = host_map("xxyy", ["1", "1", "2", "2"])
    assert completed(None, log) is log
    assert completed(host_map("aabb"), None).domain == ("",) * 4
    assert completed(host_map("aabb"), log).domain == ("1", "1", "2", "2")
    named = host_map("aabb", ["r", "", "", ""])
    assert completed(named, log) is named


# ------------------------------------------------------------------ names of hosts


@given(st.lists(st.sampled_from(["n1", "N1", "n1.a", "n1.b", "n2", "n2.a", "10.0", "10"])))
def test_names_of_one_host_stand_for_each_other(names):
    found = same_hosts(names)
    assert set(found) == set(names)
    for name, stands in found.items():
        assert found[stands] == stands
        assert stands.casefold().split(".")[0] == name.casefold().split(".")[0]
    if {"n1.a", "n1.b"} <= set(names):
        assert found["n1.a"] != found["n1.b"]
    if {"n2", "n2.a"} <= set(names):
        assert found["n2"] == found["n2.a"]
    if {"10", "10.0"} <= set(names):
        assert found["10"] != found["10.0"]


@given(st.sets(st.integers(0, 30), min_size=5), st.booleans())
def test_no_host_is_lost_in_few_words(numbers, padded):
    names = [f"n{number:02}.x" if padded else f"n{number}.x" for number in sorted(numbers)]
    text = host_text(names)
    inside = text.removeprefix("n[").removesuffix("].x")
    read = set()
    for part in inside.split(","):
        low, _, high = part.partition("-")
        read |= set(range(int(low), int(high or low) + 1))
    assert read == numbers


def test_hosts_without_a_number_are_named_as_they_are():
    assert host_text(["a", "b", "c"]) == "a, b, c"
    assert host_text(["a", "b", "c7", "d", "d1"]) == "a, b, c7, d, d1"


def test_one_host_under_two_names_is_one():
    found = place(np.arange(4), seats(["node-0"] * 2 + ["NODE-0.cluster.local"] * 2))
    assert found.hosts == ("node-0",)
    given_map = replace(host_map(["node-0.x"]), rank=np.array([1]))
    found = place(np.arange(2), seats(["node-0"] * 2), given_map)
    assert found.hosts == ("node-0",)
    assert found.notes == ()


# ------------------------------------------------------------------ NVLink between hosts


@pytest.mark.parametrize(
    ("models", "joined"),
    [
        (["NVIDIA GB200"], True),
        (["NVIDIA GH200 480GB", ""], True),
        (["NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3"], False),
        (["Tesla V100-SXM2-16GB"], False),
        (["NVIDIA B200"], False),
        (["AMD Instinct MI300X"], False),
        (["NVIDIA GeForce RTX 4090"], False),
        (["NVIDIA H100 80GB HBM3", "X9000"], None),
        (["", ""], None),
        ([], None),
    ],
)
def test_names_of_gpus_tell_whether_nvlink_joins_hosts(models, joined):
    assert hosts_joined(models) is joined


def nccl_log(nodes, linked, *, mnnvl=True, via="P2P"):
    """Eight ranks, two a host; the pairs of ranks that talk to each other."""
    members = tuple(Member(0, rank, f"t{rank // 2}", 1, rank % 2, "") for rank in range(8))
    links = tuple(
        Link(
            0, 0, 0, one, other, "", via, "MNNVL", "", 0, None, None, "", None, None, False
        )
        for one, other in linked
    )
    one = Communicator("c", 8, 8, nodes, mnnvl, mixed=False)
    return NcclLog((), (one,), members, links, (), (), (), ())


@given(st.permutations([(1, 2), (3, 2), (6, 5)]))
def test_links_between_hosts_tell_their_domain(linked):
    # hosts 0, 1 and hosts 2, 3 of two ranks each
    pairs = [(1, 2), (5, 6), (0, 1)]
    log = nccl_log(2, pairs)
    assert log_joins_hosts(log) is True
    domain = hosts_in(log, 8).domain
    assert domain == ("the domain of t0",) * 4 + ("the domain of t2",) * 4
    places_ = place(np.arange(8), [], hosts_in(log, 8))
    assert (places_.domain == np.arange(8) // 4).all()
    # in whatever order, and all in one
    assert set(hosts_in(nccl_log(1, [*linked, (2, 4)]), 8).domain) == {"the domain of t0"}


@pytest.mark.parametrize(
    "log",
    [
        nccl_log(2, [(1, 2)]),
        nccl_log(2, [(1, 2), (5, 6)], mnnvl=False),
        nccl_log(2, [(1, 2), (5, 6)], via="NET"),
        nccl_log(None, [(1, 2), (5, 6)]),
    ],
)
def test_links_that_do_not_make_the_domains_that_nccl_counted_tell_none(log):
    assert hosts_in(log, 8).domain == ("",) * 8
    assert log_joins_hosts(None) is None
    assert log_joins_hosts(nccl_log(2, [], mnnvl=False)) is None


# ------------------------------------------------------------------ where ranks sit


@given(st.integers(1, 5), st.integers(1, 4), st.integers(1, 3))
def test_domains_of_whole_hosts_hold_as_many_gpus_as_they_have(hosts, a_host, a_domain):
    names = [f"n{rank // a_host}" for rank in range(hosts * a_host)]
    found = place(
        np.arange(len(names)),
        seats(names, visible=0),
        domain_size=a_host * a_domain,
        gpus_per_host=a_host,
    )
    assert (found.domain == np.arange(len(names)) // (a_host * a_domain)).all()
    assert (np.bincount(found.domain) <= a_host * a_domain).all()


@given(st.permutations(range(8)))
def test_names_of_hosts_say_nothing_of_domains(names):
    hosts = [f"n{names[rank // 2]}" for rank in range(16)]
    found = place(np.arange(16), seats(hosts, visible=2), domain_size=4)
    assert found.domain.tolist() == [rank // 4 for rank in range(16)]


def test_without_a_size_a_host_is_a_domain():
    found = place(np.arange(4), seats("aabb"))
    assert found.domain.tolist() == [0, 0, 1, 1]
    assert found.domains == ("a", "b")
    assert found.domain_known_by == "each host taken for one domain"


def test_racks_are_named_by_their_first_and_last_host():
    found = place(np.arange(8), seats("aabbccdd", visible=2), domain_size=6)
    assert found.domains == ("domain 0 (a to c)", "domain 1 (d)")
    assert "taken for one domain; --hosts" in found.domain_known_by


def test_domains_of_a_file_go_before_the_order_of_hosts():
    given_map = host_map("aabb", ["x", "", "y", "y"])
    found = place(np.arange(6), seats("aabbcc"), given_map, domain_size=72)
    # a host lies in one domain, though one line is silent
    assert found.domain.tolist() == [0, 0, 1, 1, -1, -1]
    assert found.unknown_because == "map.csv names no domain for 2 ranks"


def test_a_host_may_hold_several_domains():
    found = place(np.arange(4), seats("aaaa"), domain_size=2, gpus_per_host=4)
    assert found.domain.tolist() == [0, 0, 1, 1]
    assert found.domains == ("a GPUs 0-1", "a GPUs 2-3")
    unknown = place(np.arange(4), [Seat(0, "a")], domain_size=2, gpus_per_host=4)
    assert (unknown.domain == -1).all()
    assert "rank,host,gpu" in unknown.unknown_because


def test_racks_are_not_told_where_hosts_are_missing():
    found = place(np.arange(16), seats("aabb", visible=2), domain_size=4)
    assert (found.domain == -1).all()
    assert "rank,host,domain" in found.unknown_because
    # one rank of each host is enough if a host is known to have four
    some = [Seat(0, "a"), Seat(4, "b"), Seat(8, "c"), Seat(12, "d")]
    found = place(np.arange(16), some, domain_size=8, gpus_per_host=4)
    assert found.of(found.domain, np.array([0, 4, 8, 12])).tolist() == [0, 0, 1, 1]


def test_what_a_user_says_of_a_rank_goes_before_its_trace():
    found = place(np.arange(2), seats("aa"), host_map("ab"))
    assert found.hosts == ("a", "b")
    assert [(note.reason, note.count) for note in found.notes] == [("host_from_file", 1)]


def test_the_local_index_is_the_number_of_the_gpu():
    assert place(np.arange(2), seats("ab", [5, 3])).local.tolist() == [5, 3]


def test_gpus_that_a_process_sees_alone_are_numbered_by_the_order_of_ranks():
    found = place(np.arange(4), seats("aabb", [0, 0, 0, 0], visible=1))
    assert found.local.tolist() == [0, 1, 0, 1]
    assert [(note.reason, note.count) for note in found.notes] == [
        ("local_index_from_order", 4)
    ]
    # where ranks are missing, order tells nothing
    assert (place(np.arange(6), seats("aabb", [0] * 4, visible=1)).local == -1).all()


def test_two_ranks_of_one_gpu_number_are_told_apart_by_order():
    assert place(np.arange(2), seats("aa", [3, 3])).local.tolist() == [0, 1]


def test_gpus_of_a_file_go_before_those_of_traces():
    found = place(np.arange(2), seats("aa", [0, 1]), host_map("aa", gpus=[7, -1]))
    assert found.local.tolist() == [7, -1]


def test_a_rank_that_is_not_known_has_no_place():
    found = place(np.array([4]), [Seat(4, "a")])
    assert found.at(np.array([4, 5])).tolist() == [0, -1]
    assert found.of(found.host, np.array([5])).tolist() == [-1]
    assert place(np.array([], np.int64), []).at(np.array([0])).tolist() == [-1]


@pytest.mark.parametrize("sizes", [{"domain_size": 0}, {"gpus_per_host": 0}])
def test_a_domain_of_no_gpus_is_no_call(sizes):
    with pytest.raises(ValueError, match="domains of"):
        place(np.arange(2), [], **sizes)


# ------------------------------------------------------------------ groups of traces


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Traces of 8 ranks on two hosts."""
    folder = tmp_path_factory.mktemp("made")
    write(SynthJob(tp=2, fsdp=2, dp=2, hosts=2, layers=1, steps=2), folder)
    return folder


def look(path, **options):
    found = load([str(path)], **options)
    return observe(found, gather(found.ranks)[1])


def test_groups_are_those_of_all_ranks_once_each(made):
    found = look(made)
    sizes = {role: [g.size for g in found.of(role)] for role in found.roles}
    assert sizes == {"default": [8], "dp": [2] * 4, "fsdp": [2] * 4, "tp": [2] * 4}
    assert all(g.complete for g in found.groups)
    assert {g.role for g in found.groups if not g.communicates} == {"default"}
    assert found.places.host_names(range(8)) == ("node-0", "node-1")
    assert found.places.local.tolist() == [0, 1, 2, 3] * 2
    assert found.whole
    assert str(seen_layout(found).layout) == "tp2,pp1,dp4"


def test_declared_groups_tell_of_ranks_that_were_not_read(made):
    found = look(made, ranks=[0])
    assert {(g.role, g.ranks) for g in found.groups} == {
        ("default", tuple(range(8))),
        ("tp", (0, 1)),
        ("fsdp", (0, 2)),
        ("dp", (0, 4)),
    }
    assert found.traced.tolist() == [0]
    assert not found.whole
    assert found.world == 8


def test_windows_and_twins_of_a_group_are_one(tmp_path):
    for window in (1, 2):
        for rank in (0, 1):
            config = [
                {"pg_name": name, "pg_desc": "mesh_tp", "pg_size": 2, "ranks": [0, 1]}
                for name in ("1", "2")
            ]
            events = [
                all_reduce(
                    1000 + k * 100, 20, ranks=[0, 1], name="1", description="mesh_tp", seq=k
                )
                for k in range(3)
            ]
            info = {"rank": rank, "world_size": 2, "pg_config": config}
            text = trace(gemm(), *events, distributedInfo=info)
            write_trace(tmp_path / f"iteration_{window}" / f"rank{rank}.json", text)
    (tp,) = look(tmp_path).of("tp")
    assert (tp.ranks, tp.communicates) == ((0, 1), True)


def test_the_host_of_a_rank_may_stand_in_any_of_its_windows(tmp_path):
    for window, more in ((1, {}), (2, {"host_name": "node-7"})):
        events = [all_reduce(1000, 20, ranks=[0, 1], seq=k) for k in range(3)]
        text = trace(gemm(), *events, rank=0, world=2, **more)
        write_trace(tmp_path / f"iteration_{window}" / "rank0.json", text)
    assert look(tmp_path).places.host_names([0]) == ("node-7",)


def test_a_window_of_an_unknown_gpu_does_not_get_the_host_of_another(tmp_path):
    for window, (gpu, host) in enumerate([("", ""), ("V100", "n0")]):
        events = [all_reduce(1000, 20, ranks=[0, 1], seq=k) for k in range(3)]
        more = {"deviceProperties": [{"id": 0, "name": gpu}], "host_name": host}
        text = trace(gemm(), *events, rank=0, world=2, **(more if gpu else {}))
        write_trace(tmp_path / f"iteration_{window}" / "rank0.json", text)
    assert look(tmp_path).places.host_names([0]) == ()


def test_a_list_of_ranks_that_was_cut_leaves_a_group_incomplete(tmp_path):
    config = [
        {"pg_name": "1", "pg_desc": "mesh_tp", "pg_size": 4, "ranks": "[0, 1, ...]"},
        {"pg_name": "2", "pg_desc": "mesh_pp", "pg_size": 4, "ranks": [0, 4, 8, 12]},
        {"pg_name": "2", "pg_desc": "mesh_pp", "pg_size": 4, "ranks": "[0, 4, ...]"},
        {"pg_name": "3", "pg_desc": "mesh_dp", "pg_size": 2, "ranks": "[0, ...]"},
    ]
    info = {"rank": 0, "world_size": 16, "pg_config": config}
    of_dp = all_reduce(1000, 20, ranks=[0, 2], name="3", description="mesh_dp", seq=0)
    write_trace(tmp_path / "rank0.json", trace(gemm(), of_dp, distributedInfo=info))
    found = look(tmp_path)
    (tp,) = found.of("tp")
    assert (tp.ranks, tp.size, tp.complete) == ((0,), 4, False)
    # another source has all ranks
    assert [g.ranks for g in found.of("pp")] == [(0, 4, 8, 12)]
    assert [g.ranks for g in found.of("dp")] == [(0, 2)]


def test_a_world_that_cannot_be_is_not_counted_out(tmp_path):
    info = {"rank": 0, "world_size": 2_000_000_000}
    text = trace(gemm(), all_reduce(0, 10, ranks=[0, 1]), distributedInfo=info)
    write_trace(tmp_path / "rank0.json", text)
    assert look(tmp_path).places.rank.tolist() == [0, 1]


def test_without_a_world_the_default_group_tells_it(tmp_path):
    text = trace(gemm(), all_reduce(0, 10, ranks=[0, 1]))
    write_trace(tmp_path / "rank0.json", text)
    assert look(tmp_path).world == 2


# ------------------------------------------------------------------ roles


def test_a_role_is_meant_by_its_name_or_that_of_a_group():
    found = placed(Layout(tp=2, pp=1, dp=2), in_blocks(2))
    assert answering(found, "tp") == (found, "tp")
    other = replace(found, groups=(*found.groups, group("dp", (0, 1), name="17")))
    assert answering(other, "17")[1] == "dp"
    with pytest.raises(SynctaxError, match="no group ep2; there are default, dp, "):
        answering(found, "ep2")


def test_a_lone_group_of_no_role_answers_to_any():
    lone = job([group("default", range(4), communicates=True)], in_blocks(4))
    found, role = answering(lone, "tp")
    assert ([g.role for g in found.groups], role) == (["tp"], "tp")
    assert found.notes[-1].reason == "group_taken_for_role"
    with pytest.raises(SynctaxError, match="no group no-role"):
        answering(lone, "no-role")


def test_groups_that_have_a_role_leave_none_nameless():
    groups = [
        group("default", range(4), communicates=True),
        group("tp", range(4), communicates=True),
    ]
    assert unnamed(job(groups, in_blocks(4))) == ()
    with pytest.raises(SynctaxError, match="no group pp"):
        answering(job(groups, in_blocks(4)), "pp")


def test_taking_a_group_for_a_role_counts_it():
    found = job([group("default", range(4), communicates=True)], in_blocks(4))
    taken = taken_for(found, "dp")
    assert taken.notes[-1].count == 1
    assert taken.of("dp")


# ------------------------------------------------------------------ the layout that is seen

degrees = st.sampled_from([1, 2, 4])


@given(st.builds(Layout, tp=degrees, pp=degrees, dp=degrees, cp=degrees))
def test_the_layout_of_a_job_is_read_off_its_groups(layout):
    seen = seen_layout(placed(layout, in_blocks(layout.tp)))
    assert seen.layout == layout
    assert str(seen) == str(layout)


def test_shards_and_replicas_make_up_data_parallelism():
    groups = groups_of(Layout(tp=2, pp=1, dp=8), ["tp"])
    groups += [group("fsdp", (r, r + 2, r + 4, r + 6)) for r in (0, 1, 8, 9)]
    groups += [group("dp_replicate", (r, r + 8)) for r in range(8)]
    assert str(seen_layout(job(groups, in_blocks(8)))) == "tp2,pp1,dp8"
    only_replicas = [g for g in groups if g.role not in ("fsdp", "tp")]
    seen = seen_layout(job(only_replicas, in_blocks(8)))
    assert (seen.layout, seen.data) == (None, (2,))


@pytest.mark.parametrize(
    ("roles", "said"),
    [
        ([], "only the default group is there"),
        (["tp"], "no group of data parallelism: the groups account for 4 ranks"),
    ],
)
def test_what_is_missing_for_a_layout_is_said(roles, said):
    groups = groups_of(Layout(tp=4, pp=1, dp=2), roles)
    assert said in seen_layout(job(groups, in_blocks(4))).because


def test_a_default_group_that_works_may_be_any_dimension():
    groups = groups_of(Layout(tp=1, pp=1, dp=1), ["dp"])
    groups = [group("default", (0, 1), communicates=True), group("dp", (0,)), groups[-1]]
    seen = seen_layout(job(groups, in_blocks(2)))
    assert seen.layout is None
    assert "--group tp, or dp, does" in seen.because


def test_without_a_world_there_is_no_layout():
    found = replace(placed(Layout(tp=2, pp=1, dp=2), in_blocks(2)), world=None)
    seen = seen_layout(found)
    assert (seen.layout, str(seen)) == (None, "tp2")
    assert "do not tell the ranks of the job" in seen.because


def test_no_role_at_all_is_said():
    nameless = group("unlabelled", range(4), origin="inferred", communicates=True)
    found = replace(
        job([group("default", range(4)), nameless], in_blocks(4)), groups=(nameless,)
    )
    assert "no trace names the role of a group" in seen_layout(found).because
    assert not nameless.labelled
