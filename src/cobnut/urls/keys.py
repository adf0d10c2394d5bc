"""What is the sort and identity key of a normalised URL?

    http://www.example.org/a?b=1           org,example,www)http/a?b=1
    https://www.example.org:8443/a         org,example,www)https:8443/a
    http://127.0.0.1:81/                   127.0.0.1)http:81/
    http://[::1]/                          [::1])http/

The labels of the host, last first, parted by `,` and closed by `)`; then scheme, port if it is not the scheme's
own, path and query as they are. Sorted by it, the pages of a host stand together, a domain's hosts stand together
(`domain_range`), and http and https of one host are neighbours. IPv4 and IPv6 addresses are not reversed.

Key and normalised URL are one-to-one: labels cannot contain `.`, `:` or `%`, so these tell the kinds apart and
carry the escapes of `)`, `*`, `+` and `,` in labels (all that could be taken for a delimiter or sort between the
two delimiters).

Not here: making the normalised form (`normalizers`).
"""

from __future__ import annotations

from cobnut.errors import DataError
from cobnut.urls.parse import split

_ESCAPES = {")": "%29", "*": "%2A", "+": "%2B", ",": "%2C"}
_AFTER_COMMA = "-"  # the character that follows the comma: the end of a range of keys that go on with a comma


def host_key(host: str) -> str:
    """The key's first part, without its `)`: labels last first; an address as it is.

    >>> host_key("www.example.org")
    'org,example,www'
    """
    if host[:1] == "[":
        return host
    last = host.rpartition(".")[2]
    if last.isdigit():  # no name ends in a number: the parser has made it an IPv4 address
        return host
    for character, escape in _ESCAPES.items():
        if character in host:
            host = host.replace(character, escape)
    labels = host.split(".")
    labels.reverse()
    return ",".join(labels)


def key_to_host(key: str) -> str:
    """The host of a url_key: the inverse of `host_key` on what stands before `)`.

    >>> key_to_host("org,example,www)http/")
    'www.example.org'
    """
    end = key.find(")")
    name = key if end < 0 else key[:end]
    if name[:1] == "[" or "." in name:
        return name
    labels = name.split(",")
    labels.reverse()
    host = ".".join(labels)
    if "%" in host:
        for character, escape in _ESCAPES.items():
            host = host.replace(escape, character)
    return host


def url_key(normalized: str) -> str:
    """The key of a normalised http or https URL; `key_to_url` is its exact inverse.

    >>> url_key("https://www.example.org:8443/a?b=1")
    'org,example,www)https:8443/a?b=1'
    """
    scheme, _user, host, port, rest = split(normalized)
    return f"{host_key(host)}){scheme}{port}{rest}"


def key_to_url(key: str) -> str:
    """The normalised URL of a key. DataError when `key` has not the form of one.

    >>> key_to_url("org,example,www)http/a?b=1")
    'http://www.example.org/a?b=1'
    """
    name, closed, after = key.partition(")")
    slash = after.find("/")
    scheme, colon, port = after[: max(slash, 0)].partition(":")
    if not closed or not name or slash < 0 or scheme not in ("http", "https"):
        raise DataError("not the key of a URL", where=repr(key[:200]))
    return f"{scheme}://{key_to_host(name)}{colon}{port}{after[slash:]}"


def host_range(host: str) -> tuple[str, str]:
    """(first, end): the keys of this host, and only they, are `first <= key < end`.

    >>> host_range("www.example.org")
    ('org,example,www)', 'org,example,www*')
    """
    name = host_key(host)
    return f"{name})", f"{name}*"


def domain_range(domain: str) -> tuple[str, str]:
    """(first, end): the keys of this domain and of all hosts below it, and only they, are `first <= key < end`.

    >>> domain_range("example.org")
    ('org,example)', 'org,example-')
    """
    name = host_key(domain)
    return f"{name})", f"{name}{_AFTER_COMMA}"
