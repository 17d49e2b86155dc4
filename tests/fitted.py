"""A tax model as `fit-evt` would write it."""

from synctax.evt.tax import Gumbel, Origin, TaxModel


def fitted(n_fit: int) -> TaxModel:
    """Return a model that knows everything a Gumbel prediction with an interval needs."""
    return TaxModel(
        n_fit=n_fit,
        group="tp",
        a_us=10_000.0,
        b_us=200.0,
        r=0.02,
        payload_bytes=100_000_000,
        source=Origin("traces", ("a job",)),
        gumbel=Gumbel(loc=0.9, scale=0.6, cov=((4e-4, 1e-4), (1e-4, 2e-4))),
    )
