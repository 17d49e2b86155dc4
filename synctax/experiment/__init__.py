"""What comes back of delays that were put into a job: rank, operator and amount."""

from synctax.experiment.design import blocks
from synctax.experiment.injections import Injections
from synctax.experiment.judging import judge
from synctax.experiment.read import read_injections
from synctax.experiment.recovered import Recovered

__all__ = ["Injections", "Recovered", "blocks", "judge", "read_injections"]
