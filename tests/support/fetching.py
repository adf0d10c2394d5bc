"""A crawl on disk whose fetchlist a test writes by hand, fetched by real worker processes from a fake web."""

import time
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cobnut.config.sections import Settings
from cobnut.fetcher.pool import FetchPool
from cobnut.records.catalogue import FETCHED, FETCHLIST, HOSTS, SEEDS
from cobnut.stages.fetch import run_fetch
from cobnut.storage.layout import CrawlFolder
from cobnut.storage.parts import part_name, write_part
from cobnut.testing.fakeweb import FakeWeb
from cobnut.urls.resolve import forms


class Bench:
    """One crawl folder and the settings it is fetched with."""

    def __init__(self, folder: Path, web, pool: FetchPool, **fetcher):
        self.crawl = CrawlFolder.create(folder, "")
        self.web, self.pool = web, pool
        self.settings = self.with_settings(**fetcher)
        self.segment = None

    def with_settings(self, scope="web", round_s=30, **fetcher):
        base = Settings()
        if self.web is not None:
            fetcher.setdefault("resolve", (f"*:127.0.0.1:{self.web.port}",))
        return msgspec.structs.replace(
            base,
            fetcher=msgspec.structs.replace(base.fetcher, **{"workers": 1, "timeout_s": 5.0, **fetcher}),
            crawl=msgspec.structs.replace(base.crawl, scope=scope, round_s=round_s),
        )

    def seed(self, *urls):
        rows = [{"url_key": f.key, "url": f.url, "host": f.host, "injected_at": 0} for f in map(forms, urls)]
        with self.crawl.table(SEEDS).begin() as draft:
            draft.write_partition(0, [pa.Table.from_pylist(rows, schema=SEEDS.schema())])
            draft.publish("inject")

    def fetchlist(self, *urls, parts=1, part_of=None, **columns):
        """A new segment with these URLs; `part_of` gives the part of a host."""
        part_of = part_of or (lambda host, bucket: bucket % parts)

        def fill(segment):
            made = [forms(url) for url in urls]
            for part in range(parts):
                rows = [
                    {
                        "url_key": f.key, "url": f.url, "host": f.host, "bucket": f.bucket, "part": part, "fetch": True,
                        "score": 1_000_000, "depth": 0, "fetched_before": False, **columns,
                    }
                    for f in made
                    if part_of(f.host, f.bucket) == part
                ]  # fmt: skip
                table = pa.Table.from_pylist(rows, schema=FETCHLIST.schema())
                write_part(segment.folder(FETCHLIST), FETCHLIST, part_name(part), [table])

        self.segment = self.crawl.new_segment(lambda: time.time_ns() // 1_000_000, time.sleep, fill)
        return self.segment

    def fetch(self, *urls, seeds=None, settings=None, **options):
        """Fetches a new fetchlist, or with no URLs the present segment again; the report."""
        if urls:
            self.seed(*(seeds or urls[:1]))
            self.fetchlist(*urls)
        return run_fetch(self.crawl, self.segment, settings or self.settings, pool=self.pool, **options)

    def rows(self):
        """The fetched rows by URL."""
        found = [row for path in self.segment.part_files(FETCHED) for row in pq.read_table(path).to_pylist()]
        assert len({row["url"] for row in found}) == len(found)
        return {row["url"]: row for row in found}

    def row(self, url):
        return self.rows()[url]

    def hosts(self, event):
        return [
            row
            for path in self.segment.part_files(HOSTS)
            for row in pq.read_table(path).to_pylist()
            if row["event"] == event
        ]

    def records(self):
        """All WARC response records: (url, record fields, HTTP status, body)."""
        from fastwarc.warc import ArchiveIterator, WarcRecordType

        found = []
        for path in sorted(self.segment.warc_path.glob("*.warc.gz")):
            with open(path, "rb") as file:
                for record in ArchiveIterator(file, record_types=WarcRecordType.response):
                    fields = dict(record.headers.items())
                    body = record.reader.read()
                    found.append((fields["WARC-Target-URI"], fields, record.http_headers.status_code, body))
        return found

    def record_of(self, row):
        """The record a row points to, read by its offset alone."""
        from fastwarc.warc import ArchiveIterator

        with open(self.segment.warc_path / row["warc_file"], "rb") as file:
            file.seek(row["warc_offset"])
            record = next(iter(ArchiveIterator(file)))
            return dict(record.headers.items()), record.http_headers.status_code, record.reader.read()


@pytest.fixture(scope="session")
def fetch_pool():
    """One worker process for all tests: rounds must not leave anything behind that harms the next."""
    with FetchPool(1) as pool:
        yield pool


@pytest.fixture
def web():
    with FakeWeb() as served:
        yield served


@pytest.fixture
def bench_class():
    return Bench


@pytest.fixture
def bench(tmp_path, web, fetch_pool):
    """A crawl whose every name leads to the fake web."""
    return Bench(tmp_path / "crawl", web, fetch_pool)


@pytest.fixture
def wait_until():
    """Waits until something is so; a test fails that waits too long."""

    def wait(condition, seconds=30):
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, "waited too long"
            time.sleep(0.01)

    return wait
