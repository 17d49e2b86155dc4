"""What a file that is of no known format may be meant to be."""

import re
from collections.abc import Iterable
from typing import Final

from synctax.cluster.convert.lines import Source
from synctax.cluster.convert.philly import KEYS
from synctax.cluster.convert.table import TableFormat

LEAST_SHARE: Final = 0.5
"""Of the columns that a format needs, so many have to be there for it to be named."""

_JSON = re.compile(r"\s*[\[{]")
_SACCT_ROW = re.compile(r"\d+[\w+.\[\],%-]*\|.*\d\d:\d\d:\d\d")
_CUT = re.compile(r"JobID(Raw)? {2,}|\s*JobID(Raw)?\s+\w+ {2,}")


def nearest(source: Source, formats: Iterable[TableFormat]) -> str:
    """Name the format that a file is nearest to, and what is missing; "" where none is.

    Parameters
    ----------
    source : Source
    formats : iterable of TableFormat
        Those with a header.
    """
    tables = {one.name: one for one in formats}
    line, slurm = source.first_line, tables["slurm"]
    if _SACCT_ROW.match(line):
        return f"it may be {slurm.title} without its header; {slurm.advice}, without -n"
    if _CUT.match(line):
        return f"it may be output of sacct that is cut to a width; {slurm.advice}"
    if _JSON.match(source.head):
        lacking = [one for one in KEYS if f'"{one}"' not in source.head]
        return (
            "the one format in JSON that is read is Philly's cluster_job_log, whose jobs "
            f"have {' and '.join(KEYS)}; no {' and no '.join(lacking)} is in how it begins"
        )
    headers = {one.name: one.header(line)[0] for one in tables.values()}
    best = max(tables.values(), key=lambda one: one.share(headers[one.name]))
    if line.lower().startswith("jobid"):
        best = slurm
    elif best.share(headers[best.name]) < LEAST_SHARE:
        return ""
    header = headers[best.name]
    told = best.without(header, best.lacks_to_be_known(header))
    return f"nearest is {best.name} ({best.title}), but there is {told}"
