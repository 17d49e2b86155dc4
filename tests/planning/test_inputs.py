"""Models and platforms from YAML: what is read, what is refused, and in which words."""

import os
from contextlib import suppress
from dataclasses import asdict, fields, replace
from math import inf, isnan, nan
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synctax.bandwidth.hardware import hardware
from synctax.errors import BadInputError, SynctaxError
from synctax.planning.inputs import model_file, platform_file
from synctax.planning.inputs.counted import counted
from synctax.planning.inputs.model_file import model_of
from synctax.planning.inputs.named import (
    doubts,
    model_names,
    platform_doubts,
    platform_names,
    read_model,
    read_platform,
)
from synctax.planning.inputs.platform_file import platform_of
from synctax.planning.inputs.yaml_file import LARGEST_FILE_BYTES, read_yaml
from synctax.planning.inputs.yaml_values import LARGEST_COUNT, Section
from synctax.planning.shape import Experts, LatentAttention, Model

SMALL = "layers: 4\nhidden: 64\nheads: 8\nffn: 128\nvocabulary: 100\n"
EXPERTS = "experts: {count: 4, top_k: 2, ffn: 32, dense_layers: 1}\n"
LATENT = "latent: {kv_rank: 16, nope_dim: 8, rope_dim: 4, v_dim: 8}\n"
NIC = "nic_gb_per_s: 50\nmemory_gb: 80\n"
WHOLE = NIC + "domain: 8\nnvlink_gb_per_s: 450\nbf16_tflops: 989\n"

sizes = st.integers(1, 200)


@st.composite
def models(draw: st.DrawFn) -> Model:
    kv_heads, queries, head_dim = draw(sizes), draw(st.integers(1, 8)), draw(sizes)
    layers = draw(st.integers(2, 99))
    top_k = draw(st.integers(1, 8))
    experts = Experts(
        count=top_k + draw(st.integers(0, 8)),
        top_k=top_k,
        ffn=draw(sizes),
        shared=draw(st.integers(0, 2)),
        dense_layers=draw(st.integers(0, layers - 1)),
    )
    latent = LatentAttention(
        draw(st.none() | sizes), *draw(st.tuples(sizes, sizes, sizes, sizes))
    )
    shape = Model(
        name=draw(st.text("abc-9", min_size=1)),
        layers=layers,
        hidden=draw(sizes),
        heads=kv_heads * queries,
        kv_heads=kv_heads,
        ffn=draw(sizes),
        vocabulary=draw(sizes),
        parameters=nan,
        active_parameters=nan,
        gated=draw(st.booleans()),
        tied_embeddings=draw(st.booleans()),
        head_dim=head_dim,
        experts=draw(st.sampled_from((None, experts))),
        latent=draw(st.sampled_from((None, latent))),
        source=draw(st.text("abc: #", max_size=9)).strip(),
    )
    return counted(shape)


def written(model: Model) -> str:
    def line(key: str, value: object) -> str:
        if isinstance(value, dict):
            inside = (f"  {line(*item)}" for item in value.items())
            return f"{key}:\n" + "\n".join(inside)
        plain = {True: "true", False: "false"} if isinstance(value, bool) else {}
        quoted = f'"{value}"' if isinstance(value, str) else value
        return f"{key}: {'null' if value is None else plain.get(value, quoted)}"

    return "\n".join(line(*item) for item in asdict(model).items()) + "\n"


def section(text: str | bytes, kind: str = "a model") -> Section:
    data = text if isinstance(text, bytes) else text.encode()
    return read_yaml(data, name="x.yaml", kind=kind)


def model(text: str) -> Model:
    return model_of(section(text), name="x")


def platform(text: str):
    return platform_of(section(text, "a platform"), name="x")


def refused(text: str | bytes, read=model) -> str:
    with pytest.raises(BadInputError) as caught:
        read(text)
    message = str(caught.value)
    assert message.startswith("x.yaml")
    return message.removeprefix("x.yaml")


@given(models(), st.randoms())
def test_a_model_that_is_written_reads_back_the_same_in_any_order_of_keys(one, random):
    parts = written(one).replace("\n  ", "\0  ").splitlines()
    random.shuffle(parts)
    assert model("\n".join(parts).replace("\0  ", "\n  ")) == one


@given(st.sampled_from(model_file.KEYS), st.data())
def test_a_key_with_a_wrong_letter_is_refused_and_the_right_one_is_named(key, data):
    at = data.draw(st.integers(0, len(key) - 1))
    typo = key[:at] + "z" + key[at + 1 :] if len(key) > 3 else key + "s"
    message = refused(f"{SMALL}{typo}: 1\n")
    assert f"unknown key {typo}; did you mean" in message
    assert key in message.partition("did you mean")[2]
    assert ", line 6:" in message


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_whatever_bytes_a_file_has_it_is_a_mapping_or_refused(data):
    with suppress(BadInputError):
        assert isinstance(section(data), Section)


SCALARS = (
    "0",
    "1",
    "3",
    "64",
    "2.5",
    "-1",
    "1e9",
    "true",
    "null",
    "[1]",
    "{count: 2}",
    "x",
)


@given(st.dictionaries(st.sampled_from(model_file.KEYS), st.sampled_from(SCALARS)))
def test_whatever_values_keys_have_a_model_is_finite_or_refused(values):
    lines = dict(line.split(": ") for line in SMALL.splitlines()) | values
    with suppress(BadInputError):
        one = model("\n".join(f"{key}: {value}" for key, value in lines.items()))
        assert 0 < one.active_parameters <= one.parameters < inf
        assert one.expert_parameters < one.parameters


@given(st.floats(1e-300, 1e300))
def test_a_number_is_read_to_the_last_digit_however_it_is_written(value):
    for text in (repr(value), f"{value:.17e}", f"+{value!r}"):
        assert section(f"a: {text}\n").number("a") == value


@given(st.integers(1, LARGEST_COUNT))
def test_a_count_is_read_with_or_without_underscores(value):
    assert section(f"a: {value}\nb: {value:_}\n").count("a") == value
    assert section(f"b: {value:_}\n").count("b") == value


@given(models())
def test_parameters_grow_by_the_same_with_every_layer(one):
    sizes = [
        counted(replace(one, layers=one.layers + more)).parameters for more in (0, 1, 2)
    ]
    assert sizes[2] - sizes[1] == sizes[1] - sizes[0] > 0


@given(models())
def test_what_a_token_meets_depends_on_top_k_and_what_is_held_does_not(one):
    if one.experts is None:
        assert one.active_parameters == one.parameters
        return
    every = replace(one.experts, top_k=one.experts.count)
    all_met = counted(replace(one, experts=every))
    assert all_met.parameters == one.parameters
    # of an embedding of its own for the input a token meets one row
    apart = 0 if one.tied_embeddings else one.vocabulary * one.hidden
    assert all_met.active_parameters == one.parameters - apart
    assert one.active_parameters <= all_met.active_parameters
    assert one.expert_parameters < one.parameters


@pytest.mark.parametrize(
    ("name", "published"),
    [
        ("llama3-8b", 8.03e9),  # model card of Meta-Llama-3-8B
        ("llama3-70b", 70.6e9),  # model card of Meta-Llama-3-70B
        ("llama3-405b", 405e9),  # arXiv 2407.21783
        ("qwen3-32b", 32.8e9),  # model card of Qwen3-32B
        ("deepseek-v3", 671e9),  # arXiv 2412.19437
        ("deepseek-v2-lite", 15.7e9),  # model card of DeepSeek-V2-Lite
        ("gpt3-175b", 174.6e9),  # arXiv 2005.14165, table D.1
    ],
)
def test_the_shape_has_the_parameters_that_its_makers_publish(name, published):
    assert counted(read_model(name)).parameters == pytest.approx(published, rel=0.01)


def test_a_token_meets_what_deepseek_counts():
    # README_WEIGHTS.md of DeepSeek-V3: 36.6 billion with 0.9 for the output head
    shape = counted(read_model("deepseek-v3"))
    assert shape.active_parameters == pytest.approx(36.6e9, rel=0.001)
    # 2.4 billion, as the model card of V2-Lite cuts it
    lite = counted(read_model("deepseek-v2-lite"))
    assert int(lite.active_parameters / 1e8) == 24


def test_qwen_counts_31_billion_without_embeddings():
    qwen = read_model("qwen3-32b")
    embeddings = 2 * qwen.vocabulary * qwen.hidden
    assert qwen.parameters - embeddings == pytest.approx(31.2e9, rel=0.001)


def test_what_makers_state_is_what_counts():
    assert read_model("llama3-405b").parameters == 405e9
    deepseek = read_model("deepseek-v3")
    assert (deepseek.parameters, deepseek.active_parameters) == (671e9, 37e9)


@pytest.mark.parametrize("name", model_names())
def test_a_model_that_is_built_in_is_named_has_a_source_and_no_doubt(name):
    one = read_model(name.upper())
    assert one.name == name
    assert "arXiv" in one.source
    assert doubts(one) == ()


def test_the_models_asked_for_are_built_in():
    asked = "llama3-8b llama3-70b llama3-405b qwen3-32b deepseek-v3 gpt3-175b"
    assert set(asked.split()) < set(model_names())
    assert read_model("deepseek-v3-16b") == read_model("deepseek-v2-lite")


@pytest.mark.parametrize(
    ("name", "domain", "host", "memory_gb", "nic"),
    [
        ("dgx-a100", 8, 8, 80, 25),
        ("dgx-h100", 8, 8, 80, 50),
        ("dgx-h200", 8, 8, 141, 50),
        ("dgx-b200", 8, 8, 180, 50),
        ("gb200-nvl72", 72, 4, 186, 50),
        ("gb300-nvl72", 72, 4, 279, 100),
    ],
)
def test_a_platform_is_what_its_guide_states(name, domain, host, memory_gb, nic):
    one = read_platform(name)
    assert (one.name, one.domain, one.gpus_per_host) == (name, domain, host)
    assert (one.memory_bytes, one.nic_gb_per_s) == (memory_gb * 1e9, nic)
    known = hardware(one.gpu)
    assert (one.nvlink_gb_per_s, one.bf16_tflops) == (
        known.link_gb_per_s,
        known.bf16_tflops,
    )
    assert "NVIDIA" in one.source
    assert platform_doubts(one) == ()


def test_no_platform_is_left_out_of_the_test_above():
    assert len(platform_names()) == 6


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("405e9", 405e9),
        ("4.05E+11", 405e9),
        ("405_000_000_000", 405e9),
        ("1.", 1),
        (".5", 0.5),
    ],
)
def test_yaml_1_1_does_not_decide_what_is_a_number(text, value):
    assert section(f"a: {text}\n").number("a") == value


@pytest.mark.parametrize(
    "text", ["010", "0x10", "1:30", "405B", "4,096", "nan", ".nan", ".inf", "inf", "e5"]
)
def test_what_only_looks_like_a_number_is_refused(text):
    message = refused(SMALL.replace("layers: 4", f"layers: {text}"))
    found = f", line 1: layers is '{text}'; expected a whole number of 1 or more"
    assert message.startswith(found)


@pytest.mark.parametrize("text", ["0", "-4", "4.5", "1e999", "1e-3"])
def test_a_count_is_whole_and_above_0(text):
    message = refused(SMALL.replace("layers: 4", f"layers: {text}"))
    assert f"layers is '{text}'; expected a whole number of 1 or more" in message


def test_a_count_that_arrays_cannot_hold_is_refused():
    message = refused(SMALL.replace("layers: 4", "layers: 1e10"))
    assert "at most 2,147,483,647" in message


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("gated: yes", "gated is 'yes'; expected true or false"),
        ("gated: 1", "gated is '1'; expected true or false"),
        ("gated: 'true'", "gated is 'true' in quotes; expected true or false"),
        ("gated: [true]", "gated is a list; expected true or false"),
        (
            "parameters: '405e9'",
            "parameters is '405e9' in quotes; expected a number above 0",
        ),
        ("parameters: true", "parameters is 'true'; expected a number above 0"),
        ("parameters: 0", "parameters is '0'; expected a number above 0"),
        ("parameters: {a: 1}", "parameters is a mapping; expected a number above 0"),
        ("name: [a]", "name is a list; expected a text"),
        ("kv_heads: 3", "kv_heads is '3'; expected a number that divides the 8 heads"),
        ("experts: 3", "experts is '3'; expected a mapping such as {count: 64"),
        ("latent: [1]", "latent is a list; expected a mapping such as {kv_rank: 512"),
        ("latent: {kv_rank: 4}", "latent.nope_dim is missing; expected a whole number"),
        ("active_parameters: 5", "expected 177216, as all of them where there are no"),
        ("name: " + "a" * 99 + "\nfoo: 1", "unknown key foo; keys are name, layers"),
        ("hidden_size: 3", "unknown key hidden_size; did you mean hidden?"),
        ("n_routed_experts: 3", "did you mean experts.count?"),
        ("foo: 1\nbar: 2", "; unknown too: bar"),
        ("<<: {a: 1}", "unknown key <<"),
        ("layers: 5", "the key layers stands in line 1 already"),
        ("? [1]\n: 2", "a list cannot be a key"),
        ("x: &a [1]\ny: [*a, *a]", "aliases (*a) are not read here"),
        ("x: !!float 5", "tags (tag:yaml.org,2002:float) are not read here"),
        ("x: !!python/object:os.system [1]", "tags (tag:yaml.org,2002:python/object:os"),
        ("x: " + "[" * 9 + "]" * 9, "values are nested more than 8 deep"),
        ("x:\n\t- 1", "a tab indents the line, and YAML allows spaces only"),
        ("x: {", "found no YAML: expected"),
        ("---\nx: 1", "a second document begins; leave one"),
    ],
)
def test_a_bad_line_is_named_with_what_was_expected(line, says):
    message = refused(SMALL + line + "\n")
    assert says in message
    assert ", line " in message


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("count: 1", "experts.top_k is '2'; expected at most the 1 of experts.count"),
        ("top_k: 2.5", "experts.top_k is '2.5'; expected a whole number of 1 or more"),
        (
            "dense_layers: 4",
            "experts.dense_layers is '4'; expected fewer than the 4 layers",
        ),
        ("shared: -1", "experts.shared is '-1'; expected a whole number of 0 or more"),
        ("topk: 1", "unknown key experts.topk; did you mean experts.top_k?"),
        ("n_shared_experts: 1", "did you mean experts.shared?"),
    ],
)
def test_experts_that_cannot_be_are_refused_by_their_key(line, says):
    key = line.partition(":")[0]
    parts = {"count": "count: 4", "top_k": "top_k: 2", "ffn": "ffn: 32"} | {key: line}
    inside = "\n".join(f"  {part}" for part in parts.values())
    assert says in refused(f"{SMALL}experts:\n{inside}\n")


def test_experts_alone_may_not_have_more_parameters_than_all():
    message = refused(SMALL + EXPERTS + "parameters: 7e4\n")
    assert "expected more than the 7.373e+04 that the experts alone have" in message
    message = refused(SMALL + EXPERTS + "active_parameters: 7e9\n")
    assert "active_parameters is '7e9'; expected at most the parameters" in message


def test_a_token_never_meets_more_than_what_is_stated_in_all():
    stated = model(SMALL + EXPERTS + "parameters: 8e4\n")
    assert stated.active_parameters == stated.parameters == 8e4


def test_heads_have_a_width_where_they_do_not_divide_the_model():
    text = SMALL.replace("heads: 8", "heads: 7")
    assert "such as 8, 16, 32, 64), or head_dim beside it" in refused(text)
    assert model(text + "head_dim: 8\n").head_dim == 8


def test_what_is_left_out_follows_from_the_rest():
    one = model(SMALL)
    assert (one.name, one.kv_heads, one.head_dim) == ("x", 8, 8)
    assert one.gated
    assert not one.tied_embeddings
    latent = model(SMALL.replace("heads: 8", "heads: 7") + LATENT)
    assert (latent.head_dim, latent.latent.q_rank) == (8, None)


def test_without_dense_layers_the_mlp_is_as_wide_as_the_experts_of_a_token():
    text = SMALL.replace("ffn: 128\n", "")
    shared = "experts: {count: 4, top_k: 2, ffn: 32, shared: 1}\n"
    assert model(text + shared).ffn == 3 * 32
    assert "ffn is missing" in refused(text + EXPERTS)


@pytest.mark.parametrize("key", ["layers", "hidden", "heads", "ffn", "vocabulary"])
def test_a_key_that_has_to_be_there_is_missed(key):
    kept = [line for line in SMALL.splitlines() if not line.startswith(key)]
    assert refused("\n".join(kept)).startswith(f": {key} is missing; expected a whole")
    kept.append(f"{key}:")
    assert f"line 5: {key} is empty; expected a whole number" in refused("\n".join(kept))


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "found an empty file"),
        (b"# only a comment\n", "found an empty file"),
        (b"~", "found an empty file"),
        (b"- 1\n- 2\n", "as lines of 'key: value', found a list"),
        (b"hello", "as lines of 'key: value', found 'hello'"),
        (b"\xff\xfea", "as UTF-8 text, found byte 0xff at 0"),
        (b"\x7fELF\x02\x00", "found no YAML: unacceptable character #x007f"),
        (b"a: 1\n" * LARGEST_FILE_BYTES, "found more than 256 KiB"),
    ],
)
def test_a_file_that_is_no_mapping_is_said_to_be_what_it_is(data, says):
    message = refused(data, section)
    assert message.startswith(": expected a model")
    assert message.endswith(says) or says in message


def test_a_long_value_is_cut():
    assert f"'{'a' * 40}...'" in refused(SMALL + f"gated: {'a' * 99}\n")


def test_a_byte_order_mark_and_windows_lines_are_read():
    data = b"\xef\xbb\xbf" + SMALL.replace("\n", "\r\n").encode()
    assert model_of(section(data), name="x") == model(SMALL)


def test_stated_parameters_that_the_shape_has_not_are_a_note():
    shape = model(SMALL)
    near = replace(shape, parameters=1.04 * shape.parameters)
    assert doubts(replace(near, active_parameters=shape.parameters)) == ()
    far = replace(shape, parameters=2 * shape.parameters)
    (note,) = doubts(far)
    assert note.reason == "parameters_not_of_the_shape"
    assert "3.544e+05 of" in note.detail
    assert "whose shape has 1.772e+05 (+100.0%)" in note.detail
    (one,) = doubts(replace(far, active_parameters=far.parameters))
    assert one == note
    few = replace(shape, active_parameters=0.5 * shape.parameters)
    assert [note.reason for note in doubts(few)] == ["active_parameters_not_of_the_shape"]


def test_heads_much_wider_than_the_model_are_a_note():
    assert doubts(model(SMALL + "head_dim: 32\n")) == ()
    (note,) = doubts(model(SMALL + "head_dim: 64\n"))
    assert note.reason == "width_of_heads_unusual"
    assert "8 heads of 64 are 8 times as wide as x (64)" in note.detail


def test_a_gpu_tells_what_the_file_does_not():
    known = platform(NIC + "gpu: H100\n")
    assert (known.gpu, known.domain, known.nvlink_gb_per_s) == ("h100", 8, 450)
    assert known.source == hardware("h100").source
    other = platform(WHOLE.replace("domain: 8", "domain: 4") + "gpu: h100\nsource: s\n")
    assert (other.domain, other.source) == (4, "s")


def test_a_platform_needs_no_gpu_where_it_says_all_itself():
    one = platform(WHOLE + "name: mine\n")
    assert (one.name, one.gpu, one.gpus_per_host) == ("mine", "mine", 8)
    for line in WHOLE.splitlines():
        key = line.partition(":")[0]
        rest = WHOLE.replace(line + "\n", "")
        assert refused(rest, platform).startswith(f": {key} is missing; expected a")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("gpu: h300", "gpu is 'h300'; expected h200 or h100; for any other leave gpu out"),
        ("gpu: tpu", "gpu is 'tpu'; expected one of a100, h100"),
        ("gpu: nvl1152", "nvlink_gb_per_s is missing; expected a number above 0, as none"),
        ("gpu: rubin-nvl72", "bf16_tflops is missing; expected a number above 0, as none"),
        ("gpu: h100\ndomain: 0", "domain is '0'; expected a whole number of 1 or more"),
        ("gpu: h100\ngpus_per_host: 3", "gpus_per_host is '3'; expected a number that div"),
        (
            "gpu: h100\nmemory_bytes: 1",
            "did you mean memory_gb (10^9 bytes: 80e9 bytes are 80)?",
        ),
        ("gpu: h100\nnic_gbps: 400", "nic_gb_per_s (10^9 bytes a second: 400 Gb/s are 50)"),
        ("gpu: h100\ntiers: 3", "tiers is '3'; expected a list of mappings such as"),
        ("gpu: h100\ntiers: [3]", "tiers is a list; expected a list of mappings such as"),
        (
            "gpu: h100\ntiers: [{gpu: 9}]",
            "unknown key tiers[0].gpu; did you mean tiers[0].g",
        ),
        (
            "gpu: h100\ntiers: [{gpus: 8, oversubscription: 2}]",
            "tiers[0].gpus is '8'; expected more than the 8 of",
        ),
        (
            "gpu: h100\ntiers: [{gpus: 16, oversubscription: .9}]",
            "tiers[0].oversubscription is '.9'; expected a number of 1 or more",
        ),
        (
            (
                "gpu: h100\ntiers:\n- {gpus: 16, oversubscription: 1}\n"
                "- {gpus: 16, oversubscription: 2}"
            ),
            "line 6: tiers[1].gpus is '16'; expected more than the 16 of the tier below",
        ),
        (
            "gpu: h100\ntiers: [{gpus: 500, oversubscription: 2}]",
            "line 4: tiers[0].gpus is '500'; expected a multiple of the 8 of the NVLink",
        ),
    ],
)
def test_a_platform_that_cannot_be_is_refused_by_its_key(text, says):
    assert says in refused(NIC + text + "\n", platform)


def test_hosts_may_hold_several_domains_and_domains_several_hosts():
    assert platform(NIC + "gpu: h100\ngpus_per_host: 2\n").gpus_per_host == 2
    assert platform(NIC + "gpu: h100\ngpus_per_host: 16\n").gpus_per_host == 16


def test_tiers_go_from_the_smallest_block_up():
    tiers = (
        "tiers:\n- {gpus: 3072, oversubscription: 7}\n- {gpus: 6144, oversubscription: 8}\n"
    )
    one = platform(NIC + "gpu: h100\n" + tiers)
    assert [(tier.gpus, tier.oversubscription) for tier in one.tiers] == [
        (3072, 7),
        (6144, 8),
    ]


def test_a_nic_in_gigabits_is_a_note():
    (note,) = platform_doubts(platform(WHOLE.replace("50", "400", 1)))
    assert note.reason == "nic_unusually_fast"
    assert "400 Gb/s are 50 GB/s" in note.detail
    # beside no other GPU NVLink tells nothing
    alone = platform(WHOLE.replace("50", "150", 1).replace("domain: 8", "domain: 1"))
    assert platform_doubts(alone) == ()
    alone = platform(WHOLE.replace("50", "400", 1).replace("domain: 8", "domain: 1"))
    assert len(platform_doubts(alone)) == 1
    assert all(platform_doubts(read_platform(name)) == () for name in platform_names())


def test_memory_in_bytes_is_refused_in_the_unit_of_the_file():
    text = WHOLE.replace("memory_gb: 80", "memory_gb: 80e9")
    message = refused(text, platform)
    assert "memory_gb is '80e9'; expected at most 10,000: it is in 10^9 bytes" in message


def test_a_file_is_named_after_itself_unless_it_says_otherwise(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(SMALL)
    assert read_model(path).name == read_model(str(path)).name == "mine"
    path.write_text(SMALL + "name: other\n")
    assert read_model(path).name == "other"
    path.write_text(WHOLE)
    assert read_platform(path).name == "mine"
    path.write_text("layers: x\n")
    with pytest.raises(BadInputError, match=r"mine\.yaml, line 1: layers is 'x'"):
        read_model(path)


def test_a_file_without_an_ending_is_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine").write_text(SMALL)
    assert read_model("mine").layers == 4


@pytest.mark.parametrize("stated", ["8", "177", "2e8"])
def test_parameters_of_another_scale_than_the_shape_are_refused(stated):
    with pytest.raises(BadInputError, match=r"expected about 1\.772e"):
        model(SMALL + f"parameters: {stated}\n")


def test_an_unknown_name_lists_what_is_built_in_always_in_one_order():
    listed = f"there are {', '.join(model_names())}; or give a YAML file"
    with pytest.raises(SynctaxError) as caught:
        read_model("llama-3-8b")
    meant = "no model 'llama-3-8b' is built in; did you mean llama3-8b? "
    assert str(caught.value) == meant + listed
    with pytest.raises(SynctaxError) as caught:
        read_model("zzz")
    assert str(caught.value) == f"no model 'zzz' is built in; {listed}"
    with pytest.raises(SynctaxError, match="there are dgx-a100, dgx-"):
        read_platform("h100")


def test_stdin_is_not_read_and_that_is_said():
    with pytest.raises(SynctaxError, match="-: a model is not read from stdin; save it"):
        read_model("-")


HUGGING_FACE = """{
  "architectures": ["LlamaForCausalLM"],
  "hidden_act": "silu",
  "hidden_size": 4096,
  "intermediate_size": 14336,
  "num_attention_heads": 32,
  "num_hidden_layers": 32,
  "rms_norm_eps": 1e-05,
  "vocab_size": 128256
}
"""


def test_every_key_of_another_program_is_answered_with_the_one_that_is_meant(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(HUGGING_FACE)
    with pytest.raises(BadInputError) as caught:
        read_model(path)
    said = str(caught.value)
    assert "line 4: unknown key hidden_size; did you mean hidden?" in said
    for theirs, ours in (("intermediate_size", "ffn"), ("vocab_size", "vocabulary")):
        assert f"{theirs} ({ours})" in said
    assert said.endswith("architectures, hidden_act, rms_norm_eps")


def test_unknown_keys_that_are_like_none_are_counted_after_some():
    many = "".join(f"zz{at}zz: 1\n" for at in range(20))
    with pytest.raises(BadInputError, match=r"zz8zz, 11 more$"):
        model(SMALL + many)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (
            "",
            "the name of a model is empty; give a YAML file, or one that is built in: deep",
        ),
        (".", ".: is a directory; give"),
        ("no.yaml", "no.yaml: no such file or directory; give"),
        ("no/such", "no/such: no such file or directory; give"),
        ("a\0b", "embedded null byte; give"),
        ("a" * 5000, "a: file name too long; give"),
        (os.devnull, f"{os.devnull}: no regular file, and pipes are not read; "),
    ],
)
def test_what_cannot_be_opened_is_said_to_be_so(asked, says):
    with pytest.raises(SynctaxError) as caught:
        read_model(asked)
    assert says in str(caught.value)
    assert not isinstance(caught.value, BadInputError)


def test_every_field_of_a_shape_has_a_key_and_every_synonym_a_meaning():
    def names(kind: type) -> set[str]:
        return {one.name for one in fields(kind)}

    assert set(model_file.KEYS) == names(Model)
    assert set(model_file.EXPERT_KEYS) == names(Experts)
    assert set(model_file.LATENT_KEYS) == names(LatentAttention)
    inner = {f"experts.{key}" for key in model_file.EXPERT_KEYS}
    inner |= {f"latent.{key}" for key in model_file.LATENT_KEYS}
    assert set(model_file.SYNONYMS.values()) <= set(model_file.KEYS) | inner
    meant = {name.partition(" (")[0] for name in platform_file.SYNONYMS.values()}
    assert meant <= set(platform_file.KEYS)
    assert not set(model_file.SYNONYMS) & set(model_file.KEYS)


def test_counting_does_not_look_at_what_is_stated():
    one = model(SMALL)
    blank = replace(one, parameters=inf, active_parameters=nan)
    assert counted(blank) == one
    assert isnan(blank.active_parameters)
