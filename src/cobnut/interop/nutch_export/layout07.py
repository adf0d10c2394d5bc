"""Which files does a crawl in the layout of Nutch 0.7 have?

    db/{dbreadlock,dbwritelock}
    db/webdb/{pagesByURL,pagesByMD5,linksByURL,linksByMD5}/{data,index}    db/webdb/stats
    segments/NAME/{fetchlist,fetcher,content,parse_data,parse_text}/{data,index}    segments/NAME/fetcher.done

A segment that was not parsed has `fetcher_output` instead of `fetcher`, and no parse; one that was not fetched has its
fetchlist alone.

Not here: the records (`webdb07`, `segment07`).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from cobnut.interop.hadoop.mapfile import ArrayFileWriter
from cobnut.interop.nutch07 import FetchListEntry
from cobnut.interop.nutch07.segment_writer import SegmentWriter
from cobnut.interop.nutch07.webdb_writer import write_webdb
from cobnut.interop.nutch_export.report import Exported
from cobnut.interop.nutch_export.segment07 import Segment07
from cobnut.interop.nutch_export.source import Source
from cobnut.interop.nutch_export.webdb07 import links, pages
from cobnut.records import catalogue as tables
from cobnut.storage.layout import SegmentFolder


def write_layout07(
    source: Source, target: Path, most_bytes: int, done: Exported, on_part: Callable[[str], None]
) -> None:
    """Writes the whole crawl below *target*, a folder that is there and empty."""
    on_part("db/webdb")
    written = write_webdb(target / "db", pages(source), links(source))
    done.count("db/pages", written.pages)
    done.count("db/links", written.links)
    (target / "segments").mkdir()
    for segment in source.segments:
        on_part(f"segments/{segment.name}")
        _write_segment(Segment07(source, segment, most_bytes), segment, target / "segments" / segment.name, done)
        done.segments += 1


def _write_segment(parts: Segment07, segment: SegmentFolder, target: Path, done: Exported) -> None:
    name = f"segments/{segment.name}"
    if not segment.part_files(tables.FETCHED):
        target.mkdir()
        with ArrayFileWriter(target / FetchListEntry.DIR_NAME, FetchListEntry.SHORT_NAME) as writer:
            for entry in parts.fetchlist():
                writer.append(entry.to_bytes())
        done.count(f"{name}/fetchlist", writer.count)
        return
    listed = fetched = 0
    with SegmentWriter(target, parsed=bool(segment.part_files(tables.PARSED))) as segment_writer:
        for entry in parts.fetchlist():
            segment_writer.add_to_fetchlist(entry)
            listed += 1
        for fetch in parts.fetches():
            segment_writer.append(*fetch)
            fetched += 1
    done.count(f"{name}/fetchlist", listed)
    done.count(f"{name}/fetcher", fetched)
    done.without_content += parts.without_content
