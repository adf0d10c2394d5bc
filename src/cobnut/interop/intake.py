"""How do documents that came from elsewhere become segments of a crawl?

`SegmentIntake` takes documents one by one and makes of them what the fetcher would have made: WARC files, `fetchlist`
and `fetched` rows; and what the parser would have made, for whoever brings that too. The ordinary steps go on from
there: parse, updatedb and so on.

* A *version* is one answer of one URL. The newest that says something (a page, a redirect, a 404) wins over older ones
  and over passing failures (503 …); with `all_versions` each is kept, in segments that follow one another in time.
* What the crawl knows as new or newer already is left out, so that an import that was killed can simply be run again.
* Nothing is seen before `finish`: until then all lies in unfinished segment folders, which the next command that holds
  the crawl's lock sweeps away.

The caller holds the crawl's lock. Not here: reading any format (`interop.warc`, `interop.nutch_import`), which versions
stay (`interop.versions`), rows on their way (`interop.spools`), seeds (the command injects those the report names).
"""

from __future__ import annotations

import contextlib
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

import msgspec

from cobnut.config.sections import Settings
from cobnut.errors import CobnutError
from cobnut.fetcher.archive import Archive, Place
from cobnut.frontier.forgotten import forgotten_of
from cobnut.interop.documents import Document, DocumentRows, Taken
from cobnut.interop.spools import Spools, finish_segments
from cobnut.interop.versions import newest_known, plan
from cobnut.observe.clock import Clock, SystemClock
from cobnut.storage.files import remove_tree
from cobnut.storage.layout import FETCHED as SEALED
from cobnut.storage.layout import CrawlFolder, SegmentFolder
from cobnut.urls.addresses import read_ip
from cobnut.urls.hosts import is_loopback_host

__all__ = ["Document", "IntakeReport", "SegmentIntake"]

SEGMENT_DOCUMENTS = 50_000
SEGMENT_BYTES = 2 << 30


class IntakeReport(msgspec.Struct):
    """What an intake came to: segments made, documents in them by outcome, and what was left out by reason.

    `seeds`: for each host with a page, the first that came, in order; `address_hosts`: hosts that are addresses or this
    machine itself, for which there is none, since such a seed would open the address to the fetcher.
    """

    segments: list[str]
    documents: int
    outcomes: dict[str, int]
    left_out: dict[str, int]
    seeds: list[str]
    address_hosts: list[str]


class SegmentIntake:
    """Documents in, segments out. A context manager: without `finish` no trace stays."""

    def __init__(
        self, crawl: CrawlFolder, settings: Settings, *, origin: str, all_versions: bool = False,
        segment_documents: int = SEGMENT_DOCUMENTS, segment_bytes: int = SEGMENT_BYTES, clock: Clock | None = None,
    ) -> None:  # fmt: skip
        """`origin` says in the WARC files what the documents were read from."""
        self._crawl, self._settings, self._all_versions = crawl, settings, all_versions
        self._most_documents, self._most_bytes = segment_documents, segment_bytes
        self._clock = clock or SystemClock()
        self._rows = DocumentRows(settings, forgotten_of(crawl), self._clock.now_ms())
        self._known = newest_known(crawl)
        self._about = about(origin)
        self._drafts: list[_Draft] = []
        self._unseen: list[SegmentFolder] = []  # finished, and not yet named
        self._hashes, self._times, self._ranks, self._seen = array("q"), array("q"), array("b"), 0
        self._left_out = Counter[str]()
        self._seeds: dict[str, str] = {}
        self._address_hosts: dict[str, None] = {}

    def add(
        self, document: Document, *, parsed: Mapping[str, Any] | None = None, links: Sequence[Mapping[str, Any]] = ()
    ) -> str | None:
        """Takes a document; the reason when it is left out, None when it is taken (a newer version may still win).

        `parsed` and `links`: rows of these tables for a page with the outcome success whose text and links are known
        already; columns that are left out are NULL. Without them the page is parsed by `cobnut parse`.
        """
        taken = self._rows.judge(document)
        if isinstance(taken, str):
            self._left_out[taken] += 1
            return taken
        self._note_host(taken)
        reason = self._known.refusal(taken.hash, document.fetched_at_ms)
        if reason is not None:
            self._left_out[reason] += 1
            return reason
        draft = self._drafts[-1] if self._drafts else None
        if draft is None or draft.documents >= self._most_documents or draft.bytes >= self._most_bytes:
            if draft is not None:
                draft.close()
            draft = _Draft(self._crawl.draft_segment(), self._settings.fetcher.warc_max_bytes, self._about)
            self._drafts.append(draft)
        draft.add(self._seen, taken, self._rows, fetched_before=self._known.was_fetched(taken.hash))
        if parsed is not None and taken.outcome == "success":
            draft.add_parsed(self._seen, parsed, links)
        self._hashes.append(taken.hash)
        self._times.append(document.fetched_at_ms)
        self._ranks.append(taken.rank)
        self._seen += 1
        return None

    def leave_out(self, reason: str, count: int = 1) -> None:
        """Counts what a reader left out by itself."""
        self._left_out[reason] += count

    def finish(self) -> IntakeReport:
        """Makes the segments, and makes them visible one after the other."""
        if self._drafts:
            self._drafts[-1].close()
        folders = [draft.segment for draft in self._drafts]
        fates, dropped = plan(self._hashes, self._times, self._ranks, all_versions=self._all_versions)
        self._left_out.update(dropped)
        made = finish_segments(self._crawl, self._settings, folders, fates, self._about)
        self._unseen = [segment for segment, _ in made]
        self._drafts = []
        names, outcomes = [], Counter[str]()
        for segment, counts in made:
            published = self._crawl.publish_segment(segment, SEALED, self._clock.now_ms, self._clock.sleep)
            self._unseen.remove(segment)
            names.append(published.name)
            outcomes.update(counts)
        return IntakeReport(
            names, outcomes.total(), dict(outcomes), dict(self._left_out), list(self._seeds.values()),
            list(self._address_hosts),
        )  # fmt: skip

    def abort(self) -> None:
        """Leaves no trace."""
        for draft in self._drafts:
            with contextlib.suppress(CobnutError, OSError):  # a full disk, say: all of it goes away
                draft.close()
        for segment in [*(draft.segment for draft in self._drafts), *self._unseen]:
            remove_tree(segment.path)
        self._drafts, self._unseen = [], []

    def __enter__(self) -> SegmentIntake:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.abort()  # after `finish` there is nothing left to undo

    def _note_host(self, taken: Taken) -> None:
        host = taken.forms.host
        if taken.outcome != "success" or host in self._seeds:
            return
        if read_ip(host) is not None or is_loopback_host(host):
            self._address_hosts[host] = None
        else:
            self._seeds[host] = taken.forms.url


def about(origin: str) -> dict[str, str]:
    """What the warcinfo records of the files say."""
    from cobnut import __version__

    line = " ".join(origin.encode("utf-8", "replace").decode().split())[:1_000]
    return {"software": f"Cobnut/{__version__}", "format": "WARC File Format 1.1", "description": f"import of {line}"}


class _Draft:
    """One segment on its way: its WARC files, and its rows, each with the running number of its document."""

    def __init__(self, segment: SegmentFolder, warc_max_bytes: int, info: dict[str, str]) -> None:
        self.segment, self.documents = segment, 0
        self._archive = Archive(segment.warc_path, 0, 0, warc_max_bytes, info)
        self._spools = Spools(segment)

    @property
    def bytes(self) -> int:
        """Bytes of WARC written."""
        return self._archive.bytes_written

    def add(self, number: int, taken: Taken, rows: DocumentRows, *, fetched_before: bool) -> None:
        """Writes a document's record, and its rows."""
        response = rows.response(taken)
        place: Place | None = None if response is None else self._archive.write(response)
        self._spools.add(number, rows.fetched(taken, place), rows.fetchlist(taken, fetched_before))
        self.documents += 1

    def add_parsed(self, number: int, parsed: Mapping[str, Any], links: Sequence[Mapping[str, Any]]) -> None:
        """Keeps a page's text and links."""
        self._spools.add_parsed(number, parsed, links)

    def close(self) -> None:
        """Everything is on disk, though not yet under its name."""
        self._archive.close()
        self._spools.close()
