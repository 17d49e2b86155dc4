"""What the map of pairs shows is what its table says."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from synctax.report.figures import pairs as figures
from tests.cluster.test_pairs import ALWAYS, HALF, LIGHT, profile, run


def test_cells_are_the_changes_of_the_table_and_say_so():
    found = run(HALF, LIGHT, ALWAYS)
    figure = figures.pairs(found)
    axes, bar = figure.axes
    (image,) = axes.images
    frame = found.to_frame()
    assert_allclose(np.ravel(image.get_array()), frame["iteration_change"])
    numbers = [text.get_text() for text in axes.texts]
    assert numbers == [f"{value:.2f}" for value in frame["iteration_change"]]
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert names == ["half", "light", "always"]
    assert bar.get_ylabel() == "time of an iteration over that alone (×)"
    assert figure.get_supxlabel().startswith("n = 9 pairs of jobs of 8 GPUs, 4 + 4 on two")


@pytest.mark.parametrize(("many", "numbers", "names"), [(17, 0, 17), (61, 0, None)])
def test_many_workloads_have_no_room_for_numbers_and_then_for_names(many, numbers, names):
    found = run(*(profile(f"w${at}", 0.5, 0.5) for at in range(many)))
    axes = figures.pairs(found).axes[0]
    assert len(axes.texts) == numbers
    labels = [text.get_text() for text in axes.get_yticklabels()]
    if names:
        assert labels == [rf"w\${at}" for at in range(names)]
    else:
        assert not any("w" in text for text in labels)
