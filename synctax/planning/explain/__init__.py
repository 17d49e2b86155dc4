"""One layout in full, and two beside each other."""
