"""What a YAML file says of a platform, and what is known of its GPU already."""

from difflib import get_close_matches
from typing import Final

from synctax.bandwidth.hardware import Hardware, all_hardware
from synctax.notes import Note
from synctax.planning.inputs.yaml_values import Section
from synctax.planning.platform import Platform, Tier

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

SYNONYMS: Final = {
    "gpus_per_node": "gpus_per_host",
    "gpus_per_server": "gpus_per_host",
    "nvlink_domain": "domain",
    "domain_size": "domain",
    "link_gb_per_s": "nvlink_gb_per_s",
    "nvlink": "nvlink_gb_per_s",
    "nic": "nic_gb_per_s",
    "nic_gbps": "nic_gb_per_s",
    "memory": "memory_gb",
    "memory_bytes": "memory_gb",
    "hbm_gb": "memory_gb",
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
    return Platform(
        name=name,
        gpu=name if gpu is None else gpu.name,
        domain=domain,
        gpus_per_host=_gpus_per_host(section, domain),
        nvlink_gb_per_s=_rate(section, "nvlink_gb_per_s", gpu),
        nic_gb_per_s=section.number("nic_gb_per_s"),
        memory_bytes=1e9 * section.number("memory_gb"),
        bf16_tflops=_rate(section, "bf16_tflops", gpu),
        tiers=_tiers(section, domain),
        source=section.text("source", "" if gpu is None else gpu.source),
    )


def platform_doubts(platform: Platform) -> tuple[Note, ...]:
    """Say what is odd about a platform, though it may be meant.

    Parameters
    ----------
    platform : Platform

    Returns
    -------
    tuple of Note
    """
    if platform.domain == 1 or platform.nic_gb_per_s < platform.nvlink_gb_per_s:
        return ()
    detail = (
        f"the NIC of {platform.name} ({platform.nic_gb_per_s:g} GB/s) is no slower than "
        f"its NVLink ({platform.nvlink_gb_per_s:g} GB/s); 400 Gb/s are 50 GB/s"
    )
    return (Note("nic_as_fast_as_nvlink", 1, detail),)


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


def _gpus_per_host(section: Section, domain: int) -> int:
    hosts = section.count("gpus_per_host", domain)
    if domain % hosts and hosts % domain:
        raise section.wrong(
            "gpus_per_host",
            f"a number that divides the domain of {domain} GPUs (hosts within a domain), "
            "or a multiple of it (domains within a host)",
        )
    return hosts


def _tiers(section: Section, domain: int) -> tuple[Tier, ...]:
    tiers: list[Tier] = []
    for part in section.sections("tiers", "- {gpus: 3072, oversubscription: 7}"):
        part.allow(TIER_KEYS, {})
        gpus = part.count("gpus")
        below, what = (tiers[-1].gpus, "tier") if tiers else (domain, "NVLink domain")
        if gpus <= below:
            raise part.wrong(
                "gpus",
                f"more than the {below:,} of the {what} below: from the smallest block up",
            )
        tiers.append(Tier(gpus, part.number("oversubscription", least=1.0)))
    return tuple(tiers)
