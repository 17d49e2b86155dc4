"""Counts of what reading repaired or left out, with the first place of each."""

from collections.abc import Callable

from synctax.notes import Note

DETAILS = {
    "unescaped_quote": "quotes inside a text were escaped",
    "control_character": "control characters inside a text were escaped",
    "bad_escape": "backslashes that escape nothing were taken literally",
    "invalid_utf8": "bytes that are no UTF-8 were replaced",
    "lone_surrogate": "half surrogate pairs were replaced",
    "extra_comma": "commas with nothing between them were passed over",
    "missing_comma": "missing commas were taken as read",
    "missing_value": "keys without a value were taken as null",
    "nonfinite_value": "inf or nan stood for a number",
    "unreadable_event": "damaged beyond repair and left out",
    "junk_between_events": "text between events was passed over",
    "truncated": "the file ends before its list of events does",
    "second_list": "a second list of events, or a second trace, was left out",
    "metadata_damaged": "text outside the events cannot be read as a whole",
    "metadata_too_long": "text outside the events was cut",
    "start_missing": "events without ts were left out",
    "start_nonfinite": "events whose ts is inf or nan were left out",
    "start_unreadable": "events whose ts is no number were left out",
    "start_zero": "events whose ts was never filled in were left out",
    "start_outside_window": "events far outside the window of the rest were left out",
    "duration_missing": "events without dur were left out",
    "duration_nonfinite": "events whose dur is inf or nan were left out",
    "duration_unreadable": "events whose dur is no number were left out",
    "duration_unfinished": "events with dur -1 never ended in the window; left out",
    "duration_negative": "events with a negative dur were left out",
    "duration_beyond_window": "events far longer than the window were left out",
    "integer_out_of_range": "integers that do not fit were taken as absent",
    "no_events": "nothing in the trace can be analysed",
}
"""What each reason means, where the note does not say more."""


class Tally:
    """Collects notes by reason and detail."""

    def __init__(self) -> None:
        self._count: dict[tuple[str, str], int] = {}
        self._where: dict[tuple[str, str], str] = {}

    def add(
        self,
        reason: str,
        detail: str = "",
        *,
        count: int = 1,
        where: Callable[[], str] | None = None,
    ) -> None:
        """Count `reason`; `where` is asked for the place the first time only."""
        key = reason, detail or DETAILS.get(reason, "")
        if key not in self._count:
            self._count[key] = 0
            self._where[key] = where() if where else ""
        self._count[key] += count

    def __contains__(self, reason: str) -> bool:
        return any(known == reason for known, _ in self._count)

    def notes(self) -> tuple[Note, ...]:
        """What was counted, as notes, in order of reason and detail."""
        return tuple(
            Note(reason, count, detail, self._where[reason, detail])
            for (reason, detail), count in sorted(self._count.items())
        )
