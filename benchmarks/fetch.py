"""What does a page cost to fetch? CPU milliseconds a page on new and kept http connections, or verified https.

    python benchmarks/fetch.py                          3,000 pages of 42 KB from 50 hosts, one worker
    python benchmarks/fetch.py --https --workers 2
    python benchmarks/fetch.py --hosts 2000 --connections 2000 --delay 1

The web is served by a process of its own, whose time does not count. A second round with the same worker shows the
cost without its start. Memory is the largest resident set of a worker. The budget is that of the cost table: 0.6 ms
on http with the archive, 2.15 ms on https.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec
import pyarrow as pa

from cobnut.config.sections import Settings
from cobnut.fetcher.pool import FetchPool
from cobnut.records.catalogue import FETCHLIST, SEEDS
from cobnut.stages.fetch import run_fetch
from cobnut.storage.layout import CrawlFolder, SegmentFolder
from cobnut.storage.parts import part_name, write_part
from cobnut.testing.fakeweb import SynthWeb
from cobnut.urls.resolve import UrlForms, forms

BUDGET_MS = {"http": 0.6, "https": 2.15}


def made_urls(web: SynthWeb, scheme: str, pages: int) -> list[UrlForms]:
    """The pages of a made-up web, spread over its hosts."""
    found = []
    for host in range(web.host_count):
        for number in range(web.size[host]):
            path = "" if number == 0 else f"p/{number}.html"
            made = forms(f"{scheme}://{web.name(host)}/{path}")
            assert made is not None
            found.append(made)
    return found[:pages]


def new_segment(crawl: CrawlFolder, urls: list[UrlForms], parts: int) -> SegmentFolder:
    """A segment that lists the URLs."""

    def fill(segment: SegmentFolder) -> None:
        for part in range(parts):
            rows = [
                {"url_key": u.key, "url": u.url, "host": u.host, "bucket": u.bucket, "part": part, "fetch": True,
                 "score": 1_000_000, "depth": 0, "fetched_before": False}
                for u in urls
                if u.bucket % parts == part
            ]  # fmt: skip
            table = pa.Table.from_pylist(rows, schema=FETCHLIST.schema())
            write_part(segment.folder(FETCHLIST), FETCHLIST, part_name(part), [table])

    return crawl.new_segment(lambda: time.time_ns() // 1_000_000, time.sleep, fill)


def worker_peak_mib(pool: FetchPool) -> float:
    """The largest resident set that a worker had."""
    peak = 0.0
    for pid in pool.pids:
        found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
        peak = max(peak, int(found.group(1)) / 1024 if found else 0.0)
    return peak


def main() -> None:
    """Runs the benchmark and prints its figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=3_000)
    parser.add_argument("--hosts", type=int, default=50)
    parser.add_argument("--kb", type=int, default=46)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--connections", type=int, default=100)
    parser.add_argument("--delay", type=float, default=0.0)
    parser.add_argument("--https", action="store_true")
    asked = parser.parse_args()
    scheme = "https" if asked.https else "http"
    synth = f"hosts={asked.hosts},pages={asked.pages},links=96,kb={asked.kb},quirks=0,delay=0"
    with tempfile.TemporaryDirectory(prefix="cobnut-fetch-") as name:
        folder = Path(name)
        ca = ["--ca", str(folder / "ca")] if asked.https else []
        command = [sys.executable, "-m", "cobnut.testing.fakeweb", "--synth", synth, "--port", "0", *ca]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as served:
            try:
                assert served.stdout is not None
                line = served.stdout.readline()
                found = re.search(r"TLS on port (\d+), trust (\S+)" if asked.https else r"http://[^:]+:(\d+)", line)
                assert found is not None, line
                base = Settings()
                settings = msgspec.structs.replace(
                    base,
                    crawl=msgspec.structs.replace(base.crawl, scope="web", round_s=0),
                    fetcher=msgspec.structs.replace(
                        base.fetcher, workers=asked.workers, connections=asked.connections, delay_s=asked.delay,
                        resolve=(f"*:127.0.0.1:{found.group(1)}",), ca_file=found.group(2) if asked.https else "",
                    ),
                )  # fmt: skip
                measure(folder / "crawl", settings, scheme, asked.pages, asked.hosts, asked.kb)
            finally:
                served.terminate()


def measure(folder: Path, settings: Settings, scheme: str, pages: int, hosts: int, kb: int) -> None:
    """Two rounds with the same workers."""
    web = SynthWeb(hosts=hosts, pages=pages, links=96, kb=kb, quirks=0, delay=0)
    urls = made_urls(web, scheme, pages)
    crawl = CrawlFolder.create(folder, "")
    with crawl.table(SEEDS).begin() as draft:
        row = {"url_key": urls[0].key, "url": urls[0].url, "host": urls[0].host, "injected_at": 0}
        draft.write_partition(0, [pa.Table.from_pylist([row], schema=SEEDS.schema())])
        draft.publish("inject")
    with FetchPool(settings.fetcher.workers) as pool:
        for label in ("first round, start included", "second round"):
            segment = new_segment(crawl, urls, settings.fetcher.workers)
            report = run_fetch(crawl, segment, settings, pool=pool)
            ms = report.cpu_s * 1000 / max(1, report.rows)
            print(
                f"{label}: {report.rows} rows {dict(report.outcomes)}, {report.requests} requests, "
                f"{ms:.2f} ms CPU a page ({ms / BUDGET_MS[scheme]:.0%} of the budget), {report.elapsed_s:.1f} s, "
                f"{report.body_bytes / 1e6:.0f} MB received, {report.warc_bytes / 1e6:.0f} MB archived, "
                f"peak {worker_peak_mib(pool):.0f} MiB a worker"
            )


if __name__ == "__main__":
    main()
