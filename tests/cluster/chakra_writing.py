"""Chakra execution traces as its tools write them: messages behind their lengths."""

import struct
from collections.abc import Sequence
from pathlib import Path

MEM_LOAD, COMP, SEND, RECV, COLL = 2, 4, 5, 6, 7
ALL_REDUCE, REDUCE, ALL_GATHER, BROADCAST, ALL_TO_ALL, REDUCE_SCATTER = 0, 1, 2, 5, 6, 7
BARRIER = 9


def varint(value: int) -> bytes:
    value %= 2**64
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def blob(field: int, data: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(data)) + data


def integer(name: str, value: int, field: int = 9) -> bytes:
    """An attribute; `field` says of which type its value is."""
    if field in (19, 21, 23, 25):
        form = {19: "<I", 21: "<Q", 23: "<i", 25: "<q"}[field]
        kind = 5 if field in (19, 23) else 1
        raw = varint(field << 3 | kind) + struct.pack(form, value)
    else:
        zigzag = value << 1 ^ value >> 63
        raw = number(field, zigzag if field in (15, 17) else value)
    return blob(10, blob(1, name.encode()) + raw)


def text(name: str, value: str) -> bytes:
    return blob(10, blob(1, name.encode()) + blob(29, value.encode()))


def flags(name: str, values: Sequence[bool], *, packed: bool = True) -> bytes:
    raw = bytes(values)
    listed = blob(1, raw) if packed else b"".join(number(1, one) for one in raw)
    return blob(10, blob(1, name.encode()) + blob(28, listed))


def node(kind: int, *parts: bytes, at: int = 1, duration_us: int = 0) -> bytes:
    head = number(1, at) + blob(2, b"a node") + number(3, kind)
    body = head + number(7, duration_us) + b"".join(parts)
    return varint(len(body)) + body


def compute(duration_us: int, *, cpu: bool = False, flop: int = 0) -> bytes:
    told = integer("is_cpu_op", cpu, 27), integer("num_ops", flop)
    return node(COMP, *told, duration_us=duration_us)


def collective(op: int, size: int, *parts: bytes) -> bytes:
    return node(COLL, integer("comm_type", op), integer("comm_size", size), *parts)


def message(kind: int, size: int) -> bytes:
    return node(kind, integer("comm_size", size))


def trace(*nodes: bytes, version: str = "0.0.4") -> bytes:
    head = blob(1, version.encode())
    return varint(len(head)) + head + b"".join(nodes)


def write(folder: Path, *files: bytes, prefix: str = "job") -> Path:
    """Write a file a GPU; return their prefix."""
    for at, data in enumerate(files):
        (folder / f"{prefix}.{at}.et").write_bytes(data)
    return folder / prefix
