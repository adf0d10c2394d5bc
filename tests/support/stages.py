"""Every stage that changes or writes something, as a crawl finds it and as it leaves it: for tests that disturb it.

`undisturbed` runs them all, one after the other, each on what the former ones left. `Stage.fresh` gives a crawl to
disturb; `Stage.finished` runs the stage to its end, and all must be as if nothing had happened.
"""

from __future__ import annotations

import os
import re
import shutil
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from doctored import looked_at, make, site
from killing import Ran, Zygote
from warc_bytes import http, members, warc

from cobnut.index.reader import IndexReader
from cobnut.records import catalogue as tables
from cobnut.storage.layout import CrawlFolder
from cobnut.storage.tables import read_files
from cobnut.testing.clock import VirtualClock
from cobnut.testing.fakeweb import FakeWeb
from cobnut.testing.relations import difference, multiset

NEW_HOSTS = 12
NUTCH = Path(__file__).resolve().parents[1] / "formats/nutch/1.23/data"

STAGES: dict[str, tuple[str, ...]] = {
    "inject": ("inject", "DIR", "SEEDS"),
    "generate": ("generate", "DIR", "--num-fetchers", "2"),
    "fetch": ("fetch", "DIR", "-s", "fetcher.workers=2"),
    "parse": ("parse", "DIR", "-s", "parser.workers=2"),
    "updatedb": ("updatedb", "DIR"),
    "invertlinks": ("invertlinks", "DIR"),
    "rank": ("rank", "DIR"),
    "updatesegs": ("updatesegs", "DIR"),
    "index": ("index", "DIR"),
    "dedup": ("dedup", "DIR"),
    "merge": ("merge", "DIR"),
    "publish": ("publish", "DIR", "OUT"),
    "export warc": ("export", "warc", "DIR", "OUT"),
    "export nutch": ("export", "nutch", "DIR", "OUT"),
    "export nutch 0.7": ("export", "nutch", "DIR", "OUT", "--layout", "0.7"),
    "dump": ("dump", "DIR", "crawldb+pages", "--format", "csv", "-o", "OUT"),
    "cdx": ("cdx", "DIR", "--output", "OUT"),
    "backup": ("backup", "DIR", "OUT"),
    "forget": ("forget", "DIR", "http://a.test/6"),
    "clean": ("clean", "DIR"),
    "mergedb": ("mergedb", "DIR", "OTHER", "--with-segments"),
    "mergelinkdb": ("mergelinkdb", "DIR", "OTHER"),
    "freegen": ("freegen", "DIR", "http://d.test/1", "http://d.test/2"),
    "import warc": ("import", "warc", "DIR", "ARCHIVE"),
    "import nutch": ("import", "nutch", "DIR", str(NUTCH)),
}
"""The commands in the order in which each finds work to do. Who adds a stage adds a line. Upgrades, which take a
program of another version, have a test of their own."""

WRITES_ONCE = {"export warc", "export nutch", "export nutch 0.7", "backup"}
"""Stages that refuse to write to where something is already."""

DONE = {"fetch": "no segment waits", "generate": "", "freegen": "", "parse": "no segment waits"}
"""What a stage says that has nothing to do any more, where its exit code tells that."""


class Web(NamedTuple):
    """A fake web in which there is more than the crawl has seen, and a file of seeds that lead there."""

    web: FakeWeb
    seeds: str


def bigger_web() -> Web:
    """The site of the doctored crawl, and hosts that nobody knows yet."""
    web = site()
    for n in range(NEW_HOSTS):
        links = "".join(f'<a href="/{m}">words {m}</a>' for m in range(3))
        web.site(f"c{n}.test", {"*": f"<title>New {n}</title>{links}<a href='http://a.test/1'>almond</a> page {n}"})
    return Web(web, "".join(f"http://c{n}.test/{page}\n" for n in range(NEW_HOSTS) for page in range(3)))


def archive(path: Path, host: str) -> Path:
    """A WARC file of some pages of a host."""
    page = b"<title>%d</title><p>Page %d of another crawler <a href='/%d'>next</a>"
    records = [warc(f"http://{host}/{n}", http(page % (n, n, n + 1))) for n in range(20)]
    path.write_bytes(members(*records))
    return path


class Stage:
    """One stage: the crawl as it finds it, and as it leaves it."""

    def __init__(self, name: str, folder: Path, zygote: Zygote, places: dict[str, Path]) -> None:
        self.name, self.zygote, self.places = name, zygote, places
        self.before, self.after, self.out = folder / "before", folder / "after", folder / "out"
        self.borders, self.lasts_s = 0, 0.0
        self._wanted: dict[str, Counter[Any]] | None = None

    def run(self, crawl: Path, **how: Any) -> Ran:
        """The command, on a crawl."""
        names = {"DIR": crawl, "OUT": out_of(crawl), **self.places}
        later_s = 60 * list(STAGES).index(self.name)  # the names of segments are times
        return self.zygote.run(*(names.get(word, word) for word in STAGES[self.name]), later_s=later_s, **how)

    def undisturbed(self, crawl: Path) -> None:
        """Runs it to its end, and keeps what was before and what is after it."""
        copied(crawl, self.before)
        started = time.monotonic()
        done = self.run(crawl)
        self.lasts_s = time.monotonic() - started
        assert done.code == 0, (self.name, done.err)
        self.borders = done.borders
        copied(crawl, self.after)
        if out_of(crawl).exists():
            out_of(crawl).rename(self.out)

    def fresh(self, place: Path) -> Path:
        """A crawl to disturb."""
        remove(out_of(place))
        remove(place)
        return copied(self.before, place)

    def finished(self, crawl: Path, what: str) -> None:
        """Runs the stage to its end: all is as if nothing had happened."""
        if self.name in WRITES_ONCE and out_of(crawl).exists():
            made = written(out_of(crawl))
            assert made in ({}, written(self.out)), f"{what}: a half"
            if made:
                remove(out_of(crawl))
        is_there = self.name == "generate" and len(segments(crawl)) == len(segments(self.after))
        if not is_there:  # of a list that was made in spite of the kill another run would make the next one
            done = self.run(crawl)
            # a run that was to be killed may have been faster
            assert done.code == 0 or (done.code in (1, 2) and DONE.get(self.name, "?") in done.err), (what, done)
        self.is_same(crawl, what)

    def is_same(self, crawl: Path, what: str) -> None:
        """Every row, state and document is the undisturbed one's, and so is what was written elsewhere."""
        if self._wanted is None:
            self._wanted = contents(self.after)
        found = contents(crawl)
        for name in sorted({*found, *self._wanted}):
            one, other = found.get(name, Counter()), self._wanted.get(name, Counter())
            assert one == other, f"{what}: {name}: {difference(other, one)}"
        if self.out.exists():
            assert written(out_of(crawl)) == written(self.out), what
            around = [*crawl.parent.iterdir(), *(out_of(crawl).iterdir() if out_of(crawl).is_dir() else ())]
            left = [p.name for p in around if p.name.startswith(".tmp-")]
            assert left == [], f"{what}: what killed runs left goes with the next"

    def is_well(self, crawl: Path, *, wholly: bool) -> None:
        """Doctor finds nothing wrong, and after a rerun nothing at all."""
        if wholly:  # what killed runs left goes with the next writer of its table, at the latest with `clean`
            done = self.zygote.run("clean", crawl, "--keep", "1000")
            assert done.code == 0, (self.name, done)
        found = looked_at(crawl, deep=wholly, clock=VirtualClock((self.zygote.now_s + 3_600) * 1_000))
        assert found.problems == [], (self.name, found.problems)
        if wholly:
            # segments that came in from elsewhere have nothing of hosts: "applied"
            assert {f.check for f in found.notes} <= {"lock", "archive", "applied"}, (self.name, found.notes)


def undisturbed(top: Path, web: Web) -> Iterator[dict[str, Stage]]:
    """Every stage run once, on a crawl that has some rounds behind it."""
    crawl = make(top / "crawl", web.web)
    places = {"SEEDS": top / "seeds.txt", "OTHER": top / "other", "ARCHIVE": archive(top / "archive.warc.gz", "d.test")}
    places["SEEDS"].write_text(web.seeds)
    with Zygote(top, int(time.time()) + 3_600) as zygote:
        words = (("import", "warc", places["OTHER"], archive(top / "other.warc.gz", "e.test")),
                 *((step, places["OTHER"]) for step in ("parse", "updatedb", "invertlinks")))  # fmt: skip
        for command in words:
            assert zygote.run(*command).code == 0
        found: dict[str, Stage] = {}
        for name in STAGES:
            (top / name).mkdir()
            found[name] = Stage(name, top / name, zygote, places)
            found[name].undisturbed(crawl)
        yield found


# ---- copies


def out_of(crawl: Path) -> Path:
    """Where a command on a crawl writes what it writes elsewhere."""
    return crawl.with_name(f"{crawl.name}-out")


def remove(path: Path) -> None:
    """A file or a folder, where it is there."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def copied(crawl: Path, place: Path) -> Path:
    """A copy that shares the bytes of files that are never changed in place, where the disk is the same."""
    shutil.copytree(crawl, place, copy_function=_link_or_copy)
    return place


def _link_or_copy(source: str, target: str) -> None:
    name = os.path.basename(source)
    if name.endswith(".parquet") or ("/index/" in source and not name.startswith(".") and name != "CURRENT"):
        try:
            os.link(source, target)
            return
        except OSError:  # another disk
            pass
    shutil.copy2(source, target)


# ---- what counts


def segments(crawl: Path) -> list[str]:
    """Names of the segments on disk."""
    return [segment.name for segment in CrawlFolder.open(crawl).segments()]


def contents(crawl: Path) -> dict[str, Counter[Any]]:
    """All that counts of a crawl: rows of its tables and segments, what was applied, and which documents there are."""
    folder = CrawlFolder.open(crawl)
    found: dict[str, Counter[Any]] = {}
    for table in (t for t in tables.TABLES if t.scope == "crawl"):
        found[table.name] = multiset(without_times(folder.table(table).read()))
        applied = folder.table(table).manifest().get("applied", [])
        found[f"{table.name} applied"] = Counter(entry["segment"] for entry in applied)
    for segment in folder.segments():
        found[f"{segment.name} state"] = Counter([segment.state()])
        for table in (t for t in tables.TABLES if t.scope == "segment"):
            rows = _rows(table, tuple(segment.part_files(table)))
            if rows:
                found[f"{segment.name} {table.name}"] = rows
        if segment.index_path.exists():
            found[f"{segment.name} index"] = documents(segment.index_path)
    generation = folder.index_generations().current()
    if generation is not None:
        with generation:
            found["index"] = documents(generation.path)
    return found


MEASURED = {"elapsed_ms", "fetched_at", "warc_file", "warc_offset", "headers"}
"""Columns that tell when and how an answer came: two runs of a fetch differ in them."""

_known: dict[tuple[Any, ...], Counter[Any]] = {}
"""What was read before, by the identity of the files: copies share what none of them has changed."""


def _identity(path: Path) -> tuple[int, ...]:
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns if found.st_nlink == 1 else 0


def _rows(table: tables.Table, files: tuple[Path, ...]) -> Counter[Any]:
    key = (table.name, *map(_identity, files))
    if key not in _known:
        rows = read_files(table, list(files))
        _known[key] = learned(rows) if table is tables.HOSTS else multiset(without_times(rows))
    return _known[key]


COUNTS = ("request_count", "success_count", "error_count", "dns_error_count", "body_bytes")


def learned(hosts: Any) -> Counter[Any]:
    """What a round learned of hosts, however many rows it took: sums of each host, and what each robots.txt said."""
    found = Counter[Any]()
    for row in hosts.to_pylist():
        if row["event"] == "robots":
            found[row["origin"], row["state"], row["http_status"]] += 1
        for name in COUNTS:
            found[row["host"], name] += row[name] or 0
    return found


def without_times(rows: Any) -> Any:
    """Rows without what was measured."""
    if not {"elapsed_ms", "warc_offset"} & set(rows.schema.names):
        return rows
    return rows.drop_columns([name for name in MEASURED if name in rows.schema.names])


def documents(folder: Path) -> Counter[Any]:
    """Which documents an index has."""
    key = ("documents", *map(_identity, sorted(p for p in folder.iterdir() if not p.name.startswith("."))))
    if key not in _known:
        _known[key] = Counter((d.url_key, d.segment, d.title) for d in IndexReader(folder).documents())
    return _known[key]


def written(path: Path) -> dict[str, Any]:
    """What was written elsewhere, by file: its bytes; of what no two runs write alike, all that has to be alike."""
    if path.is_file():
        return {"": path.read_bytes()}
    if (path / "cobnut.toml").exists():  # a copy
        return dict(contents(path))
    if (path / "CURRENT").exists():
        return {"documents": documents(path / (path / "CURRENT").read_text().strip())}
    found: dict[str, Any] = {}
    for file in sorted(p for p in path.rglob("*") if p.is_file() and not p.name.startswith(".tmp-")):
        name, data = str(file.relative_to(path)), file.read_bytes()
        if name.endswith(".warc.gz"):  # each record has an id of its own
            found[name] = re.sub(rb"<urn:uuid:[0-9a-f-]+>", b"", inflated(data))
        else:  # Hadoop's files have marks of chance in them
            found[name] = len(data)
    return found


def inflated(data: bytes) -> bytes:
    """All members of a gzip file."""
    found = b""
    while data:
        unpacker = zlib.decompressobj(31)
        found += unpacker.decompress(data) + unpacker.flush()
        data = unpacker.unused_data
    return found
