"""What do indexing, merging and searching cost? Prints CPU time.

    python benchmarks/search.py [--pages 20000] [--queries 500]

The pages are made up from a seed: words drawn by Zipf's law, a title, headings and anchors, about 4 KB of text.
Queries are one to four words of a page, so that every query has an answer. Nothing is cached between queries but what
the operating system keeps of the files.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from cobnut.config.sections import IndexSettings
from cobnut.index.document import Document
from cobnut.index.merge import merge_indexes
from cobnut.index.writer import write_index
from cobnut.search.answer import as_json
from cobnut.search.open import open_searcher
from cobnut.search.query import parse
from cobnut.search.ranking import ENGINE_WEIGHTS

SYLLABLES = [consonant + vowel for consonant in "bdklmnr" for vowel in "aeiou"]


class Web:
    """Made-up pages; the same for the same seed."""

    def __init__(self, pages: int, seed: int = 7) -> None:
        self.pages, self._pick = pages, random.Random(seed)
        count = 60_000
        self._words = [
            "".join(self._pick.choices(SYLLABLES, k=1 + n.bit_length() // 4)) + f"{n % 7}" for n in range(count)
        ]
        self._weights = [1 / (n + 3) for n in range(count)]
        for n in range(1, count):
            self._weights[n] += self._weights[n - 1]
        self.queries: list[str] = []

    def text(self, words: int) -> list[str]:
        return self._pick.choices(self._words, cum_weights=self._weights, k=words)

    def documents(self, part: int = 0, parts: int = 1) -> Iterator[Document]:
        for number in range(part, self.pages, parts):
            body, title = self.text(560), self.text(5)
            if number % 20 == 0:
                self.queries.append(" ".join(self._pick.sample(body + title, 1 + number // 20 % 4)))
            host = f"host{number % 1_000}.example"
            yield Document(
                url_key=f"example,host{number % 1_000})/{number}", url=f"http://{host}/{'/'.join(title[:2])}/{number}",
                host=host, domain=host, segment=f"s{part}", title=" ".join(title), text=" ".join(body),
                headings=tuple(" ".join(self.text(4)) for _ in range(6)),
                anchors=tuple((" ".join(self.text(3)), f"k{n}") for n in range(10)),
                language="en", page_rank=number * 100, host_rank=1_000_000, inlink_count=10, fetched_at=1_000_000,
            )  # fmt: skip


def cpu(work: Callable[[], object]) -> float:
    """CPU seconds of one call, threads included."""
    began = time.process_time()
    work()
    return time.process_time() - began


def per_query(queries: list[str], ask: Callable[[str], object]) -> tuple[float, float]:
    """(mean, 99th percentile) of CPU ms."""
    for query in queries[:20]:
        ask(query)
    times = []
    for query in queries:
        began = time.thread_time()
        ask(query)
        times.append((time.thread_time() - began) * 1e3)
    return statistics.fmean(times), sorted(times)[len(times) * 99 // 100]


def start_up(folder: Path) -> float:
    """CPU ms of a process that answers one query, above one that does nothing."""
    code = (
        "from pathlib import Path; from cobnut.search.open import open_searcher;"
        f"open_searcher(Path({str(folder)!r})).search('word')"
    )

    def run(program: str) -> float:
        measured = f"import time; {program}; print(time.process_time())"
        done = subprocess.run([sys.executable, "-c", measured], capture_output=True, text=True, check=True)
        return float(done.stdout)

    return (min(run(code) for _ in range(5)) - min(run("pass") for _ in range(5))) * 1e3


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--pages", type=int, default=20_000)
    asked.add_argument("--queries", type=int, default=500)
    options = asked.parse_args()
    web, settings = Web(options.pages), IndexSettings()
    folder = Path(tempfile.mkdtemp(prefix="cobnut-bench-"))
    try:
        making = cpu(lambda: [None for _ in web.documents()])
        web = Web(options.pages)
        parts = 4
        spent = cpu(lambda: [write_index(folder / f"part{p}", web.documents(p, parts), settings) for p in range(parts)])
        spent -= making
        size = sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())
        print(f"index    {spent / options.pages * 1e3:8.3f} ms/page   {size / options.pages:8.0f} bytes/page on disk")
        merging = cpu(lambda: merge_indexes(folder / "all", [folder / f"part{p}" for p in range(parts)], settings))
        print(f"merge    {merging * 1e3:8.1f} ms")
        tiny = cpu(lambda: write_index(folder / "tiny", list(Web(3).documents()), settings))
        print(f"tiny     {tiny * 1e3:8.1f} ms for an index of three pages, its making included")
        searcher = open_searcher(folder / "all")
        reader = searcher._source.reader()
        assert reader is not None
        queries = random.Random(1).sample(web.queries, min(options.queries, len(web.queries)))
        for name, ask in (
            ("engine", lambda q: reader.search(parse(q).index_query, ENGINE_WEIGHTS, limit=100)),
            ("ranked", lambda q: searcher.search(q, limit=0)),
            ("page", lambda q: as_json(searcher.search(q))),
        ):
            mean, worst = per_query(queries, ask)
            print(f"{name:8} {mean:8.3f} ms/query  {worst:8.3f} at the 99th percentile  {1e3 / mean:8.0f} a CPU second")
        print(f"start    {start_up(folder / 'all'):8.1f} ms above a bare interpreter, first query answered")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
