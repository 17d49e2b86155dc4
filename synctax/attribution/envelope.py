"""What JSON holds of an attribution beside the rows of its table."""

from typing import TYPE_CHECKING, Any

from synctax.attribution.facts import Facts, facts, overall
from synctax.attribution.verdict import verdict

if TYPE_CHECKING:
    from synctax.attribution.attribute import Attribution


def envelope(found: "Attribution") -> dict[str, Any]:
    """Collect what JSON holds beside the rows: of all together, then of each role.

    Returns
    -------
    dict
        `slope`, `r2`, `placebo_r2`, `residual_us` (median |tax - path variation|),
        `collectives` and so on over all roles; `verdict`, a list of sentences; `groups`,
        a list of the same keys for each role.
    """
    every = facts(found)
    told = {one.group: list(verdict(one)) for one in every}
    several = len(told) > 1
    sentences = [
        f"{group}: {text}" if several else text for group in told for text in told[group]
    ]
    groups = [
        {"group": one.group, **_keys(one), "verdict": told[one.group]} for one in every
    ]
    return {**_keys(overall(found)), "verdict": sentences, "groups": groups}


def _keys(told: Facts) -> dict[str, Any]:
    fit = told.fit
    return {
        "slope": fit.slope,
        "r2": fit.r2,
        "placebo_r2": fit.placebo_r2,
        "residual_us": fit.residual_us,
        "collectives": fit.n,
        "gpu_only_share": told.gpu_only_share,
        "intercept_us": fit.intercept_us,
        "residual_max_us": fit.residual_max_us,
        "tax_us": told.tax_us,
        "cpu_share_of_tax": told.cpu_share_of_tax,
        "carried_share": told.carried_share,
        "propagated_share": told.propagated_share,
        "diffuse_share": told.diffuse_share,
        "overlapped_share": told.overlapped_share,
        "gaps": {f"{kind}_us": own for kind, own in told.latency_us.items()},
        "equal_work": {
            "compared": told.compared,
            "equal": told.equal_work,
            "equal_geometry": told.equal_geometry,
        },
        "not_attributed": dict(told.left_out),
        "outliers": [
            {
                "group": one.group,
                "group_ranks": one.group_ranks,
                "op": one.op,
                "index": one.index,
                "residual_us": one.residual_us,
                "why": one.why,
                "idle_us": one.idle_us,
                "rank": one.rank,
            }
            for one in told.outliers
        ],
    }
