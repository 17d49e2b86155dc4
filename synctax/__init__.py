"""Measure the time that GPUs wait for each other at collectives, and who is to blame.

>>> import synctax
>>> job = synctax.load(["traces/"])  # doctest: +SKIP
>>> tax = synctax.measure(job)  # doctest: +SKIP
>>> tax.to_frame()  # doctest: +SKIP
>>> synctax.attribute(tax).to_frame()  # doctest: +SKIP
>>> synctax.whatif(tax, "class=gemm:median").to_frame()  # doctest: +SKIP
>>> synctax.fit_evt(synctax.block_times(tax)).to_frame()  # doctest: +SKIP
>>> model, machine = synctax.read_model("llama3-405b"), synctax.read_platform("dgx-h100")
>>> found = synctax.plan(model, machine, 1024, synctax.Training(batch=2048, sequence=8192))
>>> found.layouts[found.ranked()[0]].gpus
1024
>>> cluster = synctax.read_cluster("mosim-4x8")
>>> jobs = synctax.read_jobs("jobs.csv", cluster).jobs  # doctest: +SKIP
>>> synctax.simulate(jobs, cluster).to_frame()  # doctest: +SKIP
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from synctax.attribution.attribute import Attribution, attribute
    from synctax.attribution.blocks import block_times
    from synctax.attribution.changes import Change, Replace, parse_change
    from synctax.attribution.options import Options as AttributeOptions
    from synctax.attribution.whatif import WhatIf, whatif
    from synctax.bandwidth.basis import Setting as BandwidthSetting
    from synctax.bandwidth.sweep import Link, Wait
    from synctax.bandwidth.sweep import sweep as best_bandwidth
    from synctax.bandwidth.topology import Domain, Layout
    from synctax.cluster.convert.convert import convert
    from synctax.cluster.engine import simulate
    from synctax.cluster.fidelity import fidelity
    from synctax.cluster.generate import philly_like
    from synctax.cluster.inputs.job_table import job_table
    from synctax.cluster.inputs.measured_times import read_measured
    from synctax.cluster.inputs.named import read_cluster
    from synctax.cluster.inputs.pool import read_pool
    from synctax.cluster.inputs.read_jobs import jobs_of, read_jobs
    from synctax.cluster.jobs import Jobs
    from synctax.cluster.machines import Cluster
    from synctax.cluster.settings import Contention
    from synctax.cluster.simulation import Simulation
    from synctax.cluster.sweep import Choices as SweepChoices
    from synctax.cluster.sweep import sweep
    from synctax.collectives.load import Job, load
    from synctax.collectives.match import match
    from synctax.collectives.matches import Identity, Matches, Status
    from synctax.collectives.model import Op, RankCollectives
    from synctax.collectives.tax import Tax, measure
    from synctax.comparison.compare import compare
    from synctax.comparison.comparison import Comparison
    from synctax.comparison.options import Options as CompareOptions
    from synctax.comparison.trend import Trend, trend
    from synctax.errors import BadInputError, FitError, GateFailedError, SynctaxError
    from synctax.evt.fit import fit_evt, fit_evt_maxima
    from synctax.evt.model import Block, BlockTimes
    from synctax.evt.options import Options as FitOptions
    from synctax.evt.read_csv import read_block_time_sets, read_block_times, read_maxima
    from synctax.evt.results import EvtFit
    from synctax.evt.tax import TaxModel
    from synctax.evt.tax_file import read_tax
    from synctax.experiment.injections import Injections
    from synctax.experiment.judging import judge as recover
    from synctax.experiment.read import read_injections
    from synctax.experiment.recovered import Recovered
    from synctax.graph.build import build_graph
    from synctax.graph.critical_path import critical_paths
    from synctax.graph.model import Graph
    from synctax.overlay.choice import Choice as OverlayChoice
    from synctax.overlay.overlay import Overlay, write_overlay
    from synctax.overlay.split import split as split_overlay
    from synctax.planning.inputs.named import read_model, read_platform
    from synctax.planning.layout import parse_layout
    from synctax.planning.search import Plan, plan
    from synctax.planning.tax import plan_tax
    from synctax.planning.training import Assumptions, Training
    from synctax.planning.verify.job import Against, Verification, verify
    from synctax.planning.verify.observed import observe
    from synctax.synth import SynthJob
    from synctax.trace.dask_pool import Scheduler
    from synctax.trace.kineto import read_rank
    from synctax.trace.model import RankTrace

__version__ = "0.1.0"

_HOME = {
    "Against": "synctax.planning.verify.job",
    "Assumptions": "synctax.planning.training",
    "AttributeOptions": "synctax.attribution.options",
    "Attribution": "synctax.attribution.attribute",
    "BadInputError": "synctax.errors",
    "BandwidthSetting": "synctax.bandwidth.basis",
    "Block": "synctax.evt.model",
    "BlockTimes": "synctax.evt.model",
    "Change": "synctax.attribution.changes",
    "Cluster": "synctax.cluster.machines",
    "CompareOptions": "synctax.comparison.options",
    "Comparison": "synctax.comparison.comparison",
    "Contention": "synctax.cluster.settings",
    "Domain": "synctax.bandwidth.topology",
    "EvtFit": "synctax.evt.results",
    "FitError": "synctax.errors",
    "FitOptions": "synctax.evt.options",
    "GateFailedError": "synctax.errors",
    "Graph": "synctax.graph.model",
    "Identity": "synctax.collectives.matches",
    "Injections": "synctax.experiment.injections",
    "Job": "synctax.collectives.load",
    "Jobs": "synctax.cluster.jobs",
    "Layout": "synctax.bandwidth.topology",
    "Link": "synctax.bandwidth.sweep",
    "Matches": "synctax.collectives.matches",
    "Op": "synctax.collectives.model",
    "Overlay": "synctax.overlay.overlay",
    "OverlayChoice": "synctax.overlay.choice",
    "PageMissing": "synctax.report.page.content",
    "PageOptions": "synctax.report.page.content",
    "PageWorth": "synctax.report.page.content",
    "Plan": "synctax.planning.search",
    "RankCollectives": "synctax.collectives.model",
    "RankTrace": "synctax.trace.model",
    "Recovered": "synctax.experiment.recovered",
    "Replace": "synctax.attribution.changes",
    "Scheduler": "synctax.trace.dask_pool",
    "Simulation": "synctax.cluster.simulation",
    "Status": "synctax.collectives.matches",
    "SweepChoices": "synctax.cluster.sweep",
    "SynctaxError": "synctax.errors",
    "SynthJob": "synctax.synth",
    "Tax": "synctax.collectives.tax",
    "TaxModel": "synctax.evt.tax",
    "Training": "synctax.planning.training",
    "Trend": "synctax.comparison.trend",
    "Verification": "synctax.planning.verify.job",
    "Wait": "synctax.bandwidth.sweep",
    "WhatIf": "synctax.attribution.whatif",
    "attribute": "synctax.attribution.attribute",
    "best_bandwidth": "synctax.bandwidth.sweep",
    "block_times": "synctax.attribution.blocks",
    "build_graph": "synctax.graph.build",
    "compare": "synctax.comparison.compare",
    "convert": "synctax.cluster.convert.convert",
    "critical_paths": "synctax.graph.critical_path",
    "fidelity": "synctax.cluster.fidelity",
    "fit_evt": "synctax.evt.fit",
    "fit_evt_maxima": "synctax.evt.fit",
    "job_table": "synctax.cluster.inputs.job_table",
    "jobs_of": "synctax.cluster.inputs.read_jobs",
    "load": "synctax.collectives.load",
    "match": "synctax.collectives.match",
    "measure": "synctax.collectives.tax",
    "observe": "synctax.planning.verify.observed",
    # by name only: what is below the report imports this module for its version
    "page": "synctax.report.page.build",
    "parse_change": "synctax.attribution.changes",
    "parse_layout": "synctax.planning.layout",
    "philly_like": "synctax.cluster.generate",
    "plan": "synctax.planning.search",
    "plan_tax": "synctax.planning.tax",
    "read_block_time_sets": "synctax.evt.read_csv",
    "read_block_times": "synctax.evt.read_csv",
    "read_cluster": "synctax.cluster.inputs.named",
    "read_injections": "synctax.experiment.read",
    "read_jobs": "synctax.cluster.inputs.read_jobs",
    "read_maxima": "synctax.evt.read_csv",
    "read_measured": "synctax.cluster.inputs.measured_times",
    "read_model": "synctax.planning.inputs.named",
    "read_platform": "synctax.planning.inputs.named",
    "read_pool": "synctax.cluster.inputs.pool",
    "read_rank": "synctax.trace.kineto",
    "read_tax": "synctax.evt.tax_file",
    "recover": "synctax.experiment.judging",
    "simulate": "synctax.cluster.engine",
    "split_overlay": "synctax.overlay.split",
    "sweep": "synctax.cluster.sweep",
    "trend": "synctax.comparison.trend",
    "verify": "synctax.planning.verify.job",
    "whatif": "synctax.attribution.whatif",
    "write_overlay": "synctax.overlay.overlay",
}

_OTHER_NAME = {
    "AttributeOptions": "Options",
    "BandwidthSetting": "Setting",
    "CompareOptions": "Options",
    "FitOptions": "Options",
    "OverlayChoice": "Choice",
    "PageMissing": "Missing",
    "PageOptions": "Options",
    "PageWorth": "Worth",
    "SweepChoices": "Choices",
    "best_bandwidth": "sweep",
    "recover": "judge",
    "split_overlay": "split",
}
"""What a public name is called in its module, where that differs."""

__all__ = [
    "Against",
    "Assumptions",
    "AttributeOptions",
    "Attribution",
    "BadInputError",
    "BandwidthSetting",
    "Block",
    "BlockTimes",
    "Change",
    "Cluster",
    "CompareOptions",
    "Comparison",
    "Contention",
    "Domain",
    "EvtFit",
    "FitError",
    "FitOptions",
    "GateFailedError",
    "Graph",
    "Identity",
    "Injections",
    "Job",
    "Jobs",
    "Layout",
    "Link",
    "Matches",
    "Op",
    "Overlay",
    "OverlayChoice",
    "PageMissing",
    "PageOptions",
    "PageWorth",
    "Plan",
    "RankCollectives",
    "RankTrace",
    "Recovered",
    "Replace",
    "Scheduler",
    "Simulation",
    "Status",
    "SweepChoices",
    "SynctaxError",
    "SynthJob",
    "Tax",
    "TaxModel",
    "Training",
    "Trend",
    "Verification",
    "Wait",
    "WhatIf",
    "__version__",
    "attribute",
    "best_bandwidth",
    "block_times",
    "build_graph",
    "compare",
    "convert",
    "critical_paths",
    "fidelity",
    "fit_evt",
    "fit_evt_maxima",
    "job_table",
    "jobs_of",
    "load",
    "match",
    "measure",
    "observe",
    "page",
    "parse_change",
    "parse_layout",
    "philly_like",
    "plan",
    "plan_tax",
    "read_block_time_sets",
    "read_block_times",
    "read_cluster",
    "read_injections",
    "read_jobs",
    "read_maxima",
    "read_measured",
    "read_model",
    "read_platform",
    "read_pool",
    "read_rank",
    "read_tax",
    "recover",
    "simulate",
    "split_overlay",
    "sweep",
    "trend",
    "verify",
    "whatif",
    "write_overlay",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: the command line starts fast."""
    if name not in _HOME:
        raise AttributeError(f"module 'synctax' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), _OTHER_NAME.get(name, name))


def __dir__() -> list[str]:
    return __all__
