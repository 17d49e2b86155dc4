"""How changes are written, and what is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synctax.attribution.changes import MAX_FACTOR, Change, Replace, parse_change

names = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=9)
factors = st.none() | st.floats(0, MAX_FACTOR) | st.integers(0, int(MAX_FACTOR))
kernels = st.text("ab<>(), *:=", min_size=1, max_size=12).map(str.strip).filter(bool)


@given(
    st.builds(
        Change,
        st.just("gpu"),
        factors,
        rank=st.none() | st.integers(0, 10**6),
        kernel_class=st.just("") | names,
        kernel=st.just("") | kernels,
    )
    | st.builds(
        Change,
        st.sampled_from(["cpu", "launches", "gaps"]),
        factors,
        rank=st.none() | st.integers(0, 10**6),
    )
    | st.builds(Change, st.just("tax"), st.just(0.0), group=st.just("") | names)
)
def test_a_change_is_read_back_from_its_text(change):
    assert parse_change(change.text) == change


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("class=gemm:median", Change("gpu", kernel_class="gemm")),
        ("rank=3:median", Change("gpu", rank=3)),
        ("launches:median", Change("launches")),
        ("gpu*2", Change("gpu", 2.0)),
        ("gpu*0.333333", Change("gpu", 0.333333)),
        (" tax=0 ", Change("tax", 0.0)),
        ("kernel=f<a, b>(int*)*0.5", Change("gpu", 0.5, kernel="f<a, b>(int*)")),
        ("rank=0, cpu*0.5", Change("cpu", 0.5, rank=0)),
    ],
)
def test_texts_mean_what_they_say(text, change):
    assert parse_change(text) == change


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not what to change to"),
        ("class=gemm", "not what to change to"),
        ("class=gemm*fast", "'fast' is no factor"),
        ("class=gemm*-1", "from 0 to"),
        ("class=gemm*nan", "from 0 to"),
        ("class=gemm*1e9", "from 0 to"),
        ("class=:median", "'class=' is nothing that can be changed"),
        ("gemm:median", "'gemm' is nothing that can be changed"),
        ("rank=x:median", "'x' is no rank"),
        ("rank=99999999999:median", "no rank"),
        ("rank=1,rank=2:median", "names two of rank"),
        ("cpu,gaps:median", "names two of what"),
        (":median", "names nothing"),
        ("rank=1,tax=0", "takes no rank"),
        ("class=gemm,tax=0", "takes no rank, class"),
        ("group=tp,class=gemm:median", "goes with tax=0 only"),
        ("cpu,class=gemm:median", "not among cpu"),
        ("group=tp*0.5", "goes with tax=0 only"),
        ("tax=1", "only ask what if there were none"),
        ("tax*0.5", "only ask what if there were none"),
        ("group=tp,tax:median", "only ask what if there were none"),
    ],
)
def test_what_is_no_change_is_refused_in_words(text, says):
    with pytest.raises(ValueError, match=says):
        parse_change(text)


@pytest.mark.parametrize(
    ("factor", "text"), [(2, "gpu*2"), (0.9, "gpu*0.9"), (1 / 3, f"gpu*{1 / 3!r}")]
)
def test_a_factor_is_written_as_short_as_it_is(factor, text):
    assert Change("gpu", factor).text == text


def test_a_replacement_says_what_it_does():
    assert Replace(3, 17, 1_500).text == "rank 3 node 17: 1,500 ns"
