"""Do two engines, or two runs of one, make the same rows of the same input?

Makes random input rows for the SQL steps of a stage, from a seed: realistic (keys, hosts and buckets belong together,
words come from the documented lists) and nasty (NULL wherever it is allowed, many ties, keys given several times where
nothing forbids it, text of all scripts). Compares results as multisets of rows.

Not here: rows a test writes out (`testing.tables`).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from cobnut.records.columns import Column, pa_schema
from cobnut.records.outcomes import LINK_KINDS, OUTCOMES, REASONS, STATUSES
from cobnut.records.steps import Input, Map, Sql, Stage, Step, columns_of
from cobnut.testing.tables import DAY_MS, MICRO, START_MS
from cobnut.urls.resolve import forms

if TYPE_CHECKING:
    import pyarrow as pa

HOSTS = (
    "example.org", "www.example.org", "a.example.net", "xn--bcher-kva.example", "[2001:db8::1]", "192.0.2.7",
    "z.example.com", "localhost", "many.example.info", "q.example", "x--y.example", "shop.example.co.uk",
)  # fmt: skip
PATHS = ("/", "/a", "/a?x=1&y=2", "/%C3%A9t%C3%A9", "/deep/er/page.html", "/index.html")
WORDS = (
    "",
    " ",
    "nut",
    "Haselnüsse",
    "はしばみ",
    "榛子",
    "جوز",
    "🐿️",
    "a'b",
    'a"b',
    "back\\slash",
    "tab\there",
    "NULL",
    "Z",
    "z",
)
SEGMENTS = ("20260101000000", "20260102000000", "20260103000000")
SEVERAL = frozenset({
    "fetched", "parsed", "hosts", "read", "found", "waiting", "matching", "refetched", "forgotten_pages", "adopted",
    "adopted_hosts", "adopted_links", "passed",
})  # fmt: skip
"""Relations in which a key may stand several times."""
UNIQUE = {
    "links": ("segment", "from_key", "position"), "paces": ("kind", "name"), "adopted_inlinks": ("to_key", "from_key"),
    "statuses": ("status",), "domains": ("host",), "touched": ("to_key",), "outdated": ("url_key", "segment"),
    **dict.fromkeys(("known_inlinks", "inlinks", "fresh"), ("to_key", "from_key")),
}  # fmt: skip
"""Keys of relations that are not that of their table."""

_CHOICES: dict[str, tuple[Any, ...]] = {
    "status": tuple(STATUSES),
    "outcome": tuple(OUTCOMES),
    "parse_status": ("ok", "ok", "failed", "skipped"),
    "kind": tuple(LINK_KINDS),
    "event": ("robots", "traffic"),
    "state": ("rules", "allow_all", "disallow_all"),
    "segment": SEGMENTS,
    "rule": (None, None, None, "scope", "max_depth"),
    "held": (None, None, "in_segment", "not_due", "min_score", "host_backoff"),
    "discovered_via": ("seed", "link", "redirect", "refresh", "sitemap"),
    "retries": (0, 1, 2, 3, 7),
    "interval_s": (0, 1, 3_600, 86_401, 90 * 86_400, 400 * 86_400),
    "fixed_interval_s": (None, None, 60, 2_592_000),
    "depth": (0, 1, 2, 5),
    "from_depth": (0, 1, 2, 5),
    "signature": (None, b"\x00" * 16, b"\xff" * 16, bytes(range(16))),
    "digest": (None, b"\x00" * 16, b"\xff" * 16, bytes(range(16))),
    "http_status": (None, 200, 301, 304, 404, 410, 503),
    "body": (None, b"", b"User-agent: *\nDisallow:\n", b"\x00\xff"),
}
_REASONS = (None, None, "http_404", "http_404", "http_410", "http_503", "filtered_by:scope", *REASONS)
_NEVER_NULL = frozenset({
    "url_key", "host", "bucket", "segment", "outcome", "fetched_at", "score", "depth", "contribution",
    "fetched_before", "line_no", "requested", "score_given", "discovered_via", "ready_at", "place",
})  # fmt: skip
"""Columns of intermediate relations that hold no NULL, though they are not declared so."""
_KEYS = {"url_key", "to_key", "from_key", "canonical_key", "redirect_key", "discovered_from", "hop_from"}
_OWN_KEY = ("url_key", "to_key", "host")


class Web(msgspec.Struct, frozen=True):
    """The URLs rows are about: each with its key, host and bucket."""

    pages: tuple[tuple[str, str, str, int], ...]  # url, key, host, bucket

    @classmethod
    def of(cls, size: int, seed: int = 0) -> Web:
        """As many URLs, on hosts of every form."""
        made = []
        for number in range(size):
            path = PATHS[number // len(HOSTS) % len(PATHS)] + (
                f"?{number}" if number >= len(HOSTS) * len(PATHS) else ""
            )
            found = forms(f"http://{HOSTS[number % len(HOSTS)]}{path}")
            assert found is not None
            made.append((found.url, found.key, found.host, found.bucket))
        random.Random(seed).shuffle(made)
        return cls(tuple(made))


def inputs_of(stage: Stage, step: Sql, seed: int, rows: int, params: Mapping[str, Any]) -> dict[str, pa.Table]:
    """Input tables for one step, by name; `params` are the values of the stage's parameters."""
    import pyarrow as pa

    given: dict[str, Input | Step] = {i.name: i for i in stage.inputs}
    given |= {s.output: s for s in stage.all_steps() if isinstance(s, Sql | Map)}
    made = {}
    for number, name in enumerate(step.inputs):
        if name == "params":
            made[name] = pa.Table.from_pylist([dict(params)], schema=pa_schema(stage.params))
            continue
        source = given[name]
        if isinstance(source, Input):
            columns, key = columns_of(source), source.table.key if source.table else ("url_key",)
        else:
            assert isinstance(source, Sql | Map)
            columns, key = tuple(_as_made(c) for c in source.columns), ("url_key",)
        unique = () if name in SEVERAL else UNIQUE.get(name, key)
        made[name] = random_rows(
            name, columns, unique, Web.of(max(rows, 1)), random.Random(f"{seed}/{number}/{name}"), rows
        )
    return made


def _as_made(column: Column) -> Column:
    return msgspec.structs.replace(column, nullable=column.nullable and column.name not in _NEVER_NULL)


def random_rows(
    name: str, columns: tuple[Column, ...], unique: Collection[str], web: Web, rng: random.Random, count: int
) -> pa.Table:
    """Up to `count` random rows; rows that repeat a key that must be unique are left out."""
    import pyarrow as pa

    seen: set[tuple[Any, ...]] = set()
    made = []
    for number in range(count):
        row = _row(name, columns, web, rng, number)
        identity = tuple(row[k] for k in unique)
        if not unique or identity not in seen:
            seen.add(identity)
            made.append(row)
    return pa.Table.from_pylist(made, schema=pa_schema(columns))


def _row(name: str, columns: tuple[Column, ...], web: Web, rng: random.Random, number: int) -> dict[str, Any]:
    # a third of the pages take most of the rows: ties and groups
    def some_page() -> tuple[str, str, str, int]:
        return web.pages[rng.randrange(len(web.pages) if rng.random() < 0.5 else max(1, len(web.pages) // 3))]

    own, source = some_page(), some_page()
    fixed = {
        "url_key": own[1], "to_key": own[1], "host": own[2], "to_host": own[2], "bucket": own[3], "to_bucket": own[3],
        "requested": own[0], "from_key": source[1], "from_host": source[2], "origin": f"http://{own[2]}",
        "line_no": number,
    }  # fmt: skip
    row: dict[str, Any] = {}
    for column in columns:
        if column.name in fixed:
            row[column.name] = fixed[column.name]
        else:
            row[column.name] = _value(column, rng, some_page)
    if "sitemaps" in row and "body" in row:  # read off the body
        row["sitemaps"] = None if not row["body"] else ["http://example.org/map.xml"] * (len(row["body"]) % 3)
    if row.get("event") == "traffic":
        row["origin"] = None
    return row


def _value(column: Column, rng: random.Random, some_page: Any) -> Any:
    name = column.name
    if name in _CHOICES:
        allowed = [v for v in _CHOICES[name] if column.nullable or v is not None]
        return rng.choice(allowed)
    if name.endswith("reason") or name == "last_error":
        return rng.choice(_REASONS)
    if column.nullable and rng.random() < 0.25:
        return None
    if name in _KEYS:
        return some_page()[1]
    if name in ("url", "to_url"):
        return some_page()[0]
    if name.endswith("_at"):
        return START_MS + rng.randrange(-3, 4) * DAY_MS // 2 + rng.choice((0, 0, 1))
    return _plain(column, rng)


def _plain(column: Column, rng: random.Random) -> Any:
    match column.type:
        case "bool":
            return rng.random() < 0.4
        case "int32":
            return rng.choice((0, 0, 1, 2, 40, 2**31 - 1, -1))
        case "int64":
            # the sum of some scores is beyond the greatest, and that of no relation beyond 64 bits
            large = 4 * 10**17 if "score" in column.name or "contribution" in column.name else 2**52
            return rng.choice((0, 1, 1, 5, MICRO, MICRO, 3 * MICRO + 1, large, -7))
        case "double":
            return rng.choice((0.0, 0.8, 1.0, 1.4, 1.5))
        case "binary":
            return rng.choice((b"", b"\x00", bytes(range(16))))
        case "map":
            return [(f"name{i}", rng.choice((None, *WORDS))) for i in range(rng.randrange(3))]
        case "strings":
            return [rng.choice(WORDS) for _ in range(rng.randrange(3))]
    return rng.choice(WORDS)


def shuffled(rows: pa.Table, seed: int) -> pa.Table:
    """The same rows in another order, in several batches."""
    import pyarrow as pa

    order = list(range(rows.num_rows))
    random.Random(seed).shuffle(order)
    half = len(order) // 2
    return pa.concat_tables([rows.take(pa.array(part, pa.int64())) for part in (order[:half], order[half:])])


def multiset(rows: pa.Table) -> Counter[Any]:
    """How often each row stands in a table; maps and lists as tuples."""
    return Counter(tuple(_hashable(v) for v in row.values()) for row in rows.to_pylist())


def _hashable(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(_hashable(v) for v in value)
    return tuple(sorted(value.items())) if isinstance(value, dict) else value


def difference(first: Counter[Any], second: Counter[Any]) -> str:
    """What a failed comparison prints: rows that only one side has."""
    only = [f"  - {row}" for row in list((first - second).elements())[:3]]
    return "\n".join(["rows differ:", *only, *(f"  + {row}" for row in list((second - first).elements())[:3])])
