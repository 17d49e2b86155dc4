"""Damaged files give what is certain and say what is not."""

import json
import re
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synctax.errors import SynctaxError
from synctax.trace.kineto import MsgspecScanner
from synctax.trace.salvage import MAX_DEPTH, member, repair
from synctax.trace.source import Damage
from tests.laws import examples, quick, some
from tests.trace.builders import (
    annotation,
    collective,
    cpu_op,
    gz,
    kernel,
    runtime,
    stream_wait,
    trace,
)
from tests.trace.reading import difference, listed, read, reasons

KEY = re.compile(rb'"(?:pid|ts)"\s*:')

STORY = (
    cpu_op("aten::mm", 10.5, 3, args={"External id": 5}),
    runtime("cudaLaunchKernel", 11, 2.25, corr=3),
    collective(15, 20.125, seq=1, corr=3),
    kernel('gemm "x"', 40, 5, args={"grid": [1, 2, 3], "block": [4, 5, 6]}),
    stream_wait(41, 1, stream=7),
    annotation("nccl:all_reduce", 50, 3, args={"Input Dims": [[1, 2]]}),
)


def scan(data, chunk_bytes=1 << 20):
    scanner = MsgspecScanner("rank0.json", chunk_bytes)
    for at in range(0, len(data), chunk_bytes):
        scanner.feed(data[at : at + chunk_bytes])
    return scanner.finish(Damage())


def damaged(old, new):
    """Scan a story in whose second event's name a text was replaced."""
    data = trace(cpu_op("first", 1, 2), cpu_op("NAME", 3, 4), cpu_op("last", 5, 6))
    assert old in data
    return scan(data.replace(old, new, 1))


def names(result):
    return [row[1] for row in listed(result)]


@pytest.mark.parametrize(
    ("written", "name", "reason", "count"),
    [
        (rb"C:\dev\x", r"C:\dev\x", "bad_escape", 2),
        (rb"C:\u12", r"C:\u12", "bad_escape", 1),
        (b"bell \x07", "bell \x07", "control_character", 1),
        (b"two\nlines\t", "two\nlines\t", "control_character", 2),
        (b'lambda x: d["k"]', 'lambda x: d["k"]', "unescaped_quote", 2),
        (b'lambda "x"', 'lambda "x"', "unescaped_quote", 2),
        (b'f"{a}"', 'f"{a}"', "unescaped_quote", 2),
        (b"caf\xe9", "caf\ufffd", "invalid_utf8", 1),
        (rb"half \ud83d pair", "half \ufffd pair", "lone_surrogate", 1),
    ],
)
def test_a_name_written_so_is_repaired_and_counted(written, name, reason, count):
    result = damaged(b"NAME", written)
    assert names(result) == ["first", name, "last"]
    assert reasons(result) == {reason: count}


def test_whole_pairs_beside_half_ones_stay(tmp_path):
    assert names(damaged(b"NAME", rb"\ud83d\ude00 \ud83d"))[1] == "\U0001f600 \ufffd"


def test_the_first_place_of_a_repair_is_named_by_line_and_byte():
    data = trace(cpu_op("a", 1, 2), cpu_op("NAME", 3, 4)).replace(b"NAME", b'x"y"')
    place = data.index(b'"x"y')
    line = data[:place].count(b"\n") + 1
    assert scan(data).notes[0].where == f"line {line}, byte {place:,}"


def test_a_line_end_that_is_behind_what_was_given_up_is_counted():
    data = trace(cpu_op("a", 1, 2), cpu_op("b", 3, 4), cpu_op("c", 5, 6), indent=None)
    data = data.replace(b":[{", b":[junk\n{").replace(b'"dur":2', b'"dur":NaN')
    [note] = [note for note in scan(data).notes if note.reason == "nonfinite_value"]
    assert note.where == f"line 2, byte {data.index(b'NaN'):,}"


@pytest.mark.parametrize("value", ["NaN", "nan", "-inf", "inf", "Infinity", "-Infinity"])
def test_numbers_that_are_not_finite_cost_no_event(value):
    result = damaged(b'"args": {}', f'"args": {{"blocks per SM": {value}}}'.encode())
    assert names(result) == ["first", "NAME", "last"]
    assert reasons(result) == {"nonfinite_value": 1}


def test_not_finite_numbers_are_counted_in_lists_and_beside_names_like_them():
    result = damaged(b'"NAME"', b'"f(x: inf, y: nan)", "cname": inf, "list": [nan, -inf]')
    assert names(result)[1] == "f(x: inf, y: nan)"
    assert reasons(result) == {"nonfinite_value": 3}


def test_a_time_that_is_not_finite_is_left_out():
    assert reasons(damaged(b'"ts": 3', b'"ts": inf')) == {
        "nonfinite_value": 1,
        "start_nonfinite": 1,
    }


@pytest.mark.parametrize(
    ("old", "new", "reason", "count"),
    [
        (b'"name": "NAME",', b'"name": "NAME",,', "extra_comma", 1),
        (b'"args": {}', b'"args": {},', "extra_comma", 1),
        (b'"args": {}', b'"args": {"a": 1,}', "extra_comma", 1),
        (b'"args": {}', b'"args": {"a": [1,]}', "extra_comma", 1),
        (b'"args": {}', b'"args": {"a": , "b": }', "missing_value", 2),
        (b'"name": "NAME",', b'"name": "NAME"', "missing_comma", 1),
        (b"    },", b"    },,", "extra_comma", 1),
        (b"    },", b"    }", "missing_comma", 1),
        (b"\n    }\n  ]", b"\n    },\n  ]", "extra_comma", 1),
        (b"[\n    {", b"[,\n    {", "extra_comma", 1),
        (b"    },", b"    }, junk,", "junk_between_events", 1),
        (b"    },", b"    }, ],", "junk_between_events", 1),
        (b"[\n    {", b"[\n    7, null, {", "junk_between_events", 1),
        (b'": [\n', b'": {{\n', "list_start_damaged", 1),
    ],
)
def test_commas_too_many_or_too_few_cost_no_event(old, new, reason, count):
    result = damaged(old, new)
    if reason != "list_start_damaged":
        assert names(result) == ["first", "NAME", "last"]
    assert reasons(result)[reason] == count


@pytest.mark.parametrize(
    "new",
    [
        b'"name": "NAME, "pid": 100',
        b'"name": NAME", "pid": 100',
        b'"name": TrueX, "pid": 100',
        b'"name": 01, "pid": 100',
        b'"na"me": "NAME", "pid": 100',
        b'"name": "NAME", "name": "again" "ph" , "pid": 100',
        b'"name": ["NAME", "pid": 100',
        b'"name" "NAME", "pid": 100',
        b"{",
        b'"name": 5, "pid": 100',
        b'"name": "NAME", "args": [1], "pid": 100',
        b'"name": "a" "name": "b", "pid": 100',
    ],
)
def test_an_event_beyond_repair_costs_itself_only_and_is_counted(new):
    compact = trace(cpu_op("first", 1, 2), cpu_op("NAME", 3, 4), cpu_op("last", 5, 6))
    data = re.sub(rb'"name": "NAME",\s*"pid": 100', lambda _: new, compact)
    assert data != compact
    result = scan(data)
    assert names(result) == ["first", "last"]
    assert sum(reasons(result).values()) >= 1


def test_the_last_event_can_be_beyond_repair_and_the_metadata_still_be_read():
    data = trace(
        cpu_op("first", 1, 2),
        cpu_op("NAME", 3, 4),
        rank=None,
        after={"distributedInfo": {"rank": 7}, "INFO": [{"name": "x"}]},
    ).replace(b'"NAME"', b"NAME")
    result = scan(data)
    assert (names(result), result.meta.rank) == (["first"], 7)
    assert reasons(result) == {"unreadable_event": 1}
    assert not result.truncated


def test_a_deeply_nested_value_is_given_up():
    deep = b'{"a": ' + b"[" * 2 * MAX_DEPTH + b"]" * 2 * MAX_DEPTH + b', "b": inf}'
    assert repair(deep, KEY) is None
    result = damaged(b'"args": {}', b'"args": {"a":' + b"[" * 5000 + b"}")
    assert names(result) == ["NAME", "last"]


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b'{"a"', b'{"a": 1', b"{1}", b'{"a": [1 2]}', b'{"a": :}', b'{"a": "b'],
)
def test_an_object_that_does_not_end_is_not_repaired(text):
    assert repair(text, KEY) is None


def test_members_that_ran_into_a_category_make_the_event_unreadable():
    result = damaged(b'"name": "NAME"', b'"na"me": "NAME"')
    assert names(result) == ["first", "last"]
    assert reasons(result)["unreadable_event"] == 1


def test_damaged_metadata_is_noted_and_its_parts_are_read():
    data = trace(*STORY, deviceProperties=[{"id": 0, "name": "H200"}], host_name="node7")
    broken = data.replace(b'"schemaVersion": 1', b'"labels": "GPU "0""')
    result = scan(broken)
    assert listed(result) == listed(scan(data))
    assert (result.meta.rank, result.meta.host) == (0, "node7")
    assert result.notes[0].where == "line 2"
    assert result.meta.devices == scan(data).meta.devices
    assert reasons(result) == {"metadata_damaged": 1}


def test_damaged_metadata_after_the_events_is_noted():
    data = trace(*STORY, after={"host_name": "node7", "labels": "GPU"})
    result = scan(data.replace(b'"GPU"', b'"GPU "0""'))
    assert result.meta.host == "node7"
    assert (result.notes[0].reason, result.notes[0].where) == (
        "metadata_damaged", "after the events",
    )  # fmt: skip


def test_a_file_cut_before_its_events_takes_nothing_else_for_events():
    data = trace(*STORY, deviceProperties=[{"id": 0, "name": "H200"}], x=1)
    result = scan(data[: data.index(b'"x"')])
    assert (result.truncated, len(result.events)) == (True, 0)
    assert set(reasons(result)) == {"no_events", "truncated"}
    assert result.meta.rank == 0


def test_an_integer_of_thousands_of_digits_costs_its_event_only():
    digits = b"9" * 6_000
    result = damaged(b'"args": {}', b'"args": {"correlation": ' + digits + b"}")
    assert names(result) in (["first", "NAME", "last"], ["NAME", "last"])
    assert sum(reasons(result).values()) == 1


def test_invalid_utf8_in_metadata_is_replaced():
    result = scan(trace(*STORY, host_name="NODE").replace(b"NODE", b"\xff"))
    assert result.meta.host == "\ufffd"
    assert reasons(result) == {"invalid_utf8": 1}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b'{"k": {"a": [1, 2]}, "b"', {"a": [1, 2]}),
        (b'{"k": 5, "b"', 5),
        (b'{"k": 5', 5),
        (b'{"k": 5}', 5),
        (b'{"k": "x,y", ', "x,y"),
        (b'{"k": {"a": ', None),
        (b'{"k": bad, "k": 6,', 6),
        (b'{"other": 1}', None),
    ],
)
def test_a_member_of_a_broken_object_is_read_if_it_is_whole(text, value):
    assert member(text, "k") == value


@pytest.mark.parametrize("indent", [2, None])
def test_a_file_cut_anywhere_gives_the_events_before_the_cut(indent):
    data = trace(*STORY, indent=indent, after={"traceName": "x", "distributedInfo": {}})
    whole = listed(scan(data))
    for size in some(range(len(data))):
        if data[size - 1 : size + 1].isspace():
            continue  # amid blanks: as before the first of them
        try:
            result = scan(data[:size])
        except SynctaxError:
            assert size < data.index(b"traceEvents") + 20
            continue
        got = listed(result)
        assert got == whole[: len(got)], size
        assert result.truncated == (b'"traceName"' not in data[:size] and len(got) < 6) or (
            len(got) == 6
        ), size
        assert result.notes


def test_a_gzip_file_cut_anywhere_gives_the_events_before_the_cut(tmp_path):
    data = gz(trace(*STORY))
    whole = listed(scan(trace(*STORY)))
    for size in some(range(len(data))):
        try:
            result = read(tmp_path, data[:size])
        except SynctaxError:
            continue
        got = listed(result)
        assert got == whole[: len(got)], size
        assert reasons(result).get("gzip_truncated") == 1


def test_a_cut_within_an_event_is_truncation_and_names_the_place():
    data = trace(*STORY)
    cut = data[: data.index(b'"nccl:all_reduce"')]
    result = scan(cut)
    assert (result.truncated, len(result.events)) == (True, 5)
    assert reasons(result) == {"truncated": 1}
    assert result.notes[0].where.endswith(f"byte {len(cut):,}")


def is_json(data):
    try:
        json.loads(data.decode("utf-8", "replace"))
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("new", [b"", b'"', b"{", b"}", b",", b"\x00"])
def test_no_structural_damage_changes_an_event_in_silence(new):
    events = (kernel('k "x"', 1, 5.5, corr=3), annotation("b", 50, 3, args={"d": [[1]]}))
    data = trace(*events, rank=None, indent=None)
    whole, last = listed(scan(data)), data.index(b',{"ph"')
    for at in some(range(len(data))):
        broken = data[:at] + new + data[at + 1 :]
        try:
            result = scan(broken)
        except SynctaxError:
            continue
        got = listed(result)
        assert got == whole or result.notes or is_json(broken), (at, broken)
        assert whole[0] in got or at < last, at


@given(st.data())
@settings(max_examples=examples(50), deadline=None)
def test_damage_is_judged_alike_in_chunks_of_any_size(draw):
    data = bytearray(trace(*STORY, indent=draw.draw(st.sampled_from([2, None]))))
    for _ in range(draw.draw(st.integers(1, 3))):
        at = draw.draw(st.integers(20, len(data) - 1))
        data[at : at + 1] = draw.draw(
            st.sampled_from([b"", b'"', b"{", b"}", b",", b"inf"])
        )
    chunk_bytes = draw.draw(st.integers(1, 400))
    assert difference(scan(bytes(data)), scan(bytes(data), chunk_bytes)) == ""


@given(st.data())
@settings(max_examples=examples(50), deadline=None)
def test_flipped_digits_are_read_without_a_fault(draw):
    data = bytearray(trace(*STORY, baseTimeNanoseconds=10**9))
    digits = [at for at, byte in enumerate(data) if chr(byte).isdigit()]
    for at in draw.draw(st.lists(st.sampled_from(digits), min_size=1, max_size=9)):
        data[at] = draw.draw(st.sampled_from(b"0123456789"))
    result = scan(bytes(data))
    assert (result.events.duration_ns >= 0).all()
    assert len(result.events) + sum(reasons(result).values()) >= len(STORY)


@given(st.binary(max_size=300), st.integers(1, 64))
@settings(max_examples=examples(50), deadline=None)
def test_a_list_of_garbage_is_passed_over(garbage, chunk_bytes):
    result = scan(b'{"traceEvents": [' + garbage, chunk_bytes)
    assert len(result.events) == 0
    assert result.notes


@pytest.mark.parametrize(
    "garbage",
    [
        b"{",
        b"[",
        b'"',
        b'{"ph":',
        b'{"ph":1',
        b"},{",
        b'{"a":[{"ph":1,',
        b"\\",
        b",",
        b"]",
        b"x",
    ],
)
def test_repeated_garbage_is_passed_over(garbage):
    assert len(scan(b'{"traceEvents": [' + garbage * 3_000, 1_000).events) == 0


def test_events_after_long_garbage_are_found():
    data = trace(*STORY)
    junk = b'"{[' * 10_000
    result = scan(data.replace(b"[\n    {", b"[\n" + junk + b"{", 1), 5_000)
    assert listed(result) == listed(scan(data))
    assert reasons(result)["junk_between_events"] >= 1


def test_an_event_that_never_ends_is_given_up(monkeypatch):
    monkeypatch.setattr("synctax.trace.window.MAX_EVENT_BYTES", 2_000)
    data = trace(cpu_op("first", 1, 2), cpu_op("x" * 5_000, 3, 4)).replace(b"xxxx", b'"', 1)
    assert names(scan(data, 500)) == ["first"]


def test_a_list_whose_key_is_damaged_is_found_by_its_events():
    data = trace(*STORY).replace(b'"traceEvents"', b'"trace"vents"')
    result = scan(data)
    assert listed(result) == listed(scan(trace(*STORY)))
    assert "list_start_damaged" in reasons(result)


def test_text_after_the_events_is_kept_up_to_a_limit(monkeypatch):
    monkeypatch.setattr("synctax.trace.chunks.MAX_OUTSIDE_BYTES", 1_000)
    result = scan(trace(*STORY, after={"traceName": "x" * 5_000}), 100)
    assert len(result.events) == len(STORY)
    assert set(reasons(result)) == {"metadata_damaged", "metadata_too_long"}


@given(st.data())
@settings(max_examples=examples(50), deadline=None)
def test_much_white_space_between_events_changes_no_event_and_no_place(draw):
    at = draw.draw(st.sampled_from([m.end() for m in re.finditer(b"[{},]\n", BROKEN)]))
    blank = draw.draw(st.sampled_from([b" ", b"\n", b" \n", b"\r\n\t "]))
    data = BROKEN[:at] + blank * draw.draw(st.integers(1, 3_000)) + BROKEN[at:]
    result = scan(data, draw.draw(st.integers(1, 900)))
    assert difference(scan(data), result) == ""
    assert listed(result) == listed(scan(BROKEN))
    place = data.index(b'"x"y')
    line = data[:place].count(b"\n") + 1
    assert result.notes[0].where == f"line {line:,}, byte {place:,}"


BROKEN = trace(*STORY, cpu_op("NAME", 60, 4), rank=None).replace(b"NAME", b'x"y"')


def peak_bytes(data, block_bytes=1 << 20):
    scanner = MsgspecScanner("rank0.json")
    tracemalloc.start()
    for at in range(0, len(data), block_bytes):
        scanner.feed(data[at : at + block_bytes])
    scanner.finish(Damage())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


MIB = 2**20
LIST = b'{"traceEvents": ['


LONG = {
    "backslashes": (LIST + b'{"ph": "X", "name": "' + b"\\" * 12 * MIB, 16 * MIB),
    "list": (LIST + b'{"ph": "X", "x": [' + b"123456," * MIB, MIB),
    "name": (LIST + b'{"ph": "X", "name": "' + b"a" * 12 * MIB + b'"}]}', MIB),
    "name at once": (LIST + b'{"ph": "X", "name": "' + b"a" * 12 * MIB + b'"}]}', 16 * MIB),
    "blanks": (LIST + b" " * 12 * MIB + b"]}", MIB),
    "blanks at once": (LIST + b" " * 12 * MIB + b"]}", 16 * MIB),
    "objects": (LIST + b"{}," * (MIB if quick() else 2 * MIB) + b"{}]}", 3 * MIB),
}
"""Long texts, and how much of them comes at once."""


@pytest.mark.parametrize("name", some(list(LONG)))
def test_memory_is_bounded_by_the_block_whatever_the_text(name):
    data, block_bytes = LONG[name]
    # before: backslashes took 20 bytes each, and a block of empty objects 100 each
    assert peak_bytes(data, block_bytes) < 60 * MIB + 3 * block_bytes


def test_a_damaged_object_is_repaired_only_up_to_a_length(monkeypatch):
    data = trace(cpu_op("first", 1, 2), cpu_op('x"y" ' + "z" * 500, 3, 4))
    data = data.replace(b'\\"', b'"')
    assert names(scan(data)) == ["first", 'x"y" ' + "z" * 500]
    monkeypatch.setattr("synctax.trace.chunks.MAX_REPAIR_BYTES", 400)
    assert names(scan(data)) == ["first"]
    assert reasons(scan(data))["unreadable_event"] == 1


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.text("ab \\é", max_size=4),
    lambda parts: (
        st.lists(parts, max_size=3)
        | st.dictionaries(st.text("kl m", min_size=1, max_size=3), parts, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.text("abc_ ", min_size=1, max_size=4), json_values, max_size=6))
@settings(max_examples=examples(50), deadline=None)
def test_repairing_what_is_not_damaged_changes_nothing(value):
    text = json.dumps(value).encode()
    fixed = repair(text + b", {", KEY)
    assert fixed is not None
    assert (json.loads(fixed.text), fixed.end) == (value, len(text))
    assert not fixed.repairs.count


def test_a_key_repeated_among_undamaged_members_makes_two_events_of_one():
    text = b'{"ph": "X", "ph": "X", "name": "a"b", "pid": 1}'
    assert repair(text, KEY) is None


@pytest.mark.parametrize("every", [1, 2, 10])
@pytest.mark.parametrize("damage", [b'a"b"', b"caf\xe9", b"a\nb"])
def test_damage_in_many_events_costs_none_of_them(every, damage):
    events = [cpu_op(f"op{i}" if i % every else f"NAME{i}", i, 1) for i in range(200)]
    data = trace(*events, indent=None).replace(b"NAME", damage)
    result = scan(data, 5_000)
    assert len(result.events) == 200
    assert sum(reasons(result).values()) in (200 // every, 400 // every)
    assert difference(result, scan(data, 100)) == ""
