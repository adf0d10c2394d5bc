"""Under which key do replay tools look for a URL?

The Sort-friendly URI Reordering Transform as archives use it: host reversed, scheme left out, and everything evened out
that rarely tells two pages apart. `http` and `https`, `www.` and none, upper and lower case, order of the query's
parts, a slash at the end, session ids: all the same key. Keys of a domain stand together when sorted.

Rules: those of the Wayback Machine, which pywb has by default. Not here: our own `url_key`, which keeps all of these
apart (`urls.keys`).
"""

from __future__ import annotations

import contextlib
import re

from cobnut.urls.addresses import read_ip

MOST_ROUNDS = 20
"""An escape may be escaped again; so often it is undone."""

_DEFAULT_PORTS = {b"http": b"80", b"https": b"443"}
_WWW = re.compile(rb"www\d*\.")
_SCHEME = re.compile(rb"([a-zA-Z][a-zA-Z0-9+.\-]*):")
_ESCAPE = re.compile(rb"%([0-9a-fA-F]{2})")
_TO_ESCAPE = re.compile(rb"[\x00-\x20\x7f-\xff#%]")
_SESSION = re.compile(
    rb"(?:jsessionid=[0-9a-z]{32}|phpsessid=[0-9a-z]{32}|sid=[0-9a-z]{32}|aspsessionid[a-z]{8}=[a-z]{24}"
    rb"|cfid=[^&]+&cftoken=[^&]+)(?:&|$)",
    re.IGNORECASE,
)
_ASP_SESSION = re.compile(rb"(?<=/)(?:\((?:[a-z]\([0-9a-z]{24}\))+\)|\([0-9a-z]{24}\))/(?=[^?]+\.aspx)", re.IGNORECASE)


def surt(url: str) -> str:
    """The key of a URL.

    >>> surt("https://www.Example.com:443/Path/?b=2&a=1#top")
    'com,example)/path?a=1&b=2'
    >>> surt("http://example.com:8080/")
    'com,example:8080)/'
    """
    data = re.sub(rb"[\t\r\n]", b"", url.strip().encode("utf-8", "surrogatepass"))
    if not data:
        return "-"
    found = _SCHEME.match(data)
    if found is None or not data.startswith(b"//", found.end()):
        if found is not None:
            return _text(_TO_ESCAPE.sub(_escape_blank, data))
        scheme, rest = b"http", data
    else:
        scheme, rest = found.group(1).lower(), data[found.end() :].lstrip(b"/")
        if scheme in (b"filedesc", b"warcinfo"):
            return _text(_TO_ESCAPE.sub(_escape_blank, data))
    rest = rest.partition(b"#")[0]
    cut = re.search(rb"[/?]", rest)
    authority, tail = (rest, b"") if cut is None else (rest[: cut.start()], rest[cut.start() :])
    path, mark, query = tail.partition(b"?")
    key = _host(authority.rpartition(b"@")[2], scheme) + b")" + _path(path)
    query = _query(query) if mark else b""
    return _text(key + b"?" + query if query else key)


def _host(authority: bytes, scheme: bytes) -> bytes:
    found = re.fullmatch(rb"(.*?)(?::(\d*))?", authority, re.DOTALL)
    assert found is not None
    host, port = found.group(1), found.group(2) or b""
    host = _unescaped(host).lower()
    if not host.isascii():
        with contextlib.suppress(UnicodeError, ValueError):
            host = host.decode().encode("idna")
    if not host.startswith(b"["):
        host = b".".join(part for part in host.split(b".") if part)
        ip = read_ip(host.decode("latin-1")) if host else None
        if ip is not None and ip.version == 4:
            host = str(ip).encode()
        else:
            host = _WWW.sub(b"", host, count=1) if _WWW.match(host) else host
        host = b",".join(reversed(host.split(b".")))
    host = _escaped(host)
    return host if not port or _DEFAULT_PORTS.get(scheme) == port else host + b":" + port


def _path(path: bytes) -> bytes:
    parts: list[bytes] = []
    for part in _unescaped(path).split(b"/"):
        if part == b"..":
            del parts[-1:]
        elif part not in (b"", b"."):
            parts.append(part)
    plain = b"/" + b"/".join(parts)
    return _ASP_SESSION.sub(b"", _escaped(plain).lower())


def _query(query: bytes) -> bytes:
    query = _SESSION.sub(b"", _escaped(_unescaped(query))).lower()
    parts = [part.partition(b"=") for part in query.split(b"&")]
    parts.sort(key=lambda part: (part[0], bool(part[1]), part[2]))
    return b"&".join(b"".join(part) for part in parts)


def _unescaped(data: bytes) -> bytes:
    for _ in range(MOST_ROUNDS):
        plain = _ESCAPE.sub(lambda found: bytes([int(found.group(1), 16)]), data)
        if plain == data:
            break
        data = plain
    return data


def _escaped(data: bytes) -> bytes:
    return _TO_ESCAPE.sub(lambda found: b"%%%02X" % found.group()[0], data)


def _escape_blank(found: re.Match[bytes]) -> bytes:
    byte = found.group()[0]
    return b"%%%02X" % byte if byte <= 32 or byte >= 127 else found.group()


def _text(data: bytes) -> str:
    return data.decode("ascii", "replace")
