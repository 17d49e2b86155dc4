"""A figure that shows itself in a notebook, with no library's state touched."""

import io
import warnings
from typing import Any, Final

import matplotlib as mpl
from matplotlib.figure import Figure

from synctax.report.figures.lettering import borrows

NOTEBOOK_DPI: Final = 78
"""A picture 6.4 inches wide is 499 pixels wide, and mostly below 60 kB."""


class ShownFigure(Figure):
    """A figure made without `pyplot`, which IPython would show as a line of text."""

    def savefig(self, *args: Any, **kwargs: Any) -> None:
        """Write the figure, as `Figure.savefig` does, without warnings that help nobody."""
        # PDF shows glyphs of OpenType fonts as outlines only
        settings: Any = {"pdf.fonttype": 3} if borrows(self) else {}
        with mpl.rc_context(settings), warnings.catch_warnings():
            # the caption tells of signs that no font has
            warnings.filterwarnings("ignore", message="Glyph .* missing from")
            # where texts leave no room the picture is still whole
            warnings.filterwarnings("ignore", message="constrained_layout not applied")
            super().savefig(*args, **kwargs)

    def _repr_png_(self) -> bytes:
        from synctax.report.figures.style import styled

        data = io.BytesIO()
        with styled():
            self.savefig(data, format="png", dpi=NOTEBOOK_DPI)
        return data.getvalue()
