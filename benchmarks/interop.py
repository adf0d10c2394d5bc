"""How fast are the files of Hadoop and Nutch read and written? Records and megabytes a CPU second.

    scripts/bench interop
    scripts/bench interop --only sequencefile

A case is a file that is written and read again; the best of three runs counts. Records are as large as those of a
crawldb (40 bytes of key, 140 of value), pages have 43 KB. Megabytes are those of keys and values, unpacked.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from cobnut.interop import nutch1 as of_nutch
from cobnut.interop.hadoop.data import DataInput, DataOutput
from cobnut.interop.hadoop.header import TEXT
from cobnut.interop.hadoop.mapfile import MapFileReader, MapFileWriter
from cobnut.interop.hadoop.mapwritable import INT, MapWritable
from cobnut.interop.hadoop.sequencefile import SequenceFileReader, SequenceFileWriter

Records = list[tuple[bytes, bytes]]


class Case(NamedTuple):
    """`write` and `read` work on the path they are given; both handle `records` records of `size` bytes in all."""

    group: str
    name: str
    records: int
    size: int
    write: Callable[[Path], object]
    read: Callable[[Path], object]


def small_records(count: int) -> Records:
    """As large as those of a crawldb."""
    pick = random.Random(1)
    return [(b"\x27http://www.example.org/%016d" % number, bytes(70) + pick.randbytes(70)) for number in range(count)]


def page_records(count: int) -> Records:
    """As large as pages are, and as easily packed."""
    pick = random.Random(1)
    words = [b"%x" % pick.randrange(1 << 24) for _ in range(4000)]
    return [
        (b"\x27http://www.example.org/%016d" % number, b" ".join(pick.choices(words, k=6500)))
        for number in range(count)
    ]


def sequencefile(group: str, name: str, records: Records, **options: object) -> Case:
    """One SequenceFile, written with *options*."""

    def write(path: Path) -> None:
        with SequenceFileWriter(path, TEXT, TEXT, **options) as writer:  # type: ignore[arg-type] # any option
            for key, value in records:
                writer.append(key, value)

    def read(path: Path) -> None:
        with SequenceFileReader(path) as reader:
            for _ in reader.records():
                pass

    return Case(group, name, len(records), sum(len(key) + len(value) for key, value in records), write, read)


def mapfile(records: Records) -> Case:
    """One MapFile with its index."""

    def write(path: Path) -> None:
        with MapFileWriter(path, TEXT, TEXT) as writer:
            for key, value in records:
                writer.append(key, value)

    def read(path: Path) -> None:
        with MapFileReader(path) as reader:
            for _ in reader.records():
                pass

    size = sum(len(key) + len(value) for key, value in records)
    return Case("mapfile", "plain records", len(records), size, write, read)


def nutch1(name: str, records: list[of_nutch.Record], **options: object) -> Case:
    """Records of Nutch 1 by URL: taken apart into all their fields, and put together from them."""
    urls = [f"http://www.example{number % 100}.org/dir/page-{number:09d}.html" for number in range(len(records))]
    class_name = records[0].JAVA_NAME

    def write(path: Path) -> None:
        with SequenceFileWriter(path, TEXT, class_name, **options) as writer:  # type: ignore[arg-type] # any option
            for url, record in zip(urls, records, strict=True):
                key = DataOutput()
                key.write_text(url)
                writer.append(key.getvalue(), record.to_bytes())

    def read(path: Path) -> None:
        with SequenceFileReader(path) as reader:
            value_of = of_nutch.ValueReader(reader.value_class)
            for _, key, value in reader.records():
                DataInput(key).read_text()
                value_of(value)

    return Case("nutch1", name, len(records), sum(len(record.to_bytes()) + 46 for record in records), write, read)


def crawl_data(count: int, with_metadata: bool) -> list[of_nutch.Record]:
    """As a crawldb holds them: two of three were fetched."""
    data: list[of_nutch.Record] = []
    for number in range(count):
        fetched = number % 3 > 0
        datum = of_nutch.CrawlDatum(
            2 if fetched else 1, 1796043467374 + number, 0, 0, 2592000, 1 / (number + 1),
            b"%016d" % number if fetched else None,
        )  # fmt: skip
        if with_metadata:
            datum.metadata = MapWritable.of_texts({"Content-Type": "text/html"})
            datum.metadata.put("_pst_", of_nutch.ProtocolStatus.JAVA_NAME, of_nutch.ProtocolStatus(1))
            datum.metadata.put("_rs_", INT, number % 900)
        data.append(datum)
    return data


def pages_of_nutch(records: Records) -> list[of_nutch.Record]:
    fields = [("Content-Type", "text/html; charset=utf-8"), ("Date", "Mon, 02 Jan 2023 00:00:00 GMT"), ("Server", "x"),
              ("_fst_", "33"), ("nutch.crawl.score", "1.0"), ("nutch.segment.name", "20261130125809")]  # fmt: skip
    metadata = of_nutch.Metadata.of(fields)
    return [
        of_nutch.Content("http://a.example/", "http://a.example/", body, "text/html", metadata) for _, body in records
    ]


def parsed(count: int) -> list[of_nutch.Record]:
    """With 30 links each."""
    links = [of_nutch.Outlink(f"http://www.example.org/dir/page-{n}.html", f"anchor {n}") for n in range(30)]
    metadata = of_nutch.Metadata.of([("Content-Type", "text/html"), ("nutch.crawl.score", "1.0")])
    status = of_nutch.ParseStatus(1)
    return [of_nutch.ParseData(status, f"Title {n}", links, metadata, metadata) for n in range(count)]


def linked(count: int) -> list[of_nutch.Record]:
    """With 5 links each."""
    links = [of_nutch.Inlink(f"http://www.example.org/dir/page-{n}.html", f"anchor {n}") for n in range(5)]
    return [of_nutch.Inlinks(links) for _ in range(count)]


def cases() -> Iterator[Case]:
    """All cases, group by group."""
    small = small_records(200_000)
    yield sequencefile("sequencefile", "version 2, plain records", small, version=2)
    yield sequencefile("sequencefile", "plain records", small)
    yield sequencefile("sequencefile", "records packed one by one", small, compression="record")
    yield sequencefile("sequencefile", "records packed in blocks", small, compression="block")
    pages = page_records(2_000)
    yield sequencefile("sequencefile", "plain pages", pages)
    yield sequencefile("sequencefile", "pages packed one by one", pages, compression="record")
    yield mapfile(small)
    yield nutch1("CrawlDatum", crawl_data(100_000, with_metadata=False))
    yield nutch1("CrawlDatum with metadata", crawl_data(100_000, with_metadata=True))
    yield nutch1("Content", pages_of_nutch(pages))
    yield nutch1("Content, packed", pages_of_nutch(pages), compression="record")
    yield nutch1("ParseData", parsed(2_000))
    yield nutch1("Inlinks", linked(10_000))


def cpu_s(work: Callable[[Path], object], path: Path) -> float:
    """CPU seconds of the best of three."""
    best = float("inf")
    for _ in range(3):
        before = time.process_time()
        work(path)
        best = min(best, time.process_time() - before)
    return best


def main() -> None:
    """Runs the benchmark and prints its table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", help="groups of cases")
    asked = parser.parse_args()
    print(f"{'case':44}{'write/s':>12}{'MB/s':>8}{'read/s':>12}{'MB/s':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(cases()):
            if asked.only and case.group not in asked.only:
                continue
            path = Path(folder, str(number))
            figures = ""
            for work in (case.write, case.read):
                seconds = cpu_s(work, path)
                figures += f"{case.records / seconds:12,.0f}{case.size / seconds / 1e6:8,.0f}"
            print(f"{case.group + ': ' + case.name:44}{figures}")


if __name__ == "__main__":
    main()
