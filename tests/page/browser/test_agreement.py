"""What charts draw and what tables say are the same numbers."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from synctax.attribution.results import Known
from synctax.report.page import page as made
from tests.attribution.examples import attributed
from tests.page.browser.agreement import classes_agree

pytestmark = pytest.mark.browser

Visit = Callable[..., Any]


def test_classes_of_the_example_are_those_of_the_table(shown: Any) -> None:
    assert classes_agree(shown) == {"fsdp", "tp"}


def test_collectives_without_a_class_are_in_neither(visit: Visit, tmp_path: Path) -> None:
    found = attributed()
    known = found.results.known.copy()
    largest = np.argsort(-found.results.tax_ns)[:20]
    known[largest] = Known.NO_FENCE
    some = replace(found, results=replace(found.results, known=known))
    assert some.used.sum() < some.tax.used.sum()
    at = tmp_path / "some.html"
    at.write_bytes(made(some.tax, some))
    assert classes_agree(visit(at)) == {"fsdp", "tp"}


def test_classes_of_a_measured_job_are_those_of_the_table(
    visit: Visit, report: Callable[..., Path], tmp_path: Path, shared_traces: Path
) -> None:
    at = report(shared_traces / "torchrec4-sleep-rank2", tmp_path / "page.html")
    # one of its 12 collectives has no collective before it, and so no class
    assert classes_agree(visit(at)) == {"unlabelled"}
