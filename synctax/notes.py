"""What was left out, repaired or inferred: no stage drops anything in silence."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Note:
    """Something that was repaired, inferred or left out, how often, and where first.

    `reason` is a stable identifier (`unescaped_quote`, `duration_negative`, ...);
    `detail` is for people, `where` names the first place (`line 12`, `byte 3,401`).
    """

    reason: str
    count: int
    detail: str = ""
    where: str = ""
