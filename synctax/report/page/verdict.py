"""The verdict in three sentences: how much, who, and what comes of it."""

from typing import TYPE_CHECKING

from synctax.report.page.content import Content, Missing, Worth
from synctax.report.tables import records
from synctax.report.tax_view import lost

if TYPE_CHECKING:
    from synctax.evt.results import EvtFit


def sentences(content: Content) -> tuple[str, str, str]:
    """Say how large the tax is, who causes it, and how it grows with what that is worth.

    Parameters
    ----------
    content : Content

    Returns
    -------
    (str, str, str)
        Each with its full stop, of the sentences that the commands say.
    """
    return _how_large(content), _who(content), _what_comes(content)


def _how_large(content: Content) -> str:
    waited = lost(content.tax).partition("; ")[0]
    if not content.tax.gpu_hours_waited:
        return _ended(waited)
    more = "; most of it in " if len(content.measured) > 1 else ": "
    return _ended(f"{waited}{more}{content.measured_said[0]}")


def _who(content: Content) -> str:
    found, told = content.attribution, content.verdicts
    if isinstance(found, Missing):
        return _ended(f"who made them wait cannot be told: {found.why}")
    if not told:
        return _ended("who made them wait cannot be told: no collective was attributed")
    # of the group that the sentence before is on, where that has culprits
    group = content.measured[0]["group"]
    group = group if group in told else next(iter(told))
    name = f"in {group}: " if len(told) > 1 else ""
    parts = [told[group][0], content.foremost[group]]
    return _ended(f"{name}{'; '.join(filter(None, parts))}")


def _what_comes(content: Content) -> str:
    fit = content.fit
    if isinstance(fit, Missing):
        # its section has the whole of it
        why = fit.why.partition("; ")[0]
        return _ended(
            f"how the wait grows, and what bandwidth is then worth, cannot be told: {why}"
        )
    return _ended(f"{_grows(fit)}; {_worth(content.bandwidth)}")


def _grows(fit: "EvtFit") -> str:
    from synctax.evt.verdict import growth, trust

    return f"{growth(fit)}; {trust(fit)[0]}"


def _worth(found: Worth | Missing) -> str:
    if isinstance(found, Missing):
        return f"what bandwidth is then worth cannot be told: {found.why}"
    from synctax.bandwidth.verdict import verdict

    rows = records(found.frame)
    # of one elasticity: the others are in its section
    first = [row for row in rows if row["elasticity"] == rows[0]["elasticity"]]
    return verdict(first, found.setting)[0]


def _ended(text: str) -> str:
    """Begin a sentence with a capital and end it."""
    return f"{text[:1].upper()}{text[1:]}."
