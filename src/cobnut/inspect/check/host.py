"""How does this host stand: where does its name lead, may we go there, what does its robots.txt say, how fast may we?

Item: `host` (a name or an address, with a port or without) or `url`. Without a scheme both https and http are asked,
since each origin has its own robots.txt. This goes to the network. Answer: `addresses` with the guard's verdict,
`origins` with their robots.txt and sitemaps, `politeness`.

Who asks decides what the basis allows: a host typed on the command line is allowed as a seed is (`basis.with_typed`),
one in a list of items is not, since the list may come from anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from cobnut.inspect.check.basis import Basis
from cobnut.inspect.check.items import Answer, BadItemError, Item, Story, text_of
from cobnut.inspect.check.live import Visitor
from cobnut.inspect.check.robots import own_agent
from cobnut.inspect.check.visits import robots_answer, robots_text, sitemaps_story
from cobnut.inspect.show import reason_text
from cobnut.urls.addresses import read_ip, why_blocked
from cobnut.urls.hosts import bucket_of, domain_of, host_of, is_loopback_host, origin_of, port_of

_PORT = re.compile(r":0*(\d+)$")


def origins_of(item: Item) -> list[str]:
    """The origins that an item means, the first one first."""
    text = (text_of(item, "url") or text_of(item, "host") or "").strip()
    if not text:
        raise BadItemError('"host" is missing')
    if read_ip(text) is not None and ":" in text and text[:1] != "[":
        text = f"[{text}]"
    if "://" in text:
        found = [origin_of(text)]
    elif any(sign in text for sign in "/?#@\\"):
        found = []
    else:
        port = _PORT.search(text)
        schemes = ("https", "http") if port is None else ("https",) if port[1] == "443" else ("http",)
        found = [origin_of(f"{scheme}://{text}/") for scheme in schemes]
    if not found or not all(found):
        raise BadItemError(f"not a host: {text[:100]!r}")
    return found


def answer(item: Item, basis: Basis, clock: Callable[[], float]) -> Answer:
    """All that can be asked about a host."""
    origins = origins_of(item)
    host = host_of(f"{origins[0]}/")
    with Visitor(basis, clock) as visitor:
        addresses, error = _addresses(visitor, host, port_of(f"{origins[0]}/"), basis)
        if error is None:
            for origin in origins:
                visitor.robots(f"{origin}/")
        delay_s = visitor.delay_s(host) if error is None else None
        robots = visitor.finish().robots
        user_agent = visitor.user_agent
    known = {row["origin"]: robots_answer(row) for row in robots}
    delays = [r["crawl_delay"] for r in known.values() if r["crawl_delay"] is not None]
    fetcher = basis.settings.fetcher
    return {
        "host": host,
        "domain": domain_of(host),
        "bucket": bucket_of(host),
        "addresses": addresses,
        "error": error,
        "origins": [known[origin] for origin in origins if origin in known],
        "politeness": {
            "agent": own_agent(basis),
            "user_agent": user_agent,
            "delay_s": delay_s,
            "delay_from": _delay_from(max(delays, default=None), delay_s, basis),
            "connections": fetcher.connections_per_host,
        },
    }


def _addresses(visitor: Visitor, host: str, port: int, basis: Basis) -> tuple[list[dict[str, Any]], str | None]:
    """Each address with the guard's verdict, and the reason when there is none to go to."""
    fixed = visitor.fixed(host, port)
    if fixed is not None:
        return [{"address": fixed[0], "from": "fetcher.resolve", "kind": why_blocked(fixed[0]), "refused": None}], None
    found: tuple[str, ...]
    literal = read_ip(host)
    if literal is not None:
        source, found = "the address itself", (str(literal),)
    elif basis.settings.fetcher.proxy:
        return [], None  # the proxy looks names up
    else:
        names = visitor.names(host)
        if not names.addresses:
            return [], names.reason or "dns_failed"
        source, found = "this machine" if is_loopback_host(host) else "DNS", names.addresses
    told = [
        {"address": ip, "from": source, "kind": why_blocked(ip), "refused": basis.guard.check(ip, port, host)}
        for ip in found
    ]
    return told, "private_address" if all(entry["refused"] for entry in told) else None


def _delay_from(crawl_delay: float | None, delay_s: float | None, basis: Basis) -> str | None:
    """Who set the delay."""
    fetcher = basis.settings.fetcher
    if delay_s is None:
        return None
    if 0 < fetcher.min_delay_s == delay_s:
        return "fetcher.min_delay_s"
    if crawl_delay is not None:
        shortened = crawl_delay > fetcher.max_delay_s
        return f"robots.txt asks for {crawl_delay} s" + (", shortened to fetcher.max_delay_s" if shortened else "")
    return "fetcher.delay_s" if fetcher.delay_s >= 0 else "the default: none on this machine, else 1 s"


def story(found: Answer) -> Story:
    """The answer for a person."""
    lines: Story = [("host", f"{found['host']}, of {found['domain']}; bucket {found['bucket']}")]
    for entry in found["addresses"]:
        kind = "public" if entry["kind"] is None else entry["kind"].replace("_", " ")
        verdict = "may be connected to" if entry["refused"] is None else f"refused: {entry['refused']}"
        lines.append(("address", f"{entry['address']} (by {entry['from']}; {kind}): {verdict}"))
    if found["error"] is not None:
        return [*lines, ("error", f"{found['error']}: {reason_text(found['error']) or ''}")]
    for robots in found["origins"]:
        lines.append(("robots.txt", f"{robots['origin']}/robots.txt: {robots_text(robots)}"))
        if robots["crawl_delay"] is not None:
            lines.append(("", f"Crawl-delay {robots['crawl_delay']} s"))
        if robots["state"] == "rules":
            lines += sitemaps_story(robots)
    polite = found["politeness"]
    lines.append(("agent", f"{polite['agent']} in robots.txt, {polite['user_agent']} in requests"))
    lines.append(("delay", f"{polite['delay_s']:g} s between requests ({polite['delay_from']})"))
    lines.append(("connections", f"{polite['connections']} at once"))
    return lines
