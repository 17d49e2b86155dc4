"""Block times and maxima out of CSV files: what is written is read, errors name lines."""

import csv
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synctax.errors import BadInputError
from synctax.evt.holdout import hold_out
from synctax.evt.model import Block, BlockTimes
from synctax.evt.read_csv import (
    read_block_time_sets,
    read_block_times,
    read_maxima,
    resolution_us,
    rows,
)
from tests.laws import examples

HEADER = "block,instance,rank,us"
TWO = f"{HEADER}\nmlp,0,0,10.5\nmlp,0,1,11\n"

texts = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), max_size=8)
us = st.just(0.0) | st.floats(1e-3, 1e9) | st.integers(0, 10**6).map(float)


@st.composite
def block_times(draw):
    count, m = draw(st.integers(1, 3)), draw(st.integers(2, 4))
    names = draw(st.lists(texts.filter(bool), min_size=count, max_size=count, unique=True))
    ranks = [
        sorted(draw(st.sets(st.integers(0, 5000), min_size=m, max_size=m)))
        for _ in range(draw(st.integers(1, 3)))
    ]
    place: dict[tuple[int, int], int] = defaultdict(int)
    block, instance, series = [], [], []
    for number in range(len(ranks)):
        for _ in range(draw(st.integers(1, 6))):
            # numbered as first met
            one = draw(st.integers(0, min(len(set(block)), count - 1)))
            block.append(one)
            series.append(number)
            place[number, one] += draw(st.integers(0, 3))
            instance.append(place[number, one])
            place[number, one] += 1
    size = (len(block), m)
    times = np.array(draw(st.lists(us, min_size=size[0] * m, max_size=size[0] * m)))
    waits = st.lists(us | st.just(float("nan")), min_size=size[0], max_size=size[0])
    return BlockTimes(
        blocks=tuple(
            Block(
                name,
                group=draw(texts),
                op=draw(texts),
                gpu=draw(texts),
                dtype=draw(texts),
                phase=draw(texts),
            )
            for name in names[: len(set(block))]
        ),
        block=np.array(block),
        instance=np.array(instance),
        series=np.array(series),
        rank=np.array([ranks[number] for number in series]),
        us=times.reshape(size),
        measured_us=np.array(draw(waits)),
        resolution_us=resolution_us(times),
    )


def block_times_of(instances):
    random = np.random.default_rng(0)
    zero = np.zeros(instances, np.int64)
    return BlockTimes(
        blocks=(Block("mlp", gpu="A100"),),
        block=zero,
        instance=np.arange(instances),
        series=zero,
        rank=np.tile(np.arange(2), (instances, 1)),
        us=random.integers(0, 10**6, (instances, 2)).astype(np.float64),
        measured_us=np.where(random.random(instances) < 0.5, np.nan, 3.0),
        resolution_us=1.0,
    )


def lines_of(times):
    columns = rows(times)
    cells = zip(*columns.values(), strict=True)
    return [
        list(columns),
        *([("" if cell != cell else cell) for cell in row] for row in cells),
    ]


def written(path, lines, delimiter=","):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=delimiter).writerows(lines)
    return path


def same(one: BlockTimes, other: BlockTimes) -> None:
    for name in ("block", "instance", "series", "rank", "us", "measured_us"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)
    assert one.resolution_us == other.resolution_us
    for mine, theirs in zip(one.blocks, other.blocks, strict=True):
        for name in ("name", "group", "op", "gpu", "dtype", "phase"):
            assert getattr(mine, name) == getattr(theirs, name)


@settings(max_examples=examples(40))
@given(block_times(), st.sampled_from(",;\t"))
def test_what_is_written_is_read(tmp_path_factory, times, delimiter):
    path = written(tmp_path_factory.mktemp("csv") / "a.csv", lines_of(times), delimiter)
    read, notes = read_block_times(path)
    same(read, times)
    assert notes == ()
    assert {block.source for block in read.blocks} == {str(path)}


@settings(max_examples=examples(40))
@given(block_times(), st.randoms(use_true_random=False))
def test_the_order_of_lines_says_no_more_than_the_order_of_time(
    tmp_path_factory, times, random
):
    header, *lines = lines_of(times)
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    random.shuffle(lines)
    read, _ = read_block_times(written(path, [header, *lines]))

    def known(of):
        names = [of.blocks[number].name for number in of.block.tolist()]
        columns = (of.series.tolist(), names, of.instance.tolist(), of.rank.tolist())
        return sorted(zip(*columns, of.us.tolist(), strict=True))

    assert known(read) == known(times)
    assert (np.diff(read.series) >= 0).all()
    for series in np.unique(read.series):
        for block in np.unique(read.block):
            mine = read.instance[(read.series == series) & (read.block == block)]
            assert (np.diff(mine) > 0).all()


def test_lines_out_of_time_are_sorted_by_instance(tmp_path):
    path = tmp_path / "a.csv"
    lines = [("b", 1, 0), ("b", 1, 1), ("a", 0, 0), ("a", 0, 1), ("b", 0, 0), ("b", 0, 1)]
    text = "".join(f"{block},{at},{rank},{at}.5\n" for block, at, rank in lines)
    path.write_text(f"{HEADER}\n{text}")
    read, _ = read_block_times(path)
    assert [read.blocks[number].name for number in read.block] == ["b", "a", "b"]
    assert read.instance.tolist() == [0, 0, 1]


def times_of_blocks(counts, *, ranks=3, series=0):
    """Lines of blocks of other spread and number; each block after the other."""
    random = np.random.default_rng(8)
    lines = []
    for name, count in counts.items():
        us = 1_000 + 10 * (ord(name) - 96) * random.normal(size=(count, ranks))
        for instance, row in enumerate(us.tolist()):
            lines += [[name, instance, rank, time, series] for rank, time in enumerate(row)]
    return lines


IN_SERIES = [*HEADER.split(","), "series"]


def test_a_file_that_is_sorted_by_block_is_read_in_order_of_time(tmp_path):
    lines = times_of_blocks({"a": 60, "b": 60, "c": 60})
    in_time = sorted(lines, key=lambda line: line[1])
    read, notes = read_block_times(written(tmp_path / "time.csv", [IN_SERIES, *in_time]))
    assert notes == ()
    path = written(tmp_path / "block.csv", [IN_SERIES, *lines])
    again, (note,) = read_block_times(path)
    same(again, read)
    assert (note.reason, note.count, note.where) == ("piled_blocks", 180, "line 2")
    assert hold_out(again, resamples=4) == hold_out(read, resamples=4)


def test_blocks_of_other_numbers_of_instances_begin_and_end_together(tmp_path):
    lines = times_of_blocks({"a": 40, "b": 20})
    read, _ = read_block_times(written(tmp_path / "a.csv", [IN_SERIES, *lines]))
    assert read.block[:6].tolist() == [0, 1, 0, 0, 1, 0]
    assert set(read.block[-3:].tolist()) == {0, 1}


def test_numbers_that_all_blocks_share_are_times(tmp_path):
    lines = times_of_blocks({"a": 20, "b": 20})
    late = [[name, at + 10 * (name == "b"), *rest] for name, at, *rest in lines]
    read, _ = read_block_times(written(tmp_path / "a.csv", [IN_SERIES, *late]))
    assert read.block.tolist() == [0] * 10 + [0, 1] * 10 + [1] * 10


def test_series_that_are_in_order_stay_so_beside_one_that_is_not(tmp_path):
    piled = times_of_blocks({"a": 12, "b": 12}, series=1)
    first, last = times_of_blocks({"a": 12}), times_of_blocks({"b": 2})
    path = written(tmp_path / "a.csv", [IN_SERIES, *first, *last, *piled])
    read, (note,) = read_block_times(path)
    assert note.count == 24
    assert read.block[:14].tolist() == [0] * 12 + [1] * 2
    assert read.block[14:].tolist() == [0, 1] * 12


def test_blocks_over_other_numbers_of_ranks_are_sets_of_their_own(tmp_path):
    few, many = times_of_blocks({"a": 30}), times_of_blocks({"b": 20}, ranks=6)
    lines = [*few[:-1], *many]
    path = written(tmp_path / "a.csv", [IN_SERIES, *lines])
    (small, large), (_, note) = read_block_time_sets(path)
    assert [(one.m, len(one), one.blocks[0].name) for one in (small, large)] == [
        (3, 29, "a"),
        (6, 20, "b"),
    ]
    assert (note.reason, note.count) == ("other_size", 1)
    apart = written(tmp_path / "b.csv", [IN_SERIES, *many])
    same(large, read_block_times(apart)[0])
    with pytest.raises(BadInputError, match="blocks over 3 and 6 ranks"):
        read_block_times(path)


def test_series_over_other_numbers_of_ranks_are_sets_of_their_own(tmp_path):
    few = times_of_blocks({"a": 30, "b": 12})
    many = times_of_blocks({"a": 30}, ranks=6, series=1)
    path = written(tmp_path / "a.csv", [IN_SERIES, *few, *many])
    (small, large), _ = read_block_time_sets(path)
    assert set(small.series.tolist()) == {0}
    assert [block.name for block in small.blocks] == ["a", "b"]
    assert (large.m, len(large), large.blocks[0].name) == (6, 30, "a")


def test_a_size_that_a_block_has_rarely_makes_no_set(tmp_path):
    lines = [*times_of_blocks({"a": 30}), *times_of_blocks({"b": 9}, ranks=2)]
    path = written(tmp_path / "a.csv", [IN_SERIES, *lines])
    (read,), notes = read_block_time_sets(path)
    assert (read.m, len(read)) == (3, 30)
    assert [(n.reason, n.count) for n in notes] == [("other_size", 9)]


def test_instances_of_one_rank_are_left_out_beside_others(tmp_path):
    lines = [*times_of_blocks({"a": 30}), *times_of_blocks({"b": 60}, ranks=1)]
    (read,), notes = read_block_time_sets(written(tmp_path / "a.csv", [IN_SERIES, *lines]))
    assert (read.m, len(read)) == (3, 30)
    assert ("other_size", 60) in [(n.reason, n.count) for n in notes]


def test_times_that_no_profiler_tells_are_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f"{HEADER}\nmlp,0,0,1e-9\nmlp,0,1,2e-4\n")
    with pytest.raises(BadInputError, match=r"line 3: us is '2e-4'; .* in seconds\?"):
        read_block_times(path)
    path.write_text(f"{HEADER}\nmlp,0,0,0\nmlp,0,1,0.001\n")
    assert read_block_times(path)[0].us.tolist() == [[0, 0.001]]


def test_instances_that_lack_a_rank_are_left_out_and_counted(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(TWO + "mlp,1,0,12\nmlp,2,1,13\nmlp,2,0,14\nmlp,3,1,1\n")
    read, (note,) = read_block_times(path)
    assert read.instance.tolist() == [0, 2]
    assert read.us.tolist() == [[10.5, 11], [14, 13]]
    assert (note.reason, note.count, note.where) == ("other_size", 2, "line 4")
    assert "the 2 of 2 others" in note.detail


def test_of_sizes_that_are_equally_frequent_the_larger_stays(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(TWO + "mlp,1,0,1\n")
    read, (note,) = read_block_times(path)
    assert read.m == 2
    assert note.count == 1


@given(
    st.integers(1, 10**8),
    st.integers(0, 10**12),
    st.lists(st.integers(0, 10**6), min_size=2, max_size=30),
)
def test_times_are_told_in_the_largest_step_that_leads_to_all(step_ns, least_ns, steps):
    us = (least_ns + step_ns * np.array(steps)) / 1_000
    expected_ns = step_ns * np.gcd.reduce(np.array(steps) - min(steps))
    assert resolution_us(us) == expected_ns / 1_000


@pytest.mark.parametrize(
    ("told", "step_us"),
    [
        ("10,11", 1),
        ("10.0,11", 1),
        ("10.5,11", 0.5),
        ("7,87,47", 40),
        ("0.1,0.3,0.7", 0.2),
        ("10.1234567,11", 0),
        ("1e12,1000000000001.5", 1.5),
        ("5,5", 0),
    ],
)
def test_the_step_of_times_is_read_from_them(tmp_path, told, step_us):
    path = tmp_path / "a.csv"
    lines = [f"mlp,0,{rank},{us}\n" for rank, us in enumerate(told.split(","))]
    path.write_text(f"{HEADER}\n{''.join(lines)}")
    assert read_block_times(path)[0].resolution_us == step_us


def test_files_of_many_lines_are_read_in_parts(tmp_path, monkeypatch):
    times = block_times_of(700)
    path = written(tmp_path / "a.csv", lines_of(times))
    whole, _ = read_block_times(path)
    monkeypatch.setattr("synctax.evt.csv_table.ROWS_AT_ONCE", 7)
    parts, _ = read_block_times(path)
    same(parts, whole)
    same(whole, times)
    header, *lines = lines_of(times)
    lines[500][3] = "long"
    with pytest.raises(BadInputError, match="line 502: us is 'long'"):
        read_block_times(written(path, [header, *lines]))


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\r"),
        lambda text: text.replace(",", ";"),
        lambda text: text.replace(",", "\t"),
        lambda text: text.replace("\n", "\n\n"),
        lambda text: "\n,,,\n" + text,
        lambda text: text.replace(",", " , "),
        lambda text: text.replace("mlp", '"mlp"'),
        lambda text: text.replace("mlp,0,", "mlp,0.0,"),
        lambda text: text.rstrip("\n"),
    ],
)
def test_what_spreadsheets_do_to_a_file_changes_nothing(tmp_path, change):
    plain, changed = tmp_path / "a.csv", tmp_path / "b.csv"
    plain.write_text(TWO)
    changed.write_bytes(change(TWO).encode())
    same(read_block_times(changed)[0], read_block_times(plain)[0])


def test_quoted_names_may_hold_separators_and_lines(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(TWO.replace("mlp", '"m,l\np"'))
    assert read_block_times(path)[0].blocks[0].name == "m,l\np"


SERIES = "block,instance,rank,us,series,measured_us,gpu"
BAD = [
    ("", "{} is empty; expected a line with the columns block, instance, rank, us"),
    ("\n\n", "{} is empty"),
    (HEADER, "{} has no line below its header"),
    ("block,rank,us\n", "{}, line 1 lacks the column instance: found block, rank, us; "),
    ("a;b\n1;2\n", "line 1 lacks the column block: found a, b; expected the columns block"),
    (f"{HEADER},color\n", "line 1 has the unknown column 'color': found block, instance"),
    (f"{HEADER},us\n", "line 1 has the column us 2 times"),
    (f"{TWO}mlp,1,0\n", "line 4 has 3 values; expected 4, one for each column"),
    (f"{TWO}mlp,1,0,1,5\n", "line 4 has 5 values; expected 4"),
    (f"{TWO}mlp,1,0,-1\n", "line 4: us is '-1'; expected a time, 0 or more, in µs"),
    (f"{TWO}mlp,1,0,1e16\n", "line 4: us is '1e16'; expected a time of at most 1e+15 µs"),
    (f"{TWO}mlp,1,0,nan\n", "line 4: us is 'nan'; expected a finite number"),
    (f"{TWO}mlp,1,0,inf\n", "line 4: us is 'inf'; expected a finite number"),
    (f"{TWO}mlp,1,0,1e999\n", "line 4: us is '1e999'; expected a finite number"),
    (f"{TWO}mlp,1,0,\n", "line 4: us is ''; expected a finite number"),
    (f"{TWO}mlp,1,0,1_0\n", "line 4: us is '1_0'; expected a finite number"),
    (f'{TWO}mlp,1,0,"1,5"\n', "us is '1,5'; expected a finite number with a decimal point"),
    (f"{TWO}mlp,1.5,0,1\n", "line 4: instance is '1.5'; expected a whole number, 0"),
    (f"{TWO}mlp,1,-1,1\n", "line 4: rank is '-1'; expected a whole number"),
    (f"{TWO}mlp,1,{'9' * 30},1\n", "expected a whole number"),
    (f"{TWO},1,0,1\n", "line 4: block is ''; expected a name"),
    (f"{TWO}mlp,0,1,1\n", "line 4: rank is '1'; expected a rank of this block and instan"),
    (f"{HEADER}\nmlp,0,0,1\nmlp,1,0,1\n", "most instances have one rank; expected the"),
    (f'{TWO}mlp,1,0,"1\n', "line 4 is no CSV: unexpected end of data; expected values"),
    (f"{SERIES}\nm,0,0,1,a,,\n", "line 2: series is 'a'; expected a whole number"),
    (f"{SERIES}\nm,0,0,1,0,-2,\n", "line 2: measured_us is '-2'; expected a time"),
    (f"{SERIES}\nm,0,0,1,0,,\nm,0,1,1,0,9e99,\n", "line 3: measured_us is '9e99'; expec"),
    (f"{SERIES}\nm,0,0,1,0,2,\nm,0,1,1,0,3,\n", "line 3: measured_us is '3'; expected wha"),
    (f"{SERIES}\nm,0,0,1,0,2,\nm,0,1,1,0,,\n", "line 3: measured_us is ''"),
    (f"{SERIES}\nm,0,0,1,0,2,A\nm,1,0,1,0,2,B\n", "line 3: gpu is 'B'; expected 'A' as on"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "said"), BAD)
def test_what_is_wrong_is_named_with_its_line(tmp_path, text, said):
    path = tmp_path / "bad.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInputError) as raised:
        read_block_times(path)
    assert said.format(path) in str(raised.value)
    assert str(path) in str(raised.value)


def test_files_that_cannot_be_read_are_named(tmp_path):
    with pytest.raises(BadInputError, match=r"none\.csv cannot be read: No such file"):
        read_block_times(tmp_path / "none.csv")
    with pytest.raises(BadInputError, match="cannot be read: Is a directory"):
        read_maxima(tmp_path)
    path = tmp_path / "latin.csv"
    path.write_bytes(TWO.replace("mlp", "m\xfcp").encode("latin-1"))
    with pytest.raises(BadInputError, match=r"is no UTF-8 text \(byte 24\); save it"):
        read_block_times(path)


def test_a_rank_twice_names_the_line_it_was_on_and_a_way_out(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(TWO + "mlp,0,1,1\n")
    with pytest.raises(
        BadInputError, match=r"not on line 3 already \(instances of several groups need a"
    ):
        read_block_times(path)


def test_the_same_instance_number_may_stand_in_several_series(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        f"{HEADER},series\nm,0,0,1,1\nm,0,1,2,1\nm,0,2,3,0\nm,0,3,4,0\nm,0,1,5,0\n"
        "m,1,2,6,0\nm,1,3,7,0\n"
    )
    read, (note,) = read_block_times(path)
    assert read.series.tolist() == [0, 1]
    assert read.rank.tolist() == [[2, 3], [0, 1]]
    assert note.count == 1


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_maxima_are_read_as_they_are_written(tmp_path_factory, z):
    path = tmp_path_factory.mktemp("csv") / "z.csv"
    written(path, [["id", "z"], *([f"n{at}", value] for at, value in enumerate(z))])
    np.testing.assert_array_equal(read_maxima(path), z)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("y\n1\n", "line 1 lacks the column z: found y; expected the columns z"),
        ("z\n", "has no line below its header"),
        ("z\n1\ntwo\n", "line 3: z is 'two'; expected a finite number"),
    ],
)
def test_maxima_that_are_none_are_named(tmp_path, text, said):
    path = tmp_path / "z.csv"
    path.write_text(text)
    with pytest.raises(BadInputError, match=said):
        read_maxima(path)
