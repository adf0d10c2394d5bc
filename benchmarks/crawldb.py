"""What do the relational stages cost, on a crawldb of millions of rows?

Makes a crawl out of nothing: rows of known pages on hosts whose sizes follow Zipf's law, and a segment in which a part
of them was fetched, with links. Then runs each stage as its command would, in a process of its own, and prints CPU
seconds and the peak memory of that process.

    scripts/bench crawldb                                   2.5 million rows, 5 million links
    scripts/bench crawldb --rows 250000 --links 500000
    scripts/bench crawldb --hosts-share 0.01                a round that touches one per cent of the hosts, and what
                                                            it costs to write the tables whole instead
    scripts/bench crawldb --only updatedb generate
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cobnut.config.sections import CrawlSettings, EngineSettings, Settings, StorageSettings
from cobnut.crawl.linkage import limits_of
from cobnut.engines.session import BATCH_ROWS
from cobnut.records import catalogue as tables
from cobnut.records.columns import Table
from cobnut.storage.layout import PARSED, CrawlFolder, SegmentFolder
from cobnut.storage.parts import write_part
from cobnut.storage.tables import partition_range, partitions_for
from cobnut.testing.clock import VirtualClock
from cobnut.testing.tables import DAY_MS, MICRO, START_MS, page
from cobnut.urls.hosts import bucket_of

FIRST, SECOND = "20260101000000", "20260102000000"
STAGES = ("stats", "lookup", "why", "generate", "updatedb", "invertlinks", "rank", "dedup", "inject")
CHUNK = 1 << 20
LAYERED = ("updatedb", "invertlinks")
"""Stages that write what a round changes; a whole table only where there is none yet."""
LOOK_UPS = 100


class Pages:
    """The URLs of a made-up web by number: page n is page n // hosts of some host."""

    def __init__(self, rows: int, seed: int = 1) -> None:
        rng = np.random.default_rng(seed)
        hosts = max(rows // 50, 10)
        weights = 1.0 / np.arange(1, hosts + 1) ** 0.9
        self.host_of = np.sort(rng.choice(hosts, size=rows, p=weights / weights.sum())).astype(np.int32)
        names = [f"h{n}.example.org" for n in range(hosts)]
        self.names = pa.array(names)
        self.keys = pa.array([page(f"http://{name}/")["url_key"].removesuffix("/") for name in names])
        self.buckets = pa.array([bucket_of(name) for name in names], pa.int32())
        self.rows, self.hosts = rows, hosts

    def columns(self, numbers: np.ndarray[Any, Any], prefix: str = "") -> dict[str, pa.Array]:
        """Key, host and bucket of these pages."""
        of = pa.array(self.host_of[numbers])
        paths = pc.binary_join_element_wise("/section", pc.cast(pa.array(numbers % 17), pa.string()), "")
        key = pc.binary_join_element_wise(
            pc.take(self.keys, of), paths, "/page-", pc.cast(pa.array(numbers), pa.string()), ".html", ""
        )
        return {
            f"{prefix}key": key, f"{prefix}host": pc.take(self.names, of), f"{prefix}bucket": pc.take(self.buckets, of),
        }  # fmt: skip


def rows_of(table: Table, columns: dict[str, Any], count: int) -> pa.Table:
    """Rows with these columns; the others are NULL, or plain where they may not be."""
    plain = {"string": "", "int64": 0, "int32": 0, "bool": False}
    arrays = []
    for field, column in zip(table.schema(), table.columns, strict=True):
        value = columns.get(field.name)
        if value is None:
            value = pa.nulls(count, field.type) if column.nullable else pa.repeat(plain[column.type], count)
        elif not isinstance(value, pa.Array | pa.ChunkedArray):
            value = pa.repeat(value, count)
        arrays.append(value.cast(field.type))
    return pa.Table.from_arrays(arrays, schema=table.schema())


def settings_of(whole: bool = False, threads: int = 0) -> Settings:
    storage = StorageSettings(delta_share=0.0) if whole else StorageSettings()
    return Settings(crawl=CrawlSettings(scope="web"), storage=storage, engine=EngineSettings(threads=threads))


def make(folder: Path, rows: int, links: int, share: float, settings: Settings) -> None:
    """A crawl with that many rows known, a third of them fetched, and a segment of `share` of the hosts not applied.

    Where that is not all of them, the crawl is no young one: its linkdb holds as many links already.
    """
    crawl = CrawlFolder.create(folder, "")
    web = Pages(rows)
    rng = np.random.default_rng(2)
    numbers = np.arange(rows, dtype=np.int64)
    known = web.columns(numbers, "")
    fetched = numbers % 3 == 0
    signature = pa.array(np.frombuffer(rng.bytes(16 * rows), dtype="S16").astype(object).tolist(), pa.binary())
    due = np.where(fetched, START_MS + 30 * DAY_MS, START_MS)
    crawldb = rows_of(
        tables.CRAWLDB,
        {
            "url_key": known["key"], "host": known["host"], "bucket": known["bucket"],
            "status": pa.array(np.where(fetched, "fetched", "unfetched")), "due_at": pa.array(due),
            "fetched_at": pc.if_else(pa.array(fetched), START_MS, None),
            "modified_at": pc.if_else(pa.array(fetched), START_MS, None), "interval_s": 86_400,
            "score": pa.array(rng.integers(0, 20 * MICRO, rows)),
            "signature": pc.if_else(pa.array(fetched), signature, None),
            "depth": pa.array((numbers % 9).astype(np.int32)),
        },
        rows,
    )  # fmt: skip
    pages = rows_of(
        tables.PAGES,
        {
            "url_key": known["key"], "host": known["host"], "bucket": known["bucket"],
            "etag": pc.if_else(pa.array(fetched), pc.binary_join_element_wise('"', known["key"], '"', ""), None),
            "http_status": pc.if_else(pa.array(fetched), 200, None), "discovered_at": START_MS,
            "discovered_from": pc.take(known["key"], pa.array(rng.integers(0, rows, rows))), "discovered_via": "link",
        },
        rows,
    )  # fmt: skip
    partitions = partitions_for(rows, settings.storage.partition_rows)
    for table, data in ((tables.CRAWLDB, crawldb), (tables.PAGES, pages)):
        with crawl.table(table).begin(partitions) as draft:
            for partition in range(partitions):
                low, high = partition_range(partition, partitions)
                mine = data.filter(pc.and_(pc.greater_equal(data["bucket"], low), pc.less(data["bucket"], high)))
                draft.write_partition(partition, mine.sort_by("url_key").to_batches(BATCH_ROWS))  # as the engine does
            draft.publish("bench", applied=[{"segment": FIRST, "digest": ""}])
    if share < 1:
        write_linkdb(crawl, web, links, settings, rng)
    asked = np.flatnonzero(rng.random(web.hosts)[web.host_of] < share) if share < 1 else numbers
    asked = asked[: max(len(asked) // 10, 1)] if share >= 1 else asked
    many = links if share >= 1 else max(int(links * share), 1)
    write_segment(crawl, SECOND, web, asked, many, rng)


def write_linkdb(crawl: CrawlFolder, web: Pages, links: int, settings: Settings, rng: np.random.Generator) -> None:
    """Links from the pages that were fetched to pages anywhere, no two of them between the same two pages."""
    source = rng.integers(0, web.rows // 3, links) * 3
    target = np.minimum((rng.random(links) ** 2 * web.rows).astype(np.int64), web.rows - 1)
    source, target = np.divmod(np.unique(source * web.rows + target), web.rows)
    by_bucket = np.argsort(web.buckets.to_numpy()[web.host_of[target]], kind="stable")
    bucket = web.buckets.to_numpy()[web.host_of[target]][by_bucket]
    partitions = partitions_for(links, settings.storage.partition_rows)
    with crawl.table(tables.LINKDB).begin(partitions) as draft:
        for partition in range(partitions):
            low, high = np.searchsorted(bucket, partition_range(partition, partitions))
            mine = by_bucket[low:high]
            to, by = web.columns(target[mine], "to_"), web.columns(source[mine], "from_")
            words = pc.binary_join_element_wise(
                "words of link", pc.cast(pa.array(target[mine] % 1000), pa.string()), " "
            )
            columns = {**to, **by, "anchor": words, "kind": "link", "from_score": MICRO, "segment": FIRST}
            made = rows_of(tables.LINKDB, columns, len(mine))
            ordered = made.sort_by([(name, "ascending") for name in tables.LINKDB.key])
            draft.write_partition(partition, ordered.to_batches(BATCH_ROWS))
        limits = limits_of(settings, settings.linkdb.ignore_internal)
        draft.publish("bench", applied=[{"segment": FIRST}], limits=limits)


def write_segment(
    crawl: CrawlFolder, name: str, web: Pages, asked: np.ndarray[Any, Any], links: int, rng: np.random.Generator
) -> None:
    """A parsed segment in which the pages *asked* were fetched, and link to pages anywhere, a tenth of them new."""
    segment = SegmentFolder(crawl.segments_path / name)
    segment.path.mkdir(parents=True)
    rows = web.columns(asked)
    count = len(asked)
    common = {
        "url_key": rows["key"], "url": rows["key"], "host": rows["host"], "bucket": rows["bucket"],
        "fetched_at": START_MS + DAY_MS, "score": MICRO,
    }  # fmt: skip
    digest = pa.array(np.frombuffer(rng.bytes(16 * count), dtype="S16").astype(object).tolist(), pa.binary())
    answers = rows_of(
        tables.FETCHED, {**common, "outcome": "success", "http_status": 200, "digest": digest, "depth": 1}, count
    )
    # every sixth page has the content of another, as on real sites
    content = digest.take(pa.array(np.where(np.arange(count) % 6 == 5, np.arange(count) // 12, np.arange(count))))
    parsed = rows_of(
        tables.PARSED,
        {**common, "parse_status": "ok", "text": rows["key"], "title": rows["key"], "signature": content},
        count,
    )  # fmt: skip
    asked_for = {k: v for k, v in common.items() if k != "fetched_at"}
    write_part(
        segment.folder(tables.FETCHLIST),
        tables.FETCHLIST,
        "part-00000",
        [rows_of(tables.FETCHLIST, {**asked_for, "fetch": True}, count)],
    )
    write_part(segment.folder(tables.FETCHED), tables.FETCHED, "part-00000", [answers])
    write_part(segment.folder(tables.PARSED), tables.PARSED, "part-00000", [parsed])
    source = rng.integers(0, count, links)
    target = np.minimum((rng.random(links) ** 2 * web.rows).astype(np.int64), web.rows - 1)
    to = web.columns(target, "to_")
    new = rng.random(links) < 0.1
    to_key = pc.if_else(pa.array(new), pc.binary_join_element_wise(to["to_key"], "?new", ""), to["to_key"])
    made = rows_of(
        tables.LINKS,
        {
            "from_key": pc.take(rows["key"], pa.array(source)), "from_host": pc.take(rows["host"], pa.array(source)),
            "position": pa.array(np.arange(links, dtype=np.int32)), "to_key": to_key, "to_host": to["to_host"],
            "to_bucket": to["to_bucket"], "from_score": MICRO, "from_depth": 1, "contribution": MICRO // 96,
            "anchor": pc.binary_join_element_wise("words of link", pc.cast(pa.array(target % 1000), pa.string()), " "),
            "kind": "link",
        },
        links,
    )  # fmt: skip
    ordered = made.sort_by([("to_bucket", "ascending"), ("from_key", "ascending"), ("position", "ascending")])
    write_part(segment.folder(tables.LINKS), tables.LINKS, "part-00000", ordered.to_batches(CHUNK))
    write_part(segment.folder(tables.HOSTS), tables.HOSTS, "part-00000", [tables.HOSTS.schema().empty_table()])
    segment.set_state(PARSED)


def run_stage(name: str, folder: Path, rows: int, whole: bool = False, threads: int = 0) -> dict[str, Any]:
    """Runs one stage in this process and says what it did."""
    from cobnut.crawl import dedup, generate, inject, linkage, updatedb

    crawl, clock = CrawlFolder.open(folder), VirtualClock(START_MS + 2 * DAY_MS)
    settings = settings_of(whole, threads)
    match name:
        case "lookup":
            return look_up(crawl, rows)
        case "inject":
            lines = (f"http://s{n % 9973}.example.net/start/{n}?q={n}" for n in range(rows * 2 // 5))
            report = inject.inject(crawl, settings, lines, clock=clock)
            return dict(report.counts)
        case "generate":
            segment, made = generate.generate(crawl, settings, top_n=min(1_000_000, rows), clock=clock)
            if segment is not None:
                shutil.rmtree(segment.path)
            return dict(made.counts)
        case "updatedb":
            return dict(updatedb.updatedb(crawl, settings, clock=clock).counts)
        case "invertlinks":
            return dict(linkage.invertlinks(crawl, settings).counts)
        case "rank":
            return dict(linkage.rank(crawl, settings).counts)
        case "dedup":
            return dict(dedup.dedup(crawl, settings).counts)
    raise SystemExit(f"no stage is called {name}")


def look_up(crawl: CrawlFolder, rows: int) -> dict[str, Any]:
    """CPU of one look-up of a page by its URL, as `cobnut read crawldb DIR --url URL` does it, imports left out."""
    import pyarrow.compute  # noqa: F401  # loaded before the clock runs

    from cobnut.inspect.webdb import page
    from cobnut.urls.resolve import forms

    web = Pages(rows)
    times = []
    for number in np.random.default_rng(3).integers(0, rows, LOOK_UPS).tolist():
        url = forms(f"http://h{web.host_of[number]}.example.org/section{number % 17}/page-{number}.html")
        assert url is not None
        begun = time.process_time()
        found = page(crawl, url)
        times.append((time.process_time() - begun) * 1000)
        assert found is not None
        assert found["url_key"] == url.key
    ordered = sorted(times)
    return {
        "look_ups": LOOK_UPS, "ms_first": round(times[0], 1), "ms_median": round(ordered[LOOK_UPS // 2], 1),
        "ms_95th": round(ordered[LOOK_UPS * 95 // 100], 1),
    }  # fmt: skip


def peak_mib() -> float:
    """Peak memory of this process since it began (the resource module's figure includes its parent's)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0


def command(*arguments: str) -> float:
    """CPU seconds of one `cobnut` command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "cobnut", *arguments], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measured(name: str, folder: Path, rows: int, whole: bool = False, threads: int = 0) -> tuple[float, float, str]:
    """CPU seconds and peak MiB of a stage in a process of its own, imports left out."""
    if name == "stats":
        return command("read", "crawldb", str(folder), "--stats"), 0, "`cobnut read crawldb --stats`, start included"
    if name == "why":
        first = Pages(rows)
        url = f"http://h{first.host_of[0]}.example.org/section0/page-0.html"
        return command("why", str(folder), url), 0, "`cobnut why`, start included"
    done = subprocess.run(
        [sys.executable, __file__, "--stage", name, "--folder", str(folder), "--rows", str(rows),
         "--threads", str(threads), *(["--whole"] if whole else [])],
        check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    said = json.loads(done.stdout)
    return said["cpu_s"], said["peak_mib"], json.dumps(said["counts"])


def measured_whole(name: str, folder: Path, rows: int, threads: int) -> float:
    """CPU seconds of a stage that writes its tables whole; what it writes is thrown away."""
    copy = folder.with_name(f"{folder.name}-whole")
    shutil.copytree(folder, copy, copy_function=os.link)
    try:
        return measured(name, copy, rows, True, threads)[0]
    finally:
        shutil.rmtree(copy)


def main() -> None:
    """Runs the benchmark and prints its table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_500_000)
    parser.add_argument("--links", type=int, default=5_000_000)
    parser.add_argument("--hosts-share", type=float, default=1.0)
    parser.add_argument("--threads", type=int, default=0, help="of the engine; 0, the default, is one per core")
    parser.add_argument("--only", nargs="*", default=list(STAGES), choices=STAGES)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--keep", action="store_true", help="keep the crawl, to be used again with --folder")
    parser.add_argument("--stage", help=argparse.SUPPRESS)
    parser.add_argument("--whole", action="store_true", help="write every table whole, without deltas")
    options = parser.parse_args()
    if options.stage:
        import duckdb  # noqa: F401  # not part of what is measured
        import pyarrow.parquet  # noqa: F401  # nor this

        begun = time.process_time()
        counts = run_stage(options.stage, options.folder, options.rows, options.whole, options.threads)
        print(json.dumps({"cpu_s": time.process_time() - begun, "peak_mib": peak_mib(), "counts": counts}))
        return
    folder = options.folder or Path(tempfile.mkdtemp(prefix="cobnut-bench-")) / "crawl"
    if not folder.exists():
        begun = time.process_time()
        make(folder, options.rows, options.links, options.hosts_share, settings_of())
        print(
            f"made {options.rows:,} rows and {options.links:,} links in {time.process_time() - begun:.1f} CPU s",
            flush=True,
        )
    print(f"{'stage':12} {'CPU s':>7} {'MiB':>6}  what it did   (load {os.getloadavg()[0]:.1f})")
    for name in options.only:
        is_layered = options.hosts_share < 1 and name in LAYERED and not options.whole
        whole = measured_whole(name, folder, options.rows, options.threads) if is_layered else 0.0
        cpu, peak, what = measured(name, folder, options.rows, options.whole, options.threads)
        if is_layered:
            what += f"; written whole {whole:.2f} CPU s: {cpu / whole:.2f} of that"
        print(f"{name:12} {cpu:7.2f} {peak:6.0f}  {what}", flush=True)
    if not options.keep and options.folder is None:
        shutil.rmtree(folder.parent)


if __name__ == "__main__":
    main()
