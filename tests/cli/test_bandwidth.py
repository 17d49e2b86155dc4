"""The command `bandwidth` as users meet it."""

import io
import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from synctax.evt.tax import Covered, Curve, Deviations, Gev, Gumbel, TaxModel
from synctax.evt.tax_file import to_json
from synctax.report.streams import spelled
from synctax.schema import (
    BANDWIDTH,
    BANDWIDTH_ALGORITHMS,
    BANDWIDTH_FLOPS,
    BANDWIDTH_RESIDUALS,
)
from synctax.workspace import Workspace
from tests.bandwidth.nccl_output import OLD, Bench
from tests.conftest import assert_in_words
from tests.fitted import fitted

SIZES = [2**k for k in range(13, 33)]

FITTED = fitted(4)


@pytest.fixture
def bandwidth(run, tmp_path, monkeypatch):
    """Run the command in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def bandwidth(*args: object):
        return run("bandwidth", *args)

    return bandwidth


@pytest.fixture
def benchmark(tmp_path) -> Path:
    """An output of nccl-tests with α = 5 µs and B = 370 GB/s, as all-pairs takes them."""
    path = tmp_path / "all_reduce.txt"
    path.write_text(Bench().text(SIZES, lambda size: 10.0 + 1.75 * size / 370e3))
    return path


def envelope(result) -> dict:
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def refused(result, code: int = 1) -> str:
    assert_in_words(result)
    assert result.exit_code == code, result.stderr
    assert result.stdout == ""
    return result.stderr


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("switched-512", ("--topology", "switched", "--n", 512)),
        ("default", ()),
        ("levels", ("--topology", "hierarchical", "--domain", 72, "--nic-gb-per-s", 50)),
        ("hockney", ("--tax", "none", "--payload-bytes", "256MiB", "--n", "8,16")),
        ("flops", ("--flops-growth", "b200/h200", "--compute-us", 10400, "--n", "4096")),
        ("algorithms", ("--algorithms",)),
    ],
)
def test_views_are_golden(bandwidth, golden, name, args):
    result = bandwidth(*args)
    assert result.exit_code == 0, result.stderr
    golden(f"bandwidth/{name}.txt", result.stdout)


def test_a_narrow_terminal_has_the_best_bandwidth(run, bandwidth):
    result = run("bandwidth", env={"COLUMNS": "60"})
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 60
    assert "B* at ε −0.5" in lines[0]


def test_json_is_an_envelope_with_the_promised_columns(bandwidth):
    told = envelope(bandwidth("--topology", "switched", "--n", 512, "--format", "json"))
    assert told["schema"] == "synctax.bandwidth/1"
    assert list(told["rows"][0]) == list(BANDWIDTH.names)
    assert [row["elasticity"] for row in told["rows"]] == [-0.5, -0.1]
    assert told["rows"][0]["gb_per_s"] == pytest.approx(566.708, abs=1e-3)
    assert told["rows"][0]["gb_per_s_lo"] is None
    assert told["crossings"] == [{"topology": "switched", "n": 3663, "lasts": True}]
    assert told["tax"]["n_fit"] == 4
    assert told["tax"]["names"] == ["llama3-70b-h200"]
    assert "10⁹ bytes a second, per GPU and direction" in told["units"]
    assert told["parameters"]["payload_bytes"] == 268_435_456
    assert type(told["rows"][0]["payload_bytes"]) is int
    assert told["parameters"]["topology"] == ["switched"]
    assert told["parameters"]["elasticity"] == [-0.5, -0.1]
    assert told["parameters"]["domain"] is None
    assert told["parameters"]["hardware"] == "h200"
    assert told["parameters"]["link_gb_per_s"] == [450.0]
    assert told["verdict"][0].startswith("switched, n = 512: B* at ε = −0.5 is 567 GB/s")


@pytest.mark.parametrize(
    ("args", "table"),
    [
        ((), BANDWIDTH),
        (("--flops-growth", "2", "--compute-us", "1e4"), BANDWIDTH_FLOPS),
        (("--algorithms",), BANDWIDTH_ALGORITHMS),
    ],
)
def test_every_table_goes_to_files_whole(bandwidth, args, table):
    for name, read in (("out.csv", pd.read_csv), ("out.parquet", pd.read_parquet)):
        assert bandwidth(*args, "-o", name, "-q").exit_code == 0
        assert tuple(read(name).columns) == table.names


def frame(result) -> pd.DataFrame:
    assert result.exit_code == 0, result.stderr
    return pd.read_csv(io.StringIO(result.stdout))


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("512", [512]),
        ("64,8", [8, 64]),
        ("8:64", [8, 16, 32, 64]),
        ("72:300", [72, 144, 288, 300]),
    ],
)
def test_sizes_are_one_a_list_or_doubled(bandwidth, text, sizes):
    found = frame(bandwidth("--topology", "ring", "--n", text, "--format", "csv"))
    assert found["n"].unique().tolist() == sizes


def test_sizes_are_those_of_the_torus_or_the_hardware(bandwidth):
    torus = frame(bandwidth("--torus", "8x8x4", "--topology", "torus3d", "--format", "csv"))
    assert torus["n"].tolist() == [256, 256]
    assert torus["p"].tolist() == [34.0, 34.0]
    levels = ("--topology", "hierarchical,ring", "--nic-gb-per-s", 50)
    rooms = envelope(bandwidth(*levels, "--hardware", "H200", "--format", "json"))
    assert rooms["parameters"]["n"] == [8 * 2**k for k in range(10)]
    assert rooms["parameters"]["domain"] == 8
    assert rooms["parameters"]["nic_alpha_us"] == 5
    assert rooms["parameters"]["hardware"] == "h200"
    rack = frame(bandwidth("--hardware", "gb200-nvl72", "--format", "csv"))
    assert rack["n"].unique().tolist() == [72]
    assert rack["link_gb_per_s"].unique().tolist() == [900.0]


@pytest.mark.parametrize(
    ("text", "amount"),
    [("1000", 1000), ("1kB", 1000), ("1.5 MiB", 3 << 19), ("2gB", 2e9), ("1TB", 1e12)],
)
def test_amounts_have_units(bandwidth, text, amount):
    found = frame(bandwidth("--payload-bytes", text, "--n", 8, "--format", "csv"))
    assert found["payload_bytes"].unique().tolist() == [amount]


def test_elasticities_and_topologies_are_lists(bandwidth):
    found = frame(
        bandwidth(
            "--elasticity", "-0.3,-0.2,-0.3", "--topology", "tree,in-switch,ring",
            "--n", 8, "--format", "csv",
        )
    )  # fmt: skip
    assert found["elasticity"].tolist() == [-0.3, -0.2] * 3
    assert found["topology"].unique().tolist() == ["tree", "in_switch", "ring"]


def test_all_leaves_out_what_has_no_such_operation(bandwidth):
    result = bandwidth("--topology", "all", "--op", "all_to_all", "--format", "json")
    told = envelope(result)
    assert {row["topology"] for row in told["rows"]} == {"ring", "torus3d", "switched"}
    reasons = [one["detail"] for one in told["excluded"]]
    assert reasons == [
        f"{t} has no all_to_all" for t in ("tree", "in_switch", "hierarchical")
    ]
    assert "note: 1 × tree has no all_to_all" in result.stderr
    told = envelope(bandwidth("--topology", "all", "--format", "json"))
    assert told["excluded"][0]["reason"] == "topology_not_described"


def test_a_price_adds_a_column(bandwidth):
    result = bandwidth("--price-per-gb-per-s", 3, "--n", 8)
    assert "cost" in result.stdout.splitlines()[0]


# --------------------------------------------------------------------------- the tax


def test_the_built_in_tax_is_said(bandwidth):
    result = bandwidth("--topology", "switched", "--n", 512)
    assert result.stderr == (
        "note: no fitted tax (none in .synctax): using the built-in llama3-70b-h200\n"
    )
    assert bandwidth("--tax", "llama3-70b-h200", "--n", 512).stderr == ""
    assert "the workspace is not used" in bandwidth("--no-cache", "--n", 512).stderr


def test_the_fitted_tax_is_used_with_its_interval(bandwidth):
    Workspace(Path(".synctax")).keep_tax(FITTED)
    result = bandwidth("--topology", "switched", "--n", "8,64", "--format", "json")
    assert (
        "note: using the tax of a job (tp), fitted just now (.synctax)\n" in result.stderr
    )
    told = envelope(result)
    assert told["tax"]["group"] == "tp"
    assert told["parameters"]["payload_bytes"] == 100_000_000
    assert told["parameters"]["alpha_from"] == "default"
    assert told["parameters"]["link_gb_per_s"] == [None]
    assert told["crossings"] == []
    for row in told["rows"]:
        assert row["gb_per_s_lo"] < row["gb_per_s"] < row["gb_per_s_hi"]
        assert row["link_elasticity"] is None
    text = bandwidth("--topology", "switched", "--n", "8,64").stdout
    assert "interval" in text.splitlines()[0]
    assert "ε today" not in text
    assert "95 % interval (delta)" in text


def test_sizes_begin_where_the_fit_says_something(bandwidth):
    Workspace(Path(".synctax")).keep_tax(replace(FITTED, n_fit=16))
    found = frame(bandwidth("--topology", "ring", "--format", "csv"))
    assert found["n"].min() == 16
    assert found["n"].max() == 4096
    Workspace(Path(".synctax")).keep_tax(replace(FITTED, n_fit=9000))
    found = frame(bandwidth("--topology", "ring", "--format", "csv"))
    assert found["n"].unique().tolist() == [16384]


def test_an_interval_down_to_no_tax_has_no_end_without_latency(bandwidth):
    wide = replace(FITTED.gumbel, cov=((4.0, 0.0), (0.0, 2.0)))
    Workspace(Path(".synctax")).keep_tax(replace(FITTED, gumbel=wide))
    asked = ("--topology", "switched", "--n", 8, "--alpha-us", 0)
    result = bandwidth(*asked)
    assert "to no end" in result.stdout
    assert "without the tax no bandwidth is enough" in result.stdout
    told = envelope(bandwidth(*asked, "--format", "json"))["rows"][0]
    assert told["tau_lo_us"] == 0
    assert told["gb_per_s_hi"] is None
    assert told["hockney_gb_per_s"] is None


def test_a_file_is_a_tax(bandwidth, tmp_path):
    (tmp_path / "tax.json").write_bytes(to_json(FITTED))
    told = envelope(bandwidth("--tax", "tax.json", "--n", 8, "--format", "json"))
    assert told["tax"]["source"].startswith("tax.json, gumbel, fitted on 4 ranks")


def test_a_tax_of_which_little_is_described_says_so(bandwidth):
    little = Covered(share_of_tax=0.003)
    model = TaxModel(4, gumbel=FITTED.gumbel, b_us=1.0, payload_bytes=100, coverage=little)
    Workspace(Path(".synctax")).keep_tax(model)
    found = bandwidth("--n", 8, "--format", "json")
    assert "describes 0.3 % of the tax that was measured" in found.stderr
    told = envelope(found)["tax"]
    assert told["share_of_tax"] == 0.003
    assert any("0.3 %" in note for note in told["notes"])


def test_that_another_job_was_measured_since_is_in_the_json(bandwidth):
    space = Workspace(Path(".synctax"))
    space.keep_tax(FITTED, targets=["one"])
    space.record_measure(["other"], [])
    asked = ("--n", 8, "--format", "json", "-q")
    (_, since) = envelope(bandwidth(*asked))["tax"]["notes"]
    assert since.startswith("other was measured since, and this is not its tax")


def test_a_record_that_is_damaged_leaves_the_tax_as_it_is(bandwidth):
    Workspace(Path(".synctax")).keep_tax(FITTED)
    Path(".synctax/last_measure.json").write_text("{")
    result = bandwidth("--n", 8)
    assert result.exit_code == 0
    assert "whether another job was measured since is not known" in result.stderr
    assert "not a record that this version" in result.stderr


@pytest.mark.parametrize(
    ("doubts", "said"),
    [
        (("the tail is heavy",), "came with a doubt about gumbel: the tail is heavy"),
        (("the tail", "b"), "came with 2 doubts about gumbel, such as: the tail"),
    ],
)
def test_doubts_of_the_fit_are_not_lost(bandwidth, doubts, said):
    Workspace(Path(".synctax")).keep_tax(replace(FITTED, warnings=doubts))
    told = bandwidth("--n", 8).stderr
    assert said in told
    assert bandwidth("--n", 8, "-q").stderr == ""


def test_a_predictor_that_is_a_curve_ends_where_it_does(bandwidth, tmp_path):
    curve = Curve((4.0, 64.0), (100.0, 300.0), (90.0, 250.0), (110.0, 360.0))
    model = TaxModel(4, payload_bytes=10**9, deviations=Deviations(curve=curve))
    (tmp_path / "tax.json").write_bytes(to_json(model))
    asked = ("--tax", "tax.json", "--tax-method", "deviations", "--hardware", "h200")
    result = bandwidth(*asked, "--topology", "switched", "--n", "8,64")
    assert "stays below the transfer over today's link up to 64 ranks" in result.stdout
    assert "lies outside the curve" in refused(bandwidth(*asked, "--n", 128))


def taxed(tmp_path, **changed) -> tuple[object, ...]:
    (tmp_path / "tax.json").write_bytes(to_json(replace(FITTED, **changed)))
    return ("--tax", "tax.json", "--topology", "switched")


def test_a_wait_below_zero_is_refused_by_file_method_and_n(bandwidth, tmp_path):
    asked = taxed(tmp_path, gumbel=Gumbel(b_scale_us=100.0, tau_us=20.0, n=8))
    said = refused(bandwidth(*asked, "--n", "4,8"))
    assert "tax.json: gumbel predicts a wait of -49.31 µs at n = 4" in said
    assert bandwidth(*asked, "--n", 8).exit_code == 0


def test_without_a_gumbel_law_the_next_method_is_taken_and_said(bandwidth, tmp_path):
    part = Gev(0.9, 0.6, 0.1)
    asked = taxed(tmp_path, gumbel=None, gev=part, reasons={"gumbel": "no optimum"})
    result = bandwidth(*asked, "--n", 8)
    assert "tax.json has no gumbel prediction (no optimum): using gev" in result.stderr
    assert "tax: tax.json, gev, fitted" in result.stdout
    said = refused(bandwidth(*asked, "--tax-method", "gumbel"))
    assert "has no gumbel prediction (no optimum); give --tax-method gev" in said


def test_only_doubts_of_the_method_that_is_used_are_told(bandwidth, tmp_path):
    doubts = {"warnings": ("odd ranks", "heavy"), "concerns": (("gev",), ("gumbel",))}
    told = bandwidth(*taxed(tmp_path, **doubts), "--n", 8).stderr
    assert "came with a doubt about gumbel: heavy" in told
    assert "odd ranks" not in told


def deviating(tmp_path) -> tuple[object, ...]:
    curve = Curve((4.0, 256.0), (20.0, 50.0), (18.0, 44.0), (22.0, 58.0))
    return taxed(
        tmp_path,
        deviations=Deviations(curve=curve),
        trusted="deviations",
        warnings=("common variation: use deviations",),
        concerns=(("gumbel", "gev", "lmoments"),),
    )


def test_a_predictor_that_the_fit_prefers_is_named_with_what_it_says(bandwidth, tmp_path):
    asked = deviating(tmp_path)
    told = bandwidth(*asked, "--n", "8,64").stderr
    assert "fit-evt prefers deviations here (40 µs at n = 64), not gumbel (582 µs)" in told
    assert "--tax-method deviations computes with it" in told
    assert "a doubt about gumbel: common variation: use deviations" in told
    beyond = bandwidth(*asked, "--n", "512").stderr
    assert "fit-evt prefers deviations here (no prediction at n = 512)" in beyond


def test_with_the_predictor_that_is_preferred_nothing_more_is_said(bandwidth, tmp_path):
    asked = (*deviating(tmp_path), "--tax-method", "deviations", "--n", "8,64")
    result = bandwidth(*asked, "--format", "json")
    assert "deviations" not in result.stderr
    told = envelope(result)["tax"]
    assert (told["method"], told["trusted"], told["warnings"]) == (
        "deviations", "deviations", [],
    )  # fmt: skip


def test_keys_that_say_nothing_are_named(bandwidth, tmp_path):
    asked = taxed(tmp_path)
    values = json.loads((tmp_path / "tax.json").read_text()) | {"n_fits": 4}
    (tmp_path / "tax.json").write_text(json.dumps(values))
    assert "keys that say nothing here: n_fits" in bandwidth(*asked, "--n", 8).stderr


def test_a_curve_begins_where_it_does_and_has_the_ends_that_it_has(bandwidth, tmp_path):
    curve = Curve((64.0, 8192.0), (100.0, 300.0), (90.0, 250.0), (None, None))
    model = {"gumbel": None, "deviations": Deviations(curve=curve)}
    result = bandwidth(*taxed(tmp_path, **model), "--format", "json")
    told = envelope(result)
    assert told["rows"][0]["n"] == 64
    assert "no interval" in told["tax"]["source"]


def test_the_built_in_tax_is_not_passed_off_as_that_of_other_hardware(bandwidth):
    said = "that tax was measured on H200 SXM, HGX of 8, not on GB200 NVL72, a rack"
    asked = ("--tax", "llama3-70b-h200", "--topology", "switched", "--hardware")
    assert said in bandwidth(*asked, "gb200-nvl72").stdout
    assert "was measured on" not in bandwidth(*asked, "h200").stdout


def test_where_there_is_no_interval_none_is_shown(bandwidth, tmp_path):
    ends = ((90.0, 140.0, None), (110.0, 170.0, None))
    curve = Curve((4.0, 64.0, 256.0), (100.0, 150.0, 200.0), *ends)
    model = {"gumbel": None, "deviations": Deviations(curve=curve)}
    lines = bandwidth(*taxed(tmp_path, **model), "--n", "64,256").stdout.splitlines()
    assert "/s to " in lines[2]
    assert lines[3].startswith("switched   256")
    assert "/s to " not in lines[3]


def test_a_tax_that_outweighs_for_a_while_is_said_so(bandwidth, tmp_path):
    none = (None,) * 3
    curve = Curve((4.0, 8.0, 64.0), (10.0, 3000.0, 10.0), none, none)
    model = {"gumbel": None, "deviations": Deviations(curve=curve)}
    asked = (*taxed(tmp_path, **model), "--n", "8,64", "--hardware", "h200")
    assert ", but not at every larger n" in bandwidth(*asked).stdout


def test_a_gev_without_a_mean_is_refused_with_what_to_do(bandwidth, tmp_path):
    cov = ((1e-4, 0.0, 0.0), (0.0, 1e-4, 0.0), (0.0, 0.0, 1e-4))
    asked = taxed(tmp_path, gev=Gev(0.9, 0.6, 1.5, cov=cov))
    said = refused(bandwidth(*asked, "--tax-method", "gev", "--n", 8))
    assert "a GEV with shape 1.5 has no mean" in said


def test_links_that_are_not_known_are_said_with_what_tells_them(bandwidth, tmp_path):
    asked = (*taxed(tmp_path), "--n", "8,64")
    assert "--link-gb-per-s or --hardware compares it" in bandwidth(*asked).stdout
    told = envelope(bandwidth(*asked, "--hardware", "h100", "--format", "json"))
    said = [text for text in told["basis"] if "hierarchical" in text]
    assert said[0].startswith("switched: today's link joins 8 ranks, and is taken to join")
    within = bandwidth(*asked[:-1], 8, "--hardware", "h100").stdout
    assert "hierarchical" not in within


def test_every_elasticity_has_its_interval(bandwidth, tmp_path):
    told = envelope(bandwidth(*taxed(tmp_path), "--n", 8, "--format", "json"))
    assert told["verdict"][0].count("/s to ") == 2


def test_a_tax_that_outweighs_from_the_start_is_said_so(bandwidth, tmp_path):
    asked = (*taxed(tmp_path), "--n", 8, "--link-gb-per-s", 1e6)
    assert "at every n from 4 on, the fewest ranks looked at" in bandwidth(*asked).stdout


def test_no_tax_is_hockneys_model(bandwidth):
    asked = ("--tax", "none", "--payload-bytes", "1GB", "--n", 2, "--format", "csv")
    found = frame(bandwidth(*asked))
    assert (found["gb_per_s"] == found["hockney_gb_per_s"]).all()
    assert (found["reduction"] == 0).all()
    assert found["reach"].isna().all()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--tax", "none"), "without a tax nothing tells payload_bytes"),
        (("--n", "3"), "n = 3 is below the 4 ranks of the fit"),
        (("--tax", "nowhere.json"), "nowhere.json: no such file"),
        (
            ("--tax-method", "gev"),
            "h200 has no gev prediction; give --tax-method gumbel",
        ),
        (("--flops-growth", "2"), "the tax model lacks a_us"),
        (
            ("--flops-growth", "2", "--compute-us", "1", "--hardware", "nvl1152"),
            "today's link, which is not known",
        ),
        (("--topology", "tree", "--op", "all_gather"), "no all_gather on tree"),
        (("--topology", "hierarchical", "--domain", "8"), "give --domain (or --hardware)"),
        (("--torus", "8x8x4", "--n", "512"), "has 256 ranks, not n = 512"),
        (
            ("--tax", "none", "--alpha-us", "0", "--payload-bytes", "1MB"),
            "the time is all transfer",
        ),
    ],
)
def test_what_cannot_be_served_is_refused_in_words(bandwidth, args, said):
    assert said in refused(bandwidth(*args))


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--n", "1"), "the least is 2"),
        (("--n", "4,096"), "'096' begins with 0"),
        (("--n", "many"), "'many' is no number of ranks"),
        (("--n", "9" * 50), "is above 2,147,483,647"),
        (("--n", "8:4"), "runs backwards"),
        (("--elasticity", "0"), "an elasticity of 0 has no bandwidth"),
        (("--elasticity", "-1"), "an elasticity of -1 has no bandwidth"),
        (("--elasticity", "nan"), "no finite number"),
        (("--payload-bytes", "256M"), "is no amount like"),
        (("--payload-bytes", "0"), "from 1 byte up"),
        (("--payload-bytes", "256Gb"), "b are bits; give bytes, as in 256GB"),
        (("--payload-bytes", "99999999999GiB"), "give up to 2^60 bytes"),
        (("--payload-bytes", "٣MiB"), "is no amount like"),
        (("--elasticity", "-1e-300"), "too near to 0 or -1"),
        (("--alpha-us", "1e300"), "give from 1e-06 to 1e+09"),
        (("--alpha-us", "1e-320"), "give from 1e-06 to 1e+09"),
        (("--alpha-us", "-1"), "is not 0 or above 0"),
        (("--flops-growth", "1e308/1e-308"), "by a factor from 1e-06 to 1e+06"),
        (("--flops-growth", "1e-320"), "by a factor from 1e-06 to 1e+06"),
        (("--compute-us", "5"), "--compute-us needs --flops-growth"),
        (("--grounding", "own"), "--grounding needs --flops-growth"),
        (("--in-place",), "--in-place needs --nccl-tests"),
        (("--domain", "8"), "--domain needs --topology hierarchical"),
        (("--across", "ring"), "--across needs --topology hierarchical"),
        (("--torus", "8x8x4", "--topology", "ring"), "--torus needs --topology torus3d"),
        (("--tax", "none", "--tax-method", "gev"), "--tax none has no --tax-method"),
        (("--flops-growth", "2", "--price-per-gb-per-s", "1"), "leave out --flops-growth"),
        (("--topology", "mesh"), "no topology 'mesh'"),
        (("--hardware", "h300"), "no hardware 'h300'; there are a100"),
        (("--torus", "8x8"), "is no torus like 8x8x4"),
        (("--torus", "1x1x1"), "has 1 ranks"),
        (("--link-gb-per-s", "0"), "0 is not above 0"),
        (("--flops-growth", "0"), "a factor above 0"),
        (("--flops-growth", "b200"), "needs a second GPU"),
        (("--flops-growth", "2/rubin"), "'rubin' is neither a factor"),
        (("--flops-growth", "2", "--elasticity", "-0.5"), "leave out --elasticity"),
        (("--residuals",), "--residuals needs --nccl-tests"),
        (("--nccl-bytes", "4MiB"), "is no range like"),
        (("--nccl-bytes", "4MiB:1MiB"), "runs backwards"),
        (("--nccl-tests", "nowhere.txt"), "does not exist"),
    ],
)
def test_wrong_usage_is_told_from_what_cannot_be_served(bandwidth, args, said):
    assert said in refused(bandwidth(*args), code=2)


# --------------------------------------------------------------------------- FLOPS


def test_growth_is_shown_in_every_reading_and_the_asked_one_first(bandwidth):
    asked = ("--topology", "switched", "--flops-growth", "2250/989,4", "--n", "256,4096")
    told = envelope(bandwidth(*asked, "--compute-us", 10_400, "--format", "json"))
    assert len(told["rows"]) == 2 * 2 * 4
    first = told["rows"][1]
    assert (first["tau_with_flops"], first["grounding"], first["asked"]) == (
        "stays", "own", True,
    )  # fmt: skip
    assert first["reduction"] == pytest.approx(0.1168, abs=5e-5)
    other = envelope(
        bandwidth(
            *asked, "--compute-us", 10_400, "--format", "json",
            "--tau-with-flops", "shrinks", "--grounding", "common",
        )
    )  # fmt: skip
    assert other["rows"][0]["tau_with_flops"] == "shrinks"
    assert len(other["verdict"]) == 4


@pytest.mark.parametrize(
    ("growth", "said"), [("1", ", 0.00 % below the 1 ×"), ("0.5", " % above the ")]
)
def test_what_is_not_below_is_not_called_so(bandwidth, growth, said):
    asked = ("--flops-growth", growth, "--compute-us", 1e4, "--topology", "switched")
    told = bandwidth(*asked, "--n", 64).stdout
    assert said in told
    assert "−0.00" not in told
    assert "% below the" not in told or "0.00 % below the" in told


def test_ascii_terminals_read_the_same_formulas(bandwidth):
    lines = bandwidth("--algorithms").stdout
    assert "floor(n²/4)/n" in lines
    assert spelled("B* at ε −0.5, 3/4·∛n + floor(n²/4)", "ascii") == (
        "B* at eps -0.5, 3/4*cbrt n + floor(n^2/4)"
    )


def test_computation_is_that_of_the_fit(bandwidth):
    Workspace(Path(".synctax")).keep_tax(FITTED)
    asked = ("--flops-growth", "2", "--hardware", "h200", "--n", "8", "--format", "csv")
    found = frame(bandwidth(*asked))
    assert found["compute_us"].unique().tolist() == [10_000.0]
    assert (found["gb_per_s_lo"] <= found["gb_per_s"]).all()


# --------------------------------------------------------------------------- nccl-tests


def test_a_benchmark_gives_latency_and_link(bandwidth, benchmark):
    asked = ("--nccl-tests", benchmark, "--topology", "switched", "--n", 8)
    told = envelope(bandwidth(*asked, "--format", "json"))
    (fit,) = told["calibrations"]
    assert fit["lines"] == 20
    assert fit["alpha_us"] == pytest.approx(5.0, rel=1e-3)
    assert fit["gb_per_s"] == pytest.approx(370.0, rel=1e-3)
    assert told["rows"][0]["alpha_us"] == fit["alpha_us"]
    assert told["rows"][0]["link_gb_per_s"] == fit["gb_per_s"]
    assert told["parameters"]["alpha_from"] == "fitted to nccl-tests"
    text = bandwidth(*asked).stdout
    assert "switched: nccl-tests (20 lines) give α = 5" in text
    assert "believe the fit of the one it used" not in text
    assert "believe the fit" in bandwidth("--nccl-tests", benchmark, "--n", 8).stdout


def test_the_operation_is_that_of_the_benchmark_unless_another_is_asked_for(
    bandwidth, tmp_path
):
    text = Bench("reduce_scatter").text(SIZES, lambda size: 5 + 0.875 * size / 400e3)
    (tmp_path / "reduce_scatter.txt").write_text(text)
    asked = ("--nccl-tests", "reduce_scatter.txt", "--n", 8, "--format", "json")
    told = envelope(bandwidth(*asked, "--topology", "switched"))
    assert told["parameters"]["op"] == told["rows"][0]["op"] == "reduce_scatter"
    other = envelope(bandwidth(*asked, "--topology", "switched", "--op", "all_gather"))
    assert other["rows"][0]["op"] == "all_gather"
    every = envelope(bandwidth(*asked, "--topology", "all", "--op", "all_reduce"))
    assert {row["topology"] for row in every["rows"]} == {
        "ring", "torus3d", "switched", "in_switch",
    }  # fmt: skip
    assert "tree has no reduce_scatter" in [one["detail"] for one in every["excluded"]]
    named = (*asked, "--topology", "tree", "--op", "all_reduce")
    assert "no reduce_scatter on tree" in refused(bandwidth(*named))


def test_what_is_given_wins_over_the_benchmark(bandwidth, benchmark):
    asked = ("--nccl-tests", benchmark, "--topology", "switched", "--n", 8)
    given = ("--alpha-us", 7, "--link-gb-per-s", 400, "--format", "json")
    told = envelope(bandwidth(*asked, *given))
    assert told["rows"][0]["alpha_us"] == 7
    assert told["rows"][0]["link_gb_per_s"] == 400
    assert told["parameters"]["link_from"] == "given"
    assert told["parameters"]["alpha_from"] == "given"
    assert "α = 7 µs as given" in bandwidth(*asked, "--alpha-us", 7).stdout


def test_sizes_of_a_benchmark_can_be_chosen(bandwidth, benchmark):
    asked = ("--nccl-tests", benchmark, "--topology", "switched", "--n", 8)
    result = bandwidth(*asked, "--nccl-bytes", "64KiB:1GiB", "--format", "json")
    told = envelope(result)
    assert told["calibrations"][0]["lines"] == 15
    assert told["excluded"] == [
        {
            "reason": "nccl_size_not_asked",
            "count": 5,
            "detail": "lines of other sizes than --nccl-bytes",
        }
    ]
    assert "5 × lines of other sizes" in result.stderr
    assert "needs 3 lines" in refused(bandwidth(*asked, "--nccl-bytes", ":9kB", "-q"))


def test_residuals_are_a_table(bandwidth, benchmark):
    asked = ("--nccl-tests", benchmark, "--topology", "switched,ring", "--residuals")
    told = envelope(bandwidth(*asked, "--format", "json"))
    assert told["schema"] == BANDWIDTH_RESIDUALS.schema
    assert list(told["rows"][0]) == list(BANDWIDTH_RESIDUALS.names)
    assert len(told["rows"]) == 40
    assert max(abs(row["residual"]) for row in told["rows"]) < 1e-2
    assert len(told["calibrations"]) == 2


def test_two_levels_take_the_link_of_a_benchmark_within_a_domain(bandwidth, benchmark):
    levels = ("--topology", "hierarchical", "--domain", 8, "--nic-gb-per-s", 50)
    told = envelope(
        bandwidth(
            "--nccl-tests", benchmark, *levels, "--nic-alpha-us", 9, "--format", "json"
        )
    )
    assert told["rows"][0]["link_gb_per_s"] == pytest.approx(370, rel=1e-3)
    assert told["rows"][0]["n"] == 8
    assert told["rows"][0]["nic_us"] == 0
    assert told["rows"][1]["nic_us"] > 2 * 9


def test_a_benchmark_over_more_ranks_than_a_domain_is_refused(bandwidth, benchmark):
    levels = ("--topology", "hierarchical", "--domain", 4, "--nic-gb-per-s", 50)
    said = refused(bandwidth("--nccl-tests", benchmark, *levels, "-q"))
    assert "ran over 8 ranks, more than a domain of 4" in said


def test_why_no_line_is_left_is_said(bandwidth, tmp_path):
    rows = "\n".join(Bench().row(size, 10 + size / 1e5, wrong="3") for size in SIZES)
    (tmp_path / "out.txt").write_text(Bench().header() + rows)
    said = refused(bandwidth("--nccl-tests", "out.txt", "-q"))
    assert "got 0; left out: 20 × lines whose results are wrong (out.txt, line" in said


def test_dimensions_are_those_of_the_torus_alone(bandwidth):
    asked = ("--torus", "8x8x4", "--topology", "torus3d,switched", "--hardware", "h200")
    told = envelope(bandwidth(*asked, "--format", "json"))
    assert [one["topology"] for one in told["crossings"]] == ["switched"]


def test_a_file_that_is_no_benchmark_is_bad_input(bandwidth, tmp_path):
    (tmp_path / "notes.txt").write_text("nothing here\n")
    said = refused(bandwidth("--nccl-tests", "notes.txt", "-q"), code=3)
    assert "no table of nccl-tests in 1 lines" in said


def test_the_operation_of_a_silent_benchmark_is_the_one_asked(bandwidth, tmp_path):
    text = Bench("all_gather", head=OLD).text(SIZES, lambda size: 5 + size / 400e3)
    (tmp_path / "out.txt").write_text(text)
    asked = ("--nccl-tests", "out.txt", "--topology", "switched", "--n", 8, "-q")
    assert "give --op" in refused(bandwidth(*asked), code=3)
    assert bandwidth(*asked, "--op", "all_gather").exit_code == 0
