"""How are rows of a table printed?

For a person: a few columns side by side, or one row with a line a column; times as ISO 8601, scores as numbers, bytes
as hex. For a program: one JSON object a line, or CSV, with every column; times and scores stay the integers they are
(ms UTC, millionths), bytes are hex.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import click

from cobnut.inspect.show import cell, data, plain

Row = dict[str, Any]

BRIEF: dict[str, tuple[str, ...]] = {
    "crawldb": ("status", "reason", "due_at", "fetched_at", "retries", "score", "depth", "url"),
    "pages": ("http_status", "checked_at", "media_type", "discovered_at", "discovered_via", "url_key"),
    "seeds": ("injected_at", "url"),
    "hostdb": ("host", "request_count", "error_count", "failures", "backoff_s", "next_fetch_at", "last_error"),
    "robots": ("origin", "state", "http_status", "reason", "fetched_at"),
    "linkdb": ("kind", "nofollow", "from_score", "to_key", "from_key", "anchor"),
    "ranks": ("page_rank", "host_rank", "url_key"),
    "duplicates": ("kind", "rule", "segment", "url_key", "representative_key"),
    "orphans": ("since", "url_key"),
    "fetchlist": ("part", "score", "depth", "url"),
    "fetched": ("fetched_at", "outcome", "reason", "http_status", "body_bytes", "elapsed_ms", "url"),
    "hosts": ("host", "event", "origin", "state", "http_status", "reason", "request_count", "error_count"),
    "parsed": ("parse_status", "reason", "media_type", "language", "outlink_count", "title", "url"),
    "links": ("position", "kind", "nofollow", "from_key", "to_key", "anchor"),
    "linked": ("score", "page_rank", "host_rank", "inlink_count", "inlink_host_count", "url_key"),
}
"""The columns a person is shown when many rows are listed."""

_WIDEST = 100


def print_json(rows: Iterable[Row]) -> int:
    """One object a line; rows printed."""
    count = 0
    for row in rows:
        print(json_line({name: data(value) for name, value in row.items()}))
        count += 1
    return count


def json_line(value: Any) -> str:
    """A value as JSON on one line; on a terminal in ASCII, since a terminal obeys some characters beyond it."""
    return json.dumps(value, ensure_ascii=sys.stdout.isatty() or sys.stdout.encoding.lower() not in ("utf-8", "utf8"))


def print_csv(rows: Iterable[Row], columns: Sequence[str] | None = None) -> int:
    """CSV with a header line; maps and lists as JSON."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    if columns is not None:
        writer.writerow(columns)
    count = 0
    for row in rows:
        if columns is None:
            columns = list(row)
            writer.writerow(columns)
        writer.writerow([_csv(data(row[name])) for name in columns])
        count += 1
    return count


def _csv(value: Any) -> Any:
    if isinstance(value, str) and sys.stdout.isatty():
        return plain(value)
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else value


def print_side_by_side(rows: Iterator[Row], columns: Sequence[str], limit: int) -> int:
    """At most `limit` rows, columns aligned; says when there are more. Rows printed."""
    shown = list(islice(rows, limit + 1))
    more = len(shown) > limit
    shown = shown[:limit]
    if not shown:
        return 0
    table = [list(columns), *([cell(name, row.get(name))[:_WIDEST] for name in columns] for row in shown)]
    widths = [max(len(line[i]) for line in table) for i in range(len(columns))]
    for line in table:
        click.echo("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())
    if more:
        click.echo(f"… and more; --limit N shows more than {limit}, --json or --csv all")
    return len(shown)


def print_one_below_the_other(row: Row) -> None:
    """One row, a line a column."""
    width = max((len(name) for name in row), default=0)
    for name, value in row.items():
        click.echo(f"{name:<{width}}  {cell(name, value)}")


def print_stats(stats: Row, indent: str = "") -> None:
    """Nested counts, a line each."""
    width = max((len(name) for name, value in stats.items() if not isinstance(value, dict)), default=0)
    for name, value in stats.items():
        if isinstance(value, dict):
            click.echo(f"{indent}{plain(name)}")
            print_stats(value, indent + "  ")
        else:
            shown = f"{value:,}" if isinstance(value, int) and not name.endswith("_at") else cell(name, value)
            click.echo(f"{indent}{plain(name):<{width}}  {shown}")
