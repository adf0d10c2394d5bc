"""May our agent fetch this URL, by this robots.txt, and which line says so?

Item: `robots` or `robots_b64` (the file), or `status` (of an answer that is no file); `url`; `agent` (ours by
default); `robots_url` (by default that of the URL's origin; relative Sitemap lines are joined to it). Answer:
`allowed`; `rule`, the line that decides, NULL when none does; `crawl_delay` in seconds or NULL; `sitemaps`; `state`
(rules, allow_all, disallow_all: the last holds for now, and is asked again).
"""

from __future__ import annotations

from functools import lru_cache

from cobnut.fetcher.robots import RobotsRules, product_token, state_of_status
from cobnut.inspect.check.basis import Basis
from cobnut.inspect.check.items import Answer, BadItemError, Item, Story, bytes_of, needed_text, text_of
from cobnut.urls.hosts import robots_url


def own_agent(basis: Basis) -> str:
    """The name that robots.txt knows us by, as the fetcher has it."""
    from cobnut.fetcher.identity import identity

    return product_token(identity(basis.settings.fetcher, "", "").user_agent)


def answer(item: Item, basis: Basis) -> Answer:
    """What a robots.txt says of one URL."""
    made = basis.forms(needed_text(item, "url"))
    if made is None:
        raise BadItemError('"url" is not an http or https URL')
    agent = text_of(item, "agent") or own_agent(basis)
    where = text_of(item, "robots_url") or robots_url(made.url)
    body = bytes_of(item, "robots")
    rules, sitemaps = (_without_file(item.get("status")), ()) if body is None else _read(body, agent, where)
    return {
        "allowed": rules.allows(made.url),
        "rule": rules.rule_for(made.url),
        "crawl_delay": None if rules.crawl_delay_ms is None else seconds(rules.crawl_delay_ms),
        "sitemaps": list(sitemaps),
        "state": rules.state,
        "agent": product_token(agent),
        "robots_url": where,
        "url": made.url,
    }


def _without_file(status: object) -> RobotsRules:
    if status is None:
        raise BadItemError('"robots" is missing (or "robots_b64", or "status")')
    if not isinstance(status, int) or not 100 <= status <= 599:
        raise BadItemError('"status" is not an HTTP status')
    state, _reason = state_of_status(status)
    if state == "rules":
        raise BadItemError(f'"robots" is missing: with status {status} the file decides')
    return RobotsRules.allow_all() if state == "allow_all" else RobotsRules.disallow_all()


@lru_cache(maxsize=32)
def _read(body: bytes, agent: str, where: str) -> tuple[RobotsRules, tuple[str, ...]]:
    rules = RobotsRules.parse(body, agent, keep_lines=True)
    return rules, rules.resolve_sitemaps(where)


def seconds(ms: int) -> int | float:
    """Milliseconds as seconds, whole ones without a point.

    >>> seconds(2000), seconds(500)
    (2, 0.5)
    """
    return ms // 1000 if ms % 1000 == 0 else ms / 1000


_STATES = {
    "allow_all": "There is no file: everything is allowed.",
    "disallow_all": "It cannot be read: nothing is fetched from the origin for now.",
}


def story(found: Answer) -> Story:
    """The answer for a person."""
    lines = [("url", found["url"]), ("robots.txt", found["robots_url"]), ("agent", found["agent"])]
    lines.append(("allowed", "yes" if found["allowed"] else "no"))
    lines.append(("rule", found["rule"] or _STATES.get(found["state"], "No line matches: it is allowed.")))
    delay = found["crawl_delay"]
    lines.append(("crawl delay", "none named" if delay is None else f"{delay} s"))
    return lines + listed("sitemaps", found["sitemaps"])


def listed(label: str, texts: list[str], most: int = 20) -> Story:
    """One line each, the label on the first."""
    if not texts:
        return [(label, "none")]
    lines = [(label if i == 0 else "", text) for i, text in enumerate(texts[:most])]
    return lines if len(texts) <= most else [*lines, ("", f"… and {len(texts) - most:,} more")]
