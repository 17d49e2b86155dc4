"""Doubts that the variation of block times casts on predictions."""

import math

from synctax.evt.doubts import Check, doubt
from synctax.evt.scenarios import SlowRanks
from synctax.evt.standard import Standard
from synctax.evt.tax import METHODS, Method
from synctax.evt.variation import (
    common_variation,
    deviation_shape,
    rank_effects,
    stragglers,
)
from synctax.texts import counted, number, percent, time_us

SIGNIFICANT_P = 0.01
"""Effects are named only where chance gives them this rarely; the effect counts first."""

MAX_COMMON_SHARE = 0.1
"""Variation common to all ranks, as a share of b², that maxima can hold unharmed."""

MAX_RANK_SHARE = 0.02
"""Variation between ranks that persists, as a share of b²."""

MAX_ASSOCIATION = 0.1
"""Cramér's V of ranks with being slowest: small, by Cohen's convention."""

MIN_RANK_TIMES = 10
"""Independent times of a rank below which only a very slow one can be told from chance."""

MAX_LOST_SKEWNESS = 0.05
"""L-skewness of single ranks that their deviations do not show."""

MAX_MISSING_KURTOSIS = 0.02
"""L-kurtosis that deviations lack in comparison with a normal law."""

_ON_MAXIMA: tuple[Method, ...] = ("gumbel", "gev", "lmoments")


def common(standard: Standard) -> Check:
    """Ask whether all ranks of an instance vary together.

    Parameters
    ----------
    standard : Standard
        Over m > 1 ranks.
    """
    found = common_variation(standard)
    return doubt(
        "common_variation",
        (found.share, MAX_COMMON_SHARE, found.p),
        found.share > MAX_COMMON_SHARE and found.p < SIGNIFICANT_P,
        f"{percent(found.share)} of the variance is common to all ranks: nobody waits for "
        "it, but maxima hold it, so Gumbel, GEV and L-moments predict too much",
        _ON_MAXIMA,
    )


def ranks(standard: Standard, *, slow: SlowRanks | None = None) -> Check:
    """Ask whether the same ranks are slow again and again.

    Parameters
    ----------
    standard : Standard
        Over m > 1 ranks.
    slow : SlowRanks, optional
        Predictions to quote.
    """
    found = rank_effects(standard)
    at = found.slowest
    message = (
        f"rank {found.rank[at]} takes {time_us(found.effect_us[at])} longer than its group "
        "on average"
    )
    if slow is not None:
        message += (
            f": with one such rank {number(slow.n[-1])} wait {time_us(slow.one_us[-1])}, "
            f"with as large a share of them as here {time_us(slow.share_us[-1])}"
        )
    message += "; look at that rank"
    return doubt(
        "rank_effect",
        (found.share, MAX_RANK_SHARE, found.p),
        found.share > MAX_RANK_SHARE and found.p < SIGNIFICANT_P,
        message,
        METHODS,
    )


def straggler(standard: Standard) -> Check:
    """Ask whether the slowest rank is a matter of chance.

    Parameters
    ----------
    standard : Standard
        Over m > 1 ranks.
    """
    found = stragglers(standard)
    return doubt(
        "straggler",
        (found.association, MAX_ASSOCIATION, found.p),
        found.association > MAX_ASSOCIATION and found.p < SIGNIFICANT_P,
        f"rank {found.rank} is slowest in {percent(found.share)} of its instances "
        f"({percent(found.expected_share)} by chance): the wait of more ranks depends on "
        "how many are like it; look at that rank",
        METHODS,
    )


def forgetting(standard: Standard) -> Check:
    """Ask whether ranks forget soon enough to tell one that is persistently slow.

    Parameters
    ----------
    standard : Standard
        Over m > 1 ranks.
    """
    found = rank_effects(standard)
    past = found.memory
    told = found.share > MAX_RANK_SHARE and found.p < SIGNIFICANT_P
    return doubt(
        "rank_memory",
        (past.effective, MIN_RANK_TIMES, math.nan),
        past.lags > 0 and past.effective < MIN_RANK_TIMES and not told,
        f"a rank that is slow stays so for about {counted(past.lags, 'instance')}: its "
        f"times tell as much as {number(round(past.effective))} independent ones, too few "
        "to say whether a rank is persistently slow; profile more steps",
        METHODS,
    )


def skew(standard: Standard, *, m: int | None = None) -> Check:
    """Ask whether deviations hide that ranks are skewed.

    Parameters
    ----------
    standard : Standard
        Over three or more ranks.
    m : int, optional
        Ranks of the groups whose deviations are fitted, if not those of the block times.
    """
    found = deviation_shape(standard, m=m)
    errs = "little" if found.lost_skewness > 0 else "much"
    return doubt(
        "skew",
        (found.lost_skewness, MAX_LOST_SKEWNESS, found.skewness_p),
        abs(found.lost_skewness) > MAX_LOST_SKEWNESS and found.skewness_p < SIGNIFICANT_P,
        "times of ranks are skewed, and less so after the mean of "
        f"{m or standard.times.m} is taken off: deviations predict too {errs}; fit larger "
        "groups",
        ("deviations",),
    )


def light_tail(standard: Standard) -> Check:
    """Ask whether times of ranks are bounded so closely that deviations go beyond.

    Parameters
    ----------
    standard : Standard
        Over m > 1 ranks.
    """
    found = deviation_shape(standard)
    return doubt(
        "light_tail",
        (found.kurtosis_beyond_normal, -MAX_MISSING_KURTOSIS, found.kurtosis_p),
        found.kurtosis_beyond_normal < -MAX_MISSING_KURTOSIS
        and found.kurtosis_p < SIGNIFICANT_P,
        "times of ranks end sooner than a normal law's, their deviations less so: "
        "deviations predict too much; fit larger groups",
        ("deviations",),
    )
