"""Which process becomes a rank, and what ends its steps: with a torch of a few lines."""

import asyncio
import importlib
import sys
import threading
from importlib.machinery import ModuleSpec
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synctax.record import stepping
from synctax.record.defined import Target, when_defined
from tests.record import fake_torch


class Steps:
    """Counts what it is told."""

    def __init__(self):
        self.begun = self.ended = 0
        self.over = False

    def begin(self):
        self.begun += 1

    def step(self):
        self.ended += 1


@pytest.fixture
def steps():
    return Steps()


@pytest.fixture
def torch(tmp_path, monkeypatch):
    """The small torch, imported anew; what was imported before is back afterwards."""
    for name in list(sys.modules):
        if name.partition(".")[0] == "torch":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(fake_torch.write(tmp_path))
    yield importlib.import_module("torch")
    for name in list(sys.modules):
        if name.partition(".")[0] == "torch":
            del sys.modules[name]


# ------------------------------------------------------------------ optimizers


def test_each_step_of_an_optimizer_ends_a_step_and_returns_what_it_did(torch, steps):
    stepping.by_optimizer(steps)
    optimizer = torch.optim.SGD()
    assert [optimizer.step() for _ in range(3)] == ["stepped"] * 3
    assert (steps.begun, steps.ended) == (0, 3)


def test_a_second_optimizer_ends_no_step(torch, steps):
    stepping.by_optimizer(steps)
    first, second = torch.optim.SGD(), torch.optim.SGD()
    for _ in range(3):
        first.step()
        second.step()
    assert steps.ended == 3


@given(st.lists(st.integers(0, 3), max_size=40))
def test_the_steps_are_those_of_the_optimizer_that_took_most(order):
    steps, calls = Steps(), []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stepping, "_around_optimizers", lambda _, after: calls.append(after))
        stepping.by_optimizer(steps)
    optimizers = [Unhashable() for _ in range(4)]
    for number, which in enumerate(order, 1):
        calls[0](optimizers[which])
        assert steps.ended == max(map(order[:number].count, range(4)))


def test_an_optimizer_that_a_rank_only_tries_shifts_no_step(torch):
    counts = []
    stepping.by_optimizer(steps := Steps())
    trial, other = torch.optim.SGD(), torch.optim.SGD()
    for _ in range(3):
        trial.step()
    for _ in range(10):
        other.step()
        counts.append(steps.ended)
    assert counts == [3, 3, *range(3, 11)]


def test_counting_goes_on_with_another_when_the_first_optimizer_is_deleted(torch, steps):
    stepping.by_optimizer(steps)
    first, second = torch.optim.SGD(), torch.optim.SGD()
    first.step()
    del first
    second.step()
    second.step()
    assert steps.ended == 3


def test_an_optimizer_that_steps_by_another_ends_one_step(torch, steps):
    class Outer(torch.optim.Optimizer):
        def __init__(self):
            super().__init__()
            self.inner = torch.optim.SGD()

        def step(self):
            self.inner.step()
            self.inner.step()

    class Derived(torch.optim.SGD):
        def step(self):
            return super().step()

    stepping.by_optimizer(steps)
    torch.optim.SGD()  # hooked on its own, too
    for make in (Outer, Derived):
        optimizer = make()
        optimizer.step()
        optimizer.step()
        del optimizer
    assert steps.ended == 4


def test_a_step_that_raises_is_none(torch, steps):
    class Bad(torch.optim.Optimizer):
        def step(self):
            raise ZeroDivisionError

    stepping.by_optimizer(steps)
    with pytest.raises(ZeroDivisionError):
        Bad().step()
    torch.optim.SGD().step()
    assert steps.ended == 1


def test_optimizers_that_step_in_two_threads_at_once_end_their_own_steps(torch, steps):
    inside, done = threading.Event(), threading.Event()

    class Slow(torch.optim.Optimizer):
        def step(self):
            inside.set()
            assert done.wait(10)

    stepping.by_optimizer(steps)
    other = threading.Thread(target=Slow().step)
    other.start()
    assert inside.wait(10)
    torch.optim.SGD().step()
    assert steps.ended == 1
    done.set()
    other.join()


def test_nothing_is_told_once_it_is_over(torch, steps):
    stepping.by_optimizer(steps)
    optimizer = torch.optim.SGD()
    optimizer.step()
    steps.over = True
    assert optimizer.step() == "stepped"
    assert steps.ended == 1


def test_a_torch_compile_that_is_there_already_does_not_compile_ours(torch):
    importlib.import_module("torch._dynamo")
    called = []
    stepping._untraced(lambda *args: called.append(args))(1)
    assert called == [(1, "disabled")]


def test_what_torch_compile_meets_of_ours_is_not_compiled(torch):
    called = []
    call = stepping._untraced(lambda *args: called.append(args))
    call(1)
    importlib.import_module("torch._dynamo")
    call(2)
    assert called == [(1,), (2, "disabled")]


# ------------------------------------------------------------------ the whole run


@pytest.mark.parametrize(
    "act",
    [
        lambda torch: torch.nn.Module()(1),
        lambda torch: torch.optim.SGD().step(),
        lambda torch: torch.distributed.init_process_group("gloo"),
        lambda torch: torch.distributed.distributed_c10d.init_process_group(),
    ],
)
def test_the_run_begins_with_a_module_an_optimizer_or_the_process_group(torch, steps, act):
    stepping.by_run(steps)
    act(torch)
    assert steps.begun == 1
    assert torch.nn.modules.module.hooks == {}


def test_a_module_that_a_loader_of_data_runs_begins_nothing(torch, steps):
    stepping.by_run(steps)
    importlib.import_module("torch.utils.data").worker = "worker 0"
    torch.nn.Module()(1)
    assert steps.begun == 0


def test_a_torch_without_distributed_can_be_recorded(torch, steps):
    del sys.modules["torch.distributed.distributed_c10d"]
    stepping.by_run(steps)
    torch.nn.Module()(1)
    assert steps.begun == 1


# ------------------------------------------------------------------ functions


@pytest.fixture
def told():
    return []


def test_calls_of_a_function_of_a_module_that_is_imported_later_are_steps(
    tmp_path, monkeypatch, steps, told
):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "some_train.py").write_text("def step(x):\n    'Doc.'\n    return 1 / x\n")
    stepping.by_function(Target.parse("some_train:step"), steps, told.append)
    assert told == ["some_train was never imported"]
    module = importlib.import_module("some_train")
    monkeypatch.delitem(sys.modules, "some_train")
    assert told[1:] == ["some_train:step was never called, or within torch.compile only"]
    assert [module.step(2), module.step(x=4)] == [0.5, 0.25]
    with pytest.raises(ZeroDivisionError):
        module.step(0)
    assert (steps.begun, steps.ended) == (3, 2)
    assert (module.step.__name__, module.step.__doc__) == ("step", "Doc.")


def test_a_function_within_torch_compile_is_not_counted(torch, steps, told, monkeypatch):
    compiler = sys.modules["torch.compiler"]
    names = {"__name__": "compiled_module", "step": lambda: "done"}
    monkeypatch.setitem(sys.modules, "compiled_module", SimpleNamespace(**names))
    stepping.by_function(Target("compiled_module", "step"), steps, told.append)
    step = sys.modules["compiled_module"].step
    compiler.compiling = True
    assert (step(), steps.ended) == ("done", 0)
    compiler.compiling = False
    assert (step(), steps.ended) == ("done", 1)


@pytest.fixture
def counted(steps):
    def counted(function):
        return stepping._counted(function, steps, lambda: steps.over)

    return counted


def test_a_coroutine_ends_a_step_when_it_has_been_awaited(steps, counted):
    seen = []

    async def function(x):
        seen.append((steps.begun, steps.ended))
        await asyncio.sleep(0)
        return 1 / x

    call = counted(function)
    waiting = call(2)
    assert (steps.begun, steps.ended) == (0, 0)
    assert asyncio.run(waiting) == 0.5
    assert (steps.begun, steps.ended, seen) == (1, 1, [(1, 0)])
    with pytest.raises(ZeroDivisionError):
        asyncio.run(call(0))
    steps.over = True
    assert asyncio.run(call(4)) == 0.25
    assert (steps.begun, steps.ended) == (2, 1)


def test_a_generator_ends_a_step_when_it_is_exhausted(steps, counted):
    def function(n):
        yield from range(n)
        return "end"

    call = counted(function)

    def outer():
        return (yield from call(3))

    running = outer()
    assert [next(running) for _ in range(3)] == [0, 1, 2]
    assert (steps.begun, steps.ended) == (1, 0)
    with pytest.raises(StopIteration) as stop:
        next(running)
    assert (stop.value.value, steps.ended) == ("end", 1)
    steps.over = True
    assert list(call(2)) == [0, 1]
    assert (steps.begun, steps.ended) == (1, 1)


def test_calls_are_passed_on_once_it_is_over(steps, counted):
    call = counted(lambda x: x + 1)
    assert call(1) == 2
    steps.over = True
    assert call(2) == 3
    assert (steps.begun, steps.ended) == (1, 1)


class Unhashable:
    __hash__ = None


async def asynchronous_generator():
    yield 1


class Trainer:
    """What a script may have: methods of three kinds, one more in a class within."""

    class Inner:
        def step(self):
            return "inner"

    def step(self):
        return "step"

    @staticmethod
    def static():
        return "static"

    @classmethod
    def of_class(cls):
        return cls.__name__

    value = 3


class Derived(Trainer):
    pass


@pytest.mark.parametrize(
    ("path", "call", "result"),
    [
        ("Trainer.step", lambda: Trainer().step(), "step"),
        ("Trainer.static", lambda: Trainer().static(), "static"),
        ("Trainer.of_class", lambda: Trainer().of_class(), "Trainer"),
        ("Trainer.Inner.step", lambda: Trainer.Inner().step(), "inner"),
        ("Derived.step", lambda: Derived().step(), "step"),
    ],
)
def test_methods_are_counted_however_they_are_bound(path, call, result, steps, told):
    kept = {cls: dict(vars(cls)) for cls in (Trainer, Derived, Trainer.Inner)}
    try:
        stepping.by_function(Target(__name__, path), steps, told.append)
        assert call() == result
        assert steps.ended == 1
        Trainer().step()
        assert steps.ended == 1 + (path == "Trainer.step")
    finally:
        for cls, names in kept.items():
            for name in set(vars(cls)) - set(names):
                delattr(cls, name)
            for name, value in names.items():
                if vars(cls)[name] is not value:
                    setattr(cls, name, value)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("Trainer.value", "it is no function but of type int"),
        ("Trainer.missing", "Trainer has no missing"),
        ("Trainer.Other.step", "Trainer has no Other"),
        ("Nothing.step", "has no Nothing"),
        ("nothing", "has no nothing"),
        ("asynchronous_generator", "it is an asynchronous generator"),
    ],
)
def test_what_cannot_be_counted_is_told(path, reason, steps, told):
    stepping.by_function(Target(__name__, path), steps, told.append)
    assert told[-1].startswith(f"{__name__}:{path} cannot be counted: ")
    assert reason in told[-1]


@pytest.mark.parametrize(
    ("module", "names", "known"),
    [
        ("train", {"__name__": "train"}, True),
        ("pkg.train", {"__name__": "train"}, False),
        ("__main__", {"__name__": "__main__", "__file__": "/x/train.py"}, True),
        ("train", {"__name__": "__main__", "__file__": "/x/train.py"}, True),
        ("train", {"__name__": "__mp_main__", "__file__": "/x/train.py"}, True),
        ("train", {"__name__": "__main__", "__file__": None}, False),
        ("train", {"__name__": "other", "__file__": "/x/train.py"}, False),
        (
            "pkg.train",
            {"__name__": "__main__", "__spec__": ModuleSpec("pkg.train", None)},
            True,
        ),
        ("train", {}, False),
    ],
)
def test_a_script_is_known_by_the_name_of_its_file(module, names, known):
    assert Target(module, "step").is_in(names) is known


@pytest.fixture
def running(told, monkeypatch):
    """Run a module that looks for its own function `later` with `now()`."""
    counted = []

    def wrap(function):
        counted.append(function)
        return function

    def running(code, *, tracer=None, path="later"):
        names = {"__name__": "running_module"}
        names["now"] = lambda: when_defined(
            Target("running_module", path), wrap, told.append
        )
        monkeypatch.setattr(sys, "gettrace", lambda: tracer)
        exec(compile(code, "running_module.py", "exec"), names)
        return counted

    return running


def test_a_tracer_that_is_there_is_left_alone(running, told, monkeypatch):
    monkeypatch.setattr(sys, "settrace", lambda _: pytest.fail("it is another's"))
    assert running("now()\ndef later(): pass\n", tracer=print) == []
    assert "a debugger" in told[-1]


def test_a_module_is_looked_at_before_each_line_until_it_defines_the_name(
    running, monkeypatch
):
    set_to = []
    monkeypatch.setattr(sys, "settrace", set_to.append)
    # tracing calls f_trace so; here it is called by hand, as coverage traces, too
    look = "frame.f_trace(frame, 'line', None)"
    code = (
        "import sys\nframe = sys._getframe()\nnow()\n"
        f"first = {look}\ndef later(): pass\nsecond = {look}\nafter = frame.f_trace\n"
        "assert first is not None and second is after is None\n"
    )
    (function,) = running(code)
    assert function.__name__ == "later"
    others, off = set_to
    assert (others(None, "call", None), off) == (None, None)


def test_what_a_running_module_has_already_is_replaced_at_once(running, told):
    assert len(running("def later(): pass\nnow()\n")) == 1
    assert running("now()\n", path="never") == running("", path="x")
    assert told[-1] == "running_module defines no never"


# ------------------------------------------------------------------ in scripts


@pytest.fixture
def script(tmp_path):
    """Run a script with the recorder in it; what the recorder was told, by rank."""

    def run(text, *arguments, rc=0, env=(), **plan):
        job = fake_torch.start(tmp_path, text, *arguments, env=env, **plan)
        run.stdout, run.stderr = job.communicate(timeout=60)
        assert job.returncode == rc, run.stderr
        folder = tmp_path / "traces"
        run.words = [p.read_text() for p in (folder / "record").glob("process-*.json")]
        return fake_torch.told(folder)

    return run


TRAIN = """
import torch

class Trainer:
    def step(self):
        return torch.optim.SGD().step()

def train_step():
    return Trainer().step()

if __name__ == "__main__":
    import sys
    assert sys.gettrace() is None
    for _ in range(3):
        train_step()
"""


@pytest.mark.parametrize(
    "at", ["__main__:train_step", "train:train_step", "train:Trainer.step"]
)
def test_functions_of_the_script_itself_are_counted_from_their_first_call(script, at):
    told = script(TRAIN, step_by="function", step_at=at)
    assert told == {"rank0": ["begin", *["step"] * 3, "end "]}
    assert script.stderr == ""


def test_functions_of_a_module_that_is_run_are_counted(script):
    at = {"step_by": "function", "step_at": "train:train_step"}
    assert script(TRAIN, "-m", "train", **at)["rank0"].count("step") == 3


def test_functions_of_a_module_that_itself_imports_torch_are_counted(script, tmp_path):
    (tmp_path / "model.py").write_text(TRAIN)
    text = "from model import train_step\ntrain_step()\n"
    told = script(text, step_by="function", step_at="model:train_step")
    assert told["rank0"].count("step") == 1


def test_a_torch_that_is_imported_late_finds_the_functions_that_are_there(script):
    text = "def go():\n    pass\ndef main():\n    import torch\n    go()\nmain()\n"
    assert script(text, step_by="function", step_at="train:go")["rank0"].count("step") == 1


def test_functions_of_a_script_are_counted_in_the_children_it_spawns(script):
    text = TRAIN.replace(
        "    import sys\n",
        "    import multiprocessing\n"
        "    context = multiprocessing.get_context('spawn')\n"
        "    child = context.Process(target=train_step)\n"
        "    child.start(), child.join()\n"
        "    raise SystemExit(child.exitcode)\n"
        "    import sys\n",
    )
    told = script(text, step_by="function", step_at="train:train_step")
    assert told["rank0"] == [
        "begin",
        "step",
        "end ",
    ]


@pytest.mark.parametrize(
    ("at", "reason"),
    [
        ("train:nothing", "train defines no nothing"),
        ("train:Trainer.stop", "Trainer has no stop"),
        ("nothing:step", "nothing was never imported"),
        ("train:Trainer.__init__", "train:Trainer.__init__ was never called"),
    ],
)
def test_a_function_that_is_never_seen_is_told_in_a_file(script, at, reason):
    text = "import torch\nclass Trainer:\n    def __init__(self): pass\n"
    assert script(text, step_by="function", step_at=at) == {}
    assert reason in script.words[0]


def test_a_function_whose_line_never_runs_is_told(script):
    text = "import torch\nif len([]):\n    def step(): pass\n"
    assert script(text, step_by="function", step_at="train:step") == {}
    assert "train:step was not defined" in script.words[0]


def test_a_whole_run_is_one_step_that_ends_with_the_script(script):
    told = script("import torch\ntorch.nn.Module()(1)\n", step_by="run")
    assert told == {"rank0": ["begin", "end "]}


def test_a_recorder_that_fails_is_one_line_and_no_harm(script):
    told = script(TRAIN, env={"RECORDER_FAILS": "1"})
    assert script.stderr == "synctax: the recorder failed: OSError: no space left\n"
    assert told["rank0"] == ["begin", "step"]


# ------------------------------------------------------------------ ends and processes


@pytest.mark.parametrize(
    ("last", "rc", "reason"),
    [
        ("raise ValueError('bad batch\\nof 3')", 1, "ValueError: bad batch in step 3"),
        ("raise KeyError", 1, "KeyError in step 3"),
        ("raise SystemExit(7)", 7, ""),
        ("import sys; sys.exit()", 0, ""),
    ],
)
def test_the_end_of_a_script_has_its_reason(script, last, rc, reason):
    told = script(f"{TRAIN}    {last}\n", rc=rc)
    assert told["rank0"][-1] == f"end {reason}"


def test_a_whole_run_that_fails_is_cut(script):
    text = "import torch\ntorch.nn.Module()(1)\n1 / 0\n"
    told = script(text, rc=1, step_by="run")
    assert told["rank0"] == ["begin", "end ZeroDivisionError: division by zero"]


FORKS = """
import torch, multiprocessing, os
context = multiprocessing.get_context("fork")

def rank(number):
    os.environ["RANK"] = str(number)
    optimizer = torch.optim.SGD()
    for _ in range(2 + number):
        optimizer.step()
    if number:
        raise RuntimeError("one too many")

def idle():
    pass
"""


def test_children_that_are_forked_before_the_first_step_are_ranks(script):
    text = FORKS + (
        "children = [context.Process(target=rank, args=(n,)) for n in range(2)]\n"
        "[(c.start(), c.join()) for c in children]\n"
    )
    assert {name: lines[-1] for name, lines in script(text).items()} == {
        "rank0": "end ",
        "rank1": "end RuntimeError: one too many in step 3",
    }


def test_children_that_a_rank_forks_are_none(script):
    text = FORKS + (
        "optimizer = torch.optim.SGD()\n"
        "optimizer.step()\n"
        "child = context.Process(target=rank, args=(0,))\n"
        "child.start(), child.join()\n"
        "if not os.fork():\n"
        "    raise SystemExit\n"
        "os.wait()\n"
        "optimizer.step()\n"
    )
    told = script(text)
    assert told == {"rank0": ["begin", "step", "step", "end "]}
    assert script.words == []


def test_processes_that_serve_others_leave_no_word(script):
    text = FORKS + (
        "child = context.Process(target=idle)\n"
        "child.start(), child.join()\n"
        "import sys, types\n"
        "sys.modules['torch.distributed.launcher'] = types\n"
    )
    assert script(text) == {}
    assert script.words == []


def test_a_process_that_took_no_step_says_which_rank_it_was(script):
    script("import torch\nraise OSError('no data')\n", rc=1, env={"RANK": "3"})
    assert '"rank": "3"' in script.words[0]
    assert "no optimizer stepped; OSError: no data" in script.words[0]


def test_a_folder_that_cannot_be_written_to_stops_nothing(script, tmp_path):
    text = f"import torch, shutil\nshutil.rmtree({str(tmp_path / 'traces')!r})\n"
    text += f"open({str(tmp_path / 'traces')!r}, 'w').close()\nprint('trained')"
    script(text)
    assert script.stdout == "trained\n"
    assert script.stderr.count("\n") == 1
    assert "synctax: the recorder failed: NotADirectoryError" in script.stderr
