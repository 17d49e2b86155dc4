"""Numbers and times out of the cells of a trace."""

import re
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from math import isfinite, nan
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from synctax.cluster.convert.found import Tally
from synctax.cluster.convert.reasons import NUMBER, RANGE, TIME, LeftOutError
from synctax.errors import SynctaxError

ABSENT: Final = frozenset(
    ("", "none", "null", "nan", "na", "n/a", "unknown", "(null)", "nat", "\\n")
)
"""What stands where there is nothing, in lower case."""

FIRST_YEAR: Final = 1969
LAST_YEAR: Final = 2262
"""Years that may have times from 1970 to 2261 in some zone."""

_DAY: Final = len("2017-10-07")
_LONGEST_ABSENT: Final = max(map(len, ABSENT))
_TIME_OF_DAY: Final = re.compile(r"[ T]([01]\d|2[0-3]):([0-5]\d):([0-5]\d)")


def absent(text: str | None) -> bool:
    """Whether a cell says that there is nothing."""
    if not text or len(text) > _LONGEST_ABSENT:
        return not text or text.isspace()
    return text.strip().lower() in ABSENT


def number(text: str, name: str) -> float:
    """Read a number; NaN where there is none.

    Raises
    ------
    LeftOutError
        If it is neither a finite number nor absent.
    """
    if absent(text):
        return nan
    try:
        value = nan if "_" in text else float(text)
    except ValueError:
        value = nan
    if not isfinite(value):
        raise LeftOutError(NUMBER, f"{name} is {text!r}")
    return value


def count(text: str, name: str) -> float:
    """Read a number of 0 or more; NaN where there is none.

    Raises
    ------
    LeftOutError
        If it is neither such a number nor absent.
    """
    value = number(text, name)
    if value < 0:
        raise LeftOutError(NUMBER, f"{name} is {text!r}")
    return value


def gpus_text(gpus: float) -> str:
    """Write a number of GPUs.

    Examples
    --------
    >>> gpus_text(1.0), gpus_text(0.25)
    ('1 GPU', '0.25 GPUs')
    """
    return f"{gpus:g} GPU" if gpus == 1 else f"{gpus:g} GPUs"


class Clock:
    """Seconds since 1970 of times that are written out.

    Times that name their zone are what they say; others are of `zone`, or taken as they
    stand where that is None, so that differences are those of the clock on the wall.

    Parameters
    ----------
    zone : str or None
        Such as `America/Los_Angeles`; `none` is None.
    tally : Tally
        Told of hours that a zone has twice or not at all, and of times that name theirs.

    Raises
    ------
    SynctaxError
        If there is no such zone.
    """

    def __init__(self, zone: str | None, tally: Tally) -> None:
        self.name = None if zone == "none" else zone
        self._zone = None if self.name is None else time_zone(self.name)
        self._tally = tally
        self._days: dict[str, float] = {}
        self._times: dict[str, float] = {}

    def seconds(self, text: str | None, name: str, not_before: float = nan) -> float:
        """Read a time; NaN where there is none.

        Parameters
        ----------
        text : str or None
        name : str
            What it is, for people.
        not_before : float
            What it cannot be before, on this clock: decides between the two times that
            have one name where the zone's clock is set back. NaN for nothing.

        Raises
        ------
        LeftOutError
            If it is no time.
        """
        if text is None:
            return nan
        # most times of a trace share their day and their time of day with others
        begun = self._days.get(text[:_DAY])
        if begun is not None and (passed := self._passed(text[_DAY:])) is not None:
            return begun + passed
        return nan if absent(text) else self._slowly(text.strip(), name, not_before)

    def _passed(self, text: str) -> float | None:
        """Tell how long after midnight `hh:mm:ss` is; None for anything else."""
        passed = self._times.get(text)
        if passed is None and (found := _TIME_OF_DAY.fullmatch(text)):
            hours, minutes, seconds = map(int, found.groups())
            passed = self._times[text] = 3600.0 * hours + 60.0 * minutes + seconds
        return passed

    def text(self, seconds: float) -> str:
        """Write a time as the trace's clock shows it."""
        zone = self._zone or UTC
        shown = datetime.fromtimestamp(round(seconds), zone).isoformat(" ")
        return shown[: len("2017-10-07 01:11:39")]

    def _slowly(self, text: str, name: str, not_before: float) -> float:
        try:
            when = datetime.fromisoformat(text)
        except ValueError:
            raise LeftOutError(TIME, f"{name} is {text!r}") from None
        if not FIRST_YEAR <= when.year <= LAST_YEAR:
            raise LeftOutError(RANGE, f"{name} is {text!r}")
        if when.tzinfo is not None:
            self._tally.zoned = True
            return when.timestamp()
        self._tally.unzoned = True
        if self._zone is None:
            seconds = when.replace(tzinfo=UTC).timestamp()
            self._keep(text, seconds)
            return seconds
        return self._in_zone(text, when.replace(tzinfo=self._zone), not_before)

    def _in_zone(self, text: str, when: datetime, not_before: float) -> float:
        first, second = when.timestamp(), when.replace(fold=1).timestamp()
        if first == second:
            midnight = when.replace(hour=0, minute=0, second=0, microsecond=0)
            whole = midnight + timedelta(days=1)
            if midnight.utcoffset() == when.utcoffset() == whole.utcoffset():
                self._keep(text, first)
            return first
        if second < first:
            self._tally.infer(
                "hour_skipped",
                f"times that {self.name} does not have: the clock was set forward",
                text,
            )
            return second
        self._tally.infer(
            "hour_twice",
            f"times that {self.name} has twice: the clock was set back; the first one that "
            "keeps the job's times in order",
            text,
        )
        return second if first < not_before else first

    def _keep(self, text: str, seconds: float) -> None:
        """Remember when the day of `YYYY-MM-DD hh:mm:ss` begins."""
        if (
            text[4:5] == text[7:8] == "-"
            and (passed := self._passed(text[_DAY:])) is not None
        ):
            self._days[text[:_DAY]] = seconds - passed


def time_zone(name: str) -> ZoneInfo:
    """Find a time zone by its name.

    Raises
    ------
    SynctaxError
        If there is none.
    """
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        near = _near(name)
        meant = f"; did you mean {near}" if near else ""
        raise SynctaxError(
            f"no time zone {name!r:.60} is known here{meant}; zones are named as "
            "America/Los_Angeles (pip install tzdata where there are none), and none takes "
            "times as they stand"
        ) from None


def _near(name: str) -> str:
    known = {one.lower(): one for one in ("none", *sorted(available_timezones()))}
    found = get_close_matches(name.lower(), known, 1, 0.8)
    return known[found[0]] if found else ""
