"""What do the segments still hold of the pages that are to be forgotten, and how does it go?

Records in WARC files are replaced by empty ones; rows of `parsed`, `links` and `linked` go; a row of `fetched` stays,
as the trace that there was a visit, without place, digest and headers. It is changed last: as long as it names a
record, the segment is to be purged (again). The linkdb loses the links on the pages.

Not here: making the indexes without them (`crawl.cleaning` runs the steps that do).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from cobnut.config.sections import Settings
from cobnut.fetcher.tombstone import replace_records
from cobnut.frontier.forgotten import forgotten_of, forgotten_rows, key_test
from cobnut.records import catalogue as tables
from cobnut.records.columns import Table
from cobnut.storage.layers import Layers
from cobnut.storage.layout import CrawlFolder, SegmentFolder
from cobnut.storage.parts import write_part
from cobnut.storage.tables import batches_of, read_files
from cobnut.urls.filters import Forgotten
from cobnut.urls.resolve import compile_forms

if TYPE_CHECKING:
    import pyarrow as pa

EMPTIED = ("warc_file", "warc_offset", "digest", "etag", "last_modified", "headers", "redirect_url", "redirect_key")
"""Columns of `fetched` of which nothing is kept."""


class Purged(msgspec.Struct):
    """What went: visits of pages, records of WARC files, rows of other tables."""

    visits: int = 0
    records: int = 0
    rows: int = 0


def visits_to_purge(segment: SegmentFolder, forgotten: Forgotten) -> dict[str, set[int]]:
    """WARC file to offsets of the records that are to go; empty when the segment holds nothing to forget."""
    found: dict[str, set[int]] = {}
    if not forgotten:
        return found
    test = key_test(forgotten)
    columns = ["url_key", "warc_file", "warc_offset"]
    for batch in batches_of(tables.FETCHED, segment.part_files(tables.FETCHED), columns, 65_536):
        for key, file, offset in zip(*(batch.column(name).to_pylist() for name in columns), strict=True):
            if file is not None and test(key):
                found.setdefault(file, set()).add(offset)
    return found


def purge_segment(segment: SegmentFolder, settings: Settings, forgotten: Forgotten, now_ms: int) -> Purged:
    """Removes from one segment what is to be forgotten; may be killed at any moment and run again."""
    places = visits_to_purge(segment, forgotten)
    done = Purged(visits=sum(map(len, places.values())))
    if not places:
        return done
    forms, test = compile_forms(settings.urls.normalizers), key_test(forgotten)

    def is_to_go(offsets: set[int], offset: int, uri: str) -> bool:
        if offset in offsets:
            return True
        found = forms(uri)  # an answer that was asked for again has no row
        return found is not None and test(found.key)

    for name, offsets in sorted(places.items()):
        path = segment.warc_path / Path(name).name
        if path.exists():
            done.records += replace_records(path, partial(is_to_go, offsets), now_ms)
    for table, column in ((tables.LINKS, "from_key"), (tables.LINKED, "url_key"), (tables.PARSED, "url_key")):
        done.rows += _rewrite(segment, table, partial(_without, forgotten=forgotten, column=column))
    _rewrite(segment, tables.FETCHED, partial(_emptied, forgotten=forgotten))
    return done


def _rewrite(segment: SegmentFolder, table: Table, change: Callable[[pa.Table], pa.Table | None]) -> int:
    """Replaces the parts of a table that `change` makes another of (None: as it is); rows that went."""
    gone = 0
    for path in segment.part_files(table):
        rows = read_files(table, [path])
        changed = change(rows)
        if changed is not None:
            gone += rows.num_rows - changed.num_rows
            write_part(path.parent, table, path.stem, [changed])
    return gone


def _without(rows: pa.Table, forgotten: Forgotten, column: str) -> pa.Table | None:
    import pyarrow.compute as pc

    mask = forgotten_rows(forgotten, rows, column)
    return rows.filter(pc.invert(mask)) if pc.any(mask).as_py() else None


def _emptied(rows: pa.Table, forgotten: Forgotten) -> pa.Table | None:
    import pyarrow as pa
    import pyarrow.compute as pc

    mask = forgotten_rows(forgotten, rows)
    if not pc.any(mask).as_py():
        return None
    keep = mask.to_pylist()
    for name in EMPTIED:
        field = rows.schema.field(name)
        values: list[Any] = [
            None if gone else value for gone, value in zip(keep, rows.column(name).to_pylist(), strict=True)
        ]
        rows = rows.set_column(rows.schema.get_field_index(name), field, pa.array(values, field.type))
    return rows


def purge_linkdb(crawl: CrawlFolder, before: Callable[[], None] = lambda: None) -> int:
    """Takes links on forgotten pages out of the linkdb; rows that went. `before` is called when there are any.

    Partitions that hold any are written whole: beside a delta the words of the links would still stand in the base,
    which is also why rows are looked at that do not hold any more.
    """
    forgotten, store = forgotten_of(crawl), crawl.table(tables.LINKDB)
    version = store.current()
    if version is None:
        return 0
    with version:
        if not forgotten:
            return 0
        gone = [_links_on(forgotten, version.files(partition)) for partition in range(version.partitions)]
        if not any(gone):
            return 0
        before()
        with store.begin(version.partitions) as draft:
            for partition, count in enumerate(gone):
                if not count:
                    draft.keep_partition(version, partition)
                    continue
                rows = read_files(tables.LINKDB, version.files(partition))
                kept = _without(rows, forgotten, "from_key")
                kept = (rows if kept is None else kept).sort_by([(name, "ascending") for name in tables.LINKDB.key])
                draft.write_partition(partition, [kept])
            kept_on = {n: version.manifest[n] for n in ("applied", "limits") if n in version.manifest}
            draft.publish("clean", **kept_on)
    return sum(gone)


def _links_on(forgotten: Forgotten, files: Layers) -> int:
    """Rows of links on forgotten pages in all these files, those included that a newer row stands for."""
    return sum(
        sum(forgotten_rows(forgotten, batch, "from_key").to_pylist())
        for batch in batches_of(tables.LINKDB, [*files.base, *files.delta], ["from_key"], 65_536)
    )
