"""How important are pages and hosts by their links?

A job: reads the crawldb's keys and all current links, writes `ranks`. A link is current when it stands in the newest
parsed version of its page. Pages whose segment is no longer on disk are represented by what the linkdb kept of them.

Not here: the arithmetic (`graph.pagerank`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cobnut.graph.pagerank import pagerank
from cobnut.graph.places import Places
from cobnut.records import catalogue as tables
from cobnut.records.outcomes import EMBED_KINDS
from cobnut.records.steps import Job, Stage
from cobnut.storage.conserve import check_rows
from cobnut.storage.layout import CrawlFolder, SegmentFolder
from cobnut.storage.tables import TableStore, batches_of, partition_range, read_files

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

STAGE = Stage(
    "rank",
    "Computes the link rank of pages and hosts.",
    inputs=(),
    steps=(Job("rank"),),
    reads=("crawldb", "parsed", "links", "linkdb"),
    writes=("ranks",),
)


def run_rank(crawl: CrawlFolder, segments: list[SegmentFolder], damping: float, iterations: int) -> dict[str, int]:
    """Writes the next `ranks`; counts of pages, hosts, and links read."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    held = crawl.table(tables.CRAWLDB).current()
    if held is not None:
        with held:
            check_rows(tables.CRAWLDB, held.generation.path, held.manifest)
    pages = crawl.table(tables.CRAWLDB).read(["url_key", "host", "bucket"]).combine_chunks()
    keys, count = pages.column("url_key").combine_chunks(), pages.num_rows
    sources, targets = _edges(keys, segments, crawl.table(tables.LINKDB))
    page_rank = pagerank(sources, targets, count, damping, iterations)

    host_codes = pages.column("host").combine_chunks().dictionary_encode() if count else None
    if host_codes is not None:
        codes = np.asarray(host_codes.indices)
        host_rank = pagerank(codes[sources], codes[targets], len(host_codes.dictionary), damping, iterations)[codes]
    else:
        host_rank = np.zeros(0)
    rows = pa.table(
        [
            keys,
            pages.column("host"),
            pages.column("bucket"),
            pa.array(np.rint(page_rank * 1e6).astype(np.int64)),
            pa.array(np.rint(host_rank * 1e6).astype(np.int64)),
        ],
        schema=tables.RANKS.schema(),
    )
    version = crawl.table(tables.CRAWLDB).manifest()
    partitions = int(version.get("partitions", 1))
    with crawl.table(tables.RANKS).begin(partitions) as draft:
        for partition in range(partitions):
            low, high = partition_range(partition, partitions)
            mine = pc.and_(pc.greater_equal(rows["bucket"], low), pc.less(rows["bucket"], high))
            draft.write_partition(partition, [rows.filter(mine).sort_by("url_key")])
        draft.publish("rank", inputs={"crawldb": version.get("generation"), "segments": [s.name for s in segments]})
    return {
        "pages": count,
        "hosts": 0 if host_codes is None else len(host_codes.dictionary),
        "links": len(sources),
    }


def _edges(keys: Any, segments: list[SegmentFolder], linkdb: TableStore) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Ends of all current links between known pages, as places in `keys`."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    embeds = pa.array(sorted(EMBED_KINDS))
    known = Places(keys)
    newest = np.full(len(keys), -1, np.int64)
    for ordinal, segment in enumerate(segments):
        parsed = read_files(tables.PARSED, segment.part_files(tables.PARSED), ["url_key", "parse_status"])
        good = parsed.filter(pc.equal(parsed["parse_status"], "ok")).column("url_key")
        places = known.of(good)
        newest[places[places >= 0]] = ordinal
    sources, targets = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    columns = ["from_key", "to_key", "nofollow", "kind"]
    for ordinal, segment in enumerate(segments):
        for batch in batches_of(tables.LINKS, segment.part_files(tables.LINKS), columns, rows=262_144):
            batch = batch.filter(pc.invert(pc.is_in(batch.column("kind"), value_set=embeds)))  # an embed is no vote
            out, into = known.of(batch.column("from_key")), known.of(batch.column("to_key"))
            follow = ~np.asarray(batch.column("nofollow").to_numpy(zero_copy_only=False), bool)
            # a redirect's source is not parsed; its link is current as long as its segment is the newest to name it
            redirect = np.asarray(pc.equal(batch.column("kind"), "redirect").to_numpy(zero_copy_only=False), bool)
            current = np.where(out >= 0, newest[np.maximum(out, 0)], -1)
            keep = (out >= 0) & (into >= 0) & follow & ((current == ordinal) | (redirect & (current < ordinal)))
            sources.append(out[keep])
            targets.append(into[keep])
    version = linkdb.current()
    if version is not None:
        with version:
            for batch in batches_of(tables.LINKDB, version.files(), ["from_key", "to_key", "nofollow"], rows=262_144):
                out, into = known.of(batch.column("from_key")), known.of(batch.column("to_key"))
                follow = ~np.asarray(batch.column("nofollow").to_numpy(zero_copy_only=False), bool)
                keep = (out >= 0) & (into >= 0) & follow & (np.where(out >= 0, newest[np.maximum(out, 0)], 0) < 0)
                sources.append(out[keep])
                targets.append(into[keep])
    return np.concatenate(sources), np.concatenate(targets)
