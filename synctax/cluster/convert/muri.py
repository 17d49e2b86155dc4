"""Muri: `trace-data/*.csv` of its simulator. As Tiresias', but times are milliseconds.

References
----------
Y. Zhao et al., Multi-resource interleaving for deep learning training, SIGCOMM 2022;
github.com/Rivendile/Muri, simulator.
"""

from typing import Final

from synctax.cluster.convert import simulator_csv
from synctax.cluster.convert.table import TableFormat

MURI: Final = TableFormat(
    name="muri",
    title="Muri trace CSV",
    needed=simulator_csv.NEEDED,
    telling=("job_id", "num_gpu", "submit_time", "resource_time_0"),
    start=simulator_csv.starting(1000.0),
)
