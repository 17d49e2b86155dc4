"""What holds for options of every command that records or delays a job."""

import click

UNITS_US = {"us": 1.0, "ms": 1e3, "s": 1e6}
"""Units of a delay as users write it, `ms=5`, in µs."""


def check_first_step(ctx: click.Context, *, skip: int, step_at: str) -> None:
    """Refuse to record the first step of an optimizer, which nobody sees begin.

    Raises
    ------
    click.UsageError
        If no step is skipped.
    """
    if not skip and not step_at:
        raise click.UsageError(
            "the first step is known from its end on: --skip at least 1, or name a "
            "function with --step-at",
            ctx,
        )
