"""Links and domains that can be bought: what their makers state."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from synctax.errors import SynctaxError


@dataclass(frozen=True, slots=True)
class Hardware:
    """A GPU as its links join it to others.

    Parameters
    ----------
    name, title : str
    domain : int
        GPUs in one domain.
    link_gb_per_s : float or None
        Line rate of a GPU in GB/s (10^9 bytes a second) per direction; None unannounced.
    bf16_tflops : float or None
        Dense BF16 peak in 10^12 operations a second.
    source : str
    """

    name: str
    title: str
    domain: int
    link_gb_per_s: float | None
    bf16_tflops: float | None
    source: str


@cache
def all_hardware() -> tuple[Hardware, ...]:
    """Read every preset, in the order of the file."""
    text = files("synctax.bandwidth").joinpath("hardware.toml").read_text("utf-8")
    return tuple(
        Hardware(
            name,
            entry["title"],
            entry["domain"],
            _float(entry.get("link_gb_per_s")),
            _float(entry.get("bf16_tflops")),
            entry["source"],
        )
        for name, entry in tomllib.loads(text).items()
    )


def hardware(name: str) -> Hardware:
    """Find a preset by its name, in any case.

    Raises
    ------
    SynctaxError
        If there is none of that name.

    Examples
    --------
    >>> hardware("h200").link_gb_per_s, hardware("gb200-nvl72").domain
    (450.0, 72)
    """
    known = {one.name: one for one in all_hardware()}
    if name.lower() not in known:
        raise SynctaxError(f"no hardware {name!r}; there are {', '.join(known)}")
    return known[name.lower()]


def _float(value: float | None) -> float | None:
    return None if value is None else float(value)
