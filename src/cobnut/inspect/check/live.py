"""What do servers answer now, to the fetcher as a crawl uses it?

A `Visitor` is one worker's round without a crawl: the same loop, name look-ups, address guard, robots.txt, pace,
redirects and archive as `fetcher.worker`, in this process, in a temporary folder.

Not here: whether the user has said who they are (`cli.agent`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from cobnut import __version__
from cobnut.fetcher.endpoints import parse_proxy
from cobnut.fetcher.identity import identity, limits
from cobnut.fetcher.lenient import LenientTries
from cobnut.fetcher.loop import Loop
from cobnut.fetcher.messages import FetchSpec, Passed
from cobnut.fetcher.names import Names
from cobnut.fetcher.results import PartOutput
from cobnut.fetcher.run import Run
from cobnut.fetcher.task import Origin, Task
from cobnut.inspect.check.basis import Basis
from cobnut.records.catalogue import FETCHED, HOSTS
from cobnut.storage.layout import SegmentFolder
from cobnut.storage.tables import read_files
from cobnut.urls.addresses import read_ip
from cobnut.urls.filters import Scope
from cobnut.urls.hosts import bucket_of, host_of, origin_of, robots_url
from cobnut.urls.overrides import parse_resolve, pick_rule
from cobnut.urls.resolve import UrlForms

LONGEST_S = 120.0
"""A visit that takes longer (a host that asks for a pause) starts nothing more."""


class Visit(msgspec.Struct, frozen=True):
    """What a visit brought. `hops` are rows of `fetched`, `robots` rows of `hosts`; `headers` and `body` are those of
    the last answer, None when there is none with a body to parse."""

    hops: list[dict[str, Any]]
    robots: list[dict[str, Any]]
    headers: list[tuple[str, str]] | None
    body: bytes | None

    @property
    def last(self) -> dict[str, Any] | None:
        """The row of the last hop; None when nothing was begun."""
        return self.hops[-1] if self.hops else None


class Visitor:
    """Visits pages and robots.txt files. Use it as a context manager; `finish` ends the round."""

    def __init__(self, basis: Basis, clock: Callable[[], float]) -> None:
        settings = basis.settings
        proxy = parse_proxy(settings.fetcher.proxy)
        self._folder = tempfile.TemporaryDirectory(prefix="cobnut-check-")
        self._segment = SegmentFolder(Path(self._folder.name))
        self._segment.warc_path.mkdir()
        self.rules = tuple(map(parse_resolve, settings.fetcher.resolve))
        spec = FetchSpec(
            segment_path=str(self._segment.path), fetcher=settings.fetcher, urls=settings.urls, scope=Scope("web"),
            guard=basis.guard, rules=self.rules, proxy=proxy.url if proxy is not None else "",
            software=f"Cobnut/{__version__}", deadline_s=LONGEST_S,
        )  # fmt: skip
        who, bounds = identity(settings.fetcher, __version__, spec.proxy), limits(settings.fetcher)
        self.user_agent = who.user_agent
        self._loop = Loop(who, bounds, 8, settings.fetcher.nameservers, clock, str(self._segment.warc_path))
        self._lenient = LenientTries(who, bounds)
        self._output = PartOutput(self._segment.path, 0, settings.fetcher.warc_max_bytes, {})
        self._passed: list[Passed] = []
        self._run = Run(spec, [self._output], self._loop, self._lenient, who, bounds, clock, self._passed.append)
        self._loop.add_reader(self._lenient.fd, self._take_lenient)
        self._finished = False

    def names(self, host: str) -> Names:
        """The addresses of a name, asked of the name servers."""
        found: list[Names] = []
        self._loop.resolver.lookup(host, found.append)
        while not found:
            self._loop.turn(0.1, self._run.answered)
        return found[0]

    def fixed(self, host: str, port: int) -> tuple[str, int] | None:
        """Where `--resolve` sends a connection; None when it says nothing of it."""
        rule = pick_rule(self.rules, host, port)
        if rule is None or (rule.host == "*" and read_ip(host) is not None):
            return None
        return rule.target(port)

    def robots(self, url: str) -> None:
        """Asks for the robots.txt of a URL's origin."""
        origin, host = origin_of(url), host_of(url)
        self._run.origins.set(origin, Origin())
        self._run.pace.own(host, bucket_of(host), self._output)
        where = robots_url(url)
        task = Task(where, where, host, bucket_of(host), self._output, 0, 0, robots_of=origin)
        self._run.queues.add(host, task, first=True)
        self._until_idle()

    def page(self, made: UrlForms) -> None:
        """Asks for a page, after its robots.txt, and follows where it leads."""
        self._run.add(Task(made.url, made.key, made.host, made.bucket, self._output, 0, 0))
        self._until_idle()

    def delay_s(self, host: str) -> float:
        """Seconds between two requests to a host that was visited."""
        return self._run.queues.host(host).delay_s

    def finish(self) -> Visit:
        """Ends the round and gives what it brought."""
        self._finished = True
        self._run.close(whole=True)
        hops = read_files(FETCHED, self._segment.part_files(FETCHED)).to_pylist()
        hosts = read_files(HOSTS, self._segment.part_files(HOSTS)).to_pylist()
        answer = self._last_answer(hops[-1]) if hops and hops[-1]["outcome"] == "success" else None
        return Visit(hops, [row for row in hosts if row["event"] == "robots"], *(answer or (None, None)))

    def _last_answer(self, row: dict[str, Any]) -> tuple[list[tuple[str, str]], bytes] | None:
        """An answer as the archive has it: read as parsing reads it."""
        from cobnut.parsers.tasks import PageTask
        from cobnut.parsers.worker import Archive

        archive = Archive(self._segment.warc_path)
        names = ("url_key", "url", "host", "bucket", "fetched_at", "score", "depth", "truncated", "digest")
        task = PageTask(**{n: row[n] for n in names}, warc_file=row["warc_file"], warc_offset=row["warc_offset"])
        try:
            found = archive.read(task)
        finally:
            archive.close()
        return None if found is None else (list(found[0]), found[1])

    def _until_idle(self) -> None:
        while not self._run.idle or self._passed:
            while self._passed:
                self._run.passed(self._passed.pop(0))
            self._loop.turn(self._run.turn(), self._run.answered)

    def _take_lenient(self) -> None:
        for token, answer in self._lenient.take():
            self._run.answered(token, answer)

    def __enter__(self) -> Visitor:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._finished:
            self._run.close(whole=False)
        self._lenient.close()
        self._loop.close()
        self._folder.cleanup()
