"""Which generation of each table is current, is it whole, and is there one to go back to?

Not here: what the files hold (`tables`), the merged index (`indexes`).
"""

from __future__ import annotations

import time
from pathlib import Path

import msgspec

from cobnut.errors import CobnutError, DataError
from cobnut.inspect.doctor.finding import Mend
from cobnut.inspect.doctor.manifests import Fault, TableManifest, damaged_files, is_whole, read_manifest
from cobnut.inspect.doctor.remedies import Help, cobnut, folder_of, for_table
from cobnut.inspect.doctor.visit import Sound, Visit
from cobnut.records.columns import Table
from cobnut.storage.generations import CURRENT, GenerationStore

LOST = {
    "crawldb": "nothing can be fetched, updated or found out about any URL",
    "pages": "no round can be applied, and no page can be told from another",
    "seeds": "no run knows its scope",
    "forgotten": "what is to be forgotten would be fetched and shown again",
    "hostdb": "no round can be fetched or applied",
    "robots": "no round can be fetched or applied",
    "linkdb": "no anchors, and no ranks from links of removed segments",
    "ranks": "no link ranks",
    "duplicates": "the index cannot be merged",
    "orphans": "the index cannot be merged",
}
"""What does not work without a table."""


def check_table(visit: Visit, table: Table) -> None:
    """CURRENT, manifest and files of one table; a table with no fault is sound afterwards."""
    store = visit.crawl.table(table).generations
    if not store.path.is_dir():
        _check_lost(visit, table)
        return
    try:
        number = store.current_number()
    except CobnutError as error:
        text, mends = _without_current(visit, table, store, store.numbers())
        visit.find("current", error.what, store.path / CURRENT, f"{table.name}: {LOST[table.name]}", text, *mends)
        return
    if number is None:
        _check_lost(visit, table)
        return
    if not (store.path / CURRENT).exists():
        _note_unrecorded(visit, store, number)
    visit.is_written[table.name] = True
    folder = folder_of(store, number)
    if not folder.is_dir():
        numbers = [n for n in store.numbers() if n < number] or store.numbers()
        text, mends = _without_current(visit, table, store, numbers)
        what = f"CURRENT names {folder.name}, which is missing"
        visit.find("current", what, store.path / CURRENT, f"{table.name}: {LOST[table.name]}", text, *mends)
        return
    if _check_generation(visit, table, folder):
        _check_former(visit, table, store, number)


def _check_generation(visit: Visit, table: Table, folder: Path) -> bool:
    """Is the current generation whole? Then it is held open."""
    helped: Help | None = None
    try:
        generation = visit.crawl.table(table).generations.current()
    except CobnutError as error:
        fault = read_manifest(folder)
        what = fault.what if isinstance(fault, Fault) else error.what
        _tell(visit, table, Fault(what, folder / "manifest.json", isinstance(fault, Fault) and fault.is_newer), helped)
        return False
    if generation is None:
        return False
    manifest = read_manifest(generation.path)
    faults = [manifest] if isinstance(manifest, Fault) else damaged_files(generation.path, manifest)
    if faults:
        generation.close()
        helped = for_table(visit.crawl, table.name)
        for fault in faults:
            _tell(visit, table, fault, helped)
        return False
    assert isinstance(manifest, TableManifest)
    visit.sound[table.name] = generation, Sound(msgspec.to_builtins(manifest))
    visit.checked.tables += 1
    visit.checked.files += len(manifest.files)
    visit.checked.bytes += sum(entry.bytes for entry in manifest.files)
    _check_time(visit, table, generation.path, manifest.created_at)
    _check_strangers(visit, generation.path, manifest)
    return True


def _tell(visit: Visit, table: Table, fault: Fault, helped: Help | None) -> None:
    if fault.is_newer:
        visit.find("version", fault.what, fault.where, "this program cannot read it", "use a newer Cobnut")
        return
    helped = helped or for_table(visit.crawl, table.name)
    mends = helped.mends
    if fault.where.name == "manifest.json" and not mends:
        store = visit.crawl.table(table).generations
        mends = go_to_newest(store, [n for n in store.numbers() if folder_of(store, n) != fault.where.parent])[1]
    what = f"a file of {table.name} is damaged: {fault.what}"
    visit.find("file", what, fault.where, LOST[table.name], helped.text, *mends)


def _check_lost(visit: Visit, table: Table) -> None:
    """A table that others show to have been there."""
    try:
        visit.crawl.table(table).check_lost()
    except DataError as error:
        visit.find(
            "lost", error.what, error.where or "", LOST[table.name],
            error.remedy or "restore it from a backup",
        )  # fmt: skip
    except CobnutError:  # the others are damaged, and told of by themselves
        return


def _note_unrecorded(visit: Visit, store: GenerationStore, number: int) -> None:
    visit.note(
        "unrecorded", f"{store.what} has one generation and no CURRENT: its writer was killed in between",
        store.path / CURRENT, "none: the generation is whole, and is used", "none is needed",
        Mend("current", str(store.path), folder_of(store, number).name),
    )  # fmt: skip


def _without_current(
    visit: Visit, table: Table, store: GenerationStore, numbers: list[int]
) -> tuple[str, tuple[Mend, ...]]:
    """What helps when CURRENT says nothing sensible: what is made again is removed, the others go to what is whole."""
    helped = for_table(visit.crawl, table.name)
    if helped.mends:
        return helped.text, helped.mends
    text, mends = go_to_newest(store, numbers)
    return (text, mends) if mends else (helped.text, ())


def go_to_newest(store: GenerationStore, numbers: list[int]) -> tuple[str, tuple[Mend, ...]]:
    """What helps when CURRENT says nothing sensible: it is to name the newest generation that is whole."""
    whole = next((n for n in reversed(numbers) if is_whole(folder_of(store, n))), None)
    if whole is None:
        return "restore it from a backup: no generation is whole", ()
    name = folder_of(store, whole).name
    mend = Mend("current", str(store.path), name)
    command = f"`echo {name} > {store.path / CURRENT}`"
    crawl = store.path.parent
    return f"{cobnut('doctor', crawl, '--repair')} goes to {name}, which is whole, as does {command}", (mend,)


def _check_former(visit: Visit, table: Table, store: GenerationStore, number: int) -> None:
    """The generation to go back to."""
    former = store.previous(number)
    if former is not None and not is_whole(folder_of(store, former)):
        visit.note(
            "former", f"the former generation of {table.name} is damaged", folder_of(store, former),
            f"`cobnut rollback` of {table.name} would not help", "none is needed: the next writer makes another",
        )  # fmt: skip


def _check_time(visit: Visit, table: Table, folder: Path, created_at: str) -> None:
    from cobnut.inspect.doctor.clock import check_time

    try:
        seconds = time.strptime(created_at, "%Y-%m-%dT%H:%M:%SZ")
    except ValueError:
        return
    import calendar

    check_time(visit, f"{table.name} was written", folder, calendar.timegm(seconds) * 1000)


def _check_strangers(visit: Visit, folder: Path, manifest: TableManifest) -> None:
    """Files that the manifest does not name."""
    named = {entry.name for entry in manifest.files} | {"manifest.json"}
    for entry in sorted(folder.iterdir()):
        if entry.name not in named:
            visit.note(
                "stranger", "a file that the manifest does not name", entry, "none: nothing reads it",
                "remove it, if you do not know it",
            )  # fmt: skip
