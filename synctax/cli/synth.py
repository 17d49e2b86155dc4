"""`synctax synth`: write the traces of a made-up job, with the true waits beside them."""

import dataclasses
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Literal, cast, get_args, get_origin, get_type_hints

import click

from synctax.cli.job_options import UNITS_US
from synctax.cli.options import Decorator, Finite, RankSet, verbosity, verbosity_options
from synctax.synth.answers import Truth
from synctax.synth.delay import Delay, Side, check_delays
from synctax.synth.job import ROLES, SynthJob
from synctax.synth.writer import TRUTH_FILE, write
from synctax.texts import counted

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar

SCHEMA = "synctax.synth/1"
MANY_RANK_STEPS = 50
"""From here on a terminal shows progress."""

_SIDES = " or ".join((", ".join(get_args(Side)[:-1]), get_args(Side)[-1]))


class DelayType(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """One delay: `rank=2,step=1,kernel=3,ms=5`, or `collective=tp:5` for `kernel=3`."""

    name = "delay"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Delay:
        """Parse the text into a delay."""
        keys = dict(part.strip().partition("=")[::2] for part in str(value).split(","))
        units = keys.keys() & UNITS_US.keys()
        place = keys.keys() & {"kernel", "collective"}
        needed = {"rank", "step"} | place | units
        if not (
            len(units) == len(place) == 1 and needed <= keys.keys() <= needed | {"side"}
        ):
            self.fail(
                f"{value!r} is no delay like rank=2,step=1,kernel=3,ms=5 "
                f"(us, ms or s; collective=tp:5 for kernel=3; side={_SIDES})",
                param,
                ctx,
            )
        side = keys.get("side", "op" if "collective" in place else "gpu")
        if side not in get_args(Side):
            self.fail(f"the side of a delay is {_SIDES}, not {side!r}", param, ctx)
        unit = units.pop()
        rank, step = (int(click.INT(keys[key], param, ctx)) for key in ("rank", "step"))
        kernel = int(click.INT(keys["kernel"], param, ctx)) if "kernel" in place else None
        delay_us = Finite()(keys[unit], param, ctx) * UNITS_US[unit]
        delay = Delay(
            rank, step, kernel, delay_us, cast("Side", side), keys.get("collective", "")
        )
        try:
            check_delays([delay], ROLES)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return delay


class PerRank(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """A rank and its value, `2:1`."""

    name = "rank:n"

    def __init__(self, number: click.ParamType) -> None:  # type: ignore[type-arg]
        self.number = number

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, float]:
        """Parse the text into rank and value."""
        rank, colon, number = str(value).partition(":")
        if not colon:
            self.fail(f"{value!r} is no rank with a number, like 2:1", param, ctx)
        return int(click.INT(rank, param, ctx)), self.number(number, param, ctx)


_HELP = {
    "tp": "Tensor-parallel ranks; 1 for none.",
    "fsdp": "Ranks that shard parameters, on a stream beside the computation; 1 for none.",
    "ep": "Expert-parallel ranks, blocks of the fsdp dimension; 1 for none.",
    "dp": "Replicas, with an all-reduce at the end of each step; 1 for none.",
    "cp": "Context-parallel ranks, blocks of the fsdp dimension; 1 for none.",
    "layers": "Layers of the model.",
    "steps": "Training steps in the window.",
    "microbatches": "Forward and backward passes in a step; fsdp reduces gradients after "
    "each, dp once.",
    "first_step": "Number of the first ProfilerStep.",
    "seed": "The same options and seed give the same files.",
    "size_mb": "Choose steps (and fewer layers if need be) for plain files of this size.",
    "write_ranks": "Write the files of these ranks only, such as 0-3,7.",
    "jitter_law": "Law of the kernels' times; with none, nothing is random.",
    "jitter": "Standard deviation of a kernel's time over its mean.",
    "xi": "Shape of the Frechet law.",
    "jitter_scope": "Whether kernels vary one by one, or compute blocks as a whole: what "
    "runs between two tp collectives, so that its time has the law.",
    "common_jitter": "Standard deviation of what all ranks share, over the mean.",
    "rank_jitter": "Standard deviation of what ranks differ by for good, over the mean.",
    "cpu_jitter": "Random part of a launch's CPU time over its fixed part.",
    "delays": "Make a rank late: rank=2,step=1,kernel=3,ms=5. With side=gpu the kernel "
    "runs longer; else its launch is late: side=op (or cpu), the operators around it take "
    "longer; side=gap, nothing is logged before them; side=call, the launching call takes "
    "longer. collective=tp:5 for kernel=3: before that collective. Repeatable.",
    "tp_op": "Tensor parallelism by all-gather and reduce-scatter, or by all-reduce.",
    "broadcast": "Begin each step with a broadcast.",
    "coalesced": "Kernels per all-gather of fsdp, all with one Seq.",
    "uneven": "All-to-all with unequal splits.",
    "alpha_us": "Latency of a transfer.",
    "bandwidth_gb_per_s": "Bus bandwidth, 10^9 bytes/s.",
    "tp_payload_bytes": "Full buffer of a tensor-parallel collective.",
    "fsdp_payload_bytes": "Full buffer of an fsdp collective.",
    "fsdp_grad_payload_bytes": "The same of a reduction of gradients, in FP32: twice the "
    "parameters in BF16.  [default: --fsdp-payload-bytes]",
    "ep_payload_bytes": "Full buffer of an all-to-all.",
    "dp_payload_bytes": "Full buffer of the all-reduce over replicas.",
    "cp_payload_bytes": "Full buffer of a layer's keys and values, and their gradients.",
    "autograd_thread": "Launch the backward pass from its own thread.",
    "run_ahead_steps": "Steps that the CPU may be ahead; 0 synchronises after each step.",
    "cuda_graphs": "Launch each run of compute kernels as one CUDA graph.",
    "sync_records": "Whether to record what streams and the CPU wait for; unresolved, "
    "without what for, as CUDA 12.9.",
    "metadata": "Whether communication kernels say which collective they are.",
    "seq": "Write Seq into the metadata.",
    "comms_id": "Write Comms Id into the metadata.",
    "distributed_info": "Write the rank and its process groups into the header.",
    "nccl_names": "Era of the kernel names.",
    "descriptions": "Whose group descriptions: mesh_tp, or TENSOR_MODEL_PARALLEL_GROUP.",
    "sibling_names": "Whether the groups of one dimension share a name.",
    "truncate_ranks": "Cut lists of more than 30 ranks, as Kineto does.",
    "stream_step": "By how much stream ids differ from rank to rank.",
    "hosts": "Hosts that the ranks are spread over, in blocks.",
    "clock_offset_us": "How much each host's clock is ahead of the host's before.",
    "clock_drift_ppm": "How much faster each host's clock runs than the host's before.",
    "rank_clock_offset_us": "RANK:US, the offset of one rank's clock. Repeatable.",
    "rank_clock_drift_ppm": "RANK:PPM, the drift of one rank's clock. Repeatable.",
    "lost_head": "RANK:N, the rank loses its first N collectives of every group. "
    "Repeatable.",
    "lost_tail": "RANK:N, the same at the end of the window. Repeatable.",
    "start_skew_ms": "Ranks start at random within this time.",
    "absolute_ts": "Times since 1970 instead of since baseTimeNanoseconds.",
    "whole_us": "Whole microseconds, as old PyTorch.",
    "layout": "Whose file names.",
    "compress": "Compression of the traces.",
    "cpu_ops_per_kernel": "Operator ranges around each launch of a kernel.",
    "python_functions": "Python call ranges around each launch.",
    "truth_paths": "Add to the truth why the last rank was late: its critical path from "
    "the collective before, the largest variation on it, waits for other groups.",
}
_NAMES = {"delays": "--delay"}
_TYPES: dict[str, click.ParamType] = {  # type: ignore[type-arg]
    "delays": DelayType(),
    "write_ranks": RankSet(),
    "size_mb": Finite(),
    "fsdp_grad_payload_bytes": click.INT,
    "lost_head": PerRank(click.INT),
    "lost_tail": PerRank(click.INT),
    "rank_clock_offset_us": PerRank(Finite()),
    "rank_clock_drift_ppm": PerRank(Finite()),
}
_REPEATABLE = _TYPES.keys() - {"write_ranks", "size_mb", "fsdp_grad_payload_bytes"}


def job_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add an option for each field of `SynthJob`; the command receives `job: SynthJob`."""

    @wraps(command)
    def with_job(*args: Any, **values: Any) -> Any:
        fields = {name: values.pop(name) for name in _HELP}
        return command(*args, job=_job(fields), **values)

    decorated: Callable[..., Any] = with_job
    hints = get_type_hints(SynthJob)
    defaults = {field.name: field.default for field in dataclasses.fields(SynthJob)}
    for name in reversed(_HELP):
        decorated = _option(name, hints[name], defaults[name])(decorated)
    return decorated


def _option(name: str, hint: Any, default: Any) -> Decorator[Any]:
    flag = _NAMES.get(name, f"--{name.replace('_', '-')}")
    if name in _TYPES:
        return click.option(
            flag, name, type=_TYPES[name], multiple=name in _REPEATABLE, help=_HELP[name]
        )
    if hint is bool:
        flag = f"{flag}/--no-{flag[2:]}"
        return click.option(
            flag, name, default=default, show_default=True, help=_HELP[name]
        )
    kind = click.Choice(get_args(hint)) if get_origin(hint) is Literal else hint
    kind = Finite() if hint is float else kind
    return click.option(
        flag, name, type=kind, default=default, show_default=True, help=_HELP[name]
    )


def _job(fields: dict[str, Any]) -> SynthJob:
    for name in ("lost_head", "lost_tail", "rank_clock_offset_us", "rank_clock_drift_ppm"):
        fields[name] = dict(fields[name])
    if fields["write_ranks"] is not None:
        fields["write_ranks"] = tuple(sorted(fields["write_ranks"]))
    try:
        return SynthJob(**fields)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


_EXAMPLE = """\b
Example:
  synctax synth made/ --tp 4 --fsdp 2 --delay rank=2,step=1,kernel=3,ms=5
  synctax measure made/ --group tp
"""


@click.command(no_args_is_help=True, epilog=_EXAMPLE)
@click.argument(
    "out_dir", metavar="OUT_DIR", type=click.Path(file_okay=False, path_type=Path)
)
@job_options
@click.option("--force", is_flag=True, help="Write into a directory that is not empty.")
@click.option(
    "--format",
    "fmt",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="Form of the summary.",
)
@verbosity_options
@click.pass_context
def synth(ctx: click.Context, out_dir: Path, job: SynthJob, force: bool, fmt: str) -> None:
    """Write the traces of a made-up training job into OUT_DIR.

    All ranks are simulated in lock-step, so every wait is known: OUT_DIR/truth.json lists
    each collective with the durations in the files, its tax and its straggler, and each
    injected delay with the collective it reaches and how much of it is hidden.
    """
    from synctax.report import output

    with _progress(ctx) as progress:
        known = write(job, out_dir, overwrite=force, progress=progress)
    if fmt == "json":
        output.write(_json(known), None)
    else:
        output.show(_lines(known, out_dir), output.Output())


def _json(known: Truth) -> bytes:
    import orjson

    envelope = {
        "schema": SCHEMA,
        "parameters": dataclasses.asdict(known.job),
        "excluded": [],
        "files": len(known.ranks),
        "size_bytes": sum(rank.n_bytes for rank in known.ranks),
        "events": sum(rank.n_events for rank in known.ranks),
        "kernels": sum(rank.n_kernels for rank in known.ranks),
        "collectives": dict(sorted(_statuses(known).items())),
        "truth": TRUTH_FILE,
        "rows": [dataclasses.asdict(rank) for rank in known.ranks],
    }
    options = orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS
    return orjson.dumps(envelope, option=options) + b"\n"


def _lines(known: Truth, out_dir: Path) -> list[str]:
    statuses = _statuses(known)
    kinds = ", ".join(f"{count:,} {status}" for status, count in sorted(statuses.items()))
    n_events = sum(rank.n_events for rank in known.ranks)
    size_mb = sum(rank.n_bytes for rank in known.ranks) / 1e6
    job = known.job
    ranks = f"{len(known.ranks):,} of {counted(job.world, 'rank')}"
    events = f"{size_mb:,.1f} MB as plain JSON, {counted(n_events, 'event')}"
    program = f"{counted(job.layers, 'layer')}, {counted(job.steps, 'step')}"
    return [
        f"{ranks}, {events}",
        f"traces: {_files(known, out_dir)}",
        f"{program}, {counted(statuses.total(), 'collective')} ({kinds})",
        f"truth: {out_dir / TRUTH_FILE}",
    ]


def _files(known: Truth, out_dir: Path) -> str:
    """Name the first and the last file, the folder once."""
    first, last = known.ranks[0].file, known.ranks[-1].file
    files = str(out_dir / first)
    return files if first == last else f"{files} ... {PurePath(last).name}"


def _statuses(known: Truth) -> Counter[str]:
    return Counter(collective.status for collective in known.collectives())


@contextmanager
def _progress(ctx: click.Context) -> Iterator[Callable[[int, int], None] | None]:
    """Draw a bar on stderr, on a terminal and for work that takes a while."""
    if verbosity(ctx) < 0 or not _is_terminal():
        yield None
        return
    with ExitStack() as stack:
        bars: list[ProgressBar[int]] = []

        def show(done: int, total: int) -> None:
            if total < MANY_RANK_STEPS:
                return
            if not bars:
                bar = click.progressbar(length=total, label="writing", file=sys.stderr)
                bars.append(stack.enter_context(bar))
            bars[0].update(done - bars[0].pos)

        yield show


def _is_terminal() -> bool:
    return sys.stderr.isatty()
