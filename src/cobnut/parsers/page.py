"""What does this answer say, and what does it link to?

`parse_page` takes one answer as the archive holds it and gives everything the tables `parsed` and `links` need
of it. It is a pure function: the same bytes and settings give the same page, in every process and on every
machine, and nothing that a server sends makes it raise.

Not here: reading the archive and writing the tables (`parsers.worker`), ending a page that takes too long
(`parsers.pool`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import lru_cache

import msgspec

from cobnut.config.sections import ScoringSettings, Settings, UrlSettings
from cobnut.frontier.scoring import FollowedLinks, LinkingPage, PassedScores
from cobnut.parsers import directives, guard, media_type, xml_links
from cobnut.parsers.body import BAD_ENCODING, gunzip, undo_encoding
from cobnut.parsers.embeds import Embeds
from cobnut.parsers.extractor import extractor
from cobnut.parsers.flags import flags_of
from cobnut.parsers.html import KIND_ALTERNATE, KIND_CANONICAL, KIND_LINK, KIND_REFRESH, HtmlPage, RawLinks, read_html
from cobnut.text.charset import Decoded, decode
from cobnut.text.dates import date_ms
from cobnut.text.language import detect as detect_language
from cobnut.text.walls import Seen
from cobnut.urls.hosts import host_of
from cobnut.urls.keys import key_to_url
from cobnut.urls.page_links import resolve_all
from cobnut.urls.resolve import Forms, UrlForms, compile_forms, forms, resolve

OK, FAILED, SKIPPED = "ok", "failed", "skipped"
FOLLOWED_KINDS = frozenset((KIND_LINK, "frame", KIND_REFRESH, "sitemap"))
"""Kinds of link that pass score on and count as page links."""

AT_ONCE_S = 5
"""A page that goes on to another in less time is a redirect: nobody could read it."""

_LANGUAGE_CHARS = 400
"""Enough to tell a language; its cost grows with the length."""
_SNIFF_CAP = 50 * 1024 * 1024


class PageInput(msgspec.Struct, frozen=True):
    """One answer: its body as received, and what is known of it.

    `headers` have lower-case names when they are a mapping; a list of pairs may have any case and repeat names.
    `digest` is the MD5 of the body with its Content-Encoding undone, where it is known already.
    """

    url: str
    body: bytes
    headers: Mapping[str, str] | Sequence[tuple[str, str]] = ()
    truncated: bool = False
    agent: str = ""
    score: int = 0
    digest: bytes | None = None


class PageLinks(msgspec.Struct):
    """The links of a page as parallel lists, in document order, embeds behind the others.

    `urls` are NULL where equal to the normalised form.
    """

    urls: list[str | None] = []
    keys: list[str] = []
    hosts: list[str] = []
    buckets: list[int] = []
    anchors: list[str | None] = []
    nofollows: list[bool] = []
    kinds: list[str] = []
    contributions: list[int] = []
    changed: list[int | None] = []


class ParsedPage(msgspec.Struct):
    """Everything one page says; the fields are those of the table `parsed`, and why a refresh leads nowhere."""

    parse_status: str = OK
    reason: str | None = None
    title: str | None = None
    text: str | None = None
    main_text: str | None = None
    headings: list[str] | None = None
    description: str | None = None
    language: str | None = None
    charset: str | None = None
    charset_source: str | None = None
    media_type: str | None = None
    base_url: str | None = None
    canonical_key: str | None = None
    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False
    refresh_delay_s: int | None = None
    refresh_url: str | None = None
    refresh_key: str | None = None
    refresh_refused: str | None = None
    outlink_count: int = 0
    embed_count: int = 0
    links_dropped: int = 0
    truncated: bool = False
    flags: list[str] | None = None
    signature: bytes | None = None
    fingerprint: int | None = None
    links: PageLinks = msgspec.field(default_factory=lambda: PageLinks([], [], [], [], [], [], [], [], []))


def parse_page(page: PageInput, settings: Settings) -> ParsedPage:
    """Everything one page says. Never raises for what a server can send."""
    headers = _Headers(page.headers)
    content_type = media_type.last_content_type(headers.all("content-type"))
    said = media_type.essence(content_type)
    limits = settings.parser
    cap = limits.max_html_bytes if said is None or media_type.is_html(said) else settings.fetcher.other_max_bytes
    body = undo_encoding(page.body, ", ".join(headers.all("content-encoding")) or None, cap)
    data = body.data
    result = ParsedPage(truncated=page.truncated or body.cut)
    result.media_type = kind = media_type.detect(content_type, data)
    robots = directives.robots_of_page((), headers.all("x-robots-tag"), page.agent)
    _set_robots(result, robots)
    if body.reason == BAD_ENCODING:
        result.reason = BAD_ENCODING
        if not data:
            result.parse_status = FAILED
            return result
    if kind == "application/gzip":
        # a sitemap is often a gzip file; a page is one when its Content-Encoding was forgotten, or done twice
        of_page = said is not None and media_type.is_html(said)
        unpacked = gunzip(data, cap if of_page else _SNIFF_CAP)
        data, inside = unpacked.data, media_type.detect(None, unpacked.data)
        if not media_type.is_xml(inside) and not (of_page and media_type.is_html(inside)):
            return _skip(result)
        kind = inside
        if of_page:
            result.media_type = kind
        result.truncated = result.truncated or unpacked.cut
    if not (media_type.is_html(kind) or media_type.is_xml(kind) or kind == media_type.PLAIN):
        return _skip(result)
    decoded = _decode(data, content_type, kind, page.url)
    result.charset, result.charset_source = decoded.charset, decoded.source
    if kind == media_type.PLAIN:
        result.text = "\n".join(
            filter(None, (" ".join(line.split()) for line in decoded.text[: limits.max_text_chars].splitlines()))
        )
        result.base_url = page.url
        _read_refresh(result, page, headers, None, settings)
    elif media_type.is_html(kind) or xml_links.root_name(decoded.text) == "html":
        _read_html(result, page, headers, decoded, settings)
    else:
        listed = xml_links.read_listed(decoded.text)
        if listed is None:
            return _skip(result)
        _read_listed(result, page, listed, decoded, settings)
    _sign(result, page, data)
    return result


class _Headers:
    """Values by name, in the order they came, whichever form the headers have."""

    def __init__(self, headers: Mapping[str, str] | Sequence[tuple[str, str]]) -> None:
        self.values: dict[str, list[str]] = {}
        pairs = headers.items() if isinstance(headers, Mapping) else headers
        for name, value in pairs:
            self.values.setdefault(name.lower(), []).append(value)

    def all(self, name: str) -> list[str]:
        """All values of a header."""
        return self.values.get(name, [])


def _skip(result: ParsedPage) -> ParsedPage:
    result.parse_status, result.reason = SKIPPED, "media_type"
    return result


def _decode(data: bytes, content_type: str | None, kind: str, url: str) -> Decoded:
    """The text; an XML declaration counts where the header names no charset."""
    if media_type.is_xml(kind) and "charset" not in (content_type or "").lower():
        content_type = kind
    return decode(data, content_type, host_of(url))


def _set_robots(result: ParsedPage, robots: directives.Robots) -> None:
    result.noindex, result.nofollow, result.noarchive = robots.noindex, robots.nofollow, robots.noarchive


def _read_html(result: ParsedPage, page: PageInput, headers: _Headers, decoded: Decoded, settings: Settings) -> None:
    """Fills the result from an HTML page."""
    limits = settings.parser
    text = guard.tame(decoded.text, limits.max_depth)
    html = read_html(
        text,
        max_text_chars=limits.max_text_chars,
        max_links=limits.max_links,
        max_anchor_chars=limits.max_anchor_chars,
        max_embeds=limits.max_embeds,
    )
    extract = extractor(limits.main_text)
    main_text = (extract and extract(text[: limits.max_html_bytes])) or html.main_text
    result.title, result.text, result.main_text = (
        html.title,
        html.text,
        main_text and main_text[: limits.max_text_chars],
    )
    result.truncated = result.truncated or html.cut
    result.headings, result.description = html.headings, html.description
    sample = (main_text or html.text)[:_LANGUAGE_CHARS]
    result.language = detect_language(sample) or _language_of_tag(html.language)
    _set_robots(result, directives.robots_of_page(html.robots, headers.all("x-robots-tag"), page.agent))
    base = html.base_href and resolve(page.url, html.base_href)
    if not base or not base.startswith(("http:", "https:")):
        base = page.url
    result.base_url = base
    canonical = html.canonical_href
    for value in headers.all("link"):
        for href, rel in directives.links_of_header(value):
            if rel == "canonical" and canonical is None:
                canonical = href
                html.links.add(href, KIND_CANONICAL)
            elif rel in ("next", "prev", "alternate"):
                html.links.add(href, KIND_ALTERNATE)
    _read_refresh(result, page, headers, html, settings)
    make = _forms_of(settings.urls.normalizers)
    found = resolve_all(base, html.links.hrefs, decoded.charset, make)
    own = make(page.url)
    result.canonical_key = next(
        (f.key for f, kind in zip(found, html.links.kinds, strict=True) if kind == KIND_CANONICAL and f), None
    )
    _set_links(result, page, own, found, html.links, settings)
    embedded = resolve_all(base, html.embeds.hrefs, decoded.charset, make)
    _set_embeds(result, own.key if own else "", embedded, html.embeds, limits.follow_embeds)
    result.flags = _flags(result, html, decoded.text)


def _flags(result: ParsedPage, html: HtmlPage, source: str) -> list[str] | None:
    """What the page is, if it is no page to be read."""
    shown = [kind for kind in (*html.embeds.kinds, *html.links.kinds) if kind in ("image", "media", "object", "frame")]
    return flags_of(
        Seen(
            source=source, title=html.title or "", text=html.text, main_chars=len(html.main_text or ""),
            links=result.outlink_count, passwords=html.passwords, new_passwords=html.new_passwords,
            scripts=html.scripts, shows=len(shown),
        )
    )  # fmt: skip


def _read_refresh(
    result: ParsedPage, page: PageInput, headers: _Headers, html: HtmlPage | None, settings: Settings
) -> None:
    """Refresh of the header or of a meta tag: its delay, its target, and a link of its own."""
    written = headers.all("refresh")[:1] or ([html.refresh] if html and html.refresh else [])
    refresh = directives.refresh_of(written[0]) if written else None
    if refresh is None:
        return
    result.refresh_delay_s, target = refresh
    if not target:
        return
    url = resolve(result.base_url or page.url, target, result.charset or "utf-8")
    if not url or not url.startswith(("http:", "https:")):
        result.links_dropped += 1
        result.refresh_refused = "bad_scheme" if url else "bad_url"
        return
    result.refresh_url = url
    make = _forms_of(settings.urls.normalizers)
    own, made = make(page.url), make(url)
    if result.refresh_delay_s < AT_ONCE_S and not result.nofollow and made and own and made.key != own.key:
        result.refresh_key = made.key
    if html:
        html.links.add(url, KIND_REFRESH)
    else:
        links = RawLinks([url], [KIND_REFRESH], [None], [False])
        _set_links(result, page, own, [made], links, settings)


def _read_listed(
    result: ParsedPage, page: PageInput, listed: xml_links.Listed, decoded: Decoded, settings: Settings
) -> None:
    """Fills the result from a feed or sitemap: links only, nothing to be searched for."""
    if listed.broken:
        result.reason = "parse_error"
        if not listed.hrefs:
            result.parse_status = FAILED
    result.base_url = page.url
    make = _forms_of(settings.urls.normalizers)
    found: list[UrlForms | None] = []
    by_base: dict[str | None, str] = {None: page.url}
    plain = all(base is None for base in listed.bases)
    if plain:
        found = resolve_all(page.url, listed.hrefs, "utf-8", make)
    else:
        for href, written in zip(listed.hrefs, listed.bases, strict=True):
            if written not in by_base:
                base = page.url
                for step in (written or "").split("\n"):
                    base = resolve(base, step) or base
                by_base[written] = base
            url = resolve(by_base[written], href)
            found.append(make(url) if url else None)
    kind = "sitemap" if listed.kind == xml_links.SITEMAP else KIND_LINK
    count = len(listed.hrefs)
    anchors = [title and title[: settings.parser.max_anchor_chars] for title in listed.titles]
    links = RawLinks(listed.hrefs, [kind] * count, anchors, [False] * count, listed.dropped, listed.dates)
    _set_links(result, page, make(page.url), found, links, settings)


@lru_cache(maxsize=8)
def _forms_of(normalizers: tuple[str, ...]) -> Forms:
    """The function that makes the forms of a URL under these rules; the default rules have a fast one."""
    return forms if normalizers == UrlSettings().normalizers else compile_forms(normalizers)


def _set_links(
    result: ParsedPage,
    page: PageInput,
    own: UrlForms | None,
    found: list[UrlForms | None],
    raw: RawLinks,
    settings: Settings,
) -> None:
    """Turns resolved links into columns: links to the page itself go; those followed pass on score."""
    links = result.links
    own_key = own.key if own else ""
    own_host = own.host if own else ""
    dropped = raw.dropped
    nofollow_all = result.nofollow
    followed = 0
    dates = raw.dates or [None] * len(raw.kinds)
    for forms_, kind, anchor, nofollow, date in zip(found, raw.kinds, raw.anchors, raw.nofollows, dates, strict=True):
        if forms_ is None:
            dropped += 1
            continue
        key = forms_.key
        if key == own_key:
            continue
        nofollow = nofollow or nofollow_all
        links.urls.append(None if forms_.url == forms_.normalized else forms_.url)
        links.keys.append(key)
        links.hosts.append(forms_.host)
        links.buckets.append(forms_.bucket)
        links.anchors.append(anchor)
        links.nofollows.append(nofollow)
        links.kinds.append(kind)
        links.changed.append(None if date is None else date_ms(date))
        if kind in FOLLOWED_KINDS:
            result.outlink_count += 1
            followed += not nofollow
    result.links_dropped += dropped
    passed = passed_scores(settings.scoring)
    if result.refresh_key is not None:
        # as with every redirect: the whole score goes where it leads, and no rule is asked
        links.contributions = [page.score if kind == KIND_REFRESH else 0 for kind in links.kinds]
    elif passed.shares is not None:
        inside, outside = passed.shares(page.score, followed)
        links.contributions = [
            0 if nofollow or kind not in FOLLOWED_KINDS else inside if host == own_host else outside
            for host, kind, nofollow in zip(links.hosts, links.kinds, links.nofollows, strict=True)
        ]
    else:
        links.contributions = [0] * len(links.keys)
        if passed.needed and followed:
            _ask_rules(passed, page, own, links)


def _set_embeds(
    result: ParsedPage, own_key: str, found: list[UrlForms | None], embeds: Embeds, is_followed: bool
) -> None:
    """Adds what the page embeds behind its links. It gets no score, and is followed only when asked for.

    The same thing under two references stands there once; the page itself (an empty src) is no embed.
    """
    links, known = result.links, set[tuple[str, str]]()
    nofollow = result.nofollow or not is_followed
    result.links_dropped += embeds.dropped
    for forms_, kind, words in zip(found, embeds.kinds, embeds.words, strict=True):
        if forms_ is None or forms_.key == own_key or (kind, forms_.key) in known:
            continue
        known.add((kind, forms_.key))
        links.urls.append(None if forms_.url == forms_.normalized else forms_.url)
        links.keys.append(forms_.key)
        links.hosts.append(forms_.host)
        links.buckets.append(forms_.bucket)
        links.anchors.append(words)
        links.nofollows.append(nofollow)
        links.kinds.append(kind)
        links.contributions.append(0)
        links.changed.append(None)
        result.embed_count += 1


@lru_cache(maxsize=4)
def passed_scores(scoring: ScoringSettings) -> PassedScores:
    """What the links of a page pass on, by the rules in force; made once a process, its failures are counted in it."""
    return PassedScores(scoring)


def _ask_rules(passed: PassedScores, page: PageInput, own: UrlForms | None, links: PageLinks) -> None:
    """Fills in what each followed link passes on, as the rules say."""
    places = [
        place
        for place, (kind, nofollow) in enumerate(zip(links.kinds, links.nofollows, strict=True))
        if kind in FOLLOWED_KINDS and not nofollow
    ]
    followed = FollowedLinks(
        urls=tuple(key_to_url(links.keys[place]) for place in places),
        hosts=tuple(links.hosts[place] for place in places),
        anchors=tuple(links.anchors[place] for place in places),
        kinds=tuple(links.kinds[place] for place in places),
    )
    about = LinkingPage(own.normalized if own else page.url, own.host if own else "", page.score)
    for place, score in zip(places, passed(about, followed), strict=True):
        links.contributions[place] = score


def _language_of_tag(tag: str | None) -> str | None:
    """The language of a BCP 47 tag, if it is a two-letter one."""
    primary = (tag or "").strip().partition("-")[0].partition("_")[0].lower()
    return primary if len(primary) == 2 and primary.isascii() and primary.isalpha() else None


def _sign(result: ParsedPage, page: PageInput, data: bytes) -> None:
    """The digest that dedup compares; a page without title and text has none."""
    if result.text or result.title:
        result.signature = page.digest or hashlib.md5(data, usedforsecurity=False).digest()
    if result.text and result.language is None:
        result.language = detect_language(result.text[:_LANGUAGE_CHARS])
