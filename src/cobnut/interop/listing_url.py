"""Which records are there of one URL?

In a MapFile sorted by URL, and in 0.7's tables sorted by MD5, they are found with the index; everything else is read
from the start. What belongs to a URL in each kind of file:

* sorted by URL, and lists (`crawl_generate`, `crawl_parse`): the records with this key; in a `linkdb` the links to it;
* `hostdb`: its host;
* a `webdb`: the page, the links to it (`linksByURL`), and through the page's MD5 those on it (`linksByMD5`);
* a segment of 0.7, where keys are numbers: `fetchlist` and `fetcher` name the URL, and the other files have the same
  number as `fetcher`.

Not here: the records themselves (`listing`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from cobnut.interop.found import Found, Part, short_class
from cobnut.interop.hadoop import DataOutput
from cobnut.interop.hadoop.sequencefile import RawRecord
from cobnut.interop.listing import Listed, Listing, PartReader
from cobnut.interop.nutch07 import Link, Page

_LOOK_ON = 128
"""Records that are read behind a key, as many as lie between two entries of an index: if they do not ascend, everything
is read."""
_NAMES_URL_07 = ("fetchlist", "fetcher", "fetcher_output", "content")


def records_of_url(listing: Listing, url: str) -> Iterator[Listed]:
    """The records of *url*, written as it stands in the files, in the order of the files."""
    yield from _within(listing, listing.found, url)


def _within(listing: Listing, found: Found, url: str) -> Iterator[Listed]:
    known = _Known(url)
    for part in found.parts:
        with listing.open(part) as file:
            yield from _of_part(file, part, known)
    for member in found.members:
        yield from _within(listing, member, url)


class _Known:
    """What one folder has told of the URL so far: MD5s of its page, its numbers in a segment of 0.7."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.md5s: set[str] = set()
        self.numbers: list[int] | None = None


def _of_part(file: PartReader, part: Part, known: _Known) -> Iterator[Listed]:
    key_class = short_class(part.header.key_class)
    if part.kind == "hostdb":
        yield from _with_key(file, _key(key_class, _host(known.url)))
    elif key_class in ("Text", "UTF8"):
        for one in _with_key(file, _key(key_class, known.url)):
            if part.kind == "pagesByURL":
                known.md5s.add(one.value["md5"])
            yield one
    elif part.layout == "0.7" and key_class in ("Page", "Link") and part.kind != "index":
        yield from _of_webdb(file, part, known)
    elif part.container == "ArrayFile" and part.layout == "0.7":
        yield from _of_segment(file, part, known)
    else:
        yield from (one for one in file.listed(file.raw()) if known.url in (url_of(one.key), url_of(one.value)))


def _key(key_class: str, text: str) -> bytes:
    out = DataOutput()
    if key_class == "UTF8":
        out.write_utf8(text)
    else:
        out.write_text(text)
    return out.getvalue()


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or url
    except ValueError:
        return url


def _with_key(file: PartReader, key: bytes) -> Iterator[Listed]:
    """The records with exactly this key."""
    beyond = 0
    given: set[tuple[int, bytes]] = set()
    file.seek(key)
    for raw in file.raw():
        if raw.key == key:
            given.add((raw.position, raw.value))
            yield from file.listed((raw,))
        elif file.sought:
            beyond += 1
            if beyond > _LOOK_ON or not file.ascends:
                break
    if file.sought and not file.ascends:  # the index cannot be trusted
        file.restart()
        found = (raw for raw in file.raw() if raw.key == key and (raw.position, raw.value) not in given)
        yield from file.listed(found)


def _from_key(file: PartReader, key: bytes) -> Iterator[RawRecord]:
    """The records from *key* on, found with the index (`file.sought`); all records where that cannot be trusted."""
    file.seek(key)
    return file.raw()


def _of_webdb(file: PartReader, part: Part, known: _Known) -> Iterator[Listed]:
    """Pages and links, which are keys themselves."""
    if part.kind == "pagesByMD5" and known.md5s:
        for md5 in sorted(known.md5s):
            yield from _while(file, Page(known.url, bytes.fromhex(md5)).to_bytes(), url=known.url, md5=md5)
    elif part.kind == "linksByURL":
        yield from _while(file, Link(bytes(16), known.url).to_bytes(), url=known.url)
    elif part.kind == "linksByMD5" and known.md5s:
        for md5 in sorted(known.md5s):
            yield from _while(file, Link(bytes.fromhex(md5), "").to_bytes(), fromID=md5)
    else:
        yield from (one for one in file.listed(file.raw()) if url_of(one.key) == known.url)


def _while(file: PartReader, key: bytes, **fields: str) -> Iterator[Listed]:
    """The records from *key* on as long as the key's fields are these."""
    for one in file.listed(_from_key(file, key)):
        if all(one.key[name] == value for name, value in fields.items()):
            yield one
        elif file.sought:
            return


def _of_segment(file: PartReader, part: Part, known: _Known) -> Iterator[Listed]:
    """One of the files whose keys are numbers."""
    if part.kind == "fetchlist":
        yield from (one for one in file.listed(file.raw()) if url_of(one.value) == known.url)
    elif known.numbers is not None:
        for number in known.numbers:
            yield from _with_key(file, number.to_bytes(8, "big"))
    elif part.kind in _NAMES_URL_07:
        known.numbers = []
        for one in file.listed(file.raw()):
            if url_of(one.value) == known.url:
                known.numbers.append(one.key)
                yield one
    else:
        file.tell(None, None, "keys are numbers here: name the whole segment to find a URL's record", damage=False)


def url_of(value: Any) -> str | None:
    """The URL that a key or value is, or is about."""
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        return None
    entry = value.get("fetchListEntry", value)
    found = entry.get("page", entry).get("url")
    return found if isinstance(found, str) else None
