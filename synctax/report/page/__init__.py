"""One self-contained HTML page of a job."""

from synctax.report.page.build import page
from synctax.report.page.content import Missing, Options, Worth

__all__ = ["Missing", "Options", "Worth", "page"]
