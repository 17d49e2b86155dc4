"""Samples of cases: all of them unless `quick` is asked for, and the same of one seed."""

import pytest

from tests import laws

CASES = list("abcdefghijklmnopqrstuvwxyz")


@pytest.fixture
def seeded(monkeypatch):
    """Draw from a seed: `seeded(7, quick=True)`."""

    def seeded(seed, *, quick):
        monkeypatch.setattr(laws.Drawn, "seed", seed)
        monkeypatch.setattr(laws, "quick", lambda: quick)
        return laws.some(CASES)

    return seeded


def test_all_cases_are_tried(seeded):
    assert seeded(7, quick=False) == CASES


def test_quick_tries_a_few_in_order_the_same_of_one_seed(monkeypatch, seeded):
    few = seeded(7, quick=True)
    assert 0 < len(few) < len(CASES) or laws.settings.default.max_examples == laws.OF
    assert few == sorted(few)
    assert seeded(7, quick=True) == few


def test_profiles_differ_as_they_say():
    counts = laws.PROFILES
    assert counts["quick"] < counts["dev"] < counts["ci"]
    assert laws.settings.get_profile("ci").max_examples == counts["ci"]
    assert laws.settings.get_profile("ci").deadline is None


def test_a_run_has_a_seed_in_its_header(request):
    assert request.config.getoption("--hypothesis-seed") == laws.Drawn.seed
    (line,) = (
        line
        for line in request.config.hook.pytest_report_header(
            config=request.config, start_path=request.config.rootpath
        )
        if str(line).startswith("laws: ")
    )
    assert f"--hypothesis-seed={laws.Drawn.seed}" in line


@pytest.mark.parametrize(("count", "kept"), [(1, 1), (3, 3), (4, 3), (12, 3), (40, 10)])
def test_of_the_cases_of_one_test_a_quarter_is_kept_and_three_at_least(count, kept):
    drawn = laws.few(range(count))
    assert len(drawn) == kept
    assert drawn == sorted(set(drawn))
