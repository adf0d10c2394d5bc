"""What does this reference point to, and may it enter?

Item: `base` and `href` (or `href_b64`, the bytes of a Location header), or `url`; `charset` of the page. Answer:
`resolved` is what is requested, `normalized` what is compared, `key` what tables are sorted by; all NULL when it is no
URL. `accepted`: a link to it would be fetched; otherwise `rule` names the filter that refuses it, or the reason
(`bad_url`, `bad_scheme`, `private_address`). `address` is the kind of an address that is not meant for the public.
"""

from __future__ import annotations

from typing import Any

from cobnut.inspect.check.basis import Basis
from cobnut.inspect.check.items import Answer, BadItemError, Item, Story, bytes_of, text_of
from cobnut.inspect.show import reason_text
from cobnut.urls.addresses import read_ip, why_blocked
from cobnut.urls.hosts import domain_of, is_loopback_host, origin_of, port_of
from cobnut.urls.parse import is_web, split
from cobnut.urls.resolve import resolve

BAD_URL = "bad_url"
_NOTHING: dict[str, Any] = dict.fromkeys(
    ("normalized", "key", "host", "port", "origin", "domain", "bucket", "robots_url", "request_target", "address")
)


def answer(item: Item, basis: Basis) -> Answer:
    """All that can be told of one URL."""
    resolved = _resolved(item)
    if resolved is None:
        return {"resolved": None, **_NOTHING, "accepted": False, "rule": BAD_URL}
    made = basis.forms(resolved, resolved=True)
    if made is None:
        rule = BAD_URL if is_web(resolved) else "bad_scheme"
        return {"resolved": resolved, **_NOTHING, "accepted": False, "rule": rule}
    origin, port = origin_of(resolved), port_of(resolved)
    kind, refused = _address(made.host, port, basis)
    refused_by = basis.refuses(made.normalized) or ("private_address" if refused else None)
    return {
        "resolved": made.url,
        "normalized": made.normalized,
        "key": made.key,
        "accepted": refused_by is None,
        "rule": refused_by,
        "host": made.host,
        "port": port,
        "origin": origin,
        "domain": domain_of(made.host),
        "bucket": made.bucket,
        "robots_url": f"{origin}/robots.txt",
        "request_target": split(made.url)[4],
        "address": kind,
    }


def _resolved(item: Item) -> str | None:
    url, base = text_of(item, "url"), text_of(item, "base")
    if url is not None and "href" not in item and "href_b64" not in item:
        return resolve("", url)
    raw = bytes_of(item, "href") if "href_b64" in item else None
    # the bytes of a header are opaque: those beyond ASCII are sent back percent-encoded (RFC 9110 5.5)
    href = text_of(item, "href") if raw is None else "".join(chr(b) if b < 0x80 else f"%{b:02X}" for b in raw)
    if href is None:
        raise BadItemError('"url" is missing, or "base" and "href"')
    if base is None and url is None:
        raise BadItemError('"base" is missing')
    return resolve(base or url or "", href, text_of(item, "charset") or "utf-8")


def _address(host: str, port: int, basis: Basis) -> tuple[str | None, bool]:
    """The kind of the address that a host is, where it is none of the public's, and whether the guard refuses it."""
    if read_ip(host) is not None:
        return why_blocked(host.strip("[]")), not basis.guard.allows(host.strip("[]"), port, host)
    if is_loopback_host(host):
        return "loopback", not basis.guard.allows("127.0.0.1", port, host)
    return None, False


def story(found: Answer) -> Story:
    """The answer for a person."""
    lines = [("requested", found["resolved"] or "nothing: it cannot be read as a URL")]
    if found["normalized"] is not None:
        lines += [
            ("normalised", found["normalized"]),
            ("key", found["key"]),
            ("host", f"{found['host']}, port {found['port']}, of {found['domain']}; bucket {found['bucket']}"),
            ("robots.txt", found["robots_url"]),
        ]
    if found["address"] is not None:
        lines.append(("address", found["address"].replace("_", " ")))
    if found["accepted"]:
        lines.append(("accepted", "yes: no filter refuses it"))
    else:
        lines.append(("accepted", f"no, by {found['rule']}: {_why(found['rule'])}"))
        if found["rule"] == "private_address":
            lines.append(("", "A link to it is not followed; as a seed it would be fetched."))
    return lines


def _why(rule: str) -> str:
    if rule == BAD_URL:
        return "It is no URL, or one that is too long."
    return reason_text(rule if rule in ("bad_scheme", "private_address") else f"filtered_by:{rule}") or rule
