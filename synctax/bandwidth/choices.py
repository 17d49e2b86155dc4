"""What can be chosen by name; without numpy, so that the command line starts fast."""

from typing import Literal, get_args

Topology = Literal["ring", "torus3d", "switched", "tree", "in_switch", "hierarchical"]
TOPOLOGIES: tuple[Topology, ...] = get_args(Topology)

DEFAULT_TOPOLOGIES: tuple[Topology, ...] = ("ring", "torus3d", "switched")
"""The paper's."""

Op = Literal["all_reduce", "reduce_scatter", "all_gather", "all_to_all"]
OPS: tuple[Op, ...] = get_args(Op)

Across = Literal["ring", "tree", "switched"]
"""Algorithms between domains."""
ACROSS: tuple[Across, ...] = get_args(Across)

TauWithFlops = Literal["stays", "shrinks"]
TAU_WITH_FLOPS: tuple[TauWithFlops, ...] = get_args(TauWithFlops)

Grounding = Literal["own", "common"]
GROUNDINGS: tuple[Grounding, ...] = get_args(Grounding)

DEFAULT_ALPHA_US = 5.0
"""The paper's latency of a message, from nccl-tests on a DGX H200."""

DEFAULT_NIC_ALPHA_US = 5.0
"""Latency of a message between domains where none is given; links inside do not tell it."""

DEFAULT_ELASTICITIES = (-0.5, -0.1)
"""The paper's: at -0.5 the transfer takes as long as the floor, at -0.1 a ninth of it."""

SMALLEST_N, LARGEST_N = 8, 4096
"""Ends of the sizes that are shown where none are asked for."""
