"""What bandwidth is worth, for people to read: a table, a curve, sentences."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from synctax.report import tables
from synctax.report.curves import Curve, log_log
from synctax.report.tables import (
    Field,
    Sentence,
    number,
    rate_gb_per_s,
    size_bytes,
    time_us,
)
from synctax.report.text_plots import can_show_blocks

if TYPE_CHECKING:
    from rich.console import RenderableType

    from synctax.bandwidth.calibrate import Calibration
    from synctax.report.output import Result

FAR = 8.0
"""From so many times the ranks of the fit on, a prediction is far from its data."""

PER_DIRECTION = "GB/s are 10⁹ bytes a second, per GPU and direction"

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Setting:
    """What a result was computed for, in words and numbers.

    Parameters
    ----------
    tax : str
        Which tax was used.
    link : str
        Which link is today's; "" without one.
    crossings : mapping
        By topology, from how many ranks on the tax outweighs the transfer; None never.
    largest_n : int
        Up to how many ranks that was looked for.
    fits : tuple of Calibration
        Links fitted to nccl-tests.
    torus : tuple of int
        Dimensions, if they were given.
    n_fit : int or None
        Ranks that the tax was fitted on; None without a tax.
    levels : str
        How domains are joined, where links are hierarchical.
    """

    tax: str
    link: str
    crossings: dict[str, int | None]
    largest_n: int
    fits: "tuple[Calibration, ...]" = ()
    torus: tuple[int, ...] = ()
    n_fit: int | None = None
    levels: str = ""


def parts(result: "Result", setting: Setting) -> "list[RenderableType]":
    """Lay out best bandwidths: the table, a curve of its first topology, sentences."""
    rows = _records(result)
    shown: list[RenderableType] = [_table(rows), ""]
    if drawn := _drawn(rows):
        shown += [*drawn, ""]
    shown += [Sentence(text) for text in verdict(rows, setting)]
    return [*shown, "", *map(Sentence, _basis(rows, setting)), *_fits(setting)]


def flops_parts(result: "Result", setting: Setting) -> "list[RenderableType]":
    """Lay out how bandwidth should grow with FLOPS, in every reading."""
    rows = _records(result)
    said = [*flops_verdict(rows), "", *_basis(rows, setting)]
    return [_flops_table(rows), "", *map(Sentence, said), *_fits(setting)]


def _records(result: "Result") -> list[Row]:
    records = result.frame.astype(object).to_dict("records")
    return [{str(name): value for name, value in row.items()} for row in records]


# ------------------------------------------------------------------ best bandwidths


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
    told = any(not tables.is_absent(row["gb_per_s_lo"]) for row in rows)
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
    if not tables.is_absent(first[0]["cost"]):
        fields.append(Field("cost", [number(row["cost"]) for row in first], rank=2))
    if not tables.is_absent(first[0]["link_gb_per_s"]):
        today = [elasticity_text(row["link_elasticity"]) for row in first]
        fields.append(Field("ε today", today, rank=2))
    return tables.table(fields)


def below(share: float) -> str:
    """Write by how much a bandwidth is lower, with two digits after the point.

    Examples
    --------
    >>> below(0.372613), below(-0.0001)
    ('37.26 %', '−0.01 %')
    """
    return f"{100 * share:.2f} %".replace("-", "−")


def elasticity_text(value: float) -> str:
    """Write an elasticity with a real minus sign.

    Examples
    --------
    >>> elasticity_text(-0.5), elasticity_text(-0.16455)
    ('−0.5', '−0.165')
    """
    return f"−{number(-value)}"


def _interval(row: Row) -> str:
    low, high = row["gb_per_s_lo"], row["gb_per_s_hi"]
    if tables.is_absent(low):
        return tables.ABSENT
    top = "no end" if tables.is_absent(high) else rate_gb_per_s(high)
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
        absent = [np.nan if tables.is_absent(row[name]) else row[name] for row in own]
        return np.array(absent, np.float64)

    curves = [Curve("B* with the tax", "●", "*", x, column("gb_per_s"))]
    if first["tau_us"]:
        curves.append(Curve("without", "○", "o", x, column("hockney_gb_per_s")))
    else:
        curves = [Curve("B*", "●", "*", x, column("gb_per_s"))]
    if not tables.is_absent(first["link_gb_per_s"]):
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
        if not tables.is_absent(last[0]["link_gb_per_s"]):
            said.append(f"{topology}: {_today(last[0])}")
    return [*said, *_crosses(setting)]


def _worth(last: Sequence[Row]) -> str:
    row, *others = last
    more = "".join(
        f"; at {elasticity_text(one['elasticity'])} {rate_gb_per_s(one['gb_per_s'])}"
        for one in others
    )
    return f"{_best(row)}{more}"


def _best(row: Row) -> str:
    at = f"ε = {elasticity_text(row['elasticity'])}"
    best = rate_gb_per_s(row["gb_per_s"])
    if not row["tau_us"]:
        return f"B* at {at} is {best} (Hockney's model, no tax)"
    interval = "" if tables.is_absent(row["gb_per_s_lo"]) else f" ({_interval(row)})"
    hockney = row["hockney_gb_per_s"]
    if tables.is_absent(hockney):
        return f"B* at {at} is {best}{interval}; without the tax no bandwidth is enough"
    return (
        f"B* at {at} is {best}{interval}, {below(row['reduction'])} below the "
        f"{rate_gb_per_s(hockney)} of Hockney's model"
    )


def _today(row: Row) -> str:
    ratio, link = row["link_ratio"], rate_gb_per_s(row["link_gb_per_s"])
    if ratio >= 1:
        where = f"{number(ratio)} × B*: more than is worth having at that ε"
    else:
        where = f"{tables.percent(ratio)} of B*: there is room for more"
    names = {"transfer": "transfer", "latency": "latency", "tax": "tax"}
    if row["nic_us"]:
        names["latency"] = "latency and links between domains"
    parts_of_time = ", ".join(
        f"{tables.percent(row[f'link_{name}_share'])} {word}"
        for name, word in names.items()
    )
    saved = number(-row["link_elasticity"], digits=2)
    return (
        f"today's {link} is {where}; 1 % more of it saves {saved} % of "
        f"{time_us(row['link_time_us'])} ({parts_of_time})"
    )


def _crosses(setting: Setting) -> Iterator[str]:
    """Say from where on the tax outweighs the transfer, once for all that agree."""
    for found in dict.fromkeys(setting.crossings.values()):
        own = [name for name, n in setting.crossings.items() if n == found]
        names = ", ".join(own)
        if found is None:
            yield (
                f"{names}: the tax stays below the transfer over today's link up to "
                f"{number(setting.largest_n)} ranks"
            )
        else:
            yield (
                f"{names}: the tax outweighs the transfer over today's link from "
                f"n = {number(found)} on"
            )


def _basis(rows: Sequence[Row], setting: Setting) -> Iterator[str]:
    """Say what was assumed, and how far it reaches."""
    first = rows[0]
    alphas = dict.fromkeys(number(row["alpha_us"]) for row in rows)
    yield (
        f"{first['op']} of {size_bytes(first['payload_bytes'])}, "
        f"α = {' or '.join(alphas)} µs, {PER_DIRECTION}"
    )
    yield f"tax: {setting.tax}"
    if setting.link:
        yield f"today's link: {setting.link}"
    if setting.levels:
        yield f"hierarchical: {setting.levels}"
    odd = [r["n"] for r in rows if r["topology"] == "torus3d" and not _is_cube(r["n"])]
    if odd and not setting.torus:
        yield (
            f"torus3d: ∛n is taken as a real number where n is no cube ({number(odd[0])}); "
            "--torus 8x8x4 gives dimensions"
        )
    largest = max(row["n"] for row in rows)
    if setting.n_fit is not None and largest > FAR * setting.n_fit:
        yield (
            f"n = {number(largest)} is {number(largest / setting.n_fit)} times the "
            f"{setting.n_fit} ranks of the fit: far beyond what it has seen"
        )


def _is_cube(n: int) -> bool:
    return int(round(float(n) ** (1 / 3)) ** 3) == n


# ------------------------------------------------------------------ growth of FLOPS


def _flops_table(rows: Sequence[Row]) -> "RenderableType":
    return tables.table(
        [
            Field("topology", [row["topology"] for row in rows], right=False),
            Field("n", [number(row["n"]) for row in rows]),
            Field("FLOPS", [f"× {number(row['flops_growth'])}" for row in rows]),
            Field("τ", [row["tau_with_flops"] for row in rows], right=False),
            Field("ε", [row["grounding"] for row in rows], right=False),
            Field("B*", [rate_gb_per_s(row["gb_per_s"]) for row in rows]),
            Field("growth", [f"× {number(row['growth'])}" for row in rows], rank=1),
            Field("Hockney", [rate_gb_per_s(row["hockney_gb_per_s"]) for row in rows]),
            Field("growth", [f"× {number(row['hockney_growth'])}" for row in rows], rank=1),
            Field("below", [below(row["reduction"]) for row in rows]),
            Field("ε today", [elasticity_text(row["elasticity"]) for row in rows], rank=2),
        ]
    )


def flops_verdict(rows: Sequence[Row]) -> list[str]:
    """Say for the largest size and growth of each topology what each reading claims.

    Parameters
    ----------
    rows : sequence of mapping
        Of `schema.BANDWIDTH_FLOPS`.

    Returns
    -------
    list of str
    """
    said = []
    for topology in dict.fromkeys(row["topology"] for row in rows):
        own = [row for row in rows if row["topology"] == topology]
        largest = max((row["n"], row["flops_growth"]) for row in own)
        last = [row for row in own if (row["n"], row["flops_growth"]) == largest]
        asked = next(row for row in last if row["asked"])
        said.append(
            f"{topology}, n = {number(asked['n'])}: with {number(asked['flops_growth'])} × "
            f"the FLOPS bandwidth should grow {number(asked['growth'])} ×, "
            f"{below(asked['reduction'])} below the {number(asked['hockney_growth'])} × of "
            f"Hockney's model ({_reading(asked)})"
        )
        others = [row for row in last if not row["asked"]]
        said += [f"{topology}: {_reading(r)}: {below(r['reduction'])}" for r in others]
    return said


def _reading(row: Row) -> str:
    moves = {"stays": "τ stays", "shrinks": "τ shrinks with the computation"}
    own = {"own": "each model has its own ε", "common": "both have one ε"}
    return f"{moves[row['tau_with_flops']]}, {own[row['grounding']]}"


# ------------------------------------------------------------------ fitted links


def _fits(setting: Setting) -> "Iterator[RenderableType]":
    for fit in setting.fits:
        yield Sentence(fit_text(fit))
    if len(setting.fits) > 1:
        yield Sentence("a benchmark ran one algorithm: believe the fit of the one it used")


def fit_text(fit: "Calibration") -> str:
    """Say what a fit of nccl-tests found, and how well.

    Parameters
    ----------
    fit : Calibration
    """
    worst = int(np.abs(fit.residual).argmax())
    size = size_bytes(fit.measured[worst].payload_bytes)
    alpha = (
        f"α = {number(fit.alpha_us)} ± {number(fit.alpha_us_se)} µs"
        if fit.alpha_us_se
        else f"α = {number(fit.alpha_us)} µs as given"
    )
    return (
        f"{fit.layout.topology}: nccl-tests ({len(fit.measured)} lines) give {alpha}, "
        f"B = {number(fit.gb_per_s)} ± {number(fit.gb_per_s_se)} GB/s, R² {fit.r2:.4f}; "
        f"largest residual {100 * fit.residual[worst]:+.1f} % at {size}"
    )


# ------------------------------------------------------------------ algorithms


def algorithms_parts(result: "Result") -> "list[RenderableType]":
    """Lay out p and q of every algorithm, then its source, and what has none."""
    rows = _records(result)
    known = [row for row in rows if row["refused"] is None]
    shown: list[RenderableType] = [
        tables.table(
            [
                Field(name, [row[name] for row in known], right=False)
                for name in ("topology", "op", "algorithm", "p", "q")
            ]
        ),
        "",
    ]
    for name, missing in (("source", False), ("refused", True)):
        own = [row for row in rows if (row["refused"] is not None) == missing]
        for text in dict.fromkeys(row[name] for row in own):
            names: dict[str, list[str]] = {}
            for row in own:
                if row[name] == text:
                    names.setdefault(row["topology"], []).append(row["op"])
            what = "; ".join(f"{key} {', '.join(ops)}" for key, ops in names.items())
            none = "none: " if missing else ""
            shown.append(Sentence(f"{what}: {none}{text}"))
    return shown
