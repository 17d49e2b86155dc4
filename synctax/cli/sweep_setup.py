"""What `sweep` runs: a trace that is read once, and made into jobs for each setting."""

from dataclasses import dataclass
from typing import Any

import click

from synctax.cli.simulate_options import DEFAULT_JOBS, PHILLY_LIKE
from synctax.cluster.choices import Counting
from synctax.cluster.generate import philly_like
from synctax.cluster.inputs.job_table import JobTable, job_table, read_job_table
from synctax.cluster.inputs.pool import Pool
from synctax.cluster.inputs.read_jobs import JobsRead, jobs_of
from synctax.cluster.jobs import Jobs
from synctax.cluster.machines import Cluster
from synctax.cluster.sweep import Choices
from synctax.planning.tax import PlanTax

MOST_COMBINATIONS = 100_000
"""More in one sweep is a slip of the keyboard."""


@dataclass(frozen=True, slots=True)
class Trace:
    """Jobs before a cluster and a seed are known.

    Parameters
    ----------
    table : JobTable or None
        Of a file; None for jobs that are made up.
    made_up : int
        How many of those.
    counting : Counting
    pool : Pool or None
        None is the one that is built in.
    tax : PlanTax or None
    """

    table: JobTable | None
    made_up: int
    counting: Counting
    pool: Pool | None
    tax: PlanTax | None

    def read(self, cluster: Cluster, seed: int) -> JobsRead:
        """Make the jobs, with all that is known of them."""
        table = self.table
        if table is None:
            table = job_table(philly_like(self.made_up, seed), name=PHILLY_LIKE)
        return jobs_of(
            table,
            cluster,
            counting=self.counting,
            pool=self.pool,
            seed=seed,
            tax=self.tax,
        )

    def __call__(self, cluster: Cluster, seed: int) -> Jobs:
        """Make the jobs; in a worker."""
        return self.read(cluster, seed).jobs

    def alike(self, first: JobsRead) -> bool:
        """Whether all seeds give the same jobs, of which these are."""
        return self.table is not None and not any(
            one.startswith("drawn") for one in first.jobs.source
        )


def find_trace(
    trace: str,
    jobs: int | None,
    counting: Counting,
    pool: Pool | None,
    tax: PlanTax | None,
) -> Trace:
    """Read a trace, or remember that it is made up.

    Raises
    ------
    BadInputError
        If the file is no CSV of jobs.
    """
    table = None if trace == PHILLY_LIKE else read_job_table(trace)
    return Trace(table, DEFAULT_JOBS if jobs is None else jobs, counting, pool, tax)


def check_number(choices: Choices) -> int:
    """Count combinations before they are made.

    Raises
    ------
    UsageError
        If they are more than anyone waits for.
    """
    of_models = sum(len(choices.bases) if one == "mosim" else 1 for one in choices.models)
    total = len(choices.policies) * len(choices.queues) * len(choices.nic_gb_per_s)
    total *= of_models * len(choices.seeds)
    if total > MOST_COMBINATIONS:
        raise click.UsageError(
            f"{total:,} combinations are more than {MOST_COMBINATIONS:,}; give fewer"
        )
    return total


def parameters(
    trace: str, found: Trace, first: JobsRead, cluster: Cluster, choices: Choices
) -> dict[str, Any]:
    """Tell what was asked, for the envelope."""
    return {
        "trace": trace,
        "made_up_jobs": found.made_up if found.table is None else None,
        "cluster": cluster.name or None,
        "servers": cluster.servers,
        "gpus": cluster.total_gpus,
        "pool": first.pool or None,
        "counting": dict(first.counting),
        "tax": None
        if found.tax is None
        else {"name": found.tax.name, "method": found.tax.method},
        "policies": list(choices.policies),
        "queues": list(choices.queues),
        "nic_gb_per_s": list(choices.nic_gb_per_s),
        "models": list(choices.models),
        "bases": list(choices.bases) if "mosim" in choices.models else None,
        "seeds": list(choices.seeds),
    }
