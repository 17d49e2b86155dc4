"""What an iteration of a job takes alone: computation, network, bytes, without GPUs."""
