"""Where ranks should sit: what layouts cost, and what a job really ran."""
