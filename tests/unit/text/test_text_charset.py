"""Are bytes read in the right charset, for the right reason, without ever failing?"""

from __future__ import annotations

import codecs

import pytest
import webencodings.labels
from hypothesis import given
from hypothesis import strategies as st

from cobnut.text.charset import Decoded, charset_of_label, decode, decode_as, header_charset

HTML = "text/html"


@pytest.mark.parametrize(
    ("body", "content_type", "text", "charset", "source"),
    [
        (b"", "text/html; charset=latin1", "", "utf-8", "none"),
        (b"\xef\xbb\xbfa\xc3\xa9", "text/html; charset=latin1", "aé", "utf-8", "bom"),
        (b"\xff\xfea\0", HTML, "a", "utf-16le", "bom"),
        (b"\xfe\xff\0a", None, "a", "utf-16be", "bom"),
        (b"\xff\xfea\0b", HTML, "a\ufffd", "utf-16le", "bom"),
        (b"caf\xe9", "text/html; charset=ISO-8859-1", "café", "windows-1252", "header"),
        (b"\x80\x81\x93", "text/html; charset=latin1", "€\x81“", "windows-1252", "header"),
        (b"caf\xc3\xa9", "text/html; charset=windows-1252", "cafÃ©", "windows-1252", "header"),
        (b"\xd6\xd0\x80", "text/html; charset=gb2312", "中€", "gbk", "header"),
        (
            b"<meta charset=windows-1251>\xe6",
            "text/html; charset=utf-16be",
            "㱭整愠捨慲獥琽睩湤潷猭ㄲ㔱㻦",
            "utf-16be",
            "header",
        ),
        (
            b"<meta charset=windows-1251>\xe6",
            "text/html; charset=nonsense",
            "<meta charset=windows-1251>ж",
            "windows-1251",
            "meta",
        ),
        (b"<meta charset=utf-16>\xc3\xa9", HTML, "<meta charset=utf-16>é", "utf-8", "meta"),
        (b"<meta charset=x-user-defined>\xe9", HTML, "<meta charset=x-user-defined>é", "windows-1252", "meta"),
        (b"\xe9", "text/html; charset=x-user-defined", "\uf7e9", "x-user-defined", "header"),
        (b"abc", "text/html; charset=hz-gb-2312", "\ufffd", "replacement", "header"),
        (b"<?xml version='1.0' encoding='koi8-r'?>\xd6", "application/xhtml+xml", None, "koi8-r", "meta"),
        (b"<?xml version='1.0' encoding='koi8-r'?>\xd6", HTML, None, "koi8-r", "meta"),
        (b"<?xml version='1.0' encoding='koi8-r'?><meta charset=cp866>", "text/xml", None, "koi8-r", "meta"),
        (b"<?xml version='1.0' encoding='koi8-r'?><meta charset=cp866>", HTML, None, "ibm866", "meta"),
        (b"<x/><meta charset=cp866>\xc3\xa9", "application/rss+xml", None, "utf-8", "utf8"),
        (b"<\0?\0x\0m\0l\0>\0", HTML, "<?xml>", "utf-16le", "meta"),
        (b"plain", None, "plain", "utf-8", "utf8"),
        ("żółć".encode(), None, "żółć", "utf-8", "utf8"),
        ("żółć".encode()[:-1], None, "żół\ufffd", "utf-8", "utf8"),
        ("ä".encode() * 50 + b"\xff", None, "ä" * 50 + "\ufffd", "utf-8", "utf8"),
    ],
)
def test_each_source(body: bytes, content_type: str | None, text: str | None, charset: str, source: str) -> None:
    found = decode(body, content_type, None)
    assert (found.charset, found.source) == (charset, source)
    if text is not None:
        assert found.text == text


RUSSIAN = "Съешь же ещё этих мягких французских булок, да выпей чаю. " * 5


def test_a_header_that_wrongly_says_utf8_gives_way_to_the_meta() -> None:
    body = b"<meta charset=windows-1251>" + RUSSIAN.encode("cp1251")
    found = decode(body, "text/html; charset=utf-8", None)
    assert found == Decoded("<meta charset=windows-1251>" + RUSSIAN, "windows-1251", "meta")


def test_a_header_and_meta_that_wrongly_say_utf8_give_way_to_a_guess() -> None:
    body = b"<meta charset=utf-8>" + RUSSIAN.encode("cp1251")
    found = decode(body, "text/html; charset=utf-8", "www.example.ru")
    assert found == Decoded("<meta charset=utf-8>" + RUSSIAN, "windows-1251", "guess")


def test_a_few_damaged_bytes_do_not_shake_a_label() -> None:
    assert decode(b"a\xffb", "text/html; charset=utf-8", None) == Decoded("a\ufffdb", "utf-8", "header")
    assert decode(b"\xe9\xe9", "text/html; charset=utf-8", None).source == "header", "two may be an accident"
    assert decode(b"\xe9\xe9\xe9", "text/html; charset=utf-8", None).source == "guess"
    body = RUSSIAN.encode() + b"\xff\xfe\xfd"
    assert decode(body, "text/html; charset=utf-8", None).source == "header"


@pytest.mark.parametrize(
    ("text", "codec", "host", "charset"),
    [
        (RUSSIAN, "cp1251", None, "windows-1251"),
        (RUSSIAN, "koi8-r", "a.ru", "koi8-u"),
        ("これは日本語の文章です。文字コードを当ててください。" * 4, "cp932", "a.jp", "shift_jis"),
        ("これは日本語の文章です。文字コードを当ててください。" * 4, "euc_jp", None, "euc-jp"),
        ("これは日本語の文章です。文字コードを当ててください。" * 4, "iso2022_jp", None, "iso-2022-jp"),
        ("这是一个用于测试编码检测的中文句子。" * 4, "gb18030", "a.cn", "gbk"),
        ("這是一個用於測試編碼檢測的中文句子。" * 4, "big5", "a.tw", "big5"),
        ("이 문장은 인코딩 감지를 시험하기 위한 것입니다. " * 4, "cp949", None, "euc-kr"),
        ("Où est passé le garçon ? À l'école, déjà prêt. " * 4, "cp1252", "a.fr", "windows-1252"),
        ("Zażółć gęślą jaźń. Łódź, święto, źdźbło. " * 4, "iso8859-2", "a.pl", "iso-8859-2"),
    ],
)
def test_guesses(text: str, codec: str, host: str | None, charset: str) -> None:
    assert decode(b"<p>" + text.encode(codec), "text/html", host) == Decoded("<p>" + text, charset, "guess")


@pytest.mark.parametrize(
    "host", ["", ".", "[::1]", "127.0.0.1", "a.XN--P1AI", "ex ample", "bücher", "a._b", "a.\u00e9", "a.b.", "-"]
)
def test_no_host_disturbs_the_guess(host: str) -> None:
    assert decode(RUSSIAN.encode("cp1251"), None, host).text == RUSSIAN


def test_text_that_is_half_utf8_is_guessed_unless_it_is_only_cut() -> None:
    assert decode(b"\xc3\xa9t\xc3", None, None).source == "utf8"
    assert decode(b"\xc3\xa9t\xe9 x", None, None).source == "guess"


def test_a_late_meta_is_believed_before_a_guess() -> None:
    style, meta = b"<style>" + b"a{}" * 1_000 + b"</style>", b"<meta charset=koi8-r>"
    late = decode(style + meta + b"<p>\xd4\xc5\xd3\xd4", "text/html", None)
    assert (late.charset, late.source, late.text[-4:]) == ("koi8-r", "meta", "тест")
    for hidden in (b"<script>'" + meta + b"'</script>", b"<!--" + meta + b"-->", b"<script>" + meta):
        assert decode(style + hidden + b"<p>\xd4\xc5\xd3\xd4", "text/html", None).source == "guess"
    assert decode(style + meta + "é".encode(), "text/html", None).source == "utf8"


def test_a_guess_looks_behind_a_long_ascii_head() -> None:
    body = b"<script>/* */</script>" * 10_000 + RUSSIAN.encode("cp1251")
    assert decode(body, None, None).charset == "windows-1251"


@pytest.mark.parametrize(
    ("content_type", "charset"),
    [
        ("text/html; charset=UTF-8", "utf-8"),
        ("text/html;charset=utf8", "utf-8"),
        ('text/html; charset="iso-8859-1"', "windows-1252"),
        ("text/html; charset='gbk'", "gbk"),
        ("text/html; x=1; CHARSET = koi8-r ; y", "koi8-r"),
        ("charset=big5", "big5"),
        ('text/html; charset="utf-8', "utf-8"),
        ("text/html; charset=utf-8, text/html", "utf-8"),
        ("text/html", None),
        ("text/html; charset=", None),
        ("text/html; charset=none", None),
        ("text/html; mycharset=utf-8", None),
        ("", None),
        ("x" * 100_000, None),
    ],
)
def test_header(content_type: str, charset: str | None) -> None:
    assert header_charset(content_type) == charset


@pytest.mark.parametrize("name", sorted(set(webencodings.labels.LABELS.values())))
def test_every_charset_of_the_standard_can_be_read(name: str) -> None:
    assert charset_of_label(name.upper()) == name
    every = bytes(range(256)) * 2
    assert decode_as(every, name)
    found = decode(b"<p>abc \xe9\xe9", f"text/html; charset={name}", None)
    assert found.charset == name
    assert found.source == "header"


@pytest.mark.parametrize(
    ("label", "name"),
    [
        *(
            ("latin1", "windows-1252"),
            ("ascii", "windows-1252"),
            ("iso-8859-9", "windows-1254"),
            ("tis-620", "windows-874"),
        ),
        *(
            ("gb2312", "gbk"),
            ("x-sjis", "shift_jis"),
            ("ks_c_5601-1987", "euc-kr"),
            ("unicode", "utf-16le"),
            ("cp949", None),
        ),
    ],
)
def test_labels(label: str, name: str | None) -> None:
    assert charset_of_label(label) == name


@given(st.binary(max_size=200), st.one_of(st.none(), st.text(max_size=40)), st.one_of(st.none(), st.text(max_size=20)))
def test_nothing_raises(body: bytes, content_type: str | None, host: str | None) -> None:
    found = decode(body, content_type, host)
    assert found.charset == found.charset.lower()
    assert codecs.lookup("utf-8").encode(found.text)[0] is not None, "the text holds no lone surrogates"


@given(st.binary(max_size=60), st.sampled_from(sorted(set(webencodings.labels.LABELS.values()))))
def test_no_bytes_make_a_charset_raise(body: bytes, name: str) -> None:
    decode_as(body, name).encode()
