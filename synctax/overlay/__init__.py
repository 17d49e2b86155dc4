"""A trace of all ranks on one clock, with waits and critical paths drawn in."""
