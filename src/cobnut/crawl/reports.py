"""What did a stage do, and what did it cost?

Every run of a stage leaves one JSON report in the crawl's `reports` folder.
"""

from __future__ import annotations

import json
import os
import resource
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec

from cobnut.engines.conserve import Keys
from cobnut.storage.files import write_atomic
from cobnut.storage.layout import CrawlFolder


class StepReport(msgspec.Struct):
    """One run of one stage: counts by name, messages for the user, CPU and wall time in seconds."""

    stage: str
    started_at: str = ""
    counts: dict[str, int] = {}
    left_out: dict[str, int] = {}  # what was left out, by reason
    messages: list[str] = []
    segments: list[str] = []
    details: dict[str, Any] = {}
    keys: dict[str, Keys] = {}  # of each table that was written, before and after
    cpu_s: float = 0.0  # of this process and its ended children
    wall_s: float = 0.0

    def add_keys(self, keys: Mapping[str, Keys]) -> None:
        """Notes what a run says of the keys of its tables; of several runs the whole way is told."""
        for name, found in keys.items():
            first = self.keys.get(name, found)
            self.keys[name] = Keys(first.before, found.after, first.kept and found.kept)


def cpu_seconds() -> float:
    """CPU time of this process and of its children that have ended."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


@contextmanager
def reporting(crawl: CrawlFolder, stage: str) -> Iterator[StepReport]:
    """Times a stage run and writes its report when it is done."""
    report = StepReport(stage, started_at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    cpu, wall = cpu_seconds(), time.monotonic()
    yield report
    report.cpu_s += round(cpu_seconds() - cpu, 4)
    report.wall_s = round(time.monotonic() - wall, 4)
    crawl.reports_path.mkdir(exist_ok=True)
    name = (
        f"{report.started_at.replace(':', '').replace('-', '')}-{stage}-{os.getpid()}-{time.monotonic_ns() % 10**9:09d}"
    )
    body = json.dumps(msgspec.to_builtins(report), indent=1, ensure_ascii=False)
    write_atomic(crawl.reports_path / f"{name}.json", body.encode())
