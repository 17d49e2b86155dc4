"""What no framework runs, and how it is refused."""

from collections.abc import Iterable, Iterator

from synctax.errors import SynctaxError
from synctax.planning.layout import Layout
from synctax.planning.shape import Model
from synctax.planning.training import Training


def refuse(framework: str, layout: Layout, reasons: Iterable[str]) -> None:
    """Refuse a layout if there is a reason to.

    Parameters
    ----------
    framework : str
    layout : Layout
    reasons : iterable of str

    Raises
    ------
    SynctaxError
        With all reasons, if there are any.
    """
    found = list(reasons)
    if found:
        raise SynctaxError(f"{framework} cannot run {layout}: {'; '.join(found)}")


def step_microbatches(training: Training, layout: Layout) -> int:
    """Count the microbatches of a step, m = B/(b·d), rounded down."""
    return training.batch // (training.microbatch * layout.dp)


def shared_limits(model: Model, training: Training, layout: Layout) -> Iterator[str]:
    """Say why no framework runs a layout.

    Parameters
    ----------
    model : Model
    training : Training
    layout : Layout

    Yields
    ------
    str
        A reason.
    """
    rows = training.microbatch * layout.dp
    if training.batch % rows:
        yield (
            f"the batch of {training.batch:,} does not divide into microbatches of "
            f"{training.microbatch} on dp {layout.dp} ({training.batch} mod {rows} = "
            f"{training.batch % rows})"
        )
    if model.heads % layout.tp:
        yield f"tp {layout.tp} does not divide the {model.heads} heads"
    yield from _pipeline_limits(model, layout)
    yield from _expert_limits(model, training, layout)


def sequence_limits(sequence: int, parts: int) -> Iterator[str]:
    """Say whether a sequence does not divide into equal parts."""
    if sequence % parts:
        yield f"a sequence of {sequence:,} does not divide into {parts} equal parts"


def _pipeline_limits(model: Model, layout: Layout) -> Iterator[str]:
    stages = layout.pp * layout.virtual_stages
    if stages > model.layers:
        yield f"{stages} stages are more than the {model.layers} layers"
    if layout.virtual_stages > 1 and layout.pp == 1:
        yield f"v {layout.virtual_stages} interleaves a pipeline, and pp is 1"


def _expert_limits(model: Model, training: Training, layout: Layout) -> Iterator[str]:
    if layout.ep == 1:
        return
    if model.experts is None:
        yield f"ep is {layout.ep}, and {model.name} has no experts"
        return
    if model.experts.count % layout.ep:
        yield f"ep {layout.ep} does not divide the {model.experts.count} experts"
    share = layout.ep * expert_tp(training, layout)
    ranks = layout.tp * layout.dp * layout.cp
    if ranks % share:
        yield (
            f"experts over {share} ranks do not divide the {ranks} of a stage "
            f"({ranks} mod {share} = {ranks % share})"
        )


def expert_tp(training: Training, layout: Layout) -> int:
    """Say how many TP ranks share an expert."""
    return layout.tp if training.expert_tp else 1
