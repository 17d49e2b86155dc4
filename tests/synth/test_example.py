"""The example that the project ships is what its page says."""

import gzip
import json
import re
import shlex
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SET = EXAMPLES / "tp4-fsdp2"
MAX_BYTES = 400_000


def plain(path):
    # Compressed bytes may differ between versions of zlib; what they hold may not.
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


@pytest.fixture(scope="module")
def command():
    (line,) = re.findall(r"^\$ synctax (synth tp4-fsdp2 .*)$", text(), re.MULTILINE)
    return shlex.split(line)


def text():
    return (EXAMPLES / "README.md").read_text(encoding="utf-8")


def test_the_command_on_the_page_makes_the_example(run, tmp_path, command):
    result = run(command[0], tmp_path / "tp4-fsdp2", *command[2:])
    assert result.exit_code == 0
    made = {path.name: plain(path) for path in (tmp_path / "tp4-fsdp2").iterdir()}
    assert made == {path.name: plain(path) for path in SET.iterdir()}


def test_the_example_is_small():
    assert sum(path.stat().st_size for path in SET.iterdir()) <= MAX_BYTES


def test_one_collective_stands_out_and_three_ranks_pay_for_it():
    known = json.loads((SET / "truth.json").read_bytes())
    tp = [row for row in known["collectives"] if row["group"] == "tp" and row["index"]]
    by_tax = sorted(tp, key=lambda row: row["tax_max_us"], reverse=True)
    (injected,) = known["injected"]
    worst = by_tax[0]
    assert worst["group_ranks"] == injected["group_ranks"] == [0, 1, 2, 3]
    assert worst["index"] == injected["index"] == 14
    assert worst["straggler_rank"] == injected["rank"] == 2
    assert worst["tax_median_us"] > 2_900
    assert by_tax[1]["tax_max_us"] < 100
