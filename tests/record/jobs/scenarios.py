"""Loops that are recorded: `python scenarios.py FOLDER NAME...` on each rank, one group.

Each scenario records into FOLDER/NAME, and leaves there what was said and the states
(`said-R.json`), so that many of them share the seconds that torch needs to start.
"""

import json
import os
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import torch
import torch.distributed as dist
from torch.profiler import ProfilerActivity

from synctax.record import Delay, DelayRule, Plan, Recording

RANK = int(os.environ["RANK"])
SCENARIOS = {}


def scenario(act):
    SCENARIOS[act.__name__] = act
    return act


class Desk:
    """Makes recordings into one folder, and keeps what they say."""

    def __init__(self, folder):
        self.folder = folder
        self.said, self.recordings, self.more = [], [], {}

    def record(self, **keys):
        keys = {"skip": 1, "warmup": 1, "steps": 2, "meet_timeout_s": 10.0} | keys
        plan = Plan(keys.pop("folder", self.folder), **keys)
        self.recordings.append(Recording(plan, say=self.said.append))
        return self.recordings[-1]

    def leave(self):
        states = [recording.state.state for recording in self.recordings]
        told = {"said": self.said, "states": states, "more": self.more}
        path = self.folder / f"said-{RANK}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(told))


def work(size=32):
    a = torch.ones(size, size, requires_grad=True)
    (a @ a).sum().backward()
    return a.grad


def train(window, steps, *, together=True):
    for _ in range(steps):
        grad = work()
        if together:
            dist.all_reduce(grad)
        window.step()


def own_profiler():
    return torch.profiler.profile(activities=[ProfilerActivity.CPU])


@scenario
def middle(desk):
    """A window of steps 2 and 3, seen by a reader of traces."""
    with desk.record() as window:
        train(window, 6)


@scenario
def twice(desk):
    """Two windows of one process into one folder."""
    for _ in range(2):
        with desk.record(skip=0) as window:
            train(window, 4)


@scenario
def alone(desk):
    """No collective at all; and a forked child, which has nothing to record."""
    with desk.record() as window:
        train(window, 2, together=False)
        child = os.fork()
        if child == 0:
            train(window, 5, together=False)
            window.end("the child ended")
            os._exit(0)
        desk.more["child"] = os.waitpid(child, 0)[1]
        train(window, 4, together=False)


@scenario
def few(desk):
    """A loop that is shorter than the window needs."""
    with desk.record(skip=5) as window:
        train(window, 3)


@scenario
def raises(desk):
    """An exception on rank 1 amid the window; rank 0 goes on and ends early."""
    try:
        with desk.record(steps=5) as window:
            train(window, 3)
            if RANK == 1:
                raise KeyError("no such sample\nin epoch 3")
    except KeyError:
        desk.more["raised"] = True


@scenario
def missing(desk):
    """A rank that never comes to the meeting."""
    if RANK == 0:
        with desk.record(skip=20, meet_timeout_s=0.2) as window:
            train(window, 24, together=False)
    dist.barrier()


@scenario
def late(desk):
    """A rank that comes when the other has gone on."""
    with desk.record(meet_timeout_s=0.2) as window:
        train(window, 1)
        time.sleep(0.5 * RANK)
        train(window, 4, together=False)
    dist.barrier()


@scenario
def busy(desk):
    """A profiler of the script on rank 0, in steps 0 to 3: both ranks wait for its end."""
    theirs = own_profiler()
    with desk.record() as window:
        if RANK == 0:
            theirs.start()
        train(window, 4)
        if RANK == 0:
            theirs.stop()
            desk.more["theirs"] = len(theirs.events())
        train(window, 8)


@scenario
def always_busy(desk):
    """A profiler of the script on rank 0 that runs to the end."""
    theirs = own_profiler()
    with desk.record() as window:
        if RANK == 0:
            theirs.start()
        train(window, 8)
    if RANK == 0:
        theirs.stop()
        desk.more["theirs"] = len(theirs.events())


@scenario
def interrupted(desk):
    """A profiler of the script that starts amid our window, on rank 0."""
    with desk.record(steps=4) as window:
        train(window, 4)
        if RANK == 0:
            with own_profiler() as theirs:
                work()
            desk.more["theirs"] = [event.name for event in theirs.events()]
        train(window, 4)


@scenario
def no_folder(desk):
    """A folder that cannot be made, on rank 1: rank 0 does not wait for it."""
    wall = desk.folder / f"wall-{RANK}"
    wall.parent.mkdir(parents=True, exist_ok=True)
    wall.write_text("a file")
    folder = wall if RANK == 1 else desk.folder
    with desk.record(folder=folder, meet_timeout_s=30.0) as window:
        start = time.monotonic()
        train(window, 6)
        desk.more["seconds"] = time.monotonic() - start


@scenario
def delayed(desk):
    """Delays on rank 1, in the warm-up and the window."""
    rules = (
        DelayRule("aten::mm", us=3000, rank=1, nth=(1,)),
        DelayRule("aten::*sum*", us=500, us_max=1500, law="uniform", pick=1),
    )
    with desk.record(delays=rules) as window:
        train(window, 5)


@scenario
def delay_alone(desk):
    """The mode without a recording."""
    with Delay(DelayRule("aten::mm", us=1000, rank=1), folder=desk.folder) as delay:
        for _ in range(2):
            work()
            delay.step()


@scenario
def other_thread(desk):
    """The window is ended by a thread that is not the loop's, which is blocked."""
    with desk.record(steps=5) as window:
        train(window, 3)
        stopper = threading.Thread(target=window.end, args=("SIGTERM came",))
        stopper.start()
        stopper.join()
        train(window, 2)


@scenario
def fewer(desk):
    """A loop that ends before the window on rank 1: rank 0 does not wait for it."""
    start = time.monotonic()
    with desk.record(meet_timeout_s=60.0) as window:
        train(window, 1 if RANK else 5, together=False)
    desk.more["seconds"] = time.monotonic() - start


@scenario
def early(desk):
    """An exception on rank 1 before the window: rank 0 does not wait for it."""
    start = time.monotonic()
    try:
        with desk.record(meet_timeout_s=60.0) as window:
            train(window, 1, together=False)
            if RANK == 1:
                raise KeyError("no such sample")
            train(window, 4, together=False)
    except KeyError:
        desk.more["raised"] = True
    desk.more["seconds"] = time.monotonic() - start


@scenario
def whole(desk):
    """A whole run: groups are made in it, and all are destroyed before its end.

    The first of all: torch keeps threads of groups that one of its profilers saw.
    """
    dist.destroy_process_group()
    store = f"file://{desk.folder.parent}/store"
    init = {"init_method": store, "rank": RANK, "world_size": 2}
    dist.init_process_group("gloo", **init)
    with desk.record(step_by="run"):
        groups = [dist.new_group([rank]) for rank in range(2)]
        for _ in range(6):
            dist.all_reduce(torch.ones(100), group=groups[RANK])
            dist.all_reduce(work())
        del groups
        dist.destroy_process_group()
    dist.init_process_group("gloo", **init | {"init_method": store + "2"})


@scenario
def dies(desk):
    """An exception of rank 1 that nobody catches; rank 0 is in an all-reduce with it."""
    with desk.record(steps=5) as window:
        train(window, 3)
        if RANK == 1:
            raise ValueError("bad sample in step 3")
        train(window, 3)


@contextmanager
def group():
    dist.init_process_group("gloo")
    yield
    dist.barrier()
    dist.destroy_process_group()


def main(folder, *names):
    torch.set_num_threads(1)
    with group():
        for name in names:
            desk = Desk(Path(folder) / name)
            SCENARIOS[name](desk)
            desk.leave()


if __name__ == "__main__":
    main(*sys.argv[1:])
