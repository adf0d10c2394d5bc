"""Does what is told of a column of keys agree with what is told of each?"""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cobnut.config.sections import UrlSettings
from cobnut.errors import DataError
from cobnut.urls.filters import Forgotten, Scope, compile_filter
from cobnut.urls.keys import key_to_url, url_key
from cobnut.urls.resolve import forms
from cobnut.urls.screening import surely_passing, urls_of_keys

SEGMENTS = ("a", "b", "c", "x.gif", "x.GIF", "y.html", "", "2026", "é", "tar.gz", "a.b", "gif", ".js")
HOSTS = (
    "a.test",
    "b.a.test",
    "shop.example.co.uk",
    "example.co.uk",
    "[::1]",
    "192.0.2.7",
    "xn--bcher-kva.example",
    "gif",
)


@st.composite
def urls(draw) -> str:
    path = "/".join(draw(st.lists(st.sampled_from(SEGMENTS), max_size=9)))
    query = draw(st.sampled_from(("", "?x=1", "?f=a.gif", "?/a/a/a/", "?a.gif?b", "?u=http://h/x.zip")))
    port = draw(st.sampled_from(("", ":8080")))
    made = forms(f"{draw(st.sampled_from(('http', 'https')))}://{draw(st.sampled_from(HOSTS))}{port}/{path}{query}")
    assert made is not None
    return made.normalized


SCOPES = (
    Scope("web"),
    Scope("host", ("http://a.test/", "https://[::1]:8080/a")),
    Scope("domain", ("http://www.example.co.uk/", "http://192.0.2.7/")),
    Scope("prefix", ("http://a.test/a/x.html?q", "https://b.a.test:8080/b/")),
    Scope("prefix", tuple(f"http://a.test/{n}/" for n in range(40))),
    Scope("web", (), Forgotten(("http://a.test/a",), ("b.a.test",), ("http://example.co.uk/a/",))),
)


@given(st.lists(urls(), max_size=20), st.sampled_from(SCOPES), st.sampled_from((20, 40, 4096)))
@example(["http://a.test/a/b/a/b/a/b"], SCOPES[0], 4096)
@example(["http://a.test/a/x/a/y/a"], SCOPES[0], 4096)
@example(["http://a.test/a/b/a/c/a"], SCOPES[0], 4096)
@settings(max_examples=400, deadline=None)
def test_nothing_that_a_filter_refuses_is_said_to_pass(found, scope, longest) -> None:
    limits = UrlSettings(max_length=longest)
    passes, refused = surely_passing(limits, scope), compile_filter(limits, scope)
    keys = pa.array([url_key(url) for url in found], pa.string())
    for url, passed in zip(found, passes(keys).to_pylist(), strict=True):
        assert not (passed and refused(url)), (url, refused(url))


@pytest.mark.parametrize("scope", [SCOPES[0], SCOPES[1], SCOPES[2], SCOPES[3]], ids=lambda s: s.kind)
def test_what_usually_stands_in_a_crawl_is_told_at_once(scope) -> None:
    usual = {
        "web": "http://anything.test/2026/05/an-article?page=2",
        "host": "http://a.test/one/two/three/four/five.html",
        "domain": "https://shop.example.co.uk/gif?x=a.html",
        "prefix": "https://a.test/a/deep/er.html",
    }[scope.kind]
    assert surely_passing(UrlSettings(), scope)(pa.array([url_key(usual)])).to_pylist() == [True]
    assert compile_filter(UrlSettings(), scope)(usual) is None


def test_filters_that_are_not_ours_are_always_asked(tmp_path) -> None:
    limits = UrlSettings(filters=("scheme", f"rules:{tmp_path / 'rules'}"))
    assert surely_passing(limits, Scope("web"))(pa.array(["test,a)http/"] * 3)).to_pylist() == [False] * 3
    odd = UrlSettings(deny_suffixes=("c++",))
    assert surely_passing(odd, Scope("web"))(pa.array(["test,a)http/"])).to_pylist() == [False]


@given(st.lists(urls(), max_size=30))
def test_urls_of_keys_are_those_of_each(found) -> None:
    keys = [url_key(url) for url in found]
    known: dict[str, str] = {}
    for _ in range(2):
        assert urls_of_keys(pa.array(keys, pa.string()), known).to_pylist() == [key_to_url(k) for k in keys] == found


@pytest.mark.parametrize("key", ["", "no key", "test,a)ftp/x", "http://a.test/", ")http/", "test,a)http"])
def test_what_is_no_key_is_told(key) -> None:
    with pytest.raises(DataError, match="not the key of a URL"):
        urls_of_keys(pa.array(["test,a)http/", key]))
