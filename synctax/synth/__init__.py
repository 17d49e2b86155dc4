"""Traces with known answers."""
