"""Names of models and workloads: what tells them apart, however they are spelled."""

from collections.abc import Mapping
from typing import Final, TypeVar

T = TypeVar("T")

OTHERS: Final = {"inception3": "inceptionv3", "bert": "bertbase"}
"""Other names of models of the MoSim paper's table I, reduced to letters and digits."""


def plain(name: str) -> str:
    """Reduce a name to what tells it from others: letters and digits, in lower case.

    Examples
    --------
    >>> plain("VGG-16"), plain("inception_v3")
    ('vgg16', 'inceptionv3')
    """
    return "".join(one for one in name.casefold() if one.isalnum())


def meant(name: str, known: Mapping[str, T]) -> T | None:
    """Find what a name means; by its other name where none is called so itself.

    Parameters
    ----------
    name : str
    known : mapping of str to value
        By plain names.

    Examples
    --------
    >>> meant("BERT", {"bertbase": 1}), meant("bert", {"bertbase": 1, "bert": 2})
    (1, 2)
    """
    key = plain(name)
    return known.get(key, known.get(OTHERS.get(key, key)))
