"""What comes back of delays that were put into a job: rank, operator and amount."""
