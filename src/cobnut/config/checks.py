"""Is a setting sane?

Ranges for every number, and the form of what is not a number. A check looks at values of the right type only.

Not here: types and unknown names (`config.load`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from cobnut.config.agent import is_email
from cobnut.config.network import parse_proxy
from cobnut.config.sections import Settings
from cobnut.errors import InputError

_TOKEN = re.compile(r"[A-Za-z_-]+", re.ASCII)
_VERSION = re.compile(r"[A-Za-z0-9._+-]*", re.ASCII)
_WEB = re.compile(r"https?://[^\s/?#@]+[^\s]*\Z", re.IGNORECASE)
_HEADER = re.compile(r"[\x20-\x7e]*", re.ASCII)
_HOST_PATTERN = re.compile(r"(\*\.)?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?|\[[0-9A-Fa-f:.]+\]", re.ASCII)
_LONGEST_S = 100 * 365 * 86_400

RANGES: dict[str, tuple[float, float]] = {
    "crawl.depth": (-1, 1_000_000),
    "crawl.max_pages": (0, 1e12),
    "crawl.max_time_s": (0, _LONGEST_S),
    "crawl.round_pages": (1, 1e9),
    "crawl.round_s": (1, _LONGEST_S),
    "urls.max_length": (16, 65_536),
    "fetcher.delay_s": (-1, 86_400),
    "fetcher.min_delay_s": (0, 86_400),
    "fetcher.max_delay_s": (0, 86_400),
    "fetcher.workers": (0, 1_024),
    "fetcher.connections": (1, 100_000),
    "fetcher.connections_per_host": (1, 1_000),
    "fetcher.connect_timeout_s": (0.01, 3_600),
    "fetcher.timeout_s": (0.01, 86_400),
    "fetcher.low_speed_bytes_s": (0, 1e9),
    "fetcher.low_speed_time_s": (1, 86_400),
    "fetcher.max_redirects": (0, 50),
    "fetcher.html_max_bytes": (1_024, 2**31),
    "fetcher.other_max_bytes": (1_024, 2**31),
    "fetcher.robots_max_bytes": (512_000, 2**31),
    "fetcher.robots_ttl_s": (0, 86_400),
    "fetcher.failures_per_host": (1, 1_000_000),
    "fetcher.backoff_s": (0, _LONGEST_S),
    "fetcher.backoff_max_s": (0, _LONGEST_S),
    "fetcher.warc_max_bytes": (1_024, 2**40),
    "parser.workers": (0, 1_024),
    "parser.page_timeout_s": (0.01, 3_600),
    "parser.memory_mib": (64, 2**24),
    "parser.max_html_bytes": (1_024, 2**31),
    "parser.max_text_chars": (0, 2**31),
    "parser.max_links": (0, 2**31),
    "parser.max_embeds": (0, 2**31),
    "parser.max_depth": (1, 1_000_000),
    "parser.max_anchor_chars": (0, 1_000_000),
    "db.interval_s": (1, _LONGEST_S),
    "db.min_interval_s": (1, _LONGEST_S),
    "db.max_interval_s": (1, _LONGEST_S),
    "db.increase": (0, 1_000),
    "db.decrease": (0, 1),
    "db.retry_max": (0, 1_000_000),
    "db.retry_delay_s": (0, _LONGEST_S),
    "db.orphan_after_s": (0, _LONGEST_S),
    "db.gone_factor": (1, 1_000),
    "db.sync_delta_rate": (0, 1),
    "generate.top_n": (-1, 1e12),
    "generate.max_per_host": (-1, 1e12),
    "generate.max_per_domain": (-1, 1e12),
    "generate.num_fetchers": (0, 65_536),
    "generate.min_score": (-1e9, 1e9),
    "generate.ageing": (0, 1e6),
    "linkdb.max_inlinks": (0, 1_000_000),
    "scoring.injected_score": (0, 1e9),
    "scoring.internal_factor": (0, 1_000),
    "scoring.external_factor": (0, 1_000),
    "scoring.rank_iterations": (0, 10_000),
    "scoring.rank_damping": (0, 1),
    "index.max_text_chars": (0, 2**31),
    "index.stored_text_chars": (0, 2**31),
    "index.max_anchors": (0, 1_000_000),
    "index.inlink_sample": (0, 1_000_000),
    "index.max_index_segments": (1, 1_000),
    "index.writer_heap_mib": (15, 2**20),
    "search.candidates": (1, 100_000),
    "search.per_page": (1, 1_000),
    "search.max_query_chars": (1, 100_000),
    "search.snippet_chars": (0, 100_000),
    "search.or_below": (0, 1_000_000),
    "search.max_postings": (1_000, 1e15),
    "serve.port": (0, 65_535),
    "serve.workers": (0, 1_024),
    "serve.rate_per_s": (-1, 1e6),
    "serve.rate_burst": (1, 1_000_000),
    "serve.cache_mib": (0, 65_536),
    "storage.partition_rows": (1_000, 1e9),
    "storage.delta_least_rows": (0, 1e12),
    "storage.delta_share": (0, 10),
    "storage.grace_s": (0, _LONGEST_S),
    "storage.lock_wait_s": (0, _LONGEST_S),
    "storage.memory_mib": (64, 2**24),
    "engine.threads": (0, 4_096),
}
"""Least and greatest value of every number; a test holds it complete."""


def problem_with(key: str, value: Any) -> str | None:
    """What is wrong with a value of the right type; None when nothing is."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        low, high = RANGES[key]
        if not math.isfinite(value) or not low <= value <= high:
            return f"{_number(value)} is not between {_number(low)} and {_number(high)}"
        return None
    check = _FORMS.get(key)
    if check is None:
        return None
    for item in value if isinstance(value, tuple) else (value,):
        try:
            wrong = check(item) if item or isinstance(value, tuple) else None
        except (ValueError, InputError) as error:
            wrong = str(error)
        if wrong:
            return wrong
    return None


def disagreements(settings: Settings) -> list[str]:
    """Settings that are sane each for itself, but not together."""
    found = []
    for low, high in (
        ("db.min_interval_s", "db.max_interval_s"),
        ("fetcher.min_delay_s", "fetcher.max_delay_s"),
        ("fetcher.backoff_s", "fetcher.backoff_max_s"),
    ):
        if value_of(settings, low) > value_of(settings, high):
            found.append(f"{low} ({value_of(settings, low):g}) is above {high} ({value_of(settings, high):g})")
    return found + _host_disagreements(settings)


def _host_disagreements(settings: Settings) -> list[str]:
    """Hosts whose shortest interval the longest of all would cut."""
    from cobnut.config.schedules import parse_host_schedule

    found = []
    for host in map(parse_host_schedule, settings.db.host_schedules):
        least, most = host.min_interval_s, settings.db.max_interval_s
        if least is not None and host.max_interval_s is None and least > most:
            found.append(f"db.host_schedules: min of {host.host} ({least} s) is above db.max_interval_s ({most} s)")
    return found


def value_of(settings: Settings, key: str) -> Any:
    """The value of `section.name`."""
    section, _, name = key.partition(".")
    return getattr(getattr(settings, section), name)


def _number(value: float) -> str:
    return f"{value:,.0f}" if math.isfinite(value) and value == int(value) and abs(value) < 1e15 else f"{value:g}"


def _agent_name(value: str) -> str | None:
    if _TOKEN.fullmatch(value) and len(value) <= 64:
        return None
    return f"{value[:40]!r} is no product token: only letters, - and _ (RFC 9309, 2.2.1)"


def _header(value: str) -> str | None:
    if _HEADER.fullmatch(value) and len(value) <= 512:
        return None
    return "only printable ASCII, at most 512 characters, can be sent in a header"


def _comment(value: str) -> str | None:
    if any(c in value for c in "()\\"):
        return "parentheses and backslashes cannot stand in User-Agent's comment"
    return _header(value)


def _contact(value: str) -> str | None:
    if (wrong := _comment(value)) is not None:
        return wrong
    if is_email(value) or _WEB.match(value):
        return None
    return f"{value[:60]!r} is neither an e-mail address such as me@example.org nor an http or https URL"


def _version(value: str) -> str | None:
    return None if _VERSION.fullmatch(value) else f"{value[:40]!r} is no version such as 1.0"


def _url(value: str) -> str | None:
    if not value.lower().startswith(("http://", "https://")):
        return f"{value[:60]!r} is no http or https URL"
    return _comment(value)


def _nameserver(value: str) -> str | None:
    text = value.strip()
    host, _, port = text.rpartition(":") if text.count(":") == 1 or "]:" in text else (text, "", "")
    import ipaddress

    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return f"{value[:60]!r} is no IP address of a name server"
    return None if not port or (port.isdecimal() and 0 < int(port) < 65_536) else f"{port!r} is no port"


def _proxy(value: str) -> None:
    parse_proxy(value)


def _resolve(value: str) -> None:
    from cobnut.urls.overrides import parse_resolve

    parse_resolve(value)


def _login(value: str) -> None:
    from cobnut.config.credentials import parse_login

    parse_login(value)


def _api_key(value: str) -> None:
    from cobnut.config.credentials import parse_api_key

    parse_api_key(value)


def _host_pattern(value: str) -> str | None:
    if _HOST_PATTERN.fullmatch(value):
        return None
    return f"{value[:60]!r} is no host such as search.example.org, *.example.org or [::1], without a port"


def _net(value: str) -> None:
    from cobnut.urls.addresses import parse_net

    parse_net(value)


def _host_schedule(value: str) -> None:
    from cobnut.config.schedules import parse_host_schedule

    parse_host_schedule(value)


def _host_delay(value: str) -> None:
    from cobnut.config.schedules import parse_host_delay

    parse_host_delay(value)


def _media_type_schedule(value: str) -> None:
    from cobnut.config.schedules import parse_media_type_schedule

    parse_media_type_schedule(value)


_FORMS: dict[str, Callable[[str], str | None]] = {
    "fetcher.agent_name": _agent_name,
    "fetcher.agent_version": _version,
    "fetcher.agent_contact": _contact,
    "fetcher.agent_url": _url,
    "fetcher.agent_addresses": _net,
    "fetcher.accept_language": _header,
    "fetcher.host_delays": _host_delay,
    "fetcher.proxy": _proxy,
    "fetcher.resolve": _resolve,
    "fetcher.allow_net": _net,
    "fetcher.nameservers": _nameserver,
    "db.host_schedules": _host_schedule,
    "db.media_type_schedules": _media_type_schedule,
    "serve.hosts": _host_pattern,
    "serve.basic_auth": _login,
    "serve.api_keys": _api_key,
    "serve.trusted_proxies": _net,
}
