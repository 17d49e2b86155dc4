"""Charts of the fit and of bandwidth are called what they are."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from synctax.bandwidth.basis import Setting
from synctax.bandwidth.sweep import Link, Wait, sweep
from synctax.bandwidth.topology import Layout
from synctax.evt.fit import fit_evt_maxima
from synctax.evt.options import Options
from synctax.report.page import Worth
from synctax.report.page import page as made
from tests.attribution.examples import attributed
from tests.page.browser.conftest import points

pytestmark = pytest.mark.browser


def test_bands_are_of_the_level_that_was_asked_for(
    visit: Callable[..., Any], tmp_path: Path
) -> None:
    z = np.random.default_rng(3).gumbel(1.0, 0.6, 60)
    options = Options(n=(8, 64), level=0.975, resamples=20)
    fit = fit_evt_maxima(z, n_fit=8, a_us=100.0, r=0.1, options=options)
    us = np.array([100.0, 200.0])
    wait = Wait(np.array([8.0, 64.0]), us, 0.5 * us, 2 * us)
    link = Link(Layout("switched"), "all_reduce", 2**20, 5.0)
    worth = Worth(sweep([link], [-0.5], wait), Setting("", "", {}, 8))
    at = tmp_path / "page.html"
    at.write_bytes(made(attributed().tax, fit=fit, bandwidth=worth))
    page = visit(at)
    assert {"Gumbel, 97.5 %", "GEV, 97.5 %"} <= set(points(page, "growth"))
    assert "Gumbel, 97.5 %" in points(page, "qq")
    assert points(page, "bandwidth")["ε −0.5, interval"] == 1
    assert "from, to: intervals of 97.5 %" in page.inner_text("#table-fit caption")
    assert "95 %" not in page.inner_text("#fit")
