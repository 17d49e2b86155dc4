"""The contention study: every workload beside every other."""

from dataclasses import replace
from math import nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from synctax.cluster.characterize.profile import Profile
from synctax.cluster.choices import BASES
from synctax.cluster.pairs import VARIANTS, compare, pairs
from synctax.cluster.settings import Contention

NIC = 625e6

times_s = st.floats(0.01, 10)


def profile(
    name: str, compute_s: float, network_s: float, share: float = 1.0, gpus: int = 8
) -> Profile:
    """A workload that sends at a share of the NIC's rate while it sends."""
    sent = network_s * share * NIC
    return Profile(name, gpus, "v100", compute_s, network_s, nan, sent, 1, "", "", "")


HALF = profile("half", 0.5, 0.5)
LIGHT = profile("light", 0.9, 0.1)
ALWAYS = profile("always", 0.0, 2.0)
LOCAL = profile("local", 1.0, 0.0)


def run(*profiles: Profile, **contention):
    return pairs(profiles, nic_bytes_per_s=NIC, contention=Contention(**contention))


def test_average_rates_that_fit_change_nothing_and_others_stretch_network_time():
    found = run(HALF, LIGHT, ALWAYS)
    # sums of average rates over the NIC's: by row the workload, by column the other
    load = np.array([[1.0, 0.6, 1.5], [0.6, 0.2, 1.1], [1.5, 1.1, 2.0]])
    factor = np.maximum(1, load)
    assert_allclose(found.factor, factor)
    network = np.array([0.5, 0.1, 1.0])[:, None]
    assert_allclose(found.iteration_change, 1 + network * (factor - 1))


@pytest.mark.parametrize(
    ("basis", "factor"), [("iteration", 1.1), ("network", 2.0), ("overlap", 2.0)]
)
def test_the_basis_tells_what_the_other_is_expected_to_send(basis, factor):
    found = run(LIGHT, ALWAYS, basis=basis)
    assert found.factor[0, 1] == pytest.approx(factor)


def test_what_sends_nothing_neither_suffers_nor_disturbs():
    for basis in BASES:
        found = run(LOCAL, ALWAYS, basis=basis)
        assert found.iteration_change[0].tolist() == [1, 1]
        assert found.iteration_change[1, 0] == 1


@given(
    st.lists(st.tuples(times_s, times_s, st.floats(0.1, 1)), min_size=1, max_size=4),
    st.sampled_from(VARIANTS),
)
def test_no_workload_gains_from_another_and_names_do_not_matter(some, variant):
    model, basis, scope = variant
    profiles = [profile(str(at), *one) for at, one in enumerate(some)]
    how = {"model": model, "basis": basis, "static_scope": scope}
    found = run(*profiles, **how)
    assert np.all(found.iteration_change >= 1 - 1e-12)
    assert np.all(found.factor >= 1)
    back = run(*profiles[::-1], **how)
    assert_allclose(back.iteration_change[::-1, ::-1], found.iteration_change)


@given(times_s, times_s, st.floats(0.1, 1))
def test_a_slower_nic_stretches_no_less(compute_s, network_s, share):
    one = profile("one", compute_s, network_s, share)
    fast, slow = (
        pairs([one], nic_bytes_per_s=NIC * times, contention=Contention())
        for times in (1.0, 0.7)
    )
    assert slow.factor[0, 0] >= fast.factor[0, 0] - 1e-12


def test_the_change_is_network_time_but_for_a_penalty_on_whole_iterations():
    assert_array_equal(run(ALWAYS, HALF).network_share, [[1, 1], [1, nan]])
    penalty = run(ALWAYS, HALF, model="pollux").network_share
    assert_allclose(penalty, [[1, 1], [0.5, 0.5]])
    assert np.isnan(run(ALWAYS, HALF, model="tiresias").network_share).all()


def test_the_summary_is_of_all_pairs():
    told = run(HALF, ALWAYS).summary()
    changes = [1.0, 1.25, 1.5, 2.0]
    assert told.iteration_change_mean == pytest.approx(np.mean(changes))
    assert told.iteration_change_max == pytest.approx(2.0)
    assert (told.factor_min, told.factor_max) == (1.0, pytest.approx(2.0))
    assert (told.pairs_slowed, told.pairs) == (3, 4)
    assert (told.network_share_mean, told.network_share_min) == (1, 1)
    assert (told.model, told.demand_basis, told.static_scope) == (
        "mosim",
        "iteration",
        None,
    )


def test_models_are_compared_on_the_same_pairs():
    told = compare([HALF, ALWAYS], nic_bytes_per_s=NIC, contention=Contention())
    by_name = {(one.model, one.demand_basis, one.static_scope): one for one in told}
    assert len(by_name) == len(VARIANTS)
    none = by_name["tiresias", None, None]
    assert (none.iteration_change_max, none.pairs_slowed) == (1.0, 0)
    whole = by_name["pollux", None, "time"]
    assert whole.iteration_change_mean == pytest.approx(1.1)
    part = by_name["pollux", None, "network"]
    assert part.iteration_change_mean == pytest.approx((1.05 + 1.1) / 2)
    assert by_name["mosim", "iteration", None] == replace(
        run(HALF, ALWAYS).summary(),
        network_share_mean=pytest.approx(nan, nan_ok=True),
        network_share_min=pytest.approx(nan, nan_ok=True),
    )


def test_rows_are_ordered_pairs():
    frame = run(HALF, ALWAYS).to_frame()
    assert list(zip(frame["workload"], frame["other"], strict=True)) == [
        ("half", "half"),
        ("half", "always"),
        ("always", "half"),
        ("always", "always"),
    ]
    assert_allclose(frame["pair_s"], frame["iteration_s"] * frame["iteration_change"])
    assert_allclose(
        frame["pair_s"], frame["compute_s"] + frame["network_s"] * frame["factor"]
    )
    assert frame["network_share"].isna().tolist() == [True, False, False, False]


@pytest.mark.parametrize(
    "profiles", [[], [HALF, profile("other", 1, 1, gpus=4)], [profile("odd", 1, 1, gpus=3)]]
)
def test_jobs_that_make_no_pairs_are_refused(profiles):
    with pytest.raises(ValueError, match="GPUs are"):
        run(*profiles)
