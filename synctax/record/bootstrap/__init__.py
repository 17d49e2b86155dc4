"""A folder that a recorded job has first on PYTHONPATH, for its `sitecustomize`."""
