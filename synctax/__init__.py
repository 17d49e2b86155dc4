"""Measure the time that GPUs wait for each other at collectives."""
