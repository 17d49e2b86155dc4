"""A package `torch` of a few lines, with what the recorder hooks into, and no tensors.

Jobs that import it start in a tenth of a second. Its recorder writes states as the real
one, and a line of a log for each call.
"""

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

from synctax.record.bootstrap.sitecustomize import HERE
from synctax.record.names import plan_path
from synctax.record.plan import Plan
from synctax.record.state import write_whole

FILES = {
    "__init__.py": """
        import os
        import sys

        if "SYNCTAX_RECORD_PLAN" in os.environ:
            from torch import recorder

            sys.modules["synctax.record.recording"] = recorder
        from torch import compiler, distributed, nn, optim, utils
        if os.environ.get("TORCH_FAILS"):
            raise ImportError("libcudart.so is missing")
    """,
    "recorder.py": """
        import os
        from dataclasses import replace


        class Recording:
            def __init__(self, plan, *, say=None):
                from synctax.record.state import RankState

                rank = int(os.environ.get("RANK", "0"))
                world_size = int(os.environ.get("WORLD_SIZE", "1"))
                self.plan = plan
                self.state = RankState(rank, world_size, "node-a", os.getpid())

            def log(self, line):
                path = self.plan.folder / "log" / f"rank{self.state.rank}.txt"
                path.parent.mkdir(exist_ok=True)
                with path.open("a") as file:
                    file.write(line + "\\n")

            def become(self, **changes):
                from synctax.record.state import write_state

                self.state = replace(self.state, **changes)
                write_state(self.plan.folder, self.state)

            def begin(self):
                self.log("begin")
                self.become(state="waiting")
                self.open()

            def open(self):
                run = self.plan.step_by == "run"
                first = 0 if run else self.plan.skip + self.plan.warmup
                if self.state.steps_seen == first:
                    last = first + self.plan.steps
                    self.become(state="recording", first_step=first, end_step=last)

            def step(self):
                self.log("step")
                if os.environ.get("RECORDER_FAILS"):
                    raise OSError("no space left")
                seen = self.state.steps_seen + 1
                self.become(steps_seen=seen)
                if self.state.state == "recording" and seen == self.state.end_step:
                    self.write("written", "")
                elif self.state.state == "waiting":
                    self.open()

            def end(self, reason=""):
                if self.state.state == "recording":
                    self.log(f"end {reason}")
                    self.become(end_step=self.state.steps_seen)
                    whole = self.plan.step_by == "run" and not reason
                    self.write("written" if whole else "cut", reason or "it ended early")
                elif self.state.state == "waiting":
                    self.log(f"end {reason}")
                    few = "the window needs more steps"
                    self.become(state="nothing", reason=reason or few)

            def write(self, state, reason):
                name = f"iteration_0/rank{self.state.rank}_trace.json.gz"
                (self.plan.folder / name).parent.mkdir(exist_ok=True)
                (self.plan.folder / name).write_bytes(b"")
                self.become(state=state, reason=reason, trace=name)
    """,
    "optim/__init__.py": """
        import functools


        class Optimizer:
            def __init__(self):
                cls = type(self)
                if not getattr(cls.step, "hooked", False):
                    cls.step = self.profile_hook_step(cls.step)
                    cls.step.hooked = True

            @staticmethod
            def profile_hook_step(step):
                @functools.wraps(step)
                def wrapper(*args, **keys):
                    return step(*args, **keys)

                return wrapper


        class SGD(Optimizer):
            def step(self):
                return "stepped"
    """,
    "nn/__init__.py": """
        from torch.nn.modules.module import Module
    """,
    "nn/modules/__init__.py": "",
    "nn/modules/module.py": """
        hooks = {}


        class Handle:
            def remove(self):
                hooks.pop(self, None)


        def register_module_forward_pre_hook(hook):
            handle = Handle()
            hooks[handle] = hook
            return handle


        class Module:
            def __call__(self, *args):
                for hook in tuple(hooks.values()):
                    hook(self, args)
    """,
    "distributed/__init__.py": """
        from torch.distributed.distributed_c10d import init_process_group
    """,
    "distributed/distributed_c10d.py": """
        def init_process_group(backend=None):
            return backend
    """,
    "compiler.py": """
        compiling = False


        def is_compiling():
            return compiling
    """,
    "_dynamo.py": """
        def disable(function):
            def disabled(*args):
                return function(*args, "disabled")

            return disabled
    """,
    "utils/__init__.py": "",
    "utils/data.py": """
        worker = None


        def get_worker_info():
            return worker
    """,
}


def write(folder: Path) -> Path:
    """Write the package into a folder for PYTHONPATH, and return the folder."""
    for name, text in FILES.items():
        path = folder / "torch" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text))
    return folder


def start(folder: Path, text: str, *arguments, env=(), **plan) -> subprocess.Popen:
    """Start a script in a folder, with the recorder in it, as `synctax record` does.

    The plan skips a step, warms up in one, and records two, unless told otherwise.
    """
    site = write(folder / "site")
    (folder / "train.py").write_text(text)
    plan = Plan(folder / "traces", **{"skip": 1, "steps": 2} | plan)
    path = plan_path(plan.folder)
    write_whole(path, plan.to_json())
    variables = os.environ | {
        "PYTHONPATH": os.pathsep.join([HERE, str(site)]),
        "SYNCTAX_RECORD_PLAN": str(path),
    }
    return subprocess.Popen(
        [sys.executable, *(arguments or [str(folder / "train.py")])],
        env=variables | dict(env),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def told(traces: Path) -> dict[str, list[str]]:
    """Return what the recorder of each rank was told."""
    logs = sorted(traces.glob("log/*"))
    return {path.stem: path.read_text().splitlines() for path in logs}
