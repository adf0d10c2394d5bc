"""Is a crawl whole, and what helps where it is not?

`examine` looks at every table, segment, archive and index, at locks, leavings and the clock. It changes nothing but
what it is asked to repair. Whatever the bytes are, it ends with a list of findings: what would harm its own process is
opened in another one.

Not here: how a person is told (`cli.commands.doctor`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from cobnut.errors import CobnutError
from cobnut.inspect.doctor import across, archives, generations, indexes, leftovers, segments, tables
from cobnut.inspect.doctor.finding import Checked, Diagnosis, Finding
from cobnut.inspect.doctor.probe import Probe
from cobnut.inspect.doctor.repair import repair as _repair
from cobnut.inspect.doctor.visit import Visit
from cobnut.observe.clock import Clock, SystemClock
from cobnut.storage.layout import CrawlFolder

__all__ = ["Diagnosis", "Finding", "examine", "examine_published"]

Say = Callable[[str], None]

MOST_PASSES = 3
"""What one repair brings to light the next one may put right."""


def examine(
    crawl: CrawlFolder, *, deep: bool = False, repair: bool = False, clock: Clock | None = None,
    say: Say = lambda doing: None,
) -> Diagnosis:  # fmt: skip
    """Looks at a whole crawl; with `repair` puts right what can be without losing anything, and looks again."""
    clock = clock or SystemClock()
    found = _look(crawl, deep, clock, say)
    repaired: list[Finding] = []
    for _ in range(MOST_PASSES if repair else 0):
        if not any(finding.mends for finding in found.findings):
            break
        repaired += _repair(crawl, found.findings)
        found = _look(crawl, deep, clock, say)
    found.findings = repaired + found.findings
    return found


def examine_published(path: Path, *, deep: bool = False, say: Say = lambda doing: None) -> Diagnosis:
    """Looks at a folder that an index was published to."""
    diagnosis = Diagnosis(str(path), deep)
    with Probe() as probe:
        indexes.check_published(Visit(CrawlFolder(path), probe, diagnosis, 0, say), path)
    return diagnosis


def _look(crawl: CrawlFolder, deep: bool, clock: Clock, say: Say) -> Diagnosis:
    diagnosis = Diagnosis(str(crawl.path), deep, checked=Checked(), at_work=leftovers.at_work(crawl))
    with Probe() as probe:
        visit = Visit(crawl, probe, diagnosis, clock.now_ms(), say)
        try:
            _check(visit)
        finally:
            for generation, _ in visit.sound.values():
                generation.close()
    return diagnosis


def _check(visit: Visit) -> None:
    for table in tables.CRAWL_TABLES:
        _safely(visit, table.name, partial(generations.check_table, visit, table))
    for table in tables.CRAWL_TABLES:
        if table.name in visit.sound:
            _safely(visit, table.name, partial(tables.check_rows, visit, table))
    _safely(visit, "crawldb", lambda: across.check_applied(visit))
    _safely(visit, "crawldb", lambda: across.check_keys(visit))
    looked: list[segments.Looked] = []
    _safely(visit, "segments", lambda: looked.extend(segments.check_segments(visit)))
    _safely(visit, "segments", lambda: segments.check_applied(visit, looked))
    for one in looked:
        _safely(visit, f"segments/{one.segment.name}", partial(archives.check_archives, visit, one))
        _safely(visit, f"segments/{one.segment.name}", partial(indexes.check_segment_index, visit, one.segment))
    _safely(visit, "index", lambda: indexes.check_merged(visit, looked))
    _safely(visit, "", lambda: leftovers.check_temporaries(visit))
    _safely(visit, "", lambda: leftovers.check_locks(visit))
    _safely(visit, "", lambda: leftovers.check_unfinished(visit))


def _safely(visit: Visit, where: str, check: Callable[[], object]) -> None:
    """Runs one check; what keeps it from its end is a finding, and the others go on."""
    place = visit.crawl.path / where
    try:
        check()
    except CobnutError as error:
        visit.find(
            "unreadable", error.what, error.where or place, "the rest of it was not looked at",
            error.remedy or "see what stands in the way",
        )  # fmt: skip
    except OSError as error:
        visit.find(
            "unreadable", f"it cannot be read ({error.strerror or error})", error.filename or place,
            "the rest of it was not looked at", "see what stands in the way, and run the command again",
        )  # fmt: skip
    except Exception as error:  # what nobody has thought of yet must not hide what the other checks find
        visit.find(
            "unexpected", f"a check met what it does not know ({type(error).__name__}: {str(error)[:200]})", place,
            "the rest of it was not looked at", "please report it; restore what is named here if it is damaged",
        )  # fmt: skip
