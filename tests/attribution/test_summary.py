"""Tables of an attribution agree with what was measured, and with each other."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import synctax
from synctax.attribution.attribute import Attribution, attribute
from synctax.attribution.culprits import CLASSES
from synctax.attribution.facts import facts, overall
from synctax.attribution.labels import (
    culprit_text,
    item_text,
    short_name,
    thread_text,
)
from synctax.attribution.model import Items
from synctax.attribution.results import Known, Why
from synctax.attribution.summary import excluded, parts, status_of
from synctax.attribution.verdict import envelope
from synctax.collectives.matches import Status
from synctax.errors import SynctaxError
from synctax.graph.model import NodeKind
from synctax.schema import ATTRIBUTE, ATTRIBUTE_COLLECTIVES, ATTRIBUTE_RANKS
from tests.attribution.examples import EXAMPLE, attributed, kept, measured

SHARED_COLUMNS = ["group", "group_ranks", "op", "index", "step", "tax_max_us"]


@pytest.fixture(scope="module")
def found() -> Attribution:
    return attributed()


def unknown(found: Attribution, known: Known, slot: int, **results) -> Attribution:
    """The same, but of one collective something is not known."""
    codes = found.known.copy()
    codes[slot] = known
    own = found.results
    of_results = own.known.copy()
    at = np.flatnonzero(own.slot == slot)
    if known == Known.PATH_UNKNOWN:
        of_results[at] = known
    changed = {name: getattr(own, name).copy() for name in results}
    for name, value in results.items():
        changed[name][at] = value
    return replace(found, known=codes, results=replace(own, known=of_results, **changed))


def only(found: Attribution, slots: np.ndarray) -> Attribution:
    """The same, asked for some collectives only."""
    used = np.zeros(len(found.tax.matches), np.bool_)
    used[slots] = True
    tax = replace(found.tax, used=used & found.tax.used, shown=used)
    return replace(found, tax=tax)


def test_every_collective_that_measure_shows_has_its_row(found):
    ours, theirs = found.per_collective(), found.tax.per_collective()
    assert tuple(ours) == ATTRIBUTE_COLLECTIVES.names
    assert ours[SHARED_COLUMNS].equals(theirs[SHARED_COLUMNS])
    assert ours["exposed_wait_us"].equals(theirs["exposed_wait_us"])


def test_what_was_not_attributed_has_nulls_and_a_reason(found):
    frame = found.per_collective()
    head = frame[frame["status"] == "head"]
    assert len(head) == 6
    assert set(head["reason"]) == {"first collective of its group in the window"}
    told = ["path_variation_us", "culprit", "culprit_class", "path_side", "origin_rank"]
    assert head[told].isna().all(axis=None)
    assert frame.loc[frame["status"] == "ok", "reason"].isna().all()


def test_residuals_culprits_and_shares_are_within_the_tax(found):
    frame = found.per_collective()
    frame = frame[frame["status"] == "ok"]
    gone = frame["tax_max_us"] - frame["path_variation_us"] - frame["residual_us"]
    assert gone.abs().max() < 1e-6
    assert (frame["culprit_variation_us"] <= frame["tax_max_us"] + 1e-9).all()
    named = frame["culprit_side"].notna()
    assert (frame.loc[named, "culprit_share"] >= 0.5).all()
    assert (frame.loc[~named, "culprit_variation_us"] == 0).all()
    assert frame["culprit_why"].notna().equals(named)
    assert frame["culprit_thread"].notna().equals(named)


def test_where_nobody_waited_nobody_is_named(found):
    frame = found.per_collective()
    none = frame[(frame["status"] == "ok") & (frame["tax_max_us"] == 0)]
    assert len(none) == 88
    assert set(none["culprit_class"]) == {"none"}
    names = ["culprit", "straggler_rank", "fastest_rank", "origin_rank", "culprit_share"]
    assert none[names].isna().all(axis=None)


def test_where_no_item_explains_half_the_culprit_is_diffuse(found):
    frame = found.per_collective()
    waited = frame[(frame["status"] == "ok") & (frame["tax_max_us"] > 0)]
    lone = waited[waited["culprit_side"].isna()]
    assert len(lone) > 0
    assert set(lone["culprit"]) == {"diffuse"}
    assert set(lone["culprit_class"]) == {"diffuse", "carried", "passed_on"}


def test_the_outlier_is_blamed_on_the_gemm_of_rank_2_and_passed_on_to_fsdp(found):
    frame = found.per_collective()
    first = frame[(frame["group_ranks"] == "0-3") & (frame["index"] == 39)].iloc[0]
    assert (first["straggler_rank"], first["culprit_class"]) == (2, "gemm")
    assert (first["culprit_why"], first["culprit_thread"]) == ("slower", "stream 7")
    assert (first["origin_rank"], first["origin_index"]) == (2, 39)
    later = frame[(frame["group_ranks"] == "3,7") & (frame["index"] == 29)].iloc[0]
    assert (later["culprit"], later["culprit_side"]) == ("tp all_reduce #39", "comm")
    assert (later["straggler_rank"], later["origin_rank"]) == (3, 2)
    assert (later["origin_group"], later["origin_index"]) == ("tp", 39)
    assert later["origin_culprit"] == first["culprit"]


def test_classes_add_up_to_the_role(found):
    frame = found.to_frame()
    assert tuple(frame) == ATTRIBUTE.names
    assert set(frame["culprit_class"]) <= {*CLASSES, "none", "passed_on"}
    per_role = found.per_collective()
    per_role = per_role[per_role["status"] == "ok"].groupby("group")
    for group, own in frame.groupby("group"):
        rows = per_role.get_group(group)
        assert own["collectives"].sum() == len(rows)
        assert own["tax_us"].sum() == pytest.approx(rows["tax_max_us"].sum())
        assert own["variation_us"].sum() == pytest.approx(
            rows["culprit_variation_us"].sum()
        )
        for name in ("share_of_collectives", "share_of_tax", "share_of_variation"):
            assert own[name].sum() == pytest.approx(1)
    assert (frame.loc[frame["side"].isna(), "variation_us"] == 0).all()


def test_siblings_add_up_to_their_role(found):
    pooled, apart = found.to_frame(), found.to_frame(per_group=True)
    assert pooled["group_ranks"].isna().all()
    assert set(apart["group_ranks"]) == {"0-3", "4-7", "0,4", "1,5", "2,6", "3,7"}
    names = ["collectives", "variation_us", "tax_us"]
    keys = ["group", "culprit_class"]
    sums = apart.groupby(keys)[names].sum()
    whole = pooled.set_index(keys)[names]
    assert (sums - whole.loc[sums.index]).abs().max(axis=None) < 1e-6


def test_ranks_add_up_to_their_role(found):
    ranks, frame = found.per_rank(), found.to_frame()
    assert tuple(ranks) == ATTRIBUTE_RANKS.names
    for group, own in ranks.groupby("group"):
        whole = frame[frame["group"] == group]
        assert sorted(own["rank"]) == list(range(8))
        waited = whole[whole["culprit_class"] != "none"]
        assert own["collectives"].sum() == waited["collectives"].sum()
        assert own["tax_us"].sum() == pytest.approx(whole["tax_us"].sum())
        assert own["share_of_tax"].sum() == pytest.approx(1)
        blamed = own[["gpu_us", "cpu_us", "comm_us"]].sum(axis=None)
        assert blamed == pytest.approx(whole["variation_us"].sum())
        assert own["origin_tax_us"].sum() <= own["tax_us"].sum() + 1e-6
    assert (ranks["graph_nodes"] > 1000).all()


def test_a_rank_that_made_nobody_wait_has_no_culprit(found):
    few = only(found, np.flatnonzero(found.tax.matches.index == 39))
    ranks = few.per_rank().set_index("rank")
    assert ranks.loc[2, "culprit_class"] == "gemm"
    others = ranks.loc[[0, 1, 3]]
    assert others[["culprit", "culprit_us", "gpu_only_share"]].isna().all(axis=None)
    assert (others["collectives"] == 0).all()


@pytest.mark.parametrize(
    ("known", "status", "reason"),
    [
        (Known.NO_FENCE, "no fence", "no earlier collective of its group"),
        (Known.NOT_COMPARABLE, "not comparable", "no collective of the group in common"),
        (Known.NO_TAX, "no tax", "its tax cannot be believed"),
        (Known.PATH_UNKNOWN, "path unknown", "is not in the graph of the straggler"),
    ],
)
def test_what_keeps_a_collective_from_being_attributed_is_said(
    found, known, status, reason
):
    slot = int(np.flatnonzero(found.used)[0])
    slot = int(found.results.slot[slot])
    other = unknown(found, known, slot, unknown_rank=-1)
    assert status_of(other, slot)[0] == status
    assert reason in status_of(other, slot)[1]
    notes = {note.reason: note for note in excluded(other)}
    assert notes[status.replace(" ", "_")].count == 1


def test_an_unknown_path_names_the_rank_on_which_it_is(found):
    slot = int(found.results.slot[np.flatnonzero(found.used)[0]])
    other = unknown(found, Known.PATH_UNKNOWN, slot, unknown_rank=6)
    assert status_of(other, slot)[1].startswith("rank 6 was idle for most of it")
    row = other.per_collective().loc[lambda f: f["status"] == "path unknown"].iloc[0]
    assert row[["culprit", "path_side", "culprit_class"]].isna().all()
    assert overall(other).left_out == (("path unknown", 1),)
    assert overall(other).told == overall(found).told - 1


def test_an_origin_that_is_not_known_leaves_its_columns_empty(found):
    frame = found.per_collective()
    comm = int(np.flatnonzero(found.used & (found.results.comm_slot >= 0))[0])
    slot = int(found.results.slot[comm])
    lost = unknown(found, Known.OK, slot, origin=-1)
    at = int(np.flatnonzero(np.flatnonzero(found.tax.shown) == slot)[0])
    row, before = lost.per_collective().iloc[at], frame.iloc[at]
    assert row["origin_rank"] == before["origin_rank"]
    assert row[["origin_culprit", "origin_group", "origin_index"]].isna().all()
    nobody = unknown(found, Known.OK, slot, origin=-1, origin_rank=-1)
    assert nobody.per_collective().iloc[at][["origin_rank"]].isna().all()
    assert envelope(lost)["collectives"] == envelope(found)["collectives"]


def test_nothing_that_counts_is_an_empty_table_and_no_fault(found):
    none = only(found, np.array([], np.int64))
    assert none.to_frame().empty
    assert none.per_rank().empty
    told = overall(none)
    assert (told.told, told.tax_us, told.worst, told.outliers) == (0, 0.0, None, ())
    assert envelope(none)["verdict"] == []


def test_lca_tells_the_common_ancestor_and_what_cannot_be_compared():
    found = attributed(window="lca")
    frame = found.per_collective()
    told = frame[frame["status"] == "ok"]
    assert (told["ancestor_index"] == told["fence_index"]).all()
    assert (told["ancestor_index"] >= 0).all()
    lost = frame[frame["status"] == "not comparable"]
    assert len(lost) > 0
    assert lost["fence_index"].isna().all()


def test_what_has_no_culprit_has_no_side(found):
    frame = found.to_frame().set_index(["group", "culprit_class"])
    assert frame.loc[("fsdp", "communication"), "side"] == "comm"
    lone = ["passed_on", "carried", "diffuse", "none"]
    of_lone = frame.loc[[("fsdp", name) for name in lone]]
    assert of_lone["side"].isna().all()
    assert (of_lone["variation_us"] == 0).all()


@pytest.mark.parametrize("method", ["longest", "last-kernel"])
def test_no_method_names_a_culprit_where_nobody_waited(method):
    found = attributed(method=method)
    frame = found.per_collective()
    none = frame[(frame["status"] == "ok") & (frame["tax_max_us"] == 0)]
    assert len(none) > 0
    assert set(none["culprit_class"]) == {"none"}
    assert none[["culprit", "culprit_side", "culprit_why"]].isna().all(axis=None)
    classes = found.to_frame().set_index("culprit_class")
    assert classes.loc["none", "side"] is None


def test_other_methods_blame_one_kernel(found):
    longest = attributed(group="tp", method="longest").per_collective()
    assert set(longest["culprit_side"].dropna()) == {"gpu"}
    assert not longest["culprit"].str.contains("gap", na=False).any()


def test_facts_are_those_of_the_tables(found):
    frame, every = found.per_collective(), overall(found)
    told = frame[frame["status"] == "ok"]
    tax = told["tax_max_us"].sum()
    assert every.tax_us == pytest.approx(tax)
    assert every.fit.n == every.told == len(told)
    assert every.carried_share == pytest.approx(told["carried_us"].sum() / tax)
    assert every.gpu_only_share == pytest.approx((told["path_side"] == "gpu").mean())
    lone = told["culprit_side"].isna()
    assert every.diffuse_share == pytest.approx(told.loc[lone, "tax_max_us"].sum() / tax)
    assert every.latency_us["queue"] == pytest.approx(told["queue_us"].sum())
    assert [one.group for one in facts(found)] == [one.role for one in parts(found)]
    assert "tp" in facts(found)[0].passed_on_by
    assert every.equal_work == every.compared == len(told)


def test_an_outlier_is_far_off_and_says_which_idle_time_explains_it(found):
    results = found.results
    at = int(np.flatnonzero(found.used & (results.tax_ns > 10**6))[0])
    path, queue = results.path_variation_ns.copy(), results.queue_ns.copy()
    path[at] -= 400_000
    queue[at] = 390_000
    far = replace(found, results=replace(results, path_variation_ns=path, queue_ns=queue))
    (one,) = overall(far).outliers
    assert (one.why, one.residual_us) == ("queue", pytest.approx(400, abs=3))
    assert one.idle_us == 390
    matches = found.tax.matches
    assert one.rank == matches.ranks[found.slow.rank[at]].rank
    path[at] += 900_000
    queue[at] = 0
    other = replace(far, results=replace(results, path_variation_ns=path, queue_ns=queue))
    (one,) = overall(other).outliers
    assert (one.why, one.rank) == ("other", matches.ranks[found.fast.rank[at]].rank)
    assert one.idle_us == 0
    path[at] = results.path_variation_ns[at] - 90_000
    near = replace(far, results=replace(results, path_variation_ns=path))
    assert overall(near).outliers == ()


def with_results(found: Attribution, **columns: np.ndarray) -> Attribution:
    return replace(found, results=replace(found.results, **columns))


def tied(found: Attribution, name: str, slots: np.ndarray) -> Attribution:
    """The same, but in some collectives ranks tie for the first or the last."""
    column = getattr(found.tax.waits, name).copy()
    column[slots] = -1
    waits = replace(found.tax.waits, **{name: column})
    return replace(found, tax=replace(found.tax, waits=waits))


def of_group(found: Attribution, ranks: str) -> np.ndarray:
    """Results of the group of some ranks in which somebody waited."""
    frame = found.tax.per_collective()
    slots = np.flatnonzero(found.tax.shown)[(frame["group_ranks"] == ranks).to_numpy()]
    results = found.results
    mine = found.used & np.isin(results.slot, slots) & (results.tax_ns > 0)
    return np.flatnonzero(mine)


def test_lateness_is_laid_to_the_ranks_whose_it_is(found):
    results, straggler = found.results, found.tax.waits.straggler
    rows = of_group(found, "0-3")
    last = straggler[results.slot[rows]]
    most = int(np.argmax(np.bincount(last, weights=results.tax_ns[rows])))
    late = rows[last != most]
    carried = np.zeros(len(results), np.int64)
    carried[late] = 5_000
    culprit, why = results.culprit.copy(), results.why.copy()
    culprit[late], why[late] = -1, Why.NONE
    told = overall(
        only(
            with_results(found, carried_ns=carried, culprit=culprit, why=why),
            results.slot[rows],
        )
    )
    assert told.last[0][0] == most
    assert most not in dict(told.late)
    assert sum(dict(told.late).values()) == pytest.approx(1)
    assert told.late_share == pytest.approx(told.carried_share)
    for rank, own in dict(told.late).items():
        assert own == pytest.approx((last[last != most] == rank).mean())


def test_lateness_beside_a_culprit_within_the_window_is_not_called_carried(found):
    results = found.results
    inside = np.isin(results.why, (Why.SLOWER, Why.ALONE))
    carried = np.where(inside, results.tax_ns // 3, 0)
    told = overall(with_results(found, carried_ns=carried))
    assert told.carried_share > 0.1
    assert told.late_share == 0
    assert told.late == ()


def test_origins_are_of_what_was_passed_on_and_of_nothing_else(found):
    results = found.results
    fsdp = next(one for one in facts(found) if one.group == "fsdp")
    (part,) = [part for part in parts(found) if part.role == "fsdp"]
    comm = part.rows[results.comm_slot[part.rows] >= 0]
    passed_ns = np.clip(results.propagated_ns, 0, results.tax_ns)
    ranks = [one.rank for one in found.tax.matches.ranks]
    sums = dict.fromkeys(ranks, 0)
    for row in comm.tolist():
        sums[ranks[results.origin_rank[row]]] += int(passed_ns[row])
    whole = int(passed_ns[part.rows].sum())
    assert dict(fsdp.origins) == pytest.approx(
        {rank: own / whole for rank, own in sums.items() if own}
    )
    assert sum(dict(fsdp.origins).values()) <= 1
    tp = next(one for one in facts(found) if one.group == "tp")
    assert tp.origins == ()


def test_ties_are_nobodys(found):
    rows = of_group(found, "0-3")
    slots = found.results.slot[rows]
    half = slots[: slots.size // 2]
    found = tied(only(found, slots), "straggler", half)
    frame = found.per_collective()
    none = frame["straggler_rank"].isna()
    assert none.sum() == half.size
    assert frame.loc[none, ["culprit", "path_variation_us"]].notna().all(axis=None)
    assert frame.loc[none, "origin_rank"].isna().all()
    assert frame["fastest_rank"].notna().all()
    ranks, told = found.per_rank(), overall(found)
    untied = frame[~none]
    assert ranks["collectives"].sum() == len(untied)
    assert ranks["share_of_collectives"].sum() == pytest.approx(1)
    share = untied["tax_max_us"].sum() / frame["tax_max_us"].sum()
    assert ranks["share_of_tax"].sum() == pytest.approx(share)
    assert sum(dict(told.last).values()) == pytest.approx(share)
    assert ranks["origin_collectives"].sum() == len(untied)
    first = tied(found, "fastest", half).per_collective()
    assert first["fastest_rank"].isna().sum() == half.size
    every = tied(found, "straggler", slots)
    assert "no rank alone was last" in every.verdict()["tp"][0]


def test_communication_that_is_no_wait_for_others_is_called_collectives(found):
    comm = found.results.comm_slot
    assert "collective" not in dict(overall(found).classes)
    unknown = with_results(found, comm_slot=np.full(comm.size, -1))
    told = overall(unknown)
    assert "communication" not in dict(told.classes)
    share = dict(overall(found).classes)["communication"]
    assert dict(told.classes)["collective"] == pytest.approx(share)
    assert told.origins == ()


def test_names_that_one_rank_has_more_often_are_counted_by_collective(found):
    assert overall(found).slipped == 0
    rows = of_group(found, "0-3")[:3]
    count = found.twins.kin_count.copy()
    for row in rows.tolist():
        own = slice(int(found.slow.first[row]), int(found.slow.first[row + 1]))
        count[own] += count[own] > 0
    other = replace(found, twins=replace(found.twins, kin_count=count))
    assert overall(other).slipped == 3


def item(kind: NodeKind, name: int, context: int = -1) -> Items:
    """One item, of lane 0, that is no known collective."""
    values = dict.fromkeys(Items.__slots__, 0)
    values |= {"kind": int(kind), "name": name, "context": context, "slot": -1}
    return Items(**{key: np.array([value]) for key, value in values.items()})


@pytest.mark.parametrize(
    ("kind", "name", "context", "text"),
    [
        (NodeKind.GPU, 0, -1, "aten::mm"),
        (NodeKind.SLICE, 0, -1, "aten::mm"),
        (NodeKind.COLLECTIVE, 0, -1, "aten::mm"),
        (NodeKind.WAIT, 0, -1, "wait in aten::mm"),
        (NodeKind.WAIT, -1, -1, "wait"),
        (NodeKind.GAP, 0, -1, "gap before aten::mm"),
        (NodeKind.GAP, 0, 1, "gap before aten::mm in step"),
        (NodeKind.GAP, -1, 1, "gap in step"),
        (NodeKind.GAP, -1, -1, "gap"),
    ],
)
def test_items_are_named(found, kind, name, context, text):
    texts = ("aten::mm", "step")
    assert item_text(found.tax, texts, item(kind, name, context), 0) == text


def test_streams_and_threads_are_told_apart():
    assert thread_text(("thread 7",), item(NodeKind.GPU, 0), 0) == "stream 7"
    assert thread_text(("thread 7",), item(NodeKind.SLICE, 0), 0) == "thread 7"
    assert thread_text(("pt_autograd_0",), item(NodeKind.SLICE, 0), 0) == "pt_autograd_0"
    assert thread_text(("stream 7 (comm)",), item(NodeKind.GPU, 0), 0) == "stream 7 (comm)"


@given(st.text(alphabet="ab<>():, [clone]", max_size=30), st.integers(2, 20))
def test_a_short_name_is_short_and_begins_as_the_name_does(text, width):
    assume(text.strip())
    name = short_name(text, width=width)
    assert len(name) <= width
    assert text.removeprefix("void ").startswith(name.removesuffix("…"))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("void f(int)", "f"),
        ("void f(int) [clone .kd]", "f"),
        ("(anonymous namespace)::k<int>(int, g(Op)2)", "(anonymous namespace)::k<int>"),
        ("gap before x (y)", "gap before x (y)"),
        ("cutlass::Kernel2<gemm_tn>(gemm_tn::Params)", "gemm_tn"),
        ("f(int", "f(int"),
        ("x)", "x)"),
        ("(a)", "(a)"),
        ("", "(no name)"),
        (" ", "(no name)"),
    ],
)  # fmt: skip
def test_parameters_are_left_out_of_a_short_name(text, name):
    assert short_name(text) == name


def test_carried_culprits_lie_before_the_window(shared_traces):
    found = attributed(shared_traces / "torchrec4-sleep-rank2")
    frame = found.per_collective()
    late = frame[frame["culprit_why"] == "carried"]
    assert len(late) >= 2
    assert (late["straggler_rank"] == 2).all()
    assert late["culprit"].str.startswith("gap before _AlltoAllSingle").all()
    numbers = np.flatnonzero(found.results.why == Why.CARRIED)
    assert culprit_text(found, int(numbers[0])).startswith("gap before _Allto")


def test_the_package_offers_it_by_name():
    assert synctax.attribute is not None
    options = synctax.AttributeOptions(window="lca")
    assert options.window == "lca"
    assert synctax.Attribution is Attribution


def test_a_notebook_shows_the_table(found):
    html = found._repr_html_()
    assert "<table" in html
    assert "communication" in html
    assert set(found.verdict()) == {"tp", "fsdp"}


def test_where_no_tax_can_be_believed_the_reasons_of_most_are_named():
    tax = measured(EXAMPLE)
    found = tax.matches
    status, reason = np.full(len(found), Status.HEAD, np.int8), np.full(len(found), -1)
    status[:9], reason[:9] = Status.PARTIAL, 0
    status[9] = Status.INVALID
    lost = replace(
        tax,
        used=np.zeros(len(found), np.bool_),
        status=status,
        matches=replace(found, reason=reason, reasons=("rank 3 has none",)),
    )
    text = (
        f"none of {len(found)} collectives .* \\({len(found) - 10} head, "
        "9 partial: rank 3 has none\\); see"
    )
    with pytest.raises(SynctaxError, match=text):
        attribute(lost, workers=1, cache=kept(EXAMPLE))
