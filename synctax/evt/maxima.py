"""Whether numbers can be the normalised maxima that they are given as."""

import math

import numpy as np

from synctax.arrays import F64
from synctax.errors import BadInputError
from synctax.texts import number

LARGEST_R = 1.0
"""Spread of block times over their mean; the paper finds 0.02."""

SLACK = 3.0
"""Standard errors by which a mean may miss its bounds: a and b may be of other data."""


def check_maxima(z: F64, m: int, *, source: str = "") -> None:
    """Refuse maxima whose mean no law of ranks can have.

    The mean of a maximum over m ranks lies between their mean a and a + b·√(m - 1),
    whatever their law.

    Parameters
    ----------
    z : (i,) float64
        (maximum - a) / b of each instance; i > 0.
    m : int
        Ranks that they are over.
    source : str
        The file, for the message.

    Raises
    ------
    BadInputError
        If they cannot be.

    References
    ----------
    Hartley and David, Universal bounds for mean range and extreme observation, 1954; for
    ranks that are not independent, Arnold and Groeneveld, 1979.
    """
    scale = float(np.abs(z).max()) or 1.0  # squares of large numbers are none
    unit = z / scale
    mean = scale * float(unit.mean())
    slack = SLACK * scale * float(unit.std()) / math.sqrt(z.size)
    most = math.sqrt(m - 1)
    if mean + slack >= 0 and mean - slack <= most:
        return
    of = f"{source}: " if source else ""
    raise BadInputError(
        f"{of}z has a mean of {number(mean)}, and the maximum over {m} ranks one from 0 to "
        f"{number(most)}; expected (maximum − a)/b, without unit, of {m} ranks"
    )
