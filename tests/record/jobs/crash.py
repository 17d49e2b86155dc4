"""Rank 1 dies of an exception in step 3; rank 0 is in an all-reduce with it."""

import os
import sys

import torch
import torch.distributed as dist

from synctax.record import profile


def main(folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    with profile(folder, skip=1, warmup=1, steps=5) as window:
        for step in range(9):
            grad = torch.ones(8, 8) @ torch.ones(8, 8)
            if (step, os.environ["RANK"]) == (3, "1"):
                raise ValueError(f"bad sample in step {step}")
            dist.all_reduce(grad)
            window.step()


if __name__ == "__main__":
    main(*sys.argv[1:])
