"""What is in one Parquet file of a table? Asked in a process of its own (see `probe`).

Rows pass in batches, so that memory does not grow with the file. Nothing is judged here: answers are counts and the
first example of each.

Not here: relations between files (`asked_relations`), what the counts mean (`tables`, `segments`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cobnut.records import catalogue, outcomes
from cobnut.records.columns import Table
from cobnut.storage.seals import is_whole
from cobnut.storage.tables import keys_of, partition_range
from cobnut.urls.hosts import bucket_of
from cobnut.urls.keys import host_key

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 32_768
WIDE_ROWS = 256
"""Rows of a batch when all columns are read: some hold a whole page."""

PLACES = (("url_key", "host", "bucket"), ("to_key", "to_host", "to_bucket"), ("from_key", "from_host", None))
"""A URL's key, its host and the host's bucket, as columns are called."""

PAST = {"fetched_at", "checked_at", "discovered_at", "injected_at", "forgotten_at", "updated_at", "seen_at"}
"""Times of what has happened: none of them lies in the future."""

WORDS: dict[str, frozenset[str]] = {
    "status": frozenset(outcomes.STATUSES) - {outcomes.DUPLICATE},
    "outcome": frozenset(outcomes.OUTCOMES),
    "parse_status": frozenset({"ok", "failed", "skipped"}),
}
_NUMBERED = re.compile(r"http_[0-9]{1,3}")


def look(
    path: str,
    table: str,
    partition: int,
    partitions: int,
    is_sorted: bool,
    now_ms: int,
    deep: bool,
    is_bare: bool = False,
    only_keys: bool = False,
) -> dict[str, Any]:
    """Counts of what is wrong in a file of a table, by name, each with the first example; `rows` is their number.

    `deep` reads every column, otherwise those that are looked at; `is_bare`: only the foot of the file; `only_keys`: a
    file that has the table's first keys and nothing else. `is_sealed`: is its checksum right (None: it has none)? Where
    it is not, nothing else is asked.
    """
    import pyarrow.parquet as pq

    known = keys_of(catalogue.table(table)) if only_keys else catalogue.table(table)
    is_sealed = is_whole(Path(path)) if known.scope == "segment" else True
    if is_sealed is False:
        return {"rows": 0, "schema": [], "faults": {}, "is_sealed": False}
    found = _Found()
    with pq.ParquetFile(path, pre_buffer=False, buffer_size=1 << 20) as file:
        rows = int(file.metadata.num_rows)
        schema = _schema_faults(known, file.schema_arrow)
        if schema or is_bare:
            return {"rows": rows, "schema": schema, "faults": {}, "is_sealed": is_sealed}
        names = list(known.column_names)
        checks = _checks(known, partition, partitions, now_ms)
        wanted = (
            names if deep else [n for n in names if n in {*known.key, *(c for columns, _ in checks for c in columns)}]
        )
        passed = 0
        last: tuple[Any, ...] | None = None
        for batch in file.iter_batches(batch_size=WIDE_ROWS if deep and known.scope == "segment" else BATCH_ROWS,
                                       columns=wanted):  # fmt: skip
            if batch.num_rows == 0:
                continue
            if is_sorted:
                last = _order(known, batch, last, found)
            for columns, check in checks:
                check([batch.column(name) for name in columns], found)
            for name in wanted:
                if not known.columns[names.index(name)].nullable and (nulls := batch.column(name).null_count):
                    found.add(f"null:{name}", nulls, "")
            passed += batch.num_rows
    if passed != rows:
        found.add("foot", abs(rows - passed), f"{rows} rows announced, {passed} found")
    return {"rows": passed, "schema": [], "faults": found.values, "is_sealed": is_sealed}


class _Found:
    """Counts by name, each with the first example."""

    def __init__(self) -> None:
        self.values: dict[str, list[Any]] = {}

    def add(self, name: str, count: int, example: str) -> None:
        entry = self.values.setdefault(name, [0, example[:200]])
        entry[0] += count


Check = tuple[tuple[str, ...], Callable[[list["pa.Array"], _Found], None]]


def _schema_faults(table: Table, schema: pa.Schema) -> list[str]:
    """How a file's columns differ from the catalogue's."""
    wanted = table.schema()
    faults = [f"no column {name}" for name in wanted.names if name not in schema.names]
    faults += [f"a column {name} that no such table has" for name in schema.names if name not in wanted.names]
    for field in wanted:
        if schema.names.count(field.name) == 1 and not _same_type(schema.field(field.name).type, field.type):
            faults.append(f"{field.name} is {schema.field(field.name).type} and should be {field.type}")
    return [fault[:200] for fault in faults[:5]]


def _same_type(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Equal but for what Parquet does not keep: names and nullability inside of lists and maps."""
    import pyarrow as pa

    if pa.types.is_map(wanted):
        return bool(
            pa.types.is_map(found) and found.key_type == wanted.key_type and found.item_type == wanted.item_type
        )
    if pa.types.is_list(wanted):
        return bool(pa.types.is_list(found) and _same_type(found.value_type, wanted.value_type))
    if pa.types.is_struct(wanted):
        return bool(pa.types.is_struct(found)) and [f.name for f in found] == [f.name for f in wanted]
    return bool(found == wanted)


def _checks(table: Table, partition: int, partitions: int, now_ms: int) -> list[Check]:
    """What is asked of the rows of a table: the columns, and the function that looks at them."""
    names = set(table.column_names)
    checks: list[Check] = []
    for key, host, bucket in PLACES:
        if {key, host} <= names:
            checks.append(((key, host), _same_host))
        if bucket in names and host in names:
            checks.append(((host, bucket), _right_bucket))
    if not names & {"url_key", "to_key"} and {"host", "bucket"} <= names:
        checks.append((("host", "bucket"), _right_bucket))
    if table.bucket_column is not None and table.scope == "crawl":
        low, high = partition_range(partition, partitions)
        checks.append(((table.bucket_column,), _in_range(low, high)))
    for name, words in WORDS.items():
        if name in names:
            checks.append(((name,), _known_words(name, words.__contains__)))
    if "reason" in names and table.name != catalogue.FORGOTTEN.name:
        checks.append((("reason",), _known_words("reason", is_reason)))
    for column in table.columns:
        if column.type == "int64" and column.name.endswith("_at"):
            checks.append(((column.name,), _sane_times(column.name, now_ms if column.name in PAST else None)))
        elif column.name in ("interval_s", "warc_offset", "retries", "rows"):
            checks.append(((column.name,), _sane_times(column.name, None)))
    return checks


def is_reason(reason: str) -> bool:
    """Is it one of the documented reasons?"""
    name = reason.partition(":")[0]
    return name in outcomes.REASONS or _NUMBERED.fullmatch(reason) is not None


def _order(table: Table, batch: pa.RecordBatch, last: tuple[Any, ...] | None, found: _Found) -> tuple[Any, ...]:
    """Counts rows that do not come after the row before them; the last row's key."""
    import pyarrow.compute as pc

    columns = [batch.column(name) for name in table.key]
    first = tuple(column[0].as_py() for column in columns)
    if last is not None and not _after(first, last):
        found.add("repeated" if first == last else "unsorted", 1, str(first[0]))
    if batch.num_rows > 1:
        equal, greater = None, None
        for column in columns:
            before, after = column.slice(0, batch.num_rows - 1), column.slice(1)
            more, same = pc.greater(after, before), pc.equal(after, before)
            greater = more if greater is None else pc.or_(greater, pc.and_(equal, more))
            equal = same if equal is None else pc.and_(equal, same)
        for name, mask in (("repeated", equal), ("unsorted", pc.invert(pc.or_(greater, equal)))):
            if count := pc.sum(mask).as_py():
                found.add(name, count, str(columns[0][pc.index(mask, True).as_py() + 1]))
    return tuple(column[batch.num_rows - 1].as_py() for column in columns)


def _after(key: tuple[Any, ...], former: tuple[Any, ...]) -> bool:
    def bytes_of(values: tuple[Any, ...]) -> list[bytes]:  # tables are sorted by bytes
        return [str(value).encode("utf-8", "surrogatepass") for value in values]

    return bytes_of(key) > bytes_of(former)


def _right_bucket(columns: list[pa.Array], found: _Found) -> None:
    """Is each row's bucket the hash of its host?"""
    import pyarrow as pa
    import pyarrow.compute as pc

    hosts = columns[0].dictionary_encode()
    buckets = pa.array([bucket_of(host) for host in hosts.dictionary.to_pylist()], pa.int32())
    if len(buckets) == 0:
        return
    wrong = pc.not_equal(buckets.take(hosts.indices), columns[1])
    if count := pc.sum(wrong).as_py():
        found.add("bucket", count, str(columns[0][pc.index(wrong, True).as_py()]))


def _same_host(columns: list[pa.Array], found: _Found) -> None:
    """Does each key belong to its row's host? In sorted runs of one host the first and the last key tell."""
    import pyarrow.compute as pc

    keys, hosts = columns
    if len(keys) > 1 and pc.all(pc.less_equal(keys.slice(0, len(keys) - 1), keys.slice(1))).as_py():
        runs = pc.run_end_encode(hosts)
        start = 0
        for end, host in zip(runs.run_ends.to_pylist(), runs.values.to_pylist(), strict=True):
            _ends_in(host, (keys[start].as_py(), keys[end - 1].as_py()), found)
            start = end
        return
    for key, host in zip(keys.to_pylist(), hosts.to_pylist(), strict=True):
        _ends_in(host, (key,), found)


def _ends_in(host: str | None, keys: Iterable[str | None], found: _Found) -> None:
    beginning = f"{host_key(host)})" if host else "\0"
    for key in keys:
        if key is None or not key.startswith(beginning):
            found.add("host", 1, str(key))
            return


def _in_range(low: int, high: int) -> Callable[[list[pa.Array], _Found], None]:
    def check(columns: list[pa.Array], found: _Found) -> None:
        import pyarrow.compute as pc

        outside = pc.or_(pc.less(columns[0], low), pc.greater_equal(columns[0], high))
        if count := pc.sum(outside).as_py():
            found.add("partition", count, str(columns[0][pc.index(outside, True).as_py()]))

    return check


def _known_words(name: str, is_known: Callable[[str], bool]) -> Callable[[list[pa.Array], _Found], None]:
    def check(columns: list[pa.Array], found: _Found) -> None:
        import pyarrow.compute as pc

        for entry in pc.value_counts(columns[0]).to_pylist():
            if entry["values"] is not None and not is_known(entry["values"]):
                found.add(f"word:{name}", entry["counts"], entry["values"])

    return check


def _sane_times(name: str, latest_ms: int | None) -> Callable[[list[pa.Array], _Found], None]:
    def check(columns: list[pa.Array], found: _Found) -> None:
        import pyarrow.compute as pc

        ends = pc.min_max(columns[0]).as_py()
        if ends["min"] is not None and ends["min"] < 0:
            found.add(f"negative:{name}", pc.sum(pc.less(columns[0], 0)).as_py(), str(ends["min"]))
        if latest_ms is not None and ends["max"] is not None and ends["max"] > latest_ms:
            found.add(f"future:{name}", pc.sum(pc.greater(columns[0], latest_ms)).as_py(), str(ends["max"]))

    return check


def replaced(base: list[str], newer: list[str], key: str) -> int:
    """How many rows of a base do not hold any more, by the keys of newer files."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    keys = pa.concat_tables([pq.read_table(path, columns=[key], partitioning=None) for path in newer]).column(0)
    count = 0
    for path in map(Path, base):
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=[key]):
                count += pc.sum(pc.is_in(batch.column(0), value_set=keys)).as_py() or 0
    return count
