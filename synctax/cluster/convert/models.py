"""Which workload of the pool a trace means by the name of a model."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

_SPELLED: Final = {"inception3": "inceptionv3", "bert": "bertbase"}
"""Other spellings of models of the MoSim paper's table I."""

_NOISE = re.compile(r"[^a-z0-9]+")


def plain(name: str) -> str:
    """Bring a name to letters and digits.

    Examples
    --------
    >>> plain("ResNet-50"), plain("inception_v3"), plain("inception3")
    ('resnet50', 'inceptionv3', 'inceptionv3')
    """
    text = _NOISE.sub("", name.lower())
    return _SPELLED.get(text, text)


def by_model(workloads: Iterable[str]) -> Mapping[str, str]:
    """Tell workloads by their plain names."""
    return {plain(name): name for name in workloads}
