"""Numbers in words: one kind of minus, and nearly all or nothing is not called so."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synctax.texts import (
    level_text,
    number,
    percent,
    rate_gb_per_s,
    signed,
    signed_us,
    size_bytes,
    time_us,
    with_sign,
)

SIZES = st.floats(1e-9, 1e12) | st.sampled_from([0.0004, 0.9997, 1.0, 0.99949, 1e-5])
NUMBERS = SIZES | SIZES.map(lambda one: -one)
SHARES = st.floats(1e-6, 1 - 1e-9) | st.sampled_from([0.0004, 0.0005, 0.9995, 0.99949])


@given(value=NUMBERS)
def test_there_is_one_kind_of_minus_and_of_sign(value: float) -> None:
    for show in (number, percent, signed, signed_us, time_us, size_bytes, rate_gb_per_s):
        text = show(value)
        assert "-" not in text
        assert "−>" not in text
        assert "+>" not in text
        assert "−<" not in text
    if value < 0:
        assert with_sign(value, number) == number(value)
        assert signed_us(value) == time_us(value)


@given(share=SHARES)
def test_only_none_is_called_none_and_only_all_is_called_all(share: float) -> None:
    for text in (percent(share), percent(-share)):
        assert text.strip("−") not in ("0 %", "0.0 %", "100 %", "100.0 %")
    assert signed(-share) not in ("−100 %", "−100.0 %", "−0.0 %")
    assert signed(share) not in ("+0 %", "+0.0 %", "+100.0 %")


@given(share=st.floats(-1.5, 1.5))
def test_a_change_reads_as_a_change_of_its_direction(share: float) -> None:
    text = signed(share)
    if text != "0 %":
        assert text.startswith("+") == (share > 0)
        assert ("−" in text) == (share < 0)


@pytest.mark.parametrize("digits", range(2, 9))
def test_a_level_has_the_digits_that_it_was_given(digits: int) -> None:
    for thousandth in range(1, 10**3, 7):
        level = round(1 - thousandth / 10 ** (digits + 2), digits + 2)
        text = level_text(level)
        assert float(text.removesuffix(" %")) == round(100 * level, digits)
