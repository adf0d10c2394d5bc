"""What does the robots.txt of each origin say, and who waits for it?

A robots.txt is fetched before the first URL of its origin. Up to five redirects are followed, to other hosts
too, each at the pace of the host it leads to and through the guard; what comes counts for the first origin
(RFC 9309 section 2.3.1.2). A target on a host that another worker asks is fetched there and told back: no
host is ever asked by two processes. What a URL brought is kept, so that a hundred origins that redirect to
one file cost one request.

Not here: the rules in the file (`fetcher.robots`), requests (`fetcher.run`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from cobnut.fetcher import outcome, robots
from cobnut.fetcher.answer import Answer, now_ms
from cobnut.fetcher.messages import RobotsAsk, RobotsTold
from cobnut.fetcher.outcome import Verdict
from cobnut.fetcher.pace import Pace
from cobnut.fetcher.politeness import HostQueues
from cobnut.fetcher.redirects import MAX_ROBOTS_HOPS, Refused, next_hop
from cobnut.fetcher.results import PartOutput
from cobnut.fetcher.task import Origin, Task
from cobnut.urls.hosts import bucket_of, host_of, robots_url
from cobnut.urls.resolve import Forms

LONGEST_WAIT_S = 120.0
"""How long another worker may take to tell a robots.txt, its host's pace included."""

MAX_REMEMBERED, MAX_REMEMBERED_BYTES = 20_000, 32 * 1024 * 1024

OURS = ("private_address", "no_agent")
"""Refusals of ours: an option of the next run may lift them, so they are not remembered against an origin."""

NAMING_FAILED = ("dns_failed", "dns_timeout", *OURS)


class Waiters(Protocol):
    """What becomes of the URLs that waited."""

    def resume(self, task: Task, origin: Origin) -> None:
        """The robots.txt of the task's origin is known."""
        ...

    def give_up(self, task: Task, reason: str) -> None:
        """It will not be known in this round."""
        ...


class Origins:
    """The robots.txt files of one worker's round."""

    def __init__(
        self, agent: str, cap: int, forms: Forms, queues: HostQueues[Task], pace: Pace, waiters: Waiters,
        clock: Callable[[], float], pass_on: Callable[[RobotsAsk | RobotsTold], None],
    ) -> None:  # fmt: skip
        self._agent, self._cap, self._forms = agent, cap, forms
        self._queues, self._pace, self._waiters, self._clock, self._pass_on = queues, pace, waiters, clock, pass_on
        self._by_name: dict[str, Origin] = {}
        self._told: dict[str, RobotsTold] = {}
        self._told_bytes = 0
        self._asked: dict[str, tuple[float, PartOutput]] = {}
        self.known = 0
        self.opening: set[str] = set()  # origins that were begun, and no page of theirs was begun since

    @property
    def asked(self) -> int:
        """Files that another worker is to tell."""
        return len(self._asked)

    def get(self, name: str) -> Origin | None:
        """What is known of an origin; None when nothing was begun."""
        return self._by_name.get(name)

    def set(self, name: str, origin: Origin) -> None:
        """What earlier rounds know."""
        self._by_name[name] = origin
        if origin.rules is not None:
            self._pace.learn_delay(host_of(name), origin.rules.crawl_delay_ms)

    def recall(self, url: str, status: int, body: bytes, at_ms: int, output: PartOutput) -> None:
        """A killed run was told this robots.txt, and did not come to write of it."""
        origin = url.removesuffix("/robots.txt")
        state, reason = robots.state_of_status(status)
        if state == "disallow_all" or 300 <= status < 400 or robots_url(f"{origin}/") != url:
            return
        told = RobotsTold(origin, state, reason, status, body if state == "rules" else b"", None)
        self._by_name[origin] = Origin()
        self._known(told, output, at_ms)

    def begin(self, task: Task) -> Task:
        """The first URL of an origin waits; the request for its robots.txt that is to be sent instead."""
        origin = self._by_name[task.origin] = Origin()
        origin.waiting.append(task)
        self.opening.add(task.origin)
        return self._task(robots_url(task.url), task.output, (), task.origin)

    def answered_before(self, task: Task) -> bool:
        """Whether the URL of a robots request brought its answer already, for another origin; it is then used."""
        told = self._told.get(task.url)
        if told is None:
            return False
        self._settle(task, told)
        return True

    def answered(self, task: Task, answer: Answer) -> None:
        """A robots request brought an answer."""
        state: robots.State
        reason: str | None
        if answer.status is not None and 300 <= answer.status < 400 and "location" in answer.headers:
            hop = next_hop(
                task.url, task.url, answer.headers["location"], task.chain, self._forms, lambda _: None, MAX_ROBOTS_HOPS
            )
            if not isinstance(hop, Refused) and hop.url not in task.chain and hop.url != task.url:
                self._follow(task, hop.url, hop.host)
                return
            state, reason = "allow_all", "redirect_bad"  # five hops and no file: unavailable
        elif answer.status is None:
            state, reason = "disallow_all", answer.error
        else:
            state, reason = robots.state_of_status(answer.status)
            if answer.status in (429, 503):
                self._pace.robots_busy(task, answer)
        body = decoded(answer, self._cap) if state == "rules" else b""
        told = RobotsTold(task.robots_of or "", state, reason, answer.status, body, task.asked_by)
        if answer.status is not None and state != "disallow_all":
            self._remember(task.url, told)
        self._settle(task, told)

    def _remember(self, url: str, told: RobotsTold) -> None:
        self._told_bytes += len(told.body)
        self._told[url] = told
        while len(self._told) > MAX_REMEMBERED or self._told_bytes > MAX_REMEMBERED_BYTES:
            oldest = next(iter(self._told))
            self._told_bytes -= len(self._told.pop(oldest).body)

    def ask(self, message: RobotsAsk, output: PartOutput) -> None:
        """Another worker wants to know a robots.txt on a host of ours."""
        task = self._task(message.url, output, message.chain, message.origin, message.asked_by)
        if not self.answered_before(task) and not self._queues.add(task.host, task, first=True):
            self._settle(task, RobotsTold(message.origin, "disallow_all", "host_backoff", None, b"", message.asked_by))

    def tell(self, message: RobotsTold) -> None:
        """Another worker told what we asked."""
        asked = self._asked.pop(message.origin, None)
        if asked is not None:
            self._known(message, asked[1])

    def overdue(self, now: float) -> None:
        """What was asked too long ago counts as unreachable: the other worker may have died."""
        for name in [name for name, (at, _) in self._asked.items() if now - at > LONGEST_WAIT_S]:
            self.tell(RobotsTold(name, "disallow_all", "timeout", None, b"", 0))

    def drop(self, task: Task, reason: str) -> None:
        """A queued robots request is given up: who waits for it goes with it."""
        if task.asked_by is not None:
            self._pass_on(RobotsTold(task.robots_of or "", "disallow_all", reason, None, b"", task.asked_by))
            return
        origin = self._by_name.pop(task.robots_of or "", None)
        self.opening.discard(task.robots_of or "")
        for waiter in origin.waiting if origin is not None else ():
            self._waiters.give_up(waiter, reason)

    def drain(self) -> Iterator[Task]:
        """Takes all URLs that wait."""
        self._asked.clear()
        for origin in self._by_name.values():
            waiting, origin.waiting = origin.waiting, []
            yield from waiting

    def _task(
        self, url: str, output: PartOutput, chain: tuple[str, ...], origin: str, asked_by: int | None = None
    ) -> Task:
        host = host_of(url)
        self._pace.own(host, bucket_of(host), output)
        return Task(url, url, host, bucket_of(host), output, 0, 0, chain=chain, robots_of=origin, asked_by=asked_by)

    def _follow(self, task: Task, url: str, host: str) -> None:
        chain = (*task.chain, task.url)
        origin = task.robots_of or ""
        if host in self._pace.facts:
            hop = self._task(url, task.output, chain, origin, task.asked_by)
            if not self.answered_before(hop) and not self._queues.add(host, hop, first=True):
                self._settle(hop, RobotsTold(origin, "disallow_all", "host_backoff", None, b"", task.asked_by))
            return
        asked_by = task.asked_by
        if asked_by is None:
            asked_by = task.output.part
            self._asked[origin] = (self._clock(), task.output)
        self._pass_on(RobotsAsk(url, chain, origin, asked_by, host, bucket_of(host)))

    def _settle(self, task: Task, told: RobotsTold) -> None:
        mine = RobotsTold(task.robots_of or "", told.state, told.reason, told.http_status, told.body, task.asked_by)
        if task.asked_by is not None:
            self._pass_on(mine)
        else:
            self._known(mine, task.output)

    def _known(self, told: RobotsTold, output: PartOutput, at_ms: int | None = None) -> None:
        origin = self._by_name.get(told.origin)
        if origin is None:
            return
        if told.state == "rules":
            rules = robots.RobotsRules.parse(told.body, self._agent)
        else:
            rules = robots.RobotsRules.allow_all() if told.state == "allow_all" else robots.RobotsRules.disallow_all()
        origin.rules = rules
        origin.reason = told.reason if told.reason in NAMING_FAILED else None
        host = host_of(told.origin)
        self._pace.learn_delay(host, rules.crawl_delay_ms)
        self.known += 1
        output.add_host(
            {
                "host": host, "bucket": bucket_of(host), "seen_at": at_ms or now_ms(), "event": "robots",
                "origin": told.origin,
                "state": told.state, "http_status": told.http_status, "reason": told.reason,
                "body": told.body if told.state == "rules" else None,
                "sitemaps": list(rules.resolve_sitemaps(f"{told.origin}/robots.txt")),
                "crawl_delay_ms": rules.crawl_delay_ms,
            },
            self._clock(),
        )  # fmt: skip
        waiting, origin.waiting = origin.waiting, []
        for waiter in reversed(waiting):
            self._waiters.resume(waiter, origin)


def unreachable(origin: Origin) -> Verdict:
    """What becomes of the URLs of an origin whose robots.txt forbids everything for now."""
    if origin.reason == "private_address":
        return Verdict(outcome.DENIED, "private_address")
    return Verdict(outcome.RETRY, origin.reason or "robots_unreachable")


def decoded(answer: Answer, cap: int) -> bytes:
    """The body of a robots.txt with its Content-Encoding undone, up to a cap."""
    coding = answer.headers.get("content-encoding", "").strip().lower()
    if coding in ("", "identity") or answer.broken_encoding:
        return answer.body[:cap]
    from cobnut.fetcher.body import decode_all

    return decode_all(answer.body, coding, cap)
