"""Chakra execution traces: what is read, what ranks send, and files that are none."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synctax.cluster.characterize.astra_network import AstraNetwork
from synctax.cluster.characterize.chakra import (
    ExecutionTraces,
    read_groups,
    read_traces,
    sends,
)
from synctax.cluster.characterize.chakra_nodes import read_nodes
from synctax.collectives.model import Op
from synctax.errors import BadInputError, SynctaxError
from tests.cluster.chakra_writing import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BARRIER,
    BROADCAST,
    COLL,
    COMP,
    MEM_LOAD,
    RECV,
    REDUCE_SCATTER,
    SEND,
    blob,
    collective,
    compute,
    flags,
    integer,
    message,
    node,
    number,
    text,
    trace,
    varint,
    write,
)

STEP = trace(
    compute(20_000, flop=7),
    compute(5, cpu=True),
    node(MEM_LOAD),
    collective(ALL_REDUCE, 100_000_000, text("pg_name", "0")),
)


def nodes(data: bytes):
    return read_nodes(data, name="job.0.et")


def of(*files: bytes) -> ExecutionTraces:
    return ExecutionTraces("job", tuple(map(nodes, files)))


sizes = st.integers(0, 2**53)


@given(
    st.lists(st.tuples(st.integers(0, 9), sizes), min_size=1, max_size=5),
    st.sampled_from([7, 9, 11, 13, 15, 17, 21, 25]),
)
def test_what_was_written_is_read_in_whatever_integer_type(calls, field):
    calls = [(op, size if field not in (7, 11) else size % 2**31) for op, size in calls]
    files = [
        node(COLL, integer("comm_size", size, field), integer("comm_type", op, field))
        for op, size in calls
    ]
    read = nodes(trace(*files))
    assert read.comm_bytes.tolist() == [size for _, size in calls]
    ops = (
        Op.ALL_REDUCE, Op.REDUCE, Op.ALL_GATHER, Op.GATHER, Op.SCATTER, Op.BROADCAST,
        Op.ALL_TO_ALL, Op.REDUCE_SCATTER, Op.REDUCE_SCATTER, Op.BARRIER,
    )  # fmt: skip
    assert read.op.tolist() == [ops[op] for op, _ in calls]


def test_columns_are_those_of_the_nodes():
    read = nodes(STEP)
    assert read.version == "0.0.4"
    assert read.duration_us.tolist() == [20_000, 5, 0, 0]
    assert read.cpu.tolist() == [False, True, False, False]
    assert read.num_ops.tolist() == [7, 0, 0, 0]
    assert read.op.tolist() == [-1, -1, -1, Op.ALL_REDUCE]
    assert read.group.tolist() == [-1] * 4


@pytest.mark.parametrize(
    ("op", "size", "sent"),
    [
        (ALL_REDUCE, 800, 1_400),
        (REDUCE_SCATTER, 800, 700),
        (ALL_TO_ALL, 800, 700),
        (ALL_GATHER, 100, 700),
        (BROADCAST, 800, 800),
        (BARRIER, 0, 0),
    ],
)
def test_a_ring_of_eight_sends_what_its_algorithm_says(op, size, sent):
    found = sends(of(*[trace(collective(op, size))] * 8))
    assert found.sent_bytes.tolist() == [sent] * 8
    assert found.barriers.tolist() == [float(op != BROADCAST)] * 8


def test_one_gpu_alone_sends_nothing():
    found = sends(of(STEP))
    assert (found.sent_bytes[0], found.barriers[0]) == (0, 0)


def test_messages_count_where_they_are_sent():
    found = sends(of(trace(message(SEND, 300)), trace(message(RECV, 300))))
    assert found.sent_bytes.tolist() == [300, 0]
    assert found.by_op == {"send_recv": 150}


def test_what_a_host_calls_is_no_communication_of_its_own():
    calls = node(COLL, integer("is_cpu_op", 1, 27)), node(SEND, integer("is_cpu_op", 1, 27))
    found = sends(of(*[trace(*calls, collective(ALL_REDUCE, 800))] * 8))
    assert (found.sent_bytes[0], found.barriers[0]) == (1_400, 1)
    assert found.by_op == {"all_reduce": 1_400}


def test_only_what_the_gpu_computes_is_computation():
    found = sends(of(STEP, STEP))
    assert found.compute_s.tolist() == [0.02, 0.02]
    assert found.flop.tolist() == [7, 7]


def test_groups_are_as_large_as_they_are_declared_or_given():
    pgs = '["[{"pg_name": "3", "ranks": [0, 1]}, {"pg_name": "4", "ranks": []}]"]'
    metadata = node(1, blob(8, blob(1, pgs.encode())))
    other = node(1, blob(8, blob(1, b'["[{}]"]')))
    calls = [collective(ALL_REDUCE, 400, text("pg_name", name)) for name in "34"]
    found = sends(of(*[trace(metadata, other, node(1), *calls)] * 4))
    assert found.sent_bytes[0] == 400 + 600
    given_too = sends(of(*[trace(*calls)] * 4), groups={"3": 2, "4": 4})
    assert given_too.sent_bytes.tolist() == found.sent_bytes.tolist()


def test_a_group_of_unknown_size_is_asked_for_by_name():
    files = of(*[trace(collective(ALL_REDUCE, 400, text("pg_name", "17")))] * 4)
    with pytest.raises(SynctaxError, match=r"process group '17'.*communicator groups"):
        sends(files)


@pytest.mark.parametrize("packed", [True, False])
def test_a_collective_of_some_dimensions_is_of_the_gpus_along_these(packed):
    part = flags("involved_dim", [False, True], packed=packed)
    files = of(*[trace(collective(ALL_REDUCE, 400, part))] * 8)
    network = AstraNetwork(("Ring", "Ring"), np.array([4, 2]), np.ones(2), np.zeros(2))
    assert sends(files, network=network).sent_bytes[0] == 400
    with pytest.raises(SynctaxError, match="give the network file"):
        sends(files)
    every = flags("involved_dim", [True, True], packed=packed)
    assert sends(of(*[trace(collective(ALL_REDUCE, 400, every))] * 8)).sent_bytes[0] == 700


NICS = AstraNetwork(("Ring", "Ring"), np.array([4, 2]), np.ones(2), np.zeros(2))


@pytest.mark.parametrize(
    ("op", "size", "more", "sent"),
    [
        (ALL_REDUCE, 800, (), 800),
        # of 800 a server has 200 left for each GPU
        (REDUCE_SCATTER, 800, (), 100),
        (ALL_GATHER, 100, (), 100),
        (ALL_TO_ALL, 800, (), 400),
        (BROADCAST, 800, (), 800),
        (ALL_REDUCE, 800, (flags("involved_dim", [True, False]),), 0),
        (BROADCAST, 800, (flags("involved_dim", [True, False]),), 0),
        (BROADCAST, 800, (flags("involved_dim", [False, True]),), 800),
        (ALL_REDUCE, 800, (text("pg_name", "8"),), 800),
    ],
)
def test_of_two_dimensions_the_outer_one_is_counted(op, size, more, sent):
    files = of(*[trace(collective(op, size, *more))] * 8)
    found = sends(files, network=NICS, groups={"8": 8})
    assert found.sent_bytes.tolist() == [sent] * 8
    assert found.of_parts == 0


def test_what_a_part_of_the_gpus_sends_is_counted_whole_and_said():
    calls = collective(ALL_REDUCE, 400, text("pg_name", "2")), message(SEND, 300)
    found = sends(of(*[trace(*calls)] * 8), network=NICS, groups={"2": 2})
    assert found.sent_bytes.tolist() == [700] * 8
    assert found.of_parts == 16


def test_files_are_found_by_prefix_folder_or_one_of_them(tmp_path):
    prefix = write(tmp_path, STEP, trace(compute(3)))
    (tmp_path / "notes.txt").write_text("no trace")
    for path in (prefix, tmp_path, tmp_path / "job.1.et"):
        read = read_traces(path)
        assert [one.duration_us[0] for one in read.nodes] == [20_000, 3]
    lone = tmp_path / "alone.et"
    lone.write_bytes(STEP)
    assert len(read_traces(lone)) == 1


def test_equal_files_are_read_once(tmp_path):
    read = read_traces(write(tmp_path, STEP, STEP, STEP))
    assert read.nodes[0] is read.nodes[2]


def test_files_that_lack_one_or_are_of_two_jobs_are_refused(tmp_path):
    with pytest.raises(BadInputError, match=r"no file job\.0\.et"):
        read_traces(tmp_path / "job")
    with pytest.raises(BadInputError, match=r"no file job\.0\.et"):
        read_traces(tmp_path / "nowhere" / "job")
    with pytest.raises(BadInputError, match="0 prefixes: none"):
        read_traces(tmp_path)
    write(tmp_path, STEP, STEP, STEP)
    (tmp_path / "job.1.et").unlink()
    with pytest.raises(BadInputError, match="GPUs 0 to 2, found none of GPU 1"):
        read_traces(tmp_path / "job")
    write(tmp_path, STEP, prefix="other")
    with pytest.raises(BadInputError, match="2 prefixes: job, other"):
        read_traces(tmp_path)
    with pytest.raises(BadInputError, match=r"cannot be read|there is no file"):
        read_traces("a" * 5_000)


def test_a_trace_cut_anywhere_but_between_nodes_is_refused_at_its_byte():
    first = compute(20_000, flop=7), compute(5, cpu=True), node(MEM_LOAD)
    ends = {len(trace(*first[:count])) for count in (1, 2, 3)}
    for size in range(len(STEP)):
        if size in ends:
            assert len(nodes(STEP[:size])) > 0
        else:
            with pytest.raises(BadInputError, match=r"^job\.0\.et, byte "):
                nodes(STEP[:size])


@given(st.binary(max_size=80), st.integers(0, len(STEP)), st.integers(0, 20))
def test_damage_is_read_or_refused_and_never_worse(junk, at, lost):
    for data in (junk, STEP[:at] + junk + STEP[at + lost :]):
        try:
            read = nodes(data)
        except BadInputError:
            continue
        assert (read.comm_bytes >= 0).all()
        assert len(read) == read.op.size == read.group.size == read.dims.size


HEAD = trace()


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "byte 0: .* found nothing"),
        (HEAD, "no node"),
        (b'{"nodes": []}', "JSON"),
        (HEAD + b"\xff" * 10, "more than 64 bits"),
        (HEAD + b"\xff" * 9 + b"\x7f", "more than 64 bits"),
        (HEAD + b"\xff\xff", "cut off"),
        (HEAD + varint(2**60) + b"x", "a message of 1,152,921,504,606,846,976 bytes"),
        (node(COMP) + node(COMP), "no GlobalMetadata"),
        (HEAD + bytes(9), "a node of no bytes"),
        (HEAD + node(8), "a node of type 8"),
        (HEAD + collective(0, 5, flags("involved_dim", [1] * 127)), "more than 64 dim"),
        (HEAD + node(1, blob(8, bytes(2**24 + 1))), "metadata of 16,777,217 bytes"),
        (HEAD + node(COMP, duration_us=-1), "duration_micros 18,446"),
        (HEAD + collective(ALL_REDUCE, -5), "comm_size -5"),
        (HEAD + collective(10, 5), "a collective of type 10"),
        (HEAD + node(COLL, integer("comm_size", 5)), "without comm_type"),
        (HEAD + node(COLL, integer("comm_type", 0)), "without comm_size"),
        (HEAD + node(SEND), "without comm_size"),
        (HEAD + node(SEND, text("comm_size", "5")), "comm_size that is no whole number"),
        (HEAD + node(COMP, number(10, 1)), "field 10 of wire type 0"),
        (HEAD + node(COMP, number(8, 1)), "field 8 of wire type 0"),
        (HEAD + node(COMP, blob(3, b"x")), "field 3 of wire type 2"),
        (HEAD + node(COMP, varint(5 << 3 | 3)), "field 5 of wire type 3"),
        (HEAD + node(COMP, varint(0)), "a field of number 0"),
        (HEAD + node(COMP, varint(4 << 3 | 2) + varint(99)), "field 4 of 99 bytes where 0"),
        (HEAD + node(COMP, varint(4 << 3 | 1) + b"1234567"), "field 4 of 8 bytes where 7"),
        (HEAD + node(COMP, blob(10, blob(1, b"\xff"))), "no UTF-8"),
    ],
)
def test_a_bad_trace_is_named_with_its_byte(data, problem):
    with pytest.raises(BadInputError, match=problem) as caught:
        nodes(data)
    assert str(caught.value).startswith("job.0.et, byte ")


def test_ten_megabytes_of_nonsense_are_refused(tmp_path):
    path = tmp_path / "job.0.et"
    path.write_bytes(b"\xa5\x5a\x00\xff" * 2_500_000)
    with pytest.raises(BadInputError, match=r"job\.0\.et, byte"):
        read_traces(path)


def test_communicator_groups_are_read_by_name(tmp_path):
    path = tmp_path / "groups.json"
    path.write_text('{"1": [0, 1, 2, 3], "2": [4, 5]}')
    assert read_groups(path) == {"1": 4, "2": 2}


@pytest.mark.parametrize("text", ["{", "[1]", '{"1": []}', '{"1": ["a"]}', '{"1": 5}'])
def test_other_communicator_groups_are_refused(tmp_path, text):
    path = tmp_path / "groups.json"
    path.write_text(text)
    with pytest.raises(BadInputError, match="expected communicator groups"):
        read_groups(path)


def test_the_trace_of_a_real_run_has_its_all_reduce(shared_traces):
    folder = shared_traces.parent / "astra-sim" / "dp8"
    if not folder.is_dir():
        pytest.skip("ASTRA-sim's files are not at ../shared/astra-sim")
    found = sends(read_traces(folder / "dp"))
    assert found.sent_bytes.tolist() == [1.75 * 100e6] * 8
    assert found.compute_s.tolist() == [0.02] * 8
    data = (folder / "dp.0.et").read_bytes()
    assert sum(_refused(data[:size]) for size in range(len(data))) == len(data) - 1


def _refused(data: bytes) -> bool:
    try:
        nodes(data)
    except BadInputError:
        return True
    return False
