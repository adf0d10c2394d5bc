"""How fast may each host be asked, and when is it left alone?

The delay of a host is its own in `fetcher.host_delays`, or a longer Crawl-delay (within bounds); else its Crawl-delay,
else the setting, else one second, or none where the connection goes straight to this machine. 429 and 503 pause a host
and slow it down for the rest of the round; failures in a row let it rest, each time for twice as long. A robots.txt
that cannot be read lets the host rest for the rounds to come, since nothing can be fetched without it. The first good
answer ends the back-off. All of it goes into the rows about hosts, and so into the next rounds: failures count on, and
the first request of a round keeps its distance from the last one of the rounds and runs before.

Retry-After is heeded with 429 and 503 alone, as seconds or as a date; nothing makes a pause longer than
`fetcher.backoff_max_s`.

Not here: giving out items at that pace (`fetcher.politeness`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from cobnut.config.schedules import parse_host_delay
from cobnut.config.sections import FetcherSettings
from cobnut.fetcher import outcome
from cobnut.fetcher.answer import Answer, now_ms, retry_after_s
from cobnut.fetcher.politeness import HostQueues
from cobnut.fetcher.results import PartOutput
from cobnut.fetcher.task import HostFacts, Task
from cobnut.urls.addresses import why_blocked

MAX_TRIES = 5
LONGEST_PAUSE_S = 300.0
FIRST_SLOW_S = 2.0

Drop = Callable[[str, Task, str], None]
"""Gives up a queued task of a host, with the reason."""


class HostPast(NamedTuple):
    """What earlier rounds and runs know of a host; times in milliseconds since 1970."""

    asked_at: int = 0
    next_fetch_at: int = 0
    backoff_s: int = 0
    crawl_delay_ms: int | None = None
    failures: int = 0
    last_error: str | None = None


def longest_delay_s(settings: FetcherSettings) -> float:
    """No host's delay is longer than this: a request before that is forgotten."""
    own = (delay_s for _, delay_s in map(parse_host_delay, settings.host_delays))
    return max(settings.max_delay_s, settings.delay_s, settings.min_delay_s, 1.0, *own)


class Pace:
    """What is known of the hosts that this worker asks."""

    def __init__(
        self, settings: FetcherSettings, queues: HostQueues[Task], proxied: bool, clock: Callable[[], float], drop: Drop
    ) -> None:
        self._settings, self._queues, self._proxied, self._clock, self._drop = settings, queues, proxied, clock, drop
        self._own_delays = dict(map(parse_host_delay, settings.host_delays))
        self.facts: dict[str, HostFacts] = {}
        self._past: dict[str, HostPast] = {}
        self._any_asked_at = 0

    def own(self, host: str, bucket: int, output: PartOutput) -> HostFacts:
        """This worker asks this host; its rows go to `output`."""
        facts = self.facts.get(host)
        if facts is None:
            facts = self.facts[host] = HostFacts(bucket, output)
            self._recall(host, facts)
        return facts

    def remember(self, past: dict[str, HostPast], any_asked_at: int) -> None:
        """What was before this round. `any_asked_at`: until then every host may have been asked, by a run of which
        no more is known."""
        self._past, self._any_asked_at = past, any_asked_at
        for host, facts in self.facts.items():
            self._recall(host, facts)

    def _recall(self, host: str, facts: HostFacts) -> None:
        past = self._past.get(host, HostPast())
        facts.past_at = max(past.asked_at, self._any_asked_at, facts.output.asked_until_ms) or None
        facts.backoff_s, facts.failures, facts.last_error = past.backoff_s, past.failures, past.last_error
        facts.crawl_delay_ms = past.crawl_delay_ms
        rest_s = min((past.next_fetch_at - now_ms()) / 1000, self._settings.backoff_max_s)
        if rest_s > LONGEST_PAUSE_S:
            self._drop_all(host)
        elif rest_s > 0:
            self._queues.pause(host, self._clock() + rest_s)

    def early_s(self, task: Task) -> float:
        """Seconds that a request would come too early after the last one before this round. Asked when the address
        is known, since the delay depends on it."""
        facts = self.facts[task.host]
        if facts.past_at is None:
            return 0.0
        delay_s = self._delay_of(task, facts)
        # a clock that was set back makes no pause longer than the delay
        return min(delay_s, delay_s - (now_ms() - facts.past_at) / 1000)

    def sending(self, task: Task) -> None:
        """A request goes out to the first address of the task."""
        facts = self.facts[task.host]
        facts.request_count += 1
        facts.past_at = None
        self._queues.host(task.host).delay_s = self._delay_of(task, facts)

    def learn_delay(self, host: str, crawl_delay_ms: int | None) -> None:
        """The robots.txt of one of the host's origins names a delay."""
        facts = self.facts.get(host)
        if facts is not None and crawl_delay_ms is not None:
            facts.crawl_delay_ms = max(facts.crawl_delay_ms or 0, crawl_delay_ms)
            self._queues.host(host).delay_s = self._delay_s(host, facts)

    def note(self, task: Task, answer: Answer) -> None:
        """Counts an answer for its host, and lets a failing host rest."""
        facts = self.facts[task.host]
        facts.elapsed_ms += answer.elapsed_ms
        self._learn(task.host, task.robots_of is not None, answer.status, answer.error, now_ms(), len(answer.body))

    def replay(self, host: str, is_robots: bool, status: int, retry_after: str | None, at_ms: int, size: int) -> None:
        """Counts an answer that a killed run got and did not come to write of. How long it took is not known."""
        facts = self.facts[host]
        facts.request_count += 1
        self._learn(host, is_robots, status, None, at_ms, size)
        asked_s = retry_after_s(retry_after, at_ms / 1000) if status in (429, 503) else None
        if asked_s is None:
            return
        until_ms = at_ms + int(1000 * min(float(asked_s), self._settings.backoff_max_s))
        facts.retry_after_at = max(facts.retry_after_at or 0, until_ms)
        facts.next_fetch_at = max(facts.next_fetch_at or 0, until_ms)
        rest_s = (until_ms - now_ms()) / 1000
        if rest_s > LONGEST_PAUSE_S:
            self._drop_all(host)
        elif rest_s > 0:
            self._queues.pause(host, self._clock() + rest_s)

    def _learn(self, host: str, is_robots: bool, status: int | None, error: str | None, at_ms: int, size: int) -> None:
        facts = self.facts[host]
        facts.dirty = True
        facts.seen_at = at_ms
        facts.body_bytes += size
        if not outcome.is_host_failure(error, status):
            if status is not None:
                facts.answered = True
                facts.success_count += 1
                if not is_robots:
                    facts.last_success_at = at_ms
                # where pages come with a 5xx, or not at all, a robots.txt that is there says little
                if not is_robots or not (facts.last_error or "").startswith(("http_", "timeout")):
                    facts.recovered()
            return
        facts.failures += 1
        facts.failures_now += 1
        facts.error_count += 1
        facts.dns_error_count += error in ("dns_failed", "dns_timeout")
        facts.last_error = error or f"http_{status}"
        facts.last_error_at = at_ms
        limit = self._settings.failures_per_host
        # after an outage the first page asked may be one that is broken for itself: the second failure decides
        if facts.failures >= limit and facts.failures_now >= min(2, limit):
            self._back_off(facts)
            self._rest(host, facts, facts.backoff_s)
        elif is_robots and not facts.answered:
            # other origins of the host may answer still: they go on
            self._back_off(facts)
            facts.next_fetch_at = max(facts.next_fetch_at or 0, at_ms + 1000 * facts.backoff_s)

    def _back_off(self, facts: HostFacts) -> None:
        if not facts.backed_off:
            doubled = facts.backoff_s * 2 if facts.backoff_s else self._settings.backoff_s
            facts.backoff_s = int(min(max(1.0, doubled), self._settings.backoff_max_s))
            facts.backed_off = True

    def slow_down(self, task: Task, answer: Answer, until: float | None) -> bool:
        """The host asked for a pause: True when the URL waits in the queue again, to be asked after it.
        `until`: the time after which nothing is started."""
        facts = self.facts[task.host]
        facts.slow_s = min(max(FIRST_SLOW_S, self._delay_s(task.host, facts) * 2), self._settings.max_delay_s)
        asked_s = self._asked_pause_s(answer, facts)
        pause_s = facts.slow_s if asked_s is None else asked_s
        facts.next_fetch_at = max(facts.next_fetch_at or 0, now_ms() + int(pause_s * 1000))
        facts.dirty = True
        if self._queues.host(task.host).resting:
            return False
        now = self._clock()
        if pause_s > LONGEST_PAUSE_S or (until is not None and now + pause_s >= until):
            self._rest(task.host, facts, pause_s)
            return False
        self._queues.pause(task.host, now + pause_s)
        task.tries += 1
        return task.tries < MAX_TRIES and self._queues.add(task.host, task, first=True)

    def robots_busy(self, task: Task, answer: Answer) -> None:
        """Even robots.txt asked for a pause: the host is left alone for as long in the rounds to come."""
        facts = self.facts[task.host]
        asked_s = self._asked_pause_s(answer, facts)
        pause_s = min(self._settings.backoff_s, self._settings.backoff_max_s) if asked_s is None else asked_s
        facts.next_fetch_at = max(facts.next_fetch_at or 0, now_ms() + int(1000 * pause_s))

    def _asked_pause_s(self, answer: Answer, facts: HostFacts) -> float | None:
        """The pause that Retry-After asks for, as far as it is reasonable; None where it asks for none."""
        now = now_ms()
        asked = retry_after_s(answer.headers.get("retry-after"), now / 1000)
        if asked is None:
            return None
        pause_s = min(float(asked), self._settings.backoff_max_s)
        facts.retry_after_at = max(facts.retry_after_at or 0, now + int(1000 * pause_s))
        return pause_s

    def rows(self, output: PartOutput) -> list[dict[str, Any]]:
        """Rows about the hosts of one part that were asked since the last ones."""
        return [facts.row(host) for host, facts in self.facts.items() if facts.dirty and facts.output is output]

    def _delay_of(self, task: Task, facts: HostFacts) -> float:
        facts.address_is_loopback = bool(task.addresses) and why_blocked(task.addresses[0][0]) == "loopback"
        return self._delay_s(task.host, facts)

    def _delay_s(self, host: str, facts: HostFacts) -> float:
        settings = self._settings
        own_s = self._own_delays.get(host)
        asked_s = None if facts.crawl_delay_ms is None else min(facts.crawl_delay_ms / 1000, settings.max_delay_s)
        if own_s is not None or asked_s is not None:
            delay = max(own_s or 0.0, asked_s or 0.0)
        elif settings.delay_s >= 0:
            delay = settings.delay_s
        else:
            delay = 0.0 if facts.address_is_loopback and not self._proxied else 1.0
        return max(delay, settings.min_delay_s, facts.slow_s)

    def _rest(self, host: str, facts: HostFacts, seconds: float) -> None:
        facts.next_fetch_at = max(facts.next_fetch_at or 0, now_ms() + int(seconds * 1000))
        self._drop_all(host)

    def _drop_all(self, host: str) -> None:
        """The host is left alone for the rest of the round."""
        for task in self._queues.rest(host):
            self._drop(host, task, "host_backoff")
