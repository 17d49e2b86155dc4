"""What messages of NCCL's INFO log say, from 2.5 to 2.30, and of AMD's RCCL."""

import re
from typing import Final, Literal, NamedTuple

Via = Literal["P2P", "SHM", "NET"]
Direction = Literal["send", "receive", ""]

_ID: Final = r"\d{1,9}"
_HEX: Final = r"[0-9a-fA-F]{1,16}"

_LINK: Final = re.compile(
    rf"(?:Channel|Ring) ({_ID})(?:/({_ID}))? : "
    rf"({_ID})(?:\[({_HEX})\])? -> ({_ID})(?:\[({_HEX})\])?"
    r"(?: \[(send|receive)\])? via (.+)"
)
_NET: Final = re.compile(rf"NET/(.+?)/({_ID})(?:\(({_ID})\))?((?:/[\w()]+)*)")
_POINTER: Final = re.compile(rf"\bcomm (0x{_HEX})\b")
_RING: Final = re.compile(rf"Channel ({_ID})(?:/{_ID})? :((?: +{_ID})+)( *\.\.\.)?")
_NEXT: Final = re.compile(rf"Ring ({_ID}) : ({_ID}) -> ({_ID}) -> ({_ID})")
_COMM: Final = re.compile(
    rf"\bcomm (0x{_HEX}|\(nil\)) rank ({_ID}) n[rR]anks ({_ID})\b(.*)", re.DOTALL
)
_VALUE: Final = re.compile(rf"\b([a-zA-Z]{{1,20}}) (?:0x)?(-?{_HEX}|\(nil\))(?![\w.])")
_STATE: Final = re.compile(r"- ?(Init START|Init COMPLETE|Destroy COMPLETE|Abort COMPLETE)")
_SETTING: Final = re.compile(r"((?:NCCL|RCCL)_\w{1,100}) set by environment to (.*)")
_DEVICES: Final = re.compile(r"NET/.{1,60}? ?: Using (.*)")
_DEVICE: Final = re.compile(
    rf"\[({_ID})\]=?\{{([^}}]*)\}}|\[({_ID})\] ?([^\s:\[\]{{}}]+):([^\s;\[]+)"
)
_MERGED: Final = re.compile(rf"\[{_ID}\] ?([^\s:\[\]]+):")
_VIRTUAL: Final = re.compile(rf"NET/.{{1,60}}Made virtual device \[({_ID})\] name=(\S+)")
_ENDS: Final = (
    *("GDRDMA", "Shared", "IPC", "CUMEM", "MNNVL", "read", "CE", "pointer", "direct"),
    *("memory", "START", "COMPLETE"),
)
"""Words after which a message has no more digits to lose."""


class LinkLine(NamedTuple):
    """A connection from one rank to another, as one of them set it up.

    Parameters
    ----------
    channel, connection : int
        Connection 0 carries collectives, 1 sends and receives (0 before NCCL 2.8).
    source, target : int
        Ranks in the communicator.
    source_gpu, target_gpu : str
        What stands in brackets: NVML index, before 2.18 the PCI bus, before 2.5 the
        CUDA index.
    direction : "send", "receive" or ""
        Who tells of it, where it goes over a network.
    via : "P2P", "SHM" or "NET"
    how : str
        What of it: `IPC`, `CUMEM`, `MNNVL`, ...; the network's name.
    nic, proxy : int or None
        Index of the NIC, and the rank whose proxy sends (PXN).
    gdr : bool
        Whether the NIC reads and writes GPU memory.
    pointer : str
        Of the communicator, where the line tells it.
    """

    channel: int
    connection: int
    source: int
    target: int
    source_gpu: str
    target_gpu: str
    direction: Direction
    via: Via
    how: str
    nic: int | None = None
    proxy: int | None = None
    gdr: bool = False
    pointer: str = ""

    @property
    def teller(self) -> int:
        """The rank that told of it."""
        return self.target if self.direction == "receive" else self.source


class RingLine(NamedTuple):
    """A ring from rank 0 on, or a part of it; `cut` where it goes on."""

    channel: int
    ranks: tuple[int, ...]
    cut: bool


class CommLine(NamedTuple):
    """A rank of a communicator; `state` is empty where it is just told of."""

    pointer: str
    rank: int
    nranks: int
    values: dict[str, str]
    state: str


class SettingLine(NamedTuple):
    """An environment variable, or a line of `nccl.conf`."""

    name: str
    value: str


class DeviceLine(NamedTuple):
    """NICs that a process uses: index to name, and to rail where it is told."""

    names: dict[int, str]
    rails: dict[int, int]


Line = LinkLine | RingLine | CommLine | SettingLine | DeviceLine


class Unreadable(NamedTuple):
    """A message that begins as a known one."""

    text: str


def parse(text: str, *, whole: bool = True) -> Line | Unreadable | None:
    """Read a message; None where it says nothing of placement.

    Parameters
    ----------
    text : str
        Behind `NCCL INFO`.
    whole : bool
        False where it may have been cut: a number at its end is not trusted then.

    Examples
    --------
    >>> parse("Channel 02/0 : 7[7] -> 8[0] [send] via NET/IB/3(5)/GDRDMA").nic
    3
    >>> parse("NCCL_CROSS_NIC set by environment to 0.")
    SettingLine(name='NCCL_CROSS_NIC', value='0')
    """
    line: Line | Unreadable | None
    if text.startswith(("Channel ", "Ring ")):
        line = _channel(text)
    elif text.startswith("NET/"):
        line = _devices(text)
    else:
        line = _other(text)
    cut = line is not None and not whole and not text.endswith(_ENDS)
    return Unreadable(text) if cut else line


def _other(text: str) -> Line | None:
    if found := _COMM.search(text):
        return _comm(found)
    if found := _SETTING.fullmatch(text):
        return SettingLine(found[1], found[2].removesuffix("."))
    return None


def _channel(text: str) -> Line | Unreadable:
    if found := _LINK.fullmatch(text):
        return _link(found) or Unreadable(text)
    if found := _NEXT.fullmatch(text):
        return RingLine(int(found[1]), (int(found[3]), int(found[4])), cut=True)
    if found := _RING.fullmatch(text):
        ranks = tuple(map(int, found[2].split()))
        # the last number before dots may have lost digits
        return RingLine(int(found[1]), ranks[:-1] if found[3] else ranks, bool(found[3]))
    return Unreadable(text)


def _link(found: re.Match[str]) -> LinkLine | None:
    told = found[7]
    direction: Direction = "send" if told == "send" else "receive" if told else ""
    pointer = _POINTER.search(found[8])
    line = LinkLine(
        int(found[1]),
        int(found[2] or 0),
        int(found[3]),
        int(found[5]),
        (found[4] or "").lower(),
        (found[6] or "").lower(),
        direction,
        "P2P",
        found[8].split(" comm ")[0],
        pointer=pointer[1] if pointer else "",
    )
    if net := _NET.match(found[8]):
        proxy = int(net[3]) if net[3] else None
        if not told:
            return None
        return line._replace(
            via="NET", how=net[1], nic=int(net[2]), proxy=proxy, gdr="/GDRDMA" in net[4]
        )
    if line.how.startswith("P2P/"):
        return line._replace(how=line.how.removeprefix("P2P/").split("/")[0])
    if line.how.startswith("SHM") or line.how.startswith("direct shared memory"):
        return line._replace(via="SHM", how="")
    return None


def _comm(found: re.Match[str]) -> CommLine:
    rest = found[4]
    state = _STATE.search(rest)
    return CommLine(
        found[1],
        int(found[2]),
        int(found[3]),
        dict(_VALUE.findall(rest)),
        state[1] if state else "",
    )


def _devices(text: str) -> DeviceLine | None:
    if found := _VIRTUAL.match(text):
        return DeviceLine({int(found[1]): found[2]}, {})
    found = _DEVICES.match(text)
    if found is None:
        return None
    names: dict[int, str] = {}
    rails: dict[int, int] = {}
    for merged, parts, one, name, tail in _DEVICE.findall(found[1]):
        if merged:
            names[int(merged)] = "+".join(_MERGED.findall(parts))
            continue
        names[int(one)] = name
        ids, slash, _ = tail.partition("/")
        # the port, then the rail where a plugin tells one
        port_and_rail = ids.split(":")[:2]
        if slash and re.fullmatch(_ID, port_and_rail[-1]) and len(port_and_rail) > 1:
            rails[int(one)] = int(port_and_rail[1])
    return DeviceLine(names, rails) if names else None
