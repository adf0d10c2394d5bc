"""How is a visit told: which URLs were asked, what did they answer, and what did robots.txt say?"""

from __future__ import annotations

from typing import Any

from cobnut.inspect.check.items import Answer, Story
from cobnut.inspect.check.live import Visit
from cobnut.inspect.check.robots import listed, seconds
from cobnut.inspect.show import reason_text


def visit_answer(visit: Visit) -> Answer:
    """Hops and robots.txt files as plain values."""
    return {
        "hops": [
            {
                "url": row["url"], "status": row["http_status"], "outcome": row["outcome"], "reason": row["reason"],
                "location": row["redirect_url"], "address": row["address"], "bytes": row["body_bytes"],
                "elapsed_ms": row["elapsed_ms"],
            }
            for row in visit.hops
        ],
        "robots": [robots_answer(row) for row in visit.robots],
    }  # fmt: skip


def robots_answer(row: dict[str, Any]) -> Answer:
    """One robots.txt that was asked for."""
    delay = row["crawl_delay_ms"]
    return {
        "origin": row["origin"], "state": row["state"], "status": row["http_status"], "reason": row["reason"],
        "crawl_delay": None if delay is None else seconds(delay), "sitemaps": list(row["sitemaps"] or ()),
    }  # fmt: skip


def visit_story(found: Answer) -> Story:
    """The visit for a person."""
    lines: Story = []
    for robots in found["robots"]:
        lines.append(("robots.txt", f"{robots['origin']}/robots.txt: {robots_text(robots)}"))
    for hop in found["hops"]:
        what = hop["outcome"] if hop["status"] is None else f"{hop['status']}, {hop['outcome']}"
        if hop["location"]:
            what += f", leads to {hop['location']}"
        if hop["address"]:
            what += f", from {hop['address']} in {hop['elapsed_ms'] or 0} ms, {hop['bytes']:,} bytes"
        lines.append(("asked", f"{hop['url']}: {what}"))
        if hop["reason"]:
            lines.append(("", f"{hop['reason']}: {reason_text(hop['reason']) or ''}".rstrip(": ")))
    return lines


def robots_text(robots: Answer) -> str:
    """What one robots.txt came to, in words."""
    what = {
        "rules": "rules, read",
        "allow_all": "there is none, everything is allowed",
        "disallow_all": "cannot be read, nothing is fetched from the origin for now",
    }[robots["state"]]
    by = robots["reason"] or (None if robots["status"] is None else f"http {robots['status']}")
    return what if by is None else f"{what} ({by})"


def sitemaps_story(robots: Answer) -> Story:
    """The sitemaps a robots.txt names."""
    return listed("sitemaps", robots["sitemaps"])
