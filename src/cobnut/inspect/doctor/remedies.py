"""What helps when a table is damaged?

Tables that are made from others are made again. The others have a former generation, if that is whole; what was lost by
going back comes from the segments.

Not here: doing it (`repair`).
"""

from __future__ import annotations

import shlex
from pathlib import Path

import msgspec

from cobnut.errors import DataError
from cobnut.inspect.doctor.finding import Mend
from cobnut.inspect.doctor.manifests import TableManifest, is_whole, read_manifest
from cobnut.records import catalogue as tables
from cobnut.storage.generations import GenerationStore
from cobnut.storage.layout import CrawlFolder

MADE_AGAIN = {tables.RANKS.name: "rank", tables.DUPLICATES.name: "dedup", tables.ORPHANS.name: "invertlinks"}
"""Tables that one command makes anew from what else there is."""

LEARNED_AGAIN = (tables.ROBOTS.name, tables.HOSTDB.name)
"""Tables whose loss costs some requests and some memory of bad hosts."""


class Help(msgspec.Struct, frozen=True):
    """What helps, in words with the exact commands; and what `--repair` may do of it."""

    text: str
    mends: tuple[Mend, ...] = ()


def cobnut(command: str, folder: Path, *more: str) -> str:
    """A command line as it is typed."""
    return f"`cobnut {command} {' '.join(map(shlex.quote, (str(folder), *more)))}`"


def remove(*paths: Path) -> str:
    """How to remove what is not needed."""
    return f"`rm -r {' '.join(shlex.quote(str(path)) for path in paths)}`"


def folder_of(store: GenerationStore, number: int) -> Path:
    """Where a generation lies."""
    return store.path / f"g{number:06d}"


def for_table(crawl: CrawlFolder, name: str) -> Help:
    """What helps when the current generation of a table is damaged."""
    store = crawl.table(tables.table(name)).generations
    if name in MADE_AGAIN:
        text = f"{remove(store.path)}, then {cobnut(MADE_AGAIN[name], crawl.path)}, which makes it anew"
        return Help(text, (Mend("remove", str(store.path)),))
    if name == tables.ROBOTS.name:
        return Help(f"{remove(store.path)}: robots.txt files are asked for again", (Mend("remove", str(store.path)),))
    former = whole_former(store)
    if former is not None:
        return Help(_way_back(crawl, name, folder_of(store, former)))
    if name == tables.HOSTDB.name:
        return Help(f"{remove(store.path)}: what is known of hosts is learned again")
    if name == tables.LINKDB.name:
        return Help(f"{remove(store.path)}, then {cobnut('invertlinks', crawl.path)}: links of the segments on disk")
    if name == tables.SEEDS.name:
        return Help(f"{remove(store.path)}, then {cobnut('inject', crawl.path, 'SEEDS')} with all your seeds")
    return Help("restore it from a backup; there is no former generation that is whole")


def _way_back(crawl: CrawlFolder, name: str, former: Path) -> str:
    """The commands that go back to a whole generation, and come forward again."""
    back = cobnut("rollback", crawl.path, name)
    if name == tables.CRAWLDB.name:
        return f"{back}, then {cobnut('updatedb', crawl.path)}"
    if name == tables.LINKDB.name:
        return f"{back}, then {cobnut('invertlinks', crawl.path)}"
    if name != tables.PAGES.name:
        return back
    # the crawldb must not hold a segment that the pages have lost: it would never be applied to them again
    store = crawl.table(tables.CRAWLDB).generations
    manifest = read_manifest(former)
    held = {entry.segment for entry in manifest.applied} if isinstance(manifest, TableManifest) else set()
    number = store.current_number()
    current = read_manifest(folder_of(store, number)) if number is not None else None
    if isinstance(current, TableManifest) and {entry.segment for entry in current.applied} <= held:
        return back
    before = whole_former(store)
    behind = read_manifest(folder_of(store, before)) if before is not None else None
    if isinstance(behind, TableManifest) and {entry.segment for entry in behind.applied} <= held:
        return f"{back}, {cobnut('rollback', crawl.path, tables.CRAWLDB.name)}, then {cobnut('updatedb', crawl.path)}"
    return f"restore it from a backup (or {back}: what the pages said of themselves in the last round is then lost)"


def whole_former(store: GenerationStore) -> int | None:
    """The generation that a rollback would make current, if it is whole."""
    try:
        number = store.current_number()
    except DataError:
        return None
    former = None if number is None else store.previous(number)
    return former if former is not None and is_whole(folder_of(store, former)) else None


def for_segment(segment: Path) -> str:
    """What helps when nothing makes a file of a segment again."""
    return f"restore it, or {remove(segment)}: what is not in the crawldb yet is fetched again in a later round"
