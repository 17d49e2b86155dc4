"""What the map of groups shows is where ranks sit."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from synctax.errors import SynctaxError
from synctax.planning.layout import parse_layout
from synctax.planning.verify.job import Against, Verification
from synctax.planning.verify.place_checks import domains
from synctax.report.figures import verify as figures
from tests.planning.observed_jobs import groups_of, in_blocks, job, round_robin


def seen(text: str, host_of) -> Verification:
    observed = job(groups_of(parse_layout(text)), host_of)
    checks = tuple(domains(observed, ("tp",)))
    return Verification(observed, Against(), None, None, checks, {}, ())


def test_cells_count_the_ranks_of_groups_on_domains():
    found = seen("tp4,pp1,dp2", in_blocks(4))
    figure = figures.groups(found)
    axes, bar = figure.axes
    (image,) = axes.images
    roles = [role for role in found.roles for _ in found.observed.of(role)]
    counts = np.ma.filled(image.get_array(), 0)
    tp = [at for at, role in enumerate(roles) if role == "tp"]
    dp = [at for at, role in enumerate(roles) if role == "dp"]
    assert_array_equal(counts[tp], [[4, 0], [0, 4]])
    assert_array_equal(counts[dp], [[1, 1]] * 4)
    assert bar.get_ylabel() == "ranks on a domain"
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert names == [f"{role} ({len(found.observed.of(role))})" for role in found.roles]
    assert figure.get_supxlabel().startswith(f"n = {len(roles)} groups on 2 domains")
    assert not figure.legends


def test_groups_that_break_a_rule_are_marked():
    found = seen("tp4,pp1,dp2", round_robin(2))
    figure = figures.groups(found)
    axes = figure.axes[0]
    (marks,) = (line.get_ydata() for line in axes.lines if line.get_marker() == "<")
    roles = [role for role in found.roles for _ in found.observed.of(role)]
    assert [roles[int(at)] for at in marks] == ["tp", "tp"]
    assert "2 of them break a rule" in figure.get_supxlabel().replace("\n", " ")
    assert figure.legends


def test_of_many_groups_the_first_of_each_role_are_drawn(monkeypatch):
    monkeypatch.setattr(figures, "MOST_GROUPS", 3)
    figure = figures.groups(seen("tp2,pp1,dp16", in_blocks(1)))
    assert "the first 3 of each role" in figure.get_supxlabel()
    names = {text.get_text() for text in figure.axes[0].get_yticklabels()}
    assert "tp (3)" in names
    assert not any("node" in text.get_text() for text in figure.axes[0].get_xticklabels())


@pytest.mark.parametrize(
    ("text", "host_of", "said"),
    [
        ("tp4,pp1,dp2", lambda _rank: None, "no NVLink domain is known"),
        ("tp1,pp1,dp1", in_blocks(4), "no process group of more than one rank is known"),
    ],
)
def test_where_nothing_is_known_there_is_no_map(text, host_of, said):
    with pytest.raises(SynctaxError, match=said):
        figures.groups(seen(text, host_of))


def test_ranks_whose_domain_is_not_known_are_counted():
    found = seen("tp4,pp1,dp2", lambda rank: None if rank == 7 else rank // 4)
    text = figures.groups(found).get_supxlabel().replace("\n", " ")
    assert text.endswith("the domain of 1 rank is not known")
