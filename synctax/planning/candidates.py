"""Every layout that a number of GPUs has."""

from collections.abc import Iterator, Mapping, Sequence
from math import comb, prod

import numpy as np

from synctax.arrays import I64
from synctax.errors import SynctaxError
from synctax.notes import Note
from synctax.planning.layout import Layouts, take
from synctax.planning.possible import LARGEST_COUNT
from synctax.planning.rule import divisors
from synctax.planning.shape import Model

MAX_CANDIDATES = 4_000_000
"""Layouts of one search; a few hundred bytes are kept of each."""

DEFAULT_VIRTUAL_STAGES = (1, 2, 4, 8)

MOST_GPUS = LARGEST_COUNT

_DEGREES = 4


def candidates(
    model: Model, gpus: int, virtual_stages: Sequence[int] = DEFAULT_VIRTUAL_STAGES
) -> tuple[Layouts, tuple[Note, ...]]:
    """List every tp·pp·cp·dp = gpus, with every v and every number of expert ranks.

    None is left out because of what it is: rules judge later, with their reasons.

    Parameters
    ----------
    model : Model
        Its experts, if it has any: ep takes every divisor of their number.
    gpus : int
    virtual_stages : sequence of int
        Each v to look at. Without stages there is nothing to interleave, so those layouts
        are listed with v = 1 only, and a note counts what that saves.

    Returns
    -------
    layouts : Layouts
        In ascending order of tp, pp, cp, ep and v.
    notes : tuple of Note

    Raises
    ------
    SynctaxError
        If `gpus` or a v is impossible, or there are more layouts than MAX_CANDIDATES.

    Examples
    --------
    >>> from synctax.planning.inputs.named import read_model
    >>> layouts, notes = candidates(read_model("llama3-405b"), 4, (1,))
    >>> [str(layouts[at]) for at in range(3)], len(layouts)
    (['tp1,pp1,dp4', 'tp1,pp1,dp2,cp2', 'tp1,pp1,dp1,cp4'], 10)
    """
    stages = _stages(virtual_stages)
    if not 1 <= gpus <= MOST_GPUS:
        raise SynctaxError(f"gpus is {gpus:,}; expected from 1 to {MOST_GPUS:,}")
    factors = dict(_factors(gpus))
    ep = divisors(1 if model.experts is None else model.experts.count)
    many = prod(comb(power + _DEGREES - 1, power) for power in factors.values())
    many *= ep.size * len(stages)
    if many > MAX_CANDIDATES:
        raise SynctaxError(
            f"{gpus:,} GPUs have some {many:,} layouts of {model.name}, and one search "
            f"looks at {MAX_CANDIDATES:,}; name layouts, or fewer virtual stages"
        )
    degrees = _products(divisors(gpus), gpus)
    t, p, c, e, v = _every(degrees, ep, np.array(stages))
    kept = (p > 1) | (v == stages[0])
    v = np.where(p > 1, v, 1)[kept]
    t, p, c, e = t[kept], p[kept], c[kept], e[kept]
    layouts = Layouts(t, p, gpus // (t * p * c), c, e, v)
    return layouts, tuple(_same(stages, int((~kept).sum())))


def with_degrees(layouts: Layouts, only: Mapping[str, int]) -> tuple[Layouts, Note]:
    """Take only the layouts that have some degrees.

    Parameters
    ----------
    layouts : Layouts
    only : mapping of str to int
        Of tp, pp, dp, cp and ep.

    Returns
    -------
    layouts : Layouts
    note : Note
        How many others there are.

    Raises
    ------
    SynctaxError
        If there is none.
    """
    kept = np.ones(len(layouts), np.bool_)
    for name, degree in only.items():
        kept &= getattr(layouts, name) == degree
    asked = ",".join(f"{name}{degree}" for name, degree in only.items())
    if not kept.any():
        raise SynctaxError(
            f"none of {len(layouts):,} layouts has {asked}; tp·pp·dp·cp are the GPUs, and "
            "ep divides the experts"
        )
    others = int((~kept).sum())
    return take(layouts, np.flatnonzero(kept)), Note(
        "degrees_not_asked", others, f"other layouts than those with {asked}"
    )


def _same(stages: tuple[int, ...], many: int) -> Iterator[Note]:
    if many:
        yield Note(
            "virtual_stages_without_pipeline",
            many,
            f"layouts with pp 1 are listed once, not for each v of {stages}",
        )


def _stages(virtual_stages: Sequence[int]) -> tuple[int, ...]:
    stages = tuple(sorted(set(virtual_stages)))
    if not stages or stages[0] < 1:
        raise SynctaxError(f"virtual stages are {list(stages)}; expected 1 or more each")
    return stages


def _products(divisors: I64, gpus: int) -> tuple[I64, I64, I64]:
    """Pair up divisors whose product divides `gpus`, twice."""
    i, j = np.nonzero((gpus // divisors)[:, None] % divisors == 0)
    t, p = divisors[i], divisors[j]
    at, k = np.nonzero((gpus // (t * p))[:, None] % divisors == 0)
    return t[at], p[at], divisors[k]


def _every(degrees: tuple[I64, I64, I64], ep: I64, stages: I64) -> tuple[I64, ...]:
    inner = ep.size * stages.size
    outer = degrees[0].size
    return (
        *(np.repeat(one, inner) for one in degrees),
        np.tile(np.repeat(ep, stages.size), outer),
        np.tile(stages, outer * ep.size),
    )


def _factors(number: int) -> Iterator[tuple[int, int]]:
    prime = 2
    while prime * prime <= number:
        power = 0
        while number % prime == 0:
            number //= prime
            power += 1
        if power:
            yield prime, power
        prime += 1
    if number > 1:
        yield number, 1
