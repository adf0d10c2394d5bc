"""A Cobnut of the next format version: upgrades a crawl by steps that link everything, and may be killed on the way.

    python next_version.py DIR [KILL_AT] [--without WHAT]

KILL_AT kills the process (SIGKILL) before that rename (1 is the first), hidden names aside. Prints how many it made.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

from cobnut.records import catalogue

catalogue.FORMAT_VERSION = 3  # before anything reads it

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


def main() -> None:
    words = sys.argv[1:]
    without = words[words.index("--without") + 1] if "--without" in words else None
    kill_at = int(words[1]) if len(words) > 1 and words[1].isdigit() else 0
    renames = 0

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal renames
        # what is hidden to be removed is no step of publishing
        if event == "os.rename" and not os.path.basename(os.fspath(arguments[1])).startswith(".tmp-"):
            renames += 1
            if renames == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)
    steps = tuple(Step(what, since, link_all) for what in WHATS if what != without for since in (1, 2))
    changed = upgrade(CrawlFolder.open(Path(words[0])), steps=steps, target=3)
    print(len(changed), renames)


if __name__ == "__main__":
    main()
