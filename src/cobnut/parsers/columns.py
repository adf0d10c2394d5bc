"""How do parsed pages become rows of `parsed` and `links`?

Column lists are filled page by page and become one Arrow batch per table and batch of pages: no object per link
is made.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from cobnut.parsers.page import FAILED, PageLinks, ParsedPage
from cobnut.parsers.tasks import PageTask
from cobnut.records.catalogue import LINKS, PARSED

_OF_TASK = ("url_key", "url", "host", "bucket", "fetched_at", "score")
_OF_PAGE = tuple(name for name in PARSED.column_names if name not in _OF_TASK)
_OF_LINKS = {
    "to_url": "urls",
    "to_key": "keys",
    "to_host": "hosts",
    "to_bucket": "buckets",
    "anchor": "anchors",
    "nofollow": "nofollows",
    "kind": "kinds",
    "contribution": "contributions",
    "changed_at": "changed",
}


def failed_page(reason: str) -> ParsedPage:
    """What is said of a page that could not be parsed."""
    return ParsedPage(parse_status=FAILED, reason=reason)


class PageColumns:
    """Rows of `parsed` and `links` of one batch of pages."""

    def __init__(self) -> None:
        self.parsed: dict[str, list[Any]] = {name: [] for name in PARSED.column_names}
        self.links: dict[str, list[Any]] = {name: [] for name in LINKS.column_names}
        self.pages = 0

    def add(self, task: PageTask, page: ParsedPage) -> None:
        """One page and its links."""
        self.pages += 1
        for name in _OF_TASK:
            self.parsed[name].append(getattr(task, name))
        for name in _OF_PAGE:
            self.parsed[name].append(getattr(page, name))
        self.add_links(task, page.links)

    def add_links(self, task: PageTask, links: PageLinks) -> None:
        """The links of one page."""
        count = len(links.keys)
        if not count:
            return
        columns = self.links
        columns["from_key"] += [task.url_key] * count
        columns["position"] += range(count)
        columns["from_host"] += [task.host] * count
        columns["from_score"] += [task.score] * count
        columns["from_depth"] += [task.depth] * count
        for name, field in _OF_LINKS.items():
            columns[name] += getattr(links, field)

    def parsed_batch(self) -> pa.Table:
        """The rows of `parsed`, in the order of the pages."""
        return _table(self.parsed, PARSED.schema())

    def links_batch(self) -> pa.Table:
        """The rows of `links`, sorted by the target's bucket, then source and position."""
        table = _table(self.links, LINKS.schema())
        return table.sort_by([("to_bucket", "ascending"), ("from_key", "ascending"), ("position", "ascending")])


def _table(columns: dict[str, list[Any]], schema: pa.Schema) -> pa.Table:
    arrays = [pa.array(_clean(columns[field.name], field.type), field.type) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def _clean(values: list[Any], type_: pa.DataType) -> list[Any]:
    """Text that Arrow can hold: lone surrogates, which broken encodings may leave, become U+FFFD."""
    if not pa.types.is_string(type_):
        return values
    try:
        "".join([v for v in values if v is not None]).encode()
    except UnicodeEncodeError:
        return [v if v is None else v.encode("utf-8", "surrogatepass").decode("utf-8", "replace") for v in values]
    return values
