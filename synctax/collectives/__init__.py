"""Which kernels are one collective, and who waited for whom in it."""
