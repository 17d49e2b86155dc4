"""Operators that are delayed: which, when, how long, and what is told of it."""

import threading
import time
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("torch", reason="needs the extra torch")

import torch

from synctax.errors import SynctaxError
from synctax.record import Delay, DelayRule, delay
from synctax.record.truth import read_truth
from tests.laws import examples

pytestmark = pytest.mark.torch

A = torch.ones(4, 4)


def mm(times=1):
    for _ in range(times):
        torch.mm(A, A)


def told(mode):
    return [(made.step, made.operator, made.nth, made.rule) for made in mode.made]


def run(*rules, steps=3, times=4, rank=0, first_step=0):
    with Delay(*rules, rank=rank, first_step=first_step) as mode:
        for _ in range(steps):
            mm(times)
            mode.step()
    return mode


# ------------------------------------------------------------------ which


@settings(max_examples=examples(40))
@given(
    st.integers(0, 3),
    st.lists(st.integers(0, 5), max_size=3).map(tuple),
    st.integers(0, 3),
    st.integers(1, 4),
)
def test_a_rule_delays_its_occurrences_in_its_steps_on_its_rank(rank, nth, first, length):
    rule = DelayRule(
        "aten::mm", us=0, rank=1, nth=nth, first_step=first, end_step=first + length
    )
    expected = [
        (step, "aten::mm", n, 0)
        for step in range(3)
        for n in range(4)
        if rank == 1 and n in nth and first <= step < first + length
    ]
    assert told(run(rule, rank=rank)) == expected


@given(st.integers(1, 9), st.integers(0, 99), st.integers(0, 3))
def test_picks_are_so_many_of_the_step_before_and_the_same_each_time(pick, seed, rank):
    rule = DelayRule("aten::mm", us=0, pick=pick, seed=seed)
    first, again = (told(run(rule, rank=rank)) for _ in range(2))
    assert first == again
    by_step = [[n for step, _, n, _ in first if step == wanted] for wanted in range(3)]
    assert [len(set(chosen)) for chosen in by_step] == [0, min(pick, 4), min(pick, 4)]
    assert all(n in range(4) for chosen in by_step for n in chosen)


def test_two_rules_of_one_seed_choose_and_draw_apart():
    rule = DelayRule("aten::mm", us=0, us_max=0.01, law="uniform", pick=5)
    made = run(rule, rule, steps=2, times=40).made
    picks = [[one.nth for one in made if one.rule == number] for number in (0, 1)]
    assert picks[0] != picks[1]
    amounts = [{one.asked_us for one in made if one.rule == number} for number in (0, 1)]
    assert amounts[0].isdisjoint(amounts[1])


def test_picks_differ_between_steps_ranks_and_seeds():
    def chosen(steps=2, rank=0, seed=0):
        rule = DelayRule("aten::mm", us=0, pick=5, seed=seed)
        made = run(rule, steps=steps, times=40, rank=rank).made
        return [one.nth for one in made if one.step == steps - 1]

    others = [chosen(steps=3), chosen(rank=1), chosen(seed=1)]
    assert all(other != chosen() for other in others)


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("aten::add", ["aten::add"]),
        ("aten::add*", ["aten::add", "aten::add_", "aten::addmm"]),
        ("aten::ADD", []),
        ("aten::add?m", ["aten::addmm"]),
        ("aten::*mm", ["aten::mm", "aten::addmm"]),
    ],
)
def test_a_pattern_means_names_without_overloads(pattern, names):
    with Delay(DelayRule(pattern, us=0), rank=0) as mode:
        (A + A) + 1  # two overloads of one name
        A.clone().add_(A)
        mm()
        torch.addmm(A, A, A)
    assert list(dict.fromkeys(made.operator for made in mode.made)) == sorted(
        names, key=["aten::add", "aten::add_", "aten::mm", "aten::addmm"].index
    )
    if pattern == "aten::add":
        assert [made.nth for made in mode.made] == [0, 1]


def test_two_rules_that_match_delay_twice():
    mode = run(
        DelayRule("aten::mm", us=0, nth=(1,)), DelayRule("*", us=0, nth=(1,)), steps=1
    )
    assert told(mode) == [(0, "aten::mm", 1, 0), (0, "aten::mm", 1, 1)]


def test_steps_may_be_numbered_by_the_job():
    with Delay(DelayRule("aten::mm", us=0), rank=0, first_step=7) as mode:
        mm()
        mode.step(20)
        mm()
        mode.step()
        mm()
    assert [made.step for made in mode.made] == [7, 20, 21]


def test_results_are_those_without_delays():
    with Delay(DelayRule("*", us=0), rank=0):
        inside = torch.nn.functional.linear(A, 2 * A, bias=A[0]).sum()
    assert inside == torch.nn.functional.linear(A, 2 * A, bias=A[0]).sum()


# ------------------------------------------------------------------ how long


@pytest.mark.parametrize("how", ["sleep", "spin"])
def test_a_delay_lasts_at_least_what_was_asked(how):
    mode = run(DelayRule("aten::mm", us=400, how=how), steps=1)
    assert all(made.end_ns - made.start_ns >= 400_000 for made in mode.made)


def test_a_spin_never_sleeps(monkeypatch):
    monkeypatch.setattr(delay.time, "sleep", lambda _: pytest.fail("slept"))
    assert len(run(DelayRule("aten::mm", us=400, how="spin"), steps=1).made) == 4
    assert len(run(DelayRule("aten::mm", us=100), steps=1).made) == 4  # too short to sleep


@given(st.integers(0, 99))
def test_amounts_follow_their_law_and_seed(seed):
    uniform = DelayRule("aten::mm", us=1, us_max=3, law="uniform", seed=seed)
    exponential = DelayRule("aten::mm", us=2, law="exponential", seed=seed)
    amounts = [made.asked_us for made in run(uniform).made]
    assert all(1 <= us <= 3 for us in amounts)
    assert len(set(amounts)) == 12
    assert amounts == [made.asked_us for made in run(uniform).made]
    assert min(made.asked_us for made in run(exponential).made) >= 0


def test_the_mean_of_an_exponential_law_is_what_was_asked():
    rule = delay._Rule(0, DelayRule("aten::mm", us=50, law="exponential"), 0)
    rule.begin(0, 0)
    drawn = [rule.next()[1] for _ in range(4000)]
    assert sum(drawn) / len(drawn) == pytest.approx(50, rel=0.1)  # 6 standard errors


def test_an_exponential_law_of_nothing_delays_by_nothing():
    assert {
        made.asked_us for made in run(DelayRule("*", us=0, law="exponential")).made
    } == {0}


# ------------------------------------------------------------------ where


def test_backward_is_delayed_too():
    leaf = torch.ones(4, 4, requires_grad=True)
    with Delay(DelayRule("aten::mm", us=0), rank=0) as mode:
        (leaf @ leaf).sum().backward()
    assert [made.nth for made in mode.made] == [0, 1, 2]


class Nested(torch.autograd.Function):
    """Runs backward within backward, so deep that autograd takes another thread."""

    @staticmethod
    def forward(ctx, x, depth):
        ctx.depth = depth
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        with torch.enable_grad():
            x = torch.ones(2, 2, requires_grad=True)
            y = Nested.apply(x, ctx.depth - 1) if ctx.depth else x @ x
            y.sum().backward()
        return grad, None


def test_threads_of_autograd_are_delayed_too():
    with Delay(DelayRule("aten::mm", us=0), rank=0) as mode:
        Nested.apply(torch.ones(2, 2, requires_grad=True), 80).sum().backward()
    assert len(mode.made) == 3
    assert {made.thread for made in mode.made} != {threading.get_native_id()}


def test_fake_and_traced_tensors_are_not_delayed():
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx

    rule = DelayRule("aten::mm", us=0)
    with Delay(rule, rank=0) as mode:
        with FakeTensorMode():
            fake = torch.ones(2, 2)
            fake @ fake
        fake @ fake
        make_fx(lambda x: x @ x)(A)
        with FakeTensorMode(), Delay(rule, rank=0) as inner:
            torch.ones(2, 2) @ torch.ones(2, 2)
    assert mode.made == inner.made == []


def test_a_forked_child_is_not_delayed(monkeypatch):
    with Delay(DelayRule("aten::mm", us=0), rank=0) as mode:
        monkeypatch.setattr(delay.os, "getpid", lambda: -5)
        mm()
        monkeypatch.undo()
        mm()
    assert [made.nth for made in mode.made] == [0]


def test_other_modes_see_every_operator_once():
    from torch.utils.flop_counter import FlopCounterMode

    with (
        Delay(DelayRule("aten::mm", us=0), rank=0) as outer,
        FlopCounterMode(display=False) as f,
    ):
        mm()
    with (
        FlopCounterMode(display=False) as g,
        Delay(DelayRule("aten::mm", us=0), rank=0) as inner,
    ):
        mm()
    assert f.get_total_flops() == g.get_total_flops() == 2 * 4**3
    assert len(outer.made) == len(inner.made) == 1


def test_below_another_mode_it_stays_and_does_nothing():
    from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode

    class Other(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    mode, other = Delay(DelayRule("aten::mm", us=0), rank=0), Other()
    mode.__enter__()
    other.__enter__()
    mode.__exit__(None, None, None)
    assert _get_current_dispatch_mode() is other
    mm()
    other.__exit__(None, None, None)
    assert _get_current_dispatch_mode() is mode
    mm()
    mode.__exit__(None, None, None)
    assert _get_current_dispatch_mode() is None
    assert mode.made == []


def test_operators_of_higher_order_run_under_it():
    class Whole:
        """As torch's, which have a name and no schema."""

        def __call__(self, *args, **kwargs):
            return args, kwargs

        def __str__(self):
            return "cond"

    with Delay(DelayRule("cond", us=0), rank=0) as mode:
        assert mode.__torch_dispatch__(Whole(), (), (1,), {"a": 2}) == ((1,), {"a": 2})
    assert told(mode) == [(0, "cond", 0, 0)]


def test_a_compiled_function_runs_and_is_delayed_where_its_graph_calls_operators():
    compiled = torch.compile(lambda x: (x @ x).relu(), backend="eager", fullgraph=True)
    with Delay(DelayRule("aten::mm", us=0), rank=0) as mode:
        assert torch.equal(compiled(A), (A @ A).relu())
    assert [made.nth for made in mode.made] == [0, 1]


# ------------------------------------------------------------------ what is told


def test_truth_tells_rules_occurrences_and_delays(tmp_path):
    rule = DelayRule("aten::mm", us=0, rank=1, nth=(0,))
    for rank in (0, 1):
        with Delay(rule, folder=tmp_path, rank=rank) as mode:
            mm(3)
            mode.step()
            mm(2)
            mode.step()
        truth = read_truth(tmp_path / f"rank{rank}_delays.json")
        assert truth.rules == (rule,)
        assert truth.occurrences == {0: {0: 3}, 1: {0: 2}, 2: {0: 0}}
        assert truth.delays == tuple(mode.made)
        assert len(mode.made) == 2 * rank


def test_times_are_those_of_the_clock_of_the_day():
    before = time.time_ns()
    mode = run(DelayRule("aten::mm", us=10), steps=1)
    times = [t for made in mode.made for t in (made.start_ns, made.end_ns)]
    assert times == sorted(times)
    assert before <= times[0] <= times[-1] <= time.time_ns()
    assert {made.thread for made in mode.made} == {threading.get_native_id()}


def test_a_clock_that_is_set_back_amid_a_delay_does_not_shorten_it(monkeypatch):
    clock = SimpleNamespace(
        time_ns=iter([10**18, 0]).__next__,
        perf_counter_ns=time.perf_counter_ns,
        sleep=time.sleep,
    )
    monkeypatch.setattr(delay, "time", clock)
    (made,) = run(DelayRule("aten::mm", us=100), steps=1, times=1).made
    assert made.start_ns == 10**18
    assert 100_000 <= made.end_ns - made.start_ns < 10**10


def test_the_rank_is_that_of_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("RANK", "3")
    with Delay(DelayRule("aten::mm", us=0, rank=3), folder=tmp_path) as mode:
        mm()
    assert len(mode.made) == 1
    assert read_truth(tmp_path / "rank3_delays.json").rank == 3
    assert Delay().truth().rank == 3


# ------------------------------------------------------------------ on a GPU


class Cuda:
    """Stands for torch.cuda: a clock of 1.5 GHz, and a list of what was launched."""

    def __init__(self):
        self.launched, self.device_now = [], 0
        self.here = True

    def is_available(self):
        return self.here

    def current_device(self):
        return self.device_now

    def device(self, which):
        outer = self

        class Device:
            def __enter__(self):
                self.before, outer.device_now = outer.device_now, which

            def __exit__(self, *_):
                outer.device_now = self.before

        return Device()

    def _sleep(self, cycles):
        self.launched.append((self.device_now, cycles))

    def Event(self, enable_timing):  # noqa: N802 - as torch has it
        assert enable_timing
        return SimpleNamespace(
            record=lambda: None,
            synchronize=lambda: None,
            elapsed_time=lambda end: delay.CALIBRATION_CYCLES / 1500e3,
        )


@pytest.fixture
def cuda(monkeypatch):
    cuda = Cuda()
    monkeypatch.setattr(torch, "cuda", cuda)
    return cuda


def test_on_a_gpu_a_kernel_spins_for_the_cycles_of_the_delay(cuda, monkeypatch):
    with Delay(DelayRule("aten::mm", us=200, side="gpu", nth=(1,)), rank=0) as mode:
        cuda.launched.clear()
        mm(3)
    assert cuda.launched == [(0, 300_000)]
    assert [(made.nth, made.side, made.asked_us) for made in mode.made] == [(1, "gpu", 200)]


def test_the_kernel_is_launched_where_the_operator_runs(cuda):
    tensor = SimpleNamespace(is_cuda=True, device="cuda:2")
    delay.launch_spin(70.4, (None, 3, tensor))
    assert cuda.launched == [("cuda:2", 70)]
    assert cuda.current_device() == 0


def test_without_a_gpu_a_delay_on_it_is_refused(cuda):
    cuda.here = False
    with pytest.raises(SynctaxError, match="needs a GPU"):
        Delay(DelayRule("aten::mm", us=1, side="gpu")).__enter__()
