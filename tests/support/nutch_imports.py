"""A crawl of Nutch's taken into a new crawl, at a time after it was made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cobnut.cli.commands.import_nutch import take_in
from cobnut.cli.options import Opened, opened
from cobnut.crawl.reports import StepReport
from cobnut.records.columns import Table
from cobnut.storage.layout import CrawlFolder
from cobnut.testing.clock import VirtualClock

FORMATS = Path(__file__).parents[1] / "formats" / "nutch"
NEW, OLD = FORMATS / "1.23" / "data", FORMATS / "0.7.2" / "data"
LATER_MS = 1_796_200_000_000
"""2 December 2026: after the golden crawls were made, before most of their pages are due."""


def new_crawl(path: Path) -> Opened:
    """An empty crawl with default settings."""
    CrawlFolder.create(path, "")
    return opened(path, ())


def imported(crawl: Opened, *paths: Path, clock: VirtualClock | None = None, **options: Any) -> StepReport:
    """Imports into a crawl as the command does."""
    with crawl.crawl.lock():
        return take_in(crawl, paths, clock=clock or VirtualClock(LATER_MS), **options)


def golden(version: str, name: str) -> list[dict[str, Any]]:
    """The records of a golden listing."""
    found: list[dict[str, Any]] = json.loads((FORMATS / version / "json" / f"{name}.json").read_text())["records"]
    return found


def rows(crawl: Opened, table: Table) -> dict[tuple[Any, ...], dict[str, Any]]:
    """The rows of a table by key."""
    found = crawl.crawl.table(table).read().to_pylist()
    keyed = {tuple(row[k] for k in table.key): row for row in found}
    assert len(keyed) == len(found)
    return keyed
