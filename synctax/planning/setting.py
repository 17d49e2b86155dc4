"""What a search is about: the model, the machine, the training, and the assumptions."""

from dataclasses import dataclass, field

from synctax.planning.platform import Platform
from synctax.planning.shape import Model
from synctax.planning.tax import PlanTax
from synctax.planning.training import Assumptions, Training
from synctax.texts import BYTES_PER_GB

FLOP_PER_TFLOP = 1e12


@dataclass(frozen=True, slots=True)
class Setting:
    """What every layout is judged by.

    Parameters
    ----------
    model : Model
    platform : Platform
    gpus : int
        Ranks that a layout must have.
    training : Training
    assumptions : Assumptions
    tax : PlanTax or None
        None counts no tax.
    """

    model: Model
    platform: Platform
    gpus: int
    training: Training
    assumptions: Assumptions = field(default_factory=Assumptions)
    tax: PlanTax | None = None

    @property
    def budget_bytes(self) -> float:
        """Memory of a GPU that a layout may use."""
        return self.platform.memory_bytes - self.assumptions.reserve_bytes

    @property
    def peak_flop_per_s(self) -> float:
        """Dense BF16 peak of one GPU."""
        return self.platform.bf16_tflops * FLOP_PER_TFLOP

    @property
    def nvlink_bytes_per_s(self) -> float:
        """What a collective gets of a GPU's NVLinks, in one direction."""
        rate = self.platform.nvlink_gb_per_s * BYTES_PER_GB
        return rate * self.assumptions.nvlink_efficiency

    @property
    def nic_bytes_per_s(self) -> float:
        """What a collective gets of a GPU's NIC, in one direction, no tier in the way."""
        rate = self.platform.nic_gb_per_s * BYTES_PER_GB
        return rate * self.assumptions.nic_efficiency
