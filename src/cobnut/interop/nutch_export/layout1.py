"""Which files does a crawl in the layout of Nutch 1.x have?

    crawldb/current/part-r-00000/{data,index}      linkdb/current/part-r-00000/{data,index}
    hostdb/current/part-r-00000                    segments/NAME/{crawl_generate,crawl_parse}/part-r-00000
    segments/NAME/{crawl_fetch,content,parse_data,parse_text}/part-r-00000/{data,index}

One part each, with `.crc` files beside, compressed as Nutch 1.23 does it: crawldb, hostdb and crawl_generate plain, all
others value by value; the index of a MapFile in blocks.

Not here: the records (`crawl1`, `segment1`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from cobnut.interop.hadoop.header import Compression
from cobnut.interop.hadoop.mapfile import MapFileWriter
from cobnut.interop.hadoop.mapwritable import NUTCH, TEXT
from cobnut.interop.hadoop.sequencefile import SequenceFileWriter
from cobnut.interop.nutch_export.crawl1 import Record, crawldb, hostdb, linkdb
from cobnut.interop.nutch_export.report import Exported
from cobnut.interop.nutch_export.segment1 import Segment1
from cobnut.interop.nutch_export.source import Source
from cobnut.records import catalogue as tables
from cobnut.storage.layout import SegmentFolder

PART = "part-r-00000"
_DATUM, _INLINKS, _HOST = NUTCH + "crawl.CrawlDatum", NUTCH + "crawl.Inlinks", NUTCH + "hostdb.HostDatum"
_CONTENT, _DATA, _PARSE_TEXT = NUTCH + "protocol.Content", NUTCH + "parse.ParseData", NUTCH + "parse.ParseText"


def write_layout1(
    source: Source, target: Path, most_bytes: int, done: Exported, on_part: Callable[[str], None]
) -> None:
    """Writes the whole crawl below *target*, a folder that is there and empty."""

    def map_file(name: str, value_class: str, records: Iterable[Record], *, packed: bool) -> None:
        on_part(name)
        folder = target / name / PART
        folder.parent.mkdir(parents=True)
        compression: Compression = "record" if packed else "none"
        with MapFileWriter(folder, TEXT, value_class, compression=compression, index_compression="block") as writer:
            done.count(name, _append(writer.append, records))

    def sequence_file(name: str, value_class: str, records: Iterable[Record], *, packed: bool) -> None:
        on_part(name)
        path = target / name / PART
        path.parent.mkdir(parents=True)
        with SequenceFileWriter(path, TEXT, value_class, compression="record" if packed else "none") as writer:
            done.count(name, _append(writer.append, records))

    def segment(folder: SegmentFolder) -> None:
        parts = Segment1(source, folder, most_bytes)
        name = f"segments/{folder.name}"
        sequence_file(f"{name}/crawl_generate", _DATUM, parts.crawl_generate(), packed=False)
        if folder.part_files(tables.FETCHED):
            map_file(f"{name}/crawl_fetch", _DATUM, parts.crawl_fetch(), packed=True)
            map_file(f"{name}/content", _CONTENT, parts.content(), packed=True)
        if folder.part_files(tables.PARSED):
            sequence_file(f"{name}/crawl_parse", _DATUM, parts.crawl_parse(), packed=True)
            map_file(f"{name}/parse_data", _DATA, parts.parse_data(), packed=True)
            map_file(f"{name}/parse_text", _PARSE_TEXT, parts.parse_text(), packed=True)
        done.without_content += parts.without_content

    map_file("crawldb/current", _DATUM, crawldb(source), packed=False)
    if source.has(tables.LINKDB):
        map_file("linkdb/current", _INLINKS, linkdb(source), packed=True)
    if source.has(tables.HOSTDB):
        sequence_file("hostdb/current", _HOST, hostdb(source), packed=False)
    (target / "segments").mkdir()
    for folder in source.segments:
        segment(folder)
        done.segments += 1


def _append(append: Callable[[bytes, bytes], None], records: Iterable[Record]) -> int:
    count = 0
    for key, value in records:
        append(key, value)
        count += 1
    return count
