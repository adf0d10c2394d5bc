"""Does every link on a page that is to be forgotten go out of a linkdb of layers, and nothing else?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from cobnut.config.sections import Settings
from cobnut.crawl.forgetting import entry_of, forget
from cobnut.crawl.purge import purge_linkdb
from cobnut.records import catalogue as tables
from cobnut.storage.layout import CrawlFolder
from cobnut.storage.tables import partition_of
from cobnut.testing.tables import inlink, key, new_crawl, rows_of

SECRET = "http://secret.example/page"
HOSTS = [f"http://h{n}.example/" for n in range(20)]
APPLIED = [{"segment": "20260101000000", "digest": ""}]


def in_partition(number: int) -> list[str]:
    return [url for url in HOSTS if partition_of(inlink(SECRET, url)["to_bucket"], 2) == number]


def links_of(rows: list[dict[str, Any]]) -> Any:
    return rows_of(tables.LINKDB, rows).sort_by([("to_key", "ascending"), ("from_key", "ascending")])


def layered(folder: Path, old_to_first: str, new_to_first: str) -> CrawlFolder:
    """Two partitions; the first has a base, and a delta that replaces the links to its first page and to another."""
    crawl, (first, second) = new_crawl(folder), (in_partition(0), in_partition(1))
    for table in (tables.PAGES, tables.CRAWLDB):
        with crawl.table(table).begin() as draft:
            draft.write_partition(0, [])
            draft.publish("test", applied=APPLIED)
    store = crawl.table(tables.LINKDB)
    with store.begin(2) as draft:
        base = [inlink(old_to_first, first[0], anchor="words of old"), *(inlink(second[0], url) for url in first[1:4])]
        draft.write_partition(0, [links_of(base)])
        draft.write_partition(1, [links_of([inlink(first[0], url) for url in second[:3]])])
        draft.publish("invertlinks", applied=APPLIED, limits="as they are")
    version = store.current()
    assert version is not None
    with version, store.begin(2) as draft:
        delta = [inlink(new_to_first, first[0]), inlink(second[1], first[1])]
        draft.write_delta(version, 0, [links_of(delta)], 4)
        draft.keep_partition(version, 1)
        draft.publish("invertlinks", applied=APPLIED, limits="as they are")
    return crawl


@pytest.mark.parametrize("where", ["delta", "base"])
def test_every_link_on_it_goes_from_all_layers_and_no_other(tmp_path: Path, where: str) -> None:
    other = in_partition(1)[2]
    crawl = layered(tmp_path / "c", *((other, SECRET) if where == "delta" else (SECRET, other)))
    store = crawl.table(tables.LINKDB)
    before = {(row["to_key"], row["from_key"]) for row in store.read().to_pylist()}
    assert purge_linkdb(crawl) == 0  # nothing is to be forgotten
    forget(crawl, Settings(), [entry_of("url", SECRET, Settings())], None)
    marks: list[str] = []
    assert purge_linkdb(crawl, lambda: marks.append("begun")) == 1
    assert marks == ["begun"]
    after = store.read()
    assert {(r["to_key"], r["from_key"]) for r in after.to_pylist()} == {p for p in before if p[1] != key(SECRET)}
    manifest = store.manifest()
    assert (manifest["rows"], manifest["applied"], manifest["limits"]) == (after.num_rows, APPLIED, "as they are")
    version = store.current()
    assert version is not None
    with version:
        assert [path.name for path in version.files()] == ["part-00000.parquet", "part-00001.parquet"]
        for path in version.files():
            found = pq.read_table(path, columns=["to_key", "from_key"]).to_pylist()
            keys = [(row["to_key"], row["from_key"]) for row in found]
            assert keys == sorted(keys)  # look-ups rely on it
            assert key(SECRET) not in {source for _, source in keys}
        untouched = version.files(1)[0]
        assert untouched.stat().st_nlink > 1  # taken over, not written again
    assert purge_linkdb(crawl) == 0
