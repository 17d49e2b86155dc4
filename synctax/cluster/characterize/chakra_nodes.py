"""Nodes of one Chakra execution trace: what a simulated GPU computes and communicates.

A file is a `GlobalMetadata` and then `Node`s, each behind its length. Field numbers and
values of enumerations are those of `schema/protobuf/et_def.proto` of mlcommons/chakra,
version 0.0.4.
"""

import struct
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import orjson

from synctax.arrays import ABSENT, I8, I32, I64, Bool
from synctax.cluster.characterize.chakra_wire import (
    FIXED32,
    FIXED64,
    LENGTH,
    VARINT,
    Field,
    Wire,
    signed,
)
from synctax.collectives.model import Op

KIND: Final = "a Chakra execution trace"

INVALID, METADATA, MEM_LOAD, MEM_STORE, COMP, SEND, RECV, COLL = range(8)
"""Types of nodes (`NodeType`)."""

OPS: Final = (
    Op.ALL_REDUCE,
    Op.REDUCE,
    Op.ALL_GATHER,
    Op.GATHER,
    Op.SCATTER,
    Op.BROADCAST,
    Op.ALL_TO_ALL,
    Op.REDUCE_SCATTER,
    Op.REDUCE_SCATTER,
    Op.BARRIER,
)
"""Collectives by their number (`CollectiveCommType`); 8 is REDUCE_SCATTER_BLOCK."""

LARGEST_NUMBER: Final = 2**53
"""Of bytes, µs or operations: what is larger is no number but damage."""

_VERSION, _METADATA_ATTR = 1, 2
_ID, _NAME, _TYPE, _DURATION_US, _INPUTS, _ATTR = 1, 2, 3, 7, 8, 10
_VALUES: Final = 1
_WANTED: Final = frozenset(
    {"is_cpu_op", "num_ops", "comm_type", "comm_size", "pg_name", "involved_dim"}
)
_MOST_FLAGS: Final = 64
_MOST_KNOWN: Final = 2**12
_LONGEST_KNOWN: Final = 64
_LARGEST_DECLARATION: Final = 2**24
_INTEGERS: Final = frozenset({7, 9, 11, 13, 27})
_ZIGZAG: Final = frozenset({15, 17})
_FIXED: Final = {19: "<I", 21: "<Q", 23: "<i", 25: "<q"}
_BOOL_LIST: Final = 28
_STRING: Final = 29


@dataclass(frozen=True, slots=True, eq=False)
class Nodes:
    """What one GPU does, one entry a node, in the order of the file.

    Parameters
    ----------
    version : str
        Of the schema, as the file has it.
    kind : (n,) int8
        `COMP`, `COLL`, `SEND`, ...
    cpu : (n,) bool
        It runs on the host.
    duration_us : (n,) int64
    num_ops : (n,) int64
        Floating-point operations; 0 where not told.
    op : (n,) int8
        `Op` of a collective, `Op.SEND_RECV` of a message; else, and of what hosts call, -1.
    comm_bytes : (n,) int64
        `comm_size`: the input of a rank, for an all-gather its shard; 0 without.
    group : (n,) int32
        Code into `groups` of its process group, -1: all GPUs.
    groups : tuple of str
    dims : (n,) int32
        Code into `dim_sets` of the dimensions of the network it takes, -1: all.
    dim_sets : tuple of tuple of bool
    declared : dict of str to int
        Sizes of process groups that the file itself declares; 0: all GPUs.
    unread : int
        Declarations of process groups that could not be read.
    """

    version: str
    kind: I8
    cpu: Bool
    duration_us: I64
    num_ops: I64
    op: I8
    comm_bytes: I64
    group: I32
    groups: tuple[str, ...]
    dims: I32
    dim_sets: tuple[tuple[bool, ...], ...]
    declared: dict[str, int]
    unread: int = 0

    def __len__(self) -> int:
        """Count nodes."""
        return self.kind.size


def read_nodes(data: bytes, *, name: str) -> Nodes:
    """Read the nodes of a file.

    Parameters
    ----------
    data : bytes
    name : str
        Of the file, for messages.

    Raises
    ------
    BadInputError
        If it is no such file, is cut or damaged; names the file and the byte.

    References
    ----------
    Sridharan et al. 2023, Chakra: advancing performance benchmarking and co-design using
    standardized execution traces; github.com/mlcommons/chakra.
    """
    wire = Wire(data, name=name, kind=KIND)
    if data.lstrip()[:1] in (b"{", b"["):
        raise wire.bad(0, "JSON; convert it to protobuf (.et) first")
    messages = wire.messages()
    first = next(messages, None)
    if first is None:
        raise wire.bad(0, "nothing")
    rows = _Rows(wire, _version(wire, *first))
    for begin, end in messages:
        rows.take(begin, end)
    if not rows.kind:
        raise wire.bad(len(data), "no node")
    return rows.nodes()


def _version(wire: Wire, begin: int, end: int) -> str:
    """Read the metadata that every file begins with."""
    version = ""
    for one in wire.fields(begin, end):
        if one.number not in (_VERSION, _METADATA_ATTR) or one.kind != LENGTH:
            raise wire.bad(one.begin, "a first message that is no GlobalMetadata")
        if one.number == _VERSION:
            version = wire.text(one)
    return version


@dataclass(slots=True)
class _Codes:
    """Numbers values as they are first met."""

    number: dict[object, int] = field(default_factory=dict)

    def of(self, value: object) -> int:
        return self.number.setdefault(value, len(self.number))


@dataclass(slots=True)
class _Attr:
    """One attribute: a whole number, a text, or flags."""

    name: str = ""
    number: int | None = None
    text: str | None = None
    flags: tuple[bool, ...] | None = None


_Attrs = dict[str, tuple[int, _Attr]]
"""By name, with the byte where each stands."""


class _Rows:
    """Columns while nodes are read."""

    def __init__(self, wire: Wire, version: str) -> None:
        self._wire, self._version = wire, version
        self.kind = array("b")
        self._cpu, self._op = array("b"), array("b")
        self._duration, self._ops, self._bytes = array("q"), array("q"), array("q")
        self._group, self._dims = array("i"), array("i")
        self._groups, self._sets = _Codes(), _Codes()
        self._declared: dict[str, int] = {}
        self._unread = 0
        self._known: dict[bytes, _Attr] = {}

    def take(self, begin: int, end: int) -> None:
        """Read a node."""
        wire = self._wire
        if begin == end:
            raise wire.bad(begin, "a node of no bytes")
        kind, duration, inputs = 0, 0, None
        attrs: _Attrs = {}
        for one in wire.fields(begin, end):
            if one.number == _TYPE:
                kind = _expect(wire, one, VARINT).value
            elif one.number == _DURATION_US:
                duration = _expect(wire, one, VARINT).value
                _limited(wire, one.begin, duration, "duration_micros")
            elif one.number == _INPUTS:
                inputs = _expect(wire, one, LENGTH)
            elif one.number == _ATTR:
                attr = self._attribute(_expect(wire, one, LENGTH))
                if attr.name in _WANTED:
                    attrs[attr.name] = one.begin, attr
        if kind > COLL:
            raise wire.bad(begin, f"a node of type {kind:,}")
        if kind == METADATA and inputs is not None:
            declared = _declared(wire, inputs)
            self._unread += declared is None
            self._declared |= declared or {}
        self.kind.append(kind)
        self._duration.append(duration)
        self._cpu.append(bool(self._number(attrs, "is_cpu_op")))
        self._ops.append(self._number(attrs, "num_ops"))
        self._communication(kind, begin, attrs)

    def _communication(self, kind: int, begin: int, attrs: _Attrs) -> None:
        op, size, group, dims = ABSENT, 0, ABSENT, ABSENT
        # of a host's call only the kernel that it launches says what is communicated
        if kind in (COLL, SEND, RECV) and not self._cpu[-1]:
            op = int(Op.SEND_RECV)
            if kind == COLL:
                op = int(self._collective(begin, attrs))
            if op != Op.BARRIER and "comm_size" not in attrs:
                raise self._wire.bad(begin, "a communication without comm_size")
            size = self._number(attrs, "comm_size")
            named = attrs["pg_name"][1].text if "pg_name" in attrs else None
            # ASTRA-sim takes both for the group of all GPUs
            group = ABSENT if named in (None, "", "0") else self._groups.of(named)
            flags = attrs["involved_dim"][1].flags if "involved_dim" in attrs else None
            dims = ABSENT if flags is None or all(flags) else self._sets.of(flags)
        self._op.append(op)
        self._bytes.append(size)
        self._group.append(group)
        self._dims.append(dims)

    def _collective(self, begin: int, attrs: _Attrs) -> Op:
        if "comm_type" not in attrs:
            raise self._wire.bad(begin, "a collective without comm_type")
        code = self._number(attrs, "comm_type")
        if code >= len(OPS):
            raise self._wire.bad(attrs["comm_type"][0], f"a collective of type {code:,}")
        return OPS[code]

    def _number(self, attrs: _Attrs, name: str) -> int:
        if name not in attrs:
            return 0
        at, attr = attrs[name]
        if attr.number is None:
            raise self._wire.bad(at, f"an attribute {name} that is no whole number")
        return _limited(self._wire, at, attr.number, name)

    def _attribute(self, one: Field) -> _Attr:
        """Read an attribute, or remember it: most are as another node's."""
        length = one.end - one.begin
        if length > _LONGEST_KNOWN:
            return _attribute(self._wire, one)
        key = self._wire.data[one.begin : one.end]
        attr = self._known.get(key)
        if attr is None:
            attr = _attribute(self._wire, one)
            if len(self._known) < _MOST_KNOWN:
                self._known[key] = attr
        return attr

    def nodes(self) -> Nodes:
        return Nodes(
            version=self._version,
            kind=np.array(self.kind, np.int8),
            cpu=np.array(self._cpu, np.bool_),
            duration_us=np.array(self._duration, np.int64),
            num_ops=np.array(self._ops, np.int64),
            op=np.array(self._op, np.int8),
            comm_bytes=np.array(self._bytes, np.int64),
            group=np.array(self._group, np.int32),
            groups=tuple(map(str, self._groups.number)),
            dims=np.array(self._dims, np.int32),
            dim_sets=tuple(self._sets.number),  # type: ignore[arg-type]  # of tuples only
            declared=self._declared,
            unread=self._unread,
        )


def _expect(wire: Wire, one: Field, kind: int) -> Field:
    if one.kind != kind:
        raise wire.bad(one.begin, f"field {one.number} of wire type {one.kind}")
    return one


def _limited(wire: Wire, at: int, value: int, name: str) -> int:
    if not 0 <= value <= LARGEST_NUMBER:
        raise wire.bad(at, f"{name} {value:,}")
    return value


def _attribute(wire: Wire, one: Field) -> _Attr:
    """Read an attribute; what is not asked for is passed over."""
    attr = _Attr()
    for part in wire.fields(one.begin, one.end):
        if part.number == 1:
            attr.name = wire.text(_expect(wire, part, LENGTH))
        elif part.number == _STRING:
            attr.text = wire.text(_expect(wire, part, LENGTH))
        elif part.number == _BOOL_LIST:
            attr.flags = _flags(wire, _expect(wire, part, LENGTH))
        elif part.number in _WHOLE:
            attr.number = _WHOLE[part.number](wire, part)
    return attr


def _varint(wire: Wire, part: Field) -> int:
    return signed(_expect(wire, part, VARINT).value)


def _zigzag(wire: Wire, part: Field) -> int:
    value = _expect(wire, part, VARINT).value
    return value >> 1 ^ -(value & 1)


def _fixed(wire: Wire, part: Field) -> int:
    form = _FIXED[part.number]
    kind = FIXED32 if struct.calcsize(form) == 4 else FIXED64
    _expect(wire, part, kind)
    return int(struct.unpack_from(form, wire.data, part.begin)[0])


_WHOLE: Final[dict[int, Callable[[Wire, Field], int]]] = {
    **dict.fromkeys(_INTEGERS, _varint),
    **dict.fromkeys(_ZIGZAG, _zigzag),
    **dict.fromkeys(_FIXED, _fixed),
}


def _flags(wire: Wire, one: Field) -> tuple[bool, ...]:
    """Read a list of flags, packed or one by one."""
    if one.end - one.begin > 2 * _MOST_FLAGS:
        raise wire.bad(one.begin, f"more than {_MOST_FLAGS} dimensions")
    flags: list[bool] = []
    for part in wire.fields(one.begin, one.end):
        if part.number != 1:
            continue
        if part.kind == VARINT:
            flags.append(part.value != 0)
            continue
        at = _expect(wire, part, LENGTH).begin
        while at < part.end:
            value, at = wire.varint(at, part.end)
            flags.append(value != 0)
    return tuple(flags)


def _declared(wire: Wire, inputs: Field) -> dict[str, int] | None:
    """Read process groups that PyTorch's execution trace declares, sizes by name.

    They are JSON in a list of one text in a text: two characters before it, two behind.
    None: there are some, and they cannot be read.
    """
    if inputs.end - inputs.begin > _LARGEST_DECLARATION:
        size = inputs.end - inputs.begin
        raise wire.bad(inputs.begin, f"metadata of {size:,} bytes")
    texts = [
        wire.text(_expect(wire, part, LENGTH))
        for part in wire.fields(inputs.begin, inputs.end)
        if part.number == _VALUES
    ]
    if not texts or not texts[-1]:
        return {}
    try:
        groups = orjson.loads(texts[-1][2:-2])
        return {str(one["pg_name"]): len(one["ranks"]) for one in groups}
    except (orjson.JSONDecodeError, KeyError, TypeError):
        # other metadata names no groups
        return None if "pg_name" in texts[-1] else {}
