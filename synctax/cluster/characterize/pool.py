"""The workloads that jobs are drawn from where a trace names none."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Final

from synctax.cluster.characterize.convolutional import (
    alexnet_cifar,
    densenet_cifar,
    googlenet,
    inception_v3,
    resnet_50,
    resnet_cifar,
    vgg_16,
)
from synctax.cluster.characterize.gpus import Precision
from synctax.cluster.characterize.layers import Tally
from synctax.cluster.characterize.transformers import bert_base, gpt2, whisper
from synctax.cluster.characterize.workloads import Workload
from synctax.planning.shape import BF16_BYTES, FP32_BYTES

FLOP_PER_MULTIPLY_ADD: Final = 6
"""Two of the forward pass, and twice that of the backward pass: gradients of what went in,
and of weights."""

BYTES: Final[dict[Precision, int]] = {
    "fp32": FP32_BYTES,
    "tf32": FP32_BYTES,
    "fp16": BF16_BYTES,
    "bf16": BF16_BYTES,
}
"""Of an element of what layers pass on."""

_Row = tuple[str, Callable[[], Tally], str, int, str]

_TABLE_I: Final[tuple[_Row, ...]] = (
    ("bert-base", bert_base, "SQuAD", 4, "Devlin et al. 2019; 384 tokens, head for spans"),
    ("gpt-2", gpt2, "IMDB", 4, "Radford et al. 2019, the smallest; 512 tokens"),
    ("whisper", whisper, "synthetic", 4, "Radford et al. 2022, base; 30 s, 448 tokens"),
    ("alexnet", alexnet_cifar, "CIFAR-10", 128, "tf_cnn_benchmarks, alexnet for CIFAR-10"),
    (
        "densenet-40",
        partial(densenet_cifar, 40),
        "CIFAR-10",
        128,
        "Huang et al. 2017; k 12",
    ),
    (
        "densenet-100",
        partial(densenet_cifar, 100),
        "CIFAR-10",
        128,
        "Huang et al. 2017; k 12",
    ),
    (
        "resnet-44",
        partial(resnet_cifar, 44),
        "CIFAR-10",
        128,
        "He et al. 2016, section 4.2",
    ),
    (
        "resnet-110",
        partial(resnet_cifar, 110),
        "CIFAR-10",
        128,
        "He et al. 2016, section 4.2",
    ),
    (
        "inception-v3",
        inception_v3,
        "ImageNet",
        64,
        "torchvision inception_v3; no auxiliary head",
    ),
    ("resnet-50", resnet_50, "ImageNet", 64, "torchvision resnet50"),
    ("vgg-16", vgg_16, "ImageNet", 64, "torchvision vgg16"),
    ("googlenet", googlenet, "ImageNet", 64, "torchvision googlenet; no auxiliary heads"),
)
"""Of each the name, its layers, data, samples of a GPU, and where the layers are from.

The paper prints a range of batch sizes for each kind of data and not of what; the least of
each range is taken for a GPU, so that a job of 8 GPUs is within it as well.
"""


@cache
def default_pool() -> tuple[Workload, ...]:
    """Tell the twelve workloads of the MoSim paper's table I.

    Parameters and operations are counted from layers, in FP32: what frameworks compute in
    where nobody asks for something else.

    Returns
    -------
    tuple of Workload

    Examples
    --------
    >>> [one.parameters for one in default_pool() if one.name == "resnet-50"]
    [25557032.0]
    """
    return tuple(
        workload(name, count(), dataset=dataset, batch_per_gpu=batch, source=source)
        for name, count, dataset, batch, source in _TABLE_I
    )


def workload(
    name: str,
    tally: Tally,
    *,
    dataset: str,
    batch_per_gpu: int,
    source: str,
    dtype: Precision = "fp32",
) -> Workload:
    """Make a workload of what layers come to.

    Parameters
    ----------
    name : str
    tally : Tally
        Of one sample.
    dataset : str
    batch_per_gpu : int
    source : str
    dtype : Precision
        Of matrix products; with 16 bits what layers pass on has as many.

    Returns
    -------
    Workload
    """
    return Workload(
        name=name,
        dataset=dataset,
        batch_per_gpu=batch_per_gpu,
        parameters=float(tally.parameters),
        # with mixed precision, too, PyTorch reduces FP32
        gradient_bytes=float(FP32_BYTES * tally.parameters),
        flop_per_sample=float(FLOP_PER_MULTIPLY_ADD * tally.multiply_adds),
        dtype=dtype,
        source=source,
        elementwise_bytes_per_sample=float(BYTES[dtype] * tally.moved),
    )


def in_precision(workload: Workload, dtype: Precision) -> Workload:
    """Compute a workload in another precision; gradients are reduced as before.

    Parameters
    ----------
    workload : Workload
    dtype : Precision
        With 16 bits, what layers pass on has half as many bytes (mixed precision).

    Returns
    -------
    Workload
    """
    wider = BYTES[dtype] / BYTES[workload.dtype]
    moved = workload.elementwise_bytes_per_sample * wider
    return replace(workload, dtype=dtype, elementwise_bytes_per_sample=moved)
