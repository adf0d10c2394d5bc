"""What does an index folder hold?

`manifest.json` is written last: a folder without it is not an index. It names the format version, how documents are
cut (`schema_digest`), how many documents of which crawl segments are inside, and a digest of what it was made from,
by which a stage sees that nothing has changed. A published generation of the merged index has the store's fields
beside these.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from cobnut.errors import DataError
from cobnut.index.damage import MANIFEST, remedy
from cobnut.records.catalogue import FORMAT_VERSION
from cobnut.storage.files import not_allowed, write_json

NAME = MANIFEST


class IndexManifest(msgspec.Struct, frozen=True, kw_only=True):
    """The small file that says what an index folder holds. `segments` are the crawl segments whose pages are inside."""

    format_version: int
    schema_digest: str
    doc_count: int
    index_segments: int
    segments: tuple[str, ...] = ()
    inputs_digest: str = ""
    sources: dict[str, str] = {}  # of a merged index: crawl segment to the digest of its index
    dropped_count: int = 0
    checksums: dict[str, int] = {}  # of the engine's files, by name

    def fields(self) -> dict[str, Any]:
        """As plain values, for a store that writes the manifest itself."""
        values: dict[str, Any] = msgspec.to_builtins(self)
        return values


def write_manifest(folder: Path, manifest: IndexManifest) -> None:
    """Write it and make it durable; the folder's other files must be durable already."""
    write_json(folder / NAME, manifest.fields())


def read_manifest(folder: Path) -> IndexManifest:
    """Read it; a `DataError` says what is wrong with the folder."""
    path = folder / NAME
    try:
        manifest = msgspec.json.decode(path.read_bytes(), type=IndexManifest)
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(
            "no index", where=str(folder), remedy="make one with `cobnut index` and `cobnut merge`"
        ) from None
    except PermissionError:
        raise not_allowed(path) from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, OSError) as error:
        raise DataError(f"the index's manifest is damaged ({error})", where=str(path), remedy=remedy(folder)) from None
    if manifest.format_version < 1:
        raise DataError(
            f"no released Cobnut wrote format version {manifest.format_version}", where=str(path), remedy=remedy(folder)
        )
    if manifest.format_version > FORMAT_VERSION:
        raise DataError(
            f"the index has format version {manifest.format_version}, this program knows up to {FORMAT_VERSION}",
            where=str(folder),
            remedy="use a newer Cobnut",
        )
    return manifest
