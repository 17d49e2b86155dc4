"""A small tensor-parallel transformer, to record: on CPUs (gloo) or GPUs (NCCL).

Ranks form a mesh of data-parallel by tensor-parallel ranks. Within a tensor-parallel group
weights are split by columns and rows (Megatron-LM), and activations between the two by
sequence: an all-gather before each column-parallel layer, a reduce-scatter after each
row-parallel one. Across data-parallel ranks the weights of every layer are sharded, as FSDP
does: all-gathered before the layer runs, and their gradients reduce-scattered after it.

    torchrun --nproc-per-node 4 examples/tensor_parallel.py --tp 2
    synctax record -- torchrun --nproc-per-node 4 examples/tensor_parallel.py --steps 12

Only `torch` is needed, and `python` alone runs it on one rank. With `--traces DIR` it
records itself with `synctax.record.profile`.
"""

import argparse
import os
from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh


class GatherSequence(torch.autograd.Function):
    """All-gather along the sequence; backward reduce-scatters."""

    @staticmethod
    def forward(ctx, shard: Tensor, group: dist.ProcessGroup) -> Tensor:
        ctx.group = group
        return all_gather(shard, group)

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple[Tensor, None]:
        return reduce_scatter(grad, ctx.group), None


class ScatterSequence(torch.autograd.Function):
    """Reduce-scatter along the sequence; backward all-gathers."""

    @staticmethod
    def forward(ctx, whole: Tensor, group: dist.ProcessGroup) -> Tensor:
        ctx.group = group
        return reduce_scatter(whole, group)

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple[Tensor, None]:
        return all_gather(grad, ctx.group), None


# PyTorch 2.13 renamed both
gather_into = getattr(dist, "all_gather_single", dist.all_gather_into_tensor)
scatter_into = getattr(dist, "reduce_scatter_single", dist.reduce_scatter_tensor)


def all_gather(shard: Tensor, group: dist.ProcessGroup) -> Tensor:
    """Join the shards of all ranks along the first dimension."""
    whole = shard.new_empty(shard.shape[0] * group.size(), *shard.shape[1:])
    gather_into(whole, shard.contiguous(), group=group)
    return whole


def reduce_scatter(whole: Tensor, group: dist.ProcessGroup) -> Tensor:
    """Sum over ranks; each rank keeps its part of the first dimension."""
    shard = whole.new_empty(whole.shape[0] // group.size(), *whole.shape[1:])
    scatter_into(shard, whole.contiguous(), group=group)
    return shard


class Block(nn.Module):
    """Attention and MLP, both column- then row-parallel, with sequence parallelism."""

    def __init__(self, width: int, heads: int, mesh: DeviceMesh) -> None:
        super().__init__()
        self.tp, self.fsdp = mesh.get_group("tp"), mesh.get_group("fsdp")
        self.heads = heads // self.tp.size()
        split = width // self.tp.size()
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.shapes = [(3 * split, width), (width, split), (4 * split, width)]
        self.shapes.append((width, 4 * split))
        own = sum(rows * columns for rows, columns in self.shapes) // self.fsdp.size()
        self.shard = nn.Parameter(torch.empty(own))
        nn.init.normal_(self.shard, std=width**-0.5)

    def forward(self, x: Tensor) -> Tensor:
        # as FSDP: one all-gather a layer, whose backward reduce-scatters the gradients
        whole = GatherSequence.apply(self.shard, self.fsdp)
        flat = whole.split([rows * columns for rows, columns in self.shapes])
        qkv, out, up, down = (w.view(s) for w, s in zip(flat, self.shapes, strict=True))
        x = x + self.attention(self.norms[0](x), qkv, out)
        return x + self.mlp(self.norms[1](x), up, down)

    def attention(self, x: Tensor, qkv_weight: Tensor, out: Tensor) -> Tensor:
        x = GatherSequence.apply(x, self.tp)
        sequence, batch, _ = x.shape
        qkv = nn.functional.linear(x, qkv_weight)
        # sequence, batch, heads, q|k|v -> batch, heads, sequence
        q, k, v = qkv.view(sequence, batch, self.heads, -1).permute(1, 2, 0, 3).chunk(3, -1)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        mixed = mixed.permute(2, 0, 1, 3).reshape(sequence, batch, -1)
        return ScatterSequence.apply(nn.functional.linear(mixed, out), self.tp)

    def mlp(self, x: Tensor, up: Tensor, down: Tensor) -> Tensor:
        x = GatherSequence.apply(x, self.tp)
        x = nn.functional.gelu(nn.functional.linear(x, up))
        return ScatterSequence.apply(nn.functional.linear(x, down), self.tp)


def sum_norm_gradients(model: nn.Module) -> None:
    """Sum the gradients of norms, which every rank holds whole."""
    grads = [p.grad for name, p in model.named_parameters() if "norms" in name]
    flat = torch.cat([grad.flatten() for grad in grads])
    dist.all_reduce(flat)
    for grad, part in zip(grads, flat.split([g.numel() for g in grads]), strict=True):
        grad.copy_(part.view_as(grad))


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--tp", type=int, help="tensor-parallel ranks [all of 2, half of more]"
    )
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--sequence", type=int, default=64)
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--traces", metavar="DIR", help="record 3 steps into this folder")
    return parser.parse_args()


def check(asked: argparse.Namespace, tp: int, fsdp: int) -> None:
    """Refuse sizes that ranks cannot share evenly."""
    shared = {
        "--heads": (asked.heads, tp),
        "--width": (asked.width, asked.heads * tp * fsdp),
        "--sequence": (asked.sequence, tp),
    }
    for option, (size, parts) in shared.items():
        if size % parts:
            raise SystemExit(f"{option} {size} cannot be split evenly into {parts}")


def train(asked: argparse.Namespace, device: str) -> float:
    """Train on random sequences; return the last loss."""
    world = dist.get_world_size()
    tp = asked.tp or (world if world < 4 else world // 2)
    if world % tp:
        raise SystemExit(f"--tp {tp} does not divide {world} ranks")
    check(asked, tp, world // tp)
    mesh = init_device_mesh(device, (world // tp, tp), mesh_dim_names=("fsdp", "tp"))
    torch.manual_seed(asked.seed + dist.get_rank())
    blocks = [Block(asked.width, asked.heads, mesh) for _ in range(asked.layers)]
    model = nn.Sequential(*blocks).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    shape = (asked.sequence // tp, asked.batch, asked.width)
    loss = torch.zeros(())
    with recording(asked.traces) as window:
        for _ in range(asked.steps):
            x = torch.randn(shape, device=device)
            loss = nn.functional.mse_loss(model(x), -x)
            loss.backward()
            sum_norm_gradients(model)
            optimizer.step()
            optimizer.zero_grad()
            if window is not None:
                window.step()
    return loss.item()


def recording(folder: str | None):
    """Record into `folder`, or do nothing."""
    if folder is None:
        return nullcontext()
    from synctax import record

    return record.profile(folder, skip=2, steps=3)


def main() -> None:
    asked = options()
    on_gpu = torch.cuda.is_available()
    if on_gpu:
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    else:
        # ranks share the cores: more threads would only wait for each other
        torch.set_num_threads(1)
    alone = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "localhost", "MASTER_PORT": "0"}
    if "RANK" not in os.environ:
        os.environ.update(alone)
    dist.init_process_group("nccl" if on_gpu else "gloo")
    loss = train(asked, "cuda" if on_gpu else "cpu")
    if dist.get_rank() == 0:
        print(f"loss {loss:.4f} after {asked.steps} steps on {dist.get_world_size()} ranks")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
