"""The command `plan` as users meet it."""

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from synctax.evt.tax import Gumbel, TaxModel
from synctax.evt.tax_file import to_json
from synctax.planning.candidates import candidates
from synctax.planning.inputs.named import model_names, platform_names, read_model
from synctax.planning.verify.plan_file import read_plan
from synctax.schema.plan import PLAN, PLAN_COMPARE, PLAN_EXPLAIN
from synctax.schema.plan_lists import PLAN_HARDWARE, PLAN_MODELS
from synctax.workspace import Workspace
from tests.conftest import assert_in_words
from tests.fitted import fitted

GPUS_1024 = (
    *("--model", "llama3-405b", "--hardware", "dgx-h100", "--gpus", 1024),
    *("--sequence", 8192, "--batch", 2048),
)
A, B, C = "tp8,pp16,dp8", "tp8,pp8,dp8,cp2", "tp16,pp8,dp8"
D, E = "tp8,pp32,dp4", "tp4,pp16,dp16"

FITTED = fitted(8)


@pytest.fixture
def plan(run, tmp_path, monkeypatch):
    """Run the command in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def plan(*args: object, **options: object):
        return run("plan", *args, **options)

    return plan


@pytest.fixture
def rows(plan):
    """The rows of the worked example with some more options, by layout."""

    def rows(*args: object) -> dict[str, dict]:
        told = envelope(plan(*GPUS_1024, *args, "--format", "json"))
        return {row["layout"]: row for row in told["rows"]}

    return rows


def envelope(result) -> dict:
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def refused(result, code: int) -> str:
    assert_in_words(result)
    assert result.exit_code == code, result.stderr
    assert result.stdout == ""
    return result.stderr


# the worked example, published in Mapping TP, PP and DP to NVLink and InfiniBand Domains


def test_the_published_volumes_come_from_one_command(rows):
    found = rows("--layout", A)[A]
    assert found["tp_bytes"] == pytest.approx(3788e9, rel=1e-3)
    assert found["pp_bytes"] == pytest.approx(17.2e9, rel=2e-3)
    assert found["dp_bytes"] == pytest.approx(16.6e9, rel=1e-3)
    assert found["bubble"] == pytest.approx(0.0586, abs=1e-4)
    assert found["state_bytes"] == pytest.approx(23.7e9, rel=2e-3)
    assert found["activation_bytes"] == pytest.approx(71.9e9, rel=1e-3)
    assert found["nvlink_s"] == pytest.approx(8.4, abs=0.05)
    assert found["barriers"] == 8064


def test_virtual_stages_halve_the_bubble_and_double_what_stages_send(rows):
    once = rows("--layout", A)[A]
    twice = rows("--layout", A, "--virtual-stages", 2)[f"{A},v2"]
    assert twice["bubble"] == pytest.approx(0.029, abs=5e-4)
    assert twice["bubble"] == once["bubble"] / 2
    assert twice["pp_bytes"] == 2 * once["pp_bytes"]


@pytest.mark.parametrize(
    ("spelled", "dp_gb", "state_gb"),
    [
        ("dp", 33.22, 47.46),
        ("d", 33.22, 47.46),
        ("dp-cp", 35.60, 42.71),
        ("d*c", 35.60, 42.71),
    ],
)
def test_state_is_sharded_over_what_is_asked_in_either_spelling(
    rows, spelled, dp_gb, state_gb
):
    found = rows("--layout", B, "--shard-over", spelled)[B]
    assert found["dp_bytes"] == pytest.approx(1e9 * dp_gb, rel=1e-3)
    assert found["state_bytes"] == pytest.approx(1e9 * state_gb, rel=1e-3)


def test_a_rate_of_computation_gives_the_published_time(rows):
    assert rows("--layout", A, "--tflops", 400)[A]["compute_s"] == pytest.approx(
        99.5, abs=0.05
    )


def test_what_does_not_fit_and_what_leaves_the_domain_is_said_by_the_planner(rows):
    found = rows(*(f"--layout={one}" for one in (A, B, C, D, E)))
    fits = {name: row["fits"] for name, row in found.items()}
    assert fits == {A: False, B: True, C: True, D: False, E: False}
    assert found[B]["eliminated_because"] is None
    assert "needs 95.6 GB of 80 GB" in found[A]["eliminated_because"]
    assert "recomputing" in found[A]["would_fit"]
    assert "NVLink domain of 8" in found[C]["eliminated_because"]
    assert "162 s over NICs" in found[C]["eliminated_because"]


def test_twice_the_barriers_cost_as_much_in_proportion_and_twice_in_microseconds(rows):
    layouts = ("--layout", A, "--layout", B)
    found = rows(*layouts)
    assert found[B]["barriers"] == 2 * found[A]["barriers"]
    assert found[B]["tax_s"] == pytest.approx(found[A]["tax_s"])
    found = rows(*layouts, "--tax-ranks", "layer")
    assert found[B]["tax_s"] > found[A]["tax_s"]
    assert (found[A]["barrier_n"], found[B]["barrier_n"]) == (8, 16)
    found = rows(*layouts, "--tax-form", "absolute")
    assert found[B]["tax_s"] == pytest.approx(2 * found[A]["tax_s"])


# files


def test_json_holds_every_layout_the_fastest_feasible_first(plan):
    told = envelope(plan(*GPUS_1024, "--format", "json"))
    assert told["schema"] == "synctax.plan/1"
    assert list(told["rows"][0]) == list(PLAN.names)
    every, _ = candidates(read_model("llama3-405b"), 1024)
    assert len(told["rows"]) == len(every)
    ranks = [row["feasible_rank"] for row in told["rows"]]
    feasible = [rank for rank in ranks if rank is not None]
    assert feasible == list(range(1, len(feasible) + 1))
    assert ranks == feasible + [None] * (len(ranks) - len(feasible))
    for row in told["rows"]:
        assert (row["eliminated_because"] is None) == (row["feasible_rank"] is not None)


def test_the_envelope_counts_what_eliminates(plan):
    told = envelope(plan(*GPUS_1024, "--format", "json"))
    eliminated = sum(row["feasible_rank"] is None for row in told["rows"])
    counts = [one["layouts"] for one in told["eliminations"]]
    assert counts == sorted(counts, reverse=True)
    assert max(counts) <= eliminated <= sum(counts)
    assert sum(one["alone"] for one in told["eliminations"]) <= eliminated
    over = next(one for one in told["eliminations"] if one["rule"] == "memory")
    assert over["layouts"] == sum(not row["fits"] for row in told["rows"])
    said = {note["reason"]: note["count"] for note in told["excluded"]}
    assert said["eliminated_memory"] == over["layouts"]


def test_a_saved_plan_is_all_that_a_job_is_held_against(plan):
    done = plan(
        *GPUS_1024,
        "--layout",
        B,
        "--microbatch",
        2,
        "--nic-efficiency",
        0.9,
        "-o",
        "p.json",
    )
    assert done.exit_code == 0, done.stderr
    kept = read_plan("p.json")
    assert kept.model == read_model("llama3-405b")
    assert (kept.platform.name, kept.platform.domain) == ("dgx-h100", 8)
    assert (kept.training.batch, kept.training.microbatch) == (2048, 2)
    assert kept.training.shard_over == "d*c"
    assert kept.assumptions.nic_efficiency == 0.9
    assert [str(row.layout) for row in kept.rows] == [B]


def test_every_table_goes_to_files_whole(plan):
    layout = ("--layout", A)
    for name, read in (("p.csv", pd.read_csv), ("p.parquet", pd.read_parquet)):
        for args, table in (
            ((*GPUS_1024, *layout), PLAN),
            (("--list-models",), PLAN_MODELS),
            (("--list-hardware",), PLAN_HARDWARE),
        ):
            assert plan(*args, "-o", name, "-q").exit_code == 0
            assert tuple(read(name).columns) == table.names


def frame(result) -> pd.DataFrame:
    assert result.exit_code == 0, result.stderr
    return pd.read_csv(io.StringIO(result.stdout))


def test_only_feasible_layouts_or_only_the_front_are_listed(plan):
    every = frame(plan(*GPUS_1024, "--format", "csv"))
    feasible = frame(plan(*GPUS_1024, "--feasible", "--format", "csv"))
    front = frame(plan(*GPUS_1024, "--pareto", "--format", "csv"))
    assert set(feasible["layout"]) == set(every["layout"][every["feasible_rank"].notna()])
    assert set(front["layout"]) == set(every["layout"][every["pareto"]])
    assert 0 < len(front) < len(feasible) < len(every)


def test_built_in_models_and_machines_are_listed(plan):
    models = frame(plan("--list-models", "--format", "csv"))
    assert models["model"].tolist() == list(model_names())
    machines = frame(plan("--list-hardware", "--format", "csv"))
    assert machines["hardware"].tolist() == list(platform_names())


# tables


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("search", GPUS_1024),
        ("front", (*GPUS_1024, "--pareto", "--top", 3, "--tax", "none")),
        ("named", (*GPUS_1024, *(f"--layout={one}" for one in (A, B, C, D, E)))),
        ("one", (*GPUS_1024, "--layout", B, "--tax-form", "absolute")),
        ("nothing", (*GPUS_1024, "--gpus", 64)),
        ("explain", (*GPUS_1024, "--explain", A)),
        ("explain-feasible", (*GPUS_1024, "--explain", B, "--tax", "none")),
        ("compare", (*GPUS_1024, "--compare", f"{A}/{B}")),
        ("megatron", (*GPUS_1024, "--layout", B, "--export", "megatron")),
        (
            "torchtitan",
            (*GPUS_1024, "--layout", B, "--export", "torchtitan", "--sharding=gradients"),
        ),
        ("models", ("--list-models",)),
        ("hardware", ("--list-hardware",)),
    ],
)
def test_views_are_golden(plan, golden, name, args):
    result = plan(*args)
    assert result.exit_code == 0, result.stderr
    golden(f"plan/{name}.txt", result.stdout)


def test_a_terminal_of_80_signs_has_what_counts(plan):
    lines = plan(*GPUS_1024, env={"COLUMNS": "80"}).stdout.splitlines()
    assert max(map(len, lines)) <= 80
    for title in ("layout", "step", "memory", "tax", "NIC"):
        assert title in lines[0]


def test_the_table_has_as_many_lines_as_asked(plan):
    def listed(*args: object) -> int:
        lines = plan(*GPUS_1024, *args).stdout.splitlines()
        return lines.index(next(line for line in lines if "more: --top" in line)) - 2

    assert (listed(), listed("--top", 3)) == (10, 3)


def test_all_layouts_that_are_named_are_shown(plan):
    named = [f"--layout=tp8,pp{p}" for p in (1, 2, 4, 8, 16, 32, 64)]
    text = plan(*GPUS_1024, *named, "--virtual-stages", "1,2").stdout
    assert all(f"\ntp8,pp{p},dp{128 // p}" in text for p in (2, 4, 8, 16, 32, 64))
    assert "more: --top" not in text


def test_where_nothing_is_feasible_near_misses_are_shown_with_what_would_help(plan):
    result = plan(*GPUS_1024, "--gpus", 128, "--memory-gb", 100)
    assert result.exit_code == 0
    assert "none is feasible" in result.stdout
    assert "what would help: recomputing" in result.stdout
    assert "ruled out: needs" in result.stdout


def test_the_table_needs_no_pandas(tmp_path):
    # which takes as long to import as all else together
    code = (
        "import sys\n"
        "from synctax.cli import main\n"
        f"main.main(['plan', *{list(map(str, GPUS_1024))!r}], standalone_mode=False)\n"
        "sys.stderr.write(str({'pandas', 'scipy', 'pyarrow'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=True,
    )
    assert done.stderr.endswith("set()")
    assert "feasible" in done.stdout


@pytest.mark.parametrize("only", ["--feasible", "--pareto"])
def test_near_misses_are_shown_where_only_feasible_ones_were_asked_for(plan, only):
    args = (*GPUS_1024, "--gpus", 64)
    assert plan(*args, only).stdout == plan(*args).stdout
    told = envelope(plan(*args, only, "--format", "json"))
    assert told["rows"] == []
    assert told["verdict"][0].endswith("none is feasible")
    assert told["basis"][0].startswith("tax: llama3-70b-h200, ")
    named = plan(*GPUS_1024, "--layout", A, only).stdout
    assert f"\n{A}\n  ruled out: needs 95.6 GB of 80 GB" in named


def test_near_misses_are_as_many_as_asked(plan):
    text = plan(*GPUS_1024, "--gpus", 64, "--top", 7).stdout
    assert text.count("what would help: ") >= 7


def test_layouts_that_are_as_fast_are_marked_and_the_plainest_is_named(plan):
    rows = envelope(plan(*GPUS_1024, "--format", "json"))["rows"]
    near = [row for row in rows if row["within_error"]]
    assert near == rows[: len(near)]
    assert near[-1]["step_s"] <= 1.03 * near[0]["step_s"] < rows[len(near)]["step_s"]
    result = plan(*GPUS_1024, "--top", len(near) + 1).stdout
    marked = [line for line in result.splitlines() if " ~" in line and line[2:4] == "tp"]
    assert len(marked) == len(near)
    said = " ".join(result.split())
    assert f"{len(near)} layouts, marked ~; the plainest is tp" in said


def test_numbers_are_read_as_they_are_printed(plan):
    plain = plan(*GPUS_1024, "--layout", A).stdout
    spelled = ("--gpus", "1,024", "--sequence", "8_192", "--batch", "2,048")
    assert plan(*GPUS_1024, *spelled, "--layout", A).stdout == plain


# one layout, and two


def test_a_layout_is_explained_by_its_place_among_all(plan):
    every = envelope(plan(*GPUS_1024, "--format", "json"))["rows"]
    best = next(row for row in every if row["feasible_rank"] == 2)
    text = plan(*GPUS_1024, "--explain", best["layout"]).stdout
    assert text.startswith(f"{best['layout']} can run: number 2 by time of ")
    assert "4·l·m" in text or "2·l·m" in text


def test_an_explanation_in_json_has_the_formulas_and_the_verdict(plan):
    told = envelope(plan(*GPUS_1024, "--explain", A, "--format", "json"))
    assert told["schema"] == "synctax.plan-explain/1"
    assert list(told["rows"][0]) == list(PLAN_EXPLAIN.names)
    assert (told["layout"], told["feasible"]) == (A, False)
    tp = next(row for row in told["rows"] if row["quantity"] == "tp_bytes")
    assert tp["value"] == pytest.approx(3788e9, rel=1e-3)
    broken = [row for row in told["rows"] if row["verdict"] == "broken"]
    assert [row["quantity"] for row in broken] == ["memory"]


def test_virtual_stages_that_no_search_has_are_explained_too(plan):
    text = plan(*GPUS_1024, "--explain", "tp8,pp4,v4").stdout
    assert text.startswith("tp8,pp4,dp32,v4 cannot run; ")


def test_a_comparison_says_what_the_faster_one_saves(plan):
    told = envelope(plan(*GPUS_1024, "--compare", f"{A};{B}", "--format", "json"))
    assert told["schema"] == "synctax.plan-compare/1"
    assert list(told["rows"][0]) == list(PLAN_COMPARE.names)
    assert told["layouts"] == [A, B]
    steps = {row["quantity"]: row["of_step_s"] for row in told["rows"]}
    step = next(row for row in told["rows"] if row["quantity"] == "step_s")
    parts = [value for value in steps.values() if value is not None]
    assert sum(parts) == pytest.approx(step["difference"])


def test_a_layout_is_not_compared_with_itself(plan):
    said = refused(plan(*GPUS_1024, "--compare", f"{A}/{A}"), 2)
    assert f"both are {A}; give two that differ" in said


def test_no_two_rows_of_a_comparison_are_called_alike(plan):
    lines = plan(*GPUS_1024, "--compare", f"{A}/{B}").stdout.splitlines()
    rows = lines[2 : next(at for at, line in enumerate(lines) if "the other" in line)]
    names = [re.split(r"\s{2,}", line)[0] for line in rows]
    assert {"bubble", "bubble time"} <= set(names)
    assert len(set(names)) == len(names)


# the tax


def test_the_tax_is_what_was_fitted_last(plan):
    path = Workspace(Path(".synctax")).tax_file
    path.parent.mkdir(parents=True)
    path.write_bytes(to_json(FITTED))
    result = plan(*GPUS_1024, "--layout", B)
    assert "no fitted tax" not in result.stderr
    assert "the fit of tp, gumbel, fitted on 8 ranks" in result.stdout
    assert "as many as the 8 of the fit" in result.stdout
    assert "10 ms where it was measured" in result.stdout
    assert "no fitted tax" in plan(*GPUS_1024, "--layout", B, "--no-cache").stderr


def test_without_a_fit_the_built_in_tax_is_said_to_be_used(plan):
    result = plan(*GPUS_1024, "--layout", B)
    assert "no fitted tax (none in .synctax): using the built-in" in result.stderr
    assert "8 ranks of TP meet 16,128 times, 2 × the 4 of the fit" in result.stdout
    assert "in proportion to the computation before a barrier: 7.3 to 10.4 ms" in (
        result.stdout
    )


def test_without_a_tax_none_is_counted_and_that_is_said(plan):
    result = plan(*GPUS_1024, "--layout", B, "--tax", "none")
    assert "waiting at barriers is not in the times" in result.stdout
    told = envelope(plan(*GPUS_1024, "--layout", B, "--tax", "none", "--format", "json"))
    assert told["rows"][0]["tax_s"] == 0
    assert told["parameters"]["tax"] is None


def test_a_tax_without_its_computation_is_refused_unless_that_is_given(plan, tmp_path):
    path = tmp_path / "tax.json"
    own = Gumbel(b_scale_us=130.0, tau_us=700.0, n=128.0)
    path.write_bytes(to_json(TaxModel(n_fit=4, gumbel=own)))
    args = (*GPUS_1024, "--layout", B, "--tax", path)
    said = refused(plan(*args, "--format", "json"), 1)
    assert "--tax-compute-us tells it, --tax-form absolute does without" in said
    told = envelope(plan(*args, "--tax-compute-us", 8000, "--format", "json"))
    assert told["parameters"]["tax"]["a_us"] == 8000
    half = envelope(plan(*args, "--tax-compute-us", 16000, "--format", "json"))
    assert half["rows"][0]["tax_s"] == pytest.approx(told["rows"][0]["tax_s"] / 2)


# what is changed of the machine and assumed


def test_64_of_72_gpus_are_what_tp_16_tiles(plan):
    args = ("--model", "llama3-405b", "--hardware", "gb200-nvl72", "--gpus", 1024)
    args = (*args, "--sequence", 8192, "--batch", 2048, "--layout", "tp16,pp8")
    whole = plan(*args).stdout
    assert "does not tile the NVLink domain (72 mod 16 = 8" in whole
    assert "64 of the 72 GPUs" in whole
    assert "tile" not in plan(*args, "--domain", 64).stdout


@pytest.mark.parametrize(
    ("args", "column", "factor"),
    [
        (("--nic-gb-per-s", 25), "nic_s", 2),
        (("--nic-efficiency", 0.5), "nic_s", 2),
        (("--nvlink-efficiency", 0.5), "nvlink_s", 2),
        (("--mfu", 0.2), "compute_s", 2),
        (("--tflops", 989), "compute_s", 0.4),
    ],
)
def test_an_assumption_changes_the_time_that_it_is_about(rows, args, column, factor):
    before, after = rows("--layout", A)[A], rows("--layout", A, *args)[A]
    assert after[column] == pytest.approx(factor * before[column])


def test_exposed_shares_are_what_is_not_hidden(rows):
    shares = "tp=0,pp=0,cp=0,ep=0,dp=0"
    assert rows("--layout", B, "--exposed", shares)[B]["exposed_s"] == 0
    found = rows("--layout", B, "--exposed", "tp=0.5,pp=0,cp=0,ep=0,dp=0")[B]
    assert found["exposed_s"] == pytest.approx(found["nvlink_s"] / 2)


def test_memory_that_is_larger_or_reserved_changes_what_fits(rows):
    assert rows("--layout", A, "--memory-gb", 96)[A]["fits"]
    assert not rows("--layout", A, "--memory-gb", 96, "--reserve-gb", 1)[A]["fits"]


def test_tp_may_leave_the_domain_where_that_is_allowed(rows):
    assert rows("--layout", C)[C]["eliminated_because"] is not None
    allowed = rows("--layout", C, "--allow-tp-across-domains")[C]
    assert allowed["eliminated_because"] is None


@pytest.mark.parametrize("order", ["tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp"])
def test_the_order_of_ranks_is_the_one_that_is_asked_for(rows, order):
    assert rows("--layout", A, "--order", order)[A]["order"] == order


def test_how_the_job_runs_reaches_the_plan(plan):
    options = (
        *("--no-sequence-parallel", "--no-scatter-gather", "--no-expert-tp"),
        *("--recompute", "full", "--sharding", "none", "--count-attention"),
    )
    told = envelope(plan(*GPUS_1024, "--layout", A, *options, "--format", "json"))
    assert told["parameters"]["training"] == {
        "batch": 2048,
        "sequence": 8192,
        "microbatch": 1,
        "sequence_parallel": False,
        "recompute": "full",
        "sharding": "none",
        "shard_over": "d*c",
        "order": None,
        "scatter_gather": False,
        "expert_tp": False,
        "count_attention": True,
    }


# exports


def test_an_export_is_of_the_fastest_feasible_layout(plan):
    best = envelope(plan(*GPUS_1024, "--format", "json"))["rows"][0]
    told = envelope(plan(*GPUS_1024, "--export", "megatron", "--format", "json"))
    assert [row["layout"] for row in told["rows"]] == [best["layout"]]
    text = told["export"]["text"]
    assert f"--tensor-model-parallel-size {best['tp']}\n" in text
    assert f"--context-parallel-size {best['cp']}\n" in text


def test_a_layout_that_is_ruled_out_is_exported_with_that_said(plan):
    result = plan(*GPUS_1024, "--layout", A, "--export", "megatron")
    assert result.exit_code == 0
    assert f"{A} for megatron, though it is ruled out: needs 95.6 GB" in result.stderr
    assert "--pipeline-model-parallel-size 16" in result.stdout


def test_the_order_that_was_chosen_is_exported(plan):
    args = (*GPUS_1024, "--layout", A, "--export", "megatron", "--order")
    assert "--use-tp-pp-dp-mapping" in plan(*args, "tp-cp-ep-pp-dp").stdout
    assert "--use-tp-pp-dp-mapping" not in plan(*args, "tp-cp-ep-dp-pp").stdout


def test_an_export_is_for_a_file_too(plan, tmp_path):
    args = (*GPUS_1024, "--layout", B, "--export", "torchtitan-recipe")
    args = (*args, "--sharding", "gradients")
    assert plan(*args, "-o", "flags.txt").exit_code == 0
    assert (tmp_path / "flags.txt").read_text() == plan(*args).stdout


def test_nothing_is_exported_where_nothing_is_feasible_or_a_framework_has_no_words(plan):
    said = refused(plan(*GPUS_1024, "--gpus", 64, "--export", "megatron"), 1)
    assert "none of 252 layouts is feasible" in said
    said = refused(plan(*GPUS_1024, "--layout", A, "--export", "torchtitan"), 1)
    assert "choose gradients or parameters" in said


def test_degrees_and_nics_of_a_group_can_be_asked_for(plan):
    few = envelope(plan(*GPUS_1024, "--only", "tp8,cp2", "--pool-nics", "--format", "json"))
    assert {(row["tp"], row["cp"]) for row in few["rows"]} == {(8, 2)}
    assert few["parameters"]["only"] == {"tp": 8, "cp": 2}
    assert few["parameters"]["assumptions"]["pooled_nics"]
    both = envelope(plan(*GPUS_1024, "--only", "tp8", "--only", "cp2", "--format", "json"))
    assert [row["layout"] for row in both["rows"]] == [row["layout"] for row in few["rows"]]
    said = refused(plan(*GPUS_1024, "--only", "tp8", "--only", "tp4"), 2)
    assert "--only has tp8 and tp4" in said
    said = refused(plan(*GPUS_1024, "--only", "v2"), 2)
    assert "v is chosen with --virtual-stages" in said
    said = refused(plan(*GPUS_1024, "--only", "cp1", "--layout", A), 2)
    assert "leave out --only" in said


# files of users


MODEL = """\
layers: 40
hidden: 5120
heads: 40
kv_heads: 8
ffn: 13824
vocabulary: 32000
"""
MACHINE = """\
gpu: h100
memory_gb: 80
nic_gb_per_s: 25
tiers:
  - {gpus: 256, oversubscription: 4}
"""


@pytest.fixture
def own(tmp_path):
    """Options for a model and a machine of one's own."""
    (tmp_path / "m.yaml").write_text(MODEL)
    (tmp_path / "h.yaml").write_text(MACHINE)
    args = ("--model", tmp_path / "m.yaml", "--hardware", tmp_path / "h.yaml")
    return (*args, "--gpus", 512, "--sequence", 4096, "--batch", 512)


def test_a_model_and_a_machine_may_be_files(plan, own):
    result = plan(*own)
    assert result.exit_code == 0, result.stderr
    assert "of m on 512 GPUs of h" in result.stdout
    assert "4:1 between blocks of 256 GPUs" in result.stdout


def test_a_key_that_is_misspelled_is_named_with_its_file(plan, own, tmp_path):
    (tmp_path / "m.yaml").write_text(MODEL.replace("layers", "layer"))
    said = refused(plan(*own), 3)
    assert "m.yaml" in said
    assert "layer" in said


def test_a_domain_of_0_in_a_file_is_named(plan, own, tmp_path):
    (tmp_path / "h.yaml").write_text(MACHINE + "domain: 0\n")
    said = refused(plan(*own), 3)
    assert "domain" in said
    assert "0" in said


def test_what_is_odd_about_a_machine_is_said(plan):
    result = plan(*GPUS_1024, "--layout", A, "--nic-gb-per-s", 500)
    assert "--nic-gb-per-s 500 is 10 times the NIC of dgx-h100, 50 GB/s; a NIC of 400 " in (
        result.stderr
    )
    assert "times the NIC" not in plan(*GPUS_1024, "--nic-gb-per-s", 100).stderr


def test_what_is_odd_about_a_machine_in_a_file_is_said(plan, own, tmp_path):
    (tmp_path / "h.yaml").write_text(MACHINE.replace("s: 25\n", "s: 500\n"))
    assert "NIC that is faster than usual: 500 GB/s" in plan(*own).stderr


# wrong usage


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--gpus", 0), "'--gpus': 0 is not in the range"),
        (("--gpus", 10**9), "'--gpus': 1000000000 is not in the range"),
        (("--gpus", "many"), "'many' is no whole number; give it as 1024 or 1,024"),
        (("--gpus", "1,0"), "'1,0' is no whole number"),
        (("--gpus", "1e3"), "'1e3' is no whole number"),
        (("--gpus", "9" * 5000), "is not in the range from 1 to"),
        (("--sequence", 0), "'--sequence': 0 is not in the range"),
        (("--batch", -1), "'--batch': -1 is not in the range"),
        (("--microbatch", 4096), "--microbatch: 4,096 is above the batch of 2,048"),
        (("--model", "llama9"), "no model 'llama9' is built in; there are deepseek"),
        (("--model", ""), "the name of a model is empty"),
        (("--hardware", "dgx-h1000"), "no platform 'dgx-h1000' is built in"),
        (("--layout", "tp8,pp16,dp9"), "1,152 ranks, and --gpus is 1,024"),
        (("--layout", "tp3"), "does not divide 1,024 GPUs"),
        (("--layout", "zz8"), "'zz8' is no degree"),
        (("--layout", ""), "is empty"),
        (("--layout", "tp8,tp8"), "layout 'tp8,tp8': tp is given twice; between layouts"),
        (("--layout", "tp8,tp4"), "tp is given twice"),
        (("--layout", "tp8,pp4,pp8,dp4"), "pp is given twice"),
        (("--layout", "tp8/pp2"), "'tp8' and 'pp2' would be two layouts"),
        (("--layout", "tp8,pp16/"), "layout 'tp8,pp16/' is empty, or a part of it"),
        (("--layout", "tp-1"), "layout 'tp-1': 'tp' is no degree"),
        (("--layout", f"tp{10**19}"), "expected from 1 to 2,147,483,647"),
        (("--layout", f"tp{'9' * 5000}"), "tp is 99999999...; expected from 1 to"),
        (("--layout", "tp0,pp1"), "tp is 0"),
        (("--virtual-stages", "0"), "give from 1 to 1,024"),
        (("--virtual-stages", "2,x"), "'x' is no number of chunks"),
        (("--virtual-stages", "9" * 5000), "give from 1 to 1,024"),
        (("--shard-over", "tp"), "'tp' is none of dp, dp-cp"),
        (("--exposed", "tp"), "'tp' is no share like dp=0.2"),
        (("--exposed", "xp=1"), "'xp=1' is no share like dp=0.2"),
        (("--exposed", "tp=2"), "tp=2: give a share from 0 to 1"),
        (("--exposed", "tp=nan"), "no finite number"),
        (("--exposed", "tp=1,tp=0"), "tp is given twice"),
        (("--domain", 0), "'--domain': 0 is not in the range"),
        (("--domain", 12), "12 GPUs are no whole number of hosts: those of dgx-h100"),
        (("--nic-gb-per-s", 0), "0 is not above 0"),
        (("--memory-gb", "inf"), "no finite number"),
        (("--reserve-gb", 80), "80 GB leave nothing of the 80 GB of dgx-h100"),
        (("--mfu", 1.5), "1.5: give from 1e-06 to 1"),
        (("--mfu", 0.4, "--tflops", 400), "--mfu and --tflops say the same"),
        (("--tflops", 1000), "1,000 is above 989, the dense BF16 peak of dgx-h100"),
        (("--order", "pp-tp"), "'pp-tp' is not one of"),
        (("--tax", "none", "--tax-method", "gev"), "--tax none has no --tax-method"),
        (("--tax", "none", "--tax-form", "absolute"), "--tax none has no --tax-form"),
        (
            ("--tax-form", "absolute", "--tax-compute-us", 5),
            "--tax-form absolute takes no --tax-compute-us",
        ),
        (("--export", "megatron", "--top", 3), "--top is for the list of layouts"),
        (("--export", "megatron", "--format", "csv"), "--export is text or JSON, not csv"),
        (("--explain", A, "--layout", B), "leave out --layout"),
        (("--explain", A, "--compare", f"{A}/{B}"), "exclude each other"),
        (("--explain", "tp8,pp16,dp9"), "1,152 ranks"),
        (("--compare", A), "is 1 of 2 layouts"),
        (("--compare", f"{A}/{B}/{C}"), "is 3 of 2 layouts"),
        (("--top", 0), "'--top': 0 is not in the range"),
    ],
)
def test_nonsense_names_the_option_and_the_value(plan, args, said):
    assert said in refused(plan(*GPUS_1024, *args), 2)


def test_a_domain_that_holds_a_tier_is_refused(plan, own):
    said = refused(plan(*own, "--domain", 256), 2)
    assert "256 GPUs do not fit into a tier of 256 GPUs" in said


def test_all_that_is_missing_is_said_at_once(plan):
    said = refused(plan("--model", "llama3-8b", "--gpus", 8), 2)
    assert "missing --hardware, --sequence, --batch; --list-models" in said


def test_heads_that_tp_does_not_divide_are_named_with_both_numbers(plan):
    args = ("--model", "llama3-405b", "--hardware", "dgx-h100", "--gpus", 96)
    result = plan(*args, "--sequence", 8192, "--batch", 96, "--layout", "tp3,pp32")
    assert result.exit_code == 0
    assert "128 heads mod tp 3 = 2" in result.stdout
