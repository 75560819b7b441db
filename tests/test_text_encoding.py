"""Bytes of text files in any of the usual encodings."""

import pytest

from stackroom.text_encoding import decode


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("Lämpchen".encode(), "Lämpchen"),
        ("\ufeffLämpchen".encode(), "Lämpchen"),
        ("Lämpchen".encode("utf-16"), "Lämpchen"),
        (b"\xfe\xff" + "Lämpchen".encode("utf-16-be"), "Lämpchen"),
        ("Lämpchen … 5 €".encode("cp1252"), "Lämpchen … 5 €"),
        (b"", ""),
    ],
)
def test_text_is_decoded_by_mark_then_utf8_then_windows(data, text):
    assert decode(data) == text


def test_a_beginning_may_end_within_a_character():
    assert decode("Lä".encode()[:-1], whole=False) == "L"
    assert decode("Lä".encode()[:-1]) == "LÃ"
