"""The command line: options, stages, report."""
