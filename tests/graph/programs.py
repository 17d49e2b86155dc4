"""Random programs that launch, wait and sync, simulated: traces of which all is known.

A program is a list of actions for each thread. The thread whose clock is least goes next,
so what a call sees is settled when it starts. Times are ns; a trace has them in µs.
"""

from collections import defaultdict
from dataclasses import dataclass, field, replace

from hypothesis import strategies as st

from tests.graph.made import made, sync
from tests.trace.builders import cpu_op, kernel, runtime, stream_wait

UNIT_NS = 1_000
OFFSET_NS = 100
"""What threads do first takes different times, all else whole units: few coincide."""


@dataclass(frozen=True)
class Action:
    """What a thread does next.

    `what` is op, idle, open or close (an operator around others), launch, fence or sync.
    `took` and `runs` are how long it keeps the thread and the stream; a kernel starts no
    sooner than `delay` after its call started, or when the call ends where that is 0.
    `stream` launches, waits or is waited for by the thread, `other` is what it waits for.
    """

    what: str
    took: int = 1
    stream: int = 7
    other: int = 8
    runs: int = 1
    delay: int = 0


@dataclass
class Run:
    """What a simulation did: events, starts of kernels, and what waited for what."""

    events: list = field(default_factory=list)
    start_ns: dict = field(default_factory=dict)
    after: dict = field(default_factory=dict)
    calls_ns: list = field(default_factory=list)

    def trace(self, *more):
        return made(self.events, *more)


class _Machine:
    def __init__(self, program, records, longer):
        self.program, self.records, self.longer = program, records, longer
        self.run = Run()
        self.clock = [0] * len(program)
        self.around = defaultdict(list)
        self.ends = defaultdict(int)  # of each stream, its last event
        self.last = {}
        self.held = defaultdict(int)  # of each stream, what it waits for
        self.told = defaultdict(list)
        self.correlation = 0

    def go(self):
        for thread, actions in enumerate(self.program):
            if thread and actions:
                self.clock[thread] = thread * OFFSET_NS
                self.operator("begin", 0, thread)
        left = self.left = [
            [(f"{action.what} {thread}.{n}", action) for n, action in enumerate(actions)]
            for thread, actions in enumerate(self.program)
        ]
        while any(left):
            ready = [thread for thread, actions in enumerate(left) if actions]
            thread = min(ready, key=lambda t: self.clock[t])
            name, action = left[thread].pop(0)
            getattr(self, f"do_{action.what}")(thread, action, name)
        for thread in range(len(self.program)):
            while self.around[thread]:
                self.do_close(thread, None, "")
        return self.run

    def spend(self, thread, units, name):
        start = self.clock[thread]
        self.clock[thread] += units * UNIT_NS + self.longer.get(name, 0)
        return start

    def call(self, text, thread, units, name=""):
        self.correlation += 1
        start = self.spend(thread, units, name)
        took = self.clock[thread] - start
        self.run.calls_ns.append(start)
        self.run.events.append(
            runtime(text, start / 1000, took / 1000, tid=thread, corr=self.correlation)
        )
        return start, self.correlation

    def operator(self, name, start, thread):
        took = self.clock[thread] - start
        self.run.events.append(cpu_op(name, start / 1000, took / 1000, tid=thread))

    def due(self, stream):
        """When all that a stream was told by now is done: its events and its waits."""
        return max(self.ends[stream], self.held[stream])

    def do_op(self, thread, action, name):
        self.operator(name, self.spend(thread, action.took, name), thread)

    def do_idle(self, thread, action, name):
        self.spend(thread, action.took, name)

    def do_open(self, thread, action, name):
        self.around[thread].append((name, self.clock[thread]))

    def do_close(self, thread, action, name):
        if self.around[thread]:
            self.operator(*self.around[thread].pop(), thread)

    def do_launch(self, thread, action, name):
        stream, text = action.stream, f"call {name}"
        start, corr = self.call(text, thread, action.took, text)
        due = start + action.delay * UNIT_NS if action.delay else self.clock[thread]
        begin = max(due, self.due(stream))
        runs = action.runs * UNIT_NS + self.longer.get(name, 0)
        self.run.events.append(
            kernel(name, begin / 1000, runs / 1000, stream=stream, corr=corr)
        )
        self.run.start_ns[name] = begin
        self.run.after[name] = (self.last.get(stream), tuple(self.told[stream]))
        self.ends[stream], self.last[stream] = begin + runs, name

    def do_fence(self, thread, action, name):
        self.run.after[name] = self.last.get(action.other), tuple(self.told[action.other])
        record = 0
        if self.records == "none":
            self.spend(thread, 1, name)
        else:
            _, record = self.call("cudaEventRecord", thread, 1)
        due = self.due(action.other)
        self.left[thread].insert(
            0, (name, replace(action, what="wait", runs=(due, record)))
        )

    def do_wait(self, thread, action, name):
        due, record = action.runs
        self.held[action.stream] = max(self.held[action.stream], due)
        self.told[action.stream].append(name)
        if self.records == "none":
            self.spend(thread, 1, name)
            return
        start, wait = self.call("cudaStreamWaitEvent", thread, 1)
        if self.records == "full":
            self.run.events.append(
                stream_wait(
                    start / 1000, 1, stream=action.stream, corr=wait,
                    on_stream=action.other, on_corr=record,
                )
            )  # fmt: skip

    def do_sync(self, thread, action, name):
        blocked_ns = max(self.due(action.stream) - self.clock[thread], 0)
        self.run.after[name] = (
            self.last.get(action.stream), tuple(self.told[action.stream]), blocked_ns > 0
        )  # fmt: skip
        self.longer = {**self.longer, name: blocked_ns}
        start, corr = self.call("cudaStreamSynchronize", thread, action.took, name)
        took = self.clock[thread] - start
        if self.records == "full":
            self.run.events.append(
                sync(
                    "Stream Sync",
                    start / 1000,
                    took / 1000,
                    corr=corr,
                    stream=action.stream,
                )
            )


def simulate(program, *, records="full", longer=None):
    """Run a program; `longer` adds ns to the op, call or kernel of that name."""
    return _Machine(program, records, longer or {}).go()


def programs(*, latency=True, least=1, most=14):
    """Draw a program of up to 3 threads and streams.

    Without `latency`, nothing but what has a name takes time.
    """
    stream = st.integers(7, 9)
    kinds = ["op", "open", "close", "launch", "launch", "launch", "fence", "sync"]
    action = st.builds(
        Action,
        what=st.sampled_from([*kinds, "idle"] if latency else kinds),
        took=st.integers(1, 40),
        stream=stream,
        other=stream,
        runs=st.integers(1, 300),
        delay=st.integers(1, 60) if latency else st.just(0),
    )
    return st.lists(st.lists(action, max_size=most), min_size=least, max_size=3)
