"""Files that lie beside traces and list machines or samples, not jobs."""

import re

from synctax.cluster.convert.lines import Source
from synctax.cluster.convert.table import Header

_CLUSTER = "write a cluster file for it"

_BY_HEADER = {
    ("sn", "gpu", "model"): f"openb's list of nodes; {_CLUSTER}",
    ("node_name", "gpu_capacity_num"): f"a list of nodes; {_CLUSTER}",
    ("date", "total"): f"Helios' GPUs of each day; {_CLUSTER}",
    ("machineid", "gpu0_util"): "Philly's use of GPUs; cluster_job_log has the jobs",
    ("machine_id", "cpu_util"): "Philly's use of CPUs; cluster_job_log has the jobs",
    ("machine_id", "mem_total"): "Philly's use of memory; cluster_job_log has the jobs",
}
"""What files are, by columns of their headers."""

_BY_NAME = {
    r"pai_(instance|sensor)_table|pai_machine_(spec|metric)": "a table of PAI that is not "
    "read; pai_job_table and pai_task_table have the jobs",
    r"\.header$": "the header of a table; give the table",
}
"""What files are, by their names."""

_PHILLY_MACHINES = re.compile(r"m\d+\s*,\s*\d+\s*,\s*\d+\s*GB")
_COUNT = re.compile(r"\d{1,9}")
_SPECIFICATION = ("num_switch", "num_node_p_switch", "num_gpu_p_node")


def machines(source: Source) -> str:
    """Tell what a file without jobs is, and what to do; empty where nothing is known."""
    for pattern, what in _BY_NAME.items():
        if re.search(pattern, source.name):
            return what
    header = Header.of(source.first_line, ",")
    for names, what in _BY_HEADER.items():
        if header.has(*names):
            return what
    if _PHILLY_MACHINES.match(source.first_line.strip()) or header.has(
        "machineid", "number of gpus"
    ):
        return f"Philly's list of machines; {_CLUSTER}"
    if header.has(*_SPECIFICATION):
        return _specification(source, header)
    return ""


def _specification(source: Source, header: Header) -> str:
    lines = [one for one in source.head.splitlines() if one.strip()]
    row = lines[1].split(",") if len(lines) > 1 else []
    if len(row) != len(header.names):
        return f"a cluster specification of Tiresias; {_CLUSTER}"
    switches, nodes, gpus = (header.cell(name)(row).strip() for name in _SPECIFICATION)
    servers = (
        f"{int(switches) * int(nodes)}"
        if _COUNT.fullmatch(switches) and _COUNT.fullmatch(nodes)
        else f"{switches} x {nodes}"
    )
    return (
        f"a cluster specification of Tiresias: {servers} servers with {gpus} GPUs each; "
        f"in a cluster file that is servers: [{{count: {servers}, gpus: {gpus}, "
        "nic_bytes_per_s: ...}]"
    )
