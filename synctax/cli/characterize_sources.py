"""Which of its sources `characterize` was asked for, and what is of no use with it."""

from typing import Final

import click

_OPTIONS: Final = {
    "names": "--workload",
    "pool": "--pool",
    "model": "--model",
    "sequence": "--sequence",
    "batch_per_gpu": "--batch-per-gpu",
    "gpus": "--gpus",
    "gpu_type": "--gpu-type",
    "dtype": "--dtype",
    "nic_gb_per_s": "--nic-gb-per-s",
    "nvlink_gb_per_s": "--nvlink-gb-per-s",
    "latency_us": "--latency-us",
    "efficiency": "--efficiency",
    "memory_efficiency": "--memory-efficiency",
    "gpus_per_server": "--gpus-per-server",
    "traces": "TRACES",
    "measured": "--measured",
    "group": "--group",
    "astra_log": "--astra-log",
    "astra_et": "--astra-et",
    "astra_network": "--astra-network",
    "astra_groups": "--astra-groups",
    "astra_sim": "--astra-sim",
    "astra_system": "--astra-system",
    "astra_memory": "--astra-memory",
    "simai": "--simai",
    "simai_workload": "--simai-workload",
    "iterations": "--iterations",
    "workers": "--workers",
}
"""Parameters that only some sources have, and their options, in the order of the help."""

_ASTRA: Final = tuple(name for name in _OPTIONS if name.startswith("astra_"))

_SOURCES: Final = {
    "traces": ("traces", "measured"),
    "astra": _ASTRA,
    "simai": ("simai", "simai_workload"),
    "shape": ("model",),
    "pool": (),
}
"""What asks for a source; the first that is asked for is the one."""

_COMPUTED: Final = {
    "batch_per_gpu",
    "gpus",
    "gpu_type",
    "dtype",
    "nic_gb_per_s",
    "nvlink_gb_per_s",
    "latency_us",
    "efficiency",
    "memory_efficiency",
    "gpus_per_server",
}

_TAKEN: Final = {
    "traces": {"names", "gpus", "group", "iterations", "workers"},
    "astra": {"names", "iterations"},
    "simai": {"names", "gpus", "iterations"},
    "shape": {"sequence", *_COMPUTED},
    "pool": {"names", "pool", *_COMPUTED},
}
"""Further parameters of each source."""


def chosen_source() -> str:
    """Tell where profiles are to come from: `pool`, `shape`, `traces`, `astra`, `simai`.

    Raises
    ------
    UsageError
        If options are of two sources, or of another than is asked for: whoever gives one
        expects something.
    """
    given = _given()
    source = next(one for one, asks in _SOURCES.items() if not asks or {*asks} & {*given})
    idle = [
        one for one in given if one not in _SOURCES[source] and one not in _TAKEN[source]
    ]
    if idle:
        asked = next((one for one in given if one in _SOURCES[source]), "names")
        told = ", ".join(_OPTIONS[one] for one in idle)
        if source == "pool":
            raise click.UsageError(f"{told}: for --model, TRACES, ASTRA-sim or SimAI only")
        raise click.UsageError(f"{told}: of no use with {_OPTIONS[asked]}; leave it out")
    return source


def check_list(asked: str, *taken: str) -> None:
    """Refuse what says nothing of a list.

    Parameters
    ----------
    asked : str
        The option that asks for it.
    *taken : str
        Parameters that do.

    Raises
    ------
    UsageError
    """
    idle = [_OPTIONS[one] for one in _given() if one not in taken]
    if idle:
        raise click.UsageError(f"{', '.join(idle)}: of no use with {asked}; leave it out")


def _given() -> list[str]:
    """Parameters of sources that were given, in the order of the help."""
    context = click.get_current_context()
    default = click.core.ParameterSource.DEFAULT
    return [
        name
        for name in _OPTIONS
        if context.get_parameter_source(name) != default and context.params[name] != ()
    ]
