"""How is a whole crawl of Nutch's taken in?

`look` says what lies at the paths that were named; nothing is written yet. `NutchImport.take` reads it: databases
become adopted rows in a folder that is gone when the import ends, segments become segments of the crawl. What comes of
the rows is the stages' business (`Taken` goes to `crawl.adopt`).

The databases are read first, for whether they come along decides how segments are called: without them a segment is
still to be applied to the crawldb, which takes segments in the order of their names.

The caller holds the crawl's lock. A killed import leaves the crawl as it was, or with some of the segments: run again,
those that are here already are known by the digest of what they were made from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from cobnut.config.sections import Settings
from cobnut.errors import DataError, InputError
from cobnut.frontier.forgotten import forgotten_of
from cobnut.interop.found import Found, Part, short_class
from cobnut.interop.nutch07.webdb import WebDBReader
from cobnut.interop.nutch1 import CrawlDatum, HostDatum, Inlinks
from cobnut.interop.nutch_import.answers import of_old_records, of_records
from cobnut.interop.nutch_import.joined import decoder_of, joined
from cobnut.interop.nutch_import.links import LinkRows, host_row
from cobnut.interop.nutch_import.losses import Losses, key_text, raw_records
from cobnut.interop.nutch_import.pages import PageRows
from cobnut.interop.nutch_import.segment import SegmentDraft, is_name, name_of
from cobnut.interop.nutch_import.staging import Staged
from cobnut.interop.recognize import recognize
from cobnut.observe.clock import Clock, SystemClock
from cobnut.stages.adopt import ADOPTED, ADOPTED_HOSTS
from cobnut.stages.adoptlinks import ADOPTED_LINKS
from cobnut.storage.files import remove_tree, temporary_name
from cobnut.storage.layout import CrawlFolder, SegmentFolder, seconds_of
from cobnut.storage.tables import checksum
from cobnut.urls.filters import is_forgotten
from cobnut.urls.resolve import compile_forms

KINDS = ("crawldb", "webdb", "linkdb", "hostdb", "segment")
"""What can be imported."""
_FETCHED_PARTS = ("crawl_fetch", "fetcher", "fetcher_output", "content", "parse_data", "parse_text")
SCRATCH = "import"

Progress = Callable[[str, int], None]


class Taken(msgspec.Struct):
    """What was read: files of adopted rows, the segments there are of it, and which of them are new.

    `has_pages`: a crawldb or web database came along. `addresses`: hosts that may not become seeds.
    """

    pages: list[Path] = []
    hosts: list[Path] = []
    links: list[Path] = []
    segments: list[SegmentFolder] = []
    new_segments: list[str] = []
    waiting: list[str] = []  # segments with pages that are to be parsed
    counts: dict[str, int] = {}
    addresses: list[str] = []
    has_pages: bool = False


def look(paths: Sequence[Path]) -> list[Found]:
    """What lies at each path; an `InputError` names the first at which there is nothing to import.

    What is damaged is told with the rest (`take`), but for a `DataError` when nothing else is there.
    """
    found, damage, something = [], None, False
    for path in paths:
        one = recognize(path)
        if any(True for kind in KINDS for _ in one.each(kind)):
            something = True
        elif (note := next((note for note in one.all_notes() if note.damage), None)) is not None:
            damage = damage or note
        else:
            classes = {short_class(part.header.value_class) for part in one.parts} if one.kind == "records" else ()
            what = f"records of the class {', '.join(sorted(classes))}" if classes else f"a {one.kind}"
            raise InputError(
                f"{what} by itself is not imported", where=str(path),
                remedy="name a crawldb, linkdb, hostdb, segment, a folder of segments, a crawl, or 0.7's db",
            )  # fmt: skip
        found.append(one)
    if damage is not None and not something:
        raise DataError(damage.text, where=str(damage.path))
    return found


class NutchImport:
    """One import. A context manager: the adopted rows are gone when it ends."""

    def __init__(
        self, crawl: CrawlFolder, settings: Settings, *, reparse: bool = False, clock: Clock | None = None,
        on_progress: Progress | None = None, applied: Iterable[str] = (),
    ) -> None:  # fmt: skip
        """`reparse`: pages whose content is there are parsed anew. `applied`: segments that the crawldb holds."""
        self._crawl, self._settings, self._reparse = crawl, settings, reparse
        self._clock = clock or SystemClock()
        self._progress = on_progress or (lambda kind, count: None)
        self._newest_applied = max(applied, default="")
        self._forms = compile_forms(settings.urls.normalizers)
        self.losses = Losses()
        for old in crawl.path.glob(f".tmp-{SCRATCH}-*"):  # of killed imports: the lock says that none is at work
            remove_tree(old)
        self._scratch = crawl.path / temporary_name(SCRATCH)

    def __enter__(self) -> NutchImport:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        remove_tree(self._scratch)

    def take(self, found: Sequence[Found]) -> Taken:
        """Reads everything."""
        taken, losses = Taken(), self.losses
        for one in found:
            for note in one.all_notes():
                if note.damage:
                    losses.damaged(note.path, note.text, records=0)
                else:
                    losses.note(f"{note.path}: {note.text}")
            for segment in one.each("segment"):
                for part in segment.parts:
                    if part.kind == "records":
                        losses.damaged(part.data, f"records of a class that is not known, {part.header.value_class}")
            for graph in one.each("webgraphdb"):
                losses.note(f"{graph.path}: left out, `cobnut rank` computes ranks anew from the links")
                losses.leave_out("webgraphdb")
        self._take_pages(found, taken)
        self._take_links(found, taken)
        self._take_hosts(found, taken)
        for segment in sorted(_each(found, "segment"), key=lambda s: (s.path.name, str(s.path))):
            self._take_segment(segment, taken)
        taken.counts = {**losses.read, **taken.counts}
        return taken

    def _take_pages(self, found: Sequence[Found], taken: Taken) -> None:
        losses = self.losses
        forgets = is_forgotten(forgotten_of(self._crawl))
        rows = PageRows(
            self._forms, forgets, losses, interval_s=self._settings.db.interval_s, now_ms=self._clock.now_ms()
        )
        with Staged(self._scratch, ADOPTED) as staged:
            for crawldb in _each(found, "crawldb"):
                taken.has_pages = True
                for part in crawldb.parts:
                    for key, datum in self._records(part, CrawlDatum, "crawldb_records"):
                        row = rows.of_datum(key, datum)
                        if row is not None:
                            staged.add(row)
            for webdb in _each(found, "webdb"):
                taken.has_pages = True
                reader = self._webdb(webdb.path)
                for page in () if reader is None else reader.pages():
                    losses.read["webdb_pages"] += 1
                    row = rows.of_page(page)
                    if row is not None:
                        staged.add(row)
                self._told(reader)
            taken.pages = staged.close()
        taken.addresses = sorted(rows.addresses)

    def _take_links(self, found: Sequence[Found], taken: Taken) -> None:
        losses = self.losses
        rows = LinkRows(self._forms, losses, self._settings.parser.max_anchor_chars)
        with Staged(self._scratch, ADOPTED_LINKS) as staged:
            for linkdb in _each(found, "linkdb"):
                for part in linkdb.parts:
                    for key, inlinks in self._records(part, Inlinks, "linkdb_records"):
                        for row in rows.of_inlinks(key, inlinks):
                            staged.add(row)
            for webdb in _each(found, "webdb"):
                reader = self._webdb(webdb.path)
                for link in () if reader is None else reader.links():
                    losses.read["webdb_links"] += 1
                    made = rows.of_link(link)
                    if made is not None:
                        staged.add(made)
                self._told(reader)
            taken.links = staged.close()
            taken.counts["inlinks"] = staged.rows

    def _take_hosts(self, found: Sequence[Found], taken: Taken) -> None:
        with Staged(self._scratch, ADOPTED_HOSTS) as staged:
            for hostdb in _each(found, "hostdb"):
                for part in hostdb.parts:
                    for host, datum in self._records(part, HostDatum, "hostdb_records"):
                        row = host_row(self._forms, host, datum, self._clock.now_ms())
                        if row is None:
                            self.losses.leave_out("not_a_url")
                        else:
                            staged.add(row)
                            self.losses.leave_out("host_statistics")
            taken.hosts = staged.close()

    def _records(self, part: Part, record: type[Any], kind: str) -> Iterable[tuple[str, Any]]:
        """Key and value of the records of a file; those that cannot be read are told."""
        losses = self.losses
        try:
            decode = decoder_of(part)
        except DataError as error:
            losses.error(part.data, error)
            return
        for position, key, value in raw_records(part, losses):
            losses.read[kind] += 1
            try:
                made = decode(value)
                text = key_text(part, key)
            except DataError as error:
                losses.error(part.data, error, position)
                continue
            if not isinstance(made, record):
                losses.leave_out("not_imported")
                continue
            if losses.read[kind] % 10_000 == 0:
                self._progress(kind.replace("_", " "), losses.read[kind])
            yield text, made

    def _webdb(self, path: Path) -> WebDBReader | None:
        try:
            return WebDBReader(path)
        except DataError as error:
            self.losses.error(path, error)
        except InputError as error:
            self.losses.damaged(path, error.what)
        return None

    def _told(self, reader: WebDBReader | None) -> None:
        if reader is None:
            return
        told = {(one.path, one.offset, one.what) for one in self.losses.told}
        for problem in reader.problems:
            if tuple(problem) not in told:
                self.losses.damaged(problem.path, problem.what, problem.offset)
        for line in reader.notes:
            self.losses.note(line)

    def _take_segment(self, found: Found, taken: Taken) -> None:
        losses, name = self.losses, found.path.name
        parts = [part for part in found.parts if part.kind in _FETCHED_PARTS]
        if not parts:
            losses.leave_out("not_fetched")
            losses.note(f"{found.path}: generated and not fetched, left out; its URLs are due in the crawldb")
            return
        digest = source_digest(parts)
        for segment in self._crawl.segments():
            if segment.details().get("imported", {}).get("digest") == digest:
                losses.leave_out("segment_here")
                losses.note(f"{found.path}: imported before, as segment {segment.name}")
                taken.segments.append(segment)
                return
        draft = SegmentDraft(self._crawl, self._settings, losses, str(found.path), reparse=self._reparse)
        try:
            self._fill(draft, parts, seconds_of(name) * 1000 if is_name(name) else 0)
            if not draft.counts:
                losses.note(f"{found.path}: there is no page in it; left out")
                draft.abort()
                return
            made = draft.publish(
                self._wanted(name, draft.newest_at, taken.has_pages), self._clock,
                {"from": "nutch", "layout": found.layout, "segment": name, "digest": digest},
            )  # fmt: skip
        except BaseException:
            draft.abort()
            raise
        taken.segments.append(made)
        taken.new_segments.append(made.name)
        if made.state() != "parsed":
            taken.waiting.append(made.name)
        for outcome, count in draft.counts.items():
            taken.counts[outcome] = taken.counts.get(outcome, 0) + count
        if made.name != name:
            losses.note(f"{found.path}: became segment {made.name}")

    def _fill(self, draft: SegmentDraft, parts: Sequence[Part], default_time: int) -> None:
        numbered: dict[str, list[Part]] = {}
        named: dict[str, list[Part]] = {}
        for part in parts:
            (numbered if part.header.is_numbered else named).setdefault(part.kind, []).append(part)
        if "fetcher_output" in numbered:  # written by a fetch without parsing, and replaced by `fetcher` later
            numbered.setdefault("fetcher", numbered["fetcher_output"])
            del numbered["fetcher_output"]
        for done, (url, records) in enumerate(joined(named, self.losses), 1):
            answer = of_records(url, records, default_time)
            if answer is not None:
                draft.add(answer)
            if done % 1_000 == 0:
                self._progress("segment pages", done)
        for _, records in joined(numbered, self.losses):
            answer = of_old_records(records, default_time)
            if answer is not None:
                draft.add(answer)

    def _wanted(self, name: str, newest_at: int, has_pages: bool) -> str | None:
        """What a segment is to be called; None: by the present time.

        A name in the future would stand in the way of every later segment, and one before the segments that are applied
        could not be applied any more.
        """
        wanted = name if is_name(name) else name_of(newest_at // 1000)
        now = name_of(self._clock.now_ms() // 1000)
        if not is_name(wanted) or wanted > now or (not has_pages and wanted <= self._newest_applied):
            return None
        return wanted


def _each(found: Sequence[Found], kind: str) -> list[Found]:
    return [part for one in found for part in one.each(kind)]


def source_digest(parts: Sequence[Part]) -> str:
    """xxh3-128 over the kinds and contents of the files a segment is made from, wherever they lie."""
    import xxhash

    lines = sorted(f"{part.kind}/{part.path.name}:{checksum(part.data)}" for part in parts)
    return str(xxhash.xxh3_128_hexdigest("\n".join(lines).encode()))
