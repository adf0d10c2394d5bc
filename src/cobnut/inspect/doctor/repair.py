"""How is done what `--repair` may do?

Only what loses nothing: what killed runs left goes, locks of the dead are wiped, CURRENT comes to name a whole
generation where it named none, what is made from other things is removed so that it is made again, a state is written
as the parts show it. All of it under the crawl's lock.

Not here: deciding what may be done (the checks do).
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from cobnut.errors import MachineError
from cobnut.inspect.doctor.finding import Finding, Mend
from cobnut.records.catalogue import FORMAT_VERSION
from cobnut.storage.files import io_errors, read_json, remove_tree, write_atomic, write_json
from cobnut.storage.generations import CURRENT, LOCK
from cobnut.storage.layout import CrawlFolder, SegmentFolder
from cobnut.storage.locks import WriterLock


def repair(crawl: CrawlFolder, findings: list[Finding]) -> list[Finding]:
    """Does what the findings allow; those that were put right, as such. A `MachineError` when somebody is at work."""
    done: list[Finding] = []
    seen: set[Mend] = set()
    with crawl.lock():
        for finding in findings:
            if not finding.mends:
                continue
            try:
                for mend in finding.mends:
                    if mend not in seen:
                        _do(crawl, mend)
                        seen.add(mend)
            except MachineError:
                continue  # the finding stays, and says what helps
            done.append(msgspec.structs.replace(finding, repaired=True))
    return done


def _do(crawl: CrawlFolder, mend: Mend) -> None:
    path = Path(mend.path)
    with io_errors(path, "repair"):
        if mend.doing == "remove":
            for one in (path, *map(Path, mend.more)):
                _remove(one)
        elif mend.doing == "current":
            with WriterLock(path / LOCK, path.name, crawl.lock_wait_s):
                if (path / CURRENT).is_dir():
                    remove_tree(path / CURRENT)
                write_atomic(path / CURRENT, f"{mend.value}\n".encode())
        elif mend.doing == "state":
            _write_state(SegmentFolder(path), mend.value)
        elif path != crawl.path / ".lock":  # that one is ours now, and is wiped at the end
            WriterLock(path, path.name).acquire().release()


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        remove_tree(path)
    else:
        path.unlink(missing_ok=True)


def _write_state(segment: SegmentFolder, state: str) -> None:
    """The state as the parts show it. What else a readable file says is kept."""
    path = segment.path / "state.json"
    if not segment.path.is_dir():
        return
    try:
        value = read_json(path)
    except MachineError:
        raise
    except Exception:
        value = None
    if not isinstance(value, dict) or not isinstance(value.get("format_version"), int):
        value = {"format_version": FORMAT_VERSION}
    if not isinstance(value.get("times"), dict):
        value.pop("times", None)
    if value.get("state") == state and os.path.exists(path):
        return
    write_json(path, {**value, "state": state})
