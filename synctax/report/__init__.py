"""Show results: tables, JSON, files. Computes nothing."""
