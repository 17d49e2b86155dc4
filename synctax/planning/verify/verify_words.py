"""What was found of a job, in sentences."""

from collections.abc import Iterator

from synctax.planning.verify.check import Check
from synctax.planning.verify.job import Verification
from synctax.texts import counted
from synctax.trace.oddities import rank_text


def verdict(found: Verification, *, strict: bool = False) -> list[str]:
    """Say what breaks, what is to be looked at, and what cannot be told.

    Parameters
    ----------
    found : Verification
    strict : bool
        Whether warnings fail a job.
    """
    return [_job(found), *_faults(found, strict=strict), *_unknown(found)]


def _job(found: Verification) -> str:
    observed, seen = found.observed, found.seen
    ranks = counted(observed.traced.size, "rank")
    of = "" if observed.world is None else f" of {observed.world:,}"
    read = f"{ranks}{of} read" if observed.traced.size else "no trace tells its rank"
    parts = [read]
    hosts = len(observed.places.hosts)
    parts.append(f"on {counted(hosts, 'host')}" if hosts else "hosts unknown")
    text = " ".join(parts) if hosts else ", ".join(parts)
    if seen.layout is not None:
        order = f", ranks as {found.order}" if found.order else ""
        return f"{text}; the groups are those of {seen.layout}{order}"
    told = f"; groups of {seen}" if str(seen) else ""
    because = f"; the layout cannot be told: {seen.because}" if seen.because else ""
    return f"{text}{told}{because}"


def _faults(found: Verification, *, strict: bool) -> Iterator[str]:
    failed = found.failed(strict=strict)
    warned = [
        check
        for check in found.checks
        if check.status == "broken" and check not in failed and check.level != "remark"
    ]
    for check in failed:
        yield f"broken: {fault(check)}"
    for check in warned:
        yield f"warning: {fault(check)}"
    for check in found.checks:
        remark = check.level == "remark" and check.status == "broken"
        if check.because and (remark or check.status == "ok"):
            subject = f"{check.role} {check.name}".strip()
            yield f"note: {subject}: {check.found}; {check.because}"
    if not failed:
        rules = [check for check in found.checks if check.level == "rule"]
        held = any(check.status == "ok" for check in rules)
        word = "every rule that can be checked holds" if held else "no rule can be checked"
        yield word + (f", {counted(len(warned), 'warning')}" if warned else "")


def fault(check: Check) -> str:
    """Say what a broken check found: how many groups, the first of them, and why.

    Parameters
    ----------
    check : Check
        Broken.
    """
    first = check.broken[0]
    subject = f"{check.role} {check.name}".strip()
    text = f"{subject}: {first.found}, expected {check.expected}"
    if first.ranks or len(check.broken) > 1:
        many = f"{len(check.broken):,} of {counted(check.checked, check.unit)}"
        word = "ranks" if len(first.ranks) > 1 else "rank"
        ranks = f" {word} {rank_text(first.ranks)}" if first.ranks else ""
        text = f"{subject}: {many}; first{ranks}: {first.found}"
        if check.name in _WITH_EXPECTED:
            text += f", expected {check.expected}"
    return f"{text}; {check.because}" if check.because else text


_WITH_EXPECTED = ("size", "members")
"""Checks whose finding says little without what should be."""


def _unknown(found: Verification) -> Iterator[str]:
    """Say what cannot be told and why, once a reason."""
    subjects: dict[str, list[str]] = {}
    for check in found.checks:
        if check.status == "unknown" and check.because:
            subject = f"{check.role} {check.name}".strip()
            subjects.setdefault(check.because, []).append(subject)
    for because, names in subjects.items():
        yield f"unknown: {', '.join(names)}: {because}"
