"""From an attribution and the truth of delays to what came back."""

import numpy as np

from synctax.arrays import NS_PER_US
from synctax.attribution.attribute import Attribution
from synctax.attribution.summary import excluded
from synctax.experiment.blame import blame
from synctax.experiment.injections import Injections
from synctax.experiment.lines import DEFAULT_RESAMPLES, DEFAULT_SEED
from synctax.experiment.reach import Reach, reach
from synctax.experiment.recovered import DEFAULT_LEAST_US, Recovered, Setting
from synctax.notes import Note


def judge(
    found: Attribution,
    injections: Injections,
    *,
    least_us: float = DEFAULT_LEAST_US,
    cores: int | None = None,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = DEFAULT_SEED,
) -> Recovered:
    """Compare what attribution says with the delays that were put in.

    Parameters
    ----------
    found : Attribution
        Of the traces that the truth lies beside; its selection of groups, operations and
        steps counts.
    injections : Injections
        As `read_injections` returns them.
    least_us : float
        From this size on delays must come back: what the verdict is about.
    cores : int, optional
        Cores that all ranks share, where they ran on one host.
    resamples, seed : int
        Of the intervals of slopes.

    Returns
    -------
    Recovered

    Raises
    ------
    BadInputError
        If the truth is of other traces.
    SynctaxError
        If nothing was delayed.
    TypeError
        If `found` is not what `attribute` returns.
    ValueError
        If `least_us` is no length of time above 0, or `resamples` less than 1.

    References
    ----------
    Synchronization-tax paper, section 4.3, interventional validation.
    """
    if not isinstance(found, Attribution):
        raise TypeError("judge wants what synctax.attribute(tax) returns")
    if not 0 < least_us < float("inf"):
        raise ValueError(f"least_us must be above 0, not {least_us}")
    if resamples < 1:
        raise ValueError(f"resamples must be 1 or more, not {resamples}")
    matches = found.tax.matches
    reached = reach(matches, injections)
    hits = blame(found, injections, reached)
    slots = np.unique(reached.slot[_shown(found, reached)])
    setting = Setting(
        delays=len(injections),
        ranks=len({rank.rank for rank in matches.ranks}),
        cores=cores,
        on_gpu=any(rank.comm_kernels for rank in matches.ranks),
        end_spread_us=matches.end_spread_ns[slots] / NS_PER_US,
    )
    other = int((reached.slot >= 0).sum()) - int(_shown(found, reached).sum())
    notes = reached.notes
    if other:
        text = "delays that reach a collective which was not asked for"
        notes += (Note("delay_not_selected", other, text),)
    return Recovered(
        hits=hits,
        setting=setting,
        notes=(*notes, *excluded(found)),
        least_us=least_us,
        resamples=resamples,
        seed=seed,
    )


def _shown(found: Attribution, reached: Reach) -> np.ndarray:
    """Which delays reach a collective that was asked for, (d,) bool."""
    shown: np.ndarray = (reached.slot >= 0) & found.tax.shown[reached.slot]
    return shown
