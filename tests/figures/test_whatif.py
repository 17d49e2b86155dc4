"""The picture of replays shows what the tables of `whatif` say."""

import re
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import synctax
from synctax.report.figures.style import named
from synctax.report.figures.whatif import CHANGE_EM, MOST_CHANGES, steps
from synctax.texts import signed
from tests.attribution.examples import kept, measured
from tests.experiment.made import experiment


@dataclass(frozen=True)
class Found:
    """As much of a `WhatIf` as is drawn."""

    frame: pd.DataFrame
    single: pd.DataFrame

    @property
    def scenarios(self):
        return tuple(self.frame["change"])

    def to_frame(self):
        return self.frame

    def per_step(self):
        return self.single


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> Found:
    """Replay a job of three steps with two changes and both together."""
    folder = experiment(0.0, 5.0, 20.0).write(tmp_path_factory.mktemp("job"))
    made = synctax.whatif(
        measured(folder), "tax=0", "cpu*0.5", workers=1, cache=kept(folder)
    )
    return Found(made.to_frame(), made.per_step())


def said(figure):
    return " ".join(figure.get_supxlabel().split())


def test_bars_are_the_mean_steps_of_the_table(found):
    figure = steps(found)
    (axis,) = figure.axes
    frame = found.to_frame()
    first = frame.iloc[0]
    (bars,) = axis.containers
    mean_us = [first["step_us"], first["step_replayed_us"], *frame["step_changed_us"]]
    assert_allclose([bar.get_width() for bar in bars], np.array(mean_us) / 1e3)
    names = [label.get_text() for label in axis.get_yticklabels()]
    assert names == ["recorded", "replayed", "tax=0", "cpu*0.5", "all together"]
    shares = [f"({signed(share)})" for share in frame["step_change_share"]]
    assert all(
        share in text.get_text() for share, text in zip(shares, axis.texts[2:], strict=True)
    )
    assert axis.get_xlabel() == "step time (ms)"
    assert axis.get_xlim()[0] == 0


def test_circles_are_the_steps(found):
    (axis,) = steps(found).axes
    single = found.per_step()
    changes = list(found.scenarios)
    columns = [("step_us", changes[0]), ("step_replayed_us", changes[0])]
    columns += [("step_changed_us", change) for change in changes]
    for row, (line, (name, change)) in enumerate(zip(axis.lines, columns, strict=True)):
        x, y = line.get_xydata().T
        assert_allclose(x, single[single["change"] == change][name] / 1e3)
        assert (y == row).all()
    assert "n = 3 steps (circles)" in said(steps(found))


def test_one_step_has_no_circle_of_its_own(found):
    single = found.single.groupby("change", sort=False).head(1)
    figure = steps(Found(found.frame.assign(steps=1), single))
    assert said(figure).startswith("Mean over the ranks and n = 1 step;")
    assert not figure.axes[0].lines


def test_without_steps_it_is_the_whole_window(found):
    frame = found.frame.assign(steps=pd.array([None] * len(found.frame), "Int64"))
    first = found.single.groupby("change", sort=False).head(1)
    figure = steps(replace(found, frame=frame, single=first))
    (axis,) = figure.axes
    assert axis.get_xlabel() == "time of the whole window (ms)"
    assert "n = 1 window" in said(figure)
    assert not axis.lines


def test_more_changes_than_have_room_are_counted_and_long_ones_cut(found):
    row = found.frame.iloc[:1]
    long = "x" * 60
    names = [f"kernel=a${number}{long}*0" for number in range(MOST_CHANGES + 2)]
    frame = pd.concat([row.assign(change=name) for name in names])
    one = found.single[found.single["change"] == row["change"].iloc[0]]
    single = pd.concat([one.assign(change=name) for name in names])
    figure = steps(replace(found, frame=frame, single=single))
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert len(labels) == MOST_CHANGES + 2
    assert labels[2] == named(names[0], CHANGE_EM)
    assert re.fullmatch(r"kernel=a\\\$0x{10,}…", labels[2])
    assert "2 changes left out for room" in said(figure)
