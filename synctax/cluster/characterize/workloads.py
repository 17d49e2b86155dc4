"""What a job trains: the numbers that times and bytes of an iteration follow from."""

from dataclasses import dataclass

from synctax.cluster.characterize.gpus import Precision


@dataclass(frozen=True, slots=True)
class Workload:
    """A model that is trained data-parallel: one all-reduce of all gradients an iteration.

    Parameters
    ----------
    name, dataset : str
    batch_per_gpu : int
        Samples of a GPU in an iteration.
    parameters : float
        What is trained.
    gradient_bytes : float
        What is reduced in an iteration.
    flop_per_sample : float
        Matrix products and convolutions, forward and backward; a multiply-add is two.
    dtype : Precision
        Of matrix products.
    source : str
        Where shapes and counts are from.
    elementwise_bytes_per_sample : float
        What all other operations (normalisations, activations, pooling, ...) read and
        write, forward and backward, in the bytes of `dtype`; 0 where not counted.
    compute_s, network_s, sent_bytes_per_worker : float or None
        Of an iteration, where they were measured or are known: taken instead of what would
        be computed.
    measured_gpus : int or None
        Of how many GPUs `network_s` and `sent_bytes_per_worker` are known; None: of any
        number.
    barriers : int
        Of an iteration.
    """

    name: str
    dataset: str
    batch_per_gpu: int
    parameters: float
    gradient_bytes: float
    flop_per_sample: float
    dtype: Precision
    source: str
    elementwise_bytes_per_sample: float = 0.0
    compute_s: float | None = None
    network_s: float | None = None
    sent_bytes_per_worker: float | None = None
    measured_gpus: int | None = None
    barriers: int = 1
