"""How many bytes per second are worth having, with the wait and without."""
