"""Models and machines, as users write them or by the names of those that are built in."""
