"""What `synctax report` goes through: each later stage may fail, and says why."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from synctax.cli.recall import Sources
from synctax.errors import BadInputError, SynctaxError
from synctax.report.output import Output, notes
from synctax.report.page.content import Missing, Worth

if TYPE_CHECKING:
    from synctax.attribution.attribute import Attribution
    from synctax.collectives.tax import Tax
    from synctax.evt.results import EvtFit
    from synctax.trace.pool import Workers
    from synctax.workspace import Workspace

Found = TypeVar("Found")


NO_WORTH = "what bandwidth is worth cannot be told"


@dataclass(frozen=True, slots=True)
class Asked:
    """What of the traces is shown, and for what."""

    sources: Sources
    group: str | None
    op: str | None
    topologies: tuple[str, ...]
    n: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Reading:
    """How traces are read: into which workspace, by how many, and how it is told.

    `broken` collects what later stages found broken in the input.
    """

    space: "Workspace | None"
    workers: "Workers"
    out: Output
    broken: list[BadInputError] = field(default_factory=list)


def measured(asked: Asked, reading: Reading) -> "Tax":
    """Read and measure; without this there is no page."""
    from synctax.cli.reading import measure_again, worth_saying
    from synctax.report.page.build import require_counted

    tax, unwritable = measure_again(
        asked.sources,
        reading.space,
        reading.out,
        reading.workers,
        group=asked.group,
        op=asked.op,
    )
    said = worth_saying(tax.excluded(), reading.out.verbosity)
    notes([*([unwritable] if unwritable else []), *said], reading.out)
    require_counted(tax)
    return tax


def attributed(tax: "Tax", reading: Reading) -> "Attribution | Missing":
    """Find out who made the others wait."""
    from synctax.attribution.attribute import attribute
    from synctax.cli.progress import RoundsOfFiles

    def find() -> "Attribution":
        with RoundsOfFiles(verbosity=reading.out.verbosity) as rounds:
            return attribute(
                tax,
                workers=reading.workers,
                cache=reading.space,
                on_progress=rounds.on_progress,
                on_round=rounds.on_round,
            )

    return _or_missing("nobody can be blamed", find, reading)


def fitted(tax: "Tax", asked: Asked, reading: Reading) -> "EvtFit | Missing":
    """Fit how the wait grows."""
    from synctax.attribution.blocks import block_times
    from synctax.cli.progress import RoundsOfFiles, counting_up
    from synctax.cli.recall import near
    from synctax.evt.fit import fit_evt
    from synctax.evt.options import Options
    from synctax.evt.tax import Origin

    sources = asked.sources
    names = sources.traces or (str(sources.manifest),)
    origin = Origin("traces", tuple(map(near, names)))

    def find() -> "EvtFit":
        verbosity = reading.out.verbosity
        with RoundsOfFiles(verbosity=verbosity) as rounds:
            blocks = block_times(
                tax,
                workers=reading.workers,
                cache=reading.space,
                on_progress=rounds.on_progress,
                on_round=rounds.on_round,
            )
        with counting_up(
            what="resamples", verbosity=verbosity, doing="fitting"
        ) as on_resample:
            return fit_evt(
                blocks, options=Options(n=asked.n), source=origin, on_resample=on_resample
            )

    return _or_missing("how the wait grows cannot be fitted", find, reading)


def worth(fit: "EvtFit | Missing", asked: Asked, reading: Reading) -> Worth | Missing:
    """Tell what bandwidth is worth with the wait that was fitted."""
    from synctax.cli import bandwidth_setup as setting_up
    from synctax.cli.bandwidth_results import best
    from synctax.cli.bandwidth_tax import fitted_tax

    if isinstance(fit, Missing):
        why = "without a fit there is no tax to compute with"
        notes([f"{NO_WORTH}: {why}"], reading.out)
        return Missing(why)

    def find() -> Worth:
        tax = fitted_tax(fit.tax_model())
        links = setting_up.Asked(
            topologies=asked.topologies,
            op=None,
            payload_bytes=None,
            alpha_us=None,
            link_gb_per_s=None,
            hardware=None,
            torus=None,
            domain=None,
            nic_gb_per_s=None,
            nic_alpha_us=None,
            across="ring",
        )
        setup = setting_up.set_up(links, tax)
        ranks = setting_up.sizes(links, setup, asked.n, tax)
        wait = tax.wait(ranks)
        result, setting = best(setup, tax, links, wait, elasticities=None, price=None)
        doubts = (*tax.notes, *tax.trust(max(*ranks, tax.least_n)))
        return Worth(result.frame, setting, doubts)

    return _or_missing(NO_WORTH, find, reading)


def _or_missing(
    what: str, find: "Callable[[], Found]", reading: Reading
) -> "Found | Missing":
    """Find a result, or say on stderr why there is none; the page will say it, too.

    What is broken in the input is kept: the command fails with it when the page is there.
    """
    try:
        return find()
    except SynctaxError as error:
        notes([f"{what}: {error}"], reading.out)
        if isinstance(error, BadInputError):
            reading.broken.append(error)
        return Missing(str(error))
