"""Volumes and memory against calculon, of one shape that both can express.

github.com/calculon-ai/calculon at caa4b11, `Llm.compile`, `Llm.run`, `get_stats_json`:
the shape is `GPT_128`, the execution examples/3072_t4_p64_d12_mbs4_full.json with
batch_size 2048, microbatch_size 1, activation_recompute attn_only, tensor_par_comm_type
rs_ag, seq_par_ag_redo true, fused_activation false; the system
systems/h100_80g_nvl8.json with 10,000 GiB, both networks of 1 GB/s, efficiency 1, latency 0
and the collectives of a ring ([1, -1], all-reduce [2, -1]), so that link times are GB.
"""

from dataclasses import replace

import numpy as np
from numpy.testing import assert_allclose

from synctax.planning.activations import layer_bytes
from synctax.planning.memory import memory
from synctax.planning.pipeline import bubble
from synctax.planning.state import state_bytes
from synctax.planning.volumes import volumes
from tests.planning.made import GPT_128, LLAMA_3, table

LAYOUTS = table(
    "tp8,pp16,dp8", "tp8,pp16,dp8,v2", "tp16,pp8,dp8", "tp8,pp32,dp4", "tp4,pp16,dp16"
)

TP_GB = [3851.552, 3851.552, 8252.872, 3851.552, 1650.893]
RECOMMUNICATED_GB = [962.073, 962.073, 2061.584, 962.073, 412.317]
PP_GB = [17.179869184, 34.359738368, 8.589934592, 34.359738368, 17.179869184]
DP_GB = [11.27612416, 11.27612416, 11.277959168, 4.83262464, 24.16115712]
BUBBLE = [0.05859375, 0.029296875, 0.02734375, 0.060546875, 0.1171875]
LAYER_GB = [0.570425344, 0.570425344, 0.285212672, 0.570425344, 1.140850688]
WORKING_GB = [6.54311424, 6.54311424, 3.539992576, 6.54311424, 12.549357568]
ACTIVATIONS_GB = [78.987132928, 113.212653568, 39.76200192, 78.987132928, 157.437394944]
WEIGHTS_GB = [6.44349952, 6.44349952, 6.444548096, 3.22174976, 12.885950464]
OPTIMIZER_GB = [4.83262464, 4.83262464, 4.833411072, 4.83262464, 4.832231424]
NEEDS_GB = [99.189, 133.415, 56.174, 95.867, 191.765]


def test_bytes_are_those_of_calculon():
    """It counts biases (0.02 %), and the reduction of TP at the vector units' rate."""
    of = volumes(GPT_128, LLAMA_3, LAYOUTS)
    assert_allclose(of.tp_bytes / 1e9, TP_GB, rtol=1e-3)
    assert_allclose(of.pp_bytes / 1e9, PP_GB, rtol=1e-12)
    # gradients of 2 bytes there, of 4 here
    assert_allclose(of.dp_bytes / 1e9 * (2 + 2) / (4 + 2), DP_GB, rtol=4e-4)


def test_bubble_is_that_of_calculon():
    assert_allclose(bubble(LLAMA_3, LAYOUTS), BUBBLE, rtol=1e-12)


def test_what_a_layer_keeps_is_that_of_calculon():
    of = layer_bytes(GPT_128, LLAMA_3, LAYOUTS)
    assert_allclose(of.likely / 1e9, LAYER_GB, rtol=1e-12)


def test_a_layer_with_its_scores_is_that_of_calculon():
    """activation_recompute none: 5.939 GB, sixteen ranks of TP 2.970 GB."""
    how = replace(LLAMA_3, recompute="none")
    of = layer_bytes(GPT_128, how, table("tp8,pp16,dp8", "tp16,pp8,dp8"))
    assert_allclose(of.likely / 1e9, [5.939134464, 22.125 * 8_192 * 16_384 / 1e9])


def test_activations_of_the_first_stage_are_those_of_calculon():
    """But for the layer at work, whose tensors it counts before any is freed."""
    of = memory(GPT_128, LLAMA_3, LAYOUTS, 80e9).activation_bytes / 1e9
    stored = np.array(ACTIVATIONS_GB) - WORKING_GB + LAYER_GB
    assert_allclose(of, stored, rtol=1e-12)


def test_weights_and_optimizer_are_those_of_calculon():
    """2 and 12/d bytes of the 6 + 12/d; its gradients have 2 bytes and are sharded."""
    how = replace(LLAMA_3, sharding="optimizer")
    state = state_bytes(GPT_128, how, LAYOUTS) / 1e9
    weights = np.array(WEIGHTS_GB)
    assert_allclose(state, weights + 2 * weights + OPTIMIZER_GB, rtol=4e-4)


def test_gathering_again_costs_a_quarter_of_tp():
    """What 34/t presumes, as shards of inputs are kept, and the volume leaves out."""
    of = volumes(GPT_128, LLAMA_3, LAYOUTS).tp_bytes / 1e9
    assert_allclose(np.array(RECOMMUNICATED_GB) / of, 0.25, rtol=1e-3)


def test_full_recomputation_repeats_half_of_tp_as_in_calculon():
    """activation_recompute full: 1,924.15 GB once more of 3,851.55."""
    before, after = (
        volumes(GPT_128, LLAMA_3, table("tp8,pp16,dp8"), recomputed).tp_bytes
        for recomputed in (None, np.array([8.0]))
    )
    assert_allclose((after - before) / 1e9, [1924.145], rtol=1e-3)


def test_needs_are_near_those_of_calculon():
    """It has smaller gradients, and the tensors and gradients of a layer at work."""
    of = memory(GPT_128, LLAMA_3, LAYOUTS, 80e9).memory_bytes / 1e9
    assert_allclose(of, NEEDS_GB, rtol=0.1)
    assert_allclose(of[[0, 1, 4]], np.array(NEEDS_GB)[[0, 1, 4]], rtol=0.025)
