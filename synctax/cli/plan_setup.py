"""What `plan` computes with: inputs that are read, changed and checked as options ask."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from synctax.cli.asking import bad_option, read_named
from synctax.cli.bandwidth_tax import Tax
from synctax.errors import SynctaxError
from synctax.notes import Note
from synctax.planning.barriers import Joined
from synctax.planning.candidates import DEFAULT_VIRTUAL_STAGES
from synctax.planning.inputs.named import doubts, platform_doubts, read_model, read_platform
from synctax.planning.layout import Layout, Layouts, parse_layout, parse_layouts
from synctax.planning.platform import Platform
from synctax.planning.search import Plan, plan
from synctax.planning.shape import Model
from synctax.planning.tax import Form, PlanTax, plan_tax
from synctax.planning.training import DEFAULT_MFU, Assumptions, Exposed, Training
from synctax.texts import BYTES_PER_GB, number


@dataclass(frozen=True, slots=True)
class Changes:
    """What options say of a machine; None leaves it as it is."""

    domain: int | None = None
    nic_gb_per_s: float | None = None
    memory_gb: float | None = None


@dataclass(frozen=True, slots=True)
class Assumed:
    """What options assume of a machine; None is the default."""

    mfu: float | None = None
    tflops: float | None = None
    exposed: dict[str, float] | None = None
    nvlink_efficiency: float = 1.0
    nic_efficiency: float = 1.0
    reserve_gb: float = 0.0
    tp_across_domains: bool = False
    pooled_nics: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """A search as the command line describes it; None is not given.

    Parameters
    ----------
    model, hardware : str
        A name or a file each.
    gpus, sequence, batch, microbatch : int
    virtual_stages : tuple of int or None
    only : dict of str to int, or None
        Degrees that layouts of a search must have.
    layouts : tuple of str
    explained, compared : str or None
    machine : Changes
    assumed : Assumed
    training : mapping
        Other fields of `Training`.
    """

    model: str
    hardware: str
    gpus: int
    sequence: int
    batch: int
    microbatch: int = 1
    virtual_stages: tuple[int, ...] | None = None
    only: dict[str, int] | None = None
    layouts: tuple[str, ...] = ()
    explained: str | None = None
    compared: str | None = None
    machine: Changes = Changes()
    assumed: Assumed = Assumed()
    training: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Setup:
    """What is searched.

    Parameters
    ----------
    model : Model
    platform : Platform
    gpus : int
    training : Training
    assumptions : Assumptions
    named : tuple of Layout
        Only these; all that there are where empty.
    whole : bool
        Whether all that there are is searched, whatever was named.
    virtual_stages : tuple of int
        Of a search for all.
    only : dict of str to int
        Degrees that layouts of it must have.
    notes : tuple of Note or str
        What is odd about model and machine.
    """

    model: Model
    platform: Platform
    gpus: int
    training: Training
    assumptions: Assumptions
    named: tuple[Layout, ...]
    whole: bool
    virtual_stages: tuple[int, ...]
    only: dict[str, int]
    notes: tuple[Note | str, ...]


def set_up(asked: Asked) -> Setup:
    """Read and check what was asked.

    Raises
    ------
    BadParameter
        If an option names nothing that is there, or more than there can be.
    BadInputError
        If a file is no model or machine.
    """
    if asked.microbatch > asked.batch:
        raise bad_option(
            "--microbatch",
            f"{asked.microbatch:,} is above the batch of {asked.batch:,}",
        )
    model = find_model(asked.model)
    found = find_platform(asked.hardware)
    platform = changed(found, asked.machine)
    training = Training(asked.batch, asked.sequence, asked.microbatch, **asked.training)
    named = _named(asked)
    stages = asked.virtual_stages or DEFAULT_VIRTUAL_STAGES
    return Setup(
        model,
        platform,
        asked.gpus,
        training,
        assume(platform, asked.assumed),
        named,
        # one layout is explained by its place among all
        asked.explained is not None or not named,
        tuple(sorted({*stages, *(one.virtual_stages for one in named)})),
        asked.only or {},
        (*doubts(model), *_odd(found, platform)),
    )


def _named(asked: Asked) -> tuple[Layout, ...]:
    if asked.explained is not None:
        return (one_layout(asked.explained, asked.gpus, asked.virtual_stages),)
    if asked.compared is not None:
        return two_layouts(asked.compared, asked.gpus, asked.virtual_stages)
    return named_layouts(asked.layouts, asked.gpus, asked.virtual_stages)


def search(setup: Setup, tax: PlanTax | None) -> Plan:
    """Cost and judge the layouts that were named, or all that there are."""
    return plan(
        setup.model,
        setup.platform,
        setup.gpus,
        setup.training,
        setup.assumptions,
        layouts=None if setup.whole else Layouts.of(setup.named),
        virtual_stages=setup.virtual_stages,
        only=setup.only,
        tax=tax,
    )


def find_model(name: str) -> Model:
    """Read a model.

    Raises
    ------
    BadParameter
        If there is none of that name, and no such file.
    BadInputError
        If the file is no model.
    """
    return read_named("--model", lambda: read_model(name))


def find_platform(name: str) -> Platform:
    """Read a machine.

    Raises
    ------
    BadParameter
        If there is none of that name, and no such file.
    BadInputError
        If the file is no machine.
    """
    return read_named("--hardware", lambda: read_platform(name))


FASTER_NIC = 4.0
"""Times the NIC of a machine that a rate may be without a word: 8 times is Gb for GB."""


def _odd(found: Platform, asked: Platform) -> tuple[Note | str, ...]:
    """Say what is odd about a machine as it was found, and as it was asked for."""
    times = asked.nic_gb_per_s / found.nic_gb_per_s
    if times < FASTER_NIC:
        return platform_doubts(asked)
    was, bits = number(found.nic_gb_per_s), number(BITS * found.nic_gb_per_s)
    said = (
        f"--nic-gb-per-s {number(asked.nic_gb_per_s)} is {number(times)} times the NIC of "
        f"{found.name}, {was} GB/s; a NIC of {bits} Gb/s has {was} GB/s"
    )
    return (said,)


BITS = 8
"""Of a byte."""


def changed(found: Platform, changes: Changes) -> Platform:
    """Change a machine as options ask.

    Raises
    ------
    BadParameter
        If hosts or tiers do not go with the domain.
    """
    if changes.domain is not None:
        _check_domain(found, changes.domain)
        found = replace(found, domain=changes.domain)
    if changes.nic_gb_per_s is not None:
        found = replace(found, nic_gb_per_s=changes.nic_gb_per_s)
    if changes.memory_gb is not None:
        found = replace(found, memory_bytes=changes.memory_gb * BYTES_PER_GB)
    return found


def _check_domain(platform: Platform, domain: int) -> None:
    hosts = platform.gpus_per_host
    if domain % hosts and hosts % domain:
        raise bad_option(
            "--domain",
            f"{domain} GPUs are no whole number of hosts: those of {platform.name} have "
            f"{hosts}",
        )
    for tier in platform.tiers:
        if tier.gpus <= domain:
            raise bad_option(
                "--domain",
                f"{domain:,} GPUs do not fit into a tier of {tier.gpus:,} GPUs",
            )


def assume(platform: Platform, asked: Assumed) -> Assumptions:
    """Make assumptions of options.

    Raises
    ------
    BadParameter
        If more is asked of the machine than it has.
    """
    mfu = DEFAULT_MFU if asked.mfu is None else asked.mfu
    if asked.tflops is not None:
        mfu = asked.tflops / platform.bf16_tflops
        if mfu > 1:
            raise bad_option(
                "--tflops",
                f"{number(asked.tflops)} is above {number(platform.bf16_tflops)}, the "
                f"dense BF16 peak of {platform.name}",
            )
    reserve_bytes = asked.reserve_gb * BYTES_PER_GB
    if reserve_bytes >= platform.memory_bytes:
        raise bad_option(
            "--reserve-gb",
            f"{number(asked.reserve_gb)} GB leave nothing of the "
            f"{number(platform.memory_bytes / BYTES_PER_GB)} GB of {platform.name}",
        )
    return Assumptions(
        mfu=mfu,
        nvlink_efficiency=asked.nvlink_efficiency,
        nic_efficiency=asked.nic_efficiency,
        exposed=Exposed(**(asked.exposed or {})),
        reserve_bytes=reserve_bytes,
        tp_across_domains=asked.tp_across_domains,
        pooled_nics=asked.pooled_nics,
    )


def named_layouts(
    texts: Iterable[str], gpus: int, virtual_stages: tuple[int, ...] | None
) -> tuple[Layout, ...]:
    """Read the layouts of `--layout`, each once; those that tell no v with every v asked.

    Raises
    ------
    BadParameter
        If a text is no layout, or one of other GPUs.
    """
    found: dict[Layout, None] = {}
    for text in texts:
        for v in virtual_stages or (1,):
            several = read_named("--layout", lambda: parse_layouts(text, gpus, v))  # noqa: B023
            found |= dict.fromkeys(several)
    return tuple(found)


def one_layout(text: str, gpus: int, virtual_stages: tuple[int, ...] | None) -> Layout:
    """Read the layout of `--explain`.

    Raises
    ------
    BadParameter
        If it is no layout, or one of other GPUs.
    """
    v = 1 if virtual_stages is None else virtual_stages[0]
    return read_named("--explain", lambda: parse_layout(text, gpus, v))


def two_layouts(
    text: str, gpus: int, virtual_stages: tuple[int, ...] | None
) -> tuple[Layout, Layout]:
    """Read the layouts of `--compare`.

    Raises
    ------
    BadParameter
        If they are not two, or of other GPUs.
    """
    v = 1 if virtual_stages is None else virtual_stages[0]
    found = read_named("--compare", lambda: parse_layouts(text, gpus, v))
    if len(found) == _PAIR and found[0] == found[1]:
        raise bad_option("--compare", f"both are {found[0]}; give two that differ")
    if len(found) != _PAIR:
        raise bad_option(
            "--compare",
            f"{text!r} is {len(found)} of 2 layouts; give two as tp8,pp16/tp8,pp8,cp2",
        )
    return found[0], found[1]


_PAIR = 2


def charge(
    tax: Tax, form: Form, compute_us: float | None, joined: Joined
) -> PlanTax | None:
    """Make what layouts are charged by of a tax model; None of none.

    Raises
    ------
    SynctaxError
        If the proportional form is asked for, and nothing tells the computation before a
        barrier.
    """
    if tax.model is None:
        return None
    try:
        return plan_tax(
            tax.model,
            tax.method,
            form=form,
            a_us=compute_us,
            name=tax.name,
            joined=joined,
        )
    except SynctaxError as error:
        raise SynctaxError(
            f"{tax.name}: {error}; --tax-compute-us tells it, --tax-form absolute does "
            "without"
        ) from error
