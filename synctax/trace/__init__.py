"""What a profiler wrote: files in, typed columns out."""
