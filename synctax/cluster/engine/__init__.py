"""What happens to jobs on a cluster, from event to event."""

from synctax.cluster.engine.simulate import simulate

__all__ = ["simulate"]
