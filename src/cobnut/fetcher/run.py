"""What happens to the URLs of one worker in one round?

The states of a URL: *queued* at its host → *waiting* for the robots.txt of its origin → *naming* (its address
is looked up and checked) → *in flight* → a row, or back to *queued* when the host asked for a pause that fits
into the round. A URL that the round does not reach gets no row: it is in the next fetchlist.

Everything here runs in one thread; `Loop` calls back. Not here: the answers' meaning (`fetcher.outcome`), pace
(`fetcher.pace`), robots.txt (`fetcher.origins`), where redirects lead (`fetcher.redirects`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from cobnut.fetcher import outcome
from cobnut.fetcher.answer import Answer, failure, now_ms
from cobnut.fetcher.archive import Response
from cobnut.fetcher.budget import PageBudget
from cobnut.fetcher.exchange import HttpIdentity, HttpLimits, Request
from cobnut.fetcher.known import KnownPages
from cobnut.fetcher.lenient import LenientTries
from cobnut.fetcher.loop import Loop
from cobnut.fetcher.messages import Counts, FetchSpec, Hop, Passed, RobotsTold
from cobnut.fetcher.names import Names
from cobnut.fetcher.origins import Origins, unreachable
from cobnut.fetcher.outcome import Verdict
from cobnut.fetcher.pace import Pace
from cobnut.fetcher.politeness import HostQueues
from cobnut.fetcher.redirects import Refused, Target, next_hop
from cobnut.fetcher.results import PartOutput
from cobnut.fetcher.robots import product_token
from cobnut.fetcher.rows import fetched_row
from cobnut.fetcher.task import Origin, Task
from cobnut.urls.addresses import read_ip, why_blocked
from cobnut.urls.filters import Scope, compile_filter, is_forgotten
from cobnut.urls.hosts import origin_of, port_of
from cobnut.urls.overrides import pick_rule
from cobnut.urls.resolve import compile_forms

CURRENT_HOSTS = 8
NO_AGENT = "a host outside this machine; fetcher.agent_name and fetcher.agent_contact must be set first"


class Run:
    """One worker's round over its parts of the fetchlist."""

    def __init__(
        self, spec: FetchSpec, outputs: list[PartOutput], loop: Loop, lenient: LenientTries, identity: HttpIdentity,
        limits: HttpLimits, clock: Callable[[], float], pass_on: Callable[[Passed], None],
    ) -> None:  # fmt: skip
        self.spec, self.outputs = spec, outputs
        self._loop, self._lenient, self._limits, self._clock = loop, lenient, limits, clock
        self._settings = spec.fetcher
        self.agent = product_token(identity.user_agent)
        self._pass_on = pass_on
        fetcher = spec.fetcher
        self.nameless = not (spec.proxy or (fetcher.agent_name.strip() and fetcher.agent_contact.strip()))
        self._filter = compile_filter(spec.urls, spec.scope)
        # a seed means where it leads: its redirects make the scope, they are not measured by it
        self._filter_of_seeds = compile_filter(spec.urls, Scope("web", forgotten=spec.scope.forgotten))
        self.is_forgotten = is_forgotten(spec.scope.forgotten)
        self.forms = compile_forms(spec.urls.normalizers)
        self.queues: HostQueues[Task] = HostQueues(spec.fetcher.connections_per_host)
        self.pace = Pace(spec.fetcher, self.queues, bool(spec.proxy), clock, self._drop)
        self.origins = Origins(
            self.agent, spec.fetcher.robots_max_bytes, self.forms, self.queues, self.pace, self, clock, pass_on
        )
        self._known: set[str] = set()
        self._crawldb = KnownPages(spec.crawldb_files)
        self._naming = 0
        self.budget = PageBudget()
        self._held: deque[Task] = deque()  # no more pages are allowed
        self._held_origins: deque[Task] = deque()  # enough robots.txt are on their way for the pages allowed
        self._running: dict[str, int] = {}
        self.counts = Counts()
        self.stopping = self.stop_asked = False
        self.deadline = None if spec.deadline_s is None else clock() + spec.deadline_s
        for part_output in outputs:
            part_output.before_flush = partial(self.pace.rows, part_output)

    # ------------------------------------------------------------------ what comes in

    def mark_done(self, key: str) -> bool:
        """This URL has a row already; False when that was known."""
        fresh = key not in self._known
        self._known.add(key)
        return fresh

    def add(self, task: Task) -> bool:
        """Queues a URL of the fetchlist, or a redirect target; False when it was fetched or queued before."""
        if task.key in self._known:
            return False
        self._known.add(task.key)
        self.pace.own(task.host, task.bucket, task.output)
        if self.stopping or not self.queues.add(task.host, task):
            self.give_up(task, "round_over" if self.stopping else "host_backoff")
        return True

    def add_hop(self, hop: Hop) -> None:
        """Queues a redirect target that another worker came upon."""
        target = self._output_of(hop.host, hop.bucket)
        self.add(Task(hop.url, self._key(hop.url), hop.host, hop.bucket, target, hop.score, hop.depth, chain=hop.chain))

    def passed(self, message: Passed) -> None:
        """Something came from another worker."""
        if isinstance(message, Hop):
            self.add_hop(message)
        elif isinstance(message, RobotsTold):
            self.origins.tell(message)
        elif self.stopping:
            self._pass_on(RobotsTold(message.origin, "disallow_all", "round_over", None, b"", message.asked_by))
        else:
            self.origins.ask(message, self._output_of(message.host, message.bucket))

    def _output_of(self, host: str, bucket: int) -> PartOutput:
        known = self.pace.facts.get(host)
        return known.output if known is not None else self.outputs[bucket % len(self.outputs)]

    # ------------------------------------------------------------------ how many pages may come

    def allow(self, pages: int | None, kept_before: int | None = None) -> None:
        """So many pages (more) may be fetched. `kept_before`: see `Begin`."""
        if pages is not None:
            self.budget.allow(pages)
        if kept_before is not None:
            self.budget.pages = max(0, self.counts.kept - kept_before)

    @property
    def starved(self) -> bool:
        """Something waits, and no more pages are allowed."""
        return not self.budget.has_room() and bool(self.queues.waiting or self._held or self._held_origins)

    def _robots_waits(self) -> bool:
        """A robots.txt is to be asked, which brings no page and may be what another worker waits for."""
        return any(task.robots_of is not None for state in self.queues.hosts() for task in state.items)

    def _room_for_origins(self) -> int:
        """How many more robots.txt may be asked: not more than pages may follow."""
        return self.budget.room(len(self.origins.opening))

    def _take_up(self) -> None:
        """What was held goes back into the queues, in its order, as far as it may be begun now."""
        freed = list(self._held) if self.budget.has_room() else []
        self._held = deque() if freed else self._held
        while self._held_origins and len(freed) < self._room_for_origins():
            freed.append(self._held_origins.popleft())
        for task in reversed(freed):
            if not self.queues.add(task.host, task, first=True):
                self._drop(task.host, task, "host_backoff")

    # ------------------------------------------------------------------ the turn

    @property
    def busy(self) -> int:
        """URLs between the queue and their row."""
        return self._loop.in_flight + self._naming + self._lenient.pending

    @property
    def idle(self) -> bool:
        """Nothing is queued, or no more pages may come, and nothing is under way."""
        if self.busy or self.origins.asked:
            return False
        if not self.budget.has_room():
            return not self._robots_waits()
        return not (self.queues.waiting or self._held or self._held_origins)

    def turn(self) -> float:
        """Starts what may be started now; how long the loop may sleep."""
        now = self._clock()
        for part_output in self.outputs:
            part_output.flush_if_old(now)
        self.origins.overdue(now)
        if self.deadline is not None and now >= self.deadline:
            self.stop()
        self._take_up()
        robots: bool | None = None
        while self.busy < self._settings.connections:
            if not self.budget.has_room():
                robots = self._robots_waits() if robots is None else robots
                if not robots:
                    return 1.0
            taken = self.queues.take(now)
            if taken is None:
                break
            self._begin(*taken)
        if self._held_origins and self._room_for_origins():
            return 0.0
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
            for task in (*self.origins.drain(), *self._held, *self._held_origins):
                self.give_up(task, "round_over")
            self._held.clear()
            self._held_origins.clear()

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
        self._crawldb.close()
        for part_output in self.outputs:
            part_output.close(whole=whole)
            self.counts.warc_bytes += part_output.archive.bytes_written

    def current_hosts(self) -> tuple[str, ...]:
        """Some of the hosts being asked now."""
        return tuple(list(self._running)[:CURRENT_HOSTS])

    # ------------------------------------------------------------------ from the queue to the wire

    def _begin(self, name: str, task: Task) -> None:
        if task.robots_of is not None:
            if self.origins.answered_before(task):
                self.queues.done(name, self._clock(), requested=False)
            else:
                self._name(task)
            return
        task.origin = task.origin or origin_of(task.url)
        origin = self.origins.get(task.origin)
        if origin is not None and origin.rules is not None:
            self.origins.opening.discard(task.origin)
        if not (self.budget.has_room() if origin is not None else self._room_for_origins()):
            (self._held if origin is not None else self._held_origins).append(task)
            self.queues.done(name, self._clock(), requested=False)
            return
        if origin is None:
            first = self.origins.begin(task)
            if self.origins.answered_before(first):
                self.queues.done(name, self._clock(), requested=False)
            else:
                self._name(first)
            return
        if origin.rules is not None and origin.rules.state != "disallow_all" and origin.rules.allows(task.url):
            self._name(task)
            return
        self.queues.done(name, self._clock(), requested=False)
        if origin.rules is None:
            origin.waiting.append(task)
        elif origin.rules.state == "disallow_all":
            self._row(task, unreachable(origin), None)
        else:
            self._row(task, Verdict(outcome.DENIED, "robots_denied"), None)

    def resume(self, task: Task, origin: Origin) -> None:
        """The robots.txt that a URL waited for is known."""
        if origin.rules is not None and origin.rules.state == "disallow_all":
            self.origins.opening.discard(task.origin)
            self._row(task, unreachable(origin), None)
        elif self.stopping or not self.queues.add(task.host, task, first=True):
            self.origins.opening.discard(task.origin)
            self.give_up(task, "round_over" if self.stopping else "host_backoff")

    def _name(self, task: Task) -> None:
        """Finds the addresses that may be connected to."""
        host = task.host
        self.budget.under_way += task.robots_of is None
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
            self._settle(task, failure(names.reason or "dns_failed"))
            return
        allowed, reason = [], "private_address"
        for address in names.addresses:
            refused = self.spec.guard.check(address, task.port, task.host)
            if refused is None and self.nameless and why_blocked(address) != "loopback":
                refused, reason = NO_AGENT, "no_agent"
            if refused is None:
                allowed.append((address, task.port))
            else:
                option = refused.rpartition("; ")[2]
                known = self.counts.refused_addresses
                if option in known or len(known) < 100:
                    known[option] = known.get(option, 0) + 1
        if not allowed:
            self._settle(task, failure(reason, names.addresses[0]))
            return
        task.addresses = allowed
        self._send(task)

    def _request(self, task: Task) -> Request:
        address, port = task.addresses[0] if task.addresses else (None, 0)
        most = self._settings.robots_max_bytes if task.robots_of is not None else None
        return Request(task.url, None if self.spec.proxy else address, port, task.condition, most)

    def _send(self, task: Task) -> None:
        early_s = self.pace.early_s(task)
        if early_s > 0:
            self._later(task, early_s)
            return
        self.pace.sending(task)
        self.counts.requests += 1
        task.started_at_ms = now_ms()
        self._loop.start(task, self._request(task))

    def _later(self, task: Task, seconds: float) -> None:
        """Back into the queue: an earlier round asked the host a moment ago."""
        self._running.pop(task.host, None)
        self.budget.under_way -= task.robots_of is None
        now = self._clock()
        self.queues.done(task.host, now, requested=False)
        self.queues.pause(task.host, now + seconds)
        if self.stopping or not self.queues.add(task.host, task, first=True):
            self._drop(task.host, task, "round_over" if self.stopping else "host_backoff")

    # ------------------------------------------------------------------ from the answer to the row

    def _settle(self, task: Task, answer: Answer) -> None:
        self._running.pop(task.host, None)
        self.budget.under_way -= task.robots_of is None
        self.pace.note(task, answer)
        self.counts.body_bytes += len(answer.body)
        sent = answer.status is not None or answer.elapsed_ms > 0 or answer.error not in (
            "private_address", "no_agent", "dns_failed", "dns_timeout",
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
            self.origins.answered(task, answer)
            self.counts.robots = self.origins.known
        elif answer.status is None:
            refused = answer.error == "private_address"
            self._row(task, Verdict(outcome.DENIED if refused else outcome.RETRY, answer.error), answer)
        elif not (answer.status in (429, 503) and not self.stopping and self._pause(task, answer)):
            self._page_answered(task, answer, place)
        self.queues.done(task.host, self._clock(), requested=sent)

    def _pause(self, task: Task, answer: Answer) -> bool:
        return self.pace.slow_down(task, answer, self.deadline)

    def _page_answered(self, task: Task, answer: Answer, place: Any) -> None:
        verdict, target = self.judge(task.url, task.key, task.chain, answer, bool(task.condition), task.depth == 0)
        if target is None:
            self._row(task, verdict, answer, place)
            return
        self._row(task, verdict, answer, place, target.url, target.key)
        if isinstance(target, Target):
            chain = (*task.chain, task.key)
            self.follow(target.url, target.key, target.host, target.bucket, task.score, task.depth, chain)

    def judge(
        self, url: str, key: str, chain: tuple[str, ...], answer: Answer, had_condition: bool, of_seed: bool = False
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
        refuses = self._filter_of_seeds if of_seed else self._filter
        hop = next_hop(url, key, location, chain, self.forms, refuses, self._settings.max_redirects)
        if isinstance(hop, Refused):
            kind = outcome.RETRY if hop.reason == "redirect_bad" else verdict.outcome
            return Verdict(kind, hop.reason), hop
        return verdict, hop

    def follow(
        self, url: str, key: str, host: str, bucket: int, score: int, depth: int, chain: tuple[str, ...]
    ) -> None:
        """Fetches a redirect target in this round: here, or where its host is asked. One that was fetched before is
        left until it is due."""
        if self.stopping or key in self._known:
            return
        due_at = self._crawldb.due_at(key, bucket)
        if due_at is not None and due_at > now_ms():
            return
        facts = self.pace.facts.get(host)
        if facts is None:
            self._pass_on(Hop(url, score, depth, chain, host, bucket))
        else:
            self.add(Task(url, key, host, bucket, facts.output, score, depth, chain=chain))

    def _row(
        self, task: Task, verdict: Verdict, answer: Answer | None, place: Any = None,
        redirect_url: str | None = None, redirect_key: str | None = None,
    ) -> None:  # fmt: skip
        self.budget.pages += verdict.outcome == outcome.SUCCESS
        self.counts.outcomes[verdict.outcome] = self.counts.outcomes.get(verdict.outcome, 0) + 1
        if verdict.reason is not None:
            self.counts.reasons[verdict.reason] = self.counts.reasons.get(verdict.reason, 0) + 1
        row = fetched_row(task, verdict, answer, place, redirect_url, redirect_key)
        task.output.add(row, self._clock())

    # ------------------------------------------------------------------ what is left

    def give_up(self, _task: Task | None, reason: str) -> None:
        """A URL gets no row in this round."""
        self.counts.left[reason] = self.counts.left.get(reason, 0) + 1

    def _drop(self, _host: str, task: Task, reason: str) -> None:
        if task.robots_of is not None:
            self.origins.drop(task, reason)
        else:
            self.origins.opening.discard(task.origin)
            self.give_up(task, reason)

    def _key(self, url: str) -> str:
        forms = self.forms(url)
        return forms.key if forms is not None else url
