"""A recorded job of two groups on CPUs goes through every command that reads traces."""

import json

import pytest

from tests.conftest import ROOT, assert_in_words

RECORDED = ROOT / "examples" / "gloo-tp2-fsdp2"


@pytest.fixture(scope="module")
def workspace(columns, tmp_path_factory):
    return columns(RECORDED, tmp_path_factory.mktemp("recorded") / "workspace")


def told(run, workspace, *args):
    result = run(*args, "--workspace", workspace, "--format", "json")
    assert_in_words(result)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_its_groups_are_named_though_no_collective_names_one(run):
    result = run("inspect", RECORDED)
    assert result.exit_code == 0
    assert "measure:   yes: 4 of 4 ranks" in result.stdout
    assert "fsdp (2 groups of 2), tp (2 groups of 2)" in result.stdout
    assert "attribute: yes: on the host" in result.stdout
    assert "not read" not in result.stdout


def test_every_collective_is_matched_but_for_the_head(run, workspace):
    rows = told(run, workspace, "measure", RECORDED, "--per-collective")["rows"]
    # two layers, four steps, two sibling groups; forward and backward
    count = {"tp": 2 * 4 * 2 * 8, "fsdp": 2 * 4 * 2 * 2, "default": 4}
    for group, expected in count.items():
        own = [row for row in rows if row["group"] == group]
        assert len(own) == expected
        assert {row["identity"] for row in own} == {"order"}
        assert not [row for row in own if row["status"] in ("partial", "invalid")]
    lost = [row for row in rows if row["status"] == "unmatched"]
    assert {row["reason"] for row in lost} <= {"ends are further apart than the tolerance"}
    assert len(lost) <= 4


def test_its_paths_lead_through_the_host(run, workspace):
    found = told(run, workspace, "attribute", RECORDED, "--group", "tp", "--per-collective")
    known = [row for row in found["rows"] if row["status"] == "ok"]
    assert len(known) > 100
    assert {row["path_side"] for row in known} == {"cpu"}
    assert not [row for row in known if "Dispatch" in (row["culprit"] or "")]


def test_its_blocks_are_fitted_for_the_group_that_has_enough(run, workspace):
    found = told(run, workspace, "fit-evt", RECORDED, "--resamples", "50")
    assert found["group"] == "tp"
    assert (found["maxima"], found["blocks"]) == (64, 4)
