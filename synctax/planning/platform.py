"""What ranks sit on: GPUs, the NVLink domain that joins them, NICs between domains."""

from dataclasses import dataclass


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
