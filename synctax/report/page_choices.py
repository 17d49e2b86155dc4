"""Defaults of a page, where the help of a command finds them without numpy."""

DEFAULT_PATHS = 500
"""Collectives whose paths a page has, at most."""
