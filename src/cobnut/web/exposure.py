"""Who reaches the search page, and what do they find there?

Told in one line when the server starts and listens on more than this machine's own addresses.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cobnut.config.sections import ServeSettings

EVERYWHERE = ("0.0.0.0", "::")


def is_exposed(address: str) -> bool:
    """Whether others than this machine can reach an address."""
    return not ipaddress.ip_address(address.partition("%")[0]).is_loopback


def exposure_line(address: str, port: int, settings: ServeSettings, rate_per_s: float) -> str:
    """The line. What is open, to whom, and what is missing before it should be."""
    where = "all addresses of this machine" if address in EVERYWHERE else address
    if settings.basic_auth or settings.api_keys:
        who = "whoever reaches it and has a password or key"
        transport = "passwords and keys travel unencrypted unless a server in front speaks HTTPS"
    else:
        who, transport = "whoever reaches it", "no password, no encryption (see serve.basic_auth)"
    rate = f"{rate_per_s:g} requests a second per client" if rate_per_s else "no limit per client"
    return (
        f"Listening on {where}, port {port}: {who} can search this index by page and API, and do nothing else; "
        f"{transport}; {rate}"
    )
