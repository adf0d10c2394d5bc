"""What lies where in a crawl's folder?

Not here: the contents of a table (`storage.tables`), publishing (`storage.generations`).
"""

from __future__ import annotations

import calendar
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cobnut.errors import DataError, InputError
from cobnut.records.catalogue import FORMAT_VERSION
from cobnut.records.columns import Table
from cobnut.storage.files import (
    TEMPORARY_PREFIX,
    fsync_folder,
    io_errors,
    maker_lives,
    not_allowed,
    read_json,
    remove_tree,
    sweep,
    temporary_name,
    write_atomic,
    write_json,
)
from cobnut.storage.generations import CURRENT, GenerationStore, check_version
from cobnut.storage.locks import WriterLock
from cobnut.storage.parts import part_files
from cobnut.storage.tables import TableStore, segment_remedy

SETTINGS_FILE = "cobnut.toml"
STATE_FILE = "state.json"
CRAWL_LOCK = ".lock"
FETCH_LOCK = ".fetch.lock"
PURGING = ".purging"
"""A file in the crawl's folder while its indexes are to be made again without what was purged."""

MOST_CLOCK_STEP_S = 100
"""A clock set back by no more than this is waited for."""

GENERATED, FETCHED, PARSED = "generated", "fetched", "parsed"


class SegmentFolder:
    """One round's folder: its parts, its WARC files, its index, and how far it has come."""

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, path.name

    def folder(self, table: Table) -> Path:
        """Where the parts of one of the segment's tables lie."""
        return self.path / table.name

    def part_files(self, table: Table) -> list[Path]:
        """The complete parts of one of the segment's tables."""
        return part_files(self.folder(table))

    @property
    def warc_path(self) -> Path:
        """Where what the servers sent lies."""
        return self.path / "warc"

    @property
    def index_path(self) -> Path:
        """The search index of this segment's pages."""
        return self.path / "index"

    def details(self) -> dict[str, Any]:
        """All that `state.json` says."""
        value = read_json(self.path / STATE_FILE, segment_remedy(self.path))
        check_version(value, self.path / STATE_FILE)
        return dict(value)

    def state(self) -> str:
        """generated, fetched or parsed."""
        return str(self.details()["state"])

    def set_state(self, state: str, **more: Any) -> None:
        """Records how far the segment has come; `more` is kept beside it."""
        path = self.path / STATE_FILE
        value: dict[str, Any] = read_json(path) if path.exists() else {"format_version": FORMAT_VERSION}
        value.update(state=state, **more)
        value.setdefault("times", {})[state] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        write_json(path, value)
        for left in self.path.glob(f"{TEMPORARY_PREFIX}{STATE_FILE}-*"):
            if not maker_lives(left.name):  # of a run that was killed just here
                left.unlink(missing_ok=True)

    def sweep(self) -> list[str]:
        """Removes what killed runs left in the segment."""
        gone = sweep(self.path)
        for entry in self.path.iterdir():
            if entry.is_dir() and entry.name != "index":
                gone += sweep(entry)
        return gone


class CrawlFolder:
    """A crawl on disk. Make one with `create`, come back to it with `open`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock_wait_s = 0.0
        self.grace_s = 60.0

    @classmethod
    def create(cls, path: Path, settings_text: str) -> CrawlFolder:
        """A new, empty crawl with that `cobnut.toml`. The folder may exist when it is empty."""
        with io_errors(path, "create the crawl"):
            if path.exists() and not path.is_dir():
                raise InputError("a file is in the way", where=str(path), remedy="choose another folder")
            if path.is_dir() and (path / SETTINGS_FILE).exists():
                raise InputError(
                    "there is a crawl here already",
                    where=str(path),
                    remedy="use it, or choose another folder",
                )
            if path.is_dir() and any(not p.name.startswith(TEMPORARY_PREFIX) for p in path.iterdir()):
                raise InputError(
                    "the folder is not empty and holds no crawl",
                    where=str(path),
                    remedy="choose another folder",
                )
            path.mkdir(parents=True, exist_ok=True)
            (path / "segments").mkdir(exist_ok=True)
            (path / "reports").mkdir(exist_ok=True)
            write_atomic(path / SETTINGS_FILE, settings_text.encode())
            fsync_folder(path)
        return cls(path)

    @classmethod
    def open(cls, path: Path) -> CrawlFolder:
        """An existing crawl; an `InputError` when the folder holds none."""
        if not path.exists():
            raise InputError("no such folder", where=str(path), remedy=f"make a crawl with `cobnut create {path}`")
        try:
            is_crawl = (path / SETTINGS_FILE).is_file()
            is_empty = path.is_dir() and not any(path.iterdir())
            is_index = is_published(path)
        except PermissionError:
            raise not_allowed(path) from None
        if is_index:
            raise InputError("a published index, not a crawl", where=str(path), remedy="name the folder of a crawl")
        if not is_crawl:
            raise InputError(
                "not a crawl (it holds no cobnut.toml)",
                where=str(path),
                remedy=f"make one with `cobnut create {path}`"
                if is_empty
                else "name the folder of a crawl, or a new one for a new crawl",
            )
        return cls(path)

    @property
    def settings_path(self) -> Path:
        """The crawl's settings file."""
        return self.path / SETTINGS_FILE

    @property
    def index_path(self) -> Path:
        """The merged index: generations of folders."""
        return self.path / "index"

    @property
    def reports_path(self) -> Path:
        """One JSON report a stage run."""
        return self.path / "reports"

    @property
    def segments_path(self) -> Path:
        """Where the segments lie."""
        return self.path / "segments"

    def index_generations(self) -> GenerationStore:
        """The generations of the merged index."""
        return GenerationStore(self.index_path, "index", lock_wait_s=self.lock_wait_s, grace_s=self.grace_s)

    def table(self, table: Table) -> TableStore:
        """One of the crawl's tables."""
        return TableStore(self.path / table.name, table, lock_wait_s=self.lock_wait_s, grace_s=self.grace_s)

    def lock(self) -> WriterLock:
        """The lock that a command holds which runs several stages."""
        return WriterLock(self.path / CRAWL_LOCK, f"the crawl {self.path}", self.lock_wait_s)

    def segments(self) -> list[SegmentFolder]:
        """All complete segments, oldest first; a `DataError` names one that has lost its state."""
        if not self.segments_path.is_dir():
            return []
        found = [p for p in self.segments_path.iterdir() if p.is_dir() and not p.name.startswith(".")]
        whole = []
        for path in sorted(found):
            if (path / STATE_FILE).exists():
                whole.append(SegmentFolder(path))
            elif any((path / name).is_dir() for name in ("fetchlist", "fetched")):  # a segment gets its name last
                raise DataError(
                    f"the segment has no {STATE_FILE}: how far it has come is lost", where=str(path),
                    remedy=segment_remedy(path),
                )  # fmt: skip
        return whole

    def segment(self, name: str) -> SegmentFolder:
        """The segment of that name (or at that path); an `InputError` names those there are."""
        wanted = Path(name).name if "/" in name else name
        for segment in self.segments():
            if segment.name == wanted:
                return segment
        known = ", ".join(s.name for s in self.segments()[-5:]) or "none yet"
        raise InputError(f"no segment is called {wanted!r}", where=str(self.segments_path), remedy=f"segments: {known}")

    def new_segment(
        self, now_ms: Callable[[], int], sleep: Callable[[float], None], fill: Callable[[SegmentFolder], Any]
    ) -> SegmentFolder:
        """A segment made by `fill`, which appears whole, named by the UTC second; a taken second waits for the next."""
        draft = self.draft_segment()
        try:
            fill(draft)
            return self.publish_segment(draft, GENERATED, now_ms, sleep)
        except BaseException:
            remove_tree(draft.path)
            raise

    def draft_segment(self) -> SegmentFolder:
        """A folder for a segment that nobody sees before `publish_segment` names it."""
        with io_errors(self.segments_path, "create a segment"):
            self.segments_path.mkdir(exist_ok=True)
            draft = SegmentFolder(self.segments_path / temporary_name("segment"))
            draft.path.mkdir()
        return draft

    def publish_segment(
        self, draft: SegmentFolder, state: str, now_ms: Callable[[], int], sleep: Callable[[float], None]
    ) -> SegmentFolder:
        """Gives a draft its state and its name, the UTC second; a taken second waits for the next."""
        draft.set_state(state)
        return self._name_segment(draft, now_ms, sleep)

    def _name_segment(
        self, draft: SegmentFolder, now_ms: Callable[[], int], sleep: Callable[[float], None]
    ) -> SegmentFolder:
        while True:
            name = time.strftime("%Y%m%d%H%M%S", time.gmtime(now_ms() / 1000))
            newest = max((p.name for p in self.segments_path.iterdir() if not p.name.startswith(".")), default="")
            target = self.segments_path / name
            if name > newest:
                with io_errors(target, "publish a segment"):
                    try:
                        os.rename(draft.path, target)
                    except OSError:
                        if not target.exists():
                            raise
                        continue
                    fsync_folder(self.segments_path)
                return SegmentFolder(target)
            if name < newest and seconds_of(newest) - seconds_of(name) > MOST_CLOCK_STEP_S:
                raise DataError(
                    f"the clock stands before the newest segment ({name} < {newest})", where=str(self.segments_path),
                    remedy="set the clock right; segments are applied in the order of their names",
                )  # fmt: skip
            sleep(0.05)

    def sweep_segments(self) -> list[str]:
        """Removes segments that killed runs left unfinished; only under the crawl's lock."""
        return sweep(self.segments_path)


def is_published(path: Path) -> bool:
    """Is the folder an index that was published: generations by themselves, though settings may lie beside them?"""
    return (path / CURRENT).is_file()


def seconds_of(name: str) -> int:
    """When a segment was named, in seconds since 1970; what is named otherwise is older than all."""
    try:
        return calendar.timegm(time.strptime(name, "%Y%m%d%H%M%S"))
    except ValueError:
        return 0
