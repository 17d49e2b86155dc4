"""What ranks sit on: GPUs, the NVLink domain that joins them, NICs between domains."""

from dataclasses import dataclass
from math import inf
from typing import Final

from synctax.planning.possible import ImpossibleError, counts, is_number, positive

MOST_GB_PER_S: Final = 1e6
MOST_TFLOPS: Final = 1e6
MOST_MEMORY_BYTES: Final = 1e13
"""Of one GPU: what is more, many times what there is, is meant in another unit."""


@dataclass(frozen=True, slots=True)
class Tier:
    """A tier of the fabric above which it is oversubscribed.

    Parameters
    ----------
    gpus : int
        GPUs under one switch block (pod) of this tier: inside, NICs have their full rate.
    oversubscription : float
        What a NIC's rate is divided by between blocks.
    """

    gpus: int
    oversubscription: float


@dataclass(frozen=True, slots=True)
class Platform:
    """A kind of machine. Rates are 10^9 bytes a second, per GPU and direction.

    Parameters
    ----------
    name, gpu : str
    domain : int
        GPUs that NVLink joins without a NIC.
    gpus_per_host : int
        GPUs of one host (operating system); a domain may hold several.
    nvlink_gb_per_s : float
        Line rate of a GPU's NVLinks.
    nic_gb_per_s : float
        Line rate of the NIC that a GPU has to itself.
    memory_bytes : float
        Of a GPU, as its makers state it. What a driver shows is a little more, what the
        context, NCCL's buffers and fragmentation take about as much.
    bf16_tflops : float
        Dense BF16 peak, 10^12 operations a second.
    tiers : tuple of Tier
        From the smallest block up; none where the fabric does not block.
    source : str
    """

    name: str
    gpu: str
    domain: int
    gpus_per_host: int
    nvlink_gb_per_s: float
    nic_gb_per_s: float
    memory_bytes: float
    bf16_tflops: float
    tiers: tuple[Tier, ...] = ()
    source: str = ""


def check(platform: Platform) -> None:
    """Refuse a platform that cannot be.

    Parameters
    ----------
    platform : Platform

    Raises
    ------
    ImpossibleError
        Naming the number and its value.
    """
    counts(platform, ("domain", "gpus_per_host"))
    rates = ("nvlink_gb_per_s", "nic_gb_per_s")
    positive(platform, rates, most=MOST_GB_PER_S, what="10^9 bytes a second")
    positive(platform, ("memory_bytes",), most=MOST_MEMORY_BYTES, what="bytes of one GPU")
    positive(platform, ("bf16_tflops",), most=MOST_TFLOPS, what="10^12 operations a second")
    domain, host = platform.domain, platform.gpus_per_host
    if domain % host and host % domain:
        raise ImpossibleError(
            "gpus_per_host",
            host,
            f"a number that divides the domain of {domain} GPUs (hosts within a domain), "
            "or a multiple of it (domains within a host)",
        )
    below, what = domain, "NVLink domain"
    for at, tier in enumerate(platform.tiers):
        _check_tier(tier, f"tiers[{at}].", below, what)
        below, what = tier.gpus, "tier"


def _check_tier(tier: Tier, path: str, below: int, what: str) -> None:
    counts(tier, ("gpus",), path=path)
    if tier.gpus <= below:
        raise ImpossibleError(
            f"{path}gpus",
            tier.gpus,
            f"more than the {below:,} of the {what} below: from the smallest block up",
        )
    if tier.gpus % below:
        raise ImpossibleError(
            f"{path}gpus", tier.gpus, f"a multiple of the {below:,} of the {what} below"
        )
    slower = tier.oversubscription
    if not is_number(slower) or not 1 <= slower < inf:
        raise ImpossibleError(f"{path}oversubscription", slower, "a number of 1 or more")
