"""What placement does to a cluster's queue of jobs: waiting, and sharing of NICs."""
