"""What do references point to, and what are the forms of a URL?"""

from __future__ import annotations

import pickle

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cobnut.errors import InputError
from cobnut.urls.parse import MAX_REFERENCE_CHARS, MAX_URL_CHARS
from cobnut.urls.resolve import compile_forms, forms, normalize, resolve, stored_url, url_key

BASE = "http://example.org/dir/page.html?q#top"


@pytest.mark.parametrize(
    ("href", "url"),
    [
        ("other.html", "http://example.org/dir/other.html"),
        ("../up", "http://example.org/up"),
        ("../../../up", "http://example.org/up"),
        ("/root", "http://example.org/root"),
        ("?x=1", "http://example.org/dir/page.html?x=1"),
        ("#here", "http://example.org/dir/page.html?q"),
        ("", "http://example.org/dir/page.html?q"),
        ("//other.example/x", "http://other.example/x"),
        ("HTTPS://Other.Example:443/x", "https://other.example/x"),
        ("\t\n /a\r\nb \x00", "http://example.org/ab"),
        ("\\a\\b", "http://example.org/a/b"),
        ("http:relative", "http://example.org/dir/relative"),
        ("https:////other.example//x", "https://other.example//x"),
        ("/künstler?ä", "http://example.org/k%C3%BCnstler?%C3%A4"),
        ("http://faß.example/", "http://xn--fa-hia.example/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://2130706433/", "http://127.0.0.1/"),
        ("/a|b", "http://example.org/a|b"),
        ("/%7e%27%28%3A", "http://example.org/%7e%27%28%3A"),
        ("/a?", "http://example.org/a?"),
        ("http://u:p@h/", "http://h/"),
        ("//u@h/a@b", "http://h/a@b"),
        ("mailto:u@h", "mailto:u@h"),
    ],
)
def test_references(href: str, url: str) -> None:
    assert resolve(BASE, href) == url


@pytest.mark.parametrize(
    "href", ["http://", "http://a b/", "http://h:70000/", "http://[1::/", "http://h%00/", "https://%zz/"]
)
def test_what_cannot_be_parsed_is_refused(href: str) -> None:
    assert resolve(BASE, href) is None


def test_a_base_that_is_no_url_refuses_what_is_relative() -> None:
    for base in ("", "mailto:a@b", "http://h/" + "a" * MAX_URL_CHARS):
        assert resolve(base, "a") is None
        assert resolve(base, "http://h/./é?é", "latin1") == "http://h/%C3%A9?%E9"


def test_sizes_are_bounded() -> None:
    assert resolve("http://h/", " " * MAX_REFERENCE_CHARS + "a") is None
    host = ".".join(["a" * 63] * 4)[:253]
    assert normalize(f"http://{host}./a") == f"http://{host}./a"
    for long in (f"http://{host}aa/", f"http://{host}aa:8080/", f"https://é{host}aaa/"):
        assert normalize(long) is None
        assert forms(long) is None
    assert normalize("http://h/" + "a" * MAX_URL_CHARS) is None
    assert normalize("http://h/" + "%" * (MAX_URL_CHARS - 100)) is None, "too long once it is written out"


def test_other_schemes_resolve_but_have_no_page_forms() -> None:
    for text in ("mailto:a@b.example", "javascript:void(0)", "ftp://h/x", "data:text/plain,x", "file:///a"):
        assert resolve(BASE, text) == text
        assert normalize(text) is None
        assert forms(text) is None


def test_a_long_base_does_not_grow_without_bound() -> None:
    assert resolve("http://h/" + "a" * MAX_URL_CHARS + "/", "b") is None
    assert forms("http://h/" + "a" * MAX_URL_CHARS) is None
    assert forms("http://h/" + "%7e" * MAX_URL_CHARS) is None


@pytest.mark.parametrize(
    ("url", "normalized"),
    [
        ("http://Example.org", "http://example.org/"),
        ("http://example.org:80/", "http://example.org/"),
        ("https://example.org:443", "https://example.org/"),
        ("http://example.org:443/", "http://example.org:443/"),
        ("http://h?", "http://h/?"),
        ("http://h/#", "http://h/"),
        ("http://u:p@h/a#b", "http://h/a"),
        ("http://h/%7efoo/%2f%3a%41", "http://h/~foo/%2F%3AA"),
        ("http://h/a%2e%2e", "http://h/a.."),
        ("http://h/a/%2E%2e/b", "http://h/b"),
        ("http://h/%%34%31", "http://h/%2541"),
        ("http://h/100%?a=%", "http://h/100%25?a=%25"),
        ("http://h/%25%37%65", "http://h/%257e"),
        ("http://h//a//b", "http://h//a//b"),
        ("http://h/a[1]|^`{}?a[]={|}^`\\", "http://h/a%5B1%5D%7C%5E%60%7B%7D?a%5B%5D=%7B%7C%7D%5E%60%5C"),
        ("http://{}/", "http://{}/"),
        ("http://[::1]/", "http://[::1]/"),
        ("http://h/?b=1&a=2&&", "http://h/?b=1&a=2&&"),
        ("http://1.2.3.4./", "http://1.2.3.4/"),
        ("http://[::FFFF:1.2.3.4]/", "http://[::ffff:102:304]/"),
    ],
)
def test_normalised_forms(url: str, normalized: str) -> None:
    assert normalize(url) == normalized
    assert normalize(normalized) == normalized


PIECES = st.sampled_from(
    [*"aZ09/.-~!'()*,;:@|[]?#%\\^{}\" é", "%2", "%7", "e", "%%", "%25", "%2e", "..", "%41", "%c3%a9", "\n"]
)
TEXTS = st.builds(
    lambda host, pieces: f"http://{host}/{''.join(pieces)}",
    st.sampled_from(
        ["h", "h.example:8080", "u@H.example", "münchen.example", "1.2", "[::1]", "xn--mnchen-3ya.example"]
    ),
    st.lists(PIECES, max_size=10),
)


@settings(max_examples=1500)
@given(TEXTS)
@example("http://h/%%34%31")
@example("http://h/%2%35")
@example("http://h/%25%32%35")
def test_normalising_twice_changes_nothing(text: str) -> None:
    once = normalize(text)
    if once is not None:
        assert normalize(once) == once


@settings(max_examples=500)
@given(TEXTS)
def test_forms_agree_with_the_single_functions(text: str) -> None:
    made = forms(text)
    assert (made is None) == (normalize(text) is None)
    if made is not None:
        assert made.url == resolve(made.url, "") == resolve("http://x/", text)
        assert made.normalized == normalize(text) == normalize(made.url)
        assert made.key == url_key(made.normalized)
        assert forms(made.url) == made == forms(made.url, resolved=True)


@given(st.text(max_size=40))
def test_no_text_raises(text: str) -> None:
    resolve("http://h/a/b", text, "windows-1252")
    resolve(text, text)
    forms(text)


def test_forms_travel_between_processes() -> None:
    made = forms("http://User@Example.org/%7e")
    assert made is not None
    assert pickle.loads(pickle.dumps(made)) == made
    assert (made.url, made.normalized, made.host) == (
        "http://example.org/%7e",
        "http://example.org/~",
        "example.org",
    )


def test_the_column_url_is_null_when_nothing_is_gained() -> None:
    assert stored_url("http://h/", "http://h/") is None
    assert stored_url("http://h/%7e", "http://h/~") == "http://h/%7e"


def test_lossy_rules_change_the_key_and_not_what_is_requested() -> None:
    make = compile_forms(("basic", "sort_query", "www"))
    made = make("https://www.example.test/?B=1&A=2")
    assert made is not None
    assert made.url == "https://www.example.test/?B=1&A=2"
    assert made.normalized == "https://example.test/?A=2&B=1"
    assert made.host == "example.test"


def test_an_unknown_rule_is_an_input_error() -> None:
    with pytest.raises(InputError, match="did you mean 'sort_query'"):
        compile_forms(("basic", "sort_queries"))
