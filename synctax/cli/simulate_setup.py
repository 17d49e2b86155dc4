"""What `simulate` computes with: cluster, jobs, tax and settings, as options ask."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

from synctax.cli.asking import bad_option, read_named
from synctax.cli.bandwidth_tax import Tax, find_tax
from synctax.cli.simulate_options import DEFAULT_JOBS, FITTED, PHILLY_LIKE
from synctax.cluster.choices import Counting, QueueName
from synctax.cluster.engine import simulate
from synctax.cluster.fidelity import RESAMPLES, Fidelity, fidelity
from synctax.cluster.generate import philly_like
from synctax.cluster.inputs.job_table import job_table
from synctax.cluster.inputs.measured_times import read_measured
from synctax.cluster.inputs.named import read_cluster
from synctax.cluster.inputs.pool import Pool, read_pool
from synctax.cluster.inputs.read_jobs import JobsRead, jobs_of, read_jobs
from synctax.cluster.machines import Cluster
from synctax.cluster.measured import Measured, measured_of
from synctax.cluster.policies.lookup import policy
from synctax.cluster.policies.policy import Policy
from synctax.cluster.settings import Contention
from synctax.cluster.simulation import Simulation
from synctax.errors import SynctaxError
from synctax.evt.methods import Method
from synctax.planning.tax import PlanTax, plan_tax


@dataclass(frozen=True, slots=True)
class AskedTax:
    """A tax as options ask for it.

    Parameters
    ----------
    source : str
        A file, a built-in name, `fitted` or `none`.
    workspace : Path or None
        Where a fitted one may lie.
    method : Method or None
    compute_us : float or None
        Computation before a barrier of what was fitted.
    """

    source: str
    workspace: Path | None = None
    method: Method | None = None
    compute_us: float | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """A simulation as the command line describes it; None is not given.

    Parameters
    ----------
    trace : str
        A file, or `philly-like`.
    cluster : str
        A name or a file.
    jobs : int or None
        Of a trace that is made up.
    seed : int
    counting : Counting
    pool : str or None
        A file.
    policy : str or None
    queue : QueueName or None
    tax : AskedTax
    """

    trace: str
    cluster: str
    jobs: int | None
    seed: int
    counting: Counting
    pool: str | None
    policy: str | None
    queue: QueueName | None
    tax: AskedTax


@dataclass(frozen=True, slots=True, eq=False)
class Setup:
    """What is simulated.

    Parameters
    ----------
    cluster : Cluster
        With the policy and queue that were asked for.
    policy : Policy
        Found once: a file of one's own runs when it is found.
    read : JobsRead
    tax : Tax
    charge : PlanTax or None
    """

    cluster: Cluster
    policy: Policy
    read: JobsRead
    tax: Tax
    charge: PlanTax | None


def set_up(asked: Asked) -> Setup:
    """Read and check what was asked.

    Raises
    ------
    BadParameter
        If an option names nothing that is there.
    BadInputError
        If a file is no trace, cluster or pool, or a job does not fit into the cluster.
    """
    pool = find_pool(asked.pool)
    cluster = find_cluster(asked.cluster, asked.policy, asked.queue, pool=pool)
    option = "--cluster" if asked.policy is None else "--policy"
    chosen = read_named(option, lambda: policy(cluster.policy))
    tax, charge = find_job_tax(asked.tax)
    return Setup(cluster, chosen, find_jobs(asked, cluster, pool, charge), tax, charge)


def find_cluster(
    name: str,
    policy_name: str | None = None,
    queue: QueueName | None = None,
    *,
    pool: Pool | None = None,
) -> Cluster:
    """Read a cluster, and put another policy and queue in place of its own.

    The policy is not looked up: that runs code, which somebody has to ask for.

    Raises
    ------
    BadParameter
        If there is none of that name.
    BadInputError
        If the file is no cluster.
    """
    cluster = read_named("--cluster", lambda: read_cluster(name, pool=pool))
    wanted = cluster.policy if policy_name is None else policy_name
    return replace(cluster, policy=wanted, queue=queue or cluster.queue)


def find_pool(name: str | None) -> Pool | None:
    """Read a pool of workloads; None for the one that is built in.

    Raises
    ------
    BadParameter
        If there is no such file.
    BadInputError
        If it is no pool.
    """
    return None if name is None else read_named("--pool", lambda: read_pool(name))


def find_jobs(
    asked: Asked, cluster: Cluster, pool: Pool | None, charge: PlanTax | None
) -> JobsRead:
    """Read a trace, or make one up.

    Raises
    ------
    BadInputError
        If the file is no trace, or has jobs that the cluster has no room for.
    """
    if asked.trace != PHILLY_LIKE:
        _check_name(asked.trace)
        return read_jobs(
            asked.trace,
            cluster,
            counting=asked.counting,
            pool=pool,
            seed=asked.seed,
            tax=charge,
        )
    made = philly_like(DEFAULT_JOBS if asked.jobs is None else asked.jobs, asked.seed)
    table = job_table(made, name=PHILLY_LIKE)
    return jobs_of(table, cluster, pool=pool, seed=asked.seed, tax=charge)


def _check_name(trace: str) -> None:
    near = get_close_matches(trace.lower(), (PHILLY_LIKE,), cutoff=0.7)
    if near and not Path(trace).exists():
        raise bad_option("TRACE", f"no file {trace!r}; did you mean {PHILLY_LIKE}?")


def find_job_tax(asked: AskedTax) -> tuple[Tax, PlanTax | None]:
    """Find a tax, and make what jobs are charged by of it; None for none.

    Raises
    ------
    SynctaxError
        If there is no such tax, or nothing tells the computation before a barrier.
    """
    source = None if asked.source == FITTED else asked.source
    tax = find_tax(source, asked.workspace, asked.method)
    if tax.model is None:
        return tax, None
    try:
        charge = plan_tax(tax.model, tax.method, a_us=asked.compute_us, name=tax.name)
    except SynctaxError as error:
        raise SynctaxError(f"{tax.name}: {error}; --tax-compute-us tells it") from error
    return tax, charge


def run(
    setup: Setup,
    contention: Contention,
    *,
    interference: bool,
    on_progress: Callable[[int, int], None] | None = None,
) -> Simulation:
    """Simulate what was set up."""
    return simulate(
        setup.read.jobs,
        setup.cluster,
        contention=contention,
        policy=setup.policy,
        interference=interference,
        on_progress=on_progress,
    )


def find_measured(path: str | None, read: JobsRead) -> Measured | None:
    """Read measured times from a file, else take those of the trace, where it has any.

    Raises
    ------
    BadParameter
        If there is no such file.
    BadInputError
        If it has no measured times.
    """
    if path is None:
        return measured_of(read.jobs.job_id, read.start_s, read.end_s)
    if "://" not in path and not Path(path).exists():
        raise bad_option("--measured", f"there is no file {path!r}")
    return read_named("--measured", lambda: read_measured(path))


def compare(
    simulation: Simulation, measured: Measured | None, resamples: int | None, seed: int
) -> Fidelity | None:
    """Hold a simulation against measured times, where there are any."""
    if measured is None:
        return None
    many = RESAMPLES if resamples is None else resamples
    return fidelity(simulation, measured, resamples=many, seed=seed)


def check_servers(servers: frozenset[int] | None, cluster: Cluster) -> None:
    """Refuse servers that a cluster does not have.

    Raises
    ------
    BadParameter
    """
    if servers and max(servers) >= cluster.servers:
        raise bad_option(
            "--timeline-servers",
            f"{max(servers):,} is none of the servers 0 to {cluster.servers - 1:,}",
        )
