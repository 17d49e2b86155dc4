"""How a verification reads: sentences, groups, checks, and what to run."""

import pytest

from synctax.planning.inputs.named import read_model, read_platform
from synctax.planning.layout import Layout
from synctax.planning.nccl.commands import nccl_tests_commands
from synctax.planning.training import Training
from synctax.planning.verify.job import Against, verify
from synctax.planning.verify.planned import Planned
from synctax.report import verify_view
from synctax.report.output import Result
from synctax.report.tables import to_text
from synctax.schema import VERIFY, VERIFY_GROUPS
from tests.planning.observed_jobs import group, in_blocks, job, placed, round_robin

LAYOUT = Layout(tp=4, pp=2, dp=2)


def read(found, *, strict=False, width=None, monkeypatch=None):
    if width:
        monkeypatch.setenv("COLUMNS", str(width))
    result = Result(VERIFY, found.to_frame())
    return to_text(verify_view.checks(found, result, strict=strict))


def read_groups(found):
    return to_text(verify_view.groups(Result(VERIFY_GROUPS, found.per_group())))


def rows(text, first):
    return [line.split() for line in text.splitlines() if line.startswith(first)]


def test_the_verdict_comes_first_then_groups_then_checks():
    text = read(verify(placed(LAYOUT, in_blocks(4)), None, Against(Planned(LAYOUT))))
    order = [
        text.index(part)
        for part in (
            "16 ranks of 16 read on 4 hosts",
            "every rule that can be checked holds",
            "hosts each",
            "domains: each host taken for one domain",
            "expected",
        )
    ]
    assert order == sorted(order)


def test_groups_of_a_role_share_a_row():
    text = read(verify(placed(LAYOUT, in_blocks(4)), None, Against()))
    (row,) = rows(text, "pp ")
    assert row[:3] == ["pp", "8", "2"]
    assert "5 more" in text
    (row,) = rows(text, "tp ")
    assert row[-2:] == ["1", "1"]


def test_a_warning_is_called_broken_where_it_fails():
    turned = placed(
        Layout(tp=2, pp=1, dp=2), in_blocks(2), gpu_of=lambda rank: (rank + rank // 2) % 2
    )
    found = verify(turned, None, Against())
    assert rows(read(found), "rails")[0][2] == "warning"
    assert rows(read(found, strict=True), "rails")[0][2] == "broken"
    assert "warning: dp rails: 2 of 2 groups" in read(found)


def test_what_is_not_known_is_a_dash_with_its_reason():
    text = read(verify(placed(LAYOUT, lambda _: None), None, Against()))
    assert rows(text, "domain ")[0][2] == "unknown"
    assert "unknown: tp domain: the host of 16 ranks is not known" in text
    assert "domains: " not in text
    assert rows(text, "tp ")[0][-1] == "–"
    assert "0 + 4 unknown" in text


def test_a_job_without_groups_is_said_to_have_none():
    alone = job([group("default", (0,))], in_blocks(1))
    assert "no process group of more than one rank is known" in (
        read(verify(alone, None, Against()))
    )


@pytest.mark.parametrize("width", [60, 100, 200])
def test_tables_keep_to_the_terminal(monkeypatch, width):
    found = verify(placed(LAYOUT, round_robin(4)), None, Against())
    text = read(found, width=width, monkeypatch=monkeypatch)
    assert all(len(line) <= width for line in text.splitlines())


def test_every_group_has_a_row_with_its_faults():
    text = read_groups(verify(placed(LAYOUT, round_robin(4)), None, Against()))
    assert len(rows(text, "tp ")) == 4
    assert rows(text, "tp ")[0][-1] == "domain"
    assert rows(text, "pp ")[0][-1] == "–"


def test_no_group_at_all_is_said():
    empty = verify(placed(LAYOUT, in_blocks(4)), None, Against(role="nothing"))
    assert read_groups(empty) == "no process group is known\n"


def test_runs_of_nccl_tests_are_lines_for_a_shell():
    commands = nccl_tests_commands(
        read_model("llama3-405b"),
        read_platform("dgx-h100"),
        Training(batch=2048, sequence=8192),
        Layout(tp=8, pp=16, dp=8),
    )
    text = to_text(verify_view.runs(commands))
    assert "all_reduce_perf -b 67108864 -e 1073741824 -f 2 -d bfloat16 -g 8" in text
    assert sum(line.startswith("  # ") for line in text.splitlines()) == len(commands)
    assert verify_view.runs(()) == []
