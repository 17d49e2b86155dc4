"""Times of one rank as its trace writes them."""

from dataclasses import dataclass

from synctax.arrays import NS_PER_US
from synctax.synth.job import SynthJob
from synctax.synth.window import BASE_TIME_NS


@dataclass(frozen=True, slots=True)
class TimeText:
    """Writes times in µs: with three decimals, or whole as old PyTorch does.

    Examples
    --------
    >>> TimeText(SynthJob()).span(1_500, 4_000)
    ('1.500', '2.500')
    """

    job: SynthJob

    def ts(self, ns: int) -> str:
        """Write a time in µs."""
        if self.job.absolute_ts:
            ns += BASE_TIME_NS
        return self._us(ns)

    def span(self, start_ns: int, end_ns: int) -> tuple[str, str]:
        """Write start and duration in µs."""
        if self.job.whole_us:
            return self.ts(start_ns), str(end_ns // NS_PER_US - start_ns // NS_PER_US)
        return self.ts(start_ns), self._us(end_ns - start_ns)

    def _us(self, ns: int) -> str:
        if self.job.whole_us:
            return str(ns // NS_PER_US)
        return f"{ns // NS_PER_US}.{ns % NS_PER_US:03d}"
