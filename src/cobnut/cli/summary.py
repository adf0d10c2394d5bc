"""How does a crawl tell what it came to?

The summary names what was left out and why, each reason with its documented sentence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from cobnut.cli.reports import counted
from cobnut.config.durations import show_duration
from cobnut.inspect.show import iso_time, plain, reason_text
from cobnut.records.outcomes import FLAGS

if TYPE_CHECKING:
    from cobnut.crawl.driver import Summary

_ENDS = {
    "done": "nothing more is due now",
    "max_pages": "the limit crawl.max_pages is reached; run it again to go on",
    "fruitless": "stopped, since several rounds in a row brought no answer at all; run it again to go on",
    "max_time": "the limit crawl.max_time_s is reached; run it again to go on",
    "interrupted": "stopped by you; run it again to go on",
}


def summary_lines(summary: Summary, crawl_dir: str, robots_causes: Mapping[str, int] | None = None) -> Iterator[str]:
    """The summary, line by line. `robots_causes`: origins whose robots.txt could not be read, by the reason."""
    rate = f", {summary.pages / summary.wall_s:,.1f} pages/s" if summary.wall_s >= 1 else ""
    took = f"{_many(summary.rounds, 'round')}, {show_duration(summary.wall_s)}{rate}"
    yield f"{_many(summary.pages, 'page')} fetched in {took}: {_ENDS.get(summary.ended, summary.ended)}"
    if summary.crawldb:
        yield f"URLs known: {sum(summary.crawldb.values()):,} ({counted(summary.crawldb, by_size=True)})"
    causes = {"robots_unreachable": counted(robots_causes, by_size=True)} if robots_causes else {}
    yield from _reasons("Not fetched, or not as a page", summary.reasons, causes)
    yield from _reasons("Links that did not enter, counted round by round", summary.left_out)
    yield from _reasons("Known, and held back", summary.held)
    yield from _told("Fetched, and no page to be read", summary.flags, FLAGS)
    yield from _told("Refused, and not to everybody", summary.refusals, FLAGS)
    if any(summary.duplicates.values()):
        yield f"Copies not shown: {counted(summary.duplicates, by_size=True)}"
    for line in summary.messages:
        yield f"Note: {plain(line)}"
    for url, why in summary.failed_seeds:
        more = f"`cobnut why {plain(crawl_dir)} URL` tells more"
        yield f"Seed without a page: {plain(url, 300)}: {plain(why, 200)}; {more}"
    if summary.next_due_at is not None:
        yield f"Next due: {iso_time(summary.next_due_at)}"
    yield (
        f"{_many(summary.documents, 'page')} can be searched: "
        f'cobnut search {plain(crawl_dir)} "words", or cobnut serve {plain(crawl_dir)}'
    )


def _told(title: str, counts: Mapping[str, int], sentences: Mapping[str, str]) -> Iterator[str]:
    shown = sorted(((n, c) for n, c in counts.items() if c), key=lambda item: (-item[1], item[0]))
    if shown:
        yield f"{title}:"
    for name, count in shown:
        yield f"  {count:>9,}  {plain(name)}: {sentences.get(name, '')}"


def _reasons(title: str, reasons: dict[str, int], causes: Mapping[str, str] | None = None) -> Iterator[str]:
    shown = sorted(((n, c) for n, c in reasons.items() if c), key=lambda item: (-item[1], item[0]))
    if not shown:
        return
    yield f"{title}:"
    for name, count in shown:
        sentence = reason_text(name)
        cause = (causes or {}).get(name)
        more = f" Origins by cause: {cause}." if cause else ""
        yield f"  {count:>9,}  {plain(name)}{': ' + sentence if sentence else ''}{more}"


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
