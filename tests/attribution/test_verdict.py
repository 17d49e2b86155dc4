"""Sentences that say no more than the numbers: each one where it applies, and where not."""

from dataclasses import replace

import pytest

from synctax.attribution.equation import Fit
from synctax.attribution.facts import Culprit, Facts, Outlier
from synctax.attribution.verdict import foremost, verdict

NAN = float("nan")
GOOD = Fit(50, 1.0, 0.0, 0.9999, 0.47, 1.0, 9.0)

PLAIN = Facts(
    group="tp",
    method="path",
    asked=50,
    told=50,
    waited=50,
    left_out=(),
    n_groups=1,
    n_ranks=4,
    tax_us=10_000.0,
    fit=GOOD,
    gpu_only_share=1.0,
    gpu_only_tax_us=(10.0, 900.0),
    cpu_share_of_tax=0.0,
    carried_share=0.0,
    propagated_share=0.0,
    diffuse_share=0.0,
    overlapped_share=0.0,
    explained_share=0.9,
    classes=(("gemm", 0.78), ("attention", 0.15), ("copy", 0.07)),
    last=((2, 0.28), (0, 0.26), (1, 0.24), (3, 0.22)),
    class_of={},
    late_share=0.0,
    late=(),
    origins=(),
    worst=None,
    passed_on_by=(),
    latency_us={"launch": 0.0, "queue": 0.0, "cross": 0.0},
    compared=50,
    equal_work=50,
    equal_geometry=50,
    slipped=0,
    outliers=(),
)


def said(**changes: object) -> str:
    return "\n".join(verdict(replace(PLAIN, **changes)))


def test_of_several_groups_a_rank_holds_a_share_of_the_tax_of_all():
    assert "(rank 2 was last for 28 % of that of all 4 groups)" in said(n_groups=4)
    one = said(n_groups=2, last=((3, 0.61), (0, 0.2)))
    assert "rank 3 was last for 61 % of that of both groups" in one


def test_collectives_that_are_to_blame_are_told_from_those_that_were_waited_for():
    assert "culprits are earlier collectives (in c" in said(classes=(("collective", 0.8),))


@pytest.mark.parametrize(("share", "named"), [(0.998, True), (0.51, True), (0.5, False)])
def test_one_culprit_is_foremost_where_it_holds_most_of_the_tax(share, named):
    told = replace(PLAIN, worst=Culprit("gap before aten::mm", "python_gap", 2, 6, share))
    expected = (
        f"most of all 6 × gap before aten::mm on rank 2: {100 * share:.3g} % of the tax"
    )
    assert foremost(told) == (expected if named else "")
    assert foremost(PLAIN) == ""


def test_classes_are_named_with_their_share_and_small_ones_are_not():
    text = said()
    assert "culprits are GEMM kernels (in collectives with 78 % of the tax) and att" in text
    assert "attention kernels (15 %);" in text
    assert "copies" not in text


def test_a_rank_with_about_its_fair_share_does_not_stand_out():
    assert "no rank stands out (rank 2 was last for 28 % of it)" in said()


def test_ranks_with_twice_their_fair_share_are_named():
    assert "rank 3 was last for 61 % of it" in said(last=((3, 0.61), (0, 0.2)))
    last = ((0, 0.4), (6, 0.31), (1, 0.1))
    assert "ranks 0 and 6 were last for 71 % of it" in said(last=last, n_ranks=8)


def test_ranks_that_stand_out_by_different_things_are_told_apart():
    last = ((2, 0.5), (5, 0.4), (0, 0.1))
    apart = said(last=last, n_ranks=8, class_of={2: "gemm", 5: "attention"})
    assert "last for 90 % of it (rank 2: GEMM kernels, rank 5: attention kernels)" in apart
    assert "(rank" not in said(last=last, n_ranks=8, class_of={2: "gemm", 5: "gemm"})
    lone = said(last=last, n_ranks=8, class_of={2: "gemm", 5: "carried"})
    assert "(rank" not in lone


def test_of_a_pair_only_a_rank_with_three_quarters_stands_out():
    assert "no rank stands out" in said(n_ranks=2, last=((0, 0.7), (1, 0.3)))
    assert "rank 0 was last" in said(n_ranks=2, last=((0, 0.8), (1, 0.2)))


def test_where_everything_is_carried_no_culprit_is_named():
    text = said(
        classes=(("carried", 0.94), ("diffuse", 0.06)),
        late_share=0.67,
        last=((3, 1.0),),
        late=((3, 1.0),),
        cpu_share_of_tax=1.0,
        gpu_only_share=0.0,
        gpu_only_tax_us=None,
    )
    assert "no culprit can be named; rank 3 was last for 100 % of it" in text
    assert (
        "carried: 67 % of the tax itself was there when the windows opened; rank 3" in text
    )
    assert "rank 3 was late already for 100 % of it; no single item made them late" in text
    assert "host-bound: paths through the CPU hold 100 % of the tax; no path is" in text


def test_a_little_that_is_carried_is_not_worth_a_sentence():
    even = ((0, 0.3), (1, 0.3), (2, 0.2), (3, 0.2))
    assert "carried" not in said(late_share=0.09, late=even)
    assert "carried" not in said(late_share=None)
    text = said(late_share=0.11, late=even)
    assert (
        "carried: 11 % of the tax itself was there when the windows opened; no rank" in text
    )
    assert "no rank stands out (rank 0 was late already for 30 % of it)" in text
    assert "no single item" not in text


def test_what_was_carried_is_laid_to_those_who_were_late_not_to_those_who_were_last():
    last = ((2, 0.7), (0, 0.1), (1, 0.1), (3, 0.1))
    text = said(last=last, late_share=0.2, late=((1, 0.8), (2, 0.2)))
    assert "rank 2 was last for 70 % of it" in text
    assert "rank 1 was late already for 80 % of it" in text
    assert "rank 2 was late" not in text


def test_carried_is_not_said_of_tax_that_a_culprit_within_the_window_explains():
    assert "carried" not in said(carried_share=0.4, late_share=0.0)


def test_host_bound_is_said_from_half_of_the_tax_on():
    text = said(cpu_share_of_tax=0.997, gpu_only_share=0.39, gpu_only_tax_us=(16.0, 87.0))
    assert "host-bound: paths through the CPU hold 99.7 % of the tax" in text
    assert "GPU-only paths (39 %) have a tax of 16 µs to 87 µs" in text
    below = said(cpu_share_of_tax=0.49, gpu_only_share=0.9)
    assert "host-bound" not in below
    assert "90 % of the paths of stragglers are GPU only" in below
    assert "all paths of stragglers are GPU only" in said()


def test_one_gpu_only_path_has_one_tax():
    text = said(cpu_share_of_tax=0.9, gpu_only_share=0.1, gpu_only_tax_us=(16.0, 16.0))
    assert "have a tax of 16 µs" in text
    assert "16 µs to" not in text


def test_a_wait_that_is_passed_on_names_where_it_began():
    text = said(
        propagated_share=0.59, passed_on_by=("tp",), origins=((5, 0.8), (2, 0.1)), n_ranks=8
    )
    assert (
        "passed on: 59 % of the tax itself is waiting for other groups (tp); rank" in text
    )
    assert "rank 5 was the origin of 80 % of it" in text
    even = said(propagated_share=0.2, origins=((1, 0.3),))
    assert "waiting for other groups; no rank stands out" in even
    unknown = said(propagated_share=0.2, origins=())
    assert "waiting for other groups; where that began is not known" in unknown
    assert "passed on" not in said(propagated_share=0.05)


def test_only_culprits_are_called_waits_for_other_groups():
    nobody = said(classes=(("passed_on", 0.8), ("gemm", 0.2)), propagated_share=0.0)
    assert "culprits are GEMM kernels (in collectives with 20 % of the tax);" in nobody
    assert "with 80 % of the tax stragglers waited in several collectives of" in nobody
    assert "stragglers waited" not in said(classes=(("passed_on", 0.09), ("gemm", 0.91)))
    proven = said(classes=(("communication", 0.8), ("collective", 0.2)))
    assert (
        "waits for other groups (in collectives with 80 % of the tax) and earlier "
        "collectives (20 %)" in proven
    )
    for name, text in (("transfer", "transfers of coll"), ("cpu_launch", "runtime calls")):
        told = said(classes=((name, 1.0),))
        assert f"culprits are {text}" in told
        assert "other groups" not in told


def test_where_all_ranks_tie_nobody_was_last():
    text = said(last=(), class_of={})
    assert "no rank alone was last for any of it (ranks tie)" in text


def test_names_that_occur_more_often_on_one_rank_are_counted():
    text = said(slipped=12)
    assert "before 12 of 50 collectives names occur more often on one rank than on" in text
    assert "occur more often" not in said()


def test_the_worst_culprit_is_named_short_with_its_rank_and_how_often():
    worst = Culprit("void k<int>(int*)", "other", 2, 3, 0.999)
    assert "most of all 3 × k<int> on rank 2: 99.9 % of the tax" in said(worst=worst)
    once = replace(worst, count=1)
    assert "most of all k<int> on rank 2" in said(worst=once)
    assert "most of all" not in said(worst=replace(worst, share_of_tax=0.05))


def test_diffuse_and_hidden_waits_are_said_where_they_matter():
    assert "diffuse: in collectives with 30 % of the tax no single item" in said(
        classes=(("diffuse", 0.3),)
    )
    assert "diffuse" not in said(classes=(("gemm", 0.95), ("diffuse", 0.05)))
    assert "40 % of the wait is hidden" in said(overlapped_share=0.4)
    assert "hidden" not in said(overlapped_share=0.01)
    assert "hidden" not in said(overlapped_share=None)


def test_equation_2_holds_or_not_or_proves_nothing():
    assert "equation 2 holds (slope 1.000, R² 1.000, random paths 0.47)" in said()
    steep = replace(GOOD, slope=1.06)
    assert "equation 2 does not hold (slope 1.060" in said(fit=steep)
    assert "equation 2 does not hold" in said(fit=replace(GOOD, r2=0.94))
    same = replace(GOOD, placebo_r2=0.96)
    assert "equation 2 proves nothing here: random paths fit as well" in said(fit=same)
    assert "random paths" not in said(fit=replace(GOOD, placebo_r2=NAN))


def test_equation_2_needs_three_collectives_that_differ():
    few = Fit(2, NAN, NAN, NAN, NAN, 0.0, 0.0)
    assert "cannot be checked: 2 collectives, at least 3 are needed" in said(fit=few)
    one = replace(few, n=1)
    assert "cannot be checked: 1 collective, at" in said(fit=one)
    equal = replace(few, n=9)
    assert "cannot be checked: all taxes or all paths are equal" in said(fit=equal)


@pytest.mark.parametrize(
    ("why", "text"),
    [
        ("queue", "4.9 ms more stream queueing on rank 2 (its kernels were launched, and"),
        ("launch", "4.9 ms more launch latency on rank 2"),
        ("cross", "4.9 ms more latency between streams on rank 2"),
        ("other", "5.4 ms off, less than half of it launch, queueing or cross-stream"),
    ],
)
def test_outliers_are_listed_with_the_idle_time_that_explains_the_largest(why, text):
    far = Outlier("tp", "0-3", "all_reduce", 11, -5_400.0, why, 4_900.0, 2)
    assert f"; outlier #11: {text}" in said(outliers=(far,))


def test_outliers_of_siblings_are_named_with_the_ranks_of_their_group():
    far = Outlier("tp", "4-7", "all_reduce", 11, 5_400.0, "queue", 4_900.0, 5)
    text = said(outliers=(far, replace(far, group_ranks="0-3")), n_groups=2)
    assert "; outliers #11 of ranks 4-7, #11 of ranks 0-3: the largest 4.9 ms more" in text


def test_three_outliers_are_named_and_the_others_counted():
    one = Outlier("tp", "0-3", "all_reduce", 0, 230.0, "queue", 200.0, 0)
    far = [replace(one, index=number) for number in range(5)]
    text = said(outliers=tuple(far), fit=replace(GOOD, r2=0.5))
    assert "does not hold" in text
    assert "; outliers #0, #1, #2 and 2 more: the largest 200 µs more stream" in text


def test_other_work_is_told_from_other_shapes_and_from_equal_work():
    assert "ranks launched" not in said()
    text = said(equal_work=48, equal_geometry=47)
    assert "different kernels before 2 of 50 collectives: there variation is work" in text
    shapes = said(equal_geometry=49)
    assert "the same kernels in other shapes before 1 of 50 collectives" in shapes


def test_what_was_not_attributed_is_counted_by_reason():
    text = said(asked=53, left_out=(("no fence", 2), ("path unknown", 1)))
    assert "3 of 53 collectives not attributed: 2 no fence, 1 path unknown" in text
    assert "not attributed" not in said()


def test_without_a_wait_or_without_a_result_nobody_is_named():
    none = {"last": (), "origins": (), "classes": ()}
    shares = dict.fromkeys(
        ("cpu_share_of_tax", "late_share", "propagated_share", "overlapped_share")
    )
    text = said(waited=0, gpu_only_tax_us=None, **none, **shares)
    assert text.startswith("nobody waited in any of 50 collectives")
    assert "rank" not in text.replace("random", "").replace("ranks launched", "")
    nothing = said(told=0, waited=0, compared=0, equal_work=0, equal_geometry=0, **none,
                   **shares)  # fmt: skip
    assert nothing.startswith("no collective could be attributed")
    assert "50 of 50 collectives not attributed" in nothing


def test_what_is_nearly_all_is_not_called_all():
    assert "rank 2 was last for > 99.9 % of it" in said(last=((2, 0.99999), (1, 0.00001)))


@pytest.mark.parametrize(
    ("method", "kernels"),
    [("longest", "the longest kernels"), ("last-kernel", "the last kernels")],
)
def test_methods_without_paths_say_nothing_of_paths(method, kernels):
    changes = {
        "classes": (("gemm", 0.6), ("passed_on", 0.2), ("diffuse", 0.2)),
        "late_share": 0.3,
        "late": ((1, 1.0),),
        "propagated_share": 0.5,
        "slipped": 3,
    }
    text = said(method=method, explained_share=0.003, **changes)
    assert f"{kernels} are GEMM kernels (in collectives with 60 % of the tax)" in text
    assert ", which explain 0.3 % of the tax itself; no rank" in text
    words = ("culprit", "path", "equation", "carried", "passed on", "diffuse", "occur")
    assert not [word for word in words if word in text]
    every = said(**changes)
    assert all(word in every for word in words)


def test_a_culprit_without_a_name_is_told_to_have_none():
    worst = Culprit("", "other", 2, 5, 0.9)
    assert "most of all 5 × (no name) on rank 2: 90 % of the tax" in said(worst=worst)
