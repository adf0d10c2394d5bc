"""How much of what is in a table?

Counts of one table as nested plain values: totals first, then counts by the columns that matter.

Not here: rows (`inspect.tables`), the reports of stages (files in `reports/`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cobnut.inspect.tables import SEGMENT_TABLES, engine, engine_errors, held
from cobnut.records import catalogue
from cobnut.records.columns import Table
from cobnut.storage.layout import CrawlFolder, SegmentFolder

Stats = dict[str, Any]

MOST_GROUPS = 40

_TOTALS: dict[str, dict[str, str]] = {
    "crawldb": {
        "hosts": "count(DISTINCT host)",
        "due_now": "count(*) FILTER (due_at <= $now)",
        "next_due_at": "min(due_at)",
        "score_min": "min(score) / 1e6",
        "score_mean": "avg(score) / 1e6",
        "score_max": "max(score) / 1e6",
    },
    "seeds": {"hosts": "count(DISTINCT host)"},
    "hostdb": {
        "requests": "sum(request_count)",
        "successes": "sum(success_count)",
        "errors": "sum(error_count)",
        "dns_errors": "sum(dns_error_count)",
        "body_bytes": "sum(body_bytes)",
        "failing_now": "count(*) FILTER (failures > 0)",
        "resting_now": "count(*) FILTER (next_fetch_at > $now)",
        "asked_to_wait_now": "count(*) FILTER (retry_after_at > $now)",
    },
    "linkdb": {
        "pages_linked_to": "count(DISTINCT to_key)",
        "nofollow": "count(*) FILTER (nofollow)",
        "with_anchor": "count(*) FILTER (anchor IS NOT NULL)",
        "between_hosts": "count(*) FILTER (from_host <> to_host)",
    },
    "ranks": {"page_rank_max": "max(page_rank) / 1e6", "host_rank_max": "max(host_rank) / 1e6"},
    "fetched": {"body_bytes": "sum(body_bytes)", "hosts": "count(DISTINCT host)"},
    "fetchlist": {"hosts": "count(DISTINCT host)"},
    "parsed": {"noindex": "count(*) FILTER (noindex)", "text_chars": "sum(length(text))"},
    "links": {"pages": "count(DISTINCT from_key)", "nofollow": "count(*) FILTER (nofollow)"},
}

_GROUPS: dict[str, tuple[str, ...]] = {
    "crawldb": ("status", "reason", "depth"),
    "pages": ("discovered_via", "http_status", "media_type"),
    "hostdb": ("last_error",),
    "robots": ("state", "reason"),
    "linkdb": ("kind",),
    "duplicates": ("kind", "rule"),
    "fetchlist": ("part",),
    "fetched": ("outcome", "reason", "http_status"),
    "parsed": ("parse_status", "reason", "language", "media_type"),
    "links": ("kind",),
    "hosts": ("event",),
}


def table_stats(crawl: CrawlFolder, table: Table, now_ms: int) -> Stats:
    """Counts of one of the crawl's tables, as its current generation has it."""
    version = crawl.table(table).current()
    if version is None:
        return {"table": table.name, "rows": 0, "generation": None}
    with version:
        manifest = version.manifest
        stats: Stats = {
            "table": table.name,
            "rows": version.rows,
            "generation": version.generation.number,
            "written_at": manifest.get("created_at"),
            "written_by": manifest.get("stage"),
            "partitions": version.partitions,
            "bytes": sum(int(f.get("bytes", 0)) for f in manifest.get("files", [])),
        }
        if "applied" in manifest:
            stats["segments_applied"] = len(manifest["applied"])
        stats.update(_counted(table, version.files(), now_ms))
        return stats


def segment_stats(segment: SegmentFolder, now_ms: int) -> Stats:
    """How far a segment has come, and counts of each of its tables."""
    details = segment.details()
    stats: Stats = {"segment": segment.name, "state": details.get("state"), "times": details.get("times", {})}
    warc = [p for p in segment.warc_path.iterdir() if p.is_file()] if segment.warc_path.is_dir() else []
    stats["warc"] = {"files": len(warc), "bytes": sum(p.stat().st_size for p in warc)}
    for name, table in SEGMENT_TABLES.items():
        files = segment.part_files(table)
        if files:
            stats[name] = {"rows": count_rows(table, files), "files": len(files), **_counted(table, files, now_ms)}
    stats["indexed"] = (segment.index_path / "manifest.json").exists()
    return stats


def segment_lines(crawl: CrawlFolder) -> list[Stats]:
    """One short line a segment: its state and the rows of its main tables."""
    found = []
    for segment in crawl.segments():
        line: Stats = {"segment": segment.name, "state": segment.state()}
        for table in (catalogue.FETCHLIST, catalogue.FETCHED, catalogue.PARSED, catalogue.LINKS):
            line[table.name] = count_rows(table, segment.part_files(table))
        line["indexed"] = (segment.index_path / "manifest.json").exists()
        found.append(line)
    return found


def count_rows(table: Table, files: Sequence[Path]) -> int:
    """Rows of some Parquet files, from their footers."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from cobnut.storage.tables import damaged

    rows = 0
    for path in files:
        try:
            rows += int(pq.read_metadata(path).num_rows)
        except (pa.ArrowInvalid, OSError) as error:
            raise damaged(path, error, table.name) from error
    return rows


def webdb_stats(crawl: CrawlFolder) -> Stats:
    """What the WebDB of old told: how many pages and links there are."""
    with engine() as connection:
        counts = {}
        for name, table in (("pages", catalogue.CRAWLDB), ("links", catalogue.LINKDB)):
            version = crawl.table(table).current()
            if version is None:
                counts[name] = 0
                continue
            with version:
                counts[name] = version.rows
                if table is catalogue.CRAWLDB and version.files():
                    with engine_errors(table, version.files()):
                        row = connection.execute(
                            "SELECT count(DISTINCT signature), count(*) FILTER (signature IS NOT NULL), "
                            f"count(DISTINCT host) FROM {held(version.files())}"
                        ).fetchone()
                    counts["contents"], counts["pages_with_content"], counts["hosts"] = row or (0, 0, 0)
    return counts


def _counted(table: Table, files: Sequence[Path], now_ms: int) -> Stats:
    found: Stats = {}
    totals, groups = _TOTALS.get(table.name, {}), _GROUPS.get(table.name, ())
    if not files or not (totals or groups):
        return found
    source = held(files)
    with engine() as connection, engine_errors(table, files):
        if totals:
            chosen = ", ".join(f"{sql.replace('$now', str(int(now_ms)))} AS {name}" for name, sql in totals.items())
            row = connection.execute(f"SELECT {chosen} FROM {source}").fetchone() or ()
            found.update({name: _number(value) for name, value in zip(totals, row, strict=True)})
        for column in groups:
            rows = connection.execute(
                f'SELECT "{column}", count(*) AS n FROM {source} WHERE "{column}" IS NOT NULL '
                f"GROUP BY 1 ORDER BY n DESC, 1 LIMIT {MOST_GROUPS}"
            ).fetchall()
            if rows and all(isinstance(value, int) for value, _ in rows):
                rows.sort()
            if rows:
                found[f"by_{column}"] = {str(value): int(count) for value, count in rows}
    return found


def _number(value: Any) -> Any:
    if value is None or isinstance(value, int):
        return value
    number = float(value)
    return int(number) if number == int(number) and abs(number) < 2**62 else round(number, 6)
