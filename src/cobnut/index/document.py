"""What is one document of the index?

`Document` goes in. What a result page needs of it comes back as `StoredDocument`, kept as one blob beside the index
fields: an index folder alone can answer a search, show a snippet, name some inlinks and say where the archived copy
lies.

A document is one stored version of a page: its identity is the URL *and* the crawl segment it was fetched in
(`doc_key`), so that one version can be deleted and the other kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from cobnut.config.sections import IndexSettings


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """One version of a page, as the index stage makes it. Times are ms UTC, scores and ranks millionths.

    `boost` lifts the page in results: what it adds is its logarithm, so that 1.0 adds nothing.
    `anchors` are (words of the link, url_key of the page it stands on), best sources first. `main_text` is the text
    without navigation, where it could be told apart; snippets are cut from it.
    """

    url_key: str
    url: str
    host: str
    domain: str
    segment: str
    title: str = ""
    text: str = ""
    main_text: str | None = None
    headings: tuple[str, ...] = ()
    description: str = ""
    anchors: tuple[tuple[str, str], ...] = ()
    language: str | None = None
    media_type: str | None = None
    fetched_at: int = 0
    modified_at: int | None = None
    score: int = 0
    page_rank: int = 0
    host_rank: int = 0
    inlink_count: int = 0
    inlink_host_count: int = 0
    depth: int = 0
    warc_file: str | None = None
    warc_offset: int | None = None
    noarchive: bool = False
    shown_url: str | None = None
    boost: int = 1_000_000


class StoredDocument(msgspec.Struct, frozen=True, array_like=True):
    """What the index gives back of a document. New fields are appended with a default, so that old blobs stay
    readable.
    """

    url_key: str
    url: str
    host: str
    segment: str
    title: str
    text: str
    description: str
    language: str | None
    media_type: str | None
    fetched_at: int
    modified_at: int | None
    score: int
    page_rank: int
    host_rank: int
    inlink_count: int
    inlink_host_count: int
    inlink_sample: tuple[tuple[str, str], ...]
    depth: int
    warc_file: str | None
    warc_offset: int | None
    noarchive: bool
    shown_url: str | None = None
    """The URL that stands for the page, where one that redirects to it does."""


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(StoredDocument)


def doc_key(url_key: str, segment: str) -> str:
    """Identity of one stored version of a page."""
    return f"{url_key}\n{segment}"


def split_doc_key(key: str) -> tuple[str, str]:
    """(url_key, segment) of a document key."""
    url_key, _, segment = key.rpartition("\n")
    return url_key, segment


def clipped(text: str, limit: int) -> str:
    """A text cut to a number of characters; what cannot be written as UTF-8 becomes a question mark."""
    text = text[:limit]
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def stored(document: Document, settings: IndexSettings) -> StoredDocument:
    """What is kept of a document for result pages, its text cut to the limit."""
    text = document.main_text if document.main_text else document.text
    return StoredDocument(
        document.url_key,
        document.url,
        document.host,
        document.segment,
        clipped(document.title, 1_000),
        clipped(text, settings.stored_text_chars),
        clipped(document.description, 1_000),
        document.language,
        document.media_type,
        document.fetched_at,
        document.modified_at,
        document.score,
        document.page_rank,
        document.host_rank,
        document.inlink_count,
        document.inlink_host_count,
        tuple((from_key, words) for words, from_key in document.anchors[: settings.inlink_sample]),
        document.depth,
        document.warc_file,
        document.warc_offset,
        document.noarchive,
        document.shown_url,
    )


def encode(document: StoredDocument) -> bytes:
    """The blob of a stored document."""
    return _ENCODER.encode(document)


def decode(blob: bytes) -> StoredDocument:
    """The stored document of a blob."""
    return _DECODER.decode(blob)
