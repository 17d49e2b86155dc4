"""Layers are counted as their authors and other programs count them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synctax.cluster.characterize.convolutional import (
    alexnet_cifar,
    densenet_cifar,
    googlenet,
    inception_v3,
    resnet_50,
    resnet_cifar,
    vgg_16,
)
from synctax.cluster.characterize.layers import Net, Tally
from synctax.cluster.characterize.pool import default_pool, in_precision
from synctax.cluster.characterize.shapes import from_shape
from synctax.cluster.characterize.transformers import bert_base, gpt2, whisper
from synctax.planning.inputs.named import read_model

sides = st.integers(1, 40)
kernels = st.integers(1, 7)
strides = st.integers(1, 4)


@pytest.mark.parametrize(
    ("tally", "parameters"),
    [
        # torchvision's tables of weights
        (resnet_50(), 25_557_032),
        (vgg_16(), 138_357_544),
        (googlenet(), 6_624_904),
        (googlenet(auxiliary=True), 13_004_888),
        (inception_v3(), 23_834_568),
        (inception_v3(auxiliary=True), 27_161_264),
        # TensorFlow's tutorial on CIFAR-10, which cuts pictures to 24 x 24
        (alexnet_cifar(24), 1_068_298),
        # released weights, as Hugging Face's transformers counts them
        (bert_base(spans=False), 109_482_240),
        (bert_base(), 108_893_186),
        (gpt2(), 124_439_808),
        # 1,500 sines of the encoder are not trained
        (whisper("tiny"), 37_760_640 - 1500 * 384),
        (whisper("base"), 72_593_920 - 1500 * 512),
        (whisper("small"), 241_734_912 - 1500 * 768),
    ],
)
def test_parameters_are_those_of_released_models(tally, parameters):
    assert tally.parameters == parameters


@pytest.mark.parametrize(
    ("tally", "millions"),
    [
        # He et al. 2016, table 6
        (resnet_cifar(20), 0.27),
        (resnet_cifar(32), 0.46),
        (resnet_cifar(44), 0.66),
        (resnet_cifar(56), 0.85),
        (resnet_cifar(110), 1.7),
        # Huang et al. 2017, table 2
        (densenet_cifar(40), 1.0),
        (densenet_cifar(100), 7.0),
        (densenet_cifar(100, 24), 27.2),
    ],
)
def test_parameters_are_those_of_papers_to_the_digits_they_print(tally, millions):
    digits = len(str(millions).partition(".")[2])
    assert round(tally.parameters / 1e6, digits) == millions


@pytest.mark.parametrize(
    ("tally", "billions"),
    [
        # torchvision's tables of weights
        (resnet_50(), 4.089),
        (vgg_16(), 15.470),
        (googlenet(), 1.498),
        (inception_v3(), 5.713),
        # counted by torch.utils.flop_counter on Hugging Face's models
        (bert_base(384), 35.333_406_72),
        (gpt2(512), 68.080_238_592),
        (whisper("base", tokens=448), 75.525_914_624),
    ],
)
def test_multiply_adds_are_those_of_other_programs(tally, billions):
    assert tally.multiply_adds / 1e9 == pytest.approx(billions, abs=5e-4)


@given(sides, sides, kernels, strides, st.integers(0, 3))
def test_a_convolution_has_a_place_for_every_window_inside_its_padding(
    height, width, kernel, stride, padding
):
    rooms = [side + 2 * padding - kernel for side in (height, width)]
    if min(rooms) < 0:
        return
    net = Net(Tally(), 3, height, width).conv(
        5, kernel, stride=stride, padding=padding, bias=True
    )
    places = [len(range(0, room + 1, stride)) for room in rooms]
    assert [net.height, net.width] == places
    assert net.tally.parameters == 5 * (3 * kernel**2 + 1)
    assert net.tally.multiply_adds == 5 * 3 * kernel**2 * places[0] * places[1]


@given(sides, st.integers(2, 5), strides, st.integers(0, 2), st.booleans())
def test_a_pool_has_a_place_for_every_window_that_begins_in_the_picture(
    side, kernel, stride, padding, ceil
):
    if padding > kernel // 2 or side + 2 * padding < kernel:
        return
    net = Net(Tally(), 2, side, side).pool(kernel, stride, padding=padding, ceil=ceil)
    begins = range(-padding, side, stride)
    whole = [at for at in begins if at + kernel <= side + padding]
    # a window that hangs over the edge is added where a stride leaves places over
    over = len(whole) < len(begins) and whole[-1] + kernel < side + padding
    assert net.height == net.width == len(whole) + (ceil and over)
    assert net.tally.moved == 2 * 2 * (side**2 + net.height**2)


@given(st.lists(st.integers(1, 20), min_size=1, max_size=4))
def test_branches_are_joined_by_their_channels(channels):
    net = Net(Tally(), 3, 8, 8)
    net.branches(*(lambda one, n=n: one.conv(n, 1) for n in channels))
    assert (net.channels, net.height) == (sum(channels), 8)
    assert net.tally.parameters == 3 * sum(channels)


def test_branches_of_different_sizes_are_neither_joined_nor_summed():
    net = Net(Tally(), 3, 8, 8)
    smaller = net.fork().conv(3, 3, padding=0)
    with pytest.raises(ValueError, match=r"branches of \(8, 8\) and \(6, 6\)"):
        net.add(smaller)
    with pytest.raises(ValueError, match="branches of"):
        net.join(net.fork(), smaller)
    with pytest.raises(ValueError, match="sum of 3 and 4 channels"):
        net.add(net.fork().conv(4, 1))


def test_the_pool_is_table_i_within_its_batch_sizes():
    ranges = {"ImageNet": (64, 2048), "CIFAR-10": (128, 32768)}
    pool = default_pool()
    assert len({one.name for one in pool}) == 12
    for one in pool:
        least, most = ranges.get(one.dataset, (4, 32))
        assert least <= one.batch_per_gpu
        assert 8 * one.batch_per_gpu <= most  # of jobs of 8 GPUs, too
        assert one.gradient_bytes == 4 * one.parameters
        assert one.source


def test_half_the_bits_are_half_the_bytes_that_layers_pass_on_and_all_gradients():
    whole = default_pool()[0]
    half = in_precision(whole, "fp16")
    assert half.elementwise_bytes_per_sample == whole.elementwise_bytes_per_sample / 2
    assert half.gradient_bytes == whole.gradient_bytes
    assert in_precision(half, "fp32") == whole


def test_a_shape_of_plan_has_six_operations_for_each_parameter_and_token_and_scores():
    model = read_model("llama3-8b")
    one = from_shape(model, sequence=8192, batch_per_gpu=2)
    scores = 3 * 32 * 8192**2 * 32 * 256  # half of all pairs, layers, heads, 2 x 128
    assert one.flop_per_sample == 6 * model.parameters * 8192 + scores
    assert (one.gradient_bytes, one.batch_per_gpu) == (4 * model.parameters, 2)
