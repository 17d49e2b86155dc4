"""What changed from one run to another, and over the windows of one."""
