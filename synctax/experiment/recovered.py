"""What came back of delays, in tables and numbers."""

from collections import Counter
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from synctax.arrays import F64, Bool
from synctax.experiment.hits import Hits, levels_us
from synctax.experiment.lines import (
    DEFAULT_RESAMPLES,
    DEFAULT_SEED,
    Envelope,
    envelope,
    quantile_us,
    share_of,
    wilson,
)
from synctax.notes import Note
from synctax.schema import INJECT, INJECT_COLLECTIVES
from synctax.schema.html import Shown

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_LEAST_US = 5_000.0
"""From this size on delays must come back."""

LEAST_JUDGED_SHARE = 0.5
"""Where fewer of those that are reached can be judged, their share proves nothing.

If a share j is judged, and s of it recovered, then of all that are reached between s j and
s j + 1 - j are. Below one half the part that nobody judged is the larger one.
"""

BIN_EDGES_US = (-20_000.0, -10_000.0, -5_000.0, -2_000.0, -1_000.0, 0.0, 1_000.0,
                2_000.0, 5_000.0, 10_000.0, 20_000.0)  # fmt: skip
"""Ends of the bins of delay less slack, as in the paper's figure 5."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What a recovery rests on, apart from the collectives that are reached.

    Parameters
    ----------
    delays : int
        How many were put in, controls included.
    ranks : int
        Ranks whose traces were read.
    cores : int or None
        Cores that all ranks share, where they ran on one host and that is known.
    on_gpu : bool
        Collectives run on GPUs: the lead of the host hides short delays.
    end_spread_us : (c,) float64
        How far the ends of each collective that is reached lie apart.
    """

    delays: int
    ranks: int
    cores: int | None
    on_gpu: bool
    end_spread_us: F64


@dataclass(frozen=True, slots=True)
class Tally:
    """How often rank and operator were named.

    Of the collectives `reached`, those are `judged` that were attributed and that one delay
    alone reaches: where several do, of one rank or more, no single one need be the culprit.
    Among these are the counts: `amount_named` names rank, operator and a variation within
    `AMOUNT_APART` of what must show. `recovered_of_reached` are all that name both.
    """

    reached: int
    judged: int
    rank_named: int
    operator_named: int
    recovered: int
    amount_named: int
    recovered_of_reached: int

    @classmethod
    def of(cls, hits: Hits, rows: Bool) -> "Tally":
        """Count over some of the collectives."""
        judged = rows & hits.judged & hits.alone
        return cls(
            reached=int(rows.sum()),
            judged=int(judged.sum()),
            rank_named=int((judged & hits.rank_named).sum()),
            operator_named=int((judged & hits.operator_named).sum()),
            recovered=int((judged & hits.recovered).sum()),
            amount_named=int((judged & hits.amount_named).sum()),
            recovered_of_reached=int((rows & hits.recovered).sum()),
        )

    @property
    def share(self) -> float:
        """Recovered over judged; NaN of none."""
        return self.recovered / self.judged if self.judged else float("nan")

    @property
    def judged_share(self) -> float:
        """Judged over reached; NaN of none."""
        return self.judged / self.reached if self.reached else float("nan")

    @property
    def share_of_reached(self) -> float:
        """Recovered over reached; NaN of none."""
        return self.recovered_of_reached / self.reached if self.reached else float("nan")


@dataclass(frozen=True, repr=False, eq=False)
class Recovered(Shown):
    """What `judge` found.

    Parameters
    ----------
    hits : Hits
        Collectives that delays reach.
    setting : Setting
    notes : tuple of Note
        Delays that reach none, collectives that were not asked for, and what attribution
        notes.
    least_us : float
        From this size on delays must come back.
    resamples, seed : int
        Of the intervals of lines.
    """

    hits: Hits
    setting: Setting
    notes: tuple[Note, ...] = ()
    least_us: float = DEFAULT_LEAST_US
    resamples: int = DEFAULT_RESAMPLES
    seed: int = DEFAULT_SEED

    def __repr__(self) -> str:
        found = self.tally
        return f"<Recovered: {found.recovered} of {found.judged} collectives>"

    @cached_property
    def due(self) -> Bool:
        """Which collectives must name rank and operator, (c,) bool.

        Those of which `least_us` was asked for and must show: a small delay that happened
        to last longer is none.
        """
        hits = self.hits
        due: Bool = np.minimum(hits.expected_us, hits.asked_us) >= self.least_us
        return due

    @cached_property
    def tally(self) -> Tally:
        """How often rank and operator come back where they must."""
        return Tally.of(self.hits, self.due)

    @cached_property
    def controls(self) -> Bool:
        """Collectives that only delays of 0 reach, (c,) bool."""
        return self.hits.is_control

    @property
    def knows_slack(self) -> bool:
        """Whether the truth tells how much of some delay is hidden."""
        return bool(np.isfinite(self.hits.slack_us).any())

    @cached_property
    def by_delay(self) -> Envelope | None:
        """Tax against delay, over the collectives that were attributed."""
        rows = self.hits.judged
        return self._envelope(self.hits.delay_us, self.hits.tax_us, rows)

    @cached_property
    def by_excess(self) -> Envelope | None:
        """Tax against what exceeds the slack, where the truth tells that."""
        rows = self.hits.judged & np.isfinite(self.hits.slack_us)
        return self._envelope(self.hits.expected_us, self.hits.tax_us, rows, exact=False)

    @cached_property
    def by_culprit(self) -> Envelope | None:
        """Variation of the culprit against what must show, where it is the delayed one.

        Over what is recovered only: it tells how much is blamed where the right one is.
        """
        hits = self.hits
        rows = hits.recovered & hits.alone & np.isfinite(hits.culprit_us) & ~hits.passed_on
        rows &= hits.expected_us > 0
        return self._envelope(
            hits.expected_us, hits.culprit_us, rows, exact=not self.knows_slack
        )

    def _envelope(
        self, x: F64, y: F64, rows: Bool, *, exact: bool = True
    ) -> Envelope | None:
        level = levels_us(self.hits.asked_us if exact else x)
        return envelope(
            x[rows],
            y[rows],
            level[rows],
            self.hits.cluster[rows],
            resamples=self.resamples,
            seed=self.seed,
        )

    # ------------------------------------------------------------------ tables

    def to_frame(self) -> "pd.DataFrame":
        """One row per size of delay (`schema.INJECT`)."""
        level = levels_us(self.hits.asked_us)
        rows = [self._dose(float(one), level == one) for one in np.unique(level)]
        return INJECT.to_frame({name: [row[name] for row in rows] for name in INJECT.names})

    def _dose(self, dose_us: float, rows: Bool) -> dict[str, Any]:
        hits, tally = self.hits, Tally.of(self.hits, rows)
        judged = rows & hits.judged & hits.alone
        low, high = wilson(tally.recovered, tally.judged)
        tax_us = quantile_us(hits.tax_us[rows], 0.5)
        return {
            "dose_us": dose_us,
            "steps": np.unique(hits.cluster[rows]).size,
            "delays": int(hits.delays[rows].sum()),
            "collectives": tally.reached,
            "judged": tally.judged,
            "delay_us_median": quantile_us(hits.delay_us[rows], 0.5),
            "expected_us_median": quantile_us(hits.expected_us[rows], 0.5),
            "tax_max_us_median": tax_us,
            "tax_max_us_p10": quantile_us(hits.tax_us[rows], 0.1),
            "tax_max_us_p90": quantile_us(hits.tax_us[rows], 0.9),
            "excess_us_median": tax_us - quantile_us(hits.tax_us[self.controls], 0.5),
            "rank_named_share": share_of(hits.rank_named[judged]),
            "operator_named_share": share_of(hits.operator_named[judged]),
            "recovered_share": tally.share,
            "amount_named_share": share_of(hits.amount_named[judged]),
            "recovered_lo": low,
            "recovered_hi": high,
            "recovered_of_reached_share": tally.share_of_reached,
            "culprit_us_median": quantile_us(hits.culprit_us[rows & hits.recovered], 0.5),
            "operator_path_share_median": quantile_us(hits.operator_share[judged], 0.5),
            "cpu_path_share_median": quantile_us(hits.host_share[judged], 0.5),
            "through_cpu_share": share_of(hits.on_cpu[judged]),
        }

    def per_collective(self) -> "pd.DataFrame":
        """One row per collective that is reached (`schema.INJECT_COLLECTIVES`)."""
        hits, judged = self.hits, self.hits.judged

        def if_judged(values: Any) -> list[Any]:
            pairs = zip(values, judged.tolist(), strict=True)
            return [value if known else None for value, known in pairs]

        def known(values: Any) -> list[int | None]:
            return [value if value >= 0 else None for value in values.tolist()]

        return INJECT_COLLECTIVES.to_frame(
            {
                "group": hits.group,
                "group_ranks": hits.group_ranks,
                "op": hits.op,
                "index": hits.index,
                "step": hits.step,
                "delayed_rank": hits.rank,
                "operator": hits.operator,
                "delays": hits.delays,
                "dose_us": hits.asked_us,
                "delay_us": hits.delay_us,
                "slack_us": hits.slack_us,
                "expected_us": hits.expected_us,
                "tax_max_us": hits.tax_us,
                "straggler_rank": known(hits.straggler),
                "culprit": hits.culprit,
                "culprit_variation_us": hits.culprit_us,
                "origin_rank": known(hits.origin_rank),
                "origin_culprit": hits.origin_culprit,
                "rank_named": if_judged(hits.rank_named.tolist()),
                "operator_named": if_judged(hits.operator_named.tolist()),
                "recovered": if_judged(hits.recovered.tolist()),
                "amount_named": if_judged(hits.amount_named.tolist()),
                "passed_on": if_judged(hits.passed_on.tolist()),
                "operator_path_share": hits.operator_share,
                "cpu_path_share": hits.host_share,
                "path_side": if_judged(hits.path_side),
                "status": hits.status,
                "reason": hits.reason,
            }
        )

    # ------------------------------------------------------------------ numbers

    def left_out(self) -> tuple[Note, ...]:
        """Collectives that are reached and not judged, by reason."""
        hits = self.hits
        why = Counter(
            (hits.status[i].replace(" ", "_"), f"{hits.group[i]}: {hits.reason[i]}")
            for i in np.flatnonzero(~hits.judged).tolist()
        )
        return tuple(Note(status, count, text) for (status, text), count in why.items())

    def through_cpu(self) -> list[dict[str, Any]]:
        """How many paths go through the CPU, by delay less slack: figure 5, on the right.

        Returns
        -------
        list of dict
            One a bin that holds collectives, ascending; `from_us` or `to_us` is None at
            the ends. Delay alone where no slack is known.
        """
        hits = self.hits
        beyond = hits.delay_us - (hits.slack_us if self.knows_slack else 0.0)
        rows = hits.judged & np.isfinite(beyond)
        place = np.digitize(beyond, BIN_EDGES_US)
        ends = (None, *BIN_EDGES_US, None)
        bins = []
        for number in np.unique(place[rows]).tolist():
            mine = rows & (place == number)
            bins.append(
                {
                    "from_us": ends[number],
                    "to_us": ends[number + 1],
                    "collectives": int(mine.sum()),
                    "through_cpu_share": share_of(hits.on_cpu[mine]),
                    "cpu_path_share_median": quantile_us(hits.host_share[mine], 0.5),
                    "operator_path_share_median": quantile_us(
                        hits.operator_share[mine], 0.5
                    ),
                    "tax_max_us_median": quantile_us(hits.tax_us[mine], 0.5),
                }
            )
        return bins

    def envelope(self) -> dict[str, Any]:
        """Numbers over all sizes of delay, and the verdict, as JSON holds them."""
        found, setting, hits = self.tally, self.setting, self.hits
        low, high = wilson(found.recovered, found.judged)
        judged = hits.judged & hits.alone
        controls = self.controls & judged
        lines = {
            "tax_by_delay": self.by_delay,
            "tax_by_excess": self.by_excess,
            "culprit_by_excess": self.by_culprit,
        }
        return {
            "delays": setting.delays,
            "reached": len(hits),
            "attributed": int(hits.judged.sum()),
            "judged": int(judged.sum()),
            "recovery": {
                "least_us": self.least_us,
                **asdict(found),
                "share": found.share,
                "share_lo": low,
                "share_hi": high,
                "judged_share": found.judged_share,
                "share_of_reached": found.share_of_reached,
            },
            "controls": {
                "collectives": int(controls.sum()),
                "tax_max_us_median": quantile_us(hits.tax_us[controls], 0.5),
                "tax_max_us_p90": quantile_us(hits.tax_us[controls], 0.9),
                "recovered_share": share_of(hits.recovered[controls]),
            },
            "lines": {
                name: None if line is None else asdict(line) for name, line in lines.items()
            },
            "through_cpu": self.through_cpu(),
            "end_spread_us_median": quantile_us(setting.end_spread_us, 0.5),
            "end_spread_us_p90": quantile_us(setting.end_spread_us, 0.9),
            "ranks": setting.ranks,
            "cores": setting.cores,
            "verdict": self.verdict(),
        }

    def verdict(self) -> tuple[str, ...]:
        """Say in sentences what came back."""
        from synctax.experiment.verdict import verdict

        return verdict(self)
