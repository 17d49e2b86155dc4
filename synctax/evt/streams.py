"""Random numbers of a seed, apart for each use that is made of them."""

from typing import Literal

import numpy as np

Use = Literal[
    "cuts",
    "bootstrap",
    "maxima",
    "segments",
    "hold-out",
    "stragglers",
    "jitter",
    "goodness",
]


def stream(seed: int, use: Use) -> np.random.Generator:
    """Start the random numbers of one use of a seed.

    Drawn from one stream, what is independent would follow each other; and made-up times
    are drawn from the same seed and a small number, such as that of a step. So the name
    of the use, read as a number, is mixed into the seed.

    Parameters
    ----------
    seed : int
        Not negative.
    use : str
        What they are for.

    Returns
    -------
    numpy.random.Generator
        The same for the same seed and use.
    """
    return np.random.default_rng([seed, int.from_bytes(use.encode(), "big")])
