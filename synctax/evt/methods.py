"""The predictors by name; without numpy, so that the command line starts fast."""

from typing import Literal, get_args

Method = Literal["gumbel", "gev", "lmoments", "deviations"]
METHODS: tuple[Method, ...] = get_args(Method)
