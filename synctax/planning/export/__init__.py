"""A layout in the words of the frameworks that run it: Megatron-LM and torchtitan.

What neither the shape of a model nor a layout tells (positions, normalisation, the router's
loss, optimizer, data) is left to the user.
"""

from synctax.planning.export.megatron import megatron_flags
from synctax.planning.export.torchtitan import torchtitan_recipe, torchtitan_toml

__all__ = ["megatron_flags", "torchtitan_recipe", "torchtitan_toml"]
