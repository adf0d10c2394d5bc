"""What did somebody ask this crawl to forget, and is it done?

Not here: the table and the index (`stages.forget`), purging what lies in the segments (`crawl.cleaning`).
"""

from __future__ import annotations

from collections.abc import Sequence

from cobnut.config.sections import Settings
from cobnut.crawl.reports import StepReport, reporting
from cobnut.errors import InputError
from cobnut.frontier.forgotten import HOST, PREFIX, URL
from cobnut.observe.clock import Clock, SystemClock
from cobnut.stages.forget import Entry, drop_from_index, remember, take_back
from cobnut.storage.layout import CrawlFolder
from cobnut.urls.resolve import compile_forms

MOST_REASON_CHARS = 1_000


def entry_of(kind: str, text: str, settings: Settings) -> Entry:
    """What a person typed, in normalised form; an `InputError` when it is nothing of the kind.

    Without a scheme http:// is meant; a URL that is no one's page is forgotten all the same: it may be linked to.
    """
    forms = compile_forms(settings.urls.normalizers)
    wanted = text.strip()
    found = forms(f"http://{wanted.strip('/')}/") if kind == HOST and "://" not in wanted else forms(wanted)
    if found is None and "://" not in wanted:
        found = forms(f"http://{wanted}")
    if found is None:
        what = "the name of a host" if kind == HOST else "an http or https URL"
        raise InputError(f"not {what}", where=repr(text[:200]))
    if kind == HOST:
        return Entry(HOST, found.host)
    return Entry(kind, found.normalized)


def forget(
    crawl: CrawlFolder, settings: Settings, entries: Sequence[Entry], reason: str | None, clock: Clock | None = None
) -> StepReport:
    """Records what is to be forgotten, and takes it out of the index. `details` says what and which generation."""
    clock = clock or SystemClock()
    with reporting(crawl, "forget") as report:
        told = reason.strip()[:MOST_REASON_CHARS] if reason else None
        remember(crawl, entries, told or None, clock.now_ms())
        documents, generation = drop_from_index(crawl, settings)
        report.counts = {"entries": len(entries), "documents": documents}
        report.details = {
            "forgotten": [{"kind": e.kind, "value": e.value} for e in entries],
            "reason": told,
            "generation": generation,
        }
    return report


def undo(crawl: CrawlFolder, entries: Sequence[Entry], clock: Clock | None = None) -> StepReport:
    """Takes back that something is to be forgotten; an `InputError` names what was not."""
    with reporting(crawl, "forget") as report:
        unknown = take_back(crawl, entries, (clock or SystemClock()).now_ms())
        if unknown:
            raise InputError(
                f"the {unknown[0].kind} is not among what is forgotten", where=unknown[0].value,
                remedy=f"see `cobnut forget {crawl.path} --list`",
            )  # fmt: skip
        report.counts = {"taken_back": len(entries)}
        report.details = {"taken_back": [{"kind": e.kind, "value": e.value} for e in entries]}
    return report


__all__ = ["HOST", "PREFIX", "URL", "entry_of", "forget", "undo"]
