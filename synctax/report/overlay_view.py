"""What `overlay` prints: how clocks were put on one, and what was written."""

from typing import TYPE_CHECKING, Any

from synctax.report.tables import Field, table
from synctax.schema.overlay import OVERLAY
from synctax.texts import ABSENT, counted, decimals, size_bytes

if TYPE_CHECKING:
    from rich.console import RenderableType

    from synctax.overlay.overlay import Overlay

MANY_RANKS = 16
"""With more ranks than this, only so many are listed."""

VIEWERS = "open it in ui.perfetto.dev or chrome://tracing"

LARGE_BYTES = 1_000_000_000
"""Plain text above which viewers in a browser run out of memory."""


def envelope(made: "Overlay", file: str) -> dict[str, Any]:
    """Keys of the JSON beside the rows.

    Parameters
    ----------
    made : Overlay
    file : str
        Where it was written.
    """
    return {
        "file": file,
        "size_bytes": made.file_bytes,
        "text_bytes": made.text_bytes,
        "base_ns": str(made.base_ns),
        "events": made.events,
        "drawn": made.drawn,
        "waits": made.waits,
        "paths": made.paths,
        "arrows": made.arrows,
        "culprits": made.culprits,
        "culprits_coloured": made.coloured,
    }


def parts(
    made: "Overlay", extra: dict[str, Any], *, every_rank: bool = False
) -> "list[RenderableType]":
    """Lay out the clocks, and say what is in the file.

    Parameters
    ----------
    made : Overlay
    extra : dict
        As `envelope` returns it.
    every_rank : bool
        List every rank, however many there are.
    """
    frame = made.to_frame()
    known = frame.astype(object).where(frame.notna(), None)
    rows = [dict(zip(OVERLAY.names, row, strict=True)) for row in known.to_numpy()]
    shown = rows if every_rank else rows[:MANY_RANKS]
    said: list[RenderableType] = [_table(shown)]
    if len(shown) < len(rows):
        said.append(f"… and {len(rows) - len(shown):,} more; -v lists them")
    said += ["", *_sentences(made, extra)]
    return said


def _sentences(made: "Overlay", extra: dict[str, Any]) -> list[str]:
    size = size_bytes(made.file_bytes)
    lines = [
        (
            f"{extra['file']}: {size}, {counted(made.events, 'event')} of {made.whose} "
            f"on one clock; {VIEWERS}"
        ),
        (
            f"drawn in: {counted(made.waits, 'wait')}, "
            f"{counted(made.paths, 'critical path')} with {counted(made.arrows, 'arrow')} "
            f"and {counted(made.culprits, 'culprit')}"
        ),
    ]
    if made.coloured:
        lines.append(f"coloured: {counted(made.coloured, 'event')} of the traces to blame")
    elif made.culprits:
        lines.append(
            "coloured: no event of the traces; what is to blame are gaps between them, "
            "parts of them, or what was left out"
        )
    if made.text_bytes > LARGE_BYTES:
        lines.append(
            f"that is {size_bytes(made.text_bytes)} of text, more than a browser may hold: "
            "--steps, --ranks or --keep gpu make it smaller"
        )
    return lines


def _table(rows: list[dict[str, Any]]) -> "RenderableType":
    fields = [
        Field("rank", [_known(row["rank"]) for row in rows]),
        Field("host", [_known(row["host"]) for row in rows], right=False, rank=2, least=12),
    ]
    if any(row["window"] for row in rows):
        windows = [_known(row["window"]) for row in rows]
        fields.append(Field("window", windows, right=False, rank=3, least=12))
    fields += [
        Field("offset", [offset_text(row["offset_us"]) for row in rows]),
        Field("drift", [_drift(row["drift_ppm"]) for row in rows], rank=4),
        Field("residual", [offset_text(row["residual_us"]) for row in rows]),
        Field("collectives", [f"{row['collectives']:,}" for row in rows], rank=5),
        Field("linked", [row["linked"] for row in rows], right=False, rank=1),
        Field("events", [f"{row['events']:,}" for row in rows], rank=6),
    ]
    return table(fields)


def _known(value: Any) -> str:
    return ABSENT if value is None else str(value)


def offset_text(value_us: float) -> str:
    """Write how far a clock is ahead: to 0.01 µs, or to the ms from 1 s on."""
    if abs(value_us) >= 1e6:  # of a clock that is set otherwise, or lost its beginning
        sign = "−" if value_us < 0 else ""
        return f"{sign}{abs(value_us) / 1e6:,.3f} s"
    return f"{decimals(value_us)} µs"


def _drift(value_ppm: float) -> str:
    return f"{value_ppm:.3g} ppm"
