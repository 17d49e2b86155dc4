"""Chronus: `trace_job_*.csv` of its artifact. As Tiresias', with what a job is worth when.

References
----------
W. Gao et al., Chronus: a novel deadline-aware scheduler for deep learning training jobs,
SoCC 2021; github.com/S-Lab-System-Group/ChronusArtifact, code/data.
"""

from typing import Final

from synctax.cluster.convert import simulator_csv
from synctax.cluster.convert.table import TableFormat

CHRONUS: Final = TableFormat(
    name="chronus",
    title="Chronus trace CSV",
    needed=simulator_csv.NEEDED,
    telling=("job_id", "num_gpu", "submit_time", "expect_time_list"),
    start=simulator_csv.starting(1.0),
)
