"""What is a finding, and what can be done about it?

A *problem* is something that no later command puts right by itself. A *note* is something out of the ordinary that does
no harm: what a killed run left, a round that waits to go on.

Not here: looking for them (the other modules), doing something about them (`repair`).
"""

from __future__ import annotations

from typing import Literal

import msgspec

Kind = Literal["problem", "note"]
Doing = Literal["remove", "current", "state", "unlock"]


class Mend(msgspec.Struct, frozen=True):
    """One thing that `--repair` may do: remove paths; let CURRENT or state.json say `value`; wipe a lock."""

    doing: Doing
    path: str
    value: str = ""
    more: tuple[str, ...] = ()  # further paths to remove


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One finding: what, where, what it means, what helps. `check` is its stable name."""

    check: str
    what: str
    where: str
    consequence: str
    remedy: str
    kind: Kind = "problem"
    mends: tuple[Mend, ...] = ()
    repaired: bool = False


class Checked(msgspec.Struct):
    """How much was looked at."""

    tables: int = 0
    segments: int = 0
    indexes: int = 0
    files: int = 0
    bytes: int = 0
    rows: int = 0
    records: int = 0


class Diagnosis(msgspec.Struct):
    """All findings of one examination. `at_work`: who was writing the crawl meanwhile."""

    where: str
    deep: bool
    findings: list[Finding] = []
    checked: Checked = msgspec.field(default_factory=Checked)
    at_work: str | None = None

    @property
    def problems(self) -> list[Finding]:
        """What is wrong and was not repaired."""
        return [f for f in self.findings if f.kind == "problem" and not f.repaired]

    @property
    def notes(self) -> list[Finding]:
        """What is only worth knowing, and was not put in order."""
        return [f for f in self.findings if f.kind == "note" and not f.repaired]


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun.

    >>> counted(1, "row"), counted(2_000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"
