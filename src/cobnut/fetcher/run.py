"""What happens to the URLs of one worker in one round?

The states of a URL: *queued* at its host → *waiting* for the robots.txt of its origin → *naming* (its address
is looked up and checked) → *in flight* → a row, or back to *queued* when the host asked for a pause that fits
into the round. A URL that the round does not reach gets no row: it is in the next fetchlist.

Everything here runs in one thread; `Loop` calls back. Not here: the answers' meaning (`fetcher.outcome`), pace
(`fetcher.politeness`), redirects of robots.txt and pages (`fetcher.redirects`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from cobnut.fetcher import outcome, robots
from cobnut.fetcher.answer import KEPT_HEADERS, Answer, failure, now_ms, retry_after_s
from cobnut.fetcher.archive import Response
from cobnut.fetcher.exchange import HttpIdentity, HttpLimits, Request
from cobnut.fetcher.lenient import LenientTries
from cobnut.fetcher.loop import Loop
from cobnut.fetcher.messages import Counts, FetchSpec, Hop
from cobnut.fetcher.names import Names
from cobnut.fetcher.outcome import Verdict
from cobnut.fetcher.politeness import HostQueues
from cobnut.fetcher.redirects import MAX_ROBOTS_HOPS, Refused, Target, next_hop
from cobnut.fetcher.results import FetchedRow, PartOutput
from cobnut.fetcher.task import HostFacts, Origin, Task
from cobnut.urls.addresses import read_ip, why_blocked
from cobnut.urls.filters import compile_filter
from cobnut.urls.hosts import bucket_of, host_of, origin_of, port_of, robots_url
from cobnut.urls.overrides import pick_rule
from cobnut.urls.resolve import compile_forms

MAX_TRIES = 5
LONGEST_PAUSE_S = 300.0
FIRST_SLOW_S = 2.0
CURRENT_HOSTS = 8


class Run:
    """One worker's round over its parts of the fetchlist."""

    def __init__(
        self, spec: FetchSpec, outputs: list[PartOutput], loop: Loop, lenient: LenientTries, identity: HttpIdentity,
        limits: HttpLimits, clock: Callable[[], float], pass_hop: Callable[[Hop], None],
    ) -> None:  # fmt: skip
        self.spec, self.outputs = spec, outputs
        self._loop, self._lenient, self._limits, self._clock = loop, lenient, limits, clock
        self._settings = spec.fetcher
        self.agent = robots.product_token(identity.user_agent)
        self._pass_hop = pass_hop
        self._filter = compile_filter(spec.urls, spec.scope)
        self.forms = compile_forms(spec.urls.normalizers)
        self.queues: HostQueues[Task] = HostQueues(spec.fetcher.connections_per_host)
        self._origins: dict[str, Origin] = {}
        self.host_facts: dict[str, HostFacts] = {}
        self._known: set[str] = set()
        self._own_hosts: set[str] = set()
        self._naming = 0
        self._running: dict[str, int] = {}
        self.counts = Counts()
        self.stopping = self.stop_asked = False
        self.deadline = None if spec.deadline_s is None else clock() + spec.deadline_s
        for part_output in outputs:
            part_output.before_flush = partial(self._host_rows, part_output)

    # ------------------------------------------------------------------ what comes in

    def mark_done(self, key: str) -> bool:
        """This URL has a row already; False when that was known."""
        fresh = key not in self._known
        self._known.add(key)
        return fresh

    def own(self, host: str, bucket: int, output: PartOutput) -> HostFacts:
        """This worker asks this host; its rows go to `output`."""
        facts = self.host_facts.get(host)
        if facts is None:
            self._own_hosts.add(host)
            facts = self.host_facts[host] = HostFacts(bucket, output)
        return facts

    def add(self, task: Task) -> bool:
        """Queues a URL of the fetchlist, or a redirect target; False when it was fetched or queued before."""
        if task.key in self._known:
            return False
        self._known.add(task.key)
        self.own(task.host, task.bucket, task.output)
        if self.stopping or not self.queues.add(task.host, task):
            self._leave("round_over" if self.stopping else "host_backoff")
        return True

    def add_hop(self, hop: Hop) -> None:
        """Queues a redirect target that another worker came upon."""
        known = self.host_facts.get(hop.host)
        target = known.output if known is not None else self.outputs[hop.bucket % len(self.outputs)]
        self.add(Task(hop.url, self._key(hop.url), hop.host, hop.bucket, target, hop.score, hop.depth, chain=hop.chain))

    def set_origin(self, name: str, origin: Origin, host: str) -> None:
        """What earlier rounds know of the robots.txt of an origin."""
        self._origins[name] = origin
        if origin.rules is not None:
            self._learn_delay(host, origin.rules)

    # ------------------------------------------------------------------ the turn

    @property
    def busy(self) -> int:
        """URLs between the queue and their row."""
        return self._loop.in_flight + self._naming + self._lenient.pending

    @property
    def idle(self) -> bool:
        """Nothing is queued and nothing is under way."""
        return not self.queues.waiting and not self.busy

    def turn(self) -> float:
        """Starts what may be started now; how long the loop may sleep."""
        now = self._clock()
        for part_output in self.outputs:
            part_output.flush_if_old(now)
        if self.deadline is not None and now >= self.deadline:
            self.stop()
        while self.busy < self._settings.connections:
            taken = self.queues.take(now)
            if taken is None:
                break
            self._begin(*taken)
        due = self.queues.next_time()
        if due is None or self.busy >= self._settings.connections:
            return 1.0
        if self.deadline is not None and due > self.deadline and not self.busy:
            self.stop()  # nothing that waits can still be reached
            return 0.0
        return max(0.0, due - now)

    def stop(self, *, asked: bool = False) -> None:
        """Starts nothing new; what waits returns to the next fetchlist. `asked`: the user ends it, not the
        round's time."""
        self.stop_asked = self.stop_asked or asked
        if not self.stopping:
            self.stopping = True
            for name, task in self.queues.drain():
                self._drop(name, task, "round_over")
            for origin in self._origins.values():
                for _ in origin.waiting:
                    self._leave("round_over")
                origin.waiting = []

    def answered(self, task: Any, answer: Answer) -> None:
        """The loop or a lenient try brings an answer."""
        if task.lenient is False and answer.code in outcome.LENIENT_WORTH_IT and not self.spec.proxy:
            task.lenient = True
            self._lenient.start(task, self._request(task))
            return
        if answer.error in ("connect_failed", "connect_timeout") and not answer.connected and len(task.addresses) > 1:
            task.addresses.pop(0)
            self._send(task)
            return
        self._running.pop(task.host, None)
        self._settle(task, answer)

    def close(self, *, whole: bool) -> None:
        """Writes everything to disk."""
        for part_output in self.outputs:
            part_output.close(whole=whole)
            self.counts.warc_bytes += part_output.archive.bytes_written

    def current_hosts(self) -> tuple[str, ...]:
        """Some of the hosts being asked now."""
        return tuple(list(self._running)[:CURRENT_HOSTS])

    # ------------------------------------------------------------------ from the queue to the wire

    def _begin(self, name: str, task: Task) -> None:
        if task.robots_of is not None:
            self._name(task)
            return
        task.origin = task.origin or origin_of(task.url)
        origin = self._origins.get(task.origin)
        if origin is None:
            origin = self._origins[task.origin] = Origin()
            origin.waiting.append(task)
            self._name(self._robots_task(task, robots_url(task.url), (), task.origin))
        elif origin.rules is None:
            origin.waiting.append(task)
            self.queues.done(name, self._clock(), requested=False)
        elif origin.rules.state == "disallow_all":
            self.queues.done(name, self._clock(), requested=False)
            self._row(task, unreachable(origin), None)
        elif not origin.rules.allows(task.url):
            self.queues.done(name, self._clock(), requested=False)
            self._row(task, Verdict(outcome.DENIED, "robots_denied"), None)
        else:
            self._name(task)

    def _robots_task(self, task: Task, url: str, chain: tuple[str, ...], origin: str) -> Task:
        host = host_of(url)
        self.own(host, bucket_of(host), task.output)
        return Task(url, url, host, bucket_of(host), task.output, 0, 0, chain=chain, robots_of=origin)

    def _name(self, task: Task) -> None:
        """Finds the addresses that may be connected to."""
        host = task.host
        task.port = port_of(task.url)
        literal = read_ip(host)
        self._running[host] = task.port
        rule = pick_rule(self.spec.rules, host, task.port) if self.spec.rules else None
        if rule is not None and not (literal is not None and rule.host == "*"):
            task.addresses = [rule.target(task.port)]
            self._send(task)
        elif literal is not None:
            self._check(task, Names((str(literal),)))
        elif self.spec.proxy:
            self._send(task)
        else:
            self._naming += 1
            self._loop.resolver.lookup(host, partial(self._named, task))

    def _named(self, task: Task, names: Names) -> None:
        self._naming -= 1
        self._check(task, names)

    def _check(self, task: Task, names: Names) -> None:
        if not names.addresses:
            self.host_facts[task.host].dns_error_count += 1
            self._settle(task, failure(names.reason or "dns_failed"))
            return
        allowed = []
        for address in names.addresses:
            refused = self.spec.guard.check(address, task.port, task.host)
            if refused is None:
                allowed.append((address, task.port))
            else:
                option = refused.rpartition("; ")[2]
                known = self.counts.refused_addresses
                if option in known or len(known) < 100:
                    known[option] = known.get(option, 0) + 1
        if not allowed:
            self._settle(task, failure("private_address", names.addresses[0]))
            return
        task.addresses = allowed
        self._send(task)

    def _request(self, task: Task) -> Request:
        address, port = task.addresses[0] if task.addresses else (None, 0)
        most = self._settings.robots_max_bytes if task.robots_of is not None else None
        return Request(task.url, None if self.spec.proxy else address, port, task.condition, most)

    def _send(self, task: Task) -> None:
        facts = self.host_facts[task.host]
        facts.request_count += 1
        facts.address_is_loopback = bool(task.addresses) and why_blocked(task.addresses[0][0]) == "loopback"
        self.queues.host(task.host).delay_s = self._delay_s(facts)
        self.counts.requests += 1
        task.started_at_ms = now_ms()
        self._loop.start(task, self._request(task))

    # ------------------------------------------------------------------ pace

    def _delay_s(self, facts: HostFacts) -> float:
        settings = self._settings
        if facts.crawl_delay_ms is not None:
            delay = min(facts.crawl_delay_ms / 1000, settings.max_delay_s)
        elif settings.delay_s >= 0:
            delay = settings.delay_s
        else:
            delay = 0.0 if facts.address_is_loopback and not self.spec.proxy else 1.0
        return max(delay, settings.min_delay_s, facts.slow_s)

    def _learn_delay(self, host: str, rules: robots.RobotsRules) -> None:
        facts = self.host_facts.get(host)
        if facts is not None and rules.crawl_delay_ms is not None:
            facts.crawl_delay_ms = max(facts.crawl_delay_ms or 0, rules.crawl_delay_ms)
            self.queues.host(host).delay_s = self._delay_s(facts)

    def _note(self, task: Task, answer: Answer) -> None:
        """Counts an answer for its host, and lets a failing host rest."""
        facts = self.host_facts[task.host]
        facts.dirty = True
        facts.body_bytes += len(answer.body)
        facts.elapsed_ms += answer.elapsed_ms
        self.counts.body_bytes += len(answer.body)
        if not outcome.is_host_failure(answer.error, answer.status):
            if answer.status is not None:
                facts.failures = facts.backoff_s = 0
            return
        facts.failures += 1
        facts.error_count += 1
        facts.last_error = answer.error or f"http_{answer.status}"
        if facts.failures >= self._settings.failures_per_host:
            doubled = facts.backoff_s * 2 if facts.backoff_s else self._settings.backoff_s
            facts.backoff_s = int(min(max(1.0, doubled), self._settings.backoff_max_s))
            self._rest(task.host, facts, facts.backoff_s)

    def _rest(self, host: str, facts: HostFacts, seconds: float) -> None:
        facts.next_fetch_at = max(facts.next_fetch_at or 0, now_ms() + int(seconds * 1000))
        for task in self.queues.rest(host):
            self._drop(host, task, "host_backoff")

    def _slow_down(self, task: Task, answer: Answer) -> bool:
        """The host asked for a pause: True when this URL is tried again after it, within the round."""
        facts = self.host_facts[task.host]
        base = self._delay_s(facts)
        facts.slow_s = min(max(FIRST_SLOW_S, base * 2), self._settings.max_delay_s)
        asked = retry_after_s(answer.headers.get("retry-after"), now_ms() / 1000)
        pause_s = float(asked) if asked is not None else facts.slow_s
        now = self._clock()
        facts.next_fetch_at = now_ms() + int(pause_s * 1000)
        facts.dirty = True
        if self.queues.host(task.host).resting or self.stopping:
            return False
        if pause_s > LONGEST_PAUSE_S or (self.deadline is not None and now + pause_s >= self.deadline):
            self._rest(task.host, facts, pause_s)
            return False
        self.queues.pause(task.host, now + pause_s)
        task.tries += 1
        if task.tries >= MAX_TRIES:
            return False
        return self.queues.add(task.host, task, first=True)

    # ------------------------------------------------------------------ from the answer to the row

    def _settle(self, task: Task, answer: Answer) -> None:
        self._running.pop(task.host, None)
        self._note(task, answer)
        sent = answer.status is not None or answer.elapsed_ms > 0 or answer.error not in (
            "private_address", "dns_failed", "dns_timeout",
        )  # fmt: skip
        place = None
        if answer.status is not None:
            place = task.output.archive.write(
                Response(
                    task.url, task.started_at_ms, answer.head, answer.body, answer.address, answer.truncated,
                    "robots" if task.robots_of is not None else None, task.hop_from, bool(task.condition),
                    task.score, task.depth,
                )
            )  # fmt: skip
        if task.robots_of is not None:
            self._robots_answered(task, answer)
        elif answer.status is None:
            refused = answer.error == "private_address"
            self._row(task, Verdict(outcome.DENIED if refused else outcome.RETRY, answer.error), answer)
        elif not (answer.status in (429, 503) and self._slow_down(task, answer)):
            self._page_answered(task, answer, place)
        self.queues.done(task.host, self._clock(), requested=sent)

    def _page_answered(self, task: Task, answer: Answer, place: Any) -> None:
        verdict, target = self.judge(task.url, task.key, task.chain, answer, bool(task.condition))
        if target is None:
            self._row(task, verdict, answer, place)
            return
        self._row(task, verdict, answer, place, target.url, target.key)
        if isinstance(target, Target):
            chain = (*task.chain, task.key)
            self.follow(target.url, target.key, target.host, target.bucket, task.score, task.depth, chain)

    def judge(
        self, url: str, key: str, chain: tuple[str, ...], answer: Answer, had_condition: bool
    ) -> tuple[Verdict, Target | Refused | None]:
        """What an answer comes to, and for a redirect where it leads."""
        assert answer.status is not None
        location = answer.headers.get("location")
        verdict = outcome.classify(
            answer.status, had_condition=had_condition, has_target=bool(location), body_bytes=len(answer.body)
        )
        if verdict.outcome == outcome.SUCCESS and verdict.reason is None:
            if answer.broken_encoding:
                verdict = Verdict(verdict.outcome, "bad_encoding")
            elif answer.truncated == "length":
                verdict = Verdict(verdict.outcome, "too_large")
        if verdict.outcome not in (outcome.PERMANENT, outcome.TEMPORARY) or location is None:
            return verdict, None
        hop = next_hop(url, key, location, chain, self.forms, self._filter, self._settings.max_redirects)
        if isinstance(hop, Refused):
            kind = outcome.RETRY if hop.reason == "redirect_bad" else verdict.outcome
            return Verdict(kind, hop.reason), hop
        return verdict, hop

    def follow(
        self, url: str, key: str, host: str, bucket: int, score: int, depth: int, chain: tuple[str, ...]
    ) -> None:
        """Fetches a redirect target in this round: here, or where its host is asked."""
        if self.stopping:
            return
        facts = self.host_facts.get(host)
        if facts is None:
            self._pass_hop(Hop(url, score, depth, chain, host, bucket))
        else:
            self.add(Task(url, key, host, bucket, facts.output, score, depth, chain=chain))

    def _row(
        self, task: Task, verdict: Verdict, answer: Answer | None, place: Any = None,
        redirect_url: str | None = None, redirect_key: str | None = None,
    ) -> None:  # fmt: skip
        self.counts.outcomes[verdict.outcome] = self.counts.outcomes.get(verdict.outcome, 0) + 1
        if verdict.reason is not None:
            self.counts.reasons[verdict.reason] = self.counts.reasons.get(verdict.reason, 0) + 1
        headers: dict[str, str] = answer.headers if answer is not None else {}
        answered = answer is not None and answer.status is not None
        row = FetchedRow(
            task.key, task.url, task.host, task.bucket, verdict.outcome, verdict.reason,
            answer.status if answer is not None else None,
            kept_headers(headers) if answered else None,
            task.started_at_ms or now_ms(),
            answer.elapsed_ms if answer is not None else None,
            len(answer.body) if answer is not None else 0,
            answer is not None and answer.truncated is not None,
            redirect_url, redirect_key,
            answer.digest if answer is not None else None,
            headers.get("etag"), headers.get("last-modified"),
            retry_after_s(headers.get("retry-after"), now_ms() / 1000),
            place.file if place is not None else None,
            place.offset if place is not None else None,
            answer.address if answer is not None else None,
            task.score, task.depth, task.hop_from, bool(task.condition),
        )  # fmt: skip
        task.output.add(row, self._clock())

    # ------------------------------------------------------------------ robots.txt

    def _robots_answered(self, task: Task, answer: Answer) -> None:
        origin_name = task.robots_of
        assert origin_name is not None
        state: robots.State
        reason: str | None
        if answer.status is not None and 300 <= answer.status < 400 and "location" in answer.headers:
            target = self._robots_hop(task, answer.headers["location"])
            if self.stopping:
                self._origins.pop(origin_name, None)
                return
            if target is not None:
                if self.queues.add(target.host, target, first=True):
                    return
                state, reason = "disallow_all", "host_backoff"
            else:
                state, reason = "allow_all", "redirect_bad"  # five hops and no file: unavailable (2.3.1.2)
        elif answer.status is None:
            state, reason = "disallow_all", answer.error
        else:
            state, reason = robots.state_of_status(answer.status)
            if answer.status in (429, 503):
                self._robots_pause(task, answer)
        self._robots_known(task, origin_name, state, reason, answer)

    def _robots_pause(self, task: Task, answer: Answer) -> None:
        asked = retry_after_s(answer.headers.get("retry-after"), now_ms() / 1000)
        facts = self.host_facts[task.host]
        facts.next_fetch_at = now_ms() + 1000 * (asked if asked is not None else int(self._settings.backoff_s))

    def _robots_hop(self, task: Task, location: str) -> Task | None:
        hop = next_hop(task.url, task.url, location, task.chain, self.forms, lambda _url: None, MAX_ROBOTS_HOPS)
        if isinstance(hop, Refused) or hop.url in task.chain:
            return None
        return self._robots_task(task, hop.url, (*task.chain, task.url), task.robots_of or "")

    def _robots_known(self, task: Task, name: str, state: str, reason: str | None, answer: Answer) -> None:
        if state == "rules":
            rules = robots.RobotsRules.parse(decoded(answer, self._settings.robots_max_bytes), self.agent)
        else:
            rules = robots.RobotsRules.allow_all() if state == "allow_all" else robots.RobotsRules.disallow_all()
        origin = self._origins[name]
        origin.rules = rules
        if reason in ("dns_failed", "dns_timeout", "private_address"):
            origin.reason = reason
        host = host_of(name)
        self._learn_delay(host, rules)
        self.counts.robots += 1
        task.output.add_host(
            {
                "host": host, "bucket": bucket_of(host), "seen_at": now_ms(), "event": "robots", "origin": name,
                "state": state, "http_status": answer.status, "reason": reason,
                "body": decoded(answer, self._settings.robots_max_bytes) if state == "rules" else None,
                "sitemaps": list(rules.resolve_sitemaps(f"{name}/robots.txt")),
                "crawl_delay_ms": rules.crawl_delay_ms,
            },
            self._clock(),
        )  # fmt: skip
        waiting, origin.waiting = origin.waiting, []
        for waiter in reversed(waiting):
            if rules.state == "disallow_all":
                self._row(waiter, unreachable(origin), None)
            elif self.stopping or not self.queues.add(waiter.host, waiter, first=True):
                self._leave("round_over" if self.stopping else "host_backoff")

    # ------------------------------------------------------------------ what is left

    def _drop(self, name: str, task: Task, reason: str) -> None:
        """A queued task is given up; when it was to bring a robots.txt, the URLs that wait for it go with it."""
        if task.robots_of is None:
            self._leave(reason)
            return
        origin = self._origins.pop(task.robots_of, None)
        for _ in origin.waiting if origin is not None else ():
            self._leave(reason)

    def _leave(self, reason: str) -> None:
        self.counts.left[reason] = self.counts.left.get(reason, 0) + 1

    def _host_rows(self, part_output: PartOutput) -> list[dict[str, Any]]:
        at = now_ms()
        return [
            facts.row(name, at)
            for name, facts in self.host_facts.items()
            if facts.dirty and facts.output is part_output
        ]

    def _key(self, url: str) -> str:
        forms = self.forms(url)
        return forms.key if forms is not None else url


def unreachable(origin: Origin) -> Verdict:
    """What becomes of the URLs of an origin whose robots.txt forbids everything for now."""
    if origin.reason == "private_address":
        return Verdict(outcome.DENIED, "private_address")
    return Verdict(outcome.RETRY, origin.reason or "robots_unreachable")


def kept_headers(headers: dict[str, str]) -> dict[str, str]:
    """Those header fields that rows keep."""
    return {name: value[:4096] for name, value in headers.items() if name in KEPT_HEADERS}


def decoded(answer: Answer, cap: int) -> bytes:
    """The body of a robots.txt with its Content-Encoding undone, up to a cap."""
    coding = answer.headers.get("content-encoding", "").strip().lower()
    if coding in ("", "identity") or answer.broken_encoding:
        return answer.body[:cap]
    from cobnut.fetcher.body import decode_all

    return decode_all(answer.body, coding, cap)
