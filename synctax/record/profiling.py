"""`profile`: what a training script calls to be recorded."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from synctax.record.plan import (
    DEFAULT_MEET_TIMEOUT_S,
    DEFAULT_SKIP,
    DEFAULT_STEPS,
    DEFAULT_WARMUP,
    DelayRule,
    Plan,
)
from synctax.record.recording import Recording


def profile(  # noqa: PLR0913 - options of a plan
    folder: str | PathLike[str],
    *,
    skip: int = DEFAULT_SKIP,
    warmup: int = DEFAULT_WARMUP,
    steps: int = DEFAULT_STEPS,
    record_shapes: bool = True,
    with_stack: bool = False,
    delays: Sequence[DelayRule] = (),
    meet_timeout_s: float = DEFAULT_MEET_TIMEOUT_S,
) -> Recording:
    """Record some steps of a training loop, on every rank, as synctax needs them.

    Every rank of the job calls it, around the loop, and calls `step` at the end of each
    step. The traces are then at `folder/iteration_N/rankR_trace.json.gz`, where N is the
    step at which the window ended, and `synctax measure folder` reads them.

    >>> from synctax import record  # doctest: +SKIP
    >>> with record.profile("traces") as window:  # doctest: +SKIP
    ...     for batch in batches:
    ...         loss = model(batch)
    ...         loss.backward()
    ...         optimizer.step()
    ...         window.step()

    Parameters
    ----------
    folder : path
        For the traces of all ranks: shared between hosts, or one on each to be joined.
    skip, warmup, steps : int
        So many steps are left alone, so many prepare the profiler (GPUs collect, and
        nothing is kept), and so many are recorded. After that nothing more is done.
    record_shapes : bool
        Needed for the sizes of what gloo sends, and of matrices.
    with_stack : bool
        Record Python's stack, too; costly.
    delays : sequence of DelayRule
        Operators to delay in the warm-up and the window (see `Delay`), on all ranks alike.
        What was done is at `folder/iteration_N/rankR_delays.json`.
    meet_timeout_s : float
        How long ranks wait for each other before the window, in seconds; 0: not at all.

    Returns
    -------
    Recording
        A context manager with `step`; or call `begin` before the loop and `end` after it.

    Raises
    ------
    ValueError
        If values contradict each other: a window of no step, negative counts.

    Notes
    -----
    Where to call `step`: once each time the optimizer has stepped, on every rank, in all
    roles (pipeline stages, data-parallel replicas) alike, since ranks count their steps
    apart and must open the window at the same one.

    - Micro-batches of one optimizer step are one step.
    - torchtitan: in the training loop, after `train_step(...)`, where it calls
      `torch_profiler.step()`; leave its own profiler off.
    - Megatron-LM: in `train`, after `train_step(...)` and where `iteration` is counted;
      leave `--profile` off.
    - Lightning, Hugging Face, or a loop that is not at hand: in a callback at the end of
      each training step, with `begin` at the start and `end` at the end; or leave the
      script as it is and use `synctax record -- torchrun script.py`.

    Before the window devices are synchronised and all ranks meet through the store of
    their process group, so that the window's head is clean; no collective is issued. Where
    there is no process group, RANK and WORLD_SIZE name the rank.

    A profiler of the script itself goes first: the window waits until it has ended, on all
    ranks. An exception in the loop ends the window, what was recorded is written, and the
    exception goes on. Whatever fails in the recording is told on stderr and in
    `folder/record/rankR.json`, and the job goes on.

    A trace is first written uncompressed, some 350 bytes an event, into the folder for
    temporary files (TMPDIR), or beside the trace where that folder has less than 8 GB free
    and less than there.

    torch 2.4 or later. NVIDIA, AMD and Intel GPUs are recorded where torch has them, and
    with them their synchronisation.
    """
    return Recording(
        Plan(
            Path(folder),
            skip=skip,
            warmup=warmup,
            steps=steps,
            record_shapes=record_shapes,
            with_stack=with_stack,
            delays=tuple(delays),
            meet_timeout_s=meet_timeout_s,
        )
    )
