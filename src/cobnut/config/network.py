"""What does `fetcher.proxy` say?

Not here: `fetcher.resolve` (`urls.overrides`) and `fetcher.allow_net` (`urls.addresses`).
"""

from __future__ import annotations

import re

_PROXY = re.compile(r"http://(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+):(?P<port>[0-9]{1,5})/?", re.ASCII)


def parse_proxy(url: str) -> tuple[str, int]:
    """Host and port of a proxy http://HOST:PORT; a `ValueError` says what is wrong.

    >>> parse_proxy("http://127.0.0.1:3128")
    ('127.0.0.1', 3128)
    """
    match = _PROXY.fullmatch(url.strip())
    if match is None:
        raise ValueError(f"{url[:80]!r} is not http://HOST:PORT")
    port = int(match["port"])
    if not 0 < port < 65_536:
        raise ValueError(f"{port} is no port")
    return match["host"].lower().strip("[]"), port
