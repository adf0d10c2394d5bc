"""How does an index get to the folder, the disk or the machine that is searched?

`publish_index` copies the current generation of a merged index into a folder of its own, the *target*, as that folder's
next generation. The target needs nothing else: documents hold all that a result page shows. The copy becomes current
only when every byte was read back from the target and found right, so a server on the target goes from one whole index
to the next, whatever becomes of the publisher. What the target's former generation holds already is linked, not copied
again; nothing is ever linked between source and target: they may lie on different disks, and neither harms the other.

Not here: making the index (`stages.merge`), following it (`search.open`), what is current (`storage.generations`).
"""

from __future__ import annotations

import os
import re
import shutil
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import msgspec
import xxhash

from cobnut.errors import CobnutError, DataError, InputError, MachineError
from cobnut.index import damage
from cobnut.index.manifest import NAME as MANIFEST
from cobnut.index.manifest import read_manifest
from cobnut.index.reader import IndexReader
from cobnut.storage.files import (
    TEMPORARY_PREFIX,
    fsync_folder,
    io_errors,
    link_or_copy,
    read_json,
    this_machine,
)
from cobnut.storage.generations import CURRENT, LOCK, Generation, GenerationStore
from cobnut.storage.layout import SETTINGS_FILE
from cobnut.storage.tables import checksum

_BLOCK = 1 << 20
_GENERATION = re.compile(r"g[0-9]+")
_MAY_BE_THERE = frozenset({CURRENT, LOCK, SETTINGS_FILE, "lost+found"})
"""What may lie in a target besides generations: its own files, settings of the search machine, what a disk brings."""


class PublishReport(msgspec.Struct, frozen=True, kw_only=True):
    """What one publication did. `copied_bytes` of `bytes` were copied; the rest was in the target already."""

    generation: int
    doc_count: int
    bytes: int = 0
    copied_bytes: int = 0
    unchanged: bool = False
    messages: tuple[str, ...] = ()


def publish_index(source: GenerationStore, target: GenerationStore) -> PublishReport:
    """Makes the source's current generation the target's; nothing is written when it is already there.

    An `InputError` when the target is a crawl, the source itself, or holds anything else; a `DataError` when there
    is no index, or it cannot be read; a `MachineError` when another process publishes there, or the disk is full.
    """
    check_target(source, target)
    held = source.current()
    if held is None:
        raise DataError(
            "no index yet",
            where=str(source.path),
            remedy="make one with `cobnut index` and `cobnut merge`, then publish",
        )
    with held:
        digest = checksum(held.path / MANIFEST)  # it names generation, time and all that went in
        manifest = read_manifest(held.path)
        is_new = not target.path.exists()
        with target.begin() as draft:
            if is_new:
                with io_errors(target.path, "create"):
                    fsync_folder(target.path.absolute().parent)
            former = _former(target)
            with former or nullcontext():
                if former is not None and _holds(former, digest):
                    return PublishReport(
                        generation=former.number, doc_count=manifest.doc_count, bytes=_size(former.manifest),
                        unchanged=True, messages=tuple(draft.messages),
                    )  # fmt: skip
                files, copied = _fill(draft.path, held.path, former)
            _check_readable(draft.path, held, manifest.doc_count)
            published = {
                "digest": digest,
                "from": str(source.path.absolute()),
                "on": this_machine(),
                "generation": held.number,
                "created_at": held.manifest.get("created_at"),
            }
            fields = {**manifest.fields(), "left_out": held.manifest.get("left_out", {})}
            number = draft.publish({**fields, "published": published, "files": files})
            return PublishReport(
                generation=number, doc_count=manifest.doc_count, bytes=sum(f["bytes"] for f in files),
                copied_bytes=copied, messages=tuple(draft.messages),
            )  # fmt: skip


def check_target(source: GenerationStore, target: GenerationStore) -> None:
    """Refuses a target in which something else lies than what was published there."""
    path = target.path
    remedy = "name an empty folder, or one that was published to before"
    if not path.exists():
        return
    if not path.is_dir():
        raise InputError("the target is not a folder", where=str(path), remedy=remedy)
    if source.path.exists() and path.samefile(source.path):
        raise InputError("the target is the index itself", where=str(path), remedy=remedy)
    with io_errors(path, "read the target"):
        names = sorted(entry.name for entry in os.scandir(path))
    strange = [
        name for name in names
        if name not in _MAY_BE_THERE and not name.startswith(TEMPORARY_PREFIX) and not _GENERATION.fullmatch(name)
    ]  # fmt: skip
    if strange:
        raise InputError(f"the target holds something else ({strange[0]})", where=str(path), remedy=remedy)
    numbers = target.numbers()
    if numbers and not any(_was_published(path / f"g{number:06d}") for number in numbers):
        raise InputError("the target is an index that was made there, not published", where=str(path), remedy=remedy)


def _was_published(generation: Path) -> bool:
    try:
        manifest = read_json(generation / MANIFEST)
    except CobnutError:
        return False
    return isinstance(manifest, dict) and "published" in manifest


def _former(target: GenerationStore) -> Generation | None:
    """The target's current generation; None when there is none, or it is damaged and is to be replaced."""
    try:
        return target.current()
    except DataError:
        return None


def _holds(former: Generation, digest: str) -> bool:
    """Whether a published generation is that of the source, with all its files."""
    if former.manifest.get("published", {}).get("digest") != digest:
        return False
    try:
        return all((former.path / f["name"]).stat().st_size == f["bytes"] for f in former.manifest["files"])
    except (OSError, KeyError, TypeError):
        return False


def _size(manifest: dict[str, Any]) -> int:
    return sum(int(f["bytes"]) for f in manifest.get("files", ()))


def index_files(folder: Path) -> list[Path]:
    """The files of an index, without its manifest and the engine's locks."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return sorted(
        path for path in found
        if path != folder / MANIFEST and not path.name.startswith((TEMPORARY_PREFIX, ".tantivy-"))
    )  # fmt: skip


def _fill(draft: Path, source: Path, former: Generation | None) -> tuple[list[dict[str, Any]], int]:
    """Puts all files of the source into the draft: (entries for the manifest, bytes that were copied)."""
    paths = index_files(source)
    there = _reusable(former)
    with io_errors(draft, "publish the index"):
        sizes = {path: path.stat().st_size for path in paths}
        new_bytes = sum(size for size in sizes.values() if size not in {size for size, _ in there})
        free = shutil.disk_usage(draft).free
        if new_bytes > free:
            raise MachineError(
                f"the index needs {new_bytes:,} bytes and {free:,} are free", where=str(draft.parent),
                remedy="free some space and run the command again; what was published before is still served",
            )  # fmt: skip
        entries, copied = [], 0
        for path in paths:
            target = draft / path.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            digest, was_copied = _place(path, target, sizes[path], there)
            copied += sizes[path] if was_copied else 0
            entries.append({"name": str(path.relative_to(source)), "bytes": sizes[path], "xxh3": digest})
        return entries, copied


def _reusable(former: Generation | None) -> dict[tuple[int, str], Path]:
    """Files of the target's current generation by size and checksum."""
    if former is None:
        return {}
    try:
        return {(f["bytes"], f["xxh3"]): former.path / f["name"] for f in former.manifest["files"]}
    except (KeyError, TypeError):
        return {}


def _place(path: Path, target: Path, size: int, there: dict[tuple[int, str], Path]) -> tuple[str, bool]:
    """Makes `target` hold the bytes of `path` for certain: (checksum, whether they were copied)."""
    if any(size == known for known, _ in there):
        digest = checksum(path)
        twin = there.get((size, digest))
        if twin is not None:
            with suppress(FileNotFoundError):
                link_or_copy(twin, target)
                if _read_back(target) == digest:
                    return digest, False
                target.unlink()  # damaged since it was published
    digest = _copy(path, target)
    if _read_back(target) != digest:
        raise MachineError(
            "what was written is not what is read back", where=str(target),
            remedy="check the disk; what was published before is still served",
        )  # fmt: skip
    return digest, True


def _copy(source: Path, target: Path) -> str:
    """Copies a file and makes it durable; the checksum of what was read."""
    digest = xxhash.xxh3_128()
    with open(source, "rb") as read, open(target, "wb") as write:
        while block := read.read(_BLOCK):
            digest.update(block)
            write.write(block)
        write.flush()
        os.fsync(write.fileno())
    return digest.hexdigest()


def _read_back(path: Path) -> str:
    """The checksum of a durable file, from the disk where the system lets its cache be dropped."""
    if hasattr(os, "posix_fadvise"):
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(fd)
    return checksum(path)


def _check_readable(draft: Path, held: Generation, doc_count: int) -> None:
    """Opens the copy as a searcher would: an index that cannot be read is never published."""
    manifest = draft / MANIFEST
    manifest.write_bytes((held.path / MANIFEST).read_bytes())
    try:
        reader = IndexReader(draft)
    except DataError as error:  # the copy is what its source is
        found_fault = damage.fault(held.path)
        raise found_fault or DataError(error.what, where=str(held.path), remedy=damage.remedy(held.path)) from error
    found = reader.doc_count
    del reader
    manifest.unlink()  # the target's own is written at the end
    for lock in draft.glob(".tantivy-*.lock"):
        lock.unlink()
    if found != doc_count:
        raise DataError(
            f"the index holds {found:,} documents, its manifest says {doc_count:,}", where=str(held.path),
            remedy="run `cobnut merge` again",
        )  # fmt: skip
