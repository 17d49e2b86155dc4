"""How the wait grows with the number of ranks: extreme values of block times."""
