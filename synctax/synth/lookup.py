"""The launches of a step: found by what a user calls them, named as the trace does."""

from synctax.errors import SynctaxError
from synctax.synth.delay import Delay
from synctax.synth.job import SynthJob
from synctax.synth.names import kernel_name
from synctax.synth.program import Program


def delayed(program: Program, delay: Delay) -> int:
    """Find the launch that a delay names.

    Parameters
    ----------
    program : Program
        The step.
    delay : Delay
        A kernel or a collective of it.

    Returns
    -------
    int
        Position among the launches.

    Raises
    ------
    SynctaxError
        If the step has no such kernel or collective.
    """
    if delay.place is None:
        if delay.kernel is None or not 0 <= delay.kernel < len(program.compute):
            raise SynctaxError(
                f"a delay names kernel {delay.kernel}, a step has {len(program.compute)}"
            )
        return program.compute[delay.kernel]
    key, ordinal = delay.place
    for position in program.comms:
        comm = program.launches[position].comm
        if comm and (program.dimensions[comm.dimension].key, comm.ordinal) == delay.place:
            return position
    counts = zip(program.dimensions, program.per_step, strict=True)
    known = {dimension.key: count for dimension, count in counts}
    raise SynctaxError(
        f"a delay names collective {ordinal} of {key}, a step has {known.get(key, 0)} of it"
    )


def launched_name(job: SynthJob, program: Program, position: int) -> str:
    """Name the kernel of a launch as the trace does."""
    launch = program.launches[position]
    if launch.comm is not None:
        return kernel_name(launch.comm.op, launch.comm.dtype, job.nccl_names)
    assert launch.kernel is not None  # noqa: S101 - one of the two is set
    return launch.kernel.name


def call_name(job: SynthJob, program: Program, slot: int) -> str:
    """Name the launching call of a slot as the trace does."""
    if program.launches[program.slots[slot].first].comm is not None:
        return "cudaLaunchKernelExC"
    return "cudaGraphLaunch" if job.cuda_graphs else "cudaLaunchKernel"


def operator_name(job: SynthJob, program: Program, slot: int) -> str:
    """Name the innermost operator around a slot's call; empty where none is written."""
    kernel = program.launches[program.slots[slot].first].kernel
    if kernel is None:
        return "record_param_comms"
    return kernel.operators[-1] if job.cpu_ops_per_kernel else ""
