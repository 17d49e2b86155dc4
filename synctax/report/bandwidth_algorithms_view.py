"""What algorithms cost, for people to read: a table, then where each row is from."""

from typing import TYPE_CHECKING

from synctax.report import tables
from synctax.report.tables import Field, Sentence, records

if TYPE_CHECKING:
    from rich.console import RenderableType

    from synctax.report.output import Result


def parts(result: "Result") -> "list[RenderableType]":
    """Lay out p and q of every algorithm, then its source, and what has none."""
    rows = records(result.frame)
    known = [row for row in rows if row["refused"] is None]
    shown: list[RenderableType] = [
        tables.table(
            [
                Field(name, [row[name] for row in known], right=False)
                for name in ("topology", "op", "algorithm", "p", "q")
            ]
        ),
        "",
    ]
    for name, missing in (("source", False), ("refused", True)):
        own = [row for row in rows if (row["refused"] is not None) == missing]
        for text in dict.fromkeys(row[name] for row in own):
            names: dict[str, list[str]] = {}
            for row in own:
                if row[name] == text:
                    names.setdefault(row["topology"], []).append(row["op"])
            what = "; ".join(f"{key} {', '.join(ops)}" for key, ops in names.items())
            none = "none: " if missing else ""
            shown.append(Sentence(f"{what}: {none}{text}"))
    return shown
