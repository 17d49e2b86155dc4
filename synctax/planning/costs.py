"""What layouts cost: bytes, barriers, memory, time; one number each a layout."""

from dataclasses import dataclass

import numpy as np

from synctax.arrays import F64
from synctax.planning.barriers import Barriers, barriers
from synctax.planning.domains import Placement, place
from synctax.planning.flop import step_flop
from synctax.planning.layout import Layouts
from synctax.planning.memory import Memory, memory
from synctax.planning.pipeline import bubble, imbalance, microbatches
from synctax.planning.setting import Setting
from synctax.planning.tax import Taxed, taxed
from synctax.planning.times import Times, compute_s, times
from synctax.planning.training import DIMENSIONS
from synctax.planning.volumes import Volumes, volumes


@dataclass(frozen=True, slots=True, eq=False)
class Costs:
    """What k layouts cost, of a GPU and step.

    Parameters
    ----------
    microbatches, bubble, imbalance : (k,) float64
        m; (p-1)/(v·m); what the fullest stage computes over the average.
    memory : Memory
    volumes : Volumes
    barriers : Barriers
    placement : Placement
    compute_s : (k,) float64
        What is computed again included.
    times : Times
    exposed_s : (k,) float64
        Communication that no computation hides.
    taxed : Taxed
    step_s : (k,) float64
        compute_s · imbalance · (1 + bubble) + exposed_s + tax; NaN where the tax is.
    """

    microbatches: F64
    bubble: F64
    imbalance: F64
    memory: Memory
    volumes: Volumes
    barriers: Barriers
    placement: Placement
    compute_s: F64
    times: Times
    exposed_s: F64
    taxed: Taxed
    step_s: F64

    @property
    def nic_share(self) -> F64:
        """Share of a step for which a GPU's NIC is busy."""
        return self.times.nic_s / self.step_s

    def step_mfu(self, setting: Setting) -> F64:
        """Share of the BF16 peak over the whole step, nothing that is repeated counted."""
        rate = setting.gpus * setting.peak_flop_per_s
        return step_flop(setting.model, setting.training) / (rate * self.step_s)


def sent_bytes(sent: Volumes) -> F64:
    """Tell volumes as a table, a row for each of DIMENSIONS.

    Parameters
    ----------
    sent : Volumes

    Returns
    -------
    (5, k) float64
    """
    return np.array([getattr(sent, f"{name}_bytes") for name in DIMENSIONS])


def costs(setting: Setting, layouts: Layouts) -> Costs:
    """Compute what layouts cost, whether they can run or not.

    Parameters
    ----------
    setting : Setting
    layouts : Layouts
        k of them.

    Returns
    -------
    Costs

    Raises
    ------
    SynctaxError
        If the tax model lacks what is needed.
    """
    model, training = setting.model, setting.training
    held = memory(model, training, layouts, setting.budget_bytes)
    again = held.recomputed_layers
    sent = volumes(model, training, layouts, again)
    joined = "inner" if setting.tax is None else setting.tax.joined
    met = barriers(model, training, layouts, again, joined=joined)
    experts = model.experts is not None
    table = sent_bytes(sent)
    where = place(setting.platform, training, layouts, table, experts=experts)
    busy_s = compute_s(setting, held.recompute_flop_share)
    spent = times(setting, layouts, where, table, busy_s)
    waits = taxed(setting.tax, met, busy_s)
    uneven, idle = imbalance(model, training, layouts), bubble(training, layouts)
    exposed_s = spent.exposed_s.sum(axis=0)
    return Costs(
        microbatches(training, layouts),
        idle,
        uneven,
        held,
        sent,
        met,
        where,
        busy_s,
        spent,
        exposed_s,
        waits,
        busy_s * uneven * (1 + idle) + exposed_s + waits.tax_s,
    )
