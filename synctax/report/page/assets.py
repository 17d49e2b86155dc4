"""What is embedded in the page as it is: the charting library, script and style."""

import base64
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from synctax.report.page.markup import Html

PARTS = (
    "setup", "words", "columns", "filters", "theme", "charts", "charts_collectives",
    "charts_fit", "drawing", "list", "paths", "lanes", "tables", "start",
)  # fmt: skip
"""Parts of the page's own script in order: what runs at once needs what is before it."""

ECHARTS_VERSION = "6.1.0"
ECHARTS_LICENCE = "Apache-2.0"

_LICENCES = ("echarts.NOTICE.txt", "echarts.LICENSE.txt", "echarts.LICENSE-d3.txt")


@dataclass(frozen=True, slots=True)
class Asset:
    """A file that is embedded whole; `text` must end no element that it stands in."""

    name: str
    text: Html

    @property
    def size_bytes(self) -> int:
        """Bytes in UTF-8."""
        return len(self.text.encode())

    @property
    def source(self) -> str:
        """How a content security policy names exactly this text."""
        digest = hashlib.sha256(self.text.encode()).digest()
        return f"'sha256-{base64.b64encode(digest).decode()}'"


@cache
def asset(name: str) -> Asset:
    """Read a script or a style sheet.

    Raises
    ------
    ValueError
        If embedding it would change it, or end the element around it.
    """
    text = _read(name)
    lower = text.lower()
    broken = [mark for mark in ("</script", "</style", "<!--", "\r", "\0") if mark in lower]
    if broken:
        raise ValueError(f"{name} holds {broken}, which HTML would not leave as it is")
    return Asset(name, Html(text))


@cache
def script() -> Asset:
    """Join the parts of the page's own script: one function, so one scope for all.

    Raises
    ------
    ValueError
        As `asset` does.
    """
    inside = "\n".join(asset(f"page/{part}.js").text for part in PARTS)
    return Asset("page.js", Html(f'"use strict";\n\n(() => {{\n{inside}}})();\n'))


@cache
def library() -> Asset:
    """Read the charting library, as it was published."""
    return asset("echarts.min.js")


def licences() -> str:
    """Return the licences that have to go where the charting library goes."""
    return "\n\n".join(_read(name).strip() for name in _LICENCES)


def _read(name: str) -> str:
    where = files("synctax.report.page").joinpath("assets").joinpath(name)
    return where.read_bytes().decode()
