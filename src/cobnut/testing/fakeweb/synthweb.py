"""What stands on page n of host k? A made-up web of any size, computed from a seed; nothing is stored.

Host k is `s<k>.<suffix>` (k = 0 … hosts-1). Sizes follow a Zipf law. Page numbers 0 … size(k)-1 lie at /p/<n>.html and
are all reached from / by links, whose targets follow power laws within a host and between hosts. The same options
give the same bytes at any time on any machine, but for session ids and for the counters of burst and limit hosts, which
depend on what was asked before.

Each page has one word of its own (`page_word`), so that "search for it, find this page" needs no judges. Contents are
English-like, Chinese-like and Cyrillic made-up words.

Not here: what hosts are like (`synthhosts`), broken answers (`oddities`), HTTP (`server`).
"""

from __future__ import annotations

import bisect
import collections
import hashlib
import itertools
import struct
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from cobnut.testing.fakeweb.messages import Request, Response
from cobnut.testing.fakeweb.oddities import ODDITIES, odd_answer
from cobnut.testing.fakeweb.synthhosts import (
    PLAIN,
    HostKind,
    calendar_body,
    content_type,
    draw_kind,
    facets_body,
    meta_charset,
    robots_txt,
)

_SIXTEEN, _THIRTY_TWO = struct.Struct("<16I"), struct.Struct("<32H")
_NOT_FOUND = b"<title>404</title><h1>Not found</h1>"


def options(text: str) -> dict[str, Any]:
    """'hosts=10,zipf=0.8' as keyword arguments of `SynthWeb`."""
    found: dict[str, Any] = {}
    for pair in filter(None, text.split(",")):
        name, _, value = pair.partition("=")
        found[name] = float(value) if "." in value else int(value) if value.lstrip("-").isdecimal() else value
    return found


class SynthWeb:
    """A made-up web.

    `pages` in all, `links` per page (plus a tree that reaches every page). `delay` multiplies every wait (0: none);
    `quirks=0`: plain hosts only and no strange robots.txt; `kb`: every page is filled with style and script, no text,
    to about that many KiB.
    """

    def __init__(
        self,
        hosts: int = 100,
        pages: int = 10_000,
        seed: int = 1,
        zipf: float = 1.0,
        links: int = 12,
        delay: float = 1.0,
        suffix: str = "synth.test",
        quirks: int = 1,
        kb: float = 0,
    ) -> None:
        self.host_count, self.seed, self.links = int(hosts), int(seed), int(links)
        self.wait, self.suffix, self.quirks = float(delay), suffix, bool(int(quirks))
        self._fill_bytes = int(float(kb) * 1024)
        self._key = b"%d" % self.seed
        weights = [1 / (k + 1) ** zipf for k in range(self.host_count)]
        total = sum(weights)
        self.size = [max(1, int(pages * weight / total)) for weight in weights]
        self._cumulated = list(itertools.accumulate(weights))
        self.hosts = _Names(self)
        self._kinds: dict[int, HostKind] = {}
        self._asked: collections.Counter[tuple[str, int]] = collections.Counter()
        self._last_asked: dict[int, float] = {}
        self._pools = self._make_pools()

    # Numbers from names: one keyed hash gives sixteen 32-bit or thirty-two 16-bit numbers.

    def _numbers(self, *key: object) -> tuple[int, ...]:
        digest = hashlib.blake2b(repr(key).encode(), digest_size=64, key=self._key).digest()
        return _SIXTEEN.unpack(digest)

    def _shorts(self, kind: bytes, k: int, n: int) -> tuple[int, ...]:
        digest = hashlib.blake2b(b"%b%d/%d" % (kind, k, n), digest_size=64, key=self._key).digest()
        return _THIRTY_TWO.unpack(digest)

    def _make_pools(self) -> dict[str, list[str]]:
        """Per language 1,024 sentences made beforehand; a page picks among them."""
        latin = [
            a + b
            for a in (*"bcdfghklmnprstvw", "br", "st", "tr", "pl")
            for b in (*"aeiou", "an", "er", "in", "or", "al")
        ]
        cyrillic = [a + b for a in "бвгджзклмнпрстфхчш" for b in (*"аеиоуы", "ов", "ен", "ать", "ик")]
        han = [chr(0x4E00 + (i * 37) % 3000) for i in range(900)]
        return {
            "en": self._sentences("en", latin, " ", ". "),
            "ru": self._sentences("ru", cyrillic, " ", ". "),
            "zh": self._sentences("zh", han, "", "。"),
        }

    def _sentences(self, lang: str, parts: Sequence[str], joiner: str, stop: str) -> list[str]:
        vocabulary = [
            "".join(parts[x % len(parts)] for x in self._numbers("w", lang, i)[: 2 + i % 2]) for i in range(3000)
        ]
        sentences = []
        for i in range(1024):
            r = self._numbers("s", lang, i)
            # cubing a uniform number gives a long-tailed use of the vocabulary
            chosen = [vocabulary[int((x / 2**32) ** 3 * 3000)] for x in r[: 8 + r[15] % 8]]
            sentences.append(joiner.join(chosen).capitalize() + stop)
        return sentences

    # Hosts

    def kind(self, k: int) -> HostKind:
        """What host `k` is like."""
        kind = self._kinds.get(k)
        if kind is None:
            kind = self._kinds[k] = draw_kind(k, self._numbers("kind", k)) if self.quirks else PLAIN
        return kind

    def name(self, k: int) -> str:
        """The name of host `k`."""
        return f"s{k}.{self.suffix}"

    def index(self, host: str) -> int | None:
        """The number of a host; None when it is none of ours."""
        if not host.endswith(self.suffix) or host[:1] != "s":
            return None
        try:
            k = int(host[1 : -len(self.suffix) - 1])
        except ValueError:
            return None
        return k if 0 <= k < self.host_count else None

    def has(self, host: str) -> bool:
        """Whether this web answers for a host."""
        return self.index(host) is not None

    # Pages

    def page_word(self, k: int, n: int) -> str:
        """The word that stands on this one page (and on its exact duplicates)."""
        k, n = self.origin(k, n)
        return f"q{_letters(k)}x{_letters(n)}"

    def origin(self, k: int, n: int) -> tuple[int, int]:
        """(host, page) whose text this page shows: duplicates within and between hosts."""
        if self.quirks:
            while k and self.kind(k).quirk == "mirror" and n < self.size[k - 1]:
                k -= 1
            if n > 20 and n % 17 == 0:  # about 6 % of a host: the same text at a second address
                n = n // 17
        return k, n

    def targets(self, k: int, n: int) -> list[tuple[int, int]]:
        """Links out of page `n` of host `k` as (host, page): early pages get most."""
        size, out = self.size[k], []
        for first in range(0, self.links, 16):  # one keyed hash serves sixteen links
            r = self._shorts(b"m", k, n * 64 + first // 16) if first else self._shorts(b"l", k, n)
            for i in range(min(16, self.links - first)):
                x = r[i]
                if x % 8 == 0 and self.host_count > 1:  # one in eight leaves the host
                    j = bisect.bisect_left(self._cumulated, r[i + 16] / 65536 * self._cumulated[-1])
                    j = min(j, self.host_count - 1)
                    out.append((j, int((r[(i + 7) % 32] / 65536) ** 3 * self.size[j])))
                else:
                    out.append((k, int((x / 65536) ** 2 * size)))
        # a tree under it all: every page is reached
        out += [(k, child) for child in (2 * n + 1, 2 * n + 2) if child < size]
        return out

    def page(self, k: int, n: int) -> Response:
        """Page `n` of host `k`."""
        kind = self.kind(k)
        origin_k, origin_n = self.origin(k, n)
        pool = self._pools[self.kind(origin_k).lang]
        x: Sequence[int] = self._shorts(b"t", origin_k, origin_n)
        if kind.quirk == "near" and k:
            changed = list(self._shorts(b"t", k - 1, origin_n))
            changed[k % 20] ^= 1
            changed[20 + n % 5] ^= 2
            x = changed
        word = self.page_word(k, n)
        title = f"{pool[x[0] & 1023][:40].strip('.。 ')} {word}"
        paragraphs = []
        count = 6 + x[1] % 25
        for i in range(count):
            a, b = x[i % 32], x[(i * 7 + 3) % 32]
            paragraphs.append(f"<p>{pool[a & 1023]}{pool[(a >> 5 ^ b) & 1023]}{pool[b & 1023]}</p>")
        paragraphs[count // 2] += f"<h2>{word}</h2>"
        sid = f"?sid={x[2]:04x}{self._count('sid', k):x}" if kind.quirk == "session" else ""
        links = self._link_list(k, n, sid)
        extra, head = self._entrances(k, n, kind)
        meta, headers = _indexing_marks(n) if kind.quirk == "noindex" else ("", [])
        head += meta
        if self._fill_bytes:
            head += _filler(x[3], self._fill_bytes - 7000 - 90 * len(links))
        body = (
            f"<nav><a href='/'>Home</a> <a href='/p/1.html{sid}'>First</a> {extra}</nav><main><h1>{title}</h1>"
            f"{''.join(paragraphs)}</main><ul>{''.join(links)}</ul><footer>host {k} &copy; synth</footer>"
        )
        return self._html(kind, title, body, head, headers)

    def _link_list(self, k: int, n: int, sid: str) -> list[str]:
        links = []
        for j, t in self.targets(k, n):
            same = j == k
            anchor = self._pools[self.kind(j).lang][(self._shorts(b"t", j, t)[0] if same else t * 7) & 1023][:24]
            site, session = ("", sid) if same else ("http://" + self.name(j), "")
            word = self.page_word(j, t) if t % 3 == 0 else ""
            links.append(f"<li><a href='{site}/p/{t}.html{session}'>{anchor} {word}</a>")
        return links

    def _entrances(self, k: int, n: int, kind: HostKind) -> tuple[str, str]:
        """Links into the traps of the host, and the elements of the head that go with them: on every fiftieth page."""
        if n % 50:
            return "", ""
        extra = "<a href='/private/'>private</a> <a href='/feed.xml'>feed</a> "
        if kind.quirk == "strange":
            extra += " ".join(f"<a href='/x/{name}'>{name}</a>" for name in ODDITIES)
        extra += {
            "calendar": "<a href='/cal/2024/1'>calendar</a>",
            "facets": "<a href='/list'>list</a>",
            "deep": "<a href='/d/'>deep</a>",
            "soft404": f"<a href='/gone/{n}'>gone</a>",
        }.get(kind.quirk, "")
        for d in (1, 2):
            extra += f" <a href='http://{self.name((k * 2 + d) % self.host_count)}/'>partner</a>"
        return extra, "<link rel=alternate type='application/rss+xml' href='/feed.xml'>"

    def _html(
        self, kind: HostKind, title: str, body: str, head: str = "", headers: Sequence[tuple[str, str]] = ()
    ) -> Response:
        text = (
            f"<!DOCTYPE html><html lang={kind.lang}><head>{meta_charset(kind)}"
            f"<title>{title}</title>{head}</head><body>{body}</body></html>"
        )
        return Response(
            200, content_type(kind), text.encode(kind.charset, "xmlcharrefreplace"), headers, chunked=kind.chunked
        )

    def _count(self, what: str, k: int) -> int:
        self._asked[what, k] += 1
        return self._asked[what, k]

    # Answers

    def respond(self, request: Request) -> Response:
        """The answer to a request for one of our hosts."""
        k = self.index(request.host)
        assert k is not None
        kind = self.kind(k)
        refusal = self._refusal(k, kind.quirk)
        if refusal is not None:
            return refusal
        path = request.path
        if path.startswith("/x/"):
            return self._odd(k, path[3:])
        answer = self._file(k, kind, path) or self._trap(kind, request)
        if answer is None:
            if kind.quirk == "soft404":
                sorry = "<p>Sorry, we could not find this page. <a href='/'>Home</a>"
                answer = self._html(kind, "Page not found", sorry)
            else:
                answer = Response(404, "text/html; charset=utf-8", _NOT_FOUND)
        if kind.quirk == "slow":
            answer.delay_s = (0.3 + self._numbers("slow", path)[0] % 1700 / 1000) * self.wait
        return answer

    def _refusal(self, k: int, quirk: str) -> Response | None:
        if quirk == "burst" and self._count(quirk, k) % 40 >= 30:
            return Response(503, "text/html", b"<h1>busy</h1>", [("Retry-After", "2")])
        if quirk == "limit":
            now = time.monotonic()
            before, self._last_asked[k] = self._last_asked.get(k, 0.0), now
            if now - before < 1.0 * self.wait:
                return Response(429, "text/plain", b"too fast", [("Retry-After", "1")])
        return None

    def _file(self, k: int, kind: HostKind, path: str) -> Response | None:
        if path == "/":
            return self.page(k, 0)
        if path.startswith(("/p/", "/q/")):
            n = _number(path[3:], ".html")
            if n is None or n >= self.size[k]:
                return None
            moved = self._moved(k, n) if kind.quirk == "redirects" and path[1] == "p" else None
            return moved or self.page(k, n)
        if path == "/robots.txt":
            return robots_txt(kind.robots, self.name(k), self.name(0))
        if path == "/sitemap.xml":
            return self._sitemap(k)
        if path == "/feed.xml":
            return self._feed(k)
        return None

    def _trap(self, kind: HostKind, request: Request) -> Response | None:
        path = request.path
        if path.startswith("/private/"):
            body = (
                "<p>Behind robots.txt: a polite crawler never sees this. "
                f"<a href='/private/more{len(path)}.html'>more</a>"
            )
            return self._html(kind, "Private", body)
        if path.startswith("/m/"):  # the further steps of a redirect chain: /m/<left>/<n>
            parts = path.split("/")
            if len(parts) == 4 and parts[2].isdecimal() and parts[3].isdecimal():
                left, n = int(parts[2]), int(parts[3])
                target = f"/m/{left - 1}/{n}" if left else f"/q/{n}.html"
                return Response((301, 302, 307, 308)[left % 4], None, b"", [("Location", target)])
        if path in ("/loop/a", "/loop/b"):
            other = "/loop/b" if path[-1] == "a" else "/loop/a"
            return Response(302, None, b"", [("Location", other)])
        if kind.quirk == "calendar" and path.startswith("/cal/"):
            month = calendar_body(path)
            return self._html(kind, *month) if month else None
        if kind.quirk == "facets" and path == "/list":
            return self._html(kind, *facets_body(request.query))
        if kind.quirk == "deep" and path.startswith("/d/"):
            body = f"<p>Same as ever.</p><a href='x/'>deeper</a> <a href='{path}x/'>deeper too</a>"
            return self._html(kind, "Deep", body)
        return None

    def _odd(self, k: int, name: str) -> Response:
        return odd_answer(
            name,
            first_host=self.name(0),
            page_count=self.size[k],
            sentences=self._pools["en"],
            wait=self.wait,
        )

    def _moved(self, k: int, n: int) -> Response | None:
        x = self._numbers("mv", k, n)[0] % 10
        if n == 0 or x > 4:
            return None
        if x == 4:
            return Response(302, None, b"", [("Location", "/loop/a")])
        other = self.name((k + 1) % self.host_count)
        target = (f"/q/{n}.html", f"/m/{1 + n % 4}/{n}", f"http://{other}/p/0.html", f"/m/12/{n}#part")[x]
        return Response(301, None, b"", [("Location", target)])

    def _sitemap(self, k: int) -> Response:
        numbers = range(min(self.size[k], 5000))
        urls = "".join(f"<url><loc>http://{self.name(k)}/p/{n}.html</loc></url>" for n in numbers)
        text = (
            "<?xml version='1.0' encoding='UTF-8'?>"
            f"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{urls}</urlset>"
        )
        return Response(200, "application/xml", text.encode())

    def _feed(self, k: int) -> Response:
        items = "".join(
            f"<item><title>{self.page_word(k, n)}</title><link>http://{self.name(k)}/p/{n}.html</link></item>"
            for n in range(min(20, self.size[k]))
        )
        text = f"<?xml version='1.0'?><rss version='2.0'><channel><title>feed</title>{items}</channel></rss>"
        return Response(200, "application/rss+xml", text.encode())

    # Ground truth

    def describe(self, limit: int | None = None) -> dict[str, Any]:
        """What the whole web holds, for judges: counts, and every host with its kind, size and start address."""
        numbers = range(self.host_count if limit is None else min(limit, self.host_count))
        hosts = [
            {"host": self.name(k), "pages": self.size[k], **asdict(self.kind(k)), "start": f"http://{self.name(k)}/"}
            for k in numbers
        ]
        counts = {
            field: dict(collections.Counter(host[field] for host in hosts).most_common())
            for field in ("robots", "quirk", "lang", "charset")
        }
        return {
            "hosts": self.host_count,
            "pages": sum(self.size),
            "seed": self.seed,
            "largest": self.size[0],
            "median": sorted(self.size)[self.host_count // 2],
            **counts,
            "by_host": hosts,
        }


class _Names:
    """The host names, as a thing with a length and an order, without a list."""

    def __init__(self, web: SynthWeb) -> None:
        self._web = web

    def __len__(self) -> int:
        return self._web.host_count

    def __iter__(self) -> Iterator[str]:
        return (self._web.name(k) for k in range(self._web.host_count))


def _indexing_marks(n: int) -> tuple[str, list[tuple[str, str]]]:
    """What page `n` of a noindex host says of indexing, in its head and in its HTTP header."""
    case = n % 5
    if case == 1:
        return "<meta name=robots content='noindex'>", []
    if case == 2:
        return "<meta name='ROBOTS' content='NOINDEX, NOFOLLOW'>", []
    if case == 3:
        return "", [("X-Robots-Tag", "noindex")]
    if case == 4:
        return f"<link rel=canonical href='/p/{n - 1}.html'>", []
    return "", []


def _filler(x: int, size: int) -> str:
    """About `size` bytes of what real pages carry beside text: style rules and script, varied by `x`."""
    if size < 200:
        return ""
    colour = f"{x % 4096:03x}"
    rule = f".c{x % 97} > div.row-{x % 13} {{ margin: {x % 40}px auto; display: flex; color: #{colour} }}\n"
    code = f"window.q{x % 89} = function (a, b) {{ return a.map(function (v) {{ return v * {x % 77} + b; }}); }};\n"
    rules, codes = size // 3 // len(rule), size * 2 // 3 // len(code)
    return f"<style>{rule * rules}</style><script>{code * codes}</script>"


def _number(text: str, ending: str) -> int | None:
    digits = text.removesuffix(ending)
    return int(digits) if digits != text and digits.isdecimal() else None


def _letters(n: int) -> str:
    letters = ""
    while True:
        letters = chr(97 + n % 26) + letters
        n //= 26
        if not n:
            return letters
