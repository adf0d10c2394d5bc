"""Which pages does `generate --where` mean?

The expression may name the columns of crawldb, pages and hostdb; where a name stands in several of them the first has
it, and `hostdb.bucket` names another. What was typed becomes one more SQL step, with every literal in a relation of its
own: the text of the step is made of our own words.

Not here: how the expression is read (`frontier.where`), what else keeps a page out (`stages.generate`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from cobnut.frontier.where import Name, parse_condition
from cobnut.records import catalogue as tables
from cobnut.records.steps import Input, Map, Sql, Stage, Step, column
from cobnut.stages.generate import STAGE

if TYPE_CHECKING:
    import pyarrow as pa

MATCHING = "matching"
STEP = "where"
_KEY = (column("url_key", "string"),)
_SHOWN = (*_KEY, column("url", "string"))
_JOINS = {
    "pages": "LEFT JOIN pages ON pages.url_key = crawldb.url_key",
    "hostdb": "LEFT JOIN hostdb ON hostdb.host = crawldb.host",
    "shown": "LEFT JOIN shown ON shown.url_key = crawldb.url_key",
}


class Condition(Sql, frozen=True):
    """An SQL step whose text is made for one run."""

    body: str = ""

    @property
    def text(self) -> str:
        """The text."""
        return self.body


class Narrowed(msgspec.Struct, frozen=True):
    """The stage that takes only what is meant, and the relation of literals that it is given."""

    stage: Stage
    typed: dict[str, Any]


def names() -> dict[str, Name]:
    """What an expression may name."""
    found: dict[str, Name] = {}
    for table in (tables.CRAWLDB, tables.PAGES, tables.HOSTDB):
        for one in table.columns:
            name = Name(f"{table.name}.{one.name}", one)
            if name.sql == "crawldb.url":
                name = Name(name.sql, one, "crawldb.url_key", "shown.url")
            found.setdefault(one.name, name)
            found[name.sql] = name
    return found


def narrowed(text: str) -> Narrowed:
    """The stage `generate` with this condition; an `InputError` says what in it cannot be read."""
    import pyarrow as pa

    where = parse_condition(text, names())
    pieces = where.sql.split("?")  # none of our own words has one
    body = "".join(f"{piece}typed.v{i}" for i, piece in enumerate(pieces[:-1])) + pieces[-1]
    used = [name for name in _JOINS if f"{name}." in body]
    sources = " ".join(["FROM crawldb", *(_JOINS[name] for name in used), "CROSS JOIN typed"])
    sql = f"SELECT CAST(crawldb.url_key AS STRING) AS url_key {sources} WHERE {body}"
    steps: list[Step] = [Condition(STEP, ("crawldb", *used, "typed"), MATCHING, _KEY, sql)]
    if "shown" in used:
        keys = "SELECT CAST(c.url_key AS STRING) AS url_key FROM crawldb c WHERE c.url IS NULL"
        steps = [
            Condition("keys", ("crawldb",), "keys", _KEY, keys),
            Map("shown", shown, "keys", "shown", _SHOWN),
            *steps,
        ]
    values = {f"v{i}": pa.array([value], _type(value)) for i, value in enumerate(where.params)}
    typed = pa.table(values or {"v0": pa.array([True])})
    others = tuple(i for i in STAGE.inputs if i.name != MATCHING)
    given = Input("typed", None, "given", partitioned=False)
    stage = msgspec.structs.replace(STAGE, inputs=(*others, given), steps=(*steps, *STAGE.steps))
    return Narrowed(stage, {"typed": typed})


def shown(batches: Iterable[pa.RecordBatch], _context: Any) -> Iterator[pa.RecordBatch]:
    """The URL of each key."""
    import pyarrow as pa

    from cobnut.urls.screening import urls_of_keys

    for batch in batches:
        keys = batch.column("url_key")
        yield pa.RecordBatch.from_arrays([keys, urls_of_keys(keys)], names=["url_key", "url"])


def _type(value: Any) -> pa.DataType:
    import pyarrow as pa

    if isinstance(value, int):
        return pa.int64()
    if isinstance(value, float):
        return pa.float64()
    return pa.binary() if isinstance(value, bytes) else pa.string()
