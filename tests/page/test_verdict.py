"""The three sentences at the head of a page."""

from synctax.collectives.model import Group
from synctax.collectives.tax import measure
from synctax.report.page.content import Content, Missing, Options
from synctax.report.page.verdict import sentences
from tests.attribution.examples import attributed
from tests.collectives.job import C, rank


def test_where_nobody_waited_the_first_sentence_says_no_more():
    pair = Group("0", (0, 1), "tp", 2, "kernel")
    alike = [C(1_000.0 * (k + 1) + 97 * k * k, 20) for k in range(12)]
    tax = measure([rank(r, alike, groups=[pair]) for r in (0, 1)])
    said = sentences(Content(tax, Missing(), Missing(), Missing(), Options()))
    assert said[0] == "Nobody waited in any collective."


def test_a_culprit_that_holds_most_of_the_tax_is_named():
    found = attributed()
    content = Content(found.tax, found, Missing(), Missing(), Options())
    plain = sentences(content)[1]
    assert plain.startswith("In tp: culprits are GEMM kernels")
    assert not any(content.foremost.values())
    content.foremost["tp"] = (
        "most of all 6 × gap before aten::mm on rank 2: 99.8 % of the tax"
    )
    assert sentences(content)[1] == f"{plain[:-1]}; {content.foremost['tp']}."
