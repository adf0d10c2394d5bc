"""Are queries sent in the charset of the page, as browsers do?"""

from __future__ import annotations

import pytest

from cobnut.urls.query_charset import output_codec
from cobnut.urls.resolve import resolve

BASE = "http://h/p"


@pytest.mark.parametrize(
    ("charset", "href", "url"),
    [
        ("utf-8", "?é", "http://h/p?%C3%A9"),
        ("UTF-8", "?é", "http://h/p?%C3%A9"),
        ("windows-1252", "?é", "http://h/p?%E9"),
        ("iso-8859-1", "?€", "http://h/p?%80"),
        ("windows-1252", "é?é#é", "http://h/%C3%A9?%E9"),
        ("windows-1252", "é", "http://h/%C3%A9"),
        ("windows-1252", "#?é", "http://h/p"),
        ("windows-1252", "?日x", "http://h/p?%26%2326085%3Bx"),
        ("windows-1252", "?&é'\" <>%41", "http://h/p?&%E9%27%22%20%3C%3E%41"),
        ("windows-1252", " \t?é\n \x00", "http://h/p?%E9"),
        ("windows-1252", "?é\t\né", "http://h/p?%E9%E9"),
        ("windows-1252", "//bücher.example/ü?ü", "http://xn--bcher-kva.example/%C3%BC?%FC"),
        ("windows-1251", "?q=ж", "http://h/p?q=%E6"),
        ("koi8-r", "?q=ж", "http://h/p?q=%D6"),
        ("shift_jis", "?q=日本", "http://h/p?q=%93%FA%96{"),
        ("euc-jp", "?q=日本", "http://h/p?q=%C6%FC%CB%DC"),
        ("iso-2022-jp", "?q=日本", "http://h/p?q=%1B$BF|K\\%1B(B"),
        ("gb2312", "?q=中", "http://h/p?q=%D6%D0"),
        ("gb18030", "?q=中", "http://h/p?q=%D6%D0"),
        ("big5", "?q=中", "http://h/p?q=%A4%A4"),
        ("euc-kr", "?q=한", "http://h/p?q=%C7%D1"),
        ("utf-16le", "?é", "http://h/p?%C3%A9"),
        ("replacement", "?é", "http://h/p?%C3%A9"),
        ("no such charset", "?é", "http://h/p?%C3%A9"),
        ("windows-1252", "mailto:é?é", "mailto:%C3%A9?%C3%A9"),
    ],
)
def test_queries(charset: str, href: str, url: str) -> None:
    assert resolve(BASE, href, charset) == url


def test_unicode_pages_need_no_codec() -> None:
    assert output_codec("utf8") is None
    assert output_codec("latin1") == "cp1252"
