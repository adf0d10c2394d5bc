"""What does the web database of a Nutch 0.7 crawl hold?

A folder `webdb` with four tables: `pagesByURL` (URL to page), `pagesByMD5` (pages alone), `linksByURL` and `linksByMD5`
(links alone), and `stats`, how many there are. Beside it lie two empty lock files; during an update there are also
`webdb.new`, which is being written, and `webdb.old`, which is about to be removed.

`WebDBReader` reads what can be read: where a table is missing, its sister holds the same records in another order.

Not here: writing (`webdb_writer`); what becomes of pages and links here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from cobnut.errors import InputError
from cobnut.interop.hadoop.data import DataOutput, encode_modified
from cobnut.interop.hadoop.errors import FormatError
from cobnut.interop.hadoop.mapfile import MapFileReader
from cobnut.interop.hadoop.sequencefile import RawRecord
from cobnut.interop.nutch07.link import Link, link_md5_order, link_url_order
from cobnut.interop.nutch07.page import Page, page_order
from cobnut.interop.nutch07.record import NO_MD5
from cobnut.interop.nutch07.scanning import Problems, scan
from cobnut.interop.nutch07.webdb_layout import (
    LINKS_BY_MD5,
    LINKS_BY_URL,
    LOCKS,
    PAGES_BY_MD5,
    PAGES_BY_URL,
    STATS,
    STATS_BYTES,
    TABLES,
    WEBDB,
    WEBDB_NEW,
    WEBDB_OLD,
    Stats,
)
from cobnut.interop.nutch07.webdb_writer import WebDBWriter, Written, write_webdb
from cobnut.storage.files import cannot_read

__all__ = ["Stats", "WebDBReader", "WebDBWriter", "Written", "write_webdb"]

R = TypeVar("R", Page, Link)
T = TypeVar("T")


class WebDBReader:
    """The database in *folder*: that of the tables, or the one it lies in (Nutch's `db`).

    `problems` grows while records are read; `notes` are sentences on what lies beside the database.
    """

    def __init__(self, folder: str | Path, *, check_crc: bool = True) -> None:
        self.problems = Problems()
        self.notes: list[str] = []
        self._check_crc = check_crc
        try:
            self.folder = self._locate(Path(folder))
            self.tables = tuple(name for name in TABLES if (self.folder / name / "data").is_file())
        except OSError as error:
            raise cannot_read(Path(folder), error) from error
        self.stats = self._read_stats()

    def pages(self) -> Iterator[Page]:
        """All pages by the bytes of their URL, or by MD5 if there is no such table."""
        if self._falls_back(PAGES_BY_URL, PAGES_BY_MD5):
            return self._counted(self._pages_by_md5(), "pages")
        return self._counted(self._pages_by_url(), "pages")

    def pages_by_md5(self) -> Iterator[Page]:
        """All pages by MD5, then URL."""
        return self._counted(self._pages_by_md5(), "pages")

    def links(self) -> Iterator[Link]:
        """All links by the bytes of the URL they lead to, or by MD5 if there is no such table."""
        if self._falls_back(LINKS_BY_URL, LINKS_BY_MD5):
            return self.links_by_md5()
        return self._counted(self._links(LINKS_BY_URL, Link.url_key), "links")

    def links_by_md5(self) -> Iterator[Link]:
        """All links by the MD5 of the content they stand in, then URL."""
        return self._counted(self._links(LINKS_BY_MD5, Link.md5_key), "links")

    def page(self, url: str) -> Page | None:
        """The page with this URL."""
        out = DataOutput()
        out.write_utf8(url)
        folder = self.folder / PAGES_BY_URL
        with MapFileReader(folder, check_crc=self._check_crc) as table:
            value = table.get(out.getvalue())
        try:
            return None if value is None else Page.decode(value)
        except FormatError as error:
            raise error.in_file(str(folder / "data")) from None

    def pages_with(self, md5: bytes) -> Iterator[Page]:
        """The pages whose content has this MD5."""
        return self._range(PAGES_BY_MD5, page_order, Page("", md5), lambda page: page.md5)

    def links_to(self, url: str) -> Iterator[Link]:
        """The links that lead to this URL."""
        return self._range(LINKS_BY_URL, link_url_order, Link(NO_MD5, url), lambda link: encode_modified(link.url))

    def links_from(self, md5: bytes) -> Iterator[Link]:
        """The links that stand in the content with this MD5."""
        return self._range(LINKS_BY_MD5, link_md5_order, Link(md5, ""), lambda link: link.from_id)

    def _range(self, name: str, order: Callable[[bytes], Any], first: R, place: Callable[[R], bytes]) -> Iterator[R]:
        """The records of a table that have the same *place* as *first*, which comes before all of them."""
        wanted = place(first)
        with MapFileReader(self.folder / name, order, check_crc=self._check_crc) as table:
            table.seek(first.to_bytes())
            for raw in table.records():
                try:
                    record = type(first).decode(raw.key)
                except FormatError as error:
                    raise error.in_file(str(self.folder / name / "data"), raw.position) from None
                found = place(record)
                if found == wanted:
                    yield record
                elif found > wanted and not table.warnings:  # a table out of order is read to its end
                    return

    def _locate(self, folder: Path) -> Path:
        """The folder of the tables; what lies beside it is noted. An `OSError` if the folder cannot be looked into."""
        folder.stat()
        if _has_tables(folder):
            found, around = folder, folder.parent if folder.name.startswith(WEBDB) else None
        elif _has_tables(folder / WEBDB):
            found, around = folder / WEBDB, folder
        elif _has_tables(folder / WEBDB_OLD):
            found, around = folder / WEBDB_OLD, folder
            self.notes.append(
                f"{folder / WEBDB} is missing: an update was broken off at its end; the state before it is read"
            )
        else:
            raise InputError(
                "no web database of Nutch 0.7", where=str(folder),
                remedy=f"name the folder that holds {WEBDB}, or {', '.join(TABLES)}",
            )  # fmt: skip
        if around is not None:
            self._look_around(around, found)
        return found

    def _look_around(self, around: Path, found: Path) -> None:
        if (around / WEBDB_NEW).is_dir() and found.name != WEBDB_NEW:
            self.notes.append(f"{around / WEBDB_NEW} is an update that was not finished; it is not read")
        if (around / WEBDB_OLD).is_dir() and found.name != WEBDB_OLD:
            self.notes.append(f"{around / WEBDB_OLD} is the state before the last update; it is not read")
        locks = [name for name in LOCKS if (around / name).exists()]
        if locks:
            self.notes.append(
                f"{around} has {' and '.join(locks)}: Nutch leaves them there, they do not tell that it is at work"
            )

    def _read_stats(self) -> Stats | None:
        path = self.folder / STATS
        try:
            with open(path, "rb") as file:
                return Stats.of_bytes(file.read(STATS_BYTES + 1))
        except FormatError as error:
            self.problems.add_error(path, error)
        except FileNotFoundError:
            self.problems.add(path, "is missing: an update was broken off, or it was not copied")
        except OSError as error:
            self.problems.add(path, f"cannot be read ({error.strerror or error})")
        return None

    def _falls_back(self, table: str, sister: str) -> bool:
        if table in self.tables or sister not in self.tables:
            return False
        self.problems.add(self.folder / table, f"is missing: {sister} is read, which holds the same in another order")
        return True

    def _pages_by_url(self) -> Iterator[Page]:
        path = self.folder / PAGES_BY_URL

        def decode(raw: RawRecord) -> Page:
            page = Page.decode(raw.value)
            if raw.key[2:] != encode_modified(page.url):
                self.problems.add(path / "data", f"a key that is not the URL of its page, {page.url!r}", raw.position)
            return page

        return scan(path, "UTF8", "Page", decode, _url_key, self.problems, check_crc=self._check_crc)

    def _pages_by_md5(self) -> Iterator[Page]:
        return scan(
            self.folder / PAGES_BY_MD5, "Page", "null", lambda raw: Page.decode(raw.key), Page.sort_key, self.problems,
            check_crc=self._check_crc,
        )  # fmt: skip

    def _links(self, table: str, order: Callable[[Link], tuple[bytes, bytes]]) -> Iterator[Link]:
        return scan(
            self.folder / table, "Link", "null", lambda raw: Link.decode(raw.key), order, self.problems,
            check_crc=self._check_crc,
        )  # fmt: skip

    def _counted(self, records: Iterator[T], what: str) -> Iterator[T]:
        count = 0
        for record in records:
            count += 1
            yield record
        wanted = None if self.stats is None else getattr(self.stats, what)
        if wanted is not None and wanted != count:
            self.problems.add(self.folder / STATS, f"tells of {wanted} {what}, and {count} were read")


def _url_key(page: Page) -> bytes:
    return encode_modified(page.url)


def _has_tables(folder: Path) -> bool:
    return any((folder / name).is_dir() for name in TABLES)
