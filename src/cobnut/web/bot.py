"""What does a webmaster read about the crawler?

A page made from the settings that the crawler goes by: its name, who runs it, how to keep it out, how fast it is. The
search server has it at `/bot`; `standalone` makes the same page as one file for any other web server, to be named in
`fetcher.agent_url`.
"""

from __future__ import annotations

import re
from typing import Any

from cobnut.config.agent import from_address, user_agent
from cobnut.config.sections import FetcherSettings
from cobnut.web import pages

LOOPBACK_ONLY = "Without a name the crawler goes nowhere but its own machine."

_ADDRESS = re.compile(r"https?://\S+\Z", re.IGNORECASE)


def bot_values(settings: FetcherSettings, version: str) -> dict[str, Any]:
    """The values of the template `bot`; the settings must hold a name."""
    delay_s = max(settings.delay_s if settings.delay_s >= 0 else 1.0, settings.min_delay_s)
    return {
        "agent": settings.agent_name,
        "user_agent": user_agent(settings, version),
        "from_address": from_address(settings),
        "contact": settings.agent_contact,
        "contact_href": contact_href(settings),
        "about": settings.agent_url,
        "about_href": settings.agent_url if _ADDRESS.match(settings.agent_url) else None,
        "delay": duration(delay_s),
        "max_delay": duration(max(settings.max_delay_s, settings.min_delay_s)),
        "connections": settings.connections_per_host,
        "robots_kib": settings.robots_max_bytes // 1024,
        "robots_ttl": duration(settings.robots_ttl_s),
        "addresses": list(settings.agent_addresses),
    }


def contact_href(settings: FetcherSettings) -> str | None:
    """A link to who runs the crawler: mail or a page; None when the contact is neither."""
    if (address := from_address(settings)) is not None:
        return f"mailto:{address}"
    return settings.agent_contact if _ADDRESS.match(settings.agent_contact) else None


def standalone(settings: FetcherSettings, version: str) -> str:
    """The page as one HTML file that needs nothing beside it."""
    return pages.render("bot", layout="alone.html", **bot_values(settings, version))


def duration(seconds: float) -> str:
    """A time in words.

    >>> duration(1), duration(0.5), duration(90), duration(86_400), duration(0)
    ('1 second', '0.5 seconds', '90 seconds', '24 hours', 'no time')
    """
    if not seconds:
        return "no time"
    for size, unit in ((3_600, "hour"), (60, "minute")):
        if seconds >= 2 * size and seconds % size == 0:
            return f"{seconds / size:g} {unit}s"
    return f"{seconds:g} second{'' if seconds == 1 else 's'}"
