"""Two ranks in one process each, of which one never meets the other: `stopped.py FOLDER`.

Rank 1 sends SIGTERM to rank 0, which is in the meeting then, and tells how that ended, as
a launcher would whose rank 1 has died without a word.
"""

import os
import signal
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist

from synctax.record.hook import Hook
from synctax.record.plan import Plan
from synctax.record.state import state_before

LONGEST_S = 60.0
"""As long as the meeting would last, and longer than torchrun waits."""


def train(folder):
    Hook(Plan(folder, skip=1, warmup=1, steps=2, meet_timeout_s=LONGEST_S)).listen()
    weight = torch.ones(4, 4, requires_grad=True)
    optimizer = torch.optim.SGD([weight])
    for _ in range(6):
        weight.sum().backward()
        optimizer.step()


def stop(folder, rank_0):
    while (state := state_before(folder, 0)) is None or state.state != "recording":
        time.sleep(0.02)
    start = time.monotonic()
    os.kill(rank_0, signal.SIGTERM)
    _, status = os.waitpid(rank_0, 0)
    sys.stdout.write(f"{os.waitstatus_to_exitcode(status)} {time.monotonic() - start}")


def main(folder):
    # before any thread begins: both share the seconds that torch takes to start
    rank_0 = os.fork()
    init = f"file://{folder}/store"
    rank = int(bool(rank_0))
    dist.init_process_group("gloo", init_method=init, rank=rank, world_size=2)
    if rank == 0:
        train(folder)
    else:
        stop(folder, rank_0)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
