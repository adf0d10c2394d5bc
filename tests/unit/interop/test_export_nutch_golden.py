"""What real Nutch 1.23 wrote is taken in and handed back: every record is there again, but for a list with reasons."""

from __future__ import annotations

import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from crawling import AGENT, cobnut

from cobnut.interop.hadoop import DataInput, MapFileReader, SequenceFileReader
from cobnut.interop.nutch1 import (
    Content,
    CrawlDatum,
    HostDatum,
    Inlinks,
    Metadata,
    ParseData,
    ParseText,
    ProtocolStatus,
)

GOLDEN = Path(__file__).parents[2] / "formats" / "nutch" / "1.23" / "data"
MILLIONTH = 2e-6
"""Scores are kept in whole millionths."""

READERS: dict[str, Callable[[bytes], Any]] = {
    "crawldb/current": CrawlDatum.read, "linkdb/current": Inlinks.read, "hostdb/current": HostDatum.read,
    "crawl_generate": CrawlDatum.read, "crawl_fetch": CrawlDatum.read, "crawl_parse": CrawlDatum.read,
    "content": Content.read, "parse_data": ParseData.read, "parse_text": ParseText.read,
}  # fmt: skip

OF_THE_FETCH = "beside a fetch, not beside the page: it stands in crawl_fetch"
EMPTY = "what has no content has no signature here; Nutch signs the URL instead"
DEPTH = "known here, by the name that Nutch's scoring-depth has for it"
ONE_LINK = "of several links between two pages one is kept"
COUNTED_ANEW = "statistics that Nutch makes anew"
CHECKED = "when the host's row last changed; Nutch counts failures of its name there"
ROUND = "the fetchlist's time is that of its segment"
THEN = "the crawldb of that time is not kept beside a fetchlist"
PARSED_AT = "when a page was parsed is not kept: the time of its fetch"
DEFAULT = "the interval of a page that is new is the crawl's setting"
OWN_TARGET = "the source's record says where it leads; the target has a record when it is fetched"
FETCH_TIME = "one time for a fetch; Nutch has two, some milliseconds apart"
PACKED = "taken in without its Content-Encoding, which then is not announced"
FEW_HEADERS = "the table keeps the headers that count; all of them stand in content"
NO_BODY = "a redirect's answer is not taken in"
WORDS = "words of meta elements that the parser here does not look for"
FOUND = "found by the parser here"
NOT_PARSED = "what was not parsed has no media type beside the fetch"
SEEN = "seen by the server's own Last-Modified"

LOST: dict[tuple[str, str], str] = {
    ("crawldb/current", "metadata._rs_"): OF_THE_FETCH,
    ("crawldb/current", "metadata._depth_"): DEPTH,
    ("crawldb/current", "metadata._pst_"): SEEN,
    ("crawldb/current", "signature"): EMPTY,
    ("linkdb/current", "inlinks"): ONE_LINK,
    ("hostdb/current", "last_check"): CHECKED,
    ("hostdb/current", "metadata"): COUNTED_ANEW,
    ("crawl_generate", "fetch_time"): ROUND,
    ("crawl_generate", "metadata._ngt_"): ROUND,
    **{
        ("crawl_generate", field): THEN
        for field in (
            "status", "retries", "modified_time", "signature", "fetch_interval", "metadata.Content-Type",
            "metadata._pst_", "metadata._repr_", "metadata._rs_", "metadata.nutch.protocol.code", "metadata.userType",
        )
    },
    ("crawl_fetch", "only Nutch's"): OWN_TARGET,
    ("crawl_fetch", "metadata._ngt_"): ROUND,
    ("crawl_fetch", "metadata.Content-Type"): NOT_PARSED,
    **{
        ("crawl_fetch", field): THEN
        for field in (
            "fetch_interval", "modified_time", "retries", "signature", "metadata.fixedInterval", "metadata.userType",
            "metadata._repr_", "metadata._pst_",
        )
    },
    ("content", "only Nutch's"): NO_BODY,
    ("content", "metadata.nutch.fetch.time"): FETCH_TIME,
    ("content", "metadata.Content-Encoding"): PACKED,
    ("content", "metadata.Content-Length"): PACKED,
    ("crawl_parse", "fetch_time"): PARSED_AT,
    ("crawl_parse", "fetch_interval"): DEFAULT,
    ("crawl_parse", "score"): "a refresh passes its score on",
    ("crawl_parse", "only Nutch's"): EMPTY,
    ("parse_data", "content_meta.nutch.fetch.time"): FETCH_TIME,
    ("parse_data", "content_meta.Content-Length"): FEW_HEADERS,
    ("parse_data", "content_meta.Last-Modified"): FEW_HEADERS,
    ("parse_data", "content_meta.nutch.content.digest"): EMPTY,
    ("parse_data", "parse_meta.keywords"): WORDS,
    ("parse_data", "parse_meta.metatag.keywords"): WORDS,
    ("parse_data", "parse_meta.language"): FOUND,
}  # fmt: skip


@pytest.fixture(scope="module")
def handed_back(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The crawl as real Nutch left it, and as it comes out."""
    folder = tmp_path_factory.mktemp("handed-back")
    nutch, out = folder / "nutch", folder / "out"
    (nutch / "crawldb").mkdir(parents=True)
    shutil.copytree(GOLDEN / "crawldb-09-recrawl", nutch / "crawldb/current")
    for name in ("linkdb", "hostdb", "segments"):
        shutil.copytree(GOLDEN / name, nutch / name)
    cobnut("create", folder / "crawl", *AGENT)
    cobnut("import", "nutch", folder / "crawl", nutch)
    cobnut("export", "nutch", folder / "crawl", out)
    return nutch, out


def records(folder: Path, read: Callable[[bytes], Any]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    path = folder / "part-r-00000"
    with MapFileReader(path) if path.is_dir() else SequenceFileReader(path) as reader:
        for record in reader.records():
            found[DataInput(bytes(record.key)).read_text()].append(dict(fields(read(bytes(record.value)))))
    return found


def fields(record: Any) -> Iterator[tuple[str, Any]]:
    """A record's fields; each entry of its metadata is one."""
    if isinstance(record, Inlinks):
        yield "inlinks", sorted((link.from_url, link.anchor) for link in record)
        return
    for name in record.__struct_fields__:
        value = getattr(record, name)
        if isinstance(value, Metadata):
            yield from ((f"{name}.{key}", said) for key, said in value.values.items())
        elif name == "metadata":
            entries = {} if value is None else value.entries
            if isinstance(record, HostDatum):
                yield name, {key: typed.value for key, typed in entries.items()}
            else:
                yield from ((f"{name}.{key}", told(typed.value)) for key, typed in entries.items())
        else:
            yield name, value


def told(value: Any) -> Any:
    return (value.code, value.args, value.last_modified) if isinstance(value, ProtocolStatus) else value


def same(one: Any, other: Any) -> bool:
    if is_score(one) and is_score(other):
        one, other = float(one[0]), float(other[0])
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= MILLIONTH * max(1.0, abs(one))
    return bool(one == other)


def is_score(value: Any) -> bool:
    """One text with a fraction."""
    return isinstance(value, list) and len(value) == 1 and re.fullmatch(r"\d+\.\d+", str(value[0])) is not None


def differences(theirs: Path, ours: Path, read: Callable[[bytes], Any]) -> Iterator[str]:
    golden, found = records(theirs, read), records(ours, read)
    if found.keys() - golden.keys():
        yield "only ours"
    for key, one in golden.items():
        other = found.get(key, [])
        if len(other) != len(one):
            yield "only Nutch's" if len(other) < len(one) else "only ours"
            continue
        if len(one) > 1:
            continue  # several links to one page, in crawl_parse
        for field in one[0].keys() | other[0].keys():
            if not same(one[0].get(field), other[0].get(field)):
                yield field


def test_every_record_comes_back_but_for_the_list(handed_back: tuple[Path, Path]) -> None:
    nutch, out = handed_back
    found = set()
    for part, read in READERS.items():
        folders = [part] if "/" in part else [f"segments/{s.name}/{part}" for s in (nutch / "segments").iterdir()]
        for folder in folders:
            found |= {(part, field) for field in differences(nutch / folder, out / folder, read)}
    assert found == set(LOST)
