"""What `sweep` runs: a trace that is read once, and made into jobs for each setting."""

from dataclasses import dataclass
from typing import Any

import click

from synctax.cli.simulate_options import DEFAULT_JOBS, PHILLY_LIKE
from synctax.cli.simulate_told import cluster_told, contention_told, jobs_told, tax_told
from synctax.cluster.choices import Counting
from synctax.cluster.generate import philly_like
from synctax.cluster.inputs.job_table import JobTable, job_table, read_job_table
from synctax.cluster.inputs.pool import Pool
from synctax.cluster.inputs.read_jobs import JobsRead, jobs_of
from synctax.cluster.machines import Cluster
from synctax.cluster.settings import Contention
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

    def __call__(self, cluster: Cluster, seed: int) -> JobsRead:
        """Make the jobs, with all that is known of them; in a worker."""
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
        **jobs_told(first),
        "cluster": cluster_told(cluster),
        "tax": tax_told(found.tax),
        "policies": list(choices.policies),
        "queues": list(choices.queues),
        "nic_gb_per_s": list(choices.nic_gb_per_s),
        "models": list(choices.models),
        "demand_bases": list(choices.bases) if "mosim" in choices.models else None,
        "seeds": list(choices.seeds),
    }


def shared_told(how: Contention) -> dict[str, Any]:
    """Tell the settings of contention that all simulations share."""
    told = contention_told(how)
    return {name: told[name] for name in told if name not in ("model", "demand_basis")}
