"""What does a site's robots.txt allow us (RFC 9309)?

The matching itself is Google's (`robotstxt`). Read here: which lines concern our agent, Crawl-delay and
Sitemap lines, and the limits that keep a hostile file cheap: 500 KiB, 16 stars a rule and 5,000 in all; every
rule within the 500 KiB counts. The body handed to the matcher holds only the lines that concern us, so that a
check costs microseconds for most files.

The matcher takes an escape and its character for the same. That holds for unreserved characters only (RFC 9309
2.2.2): `/a%2Fb` is not `/a/b`. So escapes of reserved characters are escaped once more on both sides; those of
`*` and `$` stay, since in a rule they are how the characters themselves are written.

Not here: fetching the file, its redirects and statuses (`fetcher.run`), meta tags and X-Robots-Tag (`parsers`).
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from robotstxt import RobotsMatcher

MAX_BYTES = 512_000
MAX_STARS = 16
MAX_STARS_IN_ALL = 5_000
MAX_SITEMAPS = 1_000
MAX_LINE_BYTES = 8_192
LONGEST_DELAY_MS = 86_400_000

State = Literal["rules", "allow_all", "disallow_all"]

_BOM = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\r\n|\r|\n")
_NOT_ASCII = re.compile(rb"[\x80-\xff]")
_RESERVED = re.compile(rb"%(2[1356789BCF]|3[ABDF]|40|5[BD])", re.IGNORECASE)
_RESERVED_TEXT = re.compile(_RESERVED.pattern.decode(), re.IGNORECASE)
_TOKEN = re.compile(r"[A-Za-z_-]+")
# misspellings that Google's parser takes, which is what webmasters test against
_AGENT = re.compile(rb"user[ -]?agent$")
_DISALLOW = re.compile(rb"dis?s?all?ow$|diasllow$|disallaw$")
_SITEMAP = re.compile(rb"site-?map$")

_MATCHER = RobotsMatcher()


class _Line(NamedTuple):
    kind: str
    value: bytes
    number: int


def product_token(agent: str) -> str:
    """The part of an agent name that robots.txt is compared with: letters, `_` and `-` (RFC 9309 section 2.2.1).

    >>> product_token("Cobnut/0.1 (+https://example.org)")
    'Cobnut'
    """
    match = _TOKEN.match(agent)
    return match.group() if match else ""


def state_of_status(status: int) -> tuple[State, str | None]:
    """What the status of robots.txt means (RFC 9309 section 2.3.1): state and reason.

    >>> state_of_status(403), state_of_status(429)
    (('allow_all', 'http_403'), ('disallow_all', 'http_429'))
    """
    if 200 <= status < 300:
        return "rules", None
    if 400 <= status < 500 and status != 429:
        return "allow_all", f"http_{status}"
    if status == 429 or status >= 500:
        return "disallow_all", f"http_{status}"
    return "allow_all", "http_other"


class RobotsRules:
    """The rules of one origin for one agent. Make one with `parse`, `allow_all` or `disallow_all`."""

    __slots__ = ("_agent", "_original", "_text", "crawl_delay_ms", "sitemaps", "state")

    def __init__(
        self, state: State, agent: str = "", text: str = "", original: tuple[str, ...] = (),
        crawl_delay_ms: int | None = None, sitemaps: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        self.state = state
        self.crawl_delay_ms = crawl_delay_ms
        self.sitemaps = sitemaps
        self._agent, self._text, self._original = agent, text, original

    @classmethod
    def allow_all(cls) -> RobotsRules:
        """Nothing is forbidden."""
        return cls("allow_all")

    @classmethod
    def disallow_all(cls) -> RobotsRules:
        """Everything is forbidden for now."""
        return cls("disallow_all")

    @classmethod
    def parse(cls, body: bytes, agent: str, keep_lines: bool = False) -> RobotsRules:
        """Reads a robots.txt as bytes; never fails. Sitemap lines come as written (see `resolve_sitemaps`).

        `keep_lines`: `rule_for` gives lines as they stand in the file, which takes several times the memory.
        """
        token = product_token(agent).lower()
        body = body[:MAX_BYTES].removeprefix(_BOM)
        lines, sitemaps = _read_lines(body)
        mine, delay_ms = _select(lines, token.encode())
        text = "".join(f"{line.kind}: {line.value.decode('ascii')}\n" for line in mine)
        original: tuple[str, ...] = ()
        if keep_lines:
            raw = _LINE_END.split(body)
            original = tuple(raw[line.number][:MAX_LINE_BYTES].decode("utf-8", "replace").strip() for line in mine)
        return cls("rules", token, text, original, delay_ms, tuple(sitemaps))

    def allows(self, url: str) -> bool:
        """Whether our agent may fetch `url` (percent-encoded, absolute). robots.txt itself may always be fetched."""
        if self.state != "rules":
            return self.state == "allow_all"
        if not self._text or _is_robots_txt(url):
            return True
        return self._match(url)

    def rule_for(self, url: str) -> str | None:
        """The line of the file that decides about `url`; None when no rule matches it."""
        if self.state != "rules" or not self._text or _is_robots_txt(url):
            return None
        self._match(url)
        number = _MATCHER.matching_line
        lines = self._original or self._text.splitlines()
        return lines[number - 1] if 0 < number <= len(lines) else None

    def _match(self, url: str) -> bool:
        if "%" in url:
            url = _RESERVED_TEXT.sub(lambda m: "%25" + m[1].upper(), url)
        return bool(_MATCHER.is_allowed(self._text, self._agent or "nobody", url))

    def resolve_sitemaps(self, base: str) -> tuple[str, ...]:
        """The Sitemap lines as absolute URLs; those that cannot be read are left out, repeated ones come once."""
        from cobnut.urls.resolve import resolve

        found = (resolve(base, line) for line in self.sitemaps)
        return tuple(dict.fromkeys(url for url in found if url is not None))


def _read_lines(body: bytes) -> tuple[list[_Line], list[str]]:
    lines: list[_Line] = []
    sitemaps: list[str] = []
    for number, raw in enumerate(_LINE_END.split(body)):
        text = raw[:MAX_LINE_BYTES].partition(b"#")[0].strip()
        key, colon, value = text.partition(b":")
        if not colon:  # Google's parser takes one white space for a forgotten colon
            parts = text.split(None, 1)
            if len(parts) != 2 or b" " in parts[1]:
                continue
            key, value = parts
        key, value = key.strip().lower(), value.strip()
        if key == b"disallow" or (key != b"allow" and _DISALLOW.match(key)):
            lines.append(_Line("disallow", _path(value), number))
        elif key == b"allow":
            lines.append(_Line("allow", _path(value), number))
        elif key == b"user-agent" or _AGENT.match(key):
            lines.append(_Line("user-agent", _ascii(value), number))
        elif key in (b"crawl-delay", b"crawldelay"):
            lines.append(_Line("crawl-delay", value, number))
        elif _SITEMAP.match(key) and len(sitemaps) < MAX_SITEMAPS:
            # the URL may hold a '#': a comment needs white space before it
            whole = raw[:MAX_LINE_BYTES].partition(b":")[2].strip().split(None, 1)
            if whole:
                sitemaps.append(whole[0].decode("utf-8", "replace"))
    return lines, sitemaps


def _is_robots_txt(url: str) -> bool:
    return url.endswith("/robots.txt") and url.count("/") == 3


def _ascii(value: bytes) -> bytes:
    """Bytes beyond ASCII percent-encoded as they came: a rule in any charset matches the URL in the same bytes."""
    if not value.isascii():
        value = _NOT_ASCII.sub(lambda m: b"%%%02X" % m.group()[0], value)
    return value.replace(b"\0", b"%00")


def _path(value: bytes) -> bytes:
    """The path of a rule, its escapes of reserved characters escaped once more."""
    value = _ascii(value)
    return _RESERVED.sub(lambda m: b"%25" + m[1].upper(), value) if b"%" in value else value


def _select(lines: list[_Line], token: bytes) -> tuple[list[_Line], int | None]:
    """The lines of the groups that name our agent or `*`, within the limits, and the Crawl-delay that holds
    for us."""
    kept: list[_Line] = []
    delay_mine: int | None = None
    delay_any: int | None = None
    seen_mine = in_mine = in_any = False
    rules_begun, stars = False, 0
    for line in lines:
        if line.kind == "user-agent":
            if rules_begun:
                in_mine = in_any = rules_begun = False
            match = _TOKEN.match(line.value.decode("ascii", "replace"))
            if match is not None and token and match.group().lower().encode() == token:
                in_mine = seen_mine = True
                kept.append(line)
            elif line.value == b"*" or (line.value[:1] == b"*" and line.value[1:2].isspace()):
                in_any = True
                kept.append(line)
            elif kept and not in_mine and not in_any and kept[-1].kind != "user-agent":
                kept.append(line)  # ends our group for the matcher as well
        elif line.kind == "crawl-delay":
            delay = _delay_ms(line.value)
            if delay is not None:
                if in_mine:
                    delay_mine = max(delay_mine or 0, delay)
                if in_any:
                    delay_any = max(delay_any or 0, delay)
        else:
            rules_begun = True
            if in_mine or in_any:
                bounded = _bound_stars(line, min(MAX_STARS, MAX_STARS_IN_ALL - stars))
                if bounded is not None:
                    kept.append(bounded)
                    stars += bounded.value.count(b"*")
    return kept, delay_mine if seen_mine else delay_any


def _bound_stars(line: _Line, most: int) -> _Line | None:
    """A rule with too many stars: a Disallow is cut before the next star (it forbids more), an Allow is dropped."""
    if b"*" not in line.value:
        return line
    value = re.sub(rb"\*{2,}", b"*", line.value)
    if value.count(b"*") <= most:
        return line._replace(value=value)
    if line.kind == "allow":
        return None
    cut = b"*".join(value.split(b"*")[: most + 1])
    return line._replace(value=cut or b"/")  # a rule without a path forbids nothing


def _delay_ms(value: bytes) -> int | None:
    try:
        seconds = float(value)
    except ValueError:
        return None
    if not 0 <= seconds < float("inf"):
        return None
    return min(int(seconds * 1000), LONGEST_DELAY_MS)
