"""How does a segment of Nutch's become one of ours?

Every answer becomes what the fetcher and the parser would have made of it: a record in a WARC file where the content is
there, rows of `fetchlist` and `fetched`, and, unless it is to be parsed anew, rows of `parsed` and `links` with the
title, text and links that Nutch found. A page with content that Nutch did not parse waits for `cobnut parse`.

A draft becomes a segment by `publish`: it keeps Nutch's name, which is a time, where that is free and not in the
future.

Not here: what Nutch's records say (`answers`), which come together (`joined`).
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cobnut.config.sections import Settings
from cobnut.fetcher.archive import Archive, Place
from cobnut.fetcher.results import done_path
from cobnut.frontier.forgotten import forgotten_of
from cobnut.frontier.scoring import FollowedLinks, LinkingPage
from cobnut.interop.documents import Document, DocumentRows
from cobnut.interop.documents import Taken as TakenDocument
from cobnut.interop.nutch_import.answers import Answer, Parse
from cobnut.interop.nutch_import.links import anchor_of
from cobnut.interop.nutch_import.losses import Losses
from cobnut.interop.nutch_import.pages import UNKNOWN_DEPTH, content_signature
from cobnut.interop.nutch_import.staging import MOST_TIME, micro_score, whole_text
from cobnut.observe.clock import Clock
from cobnut.parsers.directives import robots_of
from cobnut.parsers.media_type import essence
from cobnut.parsers.page import passed_scores
from cobnut.records.catalogue import FETCHED, FETCHLIST, LINKS, PARSED
from cobnut.records.columns import Table
from cobnut.stages.parse import write_redirect_links
from cobnut.storage import layout
from cobnut.storage.files import fsync_folder, io_errors, remove_tree
from cobnut.storage.layout import CrawlFolder, SegmentFolder, seconds_of
from cobnut.storage.parts import PartWriter, part_name
from cobnut.text.charset import charset_of_label
from cobnut.text.language import detect
from cobnut.urls.keys import key_to_url
from cobnut.urls.resolve import UrlForms, compile_forms, stored_url

CHUNK_ROWS = 2_000
CHUNK_CHARS = 16 << 20
LINK_CHARS = 200
MOST_TITLE_CHARS = 1_000
_LANGUAGE_NOTES = ("language", "lang", "content-language", "Content-Language")
_CHARSET_NOTES = ("CharEncodingForConversion", "OriginalCharEncoding")
_DESCRIPTION_NOTES = ("metatag.description", "description")


class SegmentDraft:
    """One segment on its way. Without `publish` no trace stays once it is `abort`ed."""

    def __init__(self, crawl: CrawlFolder, settings: Settings, losses: Losses, origin: str, *, reparse: bool) -> None:
        self._crawl, self._settings, self._losses, self._reparse = crawl, settings, losses, reparse
        self.segment = crawl.draft_segment()
        self.counts = Counter[str]()
        self.newest_at = 0
        # Nutch's times are taken as they are: a clock that was wrong is no reason to lose a page
        self._rows = DocumentRows(settings, forgotten_of(crawl), MOST_TIME)
        self._forms = compile_forms(settings.urls.normalizers)
        self._archive = Archive(
            self.segment.warc_path, 0, 0, settings.fetcher.warc_max_bytes,
            {"software": "Cobnut", "format": "WARC File Format 1.1", "description": f"import of {origin[:1_000]}"},
        )  # fmt: skip
        self._visits = {table.name: PartWriter(self.segment.folder(table), table, part_name(0, 0)) for table in _VISITS}
        self._waiting: dict[str, list[dict[str, Any]]] = {t.name: [] for t in (*_VISITS, PARSED, LINKS)}
        self._held, self._parts, self._unparsed = 0, 0, 0

    def add(self, answer: Answer) -> None:
        """Takes an answer; what has no place is counted."""
        page = answer.parse
        if page is not None and self._reparse and answer.body is not None:
            page = None
        if answer.outcome == "success" and answer.body is None and page is None:
            self._losses.leave_out("no_content")
            return
        if answer.fetched_at <= 0:
            self._losses.leave_out("no_date")
            return
        taken = self._rows.judge(_document(answer))
        if isinstance(taken, str):
            reason = {"bad_url": "not_a_url", "bad_date": "no_date"}.get(taken, taken)
            self._losses.leave_out(reason)
            return
        place: Place | None = None
        if answer.body is not None and (response := self._rows.response(taken)) is not None:
            place = self._archive.write(response)
        fetched = self._rows.fetched(taken, place)
        fetched["elapsed_ms"] = answer.elapsed_ms
        if answer.body is None:
            fetched["headers"] = None
        self._take(FETCHED, fetched)
        self._take(FETCHLIST, self._rows.fetchlist(taken, answer.was_fetched_before))
        self.counts[taken.outcome] += 1
        self.newest_at = max(self.newest_at, min(answer.fetched_at, MOST_TIME))
        if taken.outcome == "success":
            if page is None:
                self._unparsed += 1
            else:
                self._take_page(taken, answer, page)
        if len(self._waiting[FETCHED.name]) >= CHUNK_ROWS or self._held >= CHUNK_CHARS:
            self._flush()

    def _take(self, table: Table, row: dict[str, Any]) -> None:
        self._waiting[table.name].append(row)

    def _take_page(self, taken: TakenDocument, answer: Answer, page: Parse) -> None:
        row, links, bad = parsed_rows(taken, answer, page, self._forms, self._settings)
        self._take(PARSED, row)
        self._waiting[LINKS.name] += links
        self._held += len(page.text) + LINK_CHARS * len(links)
        self.counts["links"] += len(links)
        if bad:
            self._losses.leave_out("bad_link", bad)

    def _flush(self) -> None:
        import pyarrow as pa

        def rows(table: Table) -> pa.Table:
            made = pa.Table.from_pylist(self._waiting[table.name], schema=table.schema())
            self._waiting[table.name] = []
            return made

        for table in _VISITS:
            self._visits[table.name].write(rows(table))
        if self._waiting[PARSED.name]:
            name = f"import-{self._parts:05d}"
            self._parts += 1
            order = [("to_bucket", "ascending"), ("from_key", "ascending"), ("position", "ascending")]
            # links first: a part of `parsed` says that its pages are done
            for table, made in ((LINKS, rows(LINKS).sort_by(order)), (PARSED, rows(PARSED))):
                with PartWriter(self.segment.folder(table), table, name) as writer:
                    writer.write(made)
        self._held = 0

    def publish(self, wanted: str | None, clock: Clock, imported: dict[str, Any]) -> SegmentFolder:
        """Makes it a segment, called *wanted* if that is a time that is free; `imported` is kept in its state."""
        self._flush()
        self._archive.close()
        for writer in self._visits.values():
            writer.close()
        done = done_path(self.segment.path, 0)
        done.parent.mkdir(exist_ok=True)
        done.touch()  # a fetch finds nothing to do
        state = layout.FETCHED
        if not self._unparsed:
            write_redirect_links(self.segment)
            state = layout.PARSED
        self.segment.set_state(state, imported=imported)
        if wanted is None:
            return self._crawl.publish_segment(self.segment, state, clock.now_ms, clock.sleep)
        return _named(self._crawl, self.segment, wanted)

    def abort(self) -> None:
        """Leaves no trace."""
        for close in (self._archive.close, *(writer.abort for writer in self._visits.values())):
            with contextlib.suppress(Exception):  # a full disk, say: all of it goes away
                close()
        remove_tree(self.segment.path)


_VISITS = (FETCHED, FETCHLIST)


def _document(answer: Answer) -> Document:
    status = answer.http_status
    if status is None and answer.outcome == "success":
        status = 200
    headers = answer.headers
    if answer.target:
        headers = (
            *(pair for pair in headers if pair[0].lower() != "location"),
            ("Location", whole_text(answer.target)),
        )
    return Document(
        whole_text(answer.url), min(answer.fetched_at, MOST_TIME), status if status and status >= 200 else None,
        headers, answer.body or b"", truncated="length" if answer.is_cut else None,
        score=micro_score(answer.score) or 0, depth=UNKNOWN_DEPTH, outcome=answer.outcome, reason=answer.reason,
    )  # fmt: skip


def parsed_rows(
    taken: TakenDocument, answer: Answer, page: Parse, forms: Callable[[str], UrlForms | None], settings: Settings
) -> tuple[dict[str, Any], list[dict[str, Any]], int]:
    """The rows of `parsed` and `links` of a page as Nutch parsed it, and how many links have no place here."""
    own, notes, limits = taken.forms, page.notes, settings.parser
    robots = robots_of(notes.get("robots", "")[:4_096])
    found, bad = [], 0
    surplus = max(0, len(page.links) - limits.max_links)
    for url, anchor in page.links[: limits.max_links]:
        to = forms(whole_text(url))
        if to is None:
            bad += 1
        elif to.key != own.key:
            found.append((to, anchor_of(whole_text(anchor), limits.max_anchor_chars), "link"))
    refresh = page.refresh
    if refresh is not None and (to := forms(whole_text(refresh[0]))) is not None and to.key != own.key:
        found.append((to, None, "refresh"))
    contributions = [0] * len(found)
    if found and not robots.nofollow:
        followed = FollowedLinks(
            urls=tuple(key_to_url(to.key) for to, _, _ in found), hosts=tuple(to.host for to, _, _ in found),
            anchors=tuple(anchor for _, anchor, _ in found), kinds=tuple(kind for _, _, kind in found),
        )  # fmt: skip
        contributions = passed_scores(settings.scoring)(LinkingPage(own.normalized, own.host, taken.score), followed)
    links = [
        {
            "from_key": own.key, "position": position, "from_host": own.host, "from_score": taken.score,
            "from_depth": taken.depth,
            "contribution": contributions[position],
            "to_url": stored_url(to.url, to.normalized), "to_key": to.key, "to_host": to.host, "to_bucket": to.bucket,
            "anchor": anchor, "nofollow": robots.nofollow, "kind": kind,
        }
        for position, (to, anchor, kind) in enumerate(found)
    ]  # fmt: skip
    text = whole_text(page.text[: limits.max_text_chars])
    title = " ".join(whole_text(page.title[: 4 * MOST_TITLE_CHARS]).split())[:MOST_TITLE_CHARS]
    has_text = bool(text or title)
    signature = content_signature(answer.signature, own) or (taken.answer.digest if taken.answer is not None else None)
    row = {
        "url_key": own.key, "url": own.url, "host": own.host, "bucket": own.bucket,
        "parse_status": "ok" if page.is_success else "failed", "reason": None if page.is_success else "parse_error",
        "title": title or None, "text": text or None, "description": _note(notes, _DESCRIPTION_NOTES),
        "language": _language(notes, text), "charset": _charset(notes),
        "media_type": essence(answer.content_type) or essence(notes.get("Content-Type")),
        "base_url": answer.base or own.url, "noindex": robots.noindex, "nofollow": robots.nofollow,
        "noarchive": robots.noarchive, "refresh_delay_s": None if refresh is None else refresh[1],
        "refresh_url": None if refresh is None else whole_text(refresh[0]), "outlink_count": len(found),
        "links_dropped": bad + surplus,
        "truncated": answer.is_cut or len(page.text) > limits.max_text_chars,
        "signature": signature if has_text else None,
        "fetched_at": taken.document.fetched_at_ms, "score": taken.score,
    }  # fmt: skip
    return row, links, bad


def _note(notes: Any, names: tuple[str, ...]) -> str | None:
    found = next((notes[name] for name in names if notes.get(name)), None)
    return None if found is None else whole_text(found)[:10_000]


def _language(notes: Any, text: str) -> str | None:
    """As Nutch told it, or as the text tells."""
    told = (_note(notes, _LANGUAGE_NOTES) or "").replace("_", "-").partition("-")[0].strip().lower()
    return told if len(told) == 2 and told.isascii() and told.isalpha() else detect(text)


def _charset(notes: Any) -> str | None:
    told = _note(notes, _CHARSET_NOTES)
    return None if told is None else charset_of_label(told)


def is_name(name: str) -> bool:
    """Is it a time, as segments are called?"""
    return len(name) == 14 and name.isascii() and name.isdigit() and seconds_of(name) > 0


def name_of(at_s: int) -> str:
    """What a segment of that second is called."""
    return time.strftime("%Y%m%d%H%M%S", time.gmtime(at_s))


def _named(crawl: CrawlFolder, draft: SegmentFolder, wanted: str) -> SegmentFolder:
    """The draft under the first free name from *wanted* on, second by second."""
    at_s = seconds_of(wanted)
    with io_errors(crawl.segments_path, "publish a segment"):
        while True:
            target: Path = crawl.segments_path / name_of(at_s)
            if not target.exists():
                os.rename(draft.path, target)
                fsync_folder(crawl.segments_path)
                return SegmentFolder(target)
            at_s += 1
