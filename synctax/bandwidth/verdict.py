"""What bandwidth is worth, in sentences that say no more than the rows do."""

from collections.abc import Iterator, Sequence

from synctax.bandwidth.basis import Row, Setting, below, below_or_above, elasticity_text
from synctax.texts import ABSENT, is_absent, number, percent, rate_gb_per_s, time_us


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
    interval = "" if is_absent(row["gb_per_s_lo"]) else f" ({interval_text(row)})"
    hockney = row["hockney_gb_per_s"]
    if is_absent(hockney):
        return f"B* at {at} is {best}{interval}; without the tax no bandwidth is enough"
    return (
        f"B* at {at} is {best}{interval}, {below(row['reduction'])} below the "
        f"{rate_gb_per_s(hockney)} of Hockney's model"
    )


def _in_brackets(row: Row) -> str:
    return "" if is_absent(row["gb_per_s_lo"]) else f" ({interval_text(row)})"


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
            where = f"at every n from {n} on, the fewest ranks looked at"
        else:
            where = f"from n = {n} on"
        yield f"{names}: the tax outweighs the transfer over today's link {where}"


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
            f"{below_or_above(asked['reduction'])} the "
            f"{number(asked['hockney_growth'])} × of Hockney's model ({_reading(asked)})"
        )
        others = [row for row in last if not row["asked"]]
        said += [
            f"{topology}: {_reading(r)}: {below_or_above(r['reduction'])}" for r in others
        ]
    return said


def _reading(row: Row) -> str:
    moves = {"stays": "τ stays", "shrinks": "τ shrinks with the computation"}
    own = {"own": "each model has its own ε", "common": "both have one ε"}
    return f"{moves[row['tau_with_flops']]}, {own[row['grounding']]}"


def interval_text(row: Row) -> str:
    """Write the interval of a best bandwidth; the sign of absence where there is none.

    Parameters
    ----------
    row : mapping
        Of `schema.BANDWIDTH`.
    """
    low, high = row["gb_per_s_lo"], row["gb_per_s_hi"]
    if is_absent(low):
        return ABSENT
    top = "no end" if is_absent(high) else rate_gb_per_s(high)
    return f"{rate_gb_per_s(low)} to {top}"
