"""What is an examination made with?

One `Visit` goes through all the checks: it has the crawl, the probe, what is known to be sound, and takes findings.

Not here: the checks.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from cobnut.inspect.doctor.finding import Diagnosis, Finding, Kind, Mend
from cobnut.inspect.doctor.probe import Probe
from cobnut.storage.generations import Generation
from cobnut.storage.layout import CrawlFolder

CLOCK_SLACK_MS = 600_000
"""Clocks of machines that share a disk may differ by that much."""


class Sound(dict[str, Any]):
    """The manifest of a table's current version, all of whose files are whole."""


class Visit:
    """One examination of a crawl."""

    def __init__(
        self, crawl: CrawlFolder, probe: Probe, diagnosis: Diagnosis, now_ms: int, say: Callable[[str], None]
    ) -> None:
        self.crawl, self.probe, self.diagnosis, self.now_ms, self.say = crawl, probe, diagnosis, now_ms, say
        self.sound: dict[str, tuple[Generation, Sound]] = {}
        """By name of the table: its current generation, held against removal, where nothing is wrong with its files."""
        self.is_written: dict[str, bool] = {}

    @property
    def deep(self) -> bool:
        """Is everything to be read?"""
        return self.diagnosis.deep

    @property
    def checked(self) -> Any:
        """How much was looked at."""
        return self.diagnosis.checked

    def find(
        self, check: str, what: str, where: Path | str, consequence: str, remedy: str, *mends: Mend,
        kind: Kind = "problem",
    ) -> None:  # fmt: skip
        """Takes a finding."""
        self.diagnosis.findings.append(
            Finding(
                check=check, what=what, where=str(where), consequence=consequence, remedy=remedy, kind=kind,
                mends=mends,
            )
        )  # fmt: skip

    def note(self, check: str, what: str, where: Path | str, consequence: str, remedy: str, *mends: Mend) -> None:
        """Takes a finding that does no harm."""
        self.find(check, what, where, consequence, remedy, *mends, kind="note")

    def applied(self, table: str) -> list[str]:
        """Names of the segments that a table's current version holds."""
        if table not in self.sound:
            return []
        return [entry["segment"] for entry in self.sound[table][1].get("applied", [])]
