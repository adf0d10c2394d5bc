"""What is a host of the made-up web like?

Drawn from the host's number, so that a test knows what a good crawler must and must not find.

*robots* (how /robots.txt answers): none allow all disallow private delay wildcard agent error403 error503 redirect html
big bom.

*quirk*:

    plain      most hosts
    calendar   /cal/<year>/<month>: endless "next month" links
    session    every link has a new ?sid=
    facets     /list?a=..&b=..: every combination linked, in any order
    deep       /d/x/x/x/...: a path one longer on every page
    soft404    unknown paths: 200 and a "not found" text
    slow       0.3 to 2 s before an answer
    burst      of every 40 answers 10 are 503 with Retry-After
    limit      429 when asked more than once a second
    mirror     the same pages as host k-1 (exact duplicates)
    near       the pages of host k-1 with a few words changed
    redirects  /p/n.html moved once, twice ... or for ever (/loop/)
    charset    body and labels disagree, or there is no label
    strange    /x/...: one address per oddity, see `oddities`
    noindex    robots meta, X-Robots-Tag, nofollow, canonical elsewhere

Not here: the pages and their links (`synthweb`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from cobnut.testing.fakeweb.messages import Response

ROBOTS = (
    *["none"] * 6, *["allow"] * 4, *["private"] * 4,
    "all", "delay", "wildcard", "agent", "error403", "error503", "redirect", "html", "big", "bom",
)  # fmt: skip
QUIRKS = (
    *["plain"] * 26, "calendar", "session", "facets", "deep", "soft404", "slow", "burst", "limit", "mirror", "near",
    "redirects", "charset", "strange", "noindex",
)  # fmt: skip
CHARSETS = {
    "zh": ("gb18030", "big5", "utf-8"),
    "ru": ("koi8-r", "windows-1251", "utf-8"),
    "en": ("iso-8859-1", "windows-1252", "utf-8"),
}
_LANGUAGES = ("en", "en", "en", "zh", "ru")
_LABELS = ("header", "meta", "both")
_ODD_LABELS = ("header", "meta", "both", "wrong-header", "wrong-meta", "none")


@dataclasses.dataclass(frozen=True, slots=True)
class HostKind:
    """What one host is like. `label`: where the character set is named (both, header, meta, wrong-…, none)."""

    robots: str = "none"
    quirk: str = "plain"
    lang: str = "en"
    charset: str = "utf-8"
    label: str = "both"
    chunked: bool = False


PLAIN = HostKind()


def draw_kind(k: int, numbers: Sequence[int]) -> HostKind:
    """The kind of host `k` from seven numbers; host 0 is always plain and open."""
    quirk = QUIRKS[numbers[1] % len(QUIRKS)] if k else "plain"
    lang = _LANGUAGES[numbers[2] % 5]
    legacy = quirk == "charset" or numbers[4] % 5 == 0
    return HostKind(
        robots=ROBOTS[numbers[0] % len(ROBOTS)] if k else "allow",
        quirk=quirk,
        lang=lang,
        charset=CHARSETS[lang][numbers[3] % 3] if legacy else "utf-8",
        label=_ODD_LABELS[numbers[5] % 6] if quirk == "charset" else _LABELS[numbers[5] % 3],
        chunked=numbers[6] % 6 == 0,
    )


def content_type(kind: HostKind) -> str:
    """The Content-Type header of a page of this kind of host."""
    if kind.label in ("meta", "none", "wrong-meta"):
        return "text/html"
    return "text/html; charset=" + (_another(kind.charset) if kind.label == "wrong-header" else kind.charset)


def meta_charset(kind: HostKind) -> str:
    """The meta element that names the character set, or nothing."""
    if kind.label in ("header", "none", "wrong-header"):
        return ""
    return f"<meta charset={_another(kind.charset) if kind.label == 'wrong-meta' else kind.charset}>"


def _another(charset: str) -> str:
    return "iso-8859-1" if charset == "utf-8" else "utf-8"


def robots_txt(robots: str, host: str, first_host: str) -> Response:
    """How a host with that kind of robots.txt answers."""
    sitemap = f"Sitemap: http://{host}/sitemap.xml\n"
    texts = {
        "allow": "User-agent: *\nDisallow:\n\n" + sitemap,
        "all": "User-agent: *\nDisallow: /\n",
        "private": "# keep out\nUser-Agent: *\nDisallow: /private/\nDisallow: /cal/\n" + sitemap,
        "delay": "User-agent: *\nCrawl-delay: 2\nDisallow: /private/\n",
        "wildcard": "User-agent: *\nDisallow: /*?sid=\nDisallow: /p/*7.html$\nAllow: /p/17.html\nDisallow: /private\n",
        "agent": "User-agent: otherbot\nDisallow: /\n\nUser-agent: *\nDisallow: /private/\n",
        "bom": "\ufeffUser-agent: *\r\nDisallow: /private/\r\n",
    }
    if robots in texts:
        return Response(200, "text/plain", texts[robots].encode())
    if robots == "big":
        groups = "".join(f"User-agent: bot{i}\nDisallow: /b{i}\n\n" for i in range(15000))
        return Response(200, "text/plain", (groups + "User-agent: *\nDisallow: /private/\n").encode())
    if robots == "error403":
        return Response(403, "text/html", b"<h1>Forbidden</h1>")
    if robots == "error503":
        return Response(503, "text/html", b"<h1>Down</h1>")
    if robots == "redirect":
        return Response(301, None, b"", [("Location", f"http://{first_host}/robots.txt")])
    if robots == "html":
        page = b"<!DOCTYPE html><html><body>Welcome! User-agent: * Disallow: /</body></html>"
        return Response(200, "text/html", page)
    return Response(404, "text/html", b"<h1>404</h1>")


def calendar_body(path: str) -> tuple[str, str] | None:
    """Title and body of /cal/<year>/<month>, which links on for ever; None for another path."""
    parts = path.split("/")
    if len(parts) != 4 or not (parts[2].isdecimal() and parts[3].isdecimal()):
        return None
    year, month = int(parts[2]), int(parts[3])
    next_year, next_month = (year, month + 1) if month < 12 else (year + 1, 1)
    return f"Calendar {year}-{month}", (
        f"<p>No events in month {month} of {year}.</p><a href='/cal/{next_year}/{next_month}'>next</a> "
        f"<a href='/cal/{year - 1}/{month}'>last year</a> <a href='/'>home</a>"
    )


def facets_body(query: str | None) -> tuple[str, str]:
    """Title and body of /list?..., which links to every further combination of facets."""
    have = dict(part.partition("=")[::2] for part in (query or "").split("&") if part)
    links = []
    for facet in "abcde":
        for value in range(4):
            if have.get(facet) != str(value):
                pairs = [(x, y) for x, y in [*have.items(), (facet, value)] if x != facet or y == value]
                links.append(f"<a href='/list?{'&'.join(f'{x}={y}' for x, y in pairs)}'>{facet}={value}</a>")
    return "List", "<p>12 things.</p>" + " ".join(links) + " <a href='/p/1.html'>one</a>"
