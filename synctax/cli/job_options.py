"""What holds for options of every command that records a job."""

import click


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
