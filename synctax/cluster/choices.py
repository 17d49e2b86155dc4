"""What settings can be, by name, and their defaults: known before anything is computed."""

from typing import Final, Literal, get_args

PolicyName = Literal["bin-packing", "most-allocated", "load-balancing", "spread"]
QueueName = Literal["backfill", "fifo", "easy"]
ModelName = Literal["mosim", "tiresias", "pollux"]
Basis = Literal["iteration", "network", "overlap"]
Scope = Literal["time", "network"]

Counting = Literal["paper", "sent", "sent+received"]
"""What `network_bytes` counts, and with it what a NIC carries of it: see `nic_bytes`."""

POLICIES: Final[tuple[str, ...]] = get_args(PolicyName)
QUEUES: Final[tuple[str, ...]] = get_args(QueueName)
MODELS: Final[tuple[str, ...]] = get_args(ModelName)
BASES: Final[tuple[str, ...]] = get_args(Basis)
SCOPES: Final[tuple[str, ...]] = get_args(Scope)
COUNTINGS: Final[tuple[Counting, ...]] = get_args(Counting)

ALIASES: Final = {"least-allocated": "load-balancing"}
"""Other names of policies."""

MIN_BANDWIDTH_SHARE: Final = 0.01
"""MIN_BW of equation 9 over the rate of the link; the paper prints no value."""

STATIC_FACTOR: Final = 1.1
"""What the MoSim paper gives the Pollux baseline (section III-A1)."""
