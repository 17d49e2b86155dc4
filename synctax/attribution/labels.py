"""What items, threads and collectives are called in tables and stories."""

import re
from typing import TYPE_CHECKING

import numpy as np

from synctax.arrays import ABSENT, I64
from synctax.attribution.model import Items
from synctax.attribution.results import Why
from synctax.collectives.model import Op
from synctax.collectives.tax import Tax
from synctax.graph.model import NodeKind

if TYPE_CHECKING:
    from synctax.attribution.attribute import Attribution

WHY = {Why.SLOWER: "slower", Why.ALONE: "no counterpart", Why.CARRIED: "carried"}
"""How an item owes the wait, in words."""

NAME_WIDTH = 60
"""People are shown so many characters of a name."""

NO_NAME = "(no name)"
"""What people are shown of an empty name."""

CLASS_TEXT = {
    "gemm": "GEMM kernels",
    "attention": "attention kernels",
    "norm": "normalisation kernels",
    "elementwise": "elementwise kernels",
    "reduction": "reduction kernels",
    "copy": "copies",
    "other": "other kernels",
    "communication": "waits for other groups",
    "collective": "earlier collectives",
    "transfer": "transfers of collectives",
    "cpu_launch": "runtime calls",
    "cpu_op": "CPU operators",
    "python_gap": "unlogged host time (Python)",
    "host_stall": "host stalls",
}
"""How classes of culprits are called in sentences.

`collective` is what of `communication` is not known to be a wait for another group.
"""

_CLONE = re.compile(r" \[clone [^]]*\]$")
_WRAPPED = re.compile(r"cutlass::Kernel2?<(\w+)>")

_ON_GPU = (NodeKind.GPU, NodeKind.COLLECTIVE)
_THREAD, _STREAM = "thread ", "stream "


def collective_text(tax: Tax, slot: int) -> str:
    """Name a collective: group role, operation and index, as in `tp all_gather #12`."""
    found = tax.matches
    role = found.groups[found.group[slot]].role
    return f"{role} {Op(int(found.op[slot])).label} #{found.index[slot]}"


def item_text(tax: Tax, texts: tuple[str, ...], items: Items, row: int) -> str:
    """Name an item of a path.

    Parameters
    ----------
    tax : Tax
    texts : tuple of str
        What `name` and `context` of the items are codes of.
    items : Items
    row : int

    Returns
    -------
    str
        A kernel or slice by its name in the trace; `gap before X`, with ` in Y` for the
        annotation around it; `wait in X`; a collective as in `collective_text`.
    """
    slot, kind = int(items.slot[row]), int(items.kind[row])
    if kind == NodeKind.COLLECTIVE and slot >= 0:
        return collective_text(tax, slot)
    name = texts[items.name[row]] if items.name[row] >= 0 else ""
    if kind == NodeKind.WAIT:
        return f"wait in {name}" if name else "wait"
    if kind != NodeKind.GAP:
        return name
    before = f"gap before {name}" if name else "gap"
    around = int(items.context[row])
    return f"{before} in {texts[around]}" if around >= 0 else before


def thread_text(lanes: tuple[str, ...], items: Items, row: int) -> str:
    """Name the thread, or for what runs on a GPU the stream, of an item."""
    lane: str = lanes[items.lane[row]]
    if int(items.kind[row]) in _ON_GPU and lane.startswith(_THREAD):
        return _STREAM + lane.removeprefix(_THREAD)
    return lane


def culprit_items(found: "Attribution", number: int) -> Items:
    """Items among which the culprit of a result lies: of its path, or from before it."""
    carried = found.results.why[number] == Why.CARRIED
    return found.slow.before if carried else found.slow.items


def culprit_text(found: "Attribution", number: int) -> str | None:
    """Name the culprit of a result: `diffuse` where there is none, None without a wait."""
    row = int(found.results.culprit[number])
    if row < 0:
        return "diffuse" if found.results.tax_ns[number] > 0 else None
    return item_text(found.tax, found.texts, culprit_items(found, number), row)


def culprit_texts(found: "Attribution", numbers: I64) -> list[str]:
    """Name the culprits of results that have one; equal ones are named once.

    Parameters
    ----------
    found : Attribution
    numbers : (k,) int64
        Results.
    """
    results, slow = found.results, found.slow
    columns = np.empty((5, numbers.size), np.int64)
    carried = results.why[numbers] == Why.CARRIED
    for items, mine in ((slow.before, carried), (slow.items, ~carried)):
        row = results.culprit[numbers[mine]]
        one = items.kind[row] == NodeKind.COLLECTIVE
        slot = np.where(one, items.slot[row], ABSENT)
        name, around = items.name[row], items.context[row]
        columns[:, mine] = items.kind[row], slot, name, around, carried[mine]
    known: dict[tuple[int, ...], str] = {}
    texts = []
    for number, one in zip(
        numbers.tolist(), zip(*columns.tolist(), strict=True), strict=True
    ):
        if one not in known:
            known[one] = str(culprit_text(found, number))
        texts.append(known[one])
    return texts


def culprit_thread(found: "Attribution", number: int) -> str | None:
    """Name the thread or stream of the culprit of a result, None where there is none."""
    row = int(found.results.culprit[number])
    if row < 0:
        return None
    lanes = found.lanes[int(found.slow.rank[number])]
    return thread_text(lanes, culprit_items(found, number), row)


def short_name(text: str, *, width: int = NAME_WIDTH) -> str:
    """Shorten the name of a kernel for people: without its parameters, cut to a width.

    What has no name is called `NO_NAME`, whatever the width.

    Parameters
    ----------
    text : str
    width : int
        Characters.

    Examples
    --------
    >>> short_name("void cutlass::Kernel2<cutlass_80_gemm>(cutlass_80_gemm::Params)")
    'cutlass_80_gemm'
    >>> short_name("void add<float, (Op)3>(float*)"), short_name("aten::mm", width=5)
    ('add<float, (Op)3>', 'aten…')
    """
    if not text.strip():
        return NO_NAME
    name = _without_parameters(text.removeprefix("void "))
    wrapped = _WRAPPED.fullmatch(name)
    name = wrapped[1] if wrapped else name
    return name if len(name) <= width else f"{name[: width - 1]}…"


def _without_parameters(name: str) -> str:
    """Cut off the parameters at the end of a C++ name, if there are any."""
    bare = _CLONE.sub("", name)
    depth = 0
    for at in range(len(bare) - 1, -1, -1):
        depth += (bare[at] == ")") - (bare[at] == "(")
        if depth <= 0:
            break
    called = bool(bare) and bare[-1] == ")" and depth == 0 and at > 0
    return bare[:at] if called and bare[at - 1] not in " :" else name
