"""Figures for paper, slides and web pages: one function a figure, from result to Figure."""
