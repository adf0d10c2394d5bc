"""Does a refusal say that another visitor would be let in?

Answers with 401, 403, 429 and 503 are no pages: nothing of them is parsed or indexed. Some are a challenge, by which
the server wants to know whether a person asks, and some want a login. That is worth telling: the page is there, and it
is not for us. What is looked at is the header, and the beginning of a body that is HTML.

Not here: what becomes of the URL, which the status alone decides (`fetcher.outcome`); pages that came with success
(`parsers.flags`).
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Final

from cobnut.text.walls import SHORT_TEXT, Seen, asks_for_login, is_challenge, says_login

LOGIN_WALL, BOT_CHALLENGE = "login_wall", "bot_challenge"

CHALLENGING = frozenset({401, 403, 429, 503})
"""Statuses with which challenges come."""
WANTS_LOGIN = frozenset({401, 403})
"""Statuses by which a server refuses to those whom it does not know (RFC 9110 sections 15.5.2 and 15.5.4)."""

LOOKED_AT_BYTES = 64 * 1024
"""Decoded bytes of the body that are looked at; challenges are short, or say so at once."""

_CHALLENGE_HEADERS: Final = {"cf-mitigated": ("challenge",), "x-amzn-waf-action": ("challenge", "captcha")}
"""Headers by which two large services say that the answer is a challenge."""


def flags_of_refusal(status: int, headers: Mapping[str, str], body: bytes) -> tuple[str, ...] | None:
    """The flags of an answer that brought no page; None without one. `body` is as received.

    >>> flags_of_refusal(401, {"www-authenticate": "Basic realm=x"}, b"")
    ('login_wall',)
    >>> flags_of_refusal(404, {"www-authenticate": "Basic realm=x"}, b"") is None
    True
    """
    if status < 400:
        return None
    if any(headers.get(name, "").strip().lower() in values for name, values in _CHALLENGE_HEADERS.items()):
        return (BOT_CHALLENGE,)
    if status not in CHALLENGING:
        return None
    seen = _seen(headers, body)
    if seen is not None and is_challenge(seen):
        return (BOT_CHALLENGE,)
    if status not in WANTS_LOGIN:
        return None
    if headers.get("www-authenticate", "").strip() or (seen is not None and _wants_login(seen)):
        return (LOGIN_WALL,)
    return None


def _wants_login(seen: Seen) -> bool:
    return asks_for_login(seen) or (len(seen.text) <= SHORT_TEXT and says_login(seen.text))


def _seen(headers: Mapping[str, str], body: bytes) -> Seen | None:
    """What the beginning of the body shows; None where it is no HTML."""
    if not body:
        return None
    from cobnut.fetcher.body import decode_all

    coding = headers.get("content-encoding", "").strip().lower()
    data = body if coding in ("", "identity", "none") else decode_all(body, coding, LOOKED_AT_BYTES) or body
    data = data[:LOOKED_AT_BYTES]
    content_type = headers.get("content-type", "")
    kind = content_type.partition(";")[0].strip().lower()
    if not ("html" in kind or (not kind and data.lstrip()[:1] == b"<")):
        return None
    from cobnut.text.charset import decode

    return sketch(decode(data, content_type or None, None).text)


_TITLE = re.compile(r"<title[^<>]{0,300}>([^<]{0,500})", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")
_INPUT = re.compile(r"<input\b([^<>]{0,2000})", re.IGNORECASE)
_PASSWORD = re.compile(r"\btype\s{0,9}=\s{0,9}[\"']?password\b", re.IGNORECASE)
_HIDDEN = ("script", "style", "noscript", "template")


def sketch(source: str) -> Seen:
    """What a page shows, roughly, and in one go over its text, whatever it holds.

    >>> sketch("<title>In</title><p>Log&nbsp;in <script>x</script><input type=password>").text
    'Log in'
    """
    lower = source.lower()
    inputs = [match[1] for match in _INPUT.finditer(source)]
    secrets = [one for one in inputs if _PASSWORD.search(one)]
    title = _TITLE.search(source)
    shown = source
    for name in (*_HIDDEN, "title"):
        shown = _without(shown, name)
    text = " ".join(html.unescape(_TAG.sub(" ", _without_comments(shown))).split())
    return Seen(
        source=source, title=" ".join(html.unescape(title[1]).split()) if title else "", text=text,
        main_chars=len(text), links=lower.count("<a "), passwords=len(secrets),
        new_passwords=sum("new-password" in one.lower() for one in secrets), scripts=lower.count("<script"),
    )  # fmt: skip


def _without(source: str, name: str) -> str:
    """The source without these elements; one that never ends takes the rest with it."""
    return _cut(source, f"<{name}", f"</{name}")


def _without_comments(source: str) -> str:
    return _cut(source, "<!--", "-->")


def _cut(source: str, begins: str, ends: str) -> str:
    lower = source.lower()
    if len(lower) != len(source):  # a few letters are longer in lower case: places would not agree
        lower = source
    kept, at = [], 0
    while (start := lower.find(begins, at)) >= 0:
        kept.append(source[at:start])
        end = lower.find(ends, start + len(begins))
        if end < 0:
            return " ".join(kept)
        at = end + len(ends) if ends == "-->" else (source.find(">", end) + 1 or len(source))
    return " ".join([*kept, source[at:]])
