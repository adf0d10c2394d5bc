"""A real crawl of a few rounds to do harm to, and what doctor's words mean when they are followed."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from cobnut.cli.main import main
from cobnut.cli.options import opened
from cobnut.config.sections import StorageSettings
from cobnut.config.template import settings_text
from cobnut.crawl.driver import run_crawl
from cobnut.inspect.doctor import Diagnosis, examine
from cobnut.storage.layout import CrawlFolder
from cobnut.storage.tables import checksum
from cobnut.testing.fakeweb import Answer, FakeWeb, moved

HOME = "http://a.test/"
SPLIT = StorageSettings(partition_rows=12, delta_least_rows=0, delta_share=10.0)
"""So that even a small crawl has partitions and deltas."""
STEPS = ("updatedb", "invertlinks", "rank", "updatesegs", "index", "dedup", "merge")


def site() -> FakeWeb:
    """Two hosts, some thirty pages, four links deep: with a redirect, a copy and dead links."""
    pages: dict[str, Any] = {"/robots.txt": Answer(200, "User-agent: *\nDisallow: /private/\n", (), "text/plain")}
    for n in range(24):
        links = "".join(f'<a href="/{m}">page {m}</a> ' for m in (n * 2 + 1, n * 2 + 2))
        name = "/" if n == 0 else f"/{n}"
        pages[name] = f"<title>Page {n}</title>{links}<p>hazel number{n} <a href='http://b.test/{n % 5}'>b</a>"
    pages["/3"] = moved("/4")
    pages["/noindex"] = "<meta name=robots content=noindex><p>hidden"
    pages["/5"] = pages["/6"]
    others = {f"/{n}": f"<title>B {n}</title><p>walnut {n} <a href='/x{n}'>x</a>" for n in range(5)}
    return FakeWeb().site("a.test", pages).site("b.test", others)


def make(folder: Path, web: FakeWeb, *seeds: str) -> Path:
    """A crawl of all of it, in several rounds, several partitions, bases and deltas."""
    text = {
        "crawl.scope": "web", "fetcher.resolve": (f"*:127.0.0.1:{web.port}",), "fetcher.delay_s": 0.0,
        "fetcher.agent_name": "CobnutTest", "fetcher.agent_contact": "test@example.org", "fetcher.workers": 1,
    }  # fmt: skip
    CrawlFolder.create(folder, settings_text(text))
    crawl = opened(folder, ())
    run_crawl(crawl.crawl, msgspec.structs.replace(crawl.settings, storage=SPLIT), seeds or (HOME,))
    return folder


def looked_at(crawl: Path, **how: Any) -> Diagnosis:
    """What doctor finds."""
    return examine(CrawlFolder.open(crawl), **how)


def follow(remedy: str) -> None:
    """Does what a remedy says: removes, writes and runs, in the order of its words."""
    for words in re.findall(r"`([^`]*)`", remedy):
        typed = shlex.split(words)
        if typed[0] == "rm":
            for path in map(Path, typed[2:]):
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink()
        elif typed[0] == "echo":
            Path(typed[3]).write_text(f"{typed[1]}\n")
        elif typed[0] == "cobnut":
            assert main(typed[1:]) == 0, words


def goes_on(crawl: Path) -> None:
    """All steps run, and what was there can be found."""
    for step in STEPS:
        assert main([step, str(crawl)]) == 0, step
    assert main(["search", str(crawl), "hazel"]) == 0


def current(crawl: Path, table: str) -> Path:
    """The present generation of a table."""
    return crawl / table / (crawl / table / "CURRENT").read_text().strip()


def first_segment(crawl: Path) -> Path:
    """The oldest segment."""
    return min((crawl / "segments").iterdir())


def biggest(folder: Path, pattern: str = "*.parquet") -> Path:
    """The largest file of a folder."""
    return max(folder.glob(pattern), key=lambda path: (path.stat().st_size, path.name))


def flip(path: Path, share: float = 0.5) -> None:
    """Turns over one byte of a file. The file is a new one: a hard link elsewhere keeps the old bytes."""
    data = bytearray(path.read_bytes())
    data[int(len(data) * share)] ^= 0xFF
    path.unlink()
    path.write_bytes(data)


def rot(path: Path) -> None:
    """Turns over a bit of a Parquet file that no reader looks at: all of it can still be read."""
    data = bytearray(path.read_bytes())
    data[data.rindex(b"parquet-cpp")] ^= 1
    path.unlink()
    path.write_bytes(data)
    pq.read_table(path, partitioning=None)


def cut(path: Path, share: float = 0.6) -> None:
    """Leaves only the beginning of a file."""
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data[: int(len(data) * share)])


def rewritten(crawl: Path, table: str, change: Any, name: str | None = None) -> Path:
    """Changes the rows of a file of a table's present generation, and makes its manifest agree with the new bytes."""
    folder = current(crawl, table)
    path = biggest(folder) if name is None else folder / name
    rows = pq.read_table(path, partitioning=None)
    changed: pa.Table = change(rows)
    path.unlink()
    pq.write_table(changed, path, compression="zstd")
    manifest = json.loads((folder / "manifest.json").read_text())
    for entry in manifest["files"]:
        if entry["name"] == path.name:
            manifest["rows"] += changed.num_rows - entry["rows"]
            entry.update(rows=changed.num_rows, bytes=path.stat().st_size, xxh3=checksum(path))
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return path


def column_set(rows: pa.Table, name: str, value: Any, place: int = 0) -> pa.Table:
    """One value of a column put in the place of another."""
    field = rows.schema.field(name)
    values = rows.column(name).to_pylist()
    values[place] = value
    return rows.set_column(rows.schema.get_field_index(name), field, pa.array(values, field.type))
