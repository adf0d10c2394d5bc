"""Which requests come through to the search at all?

In this order: the name it is asked by (`serve.hosts`), how often the client asks (`serve.rate_per_s`), and whether it
is one who may search (`serve.basic_auth`, `serve.api_keys`). `/healthz` is always answered. What a page consists of,
robots.txt and the page about the crawler need no credentials: they hold nothing of the index, and are for strangers.

A client is counted by its address, one with a right API key or password by its name. Whoever guesses passwords has few
tries for a user, and not many more for all users together. A password that was right before, in whichever process, may
always be tried.

Not here: methods, sizes and security headers (`guard`), which are for every answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from starlette.types import ASGIApp, Receive, Scope, Send

from cobnut.web.access import Access, Busy
from cobnut.web.clients import client_of, counted_as, header, networks
from cobnut.web.guard import ErrorAnswer, with_more_headers
from cobnut.web.limiter import Limiter, Table

HEALTH = "/healthz"
OPEN = frozenset((HEALTH, "/robots.txt", "/bot", "/favicon.ico"))
STATIC = "/static/"

TRY_EVERY_S, TRIES = 5.0, 10
"""Wrong passwords for one user from one address: so many at once, then one each so many seconds."""

ALL_TRY_EVERY_S, ALL_TRIES = 1.0, 50
"""The same for all users together, so that made-up names do not keep the processor busy."""

RIGHT_FOR_S = 86_400.0
"""So long it is remembered among the processes that a password was right. Each still checks it for itself."""

FILES_PER_REQUEST = 4
"""So many files of the page (style sheet, icon) a client may fetch for each request it may make."""

LONG_S, PER_S = 0.1, 10.0
"""An answer that takes longer than this counts as more requests: so many for each second beyond."""

WHO, CLIENT = "cobnut.who", "cobnut.client"
"""Where a request's scope holds the name that was proved, and the client's address."""


@dataclass(frozen=True)
class Rules:
    """What the gate goes by."""

    hosts: tuple[str, ...] = ()
    rate_per_s: float = 0.0
    rate_burst: int = 60
    trusted_proxies: tuple[str, ...] = ()
    basic_auth: tuple[str, ...] = ()
    api_keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class Refusal:
    """An answer instead of the one asked for."""

    status: int
    message: str
    headers: tuple[tuple[bytes, bytes], ...] = ()


class Gate:
    """The app behind the gate. `clock` counts seconds and is the same for all processes that share the table."""

    def __init__(
        self, app: ASGIApp, error_answer: ErrorAnswer, rules: Rules, table: Table, clock: Callable[[], float],
        report: Callable[[str], None],
    ) -> None:  # fmt: skip
        self._app, self._error_answer, self._clock, self._report = app, error_answer, clock, report
        self._trusted = networks(rules.trusted_proxies)
        self._access = Access(rules.basic_auth, rules.api_keys)
        self._requests = Limiter(table, rules.rate_per_s, rules.rate_burst)
        per_file = FILES_PER_REQUEST
        self._files = Limiter(table, rules.rate_per_s * per_file, rules.rate_burst * per_file)
        self._table = table
        self._tries = Limiter(table, 1 / TRY_EVERY_S, TRIES)
        self._all_tries = Limiter(table, 1 / ALL_TRY_EVERY_S, ALL_TRIES)
        self._hosts = tuple(host.lower().rstrip(".") for host in rules.hosts)
        self._may_warn = rules.rate_per_s > 0 and not rules.trusted_proxies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        path = scope["path"]
        client = scope[CLIENT] = client_of(scope, self._trusted)
        if path == HEALTH:
            await self._app(scope, receive, send)
            return
        self._warn_of_proxy(scope, client)
        began = self._clock()
        authorization = header(scope, b"authorization")
        who = scope[WHO] = self._access.known(authorization) if authorization and self._access.is_required else None
        counted = f"name {who}" if who is not None else counted_as(client)
        refused = self._refusal(scope, path, counted, began)
        if refused is None and self._access.is_required and who is None and not is_open(path):
            refused = await self._credentials(scope, authorization, counted_as(client))
        if refused is not None:
            answer = self._error_answer(scope, refused.status, refused.message)
            await answer(scope, receive, with_more_headers(send, refused.headers))
            return
        await self._app(scope, receive, send)
        ended = self._clock()
        if ended - began > LONG_S:
            self._requests.charge(counted, ended, (ended - began - LONG_S) * PER_S)

    def _refusal(self, scope: Scope, path: str, counted: str, now: float) -> Refusal | None:
        if self._hosts and not is_one_of(header(scope, b"host") or b"", self._hosts):
            return Refusal(421, "This server does not answer to that name.")
        if path.startswith(STATIC) or path == "/favicon.ico":
            wait = self._files.take(f"files {counted}", now)
        else:
            wait = self._requests.take(counted, now)
        return too_many(wait, "That was a lot of requests in a short time.")

    async def _credentials(self, scope: Scope, authorization: bytes | None, counted: str) -> Refusal | None:
        """None when a password proves who asks."""
        challenges = tuple((b"www-authenticate", value) for value in self._access.challenges)
        if not authorization:
            return Refusal(401, "This search is for those who have a password or a key.", challenges)
        budgets = (
            (self._tries, f"tries {counted} {self._access.user_of(authorization)}"),
            (self._all_tries, f"tries {counted}"),
        )
        right = f"right {authorization.partition(b' ')[2].strip().decode('latin-1')}"
        now = self._clock()
        taken: list[tuple[Limiter, str]] = []
        if not self._table.is_marked(right, now):
            for limiter, tries in budgets:
                wait = limiter.take(tries, now)
                if wait:
                    self._give_back(taken)
                    return too_many(wait, "Too many wrong passwords in a short time.")
                taken.append((limiter, tries))
        try:
            who = await self._access.is_login(authorization)
        except Busy:
            self._give_back(taken)
            return Refusal(503, "Too many wait to log in just now.", ((b"retry-after", b"5"),))
        if who is None:
            return Refusal(401, "The password or key is not right.", challenges)
        self._give_back(taken)
        self._table.mark(right, self._clock() + RIGHT_FOR_S)
        scope[WHO] = who
        return None

    def _give_back(self, taken: list[tuple[Limiter, str]]) -> None:
        for limiter, tries in taken:
            limiter.charge(tries, self._clock(), -1)

    def _warn_of_proxy(self, scope: Scope, client: str) -> None:
        """Once: a proxy that nobody named makes one client of all its visitors."""
        if self._may_warn and header(scope, b"x-forwarded-for") is not None:
            self._may_warn = False
            self._report(
                f"{client} says that it forwards for others, and is counted as one client; "
                "if it is your proxy, name it in serve.trusted_proxies"
            )


def is_open(path: str) -> bool:
    """Whether an address needs no credentials."""
    return path in OPEN or path.startswith(STATIC)


def is_one_of(host: bytes, patterns: tuple[str, ...]) -> bool:
    """Whether a Host header, its port aside, is one of the names, or lies below one that begins with `*.`.

    >>> is_one_of(b"Search.example.org:8080", ("search.example.org",)), is_one_of(b"b", ("*.b",))
    (True, False)
    """
    name = host.decode("latin-1").lower()
    name = name.partition("]")[0] + "]" if name.startswith("[") else name.partition(":")[0].rstrip(".")
    return any(name.endswith(p[1:]) and len(name) > len(p) - 1 if p.startswith("*.") else name == p for p in patterns)


def too_many(wait_s: float, message: str) -> Refusal | None:
    """The refusal of a client that has to wait."""
    if not wait_s:
        return None
    seconds = max(1, math.ceil(wait_s))
    again = f"Try again in {seconds} second{'' if seconds == 1 else 's'}."
    return Refusal(429, f"{message} {again}", ((b"retry-after", str(seconds).encode()),))
