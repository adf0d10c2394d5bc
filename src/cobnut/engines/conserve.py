"""Does a stage keep the keys it was given?

*Rows out = distinct keys in, and what is new.* An output that keeps keys (`Output.keeps`) holds each key of the present
table, and none twice. What does not hold ends the run before anything is published. Bases and
deltas count as the one table that they are. A segment's table that holds a key twice is told of: its newest row counts.

Not here: that a file has the rows that were written, and that what is written has each key once (`storage.conserve`,
which every writer passes through).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from cobnut.errors import MachineError
from cobnut.records.steps import Input, Output
from cobnut.storage.conserve import MOST_SHOWN, twice

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cobnut.engines.session import Session
    from cobnut.records.columns import Table
    from cobnut.storage.tables import TableDraft, TableVersion


class Keys(msgspec.Struct, frozen=True):
    """The keys of a table before a run and after it. `kept`: all of those before are among those after."""

    before: int
    after: int
    kept: bool


def told_twice(session: Session, source: Input, files: Sequence[Path]) -> list[str]:
    """What to say of keys that a segment's table holds more than once: the steps take the newest row of each."""
    assert source.table is not None
    key = source.table.key[0]
    rows = session.count(source.name)
    surplus = rows - session.count(f"(SELECT DISTINCT {key} FROM {source.name})")
    if not surplus:
        return []
    twice = f"SELECT {key} FROM {source.name} GROUP BY {key} HAVING count(*) > 1 ORDER BY {key} LIMIT 1"
    shown = str(list(session.query(twice, source.name))[0].column(0)[0].as_py())  # noqa: RUF015
    return [
        f"{source.table.name} has {rows:,} rows for {rows - surplus:,} pages, for example two of "
        f"{shown[:MOST_SHOWN]!r} ({_holder(files, key, shown)}); of each page the newest counts"
    ]


def check_chosen(session: Session, relation: str, table: Table, store: Path) -> None:
    """Refuses rows chosen from a table, in `store`, in which a key comes twice; numbers stand for the keys, which are
    looked at only where two of them are equal."""
    import numpy as np

    key = table.key[0]
    numbers = np.sort(
        session.connection.execute(f"SELECT hash({key}) AS number FROM {relation}").fetchnumpy()["number"]
    )
    if not (numbers[1:] == numbers[:-1]).any():
        return
    again = f"SELECT {key} FROM {relation} GROUP BY {key} HAVING count(*) > 1 ORDER BY {key}"
    for batch in list(session.query(again, relation)):
        if batch.num_rows:
            raise twice(table, [batch.column(0)[0].as_py()], store)


def _holder(files: Sequence[Path], key: str, value: str) -> Path:
    """The last of the files that hold a key: the one that came later."""
    import pyarrow.parquet as pq

    holding = [path for path in files if pq.read_table(path, columns=[key], filters=[(key, "=", value)]).num_rows]
    return holding[-1] if holding else files[-1]


def check_kept(session: Session, output: Output, draft: TableDraft) -> None:
    """Refuses an output in which keys are missing that the present table holds."""
    if output.keeps is None:
        return
    key = ", ".join(output.table.key)
    lost = session.count(f"{output.keeps} ANTI JOIN {output.relation} USING ({key})")
    if lost:
        raise _lost(output, draft, lost)


def sums(outputs: Sequence[Output], drafts: dict[str, TableDraft], former: dict[str, TableVersion]) -> dict[str, Keys]:
    """Keys before and after of each table that is about to be published; refuses fewer where all are kept."""
    found = {}
    for output in outputs:
        draft = drafts.get(output.relation)
        if draft is None:
            continue
        version = former.get(output.table.name)
        before, kept = 0 if version is None else version.rows, output.keeps is not None
        if kept and draft.rows < before:
            raise _lost(output, draft, before - draft.rows)
        found[output.table.name] = Keys(before, draft.rows, kept)
    return found


def _lost(output: Output, draft: TableDraft, lost: int) -> MachineError:
    name, crawl = output.table.name, draft.store.parent
    return MachineError(
        f"{lost:,} keys of {name} would be lost; nothing was written", where=str(draft.store),
        remedy=f"`cobnut doctor {crawl}` checks the table; if it is sound, this is a fault of Cobnut: report it",
    )  # fmt: skip
