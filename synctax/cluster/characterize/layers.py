"""Layers of neural networks: their parameters, multiply-adds, and what they move.

A `Net` walks through a network layer by layer, knows the shape of what comes out, and adds
to a `Tally`. What convolutions and matrix products move is not counted: they are bound by
computation, or count as such by the share of the peak that they reach. All other operations
are bound by memory. Their elements are counted as a framework runs them that fuses nothing:

=================  =======================================================  ==========
operation          forward and backward, in passes over its n elements      in all
=================  =======================================================  ==========
batch norm         read twice, write; read x and dy twice, write dx         8 n
in rows (softmax,  read, write; read y and dy, write dx                     5 n
layer norm),
activation,
dropout
sum of two         read both, write; of the gradients the same              6 n
pooling            read in, write out; read dy, write dx                    2 (in + out)
concatenation      read, write; read dy, write dx                           4 n
=================  =======================================================  ==========
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Final

BATCH_NORM: Final = 8
IN_ROWS: Final = 5
ACTIVATION: Final = 5
SUM: Final = 6
POOL: Final = 2
CONCATENATION: Final = 4

Sides = tuple[int, int]


@dataclass(slots=True)
class Tally:
    """What layers come to, for one sample.

    Parameters
    ----------
    parameters : int
        That are trained.
    multiply_adds : int
        Of matrix products and convolutions, forward.
    moved : int
        Elements that all other operations read and write, forward and backward.
    """

    parameters: int = 0
    multiply_adds: int = 0
    moved: int = 0

    def linear(
        self, inputs: int, outputs: int, *, rows: int = 1, bias: bool = True
    ) -> None:
        """Add a matrix product that is made for so many rows of a sample."""
        self.parameters += inputs * outputs + outputs * bias
        self.multiply_adds += rows * inputs * outputs


class Net:
    """A place in a convolutional network: the shape of what comes out of its last layer.

    Methods return the net itself, so that layers can be written one after the other.

    Parameters
    ----------
    tally : Tally
        What layers are added to.
    channels, height, width : int
    """

    def __init__(self, tally: Tally, channels: int, height: int, width: int) -> None:
        self.tally = tally
        self.channels, self.height, self.width = channels, height, width

    @property
    def elements(self) -> int:
        """Of what comes out."""
        return self.channels * self.height * self.width

    def fork(self) -> "Net":
        """Begin a branch here."""
        return Net(self.tally, self.channels, self.height, self.width)

    def conv(
        self,
        channels: int,
        kernel: int | Sides,
        *,
        stride: int = 1,
        padding: int | Sides | None = None,
        bias: bool = False,
    ) -> "Net":
        """Convolve; padding keeps the size (but for the stride) unless it is told."""
        k = _sides(kernel)
        pad = (k[0] // 2, k[1] // 2) if padding is None else _sides(padding)
        self.height = (self.height + 2 * pad[0] - k[0]) // stride + 1
        self.width = (self.width + 2 * pad[1] - k[1]) // stride + 1
        weights = self.channels * channels * prod(k)
        self.channels = channels
        self.tally.parameters += weights + channels * bias
        self.tally.multiply_adds += weights * self.height * self.width
        return self

    def norm(self) -> "Net":
        """Normalise over the batch: a scale and a shift a channel."""
        self.tally.parameters += 2 * self.channels
        self.tally.moved += BATCH_NORM * self.elements
        return self

    def act(self) -> "Net":
        """Apply an activation, or dropout."""
        self.tally.moved += ACTIVATION * self.elements
        return self

    def pool(
        self, kernel: int, stride: int, *, padding: int = 0, ceil: bool = False
    ) -> "Net":
        """Pool; with `ceil` a window that hangs over the edge counts."""
        before = self.elements
        self.height = _pooled(self.height, kernel, stride, padding, ceil=ceil)
        self.width = _pooled(self.width, kernel, stride, padding, ceil=ceil)
        self.tally.moved += POOL * (before + self.elements)
        return self

    def pool_to(self, side: int) -> "Net":
        """Pool the whole picture to so many places a side."""
        before = self.elements
        self.height = self.width = side
        self.tally.moved += POOL * (before + self.elements)
        return self

    def add(self, branch: "Net") -> "Net":
        """Sum with a branch of the same shape."""
        self._same_size(branch)
        if branch.channels != self.channels:
            raise ValueError(f"sum of {self.channels} and {branch.channels} channels")
        self.tally.moved += SUM * self.elements
        return self

    def branches(self, *each: "Callable[[Net], Net]") -> "Net":
        """Send what comes out through branches, and join their channels."""
        return self.join(*(one(self.fork()) for one in each))

    def join(self, *branches: "Net") -> "Net":
        """Join the channels of branches; this net goes on from there."""
        self.height, self.width = branches[0].height, branches[0].width
        for one in branches:
            self._same_size(one)
        self.channels = sum(one.channels for one in branches)
        self.tally.moved += CONCATENATION * self.elements
        return self

    def linear(self, outputs: int) -> "Net":
        """Multiply all elements of a sample with a matrix, and add a bias."""
        self.tally.linear(self.elements, outputs)
        self.channels, self.height, self.width = outputs, 1, 1
        return self

    def _same_size(self, other: "Net") -> None:
        mine, its = (self.height, self.width), (other.height, other.width)
        if mine != its:
            raise ValueError(f"branches of {mine} and {its}")


def _sides(value: int | Sides) -> Sides:
    return (value, value) if isinstance(value, int) else value


def _pooled(side: int, kernel: int, stride: int, padding: int, *, ceil: bool) -> int:
    room = side + 2 * padding - kernel
    places = (-(-room // stride) if ceil else room // stride) + 1
    # a window begins inside the picture or its padding on the left
    return places - (ceil and (places - 1) * stride >= side + padding)
