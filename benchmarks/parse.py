"""What does parsing cost? Prints milliseconds of CPU time a page, part by part and all together.

    python benchmarks/parse.py [--pages N]

The pages are those of the made-up web: 42 KB, about 100 links, 4 to 6 KB of text. "Whole stage" is what the worker
processes take for archive, parsing and tables, without their start.
"""

from __future__ import annotations

import argparse
import gzip
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "unit" / "parsers"))

from segment_maker import make_segment

from cobnut.config.sections import ParserSettings, Settings
from cobnut.parsers import body, guard, html
from cobnut.parsers.page import PageInput, parse_page
from cobnut.records.catalogue import LINKS, PARSED
from cobnut.stages.parse import run_parse
from cobnut.storage.layout import CrawlFolder
from cobnut.testing.fakeweb.synthweb import SynthWeb
from cobnut.text.charset import decode
from cobnut.text.language import detect
from cobnut.urls.page_links import resolve_all

HEADERS = [("Content-Type", "text/html; charset=utf-8"), ("Content-Encoding", "gzip")]
Page = tuple[str, bytes, bytes]


def made_up_pages(count: int) -> list[Page]:
    """URL, plain body, gzipped body."""
    web = SynthWeb(hosts=50, pages=3_000, links=96, kb=46, quirks=0)
    found: list[Page] = []
    for k in range(50):
        for n in range(web.size[k]):
            if len(found) == count:
                return found
            plain = web.page(k, n).body
            found.append((f"http://{web.name(k)}/p/{n}.html", plain, gzip.compress(plain, 6)))
    return found


def measure(pages: list[Page], work: Callable[[Page], object]) -> float:
    """Milliseconds of CPU a page; the best of five."""
    best = float("inf")
    for _ in range(5):
        start = time.process_time()
        for page in pages:
            work(page)
        best = min(best, (time.process_time() - start) / len(pages))
    return best * 1_000


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pages", type=int, default=1_000)
    count = options.parse_args().pages
    pages = made_up_pages(count)
    few = pages[:200]
    settings = Settings()
    texts = {url: plain.decode() for url, plain, _ in few}
    read = {url: html.read_html(text) for url, text in texts.items()}
    print(f"{len(pages)} pages, {sum(len(p) for _, p, _ in pages) // len(pages):,} bytes each")
    parts: dict[str, Callable[[Page], object]] = {
        "undo gzip": lambda p: body.undo_encoding(p[2], "gzip", 1 << 24),
        "charset": lambda p: decode(p[1], "text/html", "a.test"),
        "guard": lambda p: guard.tame(texts[p[0]], 512),
        "tree, text, links, main text": lambda p: html.read_html(texts[p[0]]),
        "resolve links": lambda p: resolve_all(p[0], read[p[0]].links.hrefs),
        "language": lambda p: detect((read[p[0]].main_text or read[p[0]].text)[:400]),
        "parse_page, all of it": lambda p: parse_page(PageInput(p[0], p[2], HEADERS, digest=b"x" * 16), settings),
    }
    for name, work in parts.items():
        print(f"{name:32s} {measure(few, work):7.3f} ms")
    with tempfile.TemporaryDirectory() as folder:
        crawl = CrawlFolder.create(Path(folder) / "crawl", "")
        segment = make_segment(crawl, [(url, packed, HEADERS) for url, _, packed in pages])
        report = run_parse(crawl, segment, Settings(parser=ParserSettings(workers=1)))
        print(f"{'whole stage':32s} {report.cpu_ms / report.pages:7.3f} ms")
        for table in (PARSED, LINKS):
            size = sum(p.stat().st_size for p in segment.part_files(table))
            print(f"{table.name + ', bytes a page':32s} {size / report.pages:7.0f}")


if __name__ == "__main__":
    main()
