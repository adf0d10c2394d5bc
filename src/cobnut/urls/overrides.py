"""To which address does a name lead that the user has fixed?

`HOST[:PORT]:ADDR[:PORT]`, as in `--resolve www.example.org:443:127.0.0.1:8443`: for this host (`*`: every host)
and port (none: every port), connect to this address and port (none: the port asked for). IPv6 addresses stand in
brackets.

Not here: whether the address may be connected to (`addresses`).
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from cobnut.errors import InputError
from cobnut.urls.addresses import read_ip

_FORM = "HOST[:PORT]:ADDR[:PORT], with IPv6 in brackets, such as www.example.org:443:127.0.0.1:8443 or '*:[::1]:8080'"


class ResolveRule(msgspec.Struct, frozen=True):
    """Connections to `host` (`*`: any) at `port` (None: any) go to `address`:`address_port` (None: same port)."""

    host: str
    port: int | None
    address: str
    address_port: int | None

    def matches(self, host: str, port: int) -> bool:
        """Is this rule meant for a connection to `host`:`port`?"""
        return self.host in ("*", host.rstrip(".").lower()) and self.port in (None, port)

    def target(self, port: int) -> tuple[str, int]:
        """(address, port) to connect to instead."""
        return self.address, port if self.address_port is None else self.address_port


def pick_rule(rules: Iterable[ResolveRule], host: str, port: int) -> ResolveRule | None:
    """The rule for a connection: one that names the host before `*`, that names the port before any, then the first."""
    fitting = [rule for rule in rules if rule.matches(host, port)]
    return min(fitting, key=lambda rule: (rule.host == "*", rule.port is None), default=None)


def _wrong(text: str, why: str) -> InputError:
    return InputError(f"not a rule to resolve by: {why}", where=repr(text), remedy=f"write {_FORM}")


def _fields(text: str) -> list[str]:
    """Split at colons outside brackets."""
    fields, depth, start = [], 0, 0
    for at, character in enumerate(text):
        if character == "[":
            depth += 1
        elif character == "]":
            depth -= 1
        elif character == ":" and depth == 0:
            fields.append(text[start:at])
            start = at + 1
        if depth not in (0, 1):
            raise _wrong(text, "brackets do not match")
    if depth:
        raise _wrong(text, "brackets do not match")
    return [*fields, text[start:]]


def _port(text: str, field: str) -> int:
    if not (field.isascii() and field.isdigit() and 0 < int(field[:6]) < 65_536 and len(field) < 6):
        raise _wrong(text, f"{field!r} is no port (1 to 65535)")
    return int(field)


def _host(text: str, field: str) -> str:
    if field == "*":
        return field
    address = read_ip(field)
    if address is not None:
        return f"[{address}]" if address.version == 6 else str(address)
    from cobnut.urls.hosts import host_of

    host = host_of(f"http://{field}/") if "/" not in field and "@" not in field else ""
    if not host:
        raise _wrong(text, f"{field!r} is no host")
    return host.rstrip(".")


def parse_resolve(text: str) -> ResolveRule:
    """The rule that the user typed. InputError, with what is wrong and the form, when it is none.

    >>> parse_resolve("*:[::1]:8080")
    ResolveRule(host='*', port=None, address='::1', address_port=8080)
    """
    fields = _fields(text.strip())
    count = len(fields)
    if count < 2 or count > 4 or not all(fields):
        raise _wrong(text, "a host and an address are needed" if count < 5 else "too many parts")
    host, *rest = fields
    # of two fields after the host, the first is a port when it is a number: an address is not written as one here
    port = _port(text, rest.pop(0)) if len(rest) == 3 or (len(rest) == 2 and rest[0].isdigit()) else None
    address = read_ip(rest[0])
    if address is None:
        raise _wrong(text, f"{rest[0]!r} is no address")
    return ResolveRule(_host(text, host), port, str(address), _port(text, rest[1]) if len(rest) == 2 else None)
