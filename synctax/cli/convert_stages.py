"""What `convert` was asked, and the trace that is read for it."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, cast

import click

from synctax.cli.asking import read_named
from synctax.cli.progress import reading
from synctax.cluster.characterize.pool import default_pool
from synctax.cluster.convert.convert import Converted
from synctax.cluster.convert.convert import convert as convert_trace
from synctax.cluster.convert.formats import FORMATS
from synctax.cluster.convert.found import Attempts, Fractional, Options, Status
from synctax.cluster.convert.gavel import read_throughputs
from synctax.cluster.convert.values import time_zone

_TIMED: Final = frozenset(("philly", "helios", "acme", "pai", "openb", "slurm"))
"""Formats whose jobs have a start and an end, or no run time at all."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Options of the command line."""

    files: tuple[str, ...]
    source: str | None
    status: str
    attempts: str
    fractional: str
    timezone: str | None
    throughputs: str | None
    gpu_type: str
    assume_duration_s: float | None

    @property
    def parameters(self) -> dict[str, Any]:
        """What the envelope holds."""
        told = asdict(self)
        del told["source"]
        return told

    @property
    def options(self) -> Options:
        """Read what is in files, too."""
        rates = None
        if self.throughputs is not None:
            rates = read_throughputs(self.throughputs, self.gpu_type)
        return Options(
            attempts=cast("Attempts", self.attempts),
            status=cast("Status", self.status),
            fractional=cast("Fractional", self.fractional),
            timezone=self.timezone,
            rates=rates,
            assumed_duration_s=self.assume_duration_s,
        )


def read(asked: Asked, verbosity: int) -> Converted:
    """Read the trace, with progress.

    Raises
    ------
    BadInputError
        If a file cannot be read or is of no known format.
    """
    context = click.get_current_context()
    default = click.core.ParameterSource.DEFAULT
    if asked.throughputs is None and context.get_parameter_source("gpu_type") != default:
        raise click.UsageError("--gpu-type chooses rates of --throughputs; give both")
    if asked.timezone not in (None, "none"):
        zone = str(asked.timezone)
        read_named("--timezone", lambda: time_zone(zone))
    options = asked.options
    sizes = [Path(one).stat().st_size if Path(one).is_file() else 0 for one in asked.files]
    with reading(
        total_files=len(sizes), total_bytes=sum(sizes), verbosity=verbosity
    ) as on_bytes:
        found = convert_trace(
            asked.files,
            source=asked.source,
            options=options,
            workloads=[one.name for one in default_pool()],
            on_bytes=on_bytes,
        )
    _refuse_idle(found)
    return found


def _refuse_idle(found: Converted) -> None:
    """Refuse options that are given and have no say in a format."""
    context, default = click.get_current_context(), click.core.ParameterSource.DEFAULT
    dated = {name for name, one in FORMATS.items() if one.clock != ""}
    of_use = {
        "attempts": {"philly"},
        "timezone": dated,
        "throughputs": {"gavel"},
        "assume_duration_s": set(FORMATS) - _TIMED,
    }
    for name, formats in of_use.items():
        if context.get_parameter_source(name) != default and found.format not in formats:
            raise click.UsageError(
                f"--{name.replace('_', '-')} is of no use with {found.format}, only with "
                f"{', '.join(one for one in FORMATS if one in formats)}; leave it out"
            )
