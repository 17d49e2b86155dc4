"""The example that the project ships is what its page says."""

import gzip
import json
import re
import subprocess
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SET = EXAMPLES / "tp4-fsdp2"
MAX_BYTES = 600_000
OUTLIER = ([0, 1, 2, 3], 39)


def plain(path):
    # Compressed bytes may differ between versions of zlib; what they hold may not.
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


@pytest.fixture(scope="module")
def command():
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"^\$ synctax (synth (?:.*\\\n)*.*)$", text, re.MULTILINE)
    # A shell splits it, for the sake of its braces.
    done = subprocess.run(
        ["bash", "-c", f"printf '%s\\n' {line}"], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def known():
    return json.loads((SET / "truth.json").read_bytes())


@pytest.fixture(scope="module")
def all_reduces(known):
    """The `tp` all-reduces that are not the first of their group."""
    return [row for row in known["collectives"] if row["group"] == "tp" and row["index"]]


def test_the_command_on_the_page_makes_the_example(run, tmp_path, command):
    assert command[:2] == ["synth", "tp4-fsdp2"]
    result = run(command[0], tmp_path / "tp4-fsdp2", *command[2:])
    assert result.exit_code == 0
    made = {path.name: plain(path) for path in (tmp_path / "tp4-fsdp2").iterdir()}
    assert made == {path.name: plain(path) for path in SET.iterdir()}


def test_the_example_is_small():
    assert sum(path.stat().st_size for path in SET.iterdir()) <= MAX_BYTES


def test_rank_5_is_last_in_most_all_reduces_of_its_group(all_reduces):
    last = [r["straggler_rank"] for r in all_reduces if r["group_ranks"] == [4, 5, 6, 7]]
    assert last.count(5) > len(last) / 2


def test_no_rank_of_the_other_group_is_last_in_most(all_reduces):
    last = [r["straggler_rank"] for r in all_reduces if r["group_ranks"] == [0, 1, 2, 3]]
    assert max(map(last.count, range(4))) < len(last) / 2


def test_one_collective_stands_out_and_three_ranks_pay_for_it(known, all_reduces):
    worst, second = sorted(all_reduces, key=lambda row: -row["tax_max_us"])[:2]
    (injected,) = (one for one in known["injected"] if one["rank"] == 2)
    assert (worst["group_ranks"], worst["index"]) == OUTLIER
    assert (injected["group_ranks"], injected["index"]) == OUTLIER
    assert worst["straggler_rank"] == 2
    assert worst["tax_median_us"] > 2_900
    assert second["tax_max_us"] < 300
