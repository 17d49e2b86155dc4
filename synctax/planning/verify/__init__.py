"""A job held against a layout, or against what every layout has in common."""
