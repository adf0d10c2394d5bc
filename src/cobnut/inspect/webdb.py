"""What did one ask the WebDB of old?

A page by its URL, the pages of a content by its MD5, the links to a page, the links from a page. Today's answers come
from crawldb, pages, linkdb and the links of segments.

A *page* here is its crawldb row and its pages row, joined, with the URL written out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from cobnut.config.sections import Settings
from cobnut.errors import InputError
from cobnut.inspect.tables import Selection, engine, engine_errors, held, one_row, rows_of_table
from cobnut.records import catalogue
from cobnut.storage.layout import CrawlFolder
from cobnut.urls.keys import key_to_url
from cobnut.urls.resolve import UrlForms, compile_forms

Row = dict[str, Any]

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?![0-9])")


def forms_of(text: str, settings: Settings) -> UrlForms:
    """The forms of a URL typed by a person: without a scheme, http:// is meant."""
    forms = compile_forms(settings.urls.normalizers)
    found = forms(text.strip())
    if found is None and not _SCHEME.match(text.strip()):
        found = forms(f"http://{text.strip()}")
    if found is None:
        raise InputError("not an http or https URL", where=repr(text[:200]))
    return found


def page(crawl: CrawlFolder, url: UrlForms) -> Row | None:
    """The page of a URL, crawldb and pages joined; None when it is unknown."""
    hot = one_row(crawl, catalogue.CRAWLDB, url.key, url.bucket)
    if hot is None:
        return None
    return joined(hot, one_row(crawl, catalogue.PAGES, url.key, url.bucket))


def joined(hot: Row, cold: Row | None) -> Row:
    """One row of a crawldb row and its pages row, with the URL written out."""
    row = dict.fromkeys(catalogue.PAGES.column_names) | (cold or {})
    row = {**hot, **{name: value for name, value in row.items() if name not in hot}}
    return with_url(row)


def with_url(row: Row) -> Row:
    """The row with its `url` written out, where the table leaves it NULL because it equals the normalised form."""
    for column, key in (("url", "url_key"), ("to_url", "to_key")):
        if column in row and row[column] is None and row.get(key):
            row = {**row, column: key_to_url(row[key])}
    return row


def pages_by_md5(crawl: CrawlFolder, md5: str, limit: int | None = None) -> Iterator[Row]:
    """The pages whose last content has that MD5 (the signature, by default the MD5 of the body)."""
    text = md5.strip().lower()
    if len(text) != 32 or any(c not in "0123456789abcdef" for c in text):
        raise InputError("an MD5 has 32 hexadecimal digits", where=repr(md5[:60]))
    selection = Selection(equal=(("signature", bytes.fromhex(text)),), limit=limit)
    for row in rows_of_table(crawl, catalogue.CRAWLDB, selection).as_dicts():
        yield joined(row, one_row(crawl, catalogue.PAGES, row["url_key"], row["bucket"]))


def links_to(crawl: CrawlFolder, url: UrlForms, limit: int | None = None) -> Iterator[Row]:
    """The links to a page that the linkdb keeps, best sources first as far as it is sorted."""
    selection = Selection(key=url.key, bucket=url.bucket, limit=limit)
    for row in rows_of_table(crawl, catalogue.LINKDB, selection).as_dicts():
        yield {"from_url": key_to_url(row["from_key"]), "to_url": key_to_url(row["to_key"]), **row}


def links_from(crawl: CrawlFolder, url: UrlForms, limit: int | None = None) -> Iterator[Row]:
    """The links of a page: of its last version where that segment is on disk, otherwise those the linkdb keeps."""
    cold = one_row(crawl, catalogue.PAGES, url.key, url.bucket)
    segments = {s.name: s for s in crawl.segments()}
    segment = segments.get(str(cold["segment"])) if cold is not None and cold["segment"] else None
    if segment is not None:
        files = segment.part_files(catalogue.LINKS)
        rows = _select(catalogue.LINKS.column_names, files, "links", url.key, "ORDER BY position", limit)
        for row in rows:
            yield {"from_url": key_to_url(url.key), **with_url(row), "segment": segment.name}
        return
    version = crawl.table(catalogue.LINKDB).current()
    if version is None:
        return
    with version:
        names = catalogue.LINKDB.column_names
        for row in _select(names, version.files(), "linkdb", url.key, "ORDER BY to_key", limit):
            yield {"from_url": key_to_url(row["from_key"]), "to_url": key_to_url(row["to_key"]), **row}


def _select(
    names: Sequence[str], files: Sequence[Any], table: str, from_key: str, order: str, limit: int | None
) -> Iterator[Row]:
    if not files:
        return
    chosen = ", ".join(f'"{name}"' for name in names)
    most = "" if limit is None else f" LIMIT {int(limit)}"
    with engine() as connection, engine_errors(catalogue.table(table), files):
        sql = f"SELECT {chosen} FROM {held(files)} WHERE from_key = ? {order}{most}"
        rows = connection.execute(sql, [from_key]).fetchall()
    for row in rows:
        yield dict(zip(names, row, strict=True))
