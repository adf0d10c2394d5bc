"""What does a folder of files look like as a web? ROOT/<host>/<path> becomes http://<host>/<path>.

It behaves as a plain Apache does: index files, redirects to a missing slash, `.htaccess` with Redirect, RedirectMatch
and unconditional RewriteRule, Last-Modified and ETag with 304, gzip, and the choice of a language by Accept-Language
among `page.en.html`, `page.html.ja`, … or a type map.

Not here: pages without files (`scripted`, `synthweb`).
"""

from __future__ import annotations

import collections
import email.utils
import gzip
import mimetypes
import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

from cobnut.testing.fakeweb.messages import Request, Response

_CACHE_BYTES = 256 << 20
_TYPES = {
    ".html": "text/html", ".htm": "text/html", ".shtml": "text/html", ".xhtml": "application/xhtml+xml",
    ".xml": "application/xml", ".rss": "application/rss+xml", ".atom": "application/atom+xml", ".js": "text/javascript",
    ".mjs": "text/javascript", ".css": "text/css", ".txt": "text/plain", ".md": "text/markdown",
    ".json": "application/json", ".svg": "image/svg+xml", ".woff": "font/woff", ".woff2": "font/woff2",
    ".ico": "image/vnd.microsoft.icon", ".webp": "image/webp", ".inv": "application/octet-stream",
    ".pdf": "application/pdf", ".ps": "application/postscript", ".epub": "application/epub+zip",
    ".gz": "application/gzip",
}  # fmt: skip
_CHARSETS = {
    "utf8": "utf-8", "euc-kr": "euc-kr", "euc-jp": "euc-jp", "koi8-r": "koi8-r", "big5": "big5", "gb2312": "gb2312",
    "iso2022-jp": "iso-2022-jp", "iso8859-2": "iso-8859-2", "iso8859-8": "iso-8859-8", "iso-ru": "iso-8859-5",
    "cp-1251": "windows-1251", "cp866": "ibm866", "iso-8859-1": "iso-8859-1",
}  # fmt: skip
_COMPRESSED = {
    "text/html", "text/plain", "text/css", "text/javascript", "application/xml", "application/xhtml+xml",
    "application/json", "image/svg+xml", "application/rss+xml", "application/atom+xml", "text/markdown",
}  # fmt: skip
_INDEXES = ("index.html", "index.htm", "index.xhtml", "index.html.var", "index.shtml")
_STATUS_WORDS = {"permanent": 301, "temp": 302, "seeother": 303, "gone": 410}
_TYPE_MAP = re.compile(rb"(?:#[^\n]*\n|\s)*URI:", re.IGNORECASE)  # an Apache type map: a list of variants
_LANGUAGE = re.compile(r"^[a-z]{2}([-_][A-Za-z]{2,4})?$")
_NOT_FOUND = b"<html><head><title>404 Not Found</title></head><body><h1>Not Found</h1></body></html>"

Variant = tuple[str, str, str | None]
"""Language, file name, media type where a type map names it."""


@dataclass(slots=True)
class _File:
    body: bytes
    etag: str
    modified_s: float
    media_type: str | None
    language: str | None
    gz: bytes | None = None


@dataclass(frozen=True, slots=True)
class _Redirect:
    pattern: re.Pattern[str]
    to: str | None
    status: int
    is_prefix: bool


class Sites:
    """The hosts below `root`, read when asked for and kept in a cache of 256 MiB."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.hosts = {entry.name.lower(): entry for entry in sorted(self.root.iterdir()) if entry.is_dir()}
        self._rules = {host: _read_htaccess(folder / ".htaccess") for host, folder in self.hosts.items()}
        self._cache: collections.OrderedDict[str, _File] = collections.OrderedDict()
        self._cached_bytes = 0

    def has(self, host: str) -> bool:
        """Whether there is a folder for this host."""
        return host in self.hosts

    def respond(self, request: Request) -> Response:
        """The file for a request, or what a web server says when there is none."""
        folder = str(self.hosts[request.host])
        path = unquote_to_bytes(request.path).decode("utf-8", "surrogateescape")
        if "\0" in path or "/../" in path + "/":
            return Response(400, "text/plain", b"bad path")
        origin = f"{request.scheme}://{request.host}"
        for rule in self._rules[request.host][0]:
            found = rule.pattern.search(path)
            if found and rule.to != path:
                return _follow(rule, found, origin)
        file = folder + path
        if os.path.basename(path).startswith(".ht"):
            return Response(403, "text/html", b"forbidden")
        if os.path.isdir(file):
            if not path.endswith("/"):
                return _redirect(origin + request.path + "/" + (f"?{request.query}" if request.query else ""), 301)
            for name in _INDEXES:
                if os.path.isfile(file + name):
                    return self._send(request, file + name)
            return self._negotiate(request, file + "index") or _missing()
        if path.endswith("/"):
            return _missing()
        if os.path.isfile(file):
            return self._send(request, file)
        return self._negotiate(request, file) or _missing()

    def _negotiate(self, request: Request, file: str) -> Response | None:
        """foo as foo.en.html, foo.html.en, foo.html.ko.euc-kr …, by Accept-Language (Apache's MultiViews)."""
        folder, base = os.path.split(file)
        if not base or not os.path.isdir(folder):
            return None
        variants: list[Variant] = []
        for name in sorted(n for n in os.listdir(folder) if n.startswith(base + ".")):
            endings = name[len(base) + 1 :].split(".")
            if "html" in endings or base.endswith((".html", ".htm")):
                languages = [e.lower().replace("_", "-") for e in endings if _LANGUAGE.match(e) and e != "js"]
                variants.append((languages[0] if languages else "", name, None))
        return self._choose(request, folder, sorted(variants, key=lambda v: v[:2])) if variants else None

    def _choose(self, request: Request, folder: str, variants: list[Variant]) -> Response:
        wanted = [*_accepted(request.headers.get("accept-language", "")), ("en", 0.001)]
        best = next(
            (v for tag, q in wanted if q for v in variants if v[0] == tag or v[0].split("-")[0] == tag.split("-")[0]),
            next((v for v in variants if not v[0]), variants[0]),
        )
        file = f"{folder}/{best[1]}"
        if not os.path.isfile(file):
            return _missing()
        response = self._send(request, file, best[2])
        response.headers += [
            ("Vary", "negotiate,accept-language"),
            ("TCN", "choice"),
            ("Content-Location", best[1]),
        ]
        return response

    def _load(self, file: str, host: str) -> _File:
        cached = self._cache.get(file)
        if cached:
            self._cache.move_to_end(file)
            return cached
        stat = os.stat(file)
        body = Path(file).read_bytes()
        media_type, charset, language = _type_of(os.path.basename(file).lower(), body)
        charset = charset or (self._rules[host][1] if media_type in ("text/html", "text/plain") else None)
        if charset and media_type and media_type.startswith("text/"):
            media_type += f"; charset={charset}"
        etag = f'"{stat.st_size:x}-{int(stat.st_mtime):x}"'
        loaded = self._cache[file] = _File(body, etag, stat.st_mtime, media_type, language)
        self._cached_bytes += len(body)
        while self._cached_bytes > _CACHE_BYTES:
            self._cached_bytes -= len(self._cache.popitem(last=False)[1].body)
        return loaded

    def _send(self, request: Request, path: str, media_type: str | None = None) -> Response:
        file = self._load(path, request.host)
        if path.endswith((".html", ".var")) and _TYPE_MAP.match(file.body):
            variants = _read_type_map(file.body)
            if variants:
                return self._choose(request, os.path.dirname(path), variants)
        headers = [("Last-Modified", email.utils.formatdate(file.modified_s, usegmt=True)), ("ETag", file.etag)]
        if file.language:
            headers.append(("Content-Language", file.language))
        if path.endswith(".svgz"):
            headers.append(("Content-Encoding", "gzip"))
        if _unchanged(request, file):
            return Response(304, None, b"", headers)
        media_type = media_type or file.media_type
        zipped = None
        accepts_gzip = "gzip" in request.headers.get("accept-encoding", "")
        if accepts_gzip and len(file.body) > 512 and (media_type or "").split(";")[0] in _COMPRESSED:
            if file.gz is None:
                file.gz = gzip.compress(file.body, 5, mtime=0)
            zipped = file.gz
            headers.append(("Vary", "Accept-Encoding"))
        return Response(200, media_type, file.body, headers, gz=zipped)


def _unchanged(request: Request, file: _File) -> bool:
    tags = request.headers.get("if-none-match")
    if tags is not None:
        return tags == "*" or file.etag in [tag.strip().removeprefix("W/") for tag in tags.split(",")]
    since = email.utils.parsedate_tz(request.headers.get("if-modified-since", ""))
    return since is not None and email.utils.mktime_tz(since) >= int(file.modified_s)


def _type_of(name: str, body: bytes) -> tuple[str | None, str | None, str | None]:
    """Media type, charset and language from a file name; every extension counts, as with Apache."""
    media_type: str | None = None
    charset: str | None = None
    language: str | None = None
    for ending in name.split(".")[1:]:
        if "." + ending in _TYPES and ending != "gz":
            media_type = _TYPES["." + ending]
        elif ending in _CHARSETS:
            charset = _CHARSETS[ending]
        elif _LANGUAGE.match(ending) and media_type == "text/html":
            language = ending
    media_type = media_type or _TYPES.get(os.path.splitext(name)[1]) or mimetypes.guess_type(name)[0]
    if name.endswith(".svgz"):
        media_type = "image/svg+xml"
    if media_type is None and "." not in name:
        media_type = "application/octet-stream" if b"\0" in body[:1000] else "text/plain"
    return media_type, charset, language


def _accepted(header: str) -> list[tuple[str, float]]:
    """'da, en;q=0.8' as [('da', 1.0), ('en', 0.8)], best first."""
    found = []
    for part in header.split(","):
        tag, _, quality = part.strip().partition(";")
        quality = quality.strip().removeprefix("q=")
        if tag:
            number = float(quality) if re.fullmatch(r"\d(\.\d*)?", quality) else 1.0
            found.append((tag.strip().lower(), number))
    return sorted(found, key=lambda pair: -pair[1])


def _read_type_map(body: bytes) -> list[Variant]:
    variants: list[Variant] = []
    for block in re.split(rb"\n\s*\n", body):
        pairs = (line.partition(":") for line in block.decode("latin-1").splitlines())
        fields = {name.strip().lower(): value.strip() for name, _, value in pairs if value}
        if "uri" in fields:
            variants.append((fields.get("content-language", "").lower(), fields["uri"], fields.get("content-type")))
    return variants


def _read_htaccess(file: Path) -> tuple[list[_Redirect], str | None]:
    """The redirects and the default charset of an .htaccess; a rule with a condition is left out."""
    redirects: list[_Redirect] = []
    charset, conditional = None, False
    lines = file.read_text("utf-8", "replace").splitlines() if file.is_file() else []
    for words in (line.split() for line in lines):
        directive = words[0].lower() if words else ""
        if directive in ("redirect", "redirectmatch", "redirectpermanent"):
            rule = _redirect_rule(directive, words[1:])
            redirects += [rule] if rule else []
        elif directive == "rewritecond":
            conditional = True
        elif directive == "rewriterule":
            flag = re.search(r"\bR(?:=(\d+))?\b", words[3]) if len(words) > 3 else None
            pattern = _pattern("^/" + words[1].lstrip("^").lstrip("/")) if len(words) > 2 else None
            if flag and pattern and not conditional:
                redirects.append(_Redirect(pattern, words[2], int(flag.group(1) or 302), False))
            conditional = False
        elif directive == "adddefaultcharset" and len(words) > 1 and words[1].lower() not in ("off", "on"):
            charset = words[1]
    return redirects, charset


def _redirect_rule(directive: str, words: list[str]) -> _Redirect | None:
    status = 301 if directive == "redirectpermanent" else 302
    if words and (words[0].lower() in _STATUS_WORDS or words[0].isdecimal()):
        status, words = _STATUS_WORDS.get(words[0].lower()) or int(words[0]), words[1:]
    if not words:
        return None
    is_prefix = directive != "redirectmatch"
    pattern = _pattern("^" + re.escape(words[0]) + "(/.*)?$" if is_prefix else words[0])
    return _Redirect(pattern, words[1] if len(words) > 1 else None, status, is_prefix) if pattern else None


def _pattern(text: str) -> re.Pattern[str] | None:
    try:
        return re.compile(text)
    except re.error:
        return None


def _follow(rule: _Redirect, found: re.Match[str], origin: str) -> Response:
    if rule.to is None:
        return Response(410, "text/html", b"gone")
    if rule.is_prefix:
        target = rule.to + (found.group(1) or "")
    else:

        def group(reference: re.Match[str]) -> str:
            number = int(reference.group(1))
            return found.group(number) or "" if number <= found.re.groups else ""

        target = re.sub(r"\$(\d)", group, rule.to)
    if target.startswith("/"):
        target = origin + target
    elif "://" not in target:
        target = f"{origin}/{target}"
    return _redirect(target, rule.status)


def _redirect(target: str, status: int) -> Response:
    target = quote(target.encode("utf-8", "surrogateescape"), safe="%/:=&?~#+!$,;'@()*[]")
    page = f'<html><head><title>{status}</title></head><body><a href="{target}">here</a></body></html>'
    return Response(status, "text/html; charset=iso-8859-1", page.encode(), [("Location", target)])


def _missing() -> Response:
    return Response(404, "text/html; charset=iso-8859-1", _NOT_FOUND)
