"""Attributions that several tests look at, each made once."""

from functools import cache
from pathlib import Path

import synctax
from synctax.attribution.attribute import Attribution, Options, attribute
from tests.conftest import ROOT

EXAMPLE = ROOT / "examples" / "tp4-fsdp2"


@cache
def attributed(
    folder: Path = EXAMPLE,
    *,
    group: str | None = None,
    window: str = "fence",
    method: str = "path",
    match: str = "counterpart",
) -> Attribution:
    """Attribute the traces of a folder in this process."""
    tax = synctax.measure(synctax.load([str(folder)], workers=1), group=group)
    options = Options(window=window, method=method, match=match)
    return attribute(tax, options=options, workers=1)
