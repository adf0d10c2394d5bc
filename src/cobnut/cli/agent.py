"""Who are we, before we fetch from the open web?

Whoever runs a server must be able to tell who visits it and to write to somebody. So a crawl that leaves this machine
needs `fetcher.agent_name` and `fetcher.agent_contact`. A crawl stays on this machine when every host is a loopback one,
or when a proxy or fixed addresses on loopback take all requests. With scope `web` links lead anywhere, whatever the
seeds are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from cobnut.config.network import parse_proxy
from cobnut.config.sections import FetcherSettings
from cobnut.errors import InputError
from cobnut.urls.hosts import is_loopback_host
from cobnut.urls.overrides import ResolveRule, parse_resolve

NAME, CONTACT = "fetcher.agent_name", "fetcher.agent_contact"

ANYWHERE = "*"
"""Stands for the hosts that nobody knows yet: with scope `web`, links may lead to any."""

_QUESTIONS = {
    NAME: "Name of your crawler, as webmasters will see it and name it in robots.txt (letters, - and _)",
    CONTACT: "Where a webmaster reaches you (e-mail address or URL)",
}


def missing_agent(hosts: Iterable[str], fetcher: FetcherSettings) -> tuple[str, ...]:
    """The settings that are still needed before pages of these hosts may be fetched; empty when none are."""
    missing = tuple(
        key for key, value in ((NAME, fetcher.agent_name), (CONTACT, fetcher.agent_contact)) if not value.strip()
    )
    return missing if missing and leaves_machine(hosts, fetcher) else ()


def leaves_machine(hosts: Iterable[str], fetcher: FetcherSettings) -> bool:
    """Whether requests to these hosts can leave this machine."""
    if fetcher.proxy and is_loopback_host(parse_proxy(fetcher.proxy)[0]):
        return False
    rules = [parse_resolve(rule) for rule in fetcher.resolve]
    return any(not is_loopback_host(host) and not _stays(host, rules) for host in set(hosts))


def _stays(host: str, rules: list[ResolveRule]) -> bool:
    """Whether fixed addresses keep every port of a host on this machine."""
    fitting = [rule for rule in rules if rule.host in ("*", host.rstrip(".").lower())]
    return any(rule.port is None for rule in fitting) and all(is_loopback_host(rule.address) for rule in fitting)


def agent_error(missing: tuple[str, ...], crawl_dir: str) -> InputError:
    """What a run without a terminal says."""
    example = {NAME: "MyCrawler", CONTACT: "me@example.org"}
    options = " ".join(f"-s {key}={example[key]}" for key in missing)
    return InputError(
        f"fetching from the open web needs {' and '.join(missing)}, so that webmasters know who visits",
        where=crawl_dir,
        remedy=f"set them in cobnut.toml, or for this run with {options}",
    )


def ask_agent(
    missing: tuple[str, ...], ask: Callable[[str], str], problem: Callable[[str, str], str | None],
    say: Callable[[str], None],
) -> dict[str, str]:  # fmt: skip
    """Asks for each missing setting until the answer is sane; `problem` says what is wrong with one."""
    answers = {}
    for key in missing:
        while True:
            answer = ask(_QUESTIONS[key]).strip()
            wrong = problem(key, answer) if answer else "it cannot be empty"
            if wrong is None:
                break
            say(f"{key}: {wrong}")
        answers[key] = answer
    return answers
