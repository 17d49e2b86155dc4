"""Pages made by hand: any number of ranks, collectives, and any names.

Only the columns that the page's script reads are made up; script and style are those of
the package.
"""

import html
import json
from collections.abc import Callable
from typing import Any

import numpy as np

from synctax.report.page.assets import asset, library, script

CLASSES = ("gemm", "attention", "elementwise", "copy", "host", "reduction", "norm", "other")
ROLES = ("tp", "fsdp")
OPS = ("all_reduce", "all_gather", "reduce_scatter")
STEPS = 10

Name = Callable[[str], str]


def as_is(name: str) -> str:
    """Leave a name."""
    return name


def page_data(
    n_ranks: int, n_collectives: int, *, paths: int = 3, name: Name = as_is
) -> dict[str, Any]:
    """Make the columns of a page.

    Parameters
    ----------
    n_ranks : int
        A multiple of 4: groups of 4 ranks and of every fourth rank.
    n_collectives : int
    paths : int
        So many collectives, those with the largest taxes, have paths.
    name : callable
        What becomes of every name.
    """
    rng = np.random.default_rng(7)
    tp = [list(range(first, first + 4)) for first in range(0, n_ranks, 4)]
    fsdp = [list(range(first, n_ranks, 4)) for first in range(4)]
    members = tp + fsdp
    group = rng.integers(0, len(members), n_collectives)
    position = rng.integers(0, 1 << 30, n_collectives)
    last = np.array(
        [members[g][p % len(members[g])] for g, p in zip(group, position, strict=True)]
    )
    tax = np.round(rng.lognormal(3.5, 1.6, n_collectives), 3)
    tax[:: max(1, n_collectives // 7)] = 0.0
    transfer = np.round(rng.lognormal(4, 0.3, n_collectives), 3)
    variation = [
        None if k % 11 == 5 else value
        for k, value in enumerate(
            np.round(tax * rng.lognormal(0, 0.2, n_collectives), 3).tolist()
        )
    ]
    kinds = rng.choice(len(CLASSES), n_collectives, p=_shares(len(CLASSES)))
    path = np.full(n_collectives, -1)
    path[np.argsort(-tax)[:paths]] = np.arange(paths)
    groups = [f"tp {m[0]}-{m[-1]}" for m in tp] + [f"fsdp {m[0]},{m[1]},…" for m in fsdp]
    return {
        "schema": "synctax.page/1",
        "names": {
            "groups": [name(one) for one in groups],
            "roles": [name(one) for one in ROLES],
            "ops": [name(one) for one in OPS],
            "classes": [name(one) for one in CLASSES],
            "culprits": [
                name(f"void {one}_kernel_{k}<float>") for k in range(6) for one in CLASSES
            ],
            "status": ["ok", "head"],
            "strings": [name(one) for one in _STRINGS],
        },
        "ranks": list(range(n_ranks)),
        "ranks_of_group": members,
        "role_of_group": [0] * len(tp) + [1] * len(fsdp),
        "steps": [0, STEPS - 1],
        "clock": "aligned",
        "collectives": {
            "group": group.tolist(),
            "op": np.where(group < len(tp), 0, 1 + position % 2).tolist(),
            "index": np.arange(n_collectives).tolist(),
            "step": (np.arange(n_collectives) * STEPS // n_collectives).tolist(),
            "start_us": (np.arange(n_collectives) * 230.0).tolist(),
            "tax_us": tax.tolist(),
            "share": np.round(tax / (tax + transfer), 5).tolist(),
            "transfer_us": transfer.tolist(),
            "payload_bytes": np.full(n_collectives, 8 << 20).tolist(),
            "last": last.tolist(),
            "status": (np.arange(n_collectives) < 4).astype(int).tolist(),
            "counted": (np.arange(n_collectives) >= 4).astype(int).tolist(),
            "culprit": (kinds + len(CLASSES) * (position % 6)).tolist(),
            "class": kinds.tolist(),
            "variation_us": variation,
            "path": path.tolist(),
        },
        "paths": [
            _path(int(row), members[group[row]], int(last[row]), float(tax[row]), name)
            for row in np.argsort(-tax)[:paths]
        ],
        "paths_note": f"paths of the {paths} collectives with the largest taxes",
        "fit": None,
        "bandwidth": None,
    }


_STRINGS = (
    "compute",
    "stream 7",
    "void slow_gemm<float>(float*)",
    "void norm<float>(float*)",
    "queue",
    "host",
    "rank 3 was made late by fsdp all_gather #4",
)


def _shares(count: int) -> "np.ndarray[Any, np.dtype[np.float64]]":
    weights = 0.6 ** np.arange(count)
    return weights / weights.sum()


def _path(
    row: int, members: list[int], last: int, tax_us: float, name: Name
) -> dict[str, Any]:
    first = next(one for one in members if one != last)
    return {
        "row": row,
        "name": name(f"collective #{row}"),
        "fence": name(f"all ranks left #{row - 1}"),
        "culprit": 2,
        "culprit_us": tax_us,
        "origin": 6 if row % 2 else -1,
        "before": None,
        "slow": _side(last, 100.0 + tax_us),
        "fast": _side(first, 100.0),
    }


def _side(rank: int, gemm_us: float) -> dict[str, Any]:
    slow = gemm_us > 100.0
    return {
        "rank": rank,
        "tied": 0,
        "window_us": gemm_us + 40.0,
        "gap_us": 2.0,
        "gap_kind": 4,
        "ev": [
            [2.0, 30.0, 0, 1, 3, 1.0, 4, 0, 0.0 if slow else None, 0],
            [
                33.0,
                gemm_us,
                0,
                1,
                2,
                7.0,
                5,
                1,
                gemm_us - 100.0 if slow else None,
                int(slow),
            ],
        ],
    }


_CHARTS = {
    "measure": ("tax-cdf", "last", "timeline"),
    "attribute": ("variation", "classes", "ranks"),
}


def page_html(data: dict[str, Any]) -> str:
    """Write the page of some columns: what the script needs, and no more.

    Parameters
    ----------
    data : mapping
        As `page_data` makes it.
    """
    own, charting, style = script(), library(), asset("page.css")
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
        f"script-src {charting.source} {own.source}; base-uri 'none'; form-action 'none'"
    )
    names = data["names"]
    groups = [(f"role-{k}", one) for k, one in enumerate(names["roles"])]
    groups += [(f"group-{k}", one) for k, one in enumerate(names["groups"])]
    ops = [(str(k), one) for k, one in enumerate(names["ops"])]
    charts = {
        section: "".join(
            f'<figure><div class="chart needs-js" id="chart-{one}" role="img"'
            f' aria-label="{one}"></div><figcaption>{one}</figcaption></figure>'
            for one in some
        )
        for section, some in _CHARTS.items()
    }
    embedded = json.dumps(data)
    for sign in "<>&":
        embedded = embedded.replace(sign, f"\\u{ord(sign):04x}")
    return f"""<!DOCTYPE html>
<html lang="en" class="no-js"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>A page made by hand</title><style>{style.text}</style></head><body>
<header><h1>A page made by hand</h1>
<button type="button" id="theme" class="needs-js"></button></header><main>
<section id="verdict"><ol class="verdict"><li>One.</li><li>Two.</li></ol></section>
<form id="filters" class="needs-js">
<label>Group <select id="filter-group">{_options(groups)}</select></label>
<label>Operation <select id="filter-op">{_options(ops)}</select></label>
<label>From step <input type="number" id="filter-from"></label>
<label>to <input type="number" id="filter-to"></label>
<label>Search <input type="search" id="filter-text"></label>
<button type="reset">All</button><output id="filter-count"></output></form>
<section id="measure"><h2>Measure</h2>{charts["measure"]}</section>
<section id="attribute"><h2>Attribute</h2>{charts["attribute"]}
<div id="collectives" class="needs-js" tabindex="0"></div>
<div id="paths" aria-live="polite"></div></section></main>
<script type="application/json" id="page-data">{embedded}</script>
<script>{charting.text}</script><script>{own.text}</script></body></html>
"""


def _options(pairs: list[tuple[str, str]]) -> str:
    options = "".join(
        f'<option value="{value}">{html.escape(text)}</option>' for value, text in pairs
    )
    return f'<option value="">all</option>{options}'
