"""A Cobnut of the next format version: upgrades a crawl by steps that link everything.

    python next_version.py DIR [--without WHAT]

Prints how many parts it changed. Tests that kill it fork it: `upgraded`.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

from cobnut.records import catalogue

catalogue.FORMAT_VERSION = 3  # before anything reads it

from cobnut.errors import CobnutError  # noqa: E402
from cobnut.storage.layout import CrawlFolder  # noqa: E402
from cobnut.storage.upgrade import Step, upgrade  # noqa: E402

OWN = {"manifest.json", "state.json"}
WHATS = (*(t.name for t in catalogue.TABLES if t.scope == "crawl"), "segment", "segment index", "index")


def link_all(old: Path, new: Path, manifest: dict[str, Any]) -> dict[str, Any]:
    """The same files; the manifest says which versions it has come through."""
    shutil.copytree(
        old, new, copy_function=os.link, dirs_exist_ok=True, ignore=lambda at, _: OWN if at == str(old) else set()
    )
    return {**manifest, "via": [*manifest.get("via", []), len(manifest.get("via", [])) + 1]}


def upgraded(words: list[str]) -> int:
    """As the command of that version does it: the exit code."""
    try:
        upgrade(CrawlFolder.open(Path(words[0])), steps=steps_without(None), target=3)
    except CobnutError as error:
        print(f"cobnut: {error.line()}", file=sys.stderr)
        return error.exit_code
    return 0


def steps_without(without: str | None) -> tuple[Step, ...]:
    """All steps of both versions but those of one sort of part."""
    return tuple(Step(what, since, link_all) for what in WHATS if what != without for since in (1, 2))


def main() -> None:
    words = sys.argv[1:]
    without = words[words.index("--without") + 1] if "--without" in words else None
    changed = upgrade(CrawlFolder.open(Path(words[0])), steps=steps_without(without), target=3)
    print(len(changed))


if __name__ == "__main__":
    main()
