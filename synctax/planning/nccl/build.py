"""From the elements of a dump of NCCL to GPUs, NICs and the ways between them."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal, NoReturn

import numpy as np

from synctax.errors import BadInputError
from synctax.notes import Note
from synctax.planning.nccl.machine import PATHS, Gpu, Nic, NvLink, PathKind, Topology
from synctax.planning.nccl.xml import Element

_KNOWN: Final = ("system", "cpu", "pci", "pcilink", "gpu", "nvlink", "c2c", "nic", "net")

_LANE_GB_PER_S: Final = {
    "2.5": 0.1875,
    "5": 0.375,
    "8": 0.75,
    "16": 1.5,
    "32": 3.0,
    "64": 6.0,
}
"""Of a PCIe lane by its GT/s, as NCCL takes it; that of 8 GT/s where it is not told."""

_LANES: Final = 16
"""Width where the machine does not tell it, as in virtual ones."""

_NIC_MBIT_PER_S: Final = 10_000
"""Speed where the adapter does not tell it, as NCCL takes it."""

_BETWEEN_CPUS_GB_PER_S: Final = {
    "ppc64": 32.0,
    "arm64": 6.0,
    "AuthenticAMD": 16.0,
    "GenuineIntel": 10.0,
}
"""Of the way from one CPU to another, as NCCL takes it (Intel: Skylake's; later ones
have more, and still less than a NIC that is near)."""

_SWITCH_CLASS: Final = "0x068000"
_CPU_CLASS: Final = "0x068001"
_GPU_CLASS: Final = "0x03"


@dataclass(slots=True)
class _Dump:
    """What was found so far, and what was left out."""

    file: str
    gpus: list[tuple[Element, Gpu]] = field(default_factory=list)
    nics: list[tuple[Element, Nic]] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)

    def skip(self, reason: str, element: Element) -> None:
        self.left_out[reason] += 1
        self.first.setdefault(reason, f"{self.file}, line {element.line}: <{element.tag}>")

    def refuse(self, element: Element, expected: str, found: str) -> NoReturn:
        raise BadInputError(
            f"{self.file}, line {element.line}: expected {expected}, found {found}"
        )

    def whole(self, element: Element, name: str, default: int | None = None) -> int:
        """Read an attribute that is a whole number, decimal or hexadecimal."""
        text = element.attributes.get(name)
        if text is None and default is not None:
            return default
        if text is None:
            self.refuse(element, f"an attribute {name} of <{element.tag}>", "none")
        try:
            number = int(text, 16 if text.lower().startswith("0x") else 10)
        except ValueError:
            number = _TOP
        if abs(number) >= _TOP:
            self.refuse(
                element,
                f"a whole number as {name} of <{element.tag}>",
                repr(text[:_SHOWN]),
            )
        return number


_TOP: Final = 2**31
_SHOWN: Final = 40

_WHY: Final = {
    "topology_element_unknown": "elements of a topology that are not known",
    "topology_net_unused": "network devices that NCCL knew of and did not use",
}


def build(file: str, root: Element) -> Topology:
    """Find GPUs, NICs and the ways between them.

    Parameters
    ----------
    file : str
        Its name, for errors.
    root : Element

    Raises
    ------
    BadInputError
        If the elements are not those of a topology.
    """
    dump = _Dump(file)
    if root.tag != "system":
        hint = (
            "; that is what NCCL_GRAPH_DUMP_FILE writes, give that of NCCL_TOPO_DUMP_FILE"
            if root.tag == "graphs"
            else ""
        )
        dump.refuse(root, "<system>", f"<{root.tag[:_SHOWN]}>{hint}")
    for element in _walk(root):
        if element.tag == "gpu":
            dump.gpus.append((element, _gpu(dump, element)))
        elif element.tag == "net":
            _take_net(dump, element)
        elif element.tag not in _KNOWN:
            dump.skip("topology_element_unknown", element)
    if not dump.gpus:
        dump.refuse(
            root,
            "at least one <gpu>",
            "none; is it a file that NCCL reads (NCCL_TOPO_FILE)? Give the one that it "
            "writes (NCCL_TOPO_DUMP_FILE)",
        )
    return _topology(dump)


def _walk(root: Element) -> Iterator[Element]:
    """Go through elements in the order of the file, and not into unknown ones."""
    ahead = [root]
    while ahead:
        element = ahead.pop()
        yield element
        if element.tag in _KNOWN:
            ahead += reversed(element.children)


def _up(element: Element) -> Iterator[Element]:
    """Go from an element's parent to the root."""
    above = element.parent
    while above is not None:
        yield above
        above = above.parent


def _cpu(dump: _Dump, element: Element) -> Element:
    found = next((one for one in _up(element) if one.tag == "cpu"), None)
    if found is None:
        dump.refuse(element, f"<{element.tag}> inside of a <cpu>", "it elsewhere")
    return found


def _gpu(dump: _Dump, element: Element) -> Gpu:
    pci, cpu = element.parent, _cpu(dump, element)
    if pci is None or pci.tag != "pci":
        dump.refuse(element, "<gpu> inside of a <pci>", "it elsewhere")
    rank = dump.whole(element, "rank", _TOP - 1)
    return Gpu(
        host=cpu.attributes.get("host_hash", ""),
        dev=dump.whole(element, "dev"),
        rank=None if rank == _TOP - 1 else rank,
        busid=pci.attributes.get("busid", ""),
        sm=dump.whole(element, "sm", 0),
        nvlinks=tuple(
            NvLink(one.attributes.get("target", ""), dump.whole(one, "count", 1), _end(one))
            for one in element.children
            if one.tag == "nvlink"
        ),
    )


def _end(nvlink: Element) -> Literal["switch", "gpu", "cpu"]:
    kind = nvlink.attributes.get("tclass", _SWITCH_CLASS)
    if kind.startswith(_GPU_CLASS):
        return "gpu"
    return "cpu" if kind.startswith(_CPU_CLASS) else "switch"


def _take_net(dump: _Dump, element: Element) -> None:
    nic, cpu = element.parent, _cpu(dump, element)
    if nic is None or nic.tag != "nic":
        dump.refuse(element, "<net> inside of a <nic>", "it elsewhere")
    if "dev" not in element.attributes or not dump.whole(element, "net", 1):
        dump.skip("topology_net_unused", element)
        return
    speed = dump.whole(element, "speed", 0)
    pci = nic.parent
    rail = dump.whole(element, "rail", -1)
    found = Nic(
        host=cpu.attributes.get("host_hash", ""),
        dev=dump.whole(element, "dev"),
        name=element.attributes.get("name", ""),
        speed_gb_per_s=(speed if speed > 0 else _NIC_MBIT_PER_S) / 8_000,
        busid=pci.attributes.get("busid", "") if pci and pci.tag == "pci" else "",
        rail=None if rail < 0 else rail,
    )
    dump.nics.append((element, found))


def _topology(dump: _Dump) -> Topology:
    gpus = sorted(dump.gpus, key=lambda one: (one[1].host, one[1].dev, one[1].busid))
    at = {id(element): _Place.of(dump, element) for element, _ in (*gpus, *dump.nics)}
    shape = len(gpus), len(dump.nics)
    kind, rate = np.zeros(shape, np.int8), np.zeros(shape)
    for g, (gpu, _) in enumerate(gpus):
        for k, (net, nic) in enumerate(dump.nics):
            path, gb_per_s = _way(at[id(gpu)], at[id(net)])
            kind[g, k] = PATHS.index(path)
            rate[g, k] = min(gb_per_s, nic.speed_gb_per_s)
    notes = [
        Note(reason, count, _WHY[reason], dump.first[reason])
        for reason, count in dump.left_out.items()
    ]
    return Topology(
        dump.file,
        tuple(gpu for _, gpu in gpus),
        tuple(nic for _, nic in dump.nics),
        kind,
        rate,
        tuple(notes),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """Where a device hangs: PCI devices from its own up, their links, and its CPU."""

    pci: list[int]
    gb_per_s: list[float]
    linked: set[str]
    busids: set[str]
    cpu: Element

    @classmethod
    def of(cls, dump: _Dump, element: Element) -> "_Place":
        cpu = _cpu(dump, element)
        above = [one for one in _up(element) if one.tag == "pci"]
        return cls(
            [id(one) for one in above],
            [_link_gb_per_s(dump, one) for one in above],
            {
                sub.attributes.get("target", "")
                for one in above
                for sub in one.children
                if sub.tag == "pcilink"
            },
            {one.attributes.get("busid", "") for one in above},
            cpu,
        )


def _link_gb_per_s(dump: _Dump, pci: Element) -> float:
    speed = re.match(r"\d+(?:\.\d+)?", pci.attributes.get("link_speed", ""))
    gt = speed[0].removesuffix(".0") if speed else "8"
    text = pci.attributes.get("link_width", "")
    lanes = dump.whole(pci, "link_width") if text else 0
    return (lanes or _LANES) * _LANE_GB_PER_S.get(gt, _LANE_GB_PER_S["8"])


def _way(gpu: _Place, nic: _Place) -> tuple[PathKind, float]:
    """Tell the kind of the way from a GPU to a NIC, and what its slowest link carries."""
    met = next((i for i, one in enumerate(gpu.pci) if one in nic.pci), None)
    if met is not None:
        other = nic.pci.index(gpu.pci[met])
        on_way = gpu.gb_per_s[:met] + nic.gb_per_s[:other]
        # the devices themselves are no switches
        return "PIX" if max(met, other) <= 1 else "PXB", min(on_way, default=np.inf)
    on_way = gpu.gb_per_s + nic.gb_per_s
    if gpu.linked & nic.busids or nic.linked & gpu.busids:
        return "PXB", min(on_way, default=np.inf)
    if gpu.cpu is nic.cpu:
        return "PHB", min(on_way, default=np.inf)
    if _host(gpu.cpu) != _host(nic.cpu):
        return "NET", 0.0
    return "SYS", min([*on_way, _between_cpus(gpu.cpu)])


def _host(cpu: Element) -> str:
    return cpu.attributes.get("host_hash", "")


def _between_cpus(cpu: Element) -> float:
    names = (cpu.attributes.get(name, "") for name in ("arch", "vendor"))
    known = (
        _BETWEEN_CPUS_GB_PER_S[name] for name in names if name in _BETWEEN_CPUS_GB_PER_S
    )
    return next(known, _BETWEEN_CPUS_GB_PER_S["GenuineIntel"])
