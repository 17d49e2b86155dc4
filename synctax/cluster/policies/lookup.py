"""From a name to a policy: built in, installed, of a module or of a file."""

from synctax.cluster.policies.built_in import built_in
from synctax.cluster.policies.policy import Policy
from synctax.planning.possible import ImpossibleError


def policy(name: str) -> Policy:
    """Find a policy."""
    found = built_in(name)
    if found is None:
        raise ImpossibleError("policy", name, "a policy")
    return found
