"""What did somebody ask this crawl to forget, and is it done?

Not here: the table and the index (`stages.forget`), purging what lies in the segments (`crawl.cleaning`).
"""

from __future__ import annotations

from collections.abc import Sequence

from cobnut.config.sections import Settings
from cobnut.crawl.reports import StepReport, reporting
from cobnut.errors import InputError
from cobnut.frontier.forgotten import HOST, PREFIX, URL, key_test, one_entry
from cobnut.observe.clock import Clock, SystemClock
from cobnut.records import catalogue as tables
from cobnut.stages.forget import Entry, drop_from_index, remember, take_back
from cobnut.storage.layout import CrawlFolder
from cobnut.storage.tables import batches_of
from cobnut.urls.hosts import host_of
from cobnut.urls.resolve import compile_forms

MOST_REASON_CHARS = 1_000


def entry_of(kind: str, text: str, settings: Settings) -> Entry:
    """What a person typed, in normalised form; an `InputError` when it is nothing of the kind.

    Without a scheme http:// is meant, but not in a prefix, which may be cut off anywhere. A URL that is no one's page
    is forgotten all the same: it may be linked to.
    """
    forms = compile_forms(settings.urls.normalizers)
    wanted = text.strip()
    if kind == PREFIX and "://" not in wanted:
        raise InputError(
            "not the beginning of a URL", where=repr(text[:200]), remedy="write it with its scheme: http://host/folder/"
        )
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
        report.messages += [
            f"nothing is known of {e.kind} {e.value}: it is kept out from now on" for e in unknown_to(crawl, entries)
        ]
    return report


def unknown_to(crawl: CrawlFolder, entries: Sequence[Entry]) -> list[Entry]:
    """Entries that no URL of the crawldb belongs to: whoever asked may have mistyped them."""
    import pyarrow.compute as pc

    tests = {entry: key_test(one_entry(entry.kind, entry.value)) for entry in entries}
    hosts = {entry.value if entry.kind == HOST else host_of(entry.value) for entry in entries}
    version = crawl.table(tables.CRAWLDB).current()
    if version is not None:
        with version:
            for batch in batches_of(tables.CRAWLDB, version.files(), ["url_key", "host"], 65_536):
                concerned = batch.filter(pc.field("host").isin(sorted(hosts)))
                for key in concerned.column("url_key").to_pylist():
                    tests = {entry: test for entry, test in tests.items() if not test(key)}
                if not tests:
                    break
    return list(tests)


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
