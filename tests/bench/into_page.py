"""Puts tables between the marks that a page has for them."""

from pathlib import Path


def put(page: Path, name: str, text: str) -> None:
    """Replace what stands between `<!-- name -->` and `<!-- end of name -->`.

    Raises
    ------
    SystemExit
        If the page does not have both marks once: it would lose what was measured.
    """
    whole = page.read_text(encoding="utf-8")
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    if whole.count(begin) != 1 or whole.count(end) != 1:
        raise SystemExit(
            f"{page}: the marks {begin.strip()} and {end} must stand in it once"
        )
    head, _, rest = whole.partition(begin)
    tail = rest.partition(end)[2]
    page.write_text(f"{head}{begin}{text.strip()}\n{end}{tail}", encoding="utf-8")
