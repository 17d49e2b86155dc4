"""The page is complete without a script, says what the results say, and runs no other."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from synctax.attribution.attribute import Attribution
from synctax.attribution.labels import short_name
from synctax.attribution.story import story
from synctax.bandwidth.basis import Setting
from synctax.bandwidth.sweep import Link, Wait, sweep
from synctax.bandwidth.topology import Layout
from synctax.collectives.model import Group, Op
from synctax.collectives.summary import caused_us
from synctax.collectives.tax import Tax, measure
from synctax.errors import SynctaxError
from synctax.evt.fit import fit_evt_maxima
from synctax.evt.options import Options as FitOptions
from synctax.evt.results import EvtFit
from synctax.report.page import Missing, Options, Worth, page
from synctax.report.page.assets import PARTS, asset, library, script
from synctax.report.page.data import MOST_MAXIMA, TAIL_MAXIMA, drawn
from synctax.report.page.markup import Texts, element, joined, script_json
from synctax.report.page.tables import MAX_ROWS, column, table
from synctax.report.story_view import windows_apart
from synctax.texts import is_absent
from tests.attribution.examples import attributed
from tests.collectives.job import C, rank
from tests.page.reading import assert_safe, data, parsed

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)',
    "' onfocus='alert(1)' autofocus='",
    "<!--<script>",
    "]]><svg/onload=alert(1)>",
    "a\u2028b\u2029c",
    "\u202eevil\u202c \u2066x\u2069",
    "nul\0 bell\x07 esc\x1b[31m",
    "half \ud800 \udfff",
    "&lt;b&gt; &amp;",
    "x" * 100_000,
)
VISIBLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


@cache
def whole() -> bytes:
    found = attributed()
    return page(found.tax, found)


def small(name: str = "tp", host: str = "node0") -> Tax:
    """Two ranks, three collectives; every name is given."""
    group = Group(name, (0, 1), name, 2, "kernel")
    taken = [
        replace_host(
            rank(
                number,
                [C(100.0 * k + 100, 10.0 + number * k, group=0) for k in range(4)],
                groups=(group,),
                host=host,
            ),
            name,
        )
        for number in range(2)
    ]
    return measure(taken)


def replace_host(one: Any, name: str) -> Any:
    return replace(one, gpu=name, path=name)


def named(found: Attribution, names: tuple[str, ...]) -> Attribution:
    """Call everything that traces name by hostile names."""
    texts = tuple(names[at % len(names)] + f" {at}" for at in range(len(found.texts)))
    lanes = {at: tuple(names[0] for _ in own) for at, own in found.lanes.items()}
    tax = found.tax
    groups = tuple(
        replace(one, role=names[at % len(names)], name=names[0], window=names[1])
        for at, one in enumerate(tax.matches.groups)
    )
    ranks = tuple(
        replace(one, host=names[at % len(names)], gpu=names[1], path=names[2])
        for at, one in enumerate(tax.matches.ranks)
    )
    matches = replace(tax.matches, groups=groups, ranks=ranks)
    return replace(found, tax=replace(tax, matches=matches), texts=texts, lanes=lanes)


# ------------------------------------------------------------------ laws


@given(text=st.text(), value=st.text())
def test_any_text_stays_text(text: str, value: str) -> None:
    root = parsed(element("p", text, attributes={"title": value}).encode())
    (one,) = root.inside
    assert one.text == str(Texts(limit=10**6).plain(text))
    assert one.attributes == {"title": Texts(limit=10**6).plain(value)}


@given(st.dictionaries(st.text(), st.text()))
def test_json_in_a_script_is_the_value_and_ends_no_script(value: dict[str, str]) -> None:
    shown = {Texts().plain(k): Texts().plain(v) for k, v in value.items()}
    text = script_json(shown)
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == shown


@given(name=st.text(max_size=40), title=st.text(max_size=40))
@example(name="\0", title="")
@example(name="tp\0\0", title="")
def test_a_page_is_safe_whatever_things_are_called(name: str, title: str) -> None:
    tax = small(name or "x", name)
    made = page(tax, Missing(name), options=Options(title=title, asked={"a": title}))
    root = assert_safe(made)
    (shown,) = root.all("h1")
    assert shown.text == (Texts().plain(title) or "Synchronization tax of 2 ranks")
    assert Texts().plain(name or "x") in data(root)["names"]["roles"]


# ------------------------------------------------------------------ hostile names


@pytest.mark.parametrize("shift", range(3))
def test_hostile_names_run_nothing_and_are_made_visible(shift: int) -> None:
    names = HOSTILE[shift:] + HOSTILE[:shift]
    found = named(attributed(), names)
    link = Link(Layout("switched"), "all_reduce", 2**20, 5.0)
    setting = Setting(names[0], names[1], {}, 8, elsewhere=names[2], levels=names[3])
    worth = Worth(sweep([link], [-0.5], Wait.none(np.array([8.0]))), setting, names)
    options = Options(title=names[1], asked={names[2]: names})
    made = page(found.tax, found, Missing(names[0]), worth, options)
    root = assert_safe(made)
    body = made.decode()
    assert "alert(1)" in body
    # of our own library and style nothing is asked
    (main,) = root.all("main")
    assert not VISIBLE.search(main.text.replace("\n", ""))
    strings = json.dumps(data(root), ensure_ascii=False)
    assert not VISIBLE.search(strings)
    assert "xxxxx…" in strings
    assert "longer than this page shows" in root.by_id("about").text


def test_long_names_stay_apart_though_they_are_cut_alike() -> None:
    names = ("k" * 5_000 + "a", "k" * 5_000 + "b", "c")
    found = named(attributed(), names)
    strings = data(parsed(page(found.tax, found)))["names"]["strings"]
    assert len([one for one in strings if one.startswith("kkk")]) > 1
    assert len(max(strings, key=len)) <= 2_001


# ------------------------------------------------------------------ what it says


def test_every_part_is_there_without_a_script() -> None:
    root = assert_safe(whole())
    ids = [one.attributes["id"] for one in root.all("section")]
    assert ids == ["verdict", "measure", "attribute", "fit", "bandwidth", "about"]
    (verdict,) = [one for one in root.all("ol") if one.attributes.get("class") == "verdict"]
    said = [one.text for one in verdict.all("li")]
    assert len(said) == 3
    assert said[0].startswith("All ranks together waited ")
    assert "rank 5 on GPU 1 (H100 80GB HBM3) on node-1 was last in 66 %" in said[0]
    assert said[1].startswith("In tp: culprits are GEMM kernels")
    assert said[2].endswith("cannot be told: not asked for.")
    for link in root.all("a"):
        root.by_id((link.attributes["href"] or "").removeprefix("#"))
    for label in root.all("label"):
        root.by_id(label.attributes["for"] or "")
    assert root.by_id("fit").all("p")[0].attributes == {"class": "missing"}


def test_the_policy_names_exactly_the_scripts_that_are_there() -> None:
    root = parsed(whole())
    (policy,) = [
        one.attributes["content"] or ""
        for one in root.all("meta")
        if "http-equiv" in one.attributes
    ]
    ran = [one.text for one in root.all("script") if not one.attributes]
    hashes = [
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for text in ran
    ]
    assert re.findall(r"'sha256-[^']*'", policy) == hashes
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy
    assert "'unsafe-inline'" not in policy.partition("script-src")[2]


def test_the_charting_library_is_the_published_file() -> None:
    text = library().text.encode()
    assert len(text) == 1_121_883
    digest = hashlib.sha256(text).hexdigest()
    assert digest == "b66b25aeb4df84e33199dc21694014d336d222cbd9deb0e5a7c14bd6aa0d0fd0"
    about = parsed(whole()).by_id("about").text
    assert "Apache ECharts 6.1.0 (1,121,883 bytes, Apache-2.0)" in about
    assert "Apache License" in about
    assert "Copyright 2010-2016 Mike Bostock" in about


def test_the_script_is_made_of_all_its_parts_and_of_nothing_else() -> None:
    folder = files("synctax.report.page") / "assets" / "page"
    assert sorted(one.name for one in folder.iterdir()) == sorted(
        f"{part}.js" for part in PARTS
    )
    text = script().text
    assert text.startswith('"use strict";')
    for part in PARTS:
        own = (folder / f"{part}.js").read_text("utf-8")
        assert own in text
        assert own.startswith("/* ")
        assert own.count("\n") < 400, part


def test_columns_are_those_of_the_tables() -> None:
    found = attributed()
    told = data(parsed(whole()))
    own, names = told["collectives"], told["names"]
    frame = found.per_collective()
    count = len(frame)
    assert {name: len(values) for name, values in own.items()} == dict.fromkeys(own, count)
    keys = list(zip(own["group"], own["index"], strict=True))
    rows = {
        (f"{one.group} {one.group_ranks}", one.index): one
        for one in frame.itertuples(index=False)
    }
    for at, (group, index) in enumerate(keys):
        row = rows[names["groups"][group], index]
        assert names["ops"][own["op"][at]] == row.op
        assert own["tax_us"][at] == pytest.approx(row.tax_max_us, abs=1e-3)
        assert own["step"][at] == row.step
        last = own["last"][at]
        assert (None if last < 0 else told["ranks"][last]) == _none(row.straggler_rank)
        culprit = own["culprit"][at]
        shown = row.culprit and short_name(row.culprit, width=120)
        assert (None if culprit < 0 else names["culprits"][culprit]) == shown
        kind = own["class"][at]
        assert (None if kind < 0 else names["classes"][kind]) == row.culprit_class
        if row.status == "ok":
            assert own["variation_us"][at] == pytest.approx(row.path_variation_us, abs=1e-3)
    assert own["start_us"] == sorted(own["start_us"])
    assert told["clock"] == "aligned"
    assert sum(own["counted"]) == int(found.tax.used.sum())


def _none(value: Any) -> Any:
    return None if is_absent(value) else int(value)


def test_what_others_waited_for_a_rank_adds_up_to_the_tables() -> None:
    found = attributed()
    own = found.per_rank().set_index(["group", "rank"])["tax_us"]
    sums: dict[tuple[str, int], float] = {}
    for (role, _, rank_, _), us in caused_us(found.tax).items():
        sums[role, rank_] = sums.get((role, rank_), 0.0) + us
    assert sums == pytest.approx({key: own[key] for key in sums}, abs=0.01)
    assert sum(sums.values()) == pytest.approx(own.sum(), abs=0.01)


# ------------------------------------------------------------------ what is embedded


def fitted(count: int) -> EvtFit:
    """Fit so many maxima of 8 ranks."""
    z = np.random.default_rng(3).gumbel(1.0, 0.6, count)
    asked = FitOptions(n=(8, 64), resamples=20)
    return fit_evt_maxima(z, n_fit=8, a_us=100.0, r=0.1, options=asked)


def test_of_many_maxima_those_at_the_ends_and_some_between_are_drawn() -> None:
    many = 5 * MOST_MAXIMA
    fit = fitted(many)
    root = parsed(page(small(), fit=fit))
    own = data(root)["fit"]["qq"]
    assert {len(values) for values in own.values()} == {MOST_MAXIMA}
    z = fit.points("qq")["z"].to_numpy()
    for mine, all_ in ((slice(TAIL_MAXIMA), z), (slice(-TAIL_MAXIMA, None), z)):
        assert own["z"][mine] == pytest.approx(all_[mine], rel=1e-5)
    # nowhere between does the curve have a gap
    place = np.searchsorted(z, own["z"])
    assert np.diff(place).max() <= many / (MOST_MAXIMA - 2 * TAIL_MAXIMA) + 2
    (said,) = [
        one.text
        for one in root.all("figcaption")
        if one.text.startswith("Largest block times") and "quantiles" in one.text
    ]
    assert f"{many:,} block maxima" in said
    assert f" of which {MOST_MAXIMA:,} are drawn: all at both ends" in said


def test_few_maxima_are_all_drawn() -> None:
    root = parsed(page(small(), fit=fitted(200)))
    assert len(data(root)["fit"]["qq"]["z"]) == 200
    assert "are drawn" not in root.by_id("fit").text


def test_the_level_of_a_fit_is_embedded_and_none_is_in_the_script() -> None:
    fit = fitted(60)
    other = replace(fit, options=replace(fit.options, level=0.975))
    assert data(parsed(page(small(), fit=other)))["fit"]["level"] == "97.5 %"
    assert re.findall(r"\b9\d %", script().text) == []


@given(count=st.integers(0, 10**6))
def test_what_is_drawn_is_in_order_and_keeps_both_ends(count: int) -> None:
    places = drawn(count)
    assert places.size == min(count, MOST_MAXIMA)
    assert (np.diff(places) > 0).all()
    if count:
        assert (places[0], places[-1]) == (0, count - 1)


def keys(value: Any) -> set[str]:
    """Names of everything in some data."""
    if isinstance(value, dict):
        return set(value).union(*map(keys, value.values()))
    return set().union(*map(keys, value)) if isinstance(value, list) else set()


def test_nothing_is_embedded_that_the_script_does_not_read() -> None:
    found = attributed()
    link = Link(Layout("switched"), "all_reduce", 2**20, 5.0)
    worth = Worth(sweep([link], [-0.5], Wait.none(np.array([8.0]))), Setting("", "", {}, 8))
    told = data(parsed(page(found.tax, found, fitted(200), worth)))
    assert None not in (told["bandwidth"], told["fit"])
    assert told["paths"] != []
    read = set(re.findall(r"\w+", script().text))
    assert keys(told) - read == {"schema"}


def test_ranks_are_listed_by_what_others_waited_for_them() -> None:
    found = attributed()
    rows = parsed(whole()).by_id("table-ranks").all("tr")
    titles = [one.text for one in rows[0].all("th")]
    at = titles.index("waited for")
    caused = [float(row.all("td")[at].attributes["data-value"] or 0) for row in rows[1:]]
    assert caused == sorted(caused, reverse=True)
    assert sum(caused) == pytest.approx(found.per_rank()["tax_us"].sum(), abs=0.1)
    first = [one.text for one in rows[1].all("td")]
    assert first[:3] == ["tp", "all_reduce", "2"]


def test_paths_are_the_stories() -> None:
    found = attributed()
    told = data(parsed(whole()))
    strings, own = told["names"]["strings"], told["collectives"]
    taxes = [own["tax_us"][one["row"]] for one in told["paths"]]
    assert taxes == sorted(taxes, reverse=True)
    rows = np.flatnonzero(found.used & (found.results.tax_ns > 0))
    order = rows[np.argsort(-found.results.tax_ns[rows], kind="stable")]
    assert len(told["paths"]) == rows.size
    first, one = story(found, int(order[0])), told["paths"][0]
    assert one["name"] == first.name
    assert one["fence"] == f"all ranks left {first.fence}"
    assert one["apart"] == windows_apart(first) == ""
    assert strings[one["culprit"]] == first.culprit
    for side, of in (("slow", first.slow), ("fast", first.fast)):
        events = one[side]["ev"]
        assert one[side]["rank"] == of.rank
        assert [event[0] for event in events] == [e.offset_ns / 1e3 for e in of.events]
        assert [strings[event[4]] for event in events] == [e.name for e in of.events]
        total = one[side]["gap_us"] + sum(event[1] + event[5] for event in events)
        assert total == pytest.approx(one[side]["window_us"])
    assert sum(event[9] for event in one["slow"]["ev"]) == 1


@pytest.mark.parametrize(("most", "limit", "told"), [(5, 10**7, 5), (0, 10**7, 0)])
def test_as_many_paths_as_asked_those_with_the_largest_taxes(
    most: int, limit: int, told: int
) -> None:
    found = attributed()
    made = page(found.tax, found, options=Options(paths=most, paths_bytes=limit))
    root = parsed(made)
    own = data(root)
    assert len(own["paths"]) == told
    note = root.by_id("paths-note").text
    assert note == f"paths of {told} of 146 collectives, those with the largest taxes"
    assert sorted(own["collectives"]["path"])[-told:] == list(range(told)) or not told


def test_paths_stay_within_their_bytes_and_the_page_says_so() -> None:
    found = attributed()
    made = page(found.tax, found, options=Options(paths_bytes=20_000))
    own = data(parsed(made))
    size = len(script_json(own["paths"])) + sum(map(len, own["names"]["strings"]))
    assert 10_000 < size <= 20_000
    assert re.search(
        r"paths of \d+ of 146 .*; there was no room for those of \d+ more",
        own["paths_note"],
    )
    kept = {one["row"] for one in own["paths"]}
    assert {row for row, path in enumerate(own["collectives"]["path"]) if path >= 0} == kept


def test_the_same_results_make_the_same_page() -> None:
    found = attributed()
    assert page(found.tax, found) == whole()


def test_clocks_apart_are_led_back_to_one() -> None:
    groups = (Group("a", (0, 1), "tp", 2, "kernel"), Group("b", (2, 3), "tp", 2, "kernel"))
    across = Group("c", (0, 2), "dp", 2, "kernel")
    ends = [100.0 * k + 100 for k in range(8)]

    def one(number: int, ahead: float, joined: bool) -> Any:
        own = [C(end, 10.0 + (k + number) % 3) for k, end in enumerate(ends)]
        also = [C(end + 50, 10.0 + (k + number) % 2, group=1) for k, end in enumerate(ends)]
        return rank(
            number,
            own + (also if joined and number % 2 == 0 else []),
            groups=(groups[number // 2], across) if joined else (groups[number // 2],),
            host=f"node{number // 2}",
            clock_us=ahead,
        )

    ahead = [0.0, 0.0, 5_000.0, 5_000.0]
    told = data(parsed(page(measure([one(n, ahead[n], True) for n in range(4)]))))
    assert told["clock"] == "aligned"
    own = told["collectives"]
    firsts = [
        start
        for start, index in zip(own["start_us"], own["index"], strict=True)
        if index == 0
    ]
    assert max(firsts) < 60
    apart = data(parsed(page(measure([one(n, ahead[n], False) for n in range(4)]))))
    assert apart["clock"] == "order"
    assert apart["collectives"]["start_us"][:2] == [0.0, 0.0]


def test_a_clock_that_drifts_is_led_back_to_the_other() -> None:
    group = Group("tp", (0, 1), "tp", 2, "kernel")
    ends = [10_000.0 * k for k in range(1, 41)]

    def one(number: int, drift: float) -> Any:
        own = [
            C(end * (1 + drift), 10.0 + 5 * ((k + number) % 2))
            for k, end in enumerate(ends)
        ]
        return rank(number, own, groups=(group,), host=f"node{number}")

    told = [
        data(parsed(page(measure([one(0, 0.0), one(1, drift)]))))["collectives"]
        for drift in (0.0, 100e-6)
    ]
    straight, drifted = (np.array(own["start_us"]) for own in told)
    # 100 ppm of 400 ms are 40 us
    assert np.abs(straight - drifted).max() < 0.1


def test_windows_are_of_one_clock_and_told_apart() -> None:
    group = Group("tp", (0, 1), "tp", 2, "kernel")
    taken = [
        rank(
            number,
            [C(begin + 100.0 * k, 10.0 + number, step=k) for k in range(4)],
            groups=(group,),
            window=window,
        )
        for window, begin in (("first", 1_000.0), ("second", 901_000.0))
        for number in range(2)
    ]
    root = parsed(page(measure(taken)))
    told = data(root)
    assert told["names"]["groups"] == ["tp 0,1 (first)", "tp 0,1 (second)"]
    assert told["ranks"] == [0, 1]
    assert told["clock"] == "aligned"
    own = told["collectives"]["start_us"]
    assert own[4] - own[0] == 900_000
    assert told["steps"] == [0, 3]
    values = [one.attributes["value"] for one in root.all("option")]
    assert values == ["", "role-0", "group-0", "group-1", "", "0"]
    assert "2 windows" in root.all("header")[0].text


def test_windows_of_several_hosts_have_clocks_of_their_own_time() -> None:
    """A host's clock that gains 9 ms between windows is right in both."""
    group = Group("dp", (0, 1), "dp", 2, "kernel")
    begin_us = {"first": 1_000.0, "second": 901_000.0}
    ahead_us = {(0, "first"): 0.0, (0, "second"): 0.0}
    ahead_us |= {(1, "first"): 5_000.0, (1, "second"): 14_000.0}
    taken = [
        rank(
            number,
            # ranks take turns at being the first to arrive
            [
                C(begin + 100.0 * k, 10.0 + 20.0 * ((k + number) % 2), step=k)
                for k in range(6)
            ],
            groups=(group,),
            window=window,
            host=f"node{number}",
            clock_us=ahead_us[number, window],
        )
        for window, begin in begin_us.items()
        for number in range(2)
    ]
    told = data(parsed(page(measure(taken))))
    assert told["clock"] == "aligned"
    starts = np.array(told["collectives"]["start_us"])
    at = np.array([begin + 100.0 * k for begin in begin_us.values() for k in range(6)])
    assert starts == pytest.approx(at - at[0], abs=1e-3)


def test_a_part_of_the_job_that_nothing_links_begins_at_0_and_keeps_its_order() -> None:
    groups = (Group("a", (0, 1), "tp", 2, "kernel"), Group("b", (2, 3), "tp", 2, "kernel"))
    taken = [
        rank(
            number,
            [C(100.0 * k + 100, 10.0 + number) for k in range(3)],
            groups=(groups[number // 2],),
            host=f"node{number}",
            clock_us=1e9 * (number // 2),
        )
        for number in range(4)
    ]
    told = data(parsed(page(measure(taken))))
    assert told["clock"] == "order"
    own = told["collectives"]
    for group in (0, 1):
        mine = [
            start
            for start, of in zip(own["start_us"], own["group"], strict=True)
            if of == group
        ]
        assert mine == [0.0, 100.0, 200.0]


def test_groups_of_many_ranks_have_short_names() -> None:
    ranks = tuple(range(0, 90, 3))
    group = Group("dp", ranks, "dp", 30, "kernel")
    taken = [
        rank(number, [C(100.0 * k, 9.0 + number) for k in (1, 2)], groups=(group,))
        for number in ranks
    ]
    root = parsed(page(measure(taken)))
    (name,) = data(root)["names"]["groups"]
    assert name == "dp 0,3,6,…,87 (30 ranks)"
    # one group of a role needs no choice of its own
    values = [one.attributes["value"] for one in root.all("option")]
    assert values == ["", "role-0", "", "0"]


def test_groups_whose_short_names_are_alike_have_whole_names() -> None:
    first = tuple(range(20, 80, 2))
    second = (*first[:9], first[9] + 1, *first[10:])
    taken = [
        rank(
            number,
            [C(100.0 * k, 9.0 + number) for k in (1, 2)],
            groups=tuple(
                Group(str(at), ranks, "dp", 30, "kernel")
                for at, ranks in enumerate((first, second))
                if number in ranks
            ),
        )
        for number in sorted({*first, *second})
    ]
    names = data(parsed(page(measure(taken))))["names"]["groups"]
    assert len(set(names)) == 2
    assert names[0] == "dp 20,22,24,…,78 (30 ranks)"
    assert names[1].startswith("dp 20,22,24,26,28,30,32,34,36,39,40,")


def test_of_many_files_the_first_are_named_and_the_rest_counted() -> None:
    files_ = [f"rank{at}.json" for at in range(256)]
    asked = Options(asked={"traces": files_, "n": (8, 64)})
    said = [
        one.text for one in parsed(page(small(), options=asked)).by_id("about").all("li")
    ]
    (traces,) = [text for text in said if text.startswith("traces: ")]
    assert traces.startswith("traces: rank0.json, rank1.json, ")
    assert traces.endswith(", rank19.json and 236 more")
    assert "n: 8, 64" in said


def test_a_long_table_says_where_the_rest_is() -> None:
    rows = [{"count": at} for at in range(MAX_ROWS + 1)]
    made = table("long", "All", [column(rows, "count", "count")], Texts(), rest="there")
    (found,) = parsed(made.encode()).all("table")
    assert found.all("caption")[0].text == "All; the first 2,000 of 2,001 rows (there)"
    assert len(found.all("tr")) == 1 + MAX_ROWS


def test_an_attribution_that_names_nobody_says_so() -> None:
    found = attributed()
    nobody = replace(found, tax=replace(found.tax, used=_only_heads(found.tax)))
    root = parsed(page(nobody.tax, nobody))
    said = root.by_id("verdict").all("li")[1].text
    assert said == "Who made them wait cannot be told: no collective was attributed."
    assert "chart-classes" not in {one.attributes.get("id") for one in root.every()}


def _only_heads(tax: Tax) -> "np.ndarray[Any, Any]":
    used: np.ndarray[Any, Any] = tax.shown & ~tax.used
    return used


@pytest.mark.parametrize("mark", ["</script >", "</STYLE>", "<!-- x", "a\r\nb"])
def test_assets_that_html_would_change_are_refused(
    mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("synctax.report.page.assets._read", lambda _name: mark)
    with pytest.raises(ValueError, match="HTML would not leave as it is"):
        asset.__wrapped__("page.css")


# ------------------------------------------------------------------ wrong calls


def test_nothing_that_counts_is_no_page() -> None:
    alone = measure([rank(0, [C(100.0, 10.0)], groups=(Group("a", (0, 1), "tp", 2, "k"),))])
    with pytest.raises(SynctaxError, match="none of 1 collectives can be measured"):
        page(alone)


def test_an_attribution_of_another_tax_is_refused() -> None:
    with pytest.raises(ValueError, match="of another tax"):
        page(small(), attributed())


def test_an_attribution_without_paths_is_refused() -> None:
    found = attributed(method="longest")
    with pytest.raises(ValueError, match="keeps no paths"):
        page(found.tax, found)


def test_operations_of_other_kinds_are_told_apart() -> None:
    group = Group("tp", (0, 1), "tp", 2, "kernel")
    ops = (Op.ALL_REDUCE, Op.ALL_GATHER)
    taken = [
        rank(
            n,
            [C(100.0 * k + 100, 10.0 + n, op=ops[k % 2]) for k in range(6)],
            groups=(group,),
        )
        for n in range(2)
    ]
    told = data(parsed(page(measure(taken))))
    assert told["names"]["ops"] == ["all_reduce", "all_gather"]
    assert joined(None) == ""
