"""What the map of groups shows is where ranks sit."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from synctax.errors import SynctaxError
from synctax.planning.layout import parse_layout
from synctax.planning.verify.check import Broken, Check
from synctax.planning.verify.job import Against, Verification
from synctax.planning.verify.place_checks import domains
from synctax.report.figures import verify as figures
from synctax.report.figures.style import named
from tests.planning.observed_jobs import groups_of, in_blocks, job, round_robin


def seen(text: str, host_of) -> Verification:
    observed = job(groups_of(parse_layout(text)), host_of)
    checks = tuple(domains(observed, ("tp",)))
    return Verification(observed, Against(), None, None, checks, {}, ())


def said(figure) -> str:
    return " ".join(figure.get_supxlabel().split())


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
    assert "none of them breaks a rule or a warning" in said(figure)
    (legend,) = figure.legends
    # white has no place in the scale
    assert [text.get_text() for text in legend.texts] == ["no rank of the group"]
    assert image.get_clim() == (1, 4)


def test_where_every_group_is_on_every_domain_nothing_is_white():
    assert not figures.groups(seen("tp4,pp1,dp2", lambda _rank: 0)).legends


def test_groups_that_break_a_rule_are_marked():
    found = seen("tp4,pp1,dp2", round_robin(2))
    figure = figures.groups(found)
    axes = figure.axes[0]
    (marks,) = (line.get_ydata() for line in axes.lines if line.get_marker() == "<")
    roles = [role for role in found.roles for _ in found.observed.of(role)]
    assert [roles[int(at)] for at in marks] == ["tp", "tp"]
    assert "2 of them break a rule or a warning" in said(figure)
    assert "broken:" not in said(figure)
    assert figure.legends


def test_a_broken_check_of_the_whole_job_is_told_though_no_row_breaks_it():
    found = seen("tp4,pp1,dp2", in_blocks(4))
    world = Check("world", "", "rule", "16", "8", 1, broken=(Broken((), (), "8"),))
    remark = replace(world, name="clock", level="remark")
    found = replace(found, checks=(*found.checks, world, remark))
    text = said(figures.groups(found))
    assert "none of them breaks a rule or a warning; of the whole job broken: world" in text
    assert "clock" not in text


def test_groups_that_are_not_drawn_and_break_a_rule_are_counted(monkeypatch):
    monkeypatch.setattr(figures, "MOST_GROUPS", 1)
    text = said(figures.groups(seen("tp4,pp1,dp2", round_robin(2))))
    assert "1 of them breaks a rule or a warning; of those not drawn 1" in text


def test_names_of_hosts_stand_upright_where_they_are_wider_than_a_column():
    def labels(hosts):
        found = seen("tp4,pp1,dp2", lambda rank: rank // 4)
        places = replace(found.observed.places, domains=hosts)
        found = replace(found, observed=replace(found.observed, places=places))
        return figures.groups(found).axes[0].get_xticklabels()

    flat, upright = labels(("a", "b")), labels(("a", "W" * 300))
    assert [text.get_rotation() for text in flat] == [0, 0]
    assert [text.get_rotation() for text in upright] == [90, 90]
    assert upright[1].get_text() == named("W" * 300)


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
