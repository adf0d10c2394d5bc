"""Which URLs mean the same page?

A normalizer is a named rule that may change a URL. Rules work on a URL in WHATWG form, without user info and
fragment: that much is always done, because a key has neither. `basic` is conservative (RFC 3986 6.2.2: it changes
only how a URL is written). All others are guesses that lose something, are off by default, and change only the
normalised form: what is requested is still the URL as found.

Rule files (`rules:FILE`, `urls.rules`) are normalizers too.

The result is stable: normalising it again changes nothing. A URL for which that cannot be reached is refused.

Not here: which URLs may enter (`filters`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from cobnut.urls import hosts, rules
from cobnut.urls.parse import MAX_HOST_CHARS, MAX_URL_CHARS, clean, is_web, parse, split, without_fragment

Rule = Callable[[str], str]
"""Takes and gives an http or https URL in WHATWG form, without user info and fragment. Must not raise."""

Normalizer = Callable[[str], str | None]
"""The rules in force as one function; takes any string, gives the normalised URL or None when it is refused."""

_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_ESCAPE = re.compile("%(?:[0-9A-Fa-f]{2})?")
_NO_PLACE = re.compile(r"[\[\]|^`{}\\]")
_PLACED = {ord(character): f"%{ord(character):02X}" for character in "[]|^`{}\\"}
_MAX_RUNS = 4

SESSION_NAMES = frozenset(
    ("cfid", "cftoken", "jsessionid", "oscsid", "phpsessid", "sessid", "session_id", "sessionid", "sid", "zenid")
)
"""Parameters that the rule `session_ids` drops, whatever their case; names that begin with `aspsessionid` too."""

_PATH_SESSION = re.compile(r"(?i);(?:jsessionid|phpsessid|sessionid|sid)=[^/?;]*")
_ASP_SESSION = re.compile(r"/\([A-Za-z]\([A-Za-z0-9]{16,}\)\)(?=/)")
_INDEX_PAGE = re.compile(r"(?i)/(?:index|default)\.(?:html?|xhtml|shtml|php[3-5]?|aspx?|jsp|cgi)$")


def _escape(match: re.Match[str]) -> str:
    escape = match[0]
    if len(escape) == 1:
        return "%25"  # a bare percent sign: written out, or decoding what follows it could make a new escape
    character = chr(int(escape[1:], 16))
    return character if character in _UNRESERVED else escape.upper()


def basic(url: str) -> str:
    """Escapes in upper case, those of unreserved characters decoded, and what no URL may hold encoded.

    The first two are RFC 3986 6.2.2. The third: browsers send brackets, bars, braces and bare percent signs as is,
    but RFC 3986 (2.2, 3.3, 3.4) has no place for them in a path or query, so that `a[]=1` can only mean `a%5B%5D=1`.

    >>> basic("http://h/%7efoo/%2f?a[]=%zz")
    'http://h/~foo/%2F?a%5B%5D=%25zz'
    """
    if "%" in url:
        url = _ESCAPE.sub(_escape, url)
    path = url.find("/", 8)  # a host has at least one character
    if _NO_PLACE.search(url, path) is not None:
        url = url[:path] + url[path:].translate(_PLACED)
    return url


def _cut(url: str) -> tuple[str, str, str]:
    """(up to the path's end, "?" or "", query)"""
    return url.partition("?")


def _is_session(pair: str) -> bool:
    name = pair.partition("=")[0].lower()
    return name in SESSION_NAMES or name.startswith("aspsessionid")


def session_ids(url: str) -> str:
    """Session identifiers dropped, from the path (`;jsessionid=…`, `/(S(…))`) and from the query.

    >>> session_ids("http://h/a;jsessionid=1F?PHPSESSID=2&x=1")
    'http://h/a?x=1'
    """
    path, mark, query = _cut(url)
    path = _ASP_SESSION.sub("", _PATH_SESSION.sub("", path))
    if not query:
        return path + mark
    pairs = query.split("&")
    kept = [pair for pair in pairs if not _is_session(pair)]
    return f"{path}?{'&'.join(kept)}" if kept else path


def sort_query(url: str) -> str:
    """Parameters in the order of their names; those of one name keep theirs.

    >>> sort_query("http://h/?b=1&a=2&b=0")
    'http://h/?a=2&b=1&b=0'
    """
    path, mark, query = _cut(url)
    if "&" not in query:
        return url
    return path + mark + "&".join(sorted(query.split("&"), key=lambda pair: pair.partition("=")[0]))


def trailing_dot(url: str) -> str:
    """The dot after the host dropped.

    >>> trailing_dot("http://example.org./a")
    'http://example.org/a'
    """
    scheme, _user, host, port, rest = split(url)
    return f"{scheme}://{host.rstrip('.') or host}{port}{rest}"


def index_page(url: str) -> str:
    """`index.html` and its like at the end of the path dropped.

    >>> index_page("http://h/a/index.html?x=1")
    'http://h/a/?x=1'
    """
    path, mark, query = _cut(url)
    return _INDEX_PAGE.sub("/", path) + mark + query


def www(url: str) -> str:
    """`www.` dropped where a registrable domain or a host below one remains.

    >>> www("http://www.example.org/"), www("http://www.org/"), www("http://www.co.uk/")
    ('http://example.org/', 'http://www.org/', 'http://www.co.uk/')
    """
    scheme, _user, host, port, rest = split(url)
    bare = host.removeprefix("www.")
    if bare == host or bare.strip(".").count(".") < 1 or hosts.is_suffix(bare):
        return url
    return f"{scheme}://{bare}{port}{rest}"


RULES: dict[str, Rule] = {
    "basic": basic,
    "session_ids": session_ids,
    "sort_query": sort_query,
    "trailing_dot": trailing_dot,
    "index_page": index_page,
    "www": www,
}
"""The normalizers that come with Cobnut, by name."""

SETTING = "urls.normalizers"
ENTRY_POINTS = "cobnut.url_normalizers"
"""Where other packages name theirs; one is used only when `urls.normalizers` lists it."""


def find_rule(name: str) -> Rule:
    """The rule of this name, ours or a plug-in's. InputError when there is none, naming the nearest."""
    if name in RULES:
        return RULES[name]
    if rules.is_rules(name):
        return rules.normalizer_file(name)
    from cobnut.urls import plugins  # the list of all installed packages is long to read

    point, rule = plugins.brought(name, ENTRY_POINTS, SETTING, "URL normalizer", RULES)
    return plugins.guarded(rule, point, SETTING, str)


def bare(parsed: str) -> str:
    """A parsed http or https URL without fragment and user info."""
    url = without_fragment(parsed)
    if "@" in url:
        scheme, _user, host, port, rest = split(url)
        url = f"{scheme}://{host}{port}{rest}"
    return url


def normalize_parsed(parsed: str, rules: Sequence[Rule]) -> str | None:
    """The normalised form of a URL that is in WHATWG form already; None when it is refused or finds no rest."""
    if not is_web(parsed):
        return None
    url = bare(parsed)
    if len(url) > MAX_URL_CHARS or (url.find("/", 8) > MAX_HOST_CHARS and len(split(url)[2]) > MAX_HOST_CHARS):
        return None
    if len(rules) == 1 and rules[0] is basic:
        url = basic(url)  # it changes nothing that the parser looks at: no second look is needed
        return url if len(url) <= MAX_URL_CHARS else None
    for _ in range(_MAX_RUNS):
        before = url
        for rule in rules:
            url = rule(url)
        if url == before:
            return url if len(url) <= MAX_URL_CHARS else None
        again = parse(url)
        if again is None or not is_web(again):
            return None
        url = bare(again)
    return None


@lru_cache(maxsize=16)
def compile_normalizer(names: tuple[str, ...]) -> Normalizer:
    """The named rules, run in this order, as one function. InputError for a name that is not known.

    >>> compile_normalizer(("basic", "sort_query"))("HTTP://Example.org?b=1&a=2#top")
    'http://example.org/?a=2&b=1'
    """
    rules = tuple(find_rule(name) for name in names)
    plain = names == ("basic",)

    def normalize(url: str) -> str | None:
        if plain and clean(url) is not None:
            return url
        parsed = parse(url)
        return None if parsed is None else normalize_parsed(parsed, rules)

    return normalize
