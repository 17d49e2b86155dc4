"""A job that does something odd in a step: `train.py --do WHAT --at STEP [--rank R]`.

Where there are several ranks, they sum their gradients in each step.
"""

import argparse
import os
import signal
import sys
import time

import torch
import torch.distributed as dist
from torch import nn


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def profile_itself(step: int, model: nn.Module) -> None:
    """Use torch's profiler as scripts do, and check that it worked."""
    with torch.profiler.profile() as profiler:
        model(torch.ones(4, 8))
    assert any(event.key == "aten::addmm" for event in profiler.key_averages()), step


def odd(what: str, step: int, model: nn.Module) -> None:
    if what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "exit":
        os._exit(9)
    if what == "raise":
        raise ValueError(f"the loss of step {step} is nan\nand more")
    if what == "profile":
        profile_itself(step, model)
    if what == "hang":
        # the line is awaited, then the job is interrupted
        say("hangs")
        time.sleep(60)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--do", default="")
    parser.add_argument("--at", type=int, nargs="*", default=[])
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--exit", type=int, default=0)
    parser.add_argument("--alone", action="store_true", help="sum in a group of one, too")
    asked = parser.parse_args()
    many = int(os.environ.get("WORLD_SIZE", "1")) > 1
    if many:
        dist.init_process_group("gloo")
    rank = dist.get_rank() if many else 0
    groups = [dist.new_group([one]) for one in range(2)] if asked.alone else []
    torch.manual_seed(0)
    model = nn.Linear(8, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(asked.steps):
        model(torch.ones(4, 8)).sum().backward()
        if groups:
            dist.all_reduce(model.weight.grad, group=groups[rank])
        if many:
            dist.all_reduce(model.weight.grad)
        if step in asked.at and rank == asked.rank:
            odd(asked.do, step, model)
        optimizer.step()
        optimizer.zero_grad()
    if many:
        dist.destroy_process_group()
    say(f"rank {rank} trained")
    sys.exit(asked.exit)


if __name__ == "__main__":
    main()
