"""What did an import of a Nutch configuration find, and what did it make of it?"""

from __future__ import annotations

from typing import Any

import msgspec


class Became(msgspec.Struct):
    """One property: `became` holds `setting = value` texts. Verdicts: sets, kept, built in, none, unknown, wrong.

    kept: what it says needs no setting here. wrong: its value could not be taken over. `file` and `line`: where it
    stands.
    """

    property: str
    value: str
    verdict: str
    became: list[str]
    note: str
    file: str
    line: int


class MadeFile(msgspec.Struct):
    """One file of rules: where from, what it became (None: not taken over), its rules, those without a form here."""

    source: str
    became: str | None
    rules: int
    lost: list[str]
    note: str


class Imported(msgspec.Struct):
    """All of it: the settings to write, the rule files by their path in the crawl's folder, and the seed lines."""

    properties: list[Became] = []
    files: list[MadeFile] = []
    settings: dict[str, Any] = {}
    texts: dict[str, str] = {}
    seeds: list[str] = []
    notes: list[str] = []
    untouched_defaults: int = 0

    @property
    def lost(self) -> list[str]:
        """Every rule that has no form here."""
        return [line for file in self.files for line in file.lost]
