"""What the figures of a simulated cluster show is what its table says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal

from synctax.cluster.engine.simulate import simulate
from synctax.cluster.jobs import simple_jobs
from synctax.cluster.machines import uniform
from synctax.cluster.metrics import makespan, times
from synctax.cluster.over_time import boxes, busy_share, over_time, slowdown_over_time
from synctax.errors import SynctaxError
from synctax.report.figures import simulate as jct_figure
from synctax.report.figures import timeline as figures
from synctax.report.figures.axes import cumulated
from synctax.report.figures.durations import log_times, time_text
from synctax.report.figures.style import new_figure, styled
from tests.cluster.simulations import ran

rows = st.lists(
    st.tuples(st.integers(0, 50), st.integers(1, 12), st.integers(0, 60)),
    min_size=1,
    max_size=8,
)


def cluster_of(jobs, servers=3, gpus=4):
    """Jobs that are spread over servers, whose NICs they oversubscribe."""
    made = simple_jobs(jobs, network_s=1.0, network_bytes=40.0)
    return simulate(made, uniform(servers, gpus, 5.0), policy="load-balancing")


SHARED = cluster_of([(0, 8, 100), (5, 8, 60), (9, 6, 30), (30, 2, 200)], servers=2, gpus=8)


@given(hnp.arrays(np.float64, st.integers(1, 60), elements=st.integers(0, 9)))
def test_cumulated_shares_are_those_of_values_no_larger(values):
    x, share = cumulated(values, start=-1.0, end=10.0)
    assert (share[0], share[-1]) == (0.0, 1.0)
    assert (x[0], x[-1]) == (-1.0, 10.0)
    assert (x[1], x[-2]) == (values.min(), values.max())
    for value in np.unique(values):
        assert share[x == value].max() == np.mean(values <= value)


def test_of_many_jobs_some_are_drawn_the_first_and_last_among_them():
    values = np.random.default_rng(0).lognormal(size=100_000)
    end = 2 * values.max()
    x, share = cumulated(values, start=0.0, end=end, most=2_000)
    assert x.size == 2_002
    assert x[[0, 1, -2, -1]].tolist() == [0.0, values.min(), values.max(), end]
    assert_allclose(share[1:], np.searchsorted(np.sort(values), x[1:], "right") / 100_000)


def test_curves_are_the_times_of_the_table_in_seconds():
    figure = jct_figure.jct(SHARED)
    (axes,) = figure.axes
    frame = SHARED.to_frame()
    columns = ("jct_s", "wait_s", "training_s", "solo_s")
    left_s = axes.get_xlim()[0]
    for line, name in zip(axes.lines, columns, strict=True):
        assert_allclose(
            np.unique(line.get_xdata()[:-1]), np.unique(np.maximum(frame[name], left_s))
        )
        # every curve goes to the end of the axis
        assert line.get_xydata()[-1].tolist() == [axes.get_xlim()[1], 100]
    assert axes.get_xscale() == "log"
    assert axes.get_ylabel() == "jobs that take no longer (%)"
    assert "(ms to d" in axes.get_xlabel()
    text = figure.get_supxlabel()
    assert text.startswith("n = 4 jobs on 16 GPUs (2 servers), load-balancing, backfill;")
    assert text.endswith("; 50 % of jobs do not wait")


def test_where_none_waits_there_is_no_curve_of_queueing():
    figure = jct_figure.jct(ran([(0, 0, 10, ((0, 4),)), (1, 1, 31, ((1, 4),))]))
    names = [line.get_label().partition(" (")[0] for line in figure.axes[0].lines]
    assert names == ["JCT", "training", "training alone"]
    assert figure.get_supxlabel().endswith("; no job waits")


def test_jobs_of_no_length_are_refused_in_words():
    instant = ran([(5, 5, 5, ((0, 4),)), (5, 5, 5, ((0, 4),))])
    with pytest.raises(SynctaxError, match="2 jobs of no length"):
        jct_figure.jct(instant)
    with pytest.raises(SynctaxError, match="no time to draw"):
        figures.timeline(instant)


@pytest.mark.parametrize(
    ("low_s", "high_s", "first"),
    [(1, 86_400, ["1 s", "10 s", "1 min"]), (100, 1_200, ["2 min", "5 min", "10 min"])],
)
def test_ticks_of_times_say_their_units_and_are_finer_where_few(low_s, high_s, first):
    with styled():
        _, (axes,) = new_figure()
        axes.set(xscale="log", xlim=(low_s, high_s))
        log_times(axes.xaxis, low_s, high_s)
        ticks = [tick for tick in axes.get_xticks() if low_s <= tick <= high_s]
    assert [time_text(tick) for tick in ticks[:3]] == first
    assert axes.xaxis.get_major_formatter()(ticks[0], 0) == first[0]


@given(rows)
def test_boxes_hold_all_gpu_seconds_and_none_lies_on_another(jobs):
    found = cluster_of(jobs)
    some = boxes(found)
    lasted = (found.end_ns - found.start_ns)[some.job] / 1e9
    assert_allclose((some.many * lasted).sum(), found.use.gpu_s)
    for gpu in range(found.cluster.total_gpus):
        at = np.flatnonzero((some.first <= gpu) & (gpu < some.first + some.many))
        at = at[np.argsort(found.start_ns[some.job[at]], kind="stable")]
        ends, starts = found.end_ns[some.job[at][:-1]], found.start_ns[some.job[at][1:]]
        assert (ends <= starts).all()


@given(rows, st.integers(1, 3), st.integers(1, 40))
def test_means_over_time_add_up_to_gpu_seconds_and_waiting_times(jobs, block, many):
    found = cluster_of(jobs)
    whole_s = makespan(found)
    if not whole_s:
        return
    edges_s = np.linspace(0, whole_s, many + 1)
    width_s = whole_s / many
    share = busy_share(found, block, edges_s)
    assert share.shape == (-(-3 // block), many)
    assert share.min() >= 0
    of_row = np.bincount(np.arange(3) // block, found.cluster.gpus)
    assert_allclose((share * of_row[:, None]).sum() * width_s, found.use.gpu_s, atol=1e-6)
    ends = (found.jobs.submit_ns, found.start_ns)
    waiting = over_time(found, ends, np.ones(len(found.jobs)), edges_s)
    assert_allclose(waiting.sum() * width_s, times(found).wait_s.sum(), atol=1e-6)
    slowdown = slowdown_over_time(found, edges_s)
    known = slowdown[~np.isnan(slowdown)]
    assert known.min() > 1 - 1e-6
    assert known.max() < times(found).slowdown.max() + 1e-6


def test_busy_servers_in_numbers_that_can_be_checked_by_hand():
    found = ran(
        [(0, 0, 10, ((0, 4),)), (0, 5, 20, ((0, 2), (1, 8)))], cluster=uniform(2, 8, 5.0)
    )
    edges_s = np.array([0.0, 10.0, 20.0])
    assert_allclose(busy_share(found, 1, edges_s), [[5 / 8, 2 / 8], [4 / 8, 1.0]])
    assert_allclose(busy_share(found, 2, edges_s), [[9 / 16, 10 / 16]])


def test_few_servers_show_jobs_on_gpus_coloured_by_slowdown_and_who_waits_below():
    figure = figures.timeline(SHARED)
    main, below, bar = figure.axes
    some, frame = boxes(SHARED), SHARED.to_frame()
    shown = main.collections[0]
    assert_allclose(shown.get_array(), frame["slowdown"][some.job])
    for path, job, first, many in zip(
        shown.get_paths(), some.job, some.first, some.many, strict=True
    ):
        low, high = path.get_extents().get_points()
        start_min, end_min = np.array([SHARED.start_ns[job], SHARED.end_ns[job]]) / 60e9
        assert_allclose((low, high), ((start_min, first), (end_min, first + many)))
    assert [text.get_text() for text in main.get_yticklabels()] == ["server 0", "server 1"]
    assert {text.get_text() for text in main.texts} <= set(SHARED.jobs.job_id)
    assert main.texts
    assert bar.get_ylabel() == "slowdown of a job (×)"
    assert below.get_xlabel() == "time since the first submission (min)"
    assert below.get_ylabel() == "jobs\nwaiting"
    values, _edges, _ = below.patches[0].get_data()
    assert_allclose(values.mean() * makespan(SHARED), times(SHARED).wait_s.sum())
    assert figure.get_supxlabel().startswith("n = 4 jobs on 16 GPUs (2 servers)")


def test_many_servers_show_how_busy_they_are_and_how_much_jobs_are_slowed(monkeypatch):
    monkeypatch.setattr(figures, "MOST_GPUS", 4)
    monkeypatch.setattr(figures, "MOST_ROWS", 1)
    figure = figures.timeline(SHARED)
    main, slowed, waiting = figure.axes[:3]
    (image,) = main.images
    edges_s = np.linspace(0, makespan(SHARED), figures.INTERVALS + 1)
    assert_allclose(image.get_array(), 100 * busy_share(SHARED, 2, edges_s))
    assert main.yaxis.get_major_formatter()(4_000, 0) == "4,000"
    assert times(SHARED).slowed.any()
    values, *_ = slowed.patches[0].get_data()
    assert_array_equal(values, slowdown_over_time(SHARED, edges_s))
    assert slowed.get_ylabel() == "slowdown\n(×)"
    assert waiting.get_xlabel() == "time since the first submission (min)"
    assert figure.axes[3].get_ylabel() == "GPUs in use (%)"
    assert "a row is 2 servers, a column 1/400 of the time" in (
        figure.get_supxlabel().replace("\n", " ")
    )


def test_a_quiet_cluster_says_so_instead_of_drawing_nothing():
    quiet = ran([(0, 0, 10, ((0, 4),)), (5, 5, 5, ((0, 4),))])
    figure = figures.timeline(quiet)
    assert len(figure.axes) == 2  # jobs and the bar of colours
    text = figure.get_supxlabel().replace("\n", " ")
    assert "(1 job of no length not drawn)" in text
    assert text.endswith("no job waits; no job is slowed by others")
