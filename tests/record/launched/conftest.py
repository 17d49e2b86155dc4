"""Nothing here is a test: jobs that tests record."""

collect_ignore_glob = ["*.py"]
