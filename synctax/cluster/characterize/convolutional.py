"""Convolutional networks of the MoSim paper's table I, layer by layer.

For ImageNet as torchvision defines them, for CIFAR-10 as their papers do.
"""

from typing import Final

from synctax.cluster.characterize.layers import Net, Tally

IMAGENET_CLASSES: Final = 1000
CIFAR_CLASSES: Final = 10

_VGG_16: Final = ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))
_RESNET_50: Final = ((64, 3), (128, 4), (256, 6), (512, 3))
_BOTTLENECK: Final = 4
_CIFAR_STAGES: Final = (16, 32, 64)
_GOOGLENET: Final = {
    "3a": (64, 96, 128, 16, 32, 32),
    "3b": (128, 128, 192, 32, 96, 64),
    "4a": (192, 96, 208, 16, 48, 64),
    "4b": (160, 112, 224, 24, 64, 64),
    "4c": (128, 128, 256, 24, 64, 64),
    "4d": (112, 144, 288, 32, 64, 64),
    "4e": (256, 160, 320, 32, 128, 128),
    "5a": (256, 160, 320, 32, 128, 128),
    "5b": (384, 192, 384, 48, 128, 128),
}
"""Channels of 1x1, 3x3 reduced, 3x3, 5x5 reduced, 5x5, and after pooling."""

_LRN_PASSES: Final = 2
"""Local response normalisation: about two operations that go over all elements."""


def _block(
    net: Net,
    channels: int,
    kernel: int | tuple[int, int] = 1,
    *,
    stride: int = 1,
    padding: int | tuple[int, int] | None = None,
) -> Net:
    return net.conv(channels, kernel, stride=stride, padding=padding).norm().act()


def vgg_16() -> Tally:
    """VGG-16: Simonyan and Zisserman 2015, configuration D; torchvision `vgg16`.

    Examples
    --------
    >>> vgg_16().parameters
    138357544
    """
    net = Net(Tally(), 3, 224, 224)
    for channels, convolutions in _VGG_16:
        for _ in range(convolutions):
            net.conv(channels, 3, bias=True).act()
        net.pool(2, 2)
    for _ in range(2):
        net.linear(4096).act().act()
    return net.linear(IMAGENET_CLASSES).tally


def resnet_50() -> Tally:
    """ResNet-50: He et al. 2016, table 1; torchvision `resnet50` (stride in the 3x3).

    Examples
    --------
    >>> resnet_50().parameters
    25557032
    """
    net = Net(Tally(), 3, 224, 224)
    _block(net, 64, 7, stride=2).pool(3, 2, padding=1)
    for stage, (channels, blocks) in enumerate(_RESNET_50):
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            shortcut = net.fork()
            _block(_block(net, channels), channels, 3, stride=stride)
            net.conv(_BOTTLENECK * channels, 1).norm()
            if not block:
                shortcut.conv(_BOTTLENECK * channels, 1, stride=stride).norm()
            net.add(shortcut).act()
    return net.pool_to(1).linear(IMAGENET_CLASSES).tally


def resnet_cifar(depth: int) -> Tally:
    """ResNet of 6n + 2 layers for CIFAR-10: He et al. 2016, section 4.2, shortcut A.

    Examples
    --------
    The paper's table 6 has 0.66 M and 1.7 M:

    >>> resnet_cifar(44).parameters, resnet_cifar(110).parameters
    (658586, 1727962)
    """
    net = _block(Net(Tally(), 3, 32, 32), _CIFAR_STAGES[0], 3)
    for channels in _CIFAR_STAGES:
        for _ in range((depth - 2) // 6):
            stride = 2 if channels != net.channels else 1
            shortcut = net.fork()
            _block(net, channels, 3, stride=stride).conv(channels, 3).norm()
            # every second place, and zeros for channels that were not there
            shortcut.channels, shortcut.height = net.channels, net.height
            shortcut.width = net.width
            net.add(shortcut).act()
    return net.pool_to(1).linear(CIFAR_CLASSES).tally


def densenet_cifar(depth: int, growth: int = 12) -> Tally:
    """DenseNet for CIFAR-10 without bottlenecks: Huang et al. 2017, section 3, table 2.

    Examples
    --------
    The paper's table 2 has 1.0 M and 7.0 M:

    >>> densenet_cifar(40).parameters, densenet_cifar(100).parameters
    (1019722, 6979642)
    """
    net = Net(Tally(), 3, 32, 32).conv(16, 3)
    for dense_block in range(3):
        if dense_block:
            net.norm().act().conv(net.channels, 1).act().pool(2, 2)
        for _ in range((depth - 4) // 3):
            new = net.fork().norm().act().conv(growth, 3).act()
            net.join(net.fork(), new)
    net.norm().act().pool_to(1)
    return net.linear(CIFAR_CLASSES).tally


def alexnet_cifar(side: int = 32) -> Tally:
    """AlexNet's variant for CIFAR-10 of TensorFlow's tutorial and `tf_cnn_benchmarks`.

    Two convolutions of 64 channels and two hidden layers of 384 and 192; the tutorial cuts
    pictures to 24 places a side.

    Examples
    --------
    TensorFlow's tutorial states 1,068,298 parameters:

    >>> alexnet_cifar(24).parameters
    1068298
    """
    net = Net(Tally(), 3, side, side)
    net.conv(64, 5, bias=True).act().pool(3, 2, padding=1)
    for _ in range(_LRN_PASSES):
        net.act()
    net.conv(64, 5, bias=True).act()
    for _ in range(_LRN_PASSES):
        net.act()
    net.pool(3, 2, padding=1).linear(384).act().linear(192).act()
    return net.linear(CIFAR_CLASSES).tally


def googlenet(*, auxiliary: bool = False) -> Tally:
    """GoogLeNet: Szegedy et al. 2015, table 1; torchvision `googlenet` (with batch norm).

    Parameters
    ----------
    auxiliary : bool
        Whether the two heads that only training has are there.

    Examples
    --------
    >>> googlenet().parameters, googlenet(auxiliary=True).parameters
    (6624904, 13004888)
    """
    net = Net(Tally(), 3, 224, 224)
    _block(net, 64, 7, stride=2).pool(3, 2, ceil=True)
    _block(_block(net, 64), 192, 3).pool(3, 2, ceil=True)
    for name, widths in _GOOGLENET.items():
        _inception(net, widths)
        if name == "3b":
            net.pool(3, 2, ceil=True)
        elif name == "4e":
            net.pool(2, 2, ceil=True)
        elif auxiliary and name in ("4a", "4d"):
            head = _block(net.fork().pool_to(4), 128)
            head.linear(1024).act().act().linear(IMAGENET_CLASSES)
    return net.pool_to(1).act().linear(IMAGENET_CLASSES).tally


def _inception(net: Net, widths: tuple[int, ...]) -> None:
    one, reduced, three, few, five, pooled = widths
    net.branches(
        lambda b: _block(b, one),
        lambda b: _block(_block(b, reduced), three, 3),
        # torchvision, as the authors' own code, has 3x3 where the paper has 5x5
        lambda b: _block(_block(b, few), five, 3),
        lambda b: _block(b.pool(3, 1, padding=1, ceil=True), pooled),
    )


def inception_v3(*, auxiliary: bool = False) -> Tally:
    """Inception-v3: Szegedy et al. 2016, table 1; torchvision `inception_v3`.

    Parameters
    ----------
    auxiliary : bool
        Whether the head that only training has is there.

    Examples
    --------
    >>> inception_v3().parameters, inception_v3(auxiliary=True).parameters
    (23834568, 27161264)
    """
    net = Net(Tally(), 3, 299, 299)
    _block(_block(net, 32, 3, stride=2, padding=0), 32, 3, padding=0)
    _block(net, 64, 3).pool(3, 2)
    _block(_block(net, 80), 192, 3, padding=0).pool(3, 2)
    for pooled in (32, 64, 64):
        _grid_35(net, pooled)
    net.branches(
        lambda b: _block(b, 384, 3, stride=2, padding=0),
        lambda b: _block(_block(_block(b, 64), 96, 3), 96, 3, stride=2, padding=0),
        lambda b: b.pool(3, 2),
    )
    for width in (128, 160, 160, 192):
        _grid_17(net, width)
    if auxiliary:
        head = _block(_block(net.fork().pool(5, 3), 128), 768, 5, padding=0)
        head.pool_to(1).linear(IMAGENET_CLASSES)
    net.branches(
        lambda b: _block(_block(b, 192), 320, 3, stride=2, padding=0),
        lambda b: _block(_sevens(_block(b, 192), 192, 192), 192, 3, stride=2, padding=0),
        lambda b: b.pool(3, 2),
    )
    for _ in range(2):
        _grid_8(net)
    return net.pool_to(1).act().linear(IMAGENET_CLASSES).tally


def _grid_35(net: Net, pooled: int) -> None:
    net.branches(
        lambda b: _block(b, 64),
        lambda b: _block(_block(b, 48), 64, 5),
        lambda b: _block(_block(_block(b, 64), 96, 3), 96, 3),
        lambda b: _block(b.pool(3, 1, padding=1), pooled),
    )


def _grid_17(net: Net, width: int) -> None:
    net.branches(
        lambda b: _block(b, 192),
        lambda b: _sevens(_block(b, width), width, 192),
        lambda b: _sevens(_tall_first(_block(b, width), width), width, 192),
        lambda b: _block(b.pool(3, 1, padding=1), 192),
    )


def _sevens(net: Net, between: int, channels: int) -> Net:
    return _block(_block(net, between, (1, 7)), channels, (7, 1))


def _tall_first(net: Net, width: int) -> Net:
    return _block(_block(net, width, (7, 1)), width, (1, 7))


def _grid_8(net: Net) -> None:
    net.branches(
        lambda b: _block(b, 320),
        lambda b: _split(_block(b, 384)),
        lambda b: _split(_block(_block(b, 448), 384, 3)),
        lambda b: _block(b.pool(3, 1, padding=1), 192),
    )


def _split(net: Net) -> Net:
    return net.branches(lambda b: _block(b, 384, (1, 3)), lambda b: _block(b, 384, (3, 1)))
