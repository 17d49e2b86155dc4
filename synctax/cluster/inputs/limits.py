"""What numbers of a job can be: beyond these, what follows from them overflows."""

from typing import Final

LEAST_ITERATION_S: Final = 1e-9
"""A shorter iteration is none: a job would have infinitely many."""

LEAST_NETWORK_S: Final = 1e-12
"""A shorter time in which bytes are sent would make an infinite rate of them."""

MOST_BYTES: Final = 1e24
"""More in an iteration are in another unit."""
