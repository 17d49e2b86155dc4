"""A collective told event by event: everything on both paths, and nothing else."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synctax.arrays import NS_PER_US
from synctax.attribution.attribute import Attribution
from synctax.attribution.choose import find
from synctax.attribution.results import Why
from synctax.attribution.story import _increasing, story
from synctax.attribution.story_model import Event, Side, Story
from synctax.errors import SynctaxError
from synctax.report.story_view import pairs, parts
from synctax.report.tables import to_text
from synctax.schema import ATTRIBUTE_STORY
from tests.attribution.examples import attributed


@pytest.fixture(scope="module")
def found() -> Attribution:
    return attributed()


def every_story(found: Attribution) -> list[Story]:
    waited = np.flatnonzero(found.used & (found.results.tax_ns > 0))
    return [story(found, int(number)) for number in waited]


def view(told: Story, *, every_event: bool = False) -> str:
    return to_text(parts(told, every_event=every_event), to_file=True)


def assert_whole(told: Story) -> None:
    """Check that events and idle time fill the window, and equation 2's right side."""
    for side in (told.slow, told.fast):
        assert side.items_ns + sum(side.gaps_ns.values()) == side.window_ns
        at = side.head_gap_ns
        for event in side.events:
            assert event.offset_ns == at
            at += event.duration_ns + event.gap_ns
        assert at == side.window_ns
    assert told.slow.items_ns - told.fast.items_ns == told.path_variation_ns


def test_events_and_idle_time_fill_the_window_to_the_nanosecond(found):
    for told in every_story(found):
        assert_whole(told)


@pytest.mark.parametrize("name", ["dlrm8-v100", "torchrec4-sleep-rank2"])
def test_so_they_do_in_real_traces(shared_traces, name):
    for told in every_story(attributed(shared_traces / name)):
        assert_whole(told)


def test_pairs_are_counterparts_in_the_same_order_on_both_paths(found):
    paired = 0
    for told in every_story(found):
        slow = [event for event in told.slow.events if event.pair >= 0]
        fast = [event for event in told.fast.events if event.pair >= 0]
        assert [event.pair for event in slow] == [event.pair for event in fast]
        for one, other in zip(slow, fast, strict=True):
            assert one.kind == other.kind
            assert one.twin_ns >= other.duration_ns  # which is clipped to the window
        paired += len(slow)
    assert paired > 1000


@given(st.lists(st.integers(0, 40), unique=True))
def test_a_longest_increasing_part_is_increasing_and_not_shorter_than_any_run(values):
    kept = _increasing(values)
    assert kept == sorted(kept)
    chosen = [values[place] for place in kept]
    assert chosen == sorted(chosen)
    best = [1] * len(values)
    for place, value in enumerate(values):
        before = [best[i] + 1 for i in range(place) if values[i] < value]
        best[place] = max([1, *before])
    assert len(kept) == max(best, default=0)


def test_the_culprit_is_marked_once_and_nobody_is_where_there_is_none(found):
    for told in every_story(found):
        events = [told.before, *told.slow.events]
        marked = [event for event in events if event is not None and event.culprit]
        assert len(marked) == (told.culprit != "diffuse")
        for event in marked:
            assert event.name == told.culprit
            assert min(event.variation_ns, told.tax_ns) == told.culprit_ns


def test_every_line_of_a_story_stands_in_the_view_when_asked(found):
    told = found.explain(39, group_ranks="0-3")
    lines = list(pairs(told))
    assert [line.slow for line in lines if line.slow] == list(told.slow.events)
    assert [line.fast for line in lines if line.fast] == list(told.fast.events)
    whole, folded = view(told, every_event=True), view(told)
    for run in ("2 events", "4 events"):
        assert run in folded
        assert run not in whole.split("\n\n")[1]
    assert len(whole.splitlines()) == len(folded.splitlines()) + 4


def test_a_story_of_both_paths_is_golden(found, golden):
    golden("attribute/explain-39.txt", view(found.explain(39, group_ranks="0-3")))


def test_a_wait_for_another_group_says_who_made_it_wait(found):
    told = found.explain(29, group_ranks="3,7")
    assert told.origin.startswith("rank 3 waited in tp all_reduce #39 for rank 2: cutlass")
    assert told.origin in view(told)


def numbered(found: Attribution, **changes) -> tuple[Attribution, int]:
    """One wait for another group, with other results."""
    at = int(np.flatnonzero(found.used & (found.results.comm_slot >= 0))[0])
    results = found.results
    for name, value in changes.items():
        column = getattr(results, name).copy()
        column[at] = value
        results = replace(results, **{name: column})
    return replace(found, results=results), at


def test_an_origin_that_is_not_known_is_said_to_be_so(found):
    lost, at = numbered(found, origin=-1)
    assert "; why that was late is not known" in story(lost, at).origin
    nobody, at = numbered(found, origin=-1, origin_rank=-1)
    assert "for a rank that is not known" in story(nobody, at).origin


def test_an_origin_further_on_is_named(found):
    comm = int(np.flatnonzero(found.used & (found.results.comm_slot >= 0))[0])
    own = int(np.flatnonzero(found.results.slot == found.results.comm_slot[comm])[0])
    elsewhere = (own + 1) % len(found.results)
    further, at = numbered(found, origin=elsewhere)
    assert ", which began in " in story(further, at).origin


def test_a_culprit_from_before_the_window_is_shown_before_it(shared_traces):
    found = attributed(shared_traces / "torchrec4-sleep-rank2")
    at = int(np.flatnonzero(found.results.why == Why.CARRIED)[-1])
    told = story(found, at)
    assert told.before is not None
    assert told.before.offset_ns < 0
    text = view(told)
    assert "it made the rank late by" in text
    assert "\n>   −" in text
    frame = told.to_frame()
    assert frame.iloc[0]["why"] == "carried"
    assert frame.iloc[0]["culprit"]


def test_the_table_holds_what_the_story_does(found):
    told = found.explain(39, group_ranks="0-3")
    frame = told.to_frame()
    assert tuple(frame) == ATTRIBUTE_STORY.names
    sums = frame.groupby("side")[["duration_us", "gap_us"]].sum().sum(axis=1)
    assert sums["slow"] == pytest.approx(told.slow.window_ns / NS_PER_US)
    assert sums["fast"] == pytest.approx(told.fast.window_ns / NS_PER_US)
    assert frame["culprit"].sum() == 1
    envelope = told.envelope()
    assert envelope["slow"]["rank"] == 2
    assert envelope["residual_us"] == pytest.approx(
        envelope["tax_max_us"] - envelope["path_variation_us"]
    )


@pytest.mark.parametrize(
    ("index", "ranks", "error"),
    [
        (99, None, "no collective has index 99; the last one has 47"),
        (39, "0-2", "no group of ranks 0-2; there are 0,4, 1,5, 2,6, 3,7, 0-3, 4-7"),
        (29, None, "6 collectives have index 29: .* give --group"),
        (39, None, "2 collectives have index 39: .* such as --explain 39@0-3"),
        (0, "0-3", r"tp all_reduce #0 was not attributed \(head\): first collective"),
        (1, "0,4", "nobody waited in fsdp all_gather #1"),
    ],
)
def test_a_collective_that_is_not_one_is_refused_in_words(found, index, ranks, error):
    with pytest.raises(SynctaxError, match=error):
        find(found, index, group_ranks=ranks)


def test_long_lists_of_choices_are_cut(found, monkeypatch):
    monkeypatch.setattr("synctax.attribution.choose.LISTED", 2)
    with pytest.raises(SynctaxError, match=r"of ranks 1,5 and 4 more; give --group"):
        find(found, 29)


def test_windows_of_one_group_cannot_be_told_apart_by_ranks(found):
    matches = found.tax.matches
    groups = [
        replace(group, role="tp", ranks=(0, 1, 2, 3), window=f"w{number}")
        for number, group in enumerate(matches.groups)
    ]
    tax = replace(found.tax, matches=replace(matches, groups=tuple(groups)))
    with pytest.raises(SynctaxError, match=r"in w0, .* one profiler window"):
        find(replace(found, tax=tax), 29)


def test_other_methods_have_no_story():
    longest = attributed(group="tp", method="longest")
    with pytest.raises(ValueError, match="'longest' keeps no paths"):
        longest.explain(39, group_ranks="0-3")


# ------------------------------------------------------- small stories, by hand


def event(name: str, start: int, duration: int, **more: object) -> Event:
    fields: dict[str, object] = {
        "kind": "slice",
        "thread": "main",
        "gap_ns": 0,
        "gap_kind": "chain",
        "provenance": "recorded",
    }
    fields |= more
    return Event(start * 1000, duration * 1000, name=name, **fields)


BEFORE = event("early", -10, 5, variation_ns=4_000, culprit=True)


def side(rank: int, events: list[Event]) -> Side:
    window = sum(one.duration_ns + one.gap_ns for one in events)
    return Side(rank, "", "", window, 0, "root", tuple(events))


def small(slow: list[Event], fast: list[Event], **more: object) -> Story:
    one, other = side(1, slow), side(0, fast)
    values: dict[str, object] = {
        "name": "tp all_reduce #3", "group": "tp", "group_ranks": "0,1",
        "op": "all_reduce", "index": 3, "step": None, "fence": "tp all_reduce #2",
        "tax_ns": one.window_ns - other.window_ns,
        "path_variation_ns": one.items_ns - other.items_ns,
        "carried_ns": 0, "propagated_ns": 0, "culprit": "diffuse", "culprit_ns": 0,
        "before": None, "origin": "",
    }  # fmt: skip
    return Story(slow=one, fast=other, **(values | more))


def test_a_story_without_step_and_culprit_says_neither():
    text = view(small([event("a", 0, 100)], [event("b", 0, 40)]))
    assert "tp all_reduce #3 (ranks 0,1): rank 1 arrived 60 µs after rank 0" in text
    assert "no single event explains half of that" in text
    assert "the rest" not in text


def test_ranks_that_tie_are_not_called_the_last_or_the_first(found):
    (slow, fast) = [event("a", 0, 100)], [event("b", 0, 40)]
    plain = small(slow, fast)
    assert "tied" not in view(plain)
    late = view(replace(plain, slow=replace(plain.slow, tied=True)))
    assert "others arrived last with rank 1: they are tied" in late
    assert "rank 1 (last, tied)" in late
    assert "rank 0 (first)" in late
    early = view(replace(plain, fast=replace(plain.fast, tied=True)))
    assert "others arrived first with rank 0: they are tied" in early
    waits = found.tax.waits
    none = replace(waits, straggler=np.full_like(waits.straggler, -1))
    told = replace(found, tax=replace(found.tax, waits=none)).explain(39, group_ranks="0-3")
    assert (told.slow.tied, told.fast.tied) == (True, False)
    assert told.envelope()["slow"]["tied"]


def test_events_off_both_paths_stand_in_order_of_time():
    slow = [event("a", 0, 50), event("c", 50, 50)]
    fast = [event("b", 0, 20), event("d", 20, 20)]
    names = [(line.slow or line.fast).name for line in pairs(small(slow, fast))]
    assert names == ["a", "b", "d", "c"]


def test_a_counterpart_off_the_path_is_shown_with_its_duration():
    one = event("a", 0, 100, twin_ns=7_000, variation_ns=93_000, why="slower", culprit=True)
    text = view(small([one], [], culprit="a", culprit_ns=93_000))
    assert "culprit: a: 100 µs on main, on rank 0 7 µs; 93 % of the tax" in text
    (line,) = [line for line in text.splitlines() if line.startswith(">")]
    assert "(not on its path)" in line
    assert "93 µs   slower" in line


def test_an_event_that_only_one_rank_has_is_said_to_have_no_counterpart():
    one = event("a", 0, 100, variation_ns=100_000, why="no counterpart", culprit=True)
    text = view(small([one], [], culprit="a", culprit_ns=100_000))
    assert "100 µs on main; it has no counterpart on rank 0; 100 % of the tax" in text


def test_idle_time_is_named_with_how_the_edge_is_known():
    slow = [
        event("a", 0, 50, gap_ns=5_000, gap_kind="cross", provenance="inferred"),
        event("b", 55, 50, provenance="calls", gap_kind="launch"),
        event("c", 105, 50, gap_ns=2_000),
    ]
    text = view(small(slow, []))
    assert "5 µs cross (inferred)" in text
    assert "(calls)" in text
    assert "+ cross 5.000 µs + chain 2.000 µs = 157.000 µs" in text
    assert "the rest, 7.000 µs, is idle time or ends that differ" in text


def test_what_was_carried_is_told_with_its_share_and_what_waited_for_others():
    slow = [event("a", 0, 100, twin_ns=90_000, carried_ns=90_000, why="carried")]
    text = view(small(slow, [], carried_ns=50_000, propagated_ns=20_000))
    assert "late already when it left tp all_reduce #2: 50 µs (50 %)" in text
    assert "waited longer for other groups by 20 µs" in text
    assert "90 µs   carried" in text


def test_small_events_fold_and_threads_that_differ_are_not_named():
    many = [event(f"s{n}", n, 1, thread=f"t{n % 2}") for n in range(5)]
    large = event("big", 5, 500, gap_ns=0)
    lone = replace(many[0], offset_ns=505_000)
    text = view(small([*many, large, lone], []))
    assert "… 5 events" in text
    assert "big" in text
    assert text.count("s0") == 1  # one is not worth folding


def test_what_is_short_for_its_window_folds_however_small_the_tax():
    slow = [event(f"s{n}", n * 100, 100, pair=n) for n in range(3)]
    late = event("late", 300, 104, pair=3, variation_ns=4_000, twin_ns=100_000)
    fast = [replace(one, variation_ns=0, duration_ns=100_000) for one in [*slow, late]]
    text = view(small([*slow, late], fast))
    assert "… 3 events" in text
    assert "late" in text.split("\n\n")[1]  # nobody is the culprit: it owes most
    known = view(small([*slow, late], fast, culprit_ns=3_000, before=BEFORE))
    assert "… 4 events" in known


def test_ranks_are_said_to_have_left_together_only_if_their_windows_tell_so():
    slow, fast = [event("a", 0, 100)], [event("b", 0, 40)]
    assert "both left tp all_reduce #2 together; then rank 1 needed" in view(
        small(slow, fast, tax_ns=66_000)
    )
    text = view(small(slow, fast, tax_ns=70_000))
    assert "together" not in text
    assert "windows differ by 60 µs, arrivals by 70 µs; the rest is how far" in text
    brief = small([event("a", 0, 3)], [event("b", 0, 2)], tax_ns=2_000)
    assert "together" in view(brief)  # a µs is what clocks resolve


def test_at_80_columns_the_time_and_the_mark_of_the_culprit_stay(found, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = to_text(parts(found.explain(39, group_ranks="0-3"))).splitlines()
    assert max(map(len, lines)) <= 80
    (head,) = [line for line in lines if "rank 2 (last)" in line]
    assert " at " in head
    assert [line for line in lines if line.startswith(">   66.3 µs   cutlass")]
    assert [line for line in lines if line.startswith("  on stream 7")]
