"""Acme: `trace_seren.csv` and `trace_kalos.csv` of the Shanghai AI Laboratory.

Times name their zone. Kalos' `duration` is the end less the submission in its own example,
Seren's the end less the start: run times are taken from the times.

References
----------
Q. Hu et al., Characterization of large language model development in the datacenter, NSDI
2024; github.com/InternLM/AcmeTrace.
"""

from typing import Final

from synctax.cluster.convert import scheduler_log
from synctax.cluster.convert.table import TableFormat

ACME: Final = TableFormat(
    name="acme",
    title="Acme trace (Seren or Kalos)",
    needed=scheduler_log.NEEDED,
    telling=("job_id", "gpu_num", "type", "gpu_time"),
    start=scheduler_log.start,
    clock="UTC",
)
