"""What do URLs and characters cost? Prints microseconds of CPU time.

    python benchmarks/urls.py

Each figure is the best of five runs. The links are of the shapes that real pages have: mostly relative and plain, some
absolute, a few with spaces, other letters or dot segments.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from cobnut.config.sections import UrlSettings
from cobnut.text.charset import decode
from cobnut.text.cjk import spaced_bigrams
from cobnut.text.folding import fold_space
from cobnut.text.language import detect
from cobnut.urls.addresses import AddressGuard
from cobnut.urls.filters import Scope, compile_filter
from cobnut.urls.hosts import domain_of, host_of
from cobnut.urls.normalizers import compile_normalizer
from cobnut.urls.page_links import resolve_all
from cobnut.urls.resolve import forms, resolve

BASE = "https://www.example.org/docs/guide/chapter.html"


def measure(work: Callable[[], object], items: int) -> float:
    """Microseconds of CPU per item."""
    best = float("inf")
    for _ in range(5):
        start = time.process_time()
        runs = 0
        while time.process_time() - start < 0.05:
            work()
            runs += 1
        best = min(best, (time.process_time() - start) / runs / items)
    return best * 1e6


def hrefs(count: int, odd: float, seed: int = 1) -> list[str]:
    """Links of one page, all different; the share `odd` needs the parser."""
    pick = random.Random(seed)
    plain = [
        "page-{}.html", "/section/{}/", "/a/b/item{}.html?ref=nav&page=2", "https://www.example.org/news/2026/{}",
        "https://other{}.example.com/", "http://blog.example.net/post/{}#c", "//cdn.example.com/x/{}", "?page={}",
    ]  # fmt: skip
    strange = [
        "../up/{}.html",
        "a b {}.html",
        "/künstler/{}",
        "/%e4%bd%a0/{}",
        "./{}",
        "\n /x{}\n",
        "HTTP://Example.org/{}",
    ]
    return [pick.choice(strange if pick.random() < odd else plain).format(number) for number in range(count)]


def main() -> None:
    rows: list[tuple[str, float, str]] = []

    def row(name: str, work: Callable[[], object], items: int, unit: str) -> None:
        rows.append((name, measure(work, items), unit))

    for odd in (0.0, 0.1, 1.0):
        links = hrefs(100, odd)
        row(f"resolve_all, {odd:.0%} odd", lambda links=links: resolve_all(BASE, links), 100, "link")
        row(
            f"resolve + forms, {odd:.0%} odd",
            lambda links=links: [forms(resolve(BASE, link) or "") for link in links],
            100,
            "link",
        )
    urls = [found.normalized for found in resolve_all(BASE, hrefs(100, 0.1)) if found]
    row("forms, plain URL", lambda: [forms(url) for url in urls], len(urls), "URL")
    lower = [url + "/%7e%3f" for url in urls]
    row("forms, URL with escapes", lambda: [forms(url) for url in lower], len(urls), "URL")
    normalize = compile_normalizer(("basic", "session_ids", "sort_query"))
    row("normalizer basic, session_ids, sort_query", lambda: [normalize(url) for url in urls], len(urls), "URL")
    for kind in ("host", "domain", "prefix"):
        accept = compile_filter(UrlSettings(), Scope(kind, (BASE,)))  # type: ignore[arg-type]
        row(f"filters, scope {kind}", lambda accept=accept: [accept(url) for url in urls], len(urls), "URL")
    row("host_of, domain_of", lambda: [domain_of(host_of(url)) for url in urls], len(urls), "URL")
    guard = AddressGuard()
    row("address guard", lambda: [guard.check("93.184.216.34", 80) for _ in range(100)], 100, "check")
    page = (b"<html><head><meta charset=utf-8><title>x</title>" + b"<p>some text and more \xc3\xa9 " * 2_000)[:42_000]
    row("decode, 42 KB, header", lambda: decode(page, "text/html; charset=utf-8", None), 1, "page")
    row("decode, 42 KB, meta", lambda: decode(page, "text/html", None), 1, "page")
    bare = page.replace(b"charset", b"xharset")
    row("decode, 42 KB, undeclared UTF-8", lambda: decode(bare, "text/html", None), 1, "page")
    legacy = bare.replace(b"\xc3\xa9", b"\xe9")
    row("decode, 42 KB, undeclared legacy", lambda: decode(legacy, "text/html", "a.fr"), 1, "page")
    text = "The quick brown fox jumps over the lazy dog. " * 90
    row("fold_space, 4 KB", lambda: fold_space(text), 1, "page")
    row("spaced_bigrams, 4 KB, none", lambda: spaced_bigrams(text), 1, "page")
    cjk = "日本語の文章をここに書きます。" * 260
    row("spaced_bigrams, 4,000 characters", lambda: spaced_bigrams(cjk), 1, "page")
    row("language.detect", lambda: detect(text), 1, "page")
    for name, figure, unit in rows:
        print(f"{name:45} {figure:9.2f} µs a {unit}")


if __name__ == "__main__":
    main()
