"""What NCCL itself tells of a job: its topology, its log; the runs of nccl-tests."""
