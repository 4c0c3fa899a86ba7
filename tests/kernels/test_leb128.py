"""Checked against: the examples of LEB128 in the DWARF standard, version 5, 7.6."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxvib.kernels.export.leb128 import (
    Reader,
    padded_signed,
    padded_unsigned,
    signed,
    unsigned,
)


@pytest.mark.parametrize(
    ("number", "written"),
    [(2, "02"), (127, "7f"), (128, "8001"), (129, "8101"), (12857, "b964")],
)
def test_unsigned_numbers_are_written_as_in_the_standard(number, written):
    assert unsigned(number).hex() == written


@pytest.mark.parametrize(
    ("number", "written"),
    [(2, "02"), (-2, "7e"), (127, "ff00"), (-127, "817f"), (128, "8001"), (-129, "ff7e")],
)
def test_signed_numbers_are_written_as_in_the_standard(number, written):
    assert signed(number).hex() == written


@given(st.integers(0, 2**32 - 1))
def test_unsigned_numbers_are_read_as_they_were_written(number):
    assert Reader(unsigned(number)).unsigned() == number
    assert len(padded_unsigned(number)) == 5
    assert Reader(padded_unsigned(number)).unsigned() == number


@given(st.integers(-(2**31), 2**31 - 1))
def test_signed_numbers_are_read_as_they_were_written(number):
    assert Reader(signed(number)).signed() == number
    assert len(padded_signed(number)) == 5
    assert Reader(padded_signed(number)).signed() == number
