"""Who do we say we are?

Not here: asking the user for a name before the open web is crawled (`cli`).
"""

from __future__ import annotations

import re

from cobnut.config.sections import FetcherSettings
from cobnut.fetcher.exchange import HttpIdentity, HttpLimits

DEFAULT_NAME = "Cobnut"
ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
_EMAIL = re.compile(r"[^\s@<>,;]+@[^\s@<>,;]+\.[^\s@<>,;]+\Z")
_UNSAFE = re.compile(r"[^\x20-\x7e]|[()\\]")


def user_agent(settings: FetcherSettings, version: str) -> str:
    """`Name/version (+url; contact)`, without the parts that are not set; `Cobnut/<version>` when no name is.

    >>> user_agent(FetcherSettings(agent_name="Nut", agent_version="2", agent_contact="me@example.org"), "0.1")
    'Nut/2 (me@example.org)'
    """
    about = [f"+{settings.agent_url}" if settings.agent_url else "", settings.agent_contact]
    comment = "; ".join(_UNSAFE.sub("", part) for part in about if part)
    name = _UNSAFE.sub("", settings.agent_name).strip()
    product = f"{name}/{_UNSAFE.sub('', settings.agent_version)}" if name else f"{DEFAULT_NAME}/{version}"
    return f"{product.rstrip('/')} ({comment})" if comment else product.rstrip("/")


def identity(settings: FetcherSettings, version: str, proxy: str) -> HttpIdentity:
    """What every request says."""
    headers = [
        f"Accept: {ACCEPT}",
        f"Accept-Language: {_UNSAFE.sub('', settings.accept_language)}",
        "Accept-Encoding: gzip, br",
    ]
    if _EMAIL.match(settings.agent_contact):
        headers.append(f"From: {settings.agent_contact}")
    return HttpIdentity(user_agent(settings, version), tuple(headers), proxy, settings.tls_verify, settings.ca_file)


def limits(settings: FetcherSettings) -> HttpLimits:
    """What every request is bounded by."""
    return HttpLimits(
        connect_timeout_ms=int(settings.connect_timeout_s * 1000),
        timeout_ms=int(settings.timeout_s * 1000),
        low_speed_bytes_s=settings.low_speed_bytes_s,
        low_speed_time_s=settings.low_speed_time_s,
        html_max_bytes=settings.html_max_bytes,
        other_max_bytes=settings.other_max_bytes,
    )
