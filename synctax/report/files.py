"""What commands and results write with; see `synctax.files`."""

from synctax.files import is_special, replacing

__all__ = ["is_special", "replacing"]
