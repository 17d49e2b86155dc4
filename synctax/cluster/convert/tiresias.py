"""Tiresias: `*_job.csv` of its simulator; times in seconds.

References
----------
J. Gu et al., Tiresias: a GPU cluster manager for distributed deep learning, NSDI 2019;
github.com/SymbioticLab/Tiresias, simulator/README.md.
"""

from typing import Final

from synctax.cluster.convert import simulator_csv
from synctax.cluster.convert.table import TableFormat

TIRESIAS: Final = TableFormat(
    name="tiresias",
    title="Tiresias job CSV",
    needed=simulator_csv.NEEDED,
    telling=("job_id", "num_gpu", "submit_time"),
    start=simulator_csv.starting(1.0),
)
