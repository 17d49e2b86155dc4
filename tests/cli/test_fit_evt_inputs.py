"""Which data `fit-evt` takes, and which it refuses."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

FEW = ("--resamples", "50", "--no-cache")


@pytest.fixture
def fit_evt(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *args: run("fit-evt", *args, *FEW)


def write(path, sizes, *, seed=0):
    """Block times of a block for each number of ranks, 40 instances each."""
    random = np.random.default_rng(seed)
    lines = [
        (f"b{m}", instance, rank, 1_000 + 20 * random.gumbel())
        for instance in range(40)
        for m in sizes
        for rank in range(m)
    ]
    pd.DataFrame(lines, columns=["block", "instance", "rank", "us"]).to_csv(
        path, index=False
    )


def test_blocks_over_other_numbers_of_ranks_are_fitted_as_files_of_them(fit_evt):
    write("a.csv", (4, 8))
    told = json.loads(fit_evt("--block-times", "a.csv", "--format", "json").stdout)
    assert (told["n_fit"], told["maxima"]) == (4, 40 + 2 * 40)
    assert {one["n"] for one in told["holdout"]} == {4, 8}


def test_the_same_data_twice_are_refused(fit_evt):
    write("a.csv", (4,))
    Path("job").mkdir()
    Path("link").symlink_to("job")
    Path("copy.csv").write_bytes(Path("a.csv").read_bytes())
    for args, said in (
        (("--block-times", "a.csv", "--block-times", "./a.csv"), "a.csv is given twice"),
        (("job", "--also", "job/"), "job/, which is job, is given twice"),
        (("job", "--also", "link"), "link, which is job, is given twice"),
        (("job", "job"), "job is given twice"),
    ):
        result = fit_evt(*args)
        assert result.exit_code == 2
        assert said in result.stderr
    result = fit_evt("--block-times", "a.csv", "--block-times", "copy.csv")
    assert result.exit_code == 1
    assert "a.csv and copy.csv: the same block times are given twice" in result.stderr


def test_maxima_that_cannot_be_are_refused(fit_evt):
    z = np.random.default_rng(0).gumbel(10_000, 200, 100)
    pd.DataFrame({"z": z}).to_csv("z.csv", index=False)
    given = ("--maxima", "z.csv", "--fit-n", 4, "--a-us", 10_000)
    result = fit_evt(*given, "--r", 0.02)
    assert result.exit_code == 3
    assert "z.csv: z has a mean of 10,0" in result.stderr
    result = fit_evt(*given, "--r", 2)
    assert result.exit_code == 2
    assert "such as 0.02 for 2 %" in result.stderr
