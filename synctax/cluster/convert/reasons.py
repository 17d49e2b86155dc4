"""Why a row of a trace becomes no job; every row that does not has exactly one reason."""

from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["rejected", "dropped"]


@dataclass(frozen=True, slots=True)
class Reason:
    """Why rows are left out.

    Parameters
    ----------
    name : str
        Stable identifier.
    kind : Kind
        `rejected`: something that a job needs is missing or cannot be; `dropped`: nothing
        is wrong with the row, but it is no job that was asked for.
    words : str
        What these rows are.
    advice : str
        What would make jobs of them; empty where nothing but another trace would.
    """

    name: str
    kind: Kind
    words: str
    advice: str = ""


class LeftOutError(Exception):
    """A row that becomes no job: never leaves this package.

    Parameters
    ----------
    reason : Reason
    found : str
        What stands there, for the first row of a reason.
    """

    def __init__(self, reason: Reason, found: str = "") -> None:
        super().__init__(reason.name)
        self.reason = reason
        self.found = found


def _rejected(name: str, words: str, advice: str = "") -> Reason:
    return Reason(name, "rejected", words, advice)


def _dropped(name: str, words: str, advice: str = "") -> Reason:
    return Reason(name, "dropped", words, advice)


_ASSUME = "--assume-duration-s sets the run time"

COLUMNS: Final = _rejected("columns", "rows with another number of columns")
QUOTES: Final = _rejected("quotes", "rows whose quotation marks do not match")
MALFORMED: Final = _rejected("malformed", "entries that are not written as this format is")
NUMBER: Final = _rejected("number", "rows with a number that is none, or cannot be")
TIME: Final = _rejected("time", "rows with a time that cannot be read")
NO_ID: Final = _rejected("no_job_id", "jobs without an id")
REPEATED: Final = _rejected("job_id_repeated", "jobs with an id that an earlier one has")
NO_SUBMIT: Final = _rejected("no_submit", "jobs without a time of submission")
NO_START: Final = _rejected("no_start", "jobs without a start: they may never have run")
NO_END: Final = _rejected("no_end", "jobs without an end: they may still have run")
NO_ATTEMPT: Final = _rejected("no_attempt", "jobs without an attempt to run them")
NO_ALLOCATION: Final = _rejected("no_allocation", "jobs that were given nothing to run on")
NO_GPUS: Final = _rejected("no_gpus", "jobs that do not say how many GPUs they ask for")
NO_DURATION: Final = _rejected("no_duration", "jobs whose run time is not known", _ASSUME)
NEGATIVE: Final = _rejected("negative_duration", "jobs that end before they start")
RANGE: Final = _rejected(
    "out_of_range", "jobs with a time below 0 or above 9.2e9 s (1970 to 2261, if a date)"
)
NO_TASK: Final = _rejected("no_task", "jobs of which the table of tasks has none")
NO_JOB: Final = _rejected("task_without_job", "tasks whose job the table of jobs has not")
NO_THROUGHPUT: Final = _rejected(
    "no_throughput",
    "jobs that count steps, whose rate --throughputs does not tell",
    _ASSUME,
)
NO_RATES: Final = _rejected(
    "no_throughput",
    "jobs that count steps, of which nothing tells how long they take",
    "--throughputs simulation_throughputs.json tells the rates, or " + _ASSUME,
)
PROFILE: Final = _rejected(
    "profile", "jobs with a profile, a counting or servers that simulate would refuse"
)

NOT_PASSED: Final = _dropped(
    "not_passed",
    "jobs that did not end well, or do not say how (--status pass)",
    "--status all keeps them",
)
CPU_ONLY: Final = _dropped("no_gpu", "jobs that ask for no GPU")
FRACTION: Final = _dropped(
    "fraction",
    "jobs that ask for parts of GPUs (--fractional drop)",
    "--fractional round-up keeps them",
)
STEP: Final = _dropped("step", "steps of jobs, which have rows of their own")
REQUEUED: Final = _dropped(
    "requeued", "runs of jobs that were requeued and ran again: the last one counts"
)
JOINED: Final = _dropped("joined", "rows that tell something of a job in another table")
