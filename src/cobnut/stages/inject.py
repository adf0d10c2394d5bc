"""Which seeds enter the crawl?

One map over the lines of the seed files, one reduce by URL, an atomic install. A line is `URL TAB key=value …`; blank
lines and lines that begin with `#` say nothing. `nutch.score`, `nutch.fetchInterval` and `nutch.fetchInterval.fixed`
have their meaning; every other pair goes into the page's metadata. A bad number is ignored, as if it were not there.

Not here: reading the files (`crawl.seeds`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from cobnut.records import catalogue as tables
from cobnut.records.steps import Input, Map, Output, Sql, Stage, column
from cobnut.urls.parse import MAX_URL_CHARS
from cobnut.urls.resolve import UrlForms, stored_url

if TYPE_CHECKING:
    import pyarrow as pa

SCORE, INTERVAL, FIXED = "nutch.score", "nutch.fetchInterval", "nutch.fetchInterval.fixed"
MOST_METADATA_CHARS = 10_000
MOST_SHOWN = 2_000
"""Characters of a refused line that are kept for the report."""

NOT_UTF8 = "\ufffd"
"""What stands in a line for bytes that are not UTF-8."""

MOST_SCORE = 1e9
MOST_INTERVAL_S = 100 * 365 * 86_400

LINES = (column("line_no", "int64"), column("line", "string"))
FOUND = (
    column("line_no", "int64"),
    column("url_key", "string"),
    column("url", "string"),
    column("requested", "string"),
    column("host", "string"),
    column("bucket", "int32"),
    column("score", "int64"),
    column("score_given", "bool"),
    column("interval_s", "int64"),
    column("fixed_interval_s", "int64"),
    column("host_interval_s", "int64"),
    column("metadata", "map"),
)
READ = (*FOUND, column("rule", "string"), column("note", "string"))
WIDE_PAGES = (*tables.PAGES.columns, column("new_metadata", "map"))


class InjectContext(msgspec.Struct, frozen=True):
    """What the map steps are given.

    `forms` makes the forms of a URL under the crawl's normalizers; `refuses` names the filter rule that keeps a URL
    out; `score` is the scoring rules' injected score of (url, score, metadata), in millionths. `host_intervals` are the
    first intervals of hosts that have one of their own, in seconds.
    """

    forms: Callable[[str], UrlForms | None]
    refuses: Callable[[str], str | None]
    score: Callable[[str, int, dict[str, str]], int]
    default_score: int
    host_intervals: Mapping[str, int] = {}


class SeedLine(msgspec.Struct, frozen=True):
    """What one line says: the URL as written, and its pairs. Scores in millionths, times in seconds."""

    url: str
    score: int | None
    interval_s: int | None
    fixed_interval_s: int | None
    metadata: dict[str, str]
    note: str | None  # what was ignored


def parse_line(line: str) -> SeedLine | None:
    """What a line of a seed file says; None for a blank line or a comment."""
    line = line.strip()
    if not line or line.startswith("#"):
        return None
    if "\t" not in line:
        return SeedLine(line, None, None, None, {}, None)
    url, *pairs = line.split("\t")
    score = interval = fixed = None
    metadata: dict[str, str] = {}
    notes = []
    chars = surplus = 0
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            if pair.strip():
                notes.append(f"{pair.strip()[:60]!r} is no key=value pair")
            continue
        if name == SCORE:
            number = _number(value)
            score = None if number is None or abs(number) > MOST_SCORE else round(number * 1_000_000)
            if score is None:
                notes.append(f"{SCORE} is no number between -1e9 and 1e9: {value[:40]!r}")
        elif name in (INTERVAL, FIXED):
            number = _number(value)
            seconds = None if number is None or number != int(number) else int(number)
            if seconds is None or not 0 <= seconds <= MOST_INTERVAL_S:
                notes.append(f"{name} is no whole number of seconds up to 100 years: {value[:40]!r}")
            elif name == INTERVAL:
                interval = seconds
            else:
                fixed = seconds
        elif chars + len(pair) > MOST_METADATA_CHARS:
            surplus += 1
        else:
            metadata[name] = value
            chars += len(pair)
            if NOT_UTF8 in pair:
                notes.append(f"metadata {name[:60]!r} holds bytes that are not UTF-8")
    if surplus:
        notes.append(f"metadata beyond {MOST_METADATA_CHARS:,} characters left out ({surplus:,} pairs)")
    if fixed is not None:
        interval = fixed
    return SeedLine(url.strip(), score, interval, fixed, metadata, "; ".join(notes) or None)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def why_no_url(url: str) -> str:
    """Why what stands for a URL is none. Bytes that are not UTF-8 would ask for another page than was meant."""
    return "length" if len(url) > MAX_URL_CHARS else "not_utf8" if NOT_UTF8 in url else "not_a_url"


def read_lines(batches: Iterable[pa.RecordBatch], context: InjectContext) -> Iterator[pa.RecordBatch]:
    """One row a line that names a URL: its forms, what the line says of it, and the rule that keeps it out."""
    import pyarrow as pa

    from cobnut.records.columns import pa_schema

    schema = pa_schema(READ)
    for batch in batches:
        rows = []
        for number, line in zip(*(batch.column(i).to_pylist() for i in (0, 1)), strict=True):
            seed = parse_line(line)
            if seed is not None:
                rows.append(_row(number, seed, context))
        # column by column: a dictionary a row takes a third of the time of all that is done here
        columns = zip(*rows, strict=True) if rows else ((),) * len(schema)
        yield pa.RecordBatch.from_arrays(
            [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)], schema=schema
        )


def _row(number: int, seed: SeedLine, context: InjectContext) -> tuple[object, ...]:
    """A row of READ."""
    found = None if NOT_UTF8 in seed.url else context.forms(seed.url)
    if found is None:
        shown = seed.url[:MOST_SHOWN]
        return (
            number, None, None, shown, None, None, None, None, None, None, None, None, why_no_url(seed.url), seed.note,
        )  # fmt: skip
    base = context.default_score if seed.score is None else seed.score
    return (
        number, found.key, stored_url(found.url, found.normalized), found.url, found.host, found.bucket,
        context.score(found.normalized, base, seed.metadata), seed.score is not None, seed.interval_s,
        seed.fixed_interval_s, context.host_intervals.get(found.host), list(seed.metadata.items()) or None,
        context.refuses(found.normalized), seed.note,
    )  # fmt: skip


def merge_metadata(batches: Iterable[pa.RecordBatch], context: InjectContext) -> Iterator[pa.RecordBatch]:
    """Adds a seed's metadata to what the page had; on equal names the seed's value wins."""
    import pyarrow as pa

    schema = tables.PAGES.schema()
    for batch in batches:
        table = pa.Table.from_batches([batch])
        if table.column("new_metadata").null_count < table.num_rows:
            old, new = table.column("metadata").to_pylist(), table.column("new_metadata").to_pylist()
            merged = [
                a if b is None else list({**dict(a or ()), **dict(b)}.items()) for a, b in zip(old, new, strict=True)
            ]
            place = table.schema.get_field_index("metadata")
            table = table.set_column(place, "metadata", pa.array(merged, schema.field("metadata").type))
        yield from table.select(schema.names).combine_chunks().to_batches()


STAGE = Stage(
    "inject",
    "Adds seeds to the crawldb.",
    inputs=(
        Input("lines", None, "given", partitioned=False, columns=LINES),
        Input("crawldb", tables.CRAWLDB, "current"),
        Input("pages", tables.PAGES, "current"),
        Input("seeds", tables.SEEDS, "current", partitioned=False),
    ),
    prelude=(
        Map("read_lines", read_lines, "lines", "read", READ),
        Sql("inject_found", ("read",), "found", FOUND),
    ),
    split=("found",),
    steps=(
        Sql("inject_best", ("found",), "best", FOUND),
        Sql("inject_known", ("crawldb", "best"), "known", tables.CRAWLDB.columns),
        Sql("inject_known_pages", ("pages", "best"), "known_pages", tables.PAGES.columns),
        Sql("inject", ("known", "best", "params"), "changed_crawldb", tables.CRAWLDB.columns),
        Sql("inject_pages", ("known_pages", "best", "params"), "wide_pages", WIDE_PAGES),
        Map("merge_metadata", merge_metadata, "wide_pages", "changed_pages", tables.PAGES.columns),
    ),
    finale=(Sql("inject_seeds", ("seeds", "found", "params"), "next_seeds", tables.SEEDS.columns),),
    outputs=(
        Output("next_seeds", tables.SEEDS, keeps="seeds"),
        Output("changed_pages", tables.PAGES, replaces="known_pages", keeps="pages"),
        Output("changed_crawldb", tables.CRAWLDB, replaces="known", keeps="crawldb"),
    ),
    params=(
        column("now_ms", "int64"),
        column("interval_s", "int64"),
        column("overwrite", "bool"),
        column("renew", "bool"),
    ),
)
