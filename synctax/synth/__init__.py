"""Traces with known answers: simulate a job, write what its profilers would have."""

from synctax.synth.answers import CollectiveTruth, InjectedTruth, RankTruth, Truth
from synctax.synth.blocks import BlockLaw, block_laws, expected_tau_us
from synctax.synth.delay import Delay
from synctax.synth.job import SynthJob
from synctax.synth.lateness import Lateness, Variation
from synctax.synth.path import CriticalPath, PathItem
from synctax.synth.writer import TRUTH_FILE, truth, write

__all__ = [
    "TRUTH_FILE",
    "BlockLaw",
    "CollectiveTruth",
    "CriticalPath",
    "Delay",
    "InjectedTruth",
    "Lateness",
    "PathItem",
    "RankTruth",
    "SynthJob",
    "Truth",
    "Variation",
    "block_laws",
    "expected_tau_us",
    "truth",
    "write",
]
