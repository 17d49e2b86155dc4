"""Samples that the tests of fits share."""

import importlib.util
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from synctax.arrays import F64

# of N(0, 1), Gumbel and GEV samples of every size that a fit accepts
seeds = st.integers(0, 10**6)
sizes = st.integers(25, 300)
# scipy divides by shapes: a subnormal one overflows there
shapes = st.floats(-0.35, 0.6, allow_subnormal=False)


def gev_sample(seed: int, n: int, shape: float = 0.0) -> F64:
    """Draw n values of GEV(0, 1, shape)."""
    y = np.random.default_rng(seed).gumbel(size=n)
    return y if abs(shape) < 1e-12 else np.expm1(shape * y) / shape


def coles(name: str, column: int = -1) -> F64:
    """Read a data set of Coles (2001) as OpenTURNS ships it; no code of it runs."""
    found = importlib.util.find_spec("openturns")
    assert found is not None
    assert found.origin is not None
    path = Path(found.origin).parent / "usecases" / f"{name}.csv"
    return np.atleast_2d(np.genfromtxt(path, delimiter=",", skip_header=1).T)[column]
