"""How many items does one `cobnut check --jsonl` process answer in a CPU second?

    python benchmarks/check.py

For each checker a process answers a file of items; its CPU time, start included, is what the kernel says it took.
"""

from __future__ import annotations

import base64
import gzip
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from typing import IO, Any

from cobnut.testing.fakeweb.synthweb import SynthWeb

Item = dict[str, Any]
ROBOTS = (
    "User-agent: *\nDisallow: /private/\nDisallow: /*.pdf$\nDisallow: /search?\nAllow: /private/open\nCrawl-delay: 2\n"
)


def urls(count: int) -> list[Item]:
    """References of the shapes that real pages have."""
    pick = random.Random(1)
    shapes = (
        "page-{}.html", "/section/{}/", "/a/b/item{}.html?ref=nav&page=2", "https://www.example.org/news/{}",
        "https://other{}.example.com/", "//cdn.example.com/x/{}", "../up/{}.html", "a b {}.html", "/künstler/{}",
        "/%e4%bd%a0/{}", "HTTP://Example.org/{}#top",
    )  # fmt: skip
    base = "https://www.example.org/docs/guide/chapter.html"
    return [{"base": base, "href": pick.choice(shapes).format(n)} for n in range(count)]


def robots(count: int, every: int) -> list[Item]:
    """Checks by files of 40 lines; a file serves `every` checks."""
    found = []
    for n in range(count):
        extra = "".join(f"Disallow: /dir{n // every}-{line}/\n" for line in range(34))
        url = f"http://example.org/dir{n // every}-{n % 50}/page{n}.html"
        found.append({"robots": ROBOTS + extra, "agent": "examplebot", "url": url})
    return found


def pages(count: int) -> list[Item]:
    """Pages of 42 KB with about 100 links, as received: packed with gzip."""
    web = SynthWeb(hosts=20, pages=3_000, links=96, kb=46, quirks=0)
    found: list[Item] = []
    for k in range(20):
        for n in range(web.size[k]):
            if len(found) < count:
                body = base64.b64encode(gzip.compress(web.page(k, n).body, 6)).decode()
                headers = {"Content-Type": "text/html; charset=utf-8", "Content-Encoding": "gzip"}
                found.append({"url": f"http://{web.name(k)}/p/{n}.html", "headers": headers, "body_b64": body})
    return found


def cpu_s(name: str, file: IO[bytes]) -> float:
    """CPU seconds of one process that answers a file."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "cobnut.cli", "check", name, "--jsonl"]
    clean = {key: value for key, value in os.environ.items() if not key.startswith("COBNUT_")}
    subprocess.run(command, stdin=file, stdout=subprocess.DEVNULL, check=True, env=clean)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(name: str, items: Iterable[Item]) -> tuple[int, float]:
    """Items, and the CPU seconds of the better of two runs."""
    with tempfile.TemporaryFile() as file:
        count = 0
        for item in items:
            file.write(json.dumps(item).encode() + b"\n")
            count += 1
        best = float("inf")
        for _ in range(2):
            os.lseek(file.fileno(), 0, os.SEEK_SET)
            best = min(best, cpu_s(name, file))
    return count, best


def main() -> None:
    """Prints a line for each checker."""
    cases = {
        "url": ("url", urls(50_000)),
        "robots, 20 checks a file": ("robots", robots(30_000, 20)),
        "robots, a file each": ("robots", robots(20_000, 1)),
        "parse, 42 KB": ("parse", pages(1_000)),
        "query": ("query", [{"query": f'walnut {n} "hazel nut" -site:example.org'} for n in range(20_000)]),
    }
    for label, (name, items) in cases.items():
        start = measure(name, items[:1])[1]
        count, took = measure(name, items)
        print(
            f"{label:<26} {count:>6} items {took:6.2f} s CPU: {count / took:>8,.0f} a second;"
            f" without the start of {start:.2f} s: {count / (took - start):>8,.0f}"
        )


if __name__ == "__main__":
    main()
