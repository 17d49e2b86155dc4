"""Names from traces and files may be as long as they like: pictures have room for them."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from synctax.comparison.compare import compare
from synctax.comparison.kernels import kernels_of
from synctax.comparison.options import Options
from synctax.comparison.units import run_of
from synctax.evt import options as evt_options
from synctax.evt.fit import fit_evt
from synctax.planning.layout import parse_layout
from synctax.planning.verify.job import Against, Verification
from synctax.report.figures import attribute, evt, evt_waits, measure, pairs, verify
from synctax.report.figures import compare as compared
from synctax.report.figures.attribute_ranks import ranks
from synctax.report.figures.style import new_figure, styled
from tests.cluster.test_pairs import profile, run
from tests.compare.jobs import make, tax_of
from tests.figures.test_evt import Given, block_times
from tests.laws import few, some
from tests.planning.observed_jobs import groups_of, job

WIDE = "W" * 300
LONG = "expert_tensor_" * 30

FEW = evt_options.Options(fit_ranks=4, resamples=60)

LEAST = 0.25
"""Of the width and height of a picture: what names leave to its panels."""


def assert_room(figure):
    """All texts lie within the picture, and panels keep room."""
    with styled(), warnings.catch_warnings():
        warnings.simplefilter("error")
        figure.draw_without_rendering()
        box = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    assert box.x0 >= -0.05
    assert box.x1 <= width + 0.05
    assert box.y0 >= -0.05
    assert box.y1 <= height + 0.05
    panels = [axes for axes in figure.axes if axes.get_visible() and axes.lines]
    for axes in panels:
        assert axes.get_position().width > LEAST / 2
    return figure


def called(found, name):
    """The same tax with all its groups called so, told apart at the end."""
    matches = found.matches
    groups = tuple(replace(group, role=f"{name}{group.role}") for group in matches.groups)
    return replace(found, matches=replace(matches, groups=groups))


@pytest.mark.parametrize("name", some([WIDE, LONG]))
@pytest.mark.parametrize("figure", [measure.cdf, measure.last, measure.runs])
def test_pictures_of_a_tax(tax, figure, name):
    assert_room(figure(called(tax, name)))


@pytest.mark.parametrize("name", some([WIDE, LONG]))
@pytest.mark.parametrize("figure", [attribute.variation, attribute.classes, ranks])
def test_pictures_of_an_attribution(attribution, figure, name):
    assert_room(figure(replace(attribution, tax=called(attribution.tax, name))))


@pytest.mark.parametrize("name", some([WIDE, LONG]))
@pytest.mark.parametrize("figure", [evt.block_maxima, evt_waits.delay])
def test_pictures_of_a_fit(figure, name):
    times = block_times()
    blocks = tuple(replace(one, group=name, gpu=name) for one in times.blocks)
    fit = fit_evt(Given(replace(times, blocks=blocks)), options=FEW)
    assert_room(figure(fit))


def test_kinds_of_block_that_begin_alike_stay_apart():
    times = block_times()
    blocks = tuple(replace(one, group=f"{WIDE}{at}") for at, one in enumerate(times.blocks))
    fit = fit_evt(Given(replace(times, blocks=blocks)), options=FEW)
    kinds = len({times.blocks[at] for at in np.unique(times.block)})
    assert len(evt.block_maxima(fit).axes[0].get_yticklabels()) == kinds


@pytest.mark.parametrize("many", few([3, 40]))
def test_the_map_of_pairs(many):
    found = run(*(profile(f"{WIDE}{at}", 0.5, 0.5) for at in range(many)))
    figure = assert_room(pairs.pairs(found))
    assert figure.axes[0].get_position().width > LEAST


@pytest.mark.parametrize("hosts", few([4, 1, 8]))
def test_the_map_of_groups(hosts):
    observed = job(groups_of(parse_layout("tp4,pp1,dp2")), lambda rank: rank % hosts)
    groups = tuple(replace(one, role=f"{LONG}{one.role}") for one in observed.groups)
    named = tuple(f"{WIDE}{at}" for at in range(hosts))
    observed = replace(
        observed, groups=groups, places=replace(observed.places, domains=named)
    )
    figure = assert_room(
        verify.groups(Verification(observed, Against(), None, None, (), {}, ()))
    )
    assert figure.axes[0].get_position().width > LEAST


def test_pictures_of_a_comparison(tmp_path):
    sides = [
        called(tax_of(make(tmp_path / n, seed=s)), LONG) for n, s in (("a", 1), ("b", 2))
    ]
    kernels = tuple([kernels_of(run_of(one), workers=1)] for one in sides)
    found = compare(*sides, kernels=kernels, options=Options(resamples=200))
    assert_room(compared.tax(found))
    assert_room(compared.clocks(found))


def test_the_check_itself_finds_what_leaves_the_picture():
    with styled():
        figure, (axes,) = new_figure()
        axes.set_xlabel(WIDE)
    with pytest.raises(AssertionError):
        assert_room(figure)
