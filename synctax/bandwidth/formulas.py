"""How the cost of each algorithm is written, where it is from, and what has none."""

from dataclasses import dataclass

PAPER = "synchronization-tax paper, section 6.2"
NCCL_TESTS = "nccl-tests, doc/PERFORMANCE.md: half of an all-reduce"
TWO_TREES = (
    "Sanders, Speck, Träff 2009 (two-tree algorithms): every rank sends and receives each "
    "half of the buffer up one tree and down the other; NCCL, graph/tuning.cc, takes half "
    "of the bus bandwidth too"
)
NVLS = (
    "a rank's memory is read once by the switch (S out, S/n in), then its shard is "
    "multicast (S/n out, S in), both at once: S. Jeaugey on nccl-tests pull request 239 "
    "(algbw = busbw·n/(n+1)) and on NCCL issues 1083 and 1506 (reduce-scatter sends S and "
    "receives S/n, all-gather the other way); measured 275 GB/s of S on 8 H100 against 370 "
    "GB/s point to point (nccl-tests issue 212), so q is nearer 1.35 there"
)
CHANNEL_LOAD = (
    "Dally, Towles 2004, Principles and Practices of Interconnection Networks, chapter 5: "
    "load of a channel of a torus under uniform traffic; B is that of all links of a rank"
)
LEVELS = (
    "Cho et al. 2019 (BlueConnect): reduce-scatter in the domain, the operation on shards "
    "of S/m across domains, all-gather in the domain"
)


@dataclass(frozen=True, slots=True)
class Formula:
    """How one algorithm's p and q are written.

    Parameters
    ----------
    algorithm : str
        What it is called.
    p, q : str
        Messages in turn and buffers sent, in n; "" where it is refused.
    source : str
    refused : str
        Why there is no algorithm; "" where there is one.
    """

    algorithm: str = ""
    p: str = ""
    q: str = ""
    source: str = ""
    refused: str = ""


_TREE_ONLY = (
    "a tree sends whole buffers, so it is used for all-reduce only; take ring or switched"
)

FORMULAS: dict[tuple[str, str], Formula] = {
    ("ring", "all_reduce"): Formula("ring", "2(n-1)", "2(n-1)/n", PAPER),
    ("ring", "reduce_scatter"): Formula("ring", "n-1", "(n-1)/n", NCCL_TESTS),
    ("ring", "all_gather"): Formula("ring", "n-1", "(n-1)/n", NCCL_TESTS),
    ("ring", "all_to_all"): Formula(
        "shortest way round", "floor(n/2)", "floor(n²/4)/n", CHANNEL_LOAD
    ),
    ("torus3d", "all_reduce"): Formula(
        "3-D bucket", "2·sum(d-1), cube: 6·(∛n - 1)", "2(n-1)/n", PAPER
    ),
    ("torus3d", "reduce_scatter"): Formula(
        "3-D bucket", "sum(d-1), cube: 3·(∛n - 1)", "(n-1)/n", NCCL_TESTS
    ),
    ("torus3d", "all_gather"): Formula(
        "3-D bucket", "sum(d-1), cube: 3·(∛n - 1)", "(n-1)/n", NCCL_TESTS
    ),
    ("torus3d", "all_to_all"): Formula(
        "shortest way",
        "sum(floor(d/2)), cube: 3/2·∛n",
        "sides·max(floor(d²/4)/d), cube: 3/4·∛n",
        CHANNEL_LOAD,
    ),
    ("switched", "all_reduce"): Formula("two-phase all-pairs", "2", "2(n-1)/n", PAPER),
    ("switched", "reduce_scatter"): Formula("all-pairs", "1", "(n-1)/n", NCCL_TESTS),
    ("switched", "all_gather"): Formula("all-pairs", "1", "(n-1)/n", NCCL_TESTS),
    ("switched", "all_to_all"): Formula("all-pairs", "1", "(n-1)/n", PAPER),
    ("tree", "all_reduce"): Formula("double binary tree", "2·ceil(log2 n)", "2", TWO_TREES),
    ("tree", "reduce_scatter"): Formula(refused=_TREE_ONLY),
    ("tree", "all_gather"): Formula(refused=_TREE_ONLY),
    ("tree", "all_to_all"): Formula(refused=_TREE_ONLY),
    ("in_switch", "all_reduce"): Formula("NVLink SHARP", "2", "1+1/n", NVLS),
    ("in_switch", "reduce_scatter"): Formula("NVLink SHARP", "1", "1", NVLS),
    ("in_switch", "all_gather"): Formula("NVLink SHARP", "1", "1", NVLS),
    ("in_switch", "all_to_all"): Formula(
        refused="there is nothing to reduce or to multicast; take switched"
    ),
    ("hierarchical", "all_reduce"): Formula(
        "two levels",
        "2, across k: of all_reduce",
        "2(m-1)/m, across: that of k / m",
        LEVELS,
    ),
    ("hierarchical", "reduce_scatter"): Formula(
        "two levels",
        "1, across k: of reduce_scatter",
        "(m-1)/m, across: that of k / m",
        LEVELS,
    ),
    ("hierarchical", "all_gather"): Formula(
        "two levels", "1, across k: of all_gather", "(m-1)/m, across: that of k / m", LEVELS
    ),
    ("hierarchical", "all_to_all"): Formula(
        refused="both levels carry it side by side, so its time is no sum of theirs; take "
        "switched with the link that is the slower one"
    ),
}
"""By topology and operation; m ranks a domain, k domains, d sides of a torus."""
