"""What do the files of Nutch hold, in numbers?

One object for every database, segment or file: what it is, how many records it has, and by kind what Nutch itself
counts (`readdb -stats`, `readseg -list`): statuses, retries, scores, links. Times are ms since 1970 UTC. Only counts
are kept while reading, whatever the size. Of 0.7's tables that are keys alone the records are counted, and what its
file `stats` says stands beside it.

Not here: the records themselves (`listing`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from cobnut.interop import nutch07, nutch1
from cobnut.interop.found import Found, Part
from cobnut.interop.hadoop import DataInput
from cobnut.interop.hadoop.errors import FormatError
from cobnut.interop.listing import Listing
from cobnut.interop.listing_values import record_reader

Stats = dict[str, Any]


def stats(listing: Listing) -> Iterator[Stats]:
    """An object for each database, segment and file, in the order of the listing."""
    yield from _within(listing, listing.found)


def _within(listing: Listing, found: Found) -> Iterator[Stats]:
    if found.parts:
        head: Stats = {"file": listing.name(found.path), "kind": found.kind, "layout": found.layout}
        tables: dict[str, _Table] = {}
        for part in found.parts:
            tables.setdefault(part.kind, _Table()).read(listing, part)
        if len(tables) == 1 and found.kind in tables:
            yield head | tables[found.kind].stats()
        else:
            said = _said_by_webdb(found.path / "stats") if found.kind == "webdb" else {}
            yield head | {kind: table.stats() for kind, table in tables.items()} | said
    for member in found.members:
        yield from _within(listing, member)


def _said_by_webdb(path: Path) -> Stats:
    """What a webdb's own count says: a version byte and two longs."""
    try:
        with path.open("rb") as file:
            data = DataInput(file.read(18))
        data.take(1)
        counts = {"pages": data.read_long(), "links": data.read_long()}
        data.finish("count")
    except (OSError, FormatError):
        return {}
    return {"stats": counts}


class _Range:
    """The least, the greatest and the mean of what was added; numbers that are none are not counted in."""

    def __init__(self) -> None:
        self.count, self.total, self.least, self.most = 0, 0.0, float("inf"), float("-inf")

    def add(self, value: float) -> None:
        if value - value == 0:
            self.count += 1
            self.total += value
            self.least, self.most = min(self.least, value), max(self.most, value)

    def stats(self) -> Stats:
        if not self.count:
            return {}
        return {"min": _short(self.least), "avg": _short(self.total / self.count), "max": _short(self.most)}


def _short(value: float) -> float:
    return float(f"{value:.7g}")


class _Table:
    """The files of one kind that belong together."""

    def __init__(self) -> None:
        self.files = self.records = self.bytes = 0
        self.counts: dict[str, Counter[str]] = {}
        self.sums: Counter[str] = Counter()
        self.ranges: dict[str, _Range] = {}
        self.times: dict[str, tuple[int, int]] = {}

    def stats(self) -> Stats:
        shown: Stats = {"files": self.files, "records": self.records, **self.sums}
        for name, counter in self.counts.items():
            shown[name] = dict(sorted(counter.items(), key=lambda item: (-item[1], item[0])))
        for name, each in self.ranges.items():
            shown[name] = each.stats()
        for name, (first, last) in self.times.items():
            shown[name] = {"first_at": first, "last_at": last}
        return shown

    def read(self, listing: Listing, part: Part) -> None:
        """Add the records of one file."""
        self.files += 1
        with listing.open(part) as file:
            reader = record_reader(part.header)
            for raw in file.raw():
                if reader is None:
                    self.records += 1
                    continue
                try:
                    record = reader(raw.value)
                except FormatError as error:
                    what = f"a record that cannot be read: {error.what}"
                    file.tell(raw.position, None, what, damage=True)
                    continue
                self.records += 1
                _ADDERS.get(type(record), _nothing)(self, record)

    def count(self, name: str, value: str) -> None:
        self.counts.setdefault(name, Counter())[value] += 1

    def range(self, name: str, value: float) -> None:
        self.ranges.setdefault(name, _Range()).add(value)

    def time(self, name: str, ms: int) -> None:
        first, last = self.times.get(name, (ms, ms))
        self.times[name] = min(first, ms), max(last, ms)


def _nothing(table: _Table, record: Any) -> None:
    return None


def _datum(table: _Table, datum: nutch1.CrawlDatum) -> None:
    table.count("status", datum.status_name if datum.status_name != "unknown" else f"unknown {datum.status}")
    table.count("retries", str(datum.retries))
    table.range("score", datum.score)
    table.time("fetch_time", datum.fetch_time)


def _page(table: _Table, page: nutch07.Page) -> None:
    table.count("status", "fetched" if page.was_fetched else "unfetched")
    table.count("retries", str(page.retries))
    table.range("score", page.score)
    if page.is_never_due:
        table.sums["never_due"] += 1
    else:
        table.time("next_fetch", page.next_fetch)


def _inlinks(table: _Table, links: nutch1.Inlinks) -> None:
    table.sums["inlinks"] += len(links)


def _host(table: _Table, host: nutch1.HostDatum) -> None:
    for name in (
        "unfetched", "fetched", "not_modified", "redir_temp", "redir_perm", "gone", "dns_failures",
        "connection_failures",
    ):  # fmt: skip
        table.sums[name] += getattr(host, name)


def _node(table: _Table, node: nutch1.Node) -> None:
    table.range("inlink_score", node.inlink_score)


def _content(table: _Table, content: nutch1.Content | nutch07.Content) -> None:
    table.sums["body_bytes"] += len(content.content)
    table.count("content_type", _known(table, "content_type", content.content_type or "(none)"))


def _parse_data(table: _Table, data: nutch1.ParseData | nutch07.ParseData) -> None:
    table.count("status", data.status.name)
    table.sums["outlinks"] += len(data.outlinks)


def _parse_text(table: _Table, text: nutch1.ParseText | nutch07.ParseText) -> None:
    table.sums["characters"] += len(text.text or "")


def _entry(table: _Table, entry: nutch07.FetchListEntry) -> None:
    table.sums["to_fetch"] += entry.fetch


def _output(table: _Table, output: nutch07.FetcherOutput) -> None:
    table.count("status", output.protocol_status.name)
    table.time("fetch_date", output.fetch_date)


def _known(table: _Table, name: str, value: str, most: int = 200) -> str:
    """A value that servers choose freely: so many are told apart, the others counted as one."""
    counter = table.counts.get(name)
    value = value[:100]
    return value if counter is None or value in counter or len(counter) < most else "(others)"


_ADDERS: dict[type, Callable[[_Table, Any], None]] = {
    nutch1.CrawlDatum: _datum, nutch1.Inlinks: _inlinks, nutch1.HostDatum: _host, nutch1.Node: _node,
    nutch1.Content: _content, nutch1.ParseData: _parse_data, nutch1.ParseText: _parse_text, nutch07.Page: _page,
    nutch07.Content: _content, nutch07.ParseData: _parse_data, nutch07.ParseText: _parse_text,
    nutch07.FetchListEntry: _entry, nutch07.FetcherOutput: _output,
}  # fmt: skip
