"""By which name does the crawler go?

The same text stands in every request (`fetcher.identity`) and on the page about the crawler (`web.bot`).
"""

from __future__ import annotations

import re

from cobnut.config.sections import FetcherSettings

DEFAULT_NAME = "Cobnut"
_EMAIL = re.compile(r"[^\s@<>,;]+@[^\s@<>,;]+\.[^\s@<>,;]+\Z")
_UNSAFE = re.compile(r"[^\x20-\x7e]|[()\\]")


def header_text(text: str) -> str:
    """What of a text may stand in a header, and in User-Agent's comment."""
    return _UNSAFE.sub("", text)


def user_agent(settings: FetcherSettings, version: str) -> str:
    """`Name/version (+url; contact)`, without the parts that are not set; `Cobnut/<version>` when no name is.

    >>> user_agent(FetcherSettings(agent_name="Nut", agent_version="2", agent_contact="me@example.org"), "0.1")
    'Nut/2 (me@example.org)'
    """
    about = [f"+{settings.agent_url}" if settings.agent_url else "", settings.agent_contact]
    comment = "; ".join(header_text(part) for part in about if part)
    name = header_text(settings.agent_name).strip()
    product = f"{name}/{header_text(settings.agent_version)}" if name else f"{DEFAULT_NAME}/{version}"
    return f"{product.rstrip('/')} ({comment})" if comment else product.rstrip("/")


def is_email(text: str) -> bool:
    """Is it one e-mail address and nothing else?"""
    return _EMAIL.match(text) is not None


def from_address(settings: FetcherSettings) -> str | None:
    """The e-mail address for the header `From` (RFC 9110, 10.1.2); None when the contact is none."""
    return settings.agent_contact if is_email(settings.agent_contact) else None
