"""Do the rows of several files agree? Asked in a process of its own (see `probe`), of files that are whole one by one.

Not here: what is in one file (`asked_files`), what the answers mean (`across`, `segments`).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cobnut.inspect.doctor import probe
from cobnut.storage.layers import Layers, parquet, relation

if TYPE_CHECKING:
    import duckdb

Layered = dict[str, list[str]]
"""Files of a table as they come in a question: `base`, `delta` and `gone`."""

MEMORY_MIB = 512
EXAMPLES = 3
MOST_KEYS = 10_000


@cache
def _engine() -> duckdb.DuckDBPyConnection:
    """One engine for all questions: to begin one costs more than most of them."""
    import duckdb

    scratch = probe.scratch or ""
    connection = duckdb.connect(config={"memory_limit": f"{MEMORY_MIB}MiB", "temp_directory": scratch})
    connection.execute("SET preserve_insertion_order = false")
    return connection


def begin_anew() -> None:
    """Forgets an engine that may have come to harm."""
    _engine.cache_clear()


def _rows(files: Layered, columns: tuple[str, ...], where: str | None = None) -> str:
    base, delta, gone = (map(Path, files[name]) for name in ("base", "delta", "gone"))
    layers = Layers.of(base, delta, "url_key", gone)
    return f"({relation(layers, columns, where)})"


def _parts(paths: list[str]) -> str:
    return parquet([Path(path) for path in paths])


def _count(connection: duckdb.DuckDBPyConnection, query: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM ({query})").fetchall()[0][0])


def _examples(connection: duckdb.DuckDBPyConnection, query: str) -> list[str]:
    rows = connection.execute(f"SELECT * FROM ({query}) ORDER BY 1 LIMIT {EXAMPLES}").fetchall()
    return [str(row[0])[:200] for row in rows]


def _asked(connection: duckdb.DuckDBPyConnection, query: str) -> tuple[int, list[str]]:
    count = _count(connection, query)
    return count, _examples(connection, query) if count else []


def keys(crawldb: Layered, pages: Layered, where: str | None = None) -> dict[str, Any]:
    """Keys that only one of the two tables has; `visited`: of those only pages has, how many were tried."""
    connection = _engine()
    first, second = (_rows(files, ("url_key",), where) for files in (crawldb, pages))
    told = _rows(pages, ("url_key", "checked_at"), where)
    only_crawldb = f"SELECT url_key FROM {first} AS a ANTI JOIN {second} AS b USING (url_key)"
    only_pages = f"SELECT url_key FROM {told} AS a ANTI JOIN {first} AS b USING (url_key)"
    visited = f"{only_pages} WHERE checked_at IS NOT NULL"
    return {
        "only_crawldb": _asked(connection, only_crawldb),
        "only_pages": _asked(connection, only_pages),
        "visited": _count(connection, visited),
    }


def places(pages: Layered) -> dict[str, int]:
    """How many pages have their last full answer in each segment."""
    connection = _engine()
    rows = _rows(pages, ("segment",))
    query = f"SELECT segment, count(*) FROM {rows} WHERE segment IS NOT NULL GROUP BY segment"
    return {str(name): int(count) for name, count in connection.execute(query).fetchall()}


def pages_of_segment(pages: Layered, fetched: list[str], segment: str) -> dict[str, Any]:
    """Pages whose answer is said to be in a segment where no row of it points at the same place.

    `emptied`: the row is there and names no place any more. `keys`: some of the others.
    """
    connection = _engine()
    name = segment.replace("'", "''")
    claimed = _rows(pages, ("url_key", "warc_file", "warc_offset"), f"segment = '{name}' AND warc_file IS NOT NULL")
    nothing = "SELECT '' AS url_key, '' AS warc_file, 0 AS warc_offset WHERE false"
    rows = f"(SELECT url_key, warc_file, warc_offset FROM {_parts(fetched)})" if fetched else f"({nothing})"
    query = (
        f"SELECT p.url_key, f.url_key IS NOT NULL AND f.warc_file IS NULL AS emptied FROM {claimed} AS p "
        f"LEFT JOIN {rows} AS f ON p.url_key = f.url_key "
        "WHERE f.url_key IS NULL OR f.warc_file IS DISTINCT FROM p.warc_file "
        "OR f.warc_offset IS DISTINCT FROM p.warc_offset"
    )
    emptied = _count(connection, f"SELECT * FROM ({query}) WHERE emptied")
    wrong = f"SELECT url_key FROM ({query}) WHERE NOT emptied"
    some = connection.execute(f"SELECT * FROM ({wrong}) ORDER BY 1 LIMIT {MOST_KEYS}").fetchall()
    return {"emptied": emptied, "wrong": _count(connection, wrong), "keys": [str(row[0]) for row in some]}


def offsets(fetched: list[str], warc_file: str) -> list[tuple[int, str]]:
    """Where the answers of a WARC file begin, in order, and which URL each is of."""
    if not fetched:
        return []
    connection = _engine()
    query = f"SELECT warc_offset, url FROM {_parts(fetched)} WHERE warc_file = ? AND warc_offset IS NOT NULL ORDER BY 1"
    return [(int(offset), str(url)) for offset, url in connection.execute(query, [warc_file]).fetchall()]


def segment(files: dict[str, list[str]]) -> dict[str, Any]:
    """What does not agree among the parts of one segment; only tables that are in `files` are asked."""
    found: dict[str, Any] = {}
    connection = _engine()
    for name, paths in files.items():
        query = f"SELECT * FROM {_parts(paths)}" if paths else None
        if query is not None:
            connection.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {query}")
    here = {name for name, paths in files.items() if paths}
    if "fetchlist" in here:
        found["listed_twice"] = _asked(connection, _twice("fetchlist"))
        split = "SELECT host FROM fetchlist GROUP BY host HAVING count(DISTINCT part) > 1"
        found["host_in_parts"] = _asked(connection, split)
    if "fetched" in here:
        found["fetched_twice"] = _asked(connection, _twice("fetched"))
        files_of = "SELECT DISTINCT warc_file FROM fetched WHERE warc_file IS NOT NULL ORDER BY 1"
        found["warc_files"] = [str(row[0]) for row in connection.execute(files_of).fetchall()]
        if "fetchlist" in here:
            listed = "SELECT url_key FROM fetchlist"
            strange = f"SELECT url_key FROM fetched WHERE hop_from IS NULL AND url_key NOT IN ({listed})"
            found["not_listed"] = _asked(connection, strange)
    if "fetched" in files and "parsed" in here:
        found["parsed_twice"] = _asked(connection, _twice("parsed"))
    if "fetched" in here:
        parsed = "SELECT url_key FROM parsed" if "parsed" in here else "SELECT '' AS url_key WHERE false"
        found["not_parsed"] = _asked(
            connection,
            "SELECT url_key FROM fetched WHERE outcome = 'success' AND warc_file IS NOT NULL "
            f"AND url_key NOT IN ({parsed})",
        )
        for name, key in (("parsed", "url_key"), ("links", "from_key"), ("linked", "url_key")):
            if name in here:
                strange = f"SELECT DISTINCT {key} FROM {name} WHERE {key} NOT IN (SELECT url_key FROM fetched)"
                found[f"{name}_of_nothing"] = _asked(connection, strange)
    named = {Path(path).name for path in files.get("links", [])}
    alone = [path for path in files.get("parsed", []) if Path(path).name not in named]
    if alone:  # links are written first, under the name that the pages then get
        elsewhere = "AND url_key NOT IN (SELECT from_key FROM links)" if "links" in here else ""
        lost = f"SELECT url_key FROM {_parts(alone)} WHERE outlink_count > 0 {elsewhere}"
        found["links_lost"] = _asked(connection, lost)
    if "links" in here:
        twice = "SELECT from_key FROM links GROUP BY from_key, position, kind HAVING count(*) > 1"
        found["links_twice"] = _asked(connection, twice)
    return found


def _twice(table: str) -> str:
    return f"SELECT url_key FROM {table} GROUP BY url_key HAVING count(*) > 1"
