"""Who do we say we are?

Not here: the name itself (`config.agent`), asking for one before the open web is crawled (`cli`).
"""

from __future__ import annotations

from cobnut.config.agent import DEFAULT_NAME, from_address, header_text, user_agent
from cobnut.config.sections import FetcherSettings
from cobnut.fetcher.exchange import HttpIdentity, HttpLimits

__all__ = ["ACCEPT", "DEFAULT_NAME", "identity", "limits", "user_agent"]

ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


def identity(settings: FetcherSettings, version: str, proxy: str) -> HttpIdentity:
    """What every request says."""
    headers = [
        f"Accept: {ACCEPT}",
        f"Accept-Language: {header_text(settings.accept_language)}",
        "Accept-Encoding: gzip, br",
    ]
    if address := from_address(settings):
        headers.append(f"From: {address}")
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
