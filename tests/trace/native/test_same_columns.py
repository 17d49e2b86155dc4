"""The compiled reader gives what the one in Python gives, of whatever it is fed."""

import gzip
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synctax.synth import SynthJob, write
from synctax.trace import readers
from synctax.trace.kineto import NativeScanner
from synctax.trace.source import Damage
from synctax.trace.window import MAX_EVENT_BYTES
from tests.laws import examples, few, some
from tests.trace.native.mutations import cut_out, mutated
from tests.trace.native.reading import native, python, told_apart
from tests.trace.native.texts import listed, made, simple

pytestmark = pytest.mark.skipif(
    not readers.variants(), reason="the compiled reader was not built"
)
VARIANTS = readers.variants()
SHARED = Path(__file__).parents[4] / "shared" / "traces"
REAL = sorted(SHARED.glob("*/*.json.gz"))
"""Real traces; absent where the folder beside the project is."""


@pytest.mark.parametrize("variant", VARIANTS)
@given(seed=st.integers(0, 2**32), chunk=st.sampled_from([50, 300, 5_000, 1 << 18]),
       block=st.sampled_from([37, 1_000, 1 << 20]))  # fmt: skip
@settings(max_examples=examples(200))
def test_of_texts_that_are_nearly_traces(variant, seed, chunk, block):
    rng = random.Random(seed)
    base = gzip.decompress(rng.choice(REAL[::5]).read_bytes()) if REAL else None
    text = mutated(cut_out(base or rng.choice(made()), rng, rng.choice((3, 20, 60))), rng)
    found = native(text, chunk=chunk, block=block, variant=variant)
    assert told_apart(found, python(text)) == ""


@pytest.mark.skipif(not REAL, reason="real traces are not at ../shared/traces")
def test_of_real_traces():
    for path in some(REAL):
        text = gzip.decompress(path.read_bytes())
        assert told_apart(native(text, chunk=1 << 18), python(text)) == "", path


SYNTH = {
    "tp": {},
    "graphs": {"cuda_graphs": True, "sync_records": "full"},
    "functions": {"python_functions": 3, "absolute_ts": True, "sync_records": "unresolved"},
    "old": {"nccl_names": "old", "comms_id": True, "layout": "tensorboard"},
    "symmetric": {"nccl_names": "symmetric", "stream_step": 5, "marker": True},
    "experts": {"tp": 1, "fsdp": 4, "ep": 2, "uneven": True, "layout": "flat"},
    "silent": {"metadata": "none", "seq": False, "distributed_info": False},
    "rounded": {"whole_us": True, "descriptions": "megatron", "layout": "megatron"},
    "hosts": {"hosts": 2, "clock_offset_us": 500.0, "dp": 2, "layout": "torchtitan-old"},
}  # fmt: skip
"""Every option of `synth` that changes what an event looks like."""


@pytest.mark.parametrize("name", few(tuple(SYNTH)))
def test_of_made_up_traces(tmp_path, name):
    write(SynthJob(layers=1, steps=1, **SYNTH[name]), tmp_path)
    paths = [path for path in tmp_path.rglob("*.json") if path.name != "truth.json"]
    assert paths
    for path in paths[:2]:
        text = path.read_bytes()
        assert told_apart(native(text, chunk=1 << 18), python(text)) == "", path


NUMBERS = (
    b"0", b"5", b"-1", b"-0", b"1.5", b"0.0005", b"0.0015", b"2.5e3", b"1E+6", b"1e400",
    b"1712195495505582.988", b"1712195495505582.98850001", b"4611686018427387.903",
    b"4611686018427387.9039", b"4611686018427387.904", b"4611686018427388",
    b"4999999999999999.999", b"5000000000000000",
    b"01", b"1.", b".5", b"+1", b"NaN", b"-inf", b'"7"', b'" 7 "', b"null", b"true",
    b"[1]", b"",
    b"99999999999999999", b"1" * 30, b"0." + b"1" * 30,
)  # fmt: skip


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("place", ["ts", "dur"])
def test_of_times(number, place):
    text = listed(simple(), simple(**{place: number}), simple(b"3"), simple(b"4"))
    assert told_apart(native(text), python(text)) == ""


@pytest.mark.parametrize("key", [
    b"External id", b"external id", b"correlation", b"device", b"stream", b"graph node id",
    b"Seq", b"Comms Id", b"In msg nelems", b"Group size", b"Collective name", b"dtype",
    b"Process Group Ranks", b"grid", b"block", b"Input Dims", b"wait_on_stream", b"name",
    b"unknown",
])  # fmt: skip
@pytest.mark.parametrize("kind", [b"kernel", b"cpu_op", b"cuda_sync", b"python_function"])
def test_of_arguments(key, kind):
    values = (
        b"7", b"-1", b"-7", b"0", b"-0", b"1.5", b"1e3", b"null", b"true", b'"x"', b'"7"',
        b'"0x7f"', b'""', b"[]", b"[1, 2]", b"[1.50, \"a\"]", b"[1,,2]", b"[null]", b"{}",
        b'{"a": [1]}', b"[[[[]]]]", b"999999999999999999", b"9223372036854775807",
        b"9223372036854775808", b"18446744073709551615", b"18446744073709551616", b"1" * 40,
        b'"\\u00e9"', b'"\xc3\xa9"', b'"\\ud800"', b'"a\\/b"', b'"\xff"', b'"a\tb"', b"NaN",
        b"[" * 70 + b"]" * 70,
    )  # fmt: skip
    name = b"record_param_comms" if kind == b"cpu_op" else b"ncclKernel"
    event = simple().replace(b"cpu_op", kind).replace(b'"a"', b'"' + name + b'"')
    given = (event.replace(b'"args":{', b'"args":{"' + key + b'": ' + v) for v in values)
    for twice in (b"", b'"Seq": 3, "' + key + b'": 1, '):
        for one in given:
            text = listed(
                simple(), one.replace(b'"args":{', b'"args":{' + twice), simple(b"9")
            )
            assert told_apart(native(text + b" " * 100), python(text + b" " * 100)) == "", (
                one
            )


LONG_NUMBERS = {
    "digits": b"1" * 400, "too many digits": b"1" * 5_000, "negative": b"-" + b"9" * 5_000,
    "decimals": b"0." + b"1" * 400, "beyond a float": b"1" * 400 + b".5",
}  # fmt: skip
"""Some are numbers to a decoder, some are none."""


@pytest.mark.parametrize("number", LONG_NUMBERS)
@pytest.mark.parametrize("key", [
    "pid", "tid", "device", "stream", "correlation", "Seq", "dtype", "name", "grid", "foo",
])  # fmt: skip
def test_of_numbers_that_are_long(key, number):
    places = {"pid": b"0", "tid": b"7"}
    args = b'"correlation":1'
    if key in places:
        places[key] = LONG_NUMBERS[number]
    else:
        args = b'"%s":%s' % (key.encode(), LONG_NUMBERS[number])
    event = b'{"ph":"X","cat":"kernel","name":"k","pid":%s,"tid":%s,"ts":5,"dur":1,@}'
    event = event.replace(b"@", b'"args":{%s}') % (places["pid"], places["tid"], args)
    for one in (event, event.replace(b"kernel", b"cpu_op")):
        text = listed(simple(), one, simple(b"9"), simple(b"11"))
        assert told_apart(native(text), python(text)) == ""


@pytest.mark.parametrize("more", [b"", b"0", b"7", b"7" * 30])
def test_of_pointers_that_are_long(more):
    """Some go through the reader in Python; they are told apart by it alike."""
    kernel = b'{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":%s,"dur":1,@}'
    kernel = kernel.replace(b"@", b'"args":{"device":0,"stream":%s}')
    long = b"1" * 81
    streams = long, long + more, b'"%s%s"' % (long, more), b'"0x%s"' % (b"f" * 70)
    events = [kernel % (ts, one) for one in streams for ts in (b"1", b"2e0")]
    text = listed(simple(), *events, *reversed(events), simple())
    found = native(text)
    assert told_apart(found, python(text)) == ""
    assert len(found.events) == 2 * len(events) + 2


@pytest.mark.parametrize("more", [0, 1])
@pytest.mark.parametrize("block", [1 << 16, 1 << 23])
def test_of_the_longest_event_and_one_that_is_longer(more, block):
    filled = b"x" * (MAX_EVENT_BYTES - len(simple(args=b'"foo":""')) + more)
    text = listed(simple(), simple(args=b'"foo":"' + filled + b'"'), simple(), simple())
    found = native(text, block=block, chunk=1 << 18)
    assert len(found.events) == 4 - more
    assert told_apart(found, python(text)) == ""


def test_of_more_categories_than_are_numbered():
    events = [simple().replace(b"cpu_op", b"c%d" % i) for i in range(1_500)]
    text = listed(*events, *[simple()] * 100)
    scanner = NativeScanner("rank0.json", 5_000, None)
    scanner.feed(text)
    found = scanner.finish(Damage())
    assert told_apart(found, python(text)) == ""
    assert scanner.kept == 99  # the last has no comma behind it


def test_of_more_threads_than_any_trace_has():
    """Some as texts, every other event for the reader in Python, names told twice."""
    events, labels, known = [], [], {}
    for at in range(1_400):
        thread = b'"t%d"' % (at % 700) if at % 3 else b"%d" % (at % 700)
        known[thread] = f"n{at}"
        one = simple(b"%de0" % at if at % 2 else b"%d" % at)
        events.append(one.replace(b'"tid":2', b'"tid":' + thread))
        labels.append(
            b'{"ph":"M","name":"thread_name","pid":1,"tid":%s,"args":{"name":"n%d"}}'
            % (thread, at)
        )
    text = listed(*events, *labels, events[0])
    found = native(text)
    assert told_apart(found, python(text)) == ""
    assert found.lanes.label == tuple(known.values())
    numbers = [int(one) for one in known if one.isdigit()]
    assert [one for one in found.lanes.thread.tolist() if one >= 0] == numbers


ODD = {
    "no args": b'{~,"name":"k",@}',
    "empty": b"{}",
    "twice": b'{"ph":"X","ph":"i","cat":"cpu_op","name":"a",@}',
    "args first": b'{"args":{"stream":7},~,"name":"k",@}',
    "args amid": b'{"ph":"X","args":{},"cat":"kernel","name":"k",@}',
    "no cat": b'{"ph":"X","name":"k",@}',
    "no name": b'{~,@}',
    "no tid": b'{~,"name":"k","pid":0,"ts":1,"dur":2}',
    "long ph": b'{"ph":"XY","cat":"kernel","name":"k",@}',
    "high ph": b'{"ph":"\xc3\xa9","cat":"kernel","name":"k",@}',
    "escaped key": b'{"p\\u0068":"X","cat":"kernel","name":"k",@}',
    "escaped cat": b'{"ph":"X","cat":"ker\\/nel","name":"k",@}',
    "escaped prefix": b'{"ph":"X","cat":"cpu_op","name":"ncc\\u006c:x",@}',
    "texts as places": b'{~,"name":"k","pid":"a","tid":"7","ts":1,"dur":2}',
    "mark": b'{"ph":"i","cat":"x","name":"Iteration Start: a","pid":0,"tid":7,"ts":3}',
    "end mark": b'{"ph":"i","s":"g","cat":"x","name":"Record Window End","pid":0,"ts":9}',
    "instant": b'{"ph":"i","cat":"cpu_instant_event","name":"[memory]","pid":0,"ts":3}',
    "thread": b'{"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"t"}}',
    "junk": b"junk",
    "blank": b"",
    "nested": b'{"ph":"X","cat":"cpu_op","name":"a",@,"args":{"x":[{"name":1}]}}',
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_of_odd_events(name):
    text = listed(
        simple(), ODD[name], simple(b"5"), ODD[name], ODD["no args"], simple(b"7")
    )
    for end in (text, text[:-1], text[:-30], text + b"\n"):
        assert told_apart(native(end), python(end)) == ""


def test_wherever_the_text_is_cut():
    text = made()[0][:4_000]
    for end in some(range(len(text))):
        assert told_apart(native(text[:end], chunk=200), python(text[:end])) == ""


def test_names_written_in_two_ways_are_one():
    slash = simple().replace(b'"a"', b'"a\\/b"')
    text = listed(slash, simple().replace(b'"a"', b'"a/b"'), slash, simple())
    trace = native(text)
    assert trace.strings == ("a/b", "a")
    assert told_apart(trace, python(text)) == ""


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_profilers_write_is_kept_by_the_compiled_reader(variant):
    text = made()[0]
    scanner = NativeScanner("rank0.json", 5_000, variant)
    scanner.feed(text)
    events = scanner.finish(Damage()).events
    assert len(events) == 55
    # the last has no comma behind it
    assert scanner.kept == 54
