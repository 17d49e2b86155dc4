"""Traces of clusters as others publish or print them, into the CSV of jobs."""
