"""Every format that is read, and which one a file is."""

from collections.abc import Iterator, Sequence
from typing import Final, Protocol

from synctax.cluster.convert.acme import ACME
from synctax.cluster.convert.chronus import CHRONUS
from synctax.cluster.convert.found import Job, Options, Tally
from synctax.cluster.convert.gavel import GAVEL
from synctax.cluster.convert.helios import HELIOS
from synctax.cluster.convert.lines import Source, shown
from synctax.cluster.convert.machine_lists import machines
from synctax.cluster.convert.muri import MURI
from synctax.cluster.convert.nearest import nearest
from synctax.cluster.convert.openb import OPENB
from synctax.cluster.convert.own import OWN
from synctax.cluster.convert.pai import PAI
from synctax.cluster.convert.philly import PHILLY
from synctax.cluster.convert.pollux import POLLUX
from synctax.cluster.convert.slurm import SLURM
from synctax.cluster.convert.spot import SPOT
from synctax.cluster.convert.table import TableFormat
from synctax.cluster.convert.tiresias import TIRESIAS
from synctax.errors import BadInputError


class Format(Protocol):
    """How a trace is written.

    `name` is what `--from` calls it, `title` is for people, and `clock` the zone of times
    that name none: None where they are taken as they stand, empty where times are numbers.
    """

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def title(self) -> str: ...  # noqa: D102

    @property
    def clock(self) -> str | None: ...  # noqa: D102

    def recognises(self, source: Source) -> bool:
        """Whether a file looks like it."""

    def read(
        self, sources: Sequence[Source], options: Options, tally: Tally
    ) -> Iterator[Job]:
        """Read the jobs of files; rows that become none are counted in the tally."""


FORMATS: Final[dict[str, Format]] = {
    one.name: one
    for one in (
        PHILLY,
        HELIOS,
        ACME,
        PAI,
        OPENB,
        SPOT,
        MURI,
        CHRONUS,
        TIRESIAS,
        POLLUX,
        GAVEL,
        SLURM,
        OWN,
    )
}
"""By name, those before others that could be taken for them."""


def recognise(sources: Sequence[Source]) -> tuple[Format, list[Source], list[Source]]:
    """Tell the format that files have.

    Parameters
    ----------
    sources : sequence of Source
        One or more.

    Returns
    -------
    Format
    list of Source
        Those with jobs.
    list of Source
        Those that belong to a trace but have no jobs.

    Raises
    ------
    BadInputError
        If a file is of no format, if files are of several, or if none has jobs.
    """
    found: dict[str, list[Source]] = {}
    aside: list[Source] = []
    for source in sources:
        told = next((one for one in FORMATS.values() if one.recognises(source)), None)
        if told is not None:
            found.setdefault(told.name, []).append(source)
        elif machines(source):
            aside.append(source)
        else:
            raise BadInputError(_unknown(source))
    if len(found) > 1:
        each = ", ".join(f"{ones[0].name} ({name})" for name, ones in found.items())
        raise BadInputError(f"files of several formats: {each}; convert them one by one")
    if not found:
        raise BadInputError(f"{aside[0].path} has no jobs: it is {machines(aside[0])}")
    name, jobs = next(iter(found.items()))
    return FORMATS[name], jobs, aside


def chosen(
    name: str, sources: Sequence[Source]
) -> tuple[Format, list[Source], list[Source]]:
    """Take files for a format that was named, as `recognise`.

    Raises
    ------
    BadInputError
        If none of the files can have jobs.
    """
    aside = [one for one in sources if machines(one) and not FORMATS[name].recognises(one)]
    jobs = [one for one in sources if one not in aside]
    if not jobs:
        raise BadInputError(f"{aside[0].path} has no jobs: it is {machines(aside[0])}")
    return FORMATS[name], jobs, aside


def _unknown(source: Source) -> str:
    begins = shown(source.first_line)
    if source.damage.detail:
        return (
            f"{source.path}: {source.damage.detail}, and what is left of it, {begins}, "
            "tells no trace"
        )
    tables = [one for one in FORMATS.values() if isinstance(one, TableFormat)]
    told = nearest(source, tables) or f"known are {', '.join(FORMATS)}"
    return f"{source.path} begins {begins}: no trace of jobs that is known; {told}"
