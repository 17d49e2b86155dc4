"""The verdict in three sentences: how much, who, and what comes of it."""

from typing import TYPE_CHECKING

from synctax.report.page.content import Content, Missing, Worth
from synctax.report.tables import records

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
    from synctax.report.tax_view import lost
    from synctax.report.tax_view import sentences as of_rows

    rows = records(content.tax.to_frame())
    most = of_rows(content.tax, rows[:1])[0]
    waited = lost(content.tax).partition("; ")[0]
    more = "; most of it in " if len(rows) > 1 else ": "
    return _ended(f"{waited}{more}{most}")


def _who(content: Content) -> str:
    from synctax.attribution.facts import facts
    from synctax.attribution.verdict import verdict

    found = content.attribution
    if isinstance(found, Missing):
        return _ended(f"who made them wait cannot be told: {found.why}")
    told = facts(found)
    if not told:
        return _ended("who made them wait cannot be told: no collective was attributed")
    # of the group that the sentence before is on, where that has culprits
    group = records(content.tax.to_frame())[0]["group"]
    one = next((one for one in told if one.group == group), told[0])
    name = f"in {one.group}: " if len(told) > 1 else ""
    return _ended(f"{name}{verdict(one)[0]}")


def _what_comes(content: Content) -> str:
    if isinstance(content.fit, Missing):
        return _ended(f"how the wait grows cannot be told: {content.fit.why}")
    return _ended(f"{_grows(content.fit)}; {_worth(content.bandwidth)}")


def _grows(fit: "EvtFit") -> str:
    from synctax.evt.verdict import growth, trust

    return f"{growth(fit)}; {trust(fit)[0]}"


def _worth(found: "Worth | Missing") -> str:
    if isinstance(found, Missing):
        return f"what bandwidth is then worth cannot be told: {found.why}"
    from synctax.bandwidth.verdict import verdict

    return verdict(records(found.frame), found.setting)[0]


def _ended(text: str) -> str:
    """Begin a sentence with a capital and end it."""
    return f"{text[:1].upper()}{text[1:]}."
