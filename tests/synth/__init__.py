"""Tests of the made-up jobs."""
