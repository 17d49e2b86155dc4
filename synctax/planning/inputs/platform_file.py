"""What a YAML file says of a platform, and what is known of its GPU already."""

from difflib import get_close_matches
from typing import Final

from synctax.bandwidth.hardware import Hardware, all_hardware
from synctax.notes import Note
from synctax.planning.inputs.yaml_values import Section
from synctax.planning.platform import MOST_MEMORY_BYTES, Platform, Tier, check
from synctax.planning.possible import ImpossibleError
from synctax.texts import BYTES_PER_GB

KEYS: Final = (
    "name",
    "gpu",
    "domain",
    "gpus_per_host",
    "nvlink_gb_per_s",
    "nic_gb_per_s",
    "memory_gb",
    "bf16_tflops",
    "tiers",
    "source",
)
TIER_KEYS: Final = ("gpus", "oversubscription")

USUAL_NIC_SHARE: Final = 0.5
"""Of NVLink's rate: no machine has a NIC a GPU that is faster."""

FASTEST_NIC_GB_PER_S: Final = 200.0
"""1.6 Tb/s, which is yet to come."""

SYNONYMS: Final = {
    "gpus_per_node": "gpus_per_host",
    "gpus_per_server": "gpus_per_host",
    "nvlink_domain": "domain",
    "domain_size": "domain",
    "link_gb_per_s": "nvlink_gb_per_s",
    "nvlink": "nvlink_gb_per_s",
    "nic": "nic_gb_per_s",
    "nic_gbps": "nic_gb_per_s (10^9 bytes a second: 400 Gb/s are 50)",
    "nic_gbit_per_s": "nic_gb_per_s (10^9 bytes a second: 400 Gb/s are 50)",
    "nvlink_gbps": "nvlink_gb_per_s (10^9 bytes a second, of one direction)",
    "memory": "memory_gb",
    "memory_bytes": "memory_gb (10^9 bytes: 80e9 bytes are 80)",
    "memory_gib": "memory_gb (10^9 bytes: 80 GiB are 85.9)",
    "hbm_gb": "memory_gb",
    "bf16_flops": "bf16_tflops (10^12 operations a second)",
    "tflops": "bf16_tflops",
    "peak_tflops": "bf16_tflops",
    "oversubscription": "tiers",
}


def platform_of(section: Section, *, name: str) -> Platform:
    """Make a platform of what a file says.

    Parameters
    ----------
    section : Section
        The whole file. `gpu` names a preset of `synctax.bandwidth.hardware`, which tells
        domain, NVLink rate and peak where the file does not.
    name : str
        Of the platform, where the file does not tell.

    Raises
    ------
    BadInputError
        If a key is unknown or missing, a value is no such value, or values contradict each
        other.
    """
    section.allow(KEYS, SYNONYMS)
    gpu = _preset(section)
    name = section.text("name", name) or name
    domain = section.count("domain", None if gpu is None else gpu.domain)
    found = Platform(
        name=name,
        gpu=name if gpu is None else gpu.name,
        domain=domain,
        gpus_per_host=section.count("gpus_per_host", domain),
        nvlink_gb_per_s=_rate(section, "nvlink_gb_per_s", gpu),
        nic_gb_per_s=section.number("nic_gb_per_s"),
        memory_bytes=BYTES_PER_GB * section.number("memory_gb"),
        bf16_tflops=_rate(section, "bf16_tflops", gpu),
        tiers=_tiers(section),
        source=section.text("source", "" if gpu is None else gpu.source),
    )
    try:
        check(found)
    except ImpossibleError as error:
        if error.key == "memory_bytes":
            most = f"at most {MOST_MEMORY_BYTES / BYTES_PER_GB:,.0f}: it is in 10^9 bytes"
            raise section.wrong("memory_gb", most) from error
        raise section.impossible(error.key, error.expected) from error
    return found


def platform_doubts(platform: Platform) -> tuple[Note, ...]:
    """Say what is odd about a platform, though it may be meant.

    Parameters
    ----------
    platform : Platform

    Returns
    -------
    tuple of Note
    """
    nic, nvlink = platform.nic_gb_per_s, platform.nvlink_gb_per_s
    beside = platform.domain > 1 and nic > USUAL_NIC_SHARE * nvlink
    if not beside and nic <= FASTEST_NIC_GB_PER_S:
        return ()
    detail = (
        f"NIC that is faster than usual: {nic:g} GB/s (10^9 bytes a second) a GPU of "
        f"{platform.name}, beside {nvlink:g} of its NVLink; 400 Gb/s are 50 GB/s"
    )
    return (Note("nic_unusually_fast", 1, detail),)


def _preset(section: Section) -> Hardware | None:
    if not section.has("gpu"):
        return None
    known = {one.name: one for one in all_hardware()}
    asked = section.text("gpu", "").lower()
    if asked not in known:
        near = get_close_matches(asked, known, n=2, cutoff=0.6)
        hint = f"{' or '.join(near)}" if near else f"one of {', '.join(known)}"
        raise section.wrong(
            "gpu",
            f"{hint}; for any other leave gpu out and give domain, nvlink_gb_per_s and "
            "bf16_tflops",
        )
    return known[asked]


def _rate(section: Section, key: str, gpu: Hardware | None) -> float:
    if gpu is None:
        return section.number(key)
    known = gpu.link_gb_per_s if key == "nvlink_gb_per_s" else gpu.bf16_tflops
    if known is None and not section.has(key):
        raise section.wrong(key, f"a number above 0, as none is known of {gpu.name}")
    return section.number(key, known)


def _tiers(section: Section) -> tuple[Tier, ...]:
    tiers: list[Tier] = []
    for part in section.sections("tiers", "- {gpus: 3072, oversubscription: 7}"):
        part.allow(TIER_KEYS, {})
        slower = part.number("oversubscription", least=1.0)
        tiers.append(Tier(part.count("gpus"), slower))
    return tuple(tiers)
