"""What the crawldb knows of a redirect's target, found in files of many row groups and partitions."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cobnut.fetcher.known import KnownPages
from cobnut.records.catalogue import CRAWLDB
from cobnut.storage.tables import partition_of
from cobnut.urls.resolve import forms


@pytest.mark.parametrize("partitions", [1, 4])
def test_every_key_and_no_other(tmp_path, partitions):
    made = [forms(f"http://h{n % 40}.test/é{n}") for n in range(900)]
    files = []
    for partition in range(partitions):
        rows = sorted(
            ({"url_key": f.key, "due_at": n, "host": f.host, "bucket": f.bucket, "status": "fetched", "retries": 0,
              "interval_s": 0, "score": 0, "depth": 0} for n, f in enumerate(made) if n % 3
             and partition_of(f.bucket, partitions) == partition),
            key=lambda row: row["url_key"],
        )  # fmt: skip
        path = tmp_path / f"{partition}.parquet"
        pq.write_table(pa.Table.from_pylist(rows, schema=CRAWLDB.schema()), path, row_group_size=50)
        files.append([str(path)])
    pages = KnownPages(files, groups_kept=2)
    for n, f in enumerate(made):
        assert pages.due_at(f.key, f.bucket) == (n if n % 3 else None)
    assert pages.due_at("", 0) is None
    pages.close()


def test_without_a_crawldb_nothing_is_known():
    assert KnownPages(()).due_at("test,a)http/", 1) is None
