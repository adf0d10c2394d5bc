"""Is the declaration found where a browser finds it, and nowhere else?"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cobnut.text.prescan import PRESCAN_BYTES, prescan, xml_encoding


@pytest.mark.parametrize(
    ("head", "label"),
    [
        (b"<meta charset=koi8-r>", "koi8-r"),
        (b"<META CHARSET='koi8-r'>", "koi8-r"),
        (b'<meta charset="koi8-r"/>', "koi8-r"),
        (b"<meta\n charset = koi8-r >", "koi8-r"),
        (b"<meta/charset=koi8-r>", "koi8-r"),
        (b"<meta charset=' koi8-r '>", "koi8-r"),
        (b"<meta name=a content=b charset=koi8-r>", "koi8-r"),
        (b"<meta charset=koi8-r charset=big5>", "koi8-r"),
        (b"<meta http-equiv=Content-Type content='text/html; charset=koi8-r'>", "koi8-r"),
        (b"<meta content='text/html; charset = \"koi8-r\"' http-equiv=content-type>", "koi8-r"),
        (b"<meta http-equiv=content-type content='text/html;charset=koi8-r;x=y'>", "koi8-r"),
        (b"<meta http-equiv=content-type content=\"charset='koi8-r'\">", "koi8-r"),
        (b"<meta content='text/html; charset=koi8-r'>", None),
        (b"<meta http-equiv=refresh content='text/html; charset=koi8-r'>", None),
        (b"<meta http-equiv=content-type content='text/html'>charset", None),
        (b"<meta http-equiv=content-type content='text/html; charset'>", None),
        (b"<meta name=x content='charset=big5'><meta charset=koi8-r>", "koi8-r"),
        (b"<metadata charset=koi8-r>", None),
        (b"<p>charset=koi8-r", None),
        (b"<!-- <meta charset=big5> --><meta charset=koi8-r>", "koi8-r"),
        (b"<!--><meta charset=koi8-r>-->", "koi8-r"),
        (b"<!-- <meta charset=koi8-r>", None),
        (b"<!DOCTYPE html><meta charset=koi8-r>", "koi8-r"),
        (b"<?php <meta charset=big5> ?><meta charset=koi8-r>", "koi8-r"),
        (b"<p title='<meta charset=big5>'><meta charset=koi8-r>", "koi8-r"),
        (b'<p title="a>b" x=>y<meta charset=koi8-r>', "koi8-r"),
        (b"</p title='<meta charset=big5>'><meta charset=koi8-r>", "koi8-r"),
        (b"<p title='<meta charset=big5>", None),
        (b"<script>'<meta charset=koi8-r>'</script>", "koi8-r"),
        (b"a < b <meta charset=koi8-r>", "koi8-r"),
        (b" " * (PRESCAN_BYTES - 21) + b"<meta charset=koi8-r>", "koi8-r"),
        (b" " * PRESCAN_BYTES + b"<meta charset=koi8-r>", None),
        (b"<?xml version='1.0' encoding=\"koi8-r\"?>", "koi8-r"),
        (b"<?xml version='1.0'\nencoding = 'koi8-r' standalone='yes'?>", "koi8-r"),
        (b"<?xml version='1.0'?><x encoding='koi8-r'>", None),
        (b" <?xml encoding='koi8-r'?>", None),
        (b"<?xml encoding='koi8-r'?><meta charset=big5>", "big5"),
        (b"\0<\0?\0x\0m\0l", "utf-16be"),
        (b"", None),
    ],
)
def test_html(head: bytes, label: str | None) -> None:
    assert prescan(head) == label


def test_xml_has_only_its_declaration() -> None:
    assert xml_encoding(b"<?xml version='1.0' encoding='koi8-r'?><meta charset=big5>") == "koi8-r"
    assert xml_encoding(b"<x/><meta charset=big5>") is None
    assert xml_encoding(b"<?xml encoding=''?>") is None


@settings(max_examples=500)
@given(
    st.lists(
        st.sampled_from(
            [b"<meta ", b"charset", b"=", b"'", b'"', b">", b"<", b"/", b" ", b"<!--", b"-->", b"a", b"content"]
        )
    )
)
def test_no_bytes_raise(pieces: list[bytes]) -> None:
    prescan(b"".join(pieces))
    prescan(b"<?xml " + b"".join(pieces))
