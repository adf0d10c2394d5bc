"""Where do connections go that stand fixed outside of DNS: the proxy and /etc/hosts?

Not here: `--resolve` (`urls.overrides`), the name servers (`fetcher.names`), what may be reached
(`urls.addresses`).
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from cobnut.errors import InputError
from cobnut.urls.addresses import read_ip


class Proxy(NamedTuple):
    """A forward proxy for all requests."""

    url: str
    host: str
    port: int


def parse_proxy(text: str) -> Proxy | None:
    """Reads `http://host:port`; None when no proxy is set.

    >>> parse_proxy("http://127.0.0.1:8800")
    Proxy(url='http://127.0.0.1:8800', host='127.0.0.1', port=8800)
    """
    if not text:
        return None
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or port is None or parts.scheme != "http" or parts.path not in ("", "/"):
        raise InputError(f"cannot read {text!r} as a proxy", remedy="write http://HOST:PORT")
    return Proxy(f"http://{parts.netloc}", host, port)


def read_hosts_file(path: Path = Path("/etc/hosts")) -> dict[str, list[str]]:
    """The names of a hosts file with their addresses; an unreadable file names nothing."""
    found: dict[str, list[str]] = {}
    try:
        text = path.read_text("utf-8", "replace")
    except OSError:
        return found
    for line in text.splitlines():
        fields = line.partition("#")[0].split()
        if len(fields) >= 2 and read_ip(fields[0]) is not None:
            for name in fields[1:]:
                addresses = found.setdefault(name.lower(), [])
                if fields[0] not in addresses:
                    addresses.append(fields[0])
    return found
