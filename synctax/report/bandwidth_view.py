"""What bandwidth is worth, for people to read: a table, a curve, sentences."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from synctax.report import tables
from synctax.report.bandwidth_text import (
    Row,
    Setting,
    basis,
    below,
    elasticity_text,
    fits,
)
from synctax.report.curves import Curve, log_log
from synctax.report.tables import Field, Sentence, records
from synctax.report.text_plots import can_show_blocks
from synctax.texts import ABSENT, is_absent, number, percent, rate_gb_per_s, time_us

if TYPE_CHECKING:
    from rich.console import RenderableType

    from synctax.report.output import Result


def parts(result: "Result", setting: Setting) -> "list[RenderableType]":
    """Lay out best bandwidths: the table, a curve of its first topology, sentences."""
    rows = records(result.frame)
    shown: list[RenderableType] = [_table(rows), ""]
    if drawn := _drawn(rows):
        shown += [*drawn, ""]
    shown += [Sentence(text) for text in verdict(rows, setting)]
    return [*shown, "", *map(Sentence, basis(rows, setting)), *fits(setting)]


def _table(rows: Sequence[Row]) -> "RenderableType":
    """A line per topology and size; elasticities stand side by side."""
    by_key: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        by_key.setdefault((row["topology"], row["n"]), []).append(row)
    lines = list(by_key.values())
    first = [line[0] for line in lines]
    taxed = any(row["tau_us"] for row in rows)
    fields = [
        Field("topology", [row["topology"] for row in first], right=False),
        Field("n", [number(row["n"]) for row in first]),
    ]
    if taxed:
        fields.append(Field("tax", [time_us(row["tau_us"]) for row in first], rank=1))
    told = any(not is_absent(row["gb_per_s_lo"]) for row in rows)
    for i, row in enumerate(lines[0]):
        at = f"ε {elasticity_text(row['elasticity'])}"
        column = [line[i] for line in lines]
        fields.append(
            Field(f"B* at {at}", [rate_gb_per_s(one["gb_per_s"]) for one in column])
        )
        if told:
            fields.append(Field("interval", [_interval(one) for one in column], rank=4))
        if taxed:
            hockney = [rate_gb_per_s(one["hockney_gb_per_s"]) for one in column]
            fields.append(Field("Hockney", hockney, rank=3))
    if taxed:
        fields.append(Field("below", [below(row["reduction"]) for row in first]))
    if not is_absent(first[0]["cost"]):
        fields.append(Field("cost", [number(row["cost"]) for row in first], rank=2))
    if not is_absent(first[0]["link_gb_per_s"]):
        today = [elasticity_text(row["link_elasticity"]) for row in first]
        fields.append(Field("ε today", today, rank=2))
    return tables.table(fields)


def _interval(row: Row) -> str:
    low, high = row["gb_per_s_lo"], row["gb_per_s_hi"]
    if is_absent(low):
        return ABSENT
    top = "no end" if is_absent(high) else rate_gb_per_s(high)
    return f"{rate_gb_per_s(low)} – {top}"


def _drawn(rows: Sequence[Row]) -> list[str]:
    """Draw B* over n with the tax and without, of the topology where that differs most."""
    first = max(rows, key=lambda row: (row["n"], row["reduction"]))
    own = [
        row
        for row in rows
        if (row["topology"], row["elasticity"]) == (first["topology"], first["elasticity"])
    ]
    x = np.array([row["n"] for row in own], np.float64)

    def column(name: str) -> "np.ndarray[Any, np.dtype[np.float64]]":
        absent = [np.nan if is_absent(row[name]) else row[name] for row in own]
        return np.array(absent, np.float64)

    curves = [Curve("B* with the tax", "●", "*", x, column("gb_per_s"))]
    if first["tau_us"]:
        curves.append(Curve("without", "○", "o", x, column("hockney_gb_per_s")))
    else:
        curves = [Curve("B*", "●", "*", x, column("gb_per_s"))]
    if not is_absent(first["link_gb_per_s"]):
        curves.append(Curve("today's link", "┄", "-", x, column("link_gb_per_s")))
    lines = log_log(curves, blocks=can_show_blocks())
    if not lines:
        return []
    at = elasticity_text(first["elasticity"])
    return [f"{first['topology']}, ε {at}: GB/s over the number of ranks", *lines]


def verdict(rows: Sequence[Row], setting: Setting) -> list[str]:
    """Say for the largest size of each topology what bandwidth is worth.

    Parameters
    ----------
    rows : sequence of mapping
        Of `schema.BANDWIDTH`.
    setting : Setting

    Returns
    -------
    list of str
    """
    said = []
    for topology in dict.fromkeys(row["topology"] for row in rows):
        own = [row for row in rows if row["topology"] == topology]
        largest = max(row["n"] for row in own)
        last = [row for row in own if row["n"] == largest]
        said.append(f"{topology}, n = {number(largest)}: {_worth(last)}")
        if not is_absent(last[0]["link_gb_per_s"]):
            said.append(f"{topology}: {_today(last[0])}")
    return [*said, *_crosses(setting)]


def _worth(last: Sequence[Row]) -> str:
    row, *others = last
    more = "".join(
        f"; at {elasticity_text(one['elasticity'])} {rate_gb_per_s(one['gb_per_s'])}"
        f"{_in_brackets(one)}"
        for one in others
    )
    return f"{_best(row)}{more}"


def _best(row: Row) -> str:
    at = f"ε = {elasticity_text(row['elasticity'])}"
    best = rate_gb_per_s(row["gb_per_s"])
    if not row["tau_us"]:
        return f"B* at {at} is {best} (Hockney's model, no tax)"
    interval = "" if is_absent(row["gb_per_s_lo"]) else f" ({_interval(row)})"
    hockney = row["hockney_gb_per_s"]
    if is_absent(hockney):
        return f"B* at {at} is {best}{interval}; without the tax no bandwidth is enough"
    return (
        f"B* at {at} is {best}{interval}, {below(row['reduction'])} below the "
        f"{rate_gb_per_s(hockney)} of Hockney's model"
    )


def _in_brackets(row: Row) -> str:
    return "" if is_absent(row["gb_per_s_lo"]) else f" ({_interval(row)})"


def _today(row: Row) -> str:
    ratio, link = row["link_ratio"], rate_gb_per_s(row["link_gb_per_s"])
    if ratio >= 1:
        where = f"{number(ratio)} × B*: more than is worth having at that ε"
    else:
        where = f"{percent(ratio)} of B*: there is room for more"
    names = {"transfer": "transfer", "latency": "latency", "tax": "tax"}
    if row["nic_us"]:
        names["latency"] = "latency and links between domains"
    parts_of_time = ", ".join(
        f"{percent(row[f'link_{name}_share'])} {word}" for name, word in names.items()
    )
    saved = number(-row["link_elasticity"], digits=2)
    return (
        f"today's {link} is {where}; 1 % more of it saves {saved} % of "
        f"{time_us(row['link_time_us'])} ({parts_of_time})"
    )


def _crosses(setting: Setting) -> Iterator[str]:
    """Say from where on the tax outweighs the transfer, once for all that agree."""
    for found in dict.fromkeys(setting.crossings.values()):
        own = [name for name, one in setting.crossings.items() if one == found]
        names = ", ".join(own)
        if found.n is None:
            yield (
                f"{names}: the tax stays below the transfer over today's link up to "
                f"{number(setting.largest_n)} ranks"
            )
            continue
        n = number(found.n)
        if not found.lasts:
            where = f"at n = {n}, but not at every larger n"
        elif found.at_first:
            where = f"at every n from the {n} ranks on that the tax begins with"
        else:
            where = f"from n = {n} on"
        yield f"{names}: the tax outweighs the transfer over today's link {where}"
