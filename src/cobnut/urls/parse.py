"""What is the WHATWG form of this string?

The only module that touches the URL parser (ada-url). It follows the URL standard of the WHATWG, as browsers do:
white space at the ends and tabs and line breaks inside are removed, backslashes are slashes, extra slashes before
the host are ignored, hosts are lower-cased and put into their ASCII form, numbers that mean an IPv4 address become
one, dot segments are resolved, and what has to be encoded is. What the parser refuses is refused.

Sizes are bounded here, because a page can be hostile: of references, of URLs and of hosts.

A *clean* URL is one that the parser and the `basic` normalizer would return unchanged, and that can be told by one
regular expression: nearly all links are clean, and a match costs a quarter of a parse. A property test holds
expression and parser together.

Not here: what to do with the result (`resolve`, `normalizers`).
"""

from __future__ import annotations

import re

from ada_url import join_url, normalize_url

MAX_URL_CHARS = 16_384
"""No URL longer than this is made: a page with a long base and thousands of short links would grow without bound."""

MAX_REFERENCE_CHARS = 65_536
"""No reference longer than this is looked at: `data:` and white space may be long, and lead nowhere."""

MAX_HOST_CHARS = 254
"""No host longer than this is taken: no name server knows one (RFC 1035 2.3.4; 253 and a dot at the end)."""

_ESCAPE = "%(?:[89A-F][0-9A-F]|2[0-9A-CF]|3[A-F])"  # upper case, and of no unreserved character
_SEGMENT = rf"(?:(?:[A-Za-z0-9_~!$&'()*+,;=:@-]|{_ESCAPE})(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|{_ESCAPE})*+)?"
_QUERY = rf"(?:\?(?:[A-Za-z0-9._~!$&()*+,;=:@/?-]|{_ESCAPE})*+)?"

CLEAN = re.compile(
    r"(https?)://"
    r"((?:[a-z0-9_-]+\.)*+[a-z][a-z0-9-]*+)"  # the last label starts with a letter: no IPv4 address
    r"(:(?:[1-9][0-9]{3}|[1-5][0-9]{4}))?"  # never a default port
    rf"((?:/{_SEGMENT})++{_QUERY})"
)
"""Groups: scheme, host, port with its colon or None, path with query. Used through `clean`."""

_SURROGATE = re.compile("[\ud800-\udfff]")


def clean(text: str) -> tuple[str, str, str, str] | None:
    """(scheme, host, port with `:` or "", path and the rest) of a clean URL; None where the parser is needed.

    >>> clean("http://example.org/a?b"), clean("http://example.org/./a")
    (('http', 'example.org', '', '/a?b'), None)
    """
    match = CLEAN.fullmatch(text)
    if match is None:
        return None
    scheme, host, port, rest = match.groups()
    if "xn--" in host or len(host) > MAX_HOST_CHARS or len(text) > MAX_URL_CHARS:
        return None
    return scheme, host, port or "", rest


def parse(text: str) -> str | None:
    """The absolute URL in `text` in its WHATWG form, of any scheme, fragment included; None when it is none."""
    try:
        return normalize_url(text)
    except ValueError:
        return None if _SURROGATE.search(text) is None else parse(_SURROGATE.sub("\ufffd", text))


def join(base: str, reference: str) -> str | None:
    """`reference` seen from `base` (an absolute URL), in WHATWG form, fragment included; None when refused."""
    try:
        return join_url(base, reference)
    except ValueError:
        if _SURROGATE.search(reference) is None and _SURROGATE.search(base) is None:
            return None
        return join(_SURROGATE.sub("\ufffd", base), _SURROGATE.sub("\ufffd", reference))


def is_web(url: str) -> bool:
    """Is this parsed URL one of a web page?"""
    return url.startswith(("http://", "https://"))


def without_fragment(url: str) -> str:
    """The parsed URL up to its fragment."""
    at = url.find("#")
    return url if at < 0 else url[:at]


def split(url: str) -> tuple[str, str, str, str, str]:
    """(scheme, user info with `@`, host, port with `:`, path and the rest) of a parsed http or https URL.

    The parts joined again, with `://` after the scheme, are the URL.

    >>> split("http://u:p@[::1]:81/a?b")
    ('http', 'u:p@', '[::1]', ':81', '/a?b')
    """
    scheme, _, after = url.partition("://")
    slash = after.find("/")
    if slash < 0:
        slash = len(after)
    authority, rest = after[:slash], after[slash:]
    at = authority.rfind("@") + 1
    user, host = authority[:at], authority[at:]
    colon = host.rfind(":")
    if colon < 0 or host.endswith("]"):
        return scheme, user, host, "", rest
    return scheme, user, host[:colon], host[colon:], rest
