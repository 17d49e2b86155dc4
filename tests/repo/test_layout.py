"""What tools do not check: sizes, units in names, start-up, nothing of one machine."""

import os
import re
import subprocess
import sys
from pathlib import Path

import doc_pages
import pytest
from doc_pages import ROOT

from synctax.cli import COMMANDS, module_of

pytestmark = pytest.mark.repo

MODULES = sorted((ROOT / "synctax").rglob("*.py"))
MAX_LINES = 400

UNITS = {"us", "s", "bytes", "gb_per_s", "tflops", "ppm", ""}
STATISTICS = r"(?:_(?:sum|min|median|mean|max|p\d+|lo|hi|se))?"
"""What may follow the unit in a name: `tax_max_us_p99`."""

HEAVY = ("numpy", "pandas", "scipy", "pyarrow", "rich", "msgspec", "orjson", "isal")
WITH_NUMPY = ("attribute", "fit-evt", "synth")
"""Commands whose help takes defaults from where they are computed with."""


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_module_is_read_in_one_sitting(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_LINES


def unit_in(name: str) -> str:
    """Return the unit that a column's name ends in, or nothing."""
    for unit in sorted(UNITS - {""}, key=len, reverse=True):
        if re.search(rf"(?:^|_){unit}{STATISTICS}$", name):
            return unit
    return ""


def test_the_rule_reads_units_from_names():
    names = [
        "tax_max_us_p99",
        "payload_bytes",
        "busbw_gb_per_s_median",
        "n_ranks",
        "span_s",
        "us",
    ]
    assert [unit_in(name) for name in names] == ["us", "bytes", "gb_per_s", "", "s", "us"]


def test_a_column_has_its_unit_in_its_name():
    # not parametrized: a module that cannot be imported must not stop the collection
    for table in doc_pages.tables():
        assert {c.name: c.unit for c in table.columns} == {
            c.name: unit_in(c.name) for c in table.columns
        }, table.schema


def test_a_table_explains_itself():
    for table in doc_pages.tables():
        assert re.fullmatch(r"synctax\.[a-z_-]+/\d+", table.schema)
        assert table.meaning, table.schema
        assert all(c.meaning for c in table.columns), table.schema
        assert len(set(table.names)) == len(table.names), table.schema


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_imports_nothing_heavy(name):
    if name and not (ROOT / "synctax" / "cli" / f"{module_of(name)}.py").is_file():
        pytest.fail(f"{name} is listed but has no module")
    heavy = HEAVY[name in WITH_NUMPY : 5] if name else HEAVY
    script = (
        "import sys\n"
        "from synctax.cli import main\n"
        f"main.main({[name, '--help'] if name else ['--help']}, standalone_mode=False)\n"
        f"print([m for m in {heavy} if m in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def tracked_files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    paths = (ROOT / os.fsdecode(name) for name in listed.stdout.split(b"\0") if name)
    return [path for path in paths if path.is_file()]


ELSEWHERE = re.compile(
    # classes of one letter, or this line would be found
    rb"/[w]ork/|/[t]mp/|/[r]oot/|/[h]ome/\w|/opt/[p]ypi|bash_[j]obs|127\.0\.0\.[1]|"
    rb"index-[u]rl|[a]rtifactory|[p]ythonhosted"
)


def test_no_file_names_the_machine_it_was_written_on():
    found = {
        str(path.relative_to(ROOT)): match[0]
        for path in tracked_files()
        if path.suffix not in (".gz", ".zst")
        and (match := ELSEWHERE.search(path.read_bytes()))
    }
    assert found == {}


def test_the_machine_is_noticed():
    assert ELSEWHERE.search(b"see /" + b"work/main")
    assert not ELSEWHERE.search(b"see ../shared/traces and a/workshop")


def test_ci_runs_the_test_command_of_readme():
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    printed = subprocess.run(
        ["bash", script, "--print"], capture_output=True, text=True, check=True
    ).stdout.strip()
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"$ {printed}\n" in readme
    assert printed.startswith("python3 -m venv .venv && ")
    assert "/pytest" in printed


def test_the_licence_is_whole():
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License" in text
    assert "END OF TERMS AND CONDITIONS" in text
