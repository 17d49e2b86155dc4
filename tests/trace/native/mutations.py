"""Texts that are nearly traces: what profilers, copies and accidents make of one."""

import random
import re

TOKENS = (
    b'"', b"\\", b",", b"{", b"}", b"[", b"]", b":", b" ", b"\n", b"\t", b"\0", b"\x7f",
    b"null", b"true", b"NaN", b"inf", b"-", b"-0", b"01", b".5", b"1e5", b"1.5e3",
    b".123456", b"999999999999999999", b"9223372036854775808", b"18446744073709551615",
    b"18446744073709551616", b"99999999999999999999", b"0x1f", b'"0x1f"', b'"12"',
    b"\xff", b"\xc3\xa9", b"\xe4\xb8\xad", b"\xed\xa0\x80", b"\xc0\x80",
    b"\xf0\x9f\x98\x80", b"\xf4\x90\x80\x80", b"\\u00e9", b"\\ud800", b"\\u0041", b"\\x",
    b'\\"', b"\\/", b'"ts": 5,', b'"ts": "5",', b'"name": "a",', b'"ph": "X",',
    b'"dur": -1,', b'{"ph":"X",', b'"Iteration Start: x"', b'"Record Window End"',
    b'"M"', b'"i"', b'"X"', b'"XX"', b'"kernel"', b'"cpu_op"', b'"cat": null,',
    b'"args": {},', b'"args": null,', b'"args": [1],', b"[1, 2]", b'[[1], [2, "x"]]',
    b'{"a":1}', b'{"name":1}', b'"External id": 7,', b'"external id": -1,',
    b'"correlation": 1.0,', b'"stream": 18446744073709551615,',
    b'"stream": "0x7fabc0000000",', b'"stream": null,', b'"pid": "a",', b'"tid": "b",',
    b'"pid": true,', b"nccl:all_reduce", b"record_param_comms",
    b'"Collective name": "allreduce",', b'"Collective name": [1, 2],', b'"Seq": 5,',
    b'"Seq": 999999999999999,', b'"Comms Id": "1",',
    b'"Comms Id": 18446744073709551615,', b'"graph node id": 5,',
    b'"graph node id": null,', b'"grid": [1,1,1],', b'"grid": [1,,1],', b'"block": "x",',
    b'"Input Dims": [[1, 2], []],', b'"In msg nelems": -7,',
)  # fmt: skip
VALUE = re.compile(rb':\s*("[^"]*"|-?[\d.]+)')
FEW = (0, 1, 1, 1, 2, 3, 5, 8, 20)
LIST = re.compile(rb'"traceEvents"\s*:\s*\[')
EVENT = re.compile(rb'\{\s*"(?:ph|name|cat|args|tid|pid|ts)"')
HEAD = b'{"schemaVersion":1,"distributedInfo":{"rank":0,"world_size":4},"traceEvents": [\n'


def mutated(text: bytes, rng: random.Random) -> bytes:
    """Change a text in a few places, or none."""
    changed = bytearray(text)
    for _ in range(rng.choice(FEW)):
        at, way = rng.randrange(len(changed) + 1), rng.randrange(7)
        if way == 0 and at < len(changed):
            changed[at] = rng.randrange(256)
        elif way == 1:
            del changed[at : at + rng.choice((1, 1, 2, 5, 20))]
        elif way == 2:
            changed[at:at] = rng.choice(TOKENS)
        elif way == 3:
            changed[at : at + rng.choice((1, 2, 4))] = rng.choice(TOKENS)
        elif way == 4:
            other = rng.randrange(len(changed) + 1)
            changed[at:at] = changed[other : other + rng.choice((10, 50, 300))]
        elif way == 5 and rng.random() < 0.3:
            del changed[at:]
        elif value := VALUE.search(changed, at):
            changed[value.start(1) : value.end(1)] = rng.choice(TOKENS)
    return bytes(changed)


def cut_out(text: bytes, rng: random.Random, count: int) -> bytes:
    """Take some events in a row out of a trace, as a trace."""
    begin = LIST.search(text)
    if begin is None:
        return text
    starts = [found.start() for found in EVENT.finditer(text, begin.end())]
    if len(starts) < count + 2:
        return text
    first = rng.randrange(len(starts) - count)
    events = text[starts[first] : starts[first + count]].rstrip().rstrip(b",")
    return HEAD + events + b'\n],"traceName":"x"}'
