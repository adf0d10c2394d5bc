"""How is a crawl handed back to Nutch?

`export_nutch` writes a crawl, which may be at work, into a new folder that real Nutch can read: in the layout of 1.x
(crawldb, linkdb, hostdb, segments), or in that of 0.7 (web database and segments). The folder appears whole or not at
all. Rows are sorted beside it by the embedded database and written one by one: memory does not grow with the crawl.

Not here: reading Nutch's files (`nutch07`, `nutch1`), importing (`nutch_import`).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from cobnut.config.sections import Settings
from cobnut.errors import InputError
from cobnut.interop.nutch_export.report import Exported
from cobnut.storage.files import fsync_tree, io_errors, maker_lives, remove_tree, temporary_name
from cobnut.storage.layout import CrawlFolder

Layout = Literal["1.x", "0.7"]
LAYOUTS: tuple[Layout, ...] = ("1.x", "0.7")
_SCRATCH = "scratch"

__all__ = ["LAYOUTS", "Exported", "Layout", "export_nutch"]


def export_nutch(
    crawl: CrawlFolder,
    settings: Settings,
    out: Path,
    layout: Layout = "1.x",
    on_part: Callable[[str], None] | None = None,
) -> Exported:
    """Writes *crawl* to the folder *out*, which may exist if it is empty; *on_part* hears of each part that begins."""
    from cobnut.interop.nutch_export.layout07 import write_layout07
    from cobnut.interop.nutch_export.layout1 import write_layout1
    from cobnut.interop.nutch_export.source import Source

    write = write_layout07 if layout == "0.7" else write_layout1
    most_bytes = max(settings.parser.max_html_bytes, settings.fetcher.other_max_bytes)
    with io_errors(out, "export"):
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise InputError("the target is not empty", where=str(out), remedy="name a new folder")
    if out.resolve().is_relative_to(crawl.path.resolve()):
        raise InputError("the target lies in the crawl", where=str(out), remedy="name a folder elsewhere")
    out = out.absolute()
    draft, scratch = (out.with_name(temporary_name(name)) for name in (out.name, f"{out.name}-{_SCRATCH}"))
    done = Exported(layout=layout)
    with io_errors(out, "export"):
        out.parent.mkdir(parents=True, exist_ok=True)
        _sweep(out)
        try:
            draft.mkdir()
            with Source(crawl, settings, scratch) as source:
                write(source, draft, most_bytes, done, on_part or (lambda name: None))
            fsync_tree(draft)
            done.bytes = sum(path.stat().st_size for path in draft.rglob("*") if path.is_file())
            os.rename(draft, out)
        finally:
            remove_tree(scratch)
            remove_tree(draft)
    return done


def _sweep(out: Path) -> None:
    """Removes what killed exports to the same folder left beside it; one that is at work stays."""
    for name in (out.name, f"{out.name}-{_SCRATCH}"):
        beginning = temporary_name(name).rsplit("-", 2)[0]
        for entry in out.parent.iterdir():
            pieces = entry.name.rsplit("-", 2)
            if len(pieces) == 3 and pieces[0] == beginning and pieces[1].isdigit() and not maker_lives(entry.name):
                remove_tree(entry)
