"""Do doctor, backup, look-ups and dumps know what is gone from a table?"""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from doctored import current, looked_at
from small_crawl import COPY, HOME, LEFT, PAGE, arrow, key, link, small_crawl

from cobnut.cli.main import main
from cobnut.records import catalogue as tables
from cobnut.storage.backup import back_up
from cobnut.storage.layout import CrawlFolder
from cobnut.storage.tables import checksum

LINKDB = tables.LINKDB


@pytest.fixture
def crawl(tmp_path: Path) -> CrawlFolder:
    """A linkdb of three pages: of one the links have changed, of another none is left."""
    made = small_crawl(tmp_path / "crawl")
    store = made.table(LINKDB)
    ordered = store.read().sort_by([(name, "ascending") for name in LINKDB.key])
    with store.begin() as draft:
        draft.write_partition(0, [ordered])
        draft.publish("test")
    version = store.current()
    assert version is not None
    with version, store.begin(version.partitions) as draft:
        assert version.partitions == 1
        keys = pa.table({"to_key": pa.array([key(LEFT)])}).to_batches()
        draft.write_delta(version, 0, [arrow(LINKDB, [link(COPY, PAGE, "newer")])], 2, keys)
        draft.publish("test", applied=version.manifest.get("applied", []))
    return made


def told(path: Path) -> list[str]:
    return [f.what for f in looked_at(path, deep=True).problems if "linkdb" in f.what or f"{path}/linkdb" in f.where]


def test_it_is_sound_and_is_copied_whole(crawl: CrawlFolder, tmp_path: Path) -> None:
    assert told(crawl.path) == []
    back_up(crawl, tmp_path / "copy")
    assert told(tmp_path / "copy") == []
    rows = CrawlFolder.open(tmp_path / "copy").table(LINKDB).read(["to_key", "from_key"]).to_pylist()
    pairs = sorted((row["to_key"], row["from_key"]) for row in rows)
    assert pairs == sorted([(key(PAGE), key(COPY)), (key(COPY), key(HOME))])


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ([key(LEFT), key("http://a.test/nothing")], "do not stand in the order of their keys"),
        ([key(LEFT), key(LEFT)], "have the key of the row before them"),
        (sorted([key(COPY), key(LEFT)]), "the delta replaces 4 rows of its base, and 3 by the manifest"),
    ],
)
def test_other_keys_are_seen(crawl: CrawlFolder, keys: list[str], says: str) -> None:
    folder = current(crawl.path, "linkdb")
    path = folder / "gone-00000.parquet"
    pq.write_table(pa.table({"to_key": pa.array(keys)}, schema=pq.read_schema(path)), path)
    manifest = json.loads((folder / "manifest.json").read_text())
    for entry in manifest["files"]:
        if entry["name"] == path.name:
            entry.update(rows=len(keys), bytes=path.stat().st_size, xxh3=checksum(path))
    (folder / "manifest.json").write_text(json.dumps(manifest))
    found = told(crawl.path)
    assert any(says in what for what in found), found


@pytest.mark.parametrize(("name", "harm"), [("gone-00000.parquet", "missing"), ("delta-00000.parquet", "missing")])
def test_a_missing_layer_is_told(crawl: CrawlFolder, name: str, harm: str) -> None:
    (current(crawl.path, "linkdb") / name).unlink()
    assert any(harm in what for what in told(crawl.path))


def test_commands_show_what_holds(crawl: CrawlFolder, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    asked = {
        ("--url", PAGE): [key(COPY)], ("--url", LEFT): [], ("--url", COPY): [key(HOME)],
        ("--limit", "9"): sorted([key(COPY), key(HOME)]), ("--where", f"from_key = '{key(HOME)}'"): [key(HOME)],
    }  # fmt: skip
    for options, want in asked.items():
        code = main(["read", "linkdb", str(crawl.path), "--json", *options])
        shown = capsys.readouterr().out
        assert sorted(json.loads(line)["from_key"] for line in shown.splitlines()) == want, options
        assert code == 0 or not want
    assert main(["dump", str(crawl.path), "linkdb", "--format", "jsonl", "-o", str(tmp_path / "out")]) == 0
    assert len((tmp_path / "out").read_text().splitlines()) == 2
