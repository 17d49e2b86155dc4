"""What SimAI writes of a simulated iteration: `..._EndToEnd.csv`, times in µs.

Above, two lines of totals (`File name, Expose DP comm, ...`), rounded; then a header and a
line for each layer; below, with packets simulated, sums and totals in full.
"""

import os
from dataclasses import dataclass
from math import inf, isfinite
from typing import Final

from synctax.cluster.characterize.simai_text import LARGEST_BYTES, lines_of
from synctax.errors import BadInputError
from synctax.trace.whole import whole

KIND: Final = "SimAI's EndToEnd.csv"

TOTALS: Final = (
    "Expose DP comm",
    "Expose DP_EP comm",
    "Expose TP comm",
    "Expose_EP_comm",
    "Expose_PP_comm",
    "bubble time",
    "total comp",
    "total exposed comm",
    "Total time",
)
"""Columns of the lines of totals, behind the name of the file."""

_COMPUTE: Final = ("fwd compute", "wg compute", "ig compute")
_EXPOSED: Final = ("fwd exposed comm", "wg exposed comm", "ig exposed comm")
_LARGEST_US: Final = 1e18


@dataclass(frozen=True, slots=True)
class SimaiTimes:
    """An iteration as SimAI simulated it.

    Parameters
    ----------
    name : str
        Of the file.
    compute_us : float
        Computation of all layers.
    exposed_us : float
        Communication within layers that no computation hides.
    pipeline_us, bubble_us : float
        Exposed communication between stages of a pipeline, and waiting for its other
        stages.
    total_us : float
    pipeline_counts : bool
        These two are part of the total.
    layers : int
        Lines of layers.
    """

    name: str
    compute_us: float
    exposed_us: float
    pipeline_us: float
    bubble_us: float
    total_us: float
    pipeline_counts: bool
    layers: int


def read_simai(path: str | os.PathLike[str]) -> SimaiTimes:
    """Read the end-to-end times of SimAI, analytical or with packets simulated.

    Parameters
    ----------
    path : str or path
        A file such as `EndToEnd.csv` or `ncclFlowModel_EndToEnd.csv`.

    Raises
    ------
    BadInputError
        If it is none, is not finished, or its numbers contradict each other; names the
        line.

    References
    ----------
    Wang et al. 2025, SimAI (NSDI); astra-sim/workload/Layer.cc and CSVWriter.cc of
    github.com/aliyun/SimAI.
    """
    data = whole(path, KIND, most=LARGEST_BYTES)
    return simai_of(data, name=os.fspath(path))


def simai_of(data: bytes, *, name: str) -> SimaiTimes:
    """Read the text of such a file; parameters and errors as `read_simai`."""
    file = _File(name)
    for number, line in enumerate(lines_of(data, name=name, kind=KIND), 1):
        if line.strip():
            file.take(number, line)
    return file.times()


class _File:
    """Lines of a file, as far as they were read."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._rounded: dict[str, float] | None = None
        self._full: dict[str, float] | None = None
        self._columns: dict[str, int] = {}
        self._expect_totals = False
        self._layers, self._compute, self._exposed = 0, 0.0, 0.0
        self._last_line = 0

    def take(self, number: int, line: str) -> None:
        cells = [cell.strip() for cell in line.split(",")]
        self._last_line = number
        if self._expect_totals:
            self._rounded = self._totals(number, cells)
            self._expect_totals = False
        elif cells[0] == "File name":
            self._once(number, self._rounded is None, "totals")
            if tuple(cells[1:]) != TOTALS:
                raise self._bad(number, f"columns {', '.join(TOTALS)}", line)
            self._expect_totals = True
        elif cells[0] == "layer_name":
            self._once(number, not self._columns, "header of layers")
            self._columns = self._header(number, cells)
        elif cells[0] == "total exposed comm":
            self._once(number, self._full is None, "totals")
            self._full = self._pairs(number, cells)
        elif self._columns and cells[0] != "SUM":
            self._layer(number, cells)
        elif not self._columns:
            raise self._bad(number, "'File name, ...' or 'layer_name,...'", line)

    def times(self) -> SimaiTimes:
        totals = self._full or self._rounded
        if totals is None or self._expect_totals or not self._columns:
            what = "totals" if totals is None or self._expect_totals else "layers"
            raise BadInputError(
                f"{self._name}, line {self._last_line}: expected {KIND}, found its end "
                f"without {what}: the run has to end"
            )
        rounded = self._rounded or dict.fromkeys(TOTALS, 0.0)
        compute, exposed = totals["total comp"], totals["total exposed comm"]
        pipeline, bubble = rounded["Expose_PP_comm"], rounded["bubble time"]
        total = totals["Total time"]
        off = abs(compute + exposed - total)
        off_with = abs(compute + exposed + pipeline + bubble - total)
        # each of up to five numbers is rounded to a whole µs
        if min(off, off_with) > 3 + 1e-6 * total:
            whole_us = compute + exposed + pipeline + bubble
            raise BadInputError(
                f"{self._name}: expected a total time of {compute + exposed:,.0f} µs, or "
                f"of {whole_us:,.0f} with the pipeline's, found {total:,.0f}"
            )
        self._check_layers(compute)
        return SimaiTimes(
            name=self._name,
            compute_us=compute,
            exposed_us=exposed,
            pipeline_us=pipeline,
            bubble_us=bubble,
            total_us=total,
            pipeline_counts=off_with < off,
            layers=self._layers,
        )

    def _check_layers(self, compute: float) -> None:
        """Refuse a file that lost layers: its totals stand above them."""
        slack = 1.5 * self._layers + 1 + 1e-6 * compute
        if abs(self._compute - compute) > slack:
            raise BadInputError(
                f"{self._name}: expected layers that compute {compute:,.0f} µs, found "
                f"{self._layers:,} that compute {self._compute:,.0f}: layers are missing"
            )

    def _totals(self, number: int, cells: list[str]) -> dict[str, float]:
        """Read numbers with their share behind: `1234 (56.78%)`."""
        if len(cells) <= len(TOTALS):
            raise self._bad(number, f"{len(TOTALS)} totals", ", ".join(cells))
        # the name of a file may have commas
        values = cells[-len(TOTALS) :]
        return {
            key: self._number(number, value.partition(" (")[0], key)
            for key, value in zip(TOTALS, values, strict=True)
        }

    def _pairs(self, number: int, cells: list[str]) -> dict[str, float]:
        pairs = dict(zip(cells[::2], cells[1::2], strict=False))
        wanted = ("total exposed comm", "total comp", "total time")
        if tuple(pairs) != wanted or len(cells) != 6:
            raise self._bad(number, ", ".join(wanted), ",".join(cells))
        exposed, compute, total = (self._number(number, pairs[key], key) for key in wanted)
        return {"total exposed comm": exposed, "total comp": compute, "Total time": total}

    def _header(self, number: int, cells: list[str]) -> dict[str, int]:
        missing = [key for key in (*_COMPUTE, *_EXPOSED) if key not in cells]
        if missing:
            raise self._bad(number, f"a column {missing[0]}", ",".join(cells))
        return {key: cells.index(key) for key in (*_COMPUTE, *_EXPOSED)}

    def _layer(self, number: int, cells: list[str]) -> None:
        if len(cells) <= max(self._columns.values()):
            raise self._bad(number, "a layer's columns", ",".join(cells))
        for key in _COMPUTE:
            self._compute += self._number(number, cells[self._columns[key]], key)
        for key in _EXPOSED:
            self._number(number, cells[self._columns[key]], key)
        self._layers += 1

    def _number(self, number: int, text: str, what: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = inf
        if not isfinite(value) or not 0 <= value <= _LARGEST_US:
            raise self._bad(number, f"{what} in µs", text)
        return value

    def _once(self, number: int, first: bool, what: str) -> None:
        if not first:
            raise BadInputError(
                f"{self._name}, line {number}: expected one run, found {what} twice"
            )

    def _bad(self, number: int, expected: str, found: str) -> BadInputError:
        return BadInputError(
            f"{self._name}, line {number}: expected {KIND} with {expected}, found "
            f"{found[:80]!r}"
        )
