"""Whether files are of one job."""

from collections import defaultdict
from collections.abc import Mapping

from synctax.trace.windows import Claim, Labelled

Jobs = Mapping[str, list[str]]
"""Paths of files by what tells their jobs apart: size, name or GPU model."""


def different_jobs(windows: Labelled) -> Jobs:
    """Tell files of different jobs apart; empty where nothing says that they are.

    Parameters
    ----------
    windows : dict of window label to claims
    """
    claims = [claim for inside in windows.values() for claim in inside]
    for jobs in (_by_world_size(claims), *map(_by_job, windows.values()), _by_gpu(claims)):
        if len(jobs) > 1:
            return jobs
    return {}


def _by_world_size(claims: list[Claim]) -> Jobs:
    jobs: defaultdict[str, list[str]] = defaultdict(list)
    for claim in claims:
        if claim.facts.meta.world_size:
            jobs[f"{claim.facts.meta.world_size} ranks"].append(claim.file.path)
    return jobs


def _by_job(inside: list[Claim]) -> Jobs:
    jobs: defaultdict[str, list[str]] = defaultdict(list)
    for claim in inside:
        if claim.facts.meta.job:
            jobs[claim.facts.meta.job].append(claim.file.path)
    # An id that every file has for itself names the process, not the job.
    return {} if all(len(paths) == 1 for paths in jobs.values()) else jobs


def _by_gpu(claims: list[Claim]) -> Jobs:
    """Tell jobs apart by GPU: a rank does not change its model from window to window."""
    jobs: defaultdict[str, list[str]] = defaultdict(list)
    of_rank: defaultdict[int, set[str]] = defaultdict(set)
    for claim in claims:
        for model in {device.name for device in claim.facts.devices} - {""}:
            jobs[model].append(claim.file.path)
            of_rank[claim.rank].add(model)
    changed = any(len(models) > 1 for models in of_rank.values())
    return jobs if changed else {}
