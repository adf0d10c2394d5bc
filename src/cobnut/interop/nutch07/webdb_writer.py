"""How is a web database written that Nutch 0.7 goes on with?

Pages and links are given in any order; each goes into its two tables in their orders, `stats` counts them, and the lock
files are laid beside them. A URL that is given twice stands there once, as it was given last; so does a link from the
same content to the same URL. The database is complete or not there at all: it is written as `webdb.new` and renamed.

Not here: which pages and links; reading (`webdb`).
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from cobnut.errors import InputError
from cobnut.interop.hadoop.data import encode_modified
from cobnut.interop.hadoop.mapfile import MapFileWriter
from cobnut.interop.nutch07.link import Link, link_md5_order, link_url_order
from cobnut.interop.nutch07.page import Page, page_order
from cobnut.interop.nutch07.sorting import RUN_BYTES, Pair, Sorter
from cobnut.interop.nutch07.webdb_layout import (
    LINKS_BY_MD5,
    LINKS_BY_URL,
    LOCKS,
    PAGES_BY_MD5,
    PAGES_BY_URL,
    STATS,
    WEBDB,
    WEBDB_NEW,
    Stats,
)
from cobnut.storage.files import fsync_folder, io_errors, write_atomic

FILE_VERSION = 2
"""Of the SequenceFiles of Nutch 0.7."""


class Written(NamedTuple):
    """How many pages and links the tables hold, and how many of those given were replaced by later ones."""

    pages: int
    links: int
    replaced_pages: int
    replaced_links: int


class WebDBWriter:
    """Writes the database `webdb` into *folder* (Nutch's `db`), which must not have one; `written` tells at the end."""

    def __init__(self, folder: str | Path, *, run_bytes: int = RUN_BYTES) -> None:
        self.folder = Path(folder)
        self._new, self._run_bytes = self.folder / WEBDB_NEW, run_bytes
        self.written: Written | None = None
        for name in (WEBDB, WEBDB_NEW):
            if (self.folder / name).exists():
                raise InputError(
                    "there is a web database already", where=str(self.folder / name), remedy="choose an empty folder"
                )
        with io_errors(self._new, "make the folder"):
            self._new.mkdir(parents=True)
        self._pages, self._links = self._sorter(), self._sorter()
        self._given_pages = self._given_links = 0

    def add_page(self, page: Page) -> None:
        self._pages.add(encode_modified(page.url), page.to_bytes())
        self._given_pages += 1

    def add_link(self, link: Link) -> None:
        # no byte of a URL is 0 (modified UTF-8 has none), so the shorter URL comes first, as it must
        self._links.add(encode_modified(link.url) + b"\0" + link.from_id, link.to_bytes())
        self._given_links += 1

    def close(self) -> Written:
        """Write the tables, and put the database in its place."""
        if self.written is not None:
            return self.written
        try:
            pages, links = self._write_pages(), self._write_links()
            write_atomic(self._new / STATS, Stats(pages, links).to_bytes())
            with io_errors(self.folder, "write"):
                for name in LOCKS:
                    (self.folder / name).touch()
                self._new.rename(self.folder / WEBDB)
                fsync_folder(self.folder)
        except BaseException:
            self.discard()
            raise
        self._pages.close()
        self._links.close()
        self.written = Written(pages, links, self._given_pages - pages, self._given_links - links)
        return self.written

    def discard(self) -> None:
        """Give up: nothing of the database is left."""
        self._pages.close()
        self._links.close()
        shutil.rmtree(self._new, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()

    def _sorter(self) -> Sorter:
        return Sorter(self._new, self._run_bytes)

    def _write_pages(self) -> int:
        by_url = MapFileWriter(self._new / PAGES_BY_URL, "UTF8", "Page", version=FILE_VERSION)
        with self._sorter() as by_md5:
            with by_url as table:
                for url, raw in _last_of_each(self._pages):
                    table.append(len(url).to_bytes(2, "big") + url, raw)
                    by_md5.add(page_order(raw)[0] + url, raw)
            with MapFileWriter(
                self._new / PAGES_BY_MD5, "Page", "null", version=FILE_VERSION, order=page_order
            ) as table:
                for _, raw in by_md5:
                    table.append(raw, b"")
        return by_url.count

    def _write_links(self) -> int:
        by_url = MapFileWriter(self._new / LINKS_BY_URL, "Link", "null", version=FILE_VERSION, order=link_url_order)
        with self._sorter() as by_md5:
            with by_url as table:
                for key, raw in _last_of_each(self._links):
                    table.append(raw, b"")
                    by_md5.add(key[-16:] + key[:-17], raw)
            with MapFileWriter(
                self._new / LINKS_BY_MD5, "Link", "null", version=FILE_VERSION, order=link_md5_order
            ) as table:
                for _, raw in by_md5:
                    table.append(raw, b"")
        return by_url.count


def write_webdb(folder: str | Path, pages: Iterable[Page], links: Iterable[Link]) -> Written:
    """Write the database `webdb` into *folder* with these pages and links."""
    with WebDBWriter(folder) as writer:
        for page in pages:
            writer.add_page(page)
        for link in links:
            writer.add_link(link)
    assert writer.written is not None
    return writer.written


def _last_of_each(pairs: Iterable[Pair]) -> Iterator[Pair]:
    """Of pairs with the same key, which follow each other, the last one."""
    previous: Pair | None = None
    for pair in pairs:
        if previous is not None and previous[0] != pair[0]:
            yield previous
        previous = pair
    if previous is not None:
        yield previous
