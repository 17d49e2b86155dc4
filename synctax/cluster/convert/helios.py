"""Helios: `cluster_log.csv` of four clusters of SenseTime.

References
----------
Q. Hu et al., Characterization and prediction of deep learning workloads in large-scale GPU
datacenters, SC 2021; github.com/S-Lab-System-Group/HeliosData.
"""

from typing import Final

from synctax.cluster.convert import scheduler_log
from synctax.cluster.convert.table import TableFormat

HELIOS: Final = TableFormat(
    name="helios",
    title="Helios cluster_log.csv",
    needed=scheduler_log.NEEDED,
    telling=("job_id", "gpu_num", "vc"),
    start=scheduler_log.start,
    clock=None,
)
