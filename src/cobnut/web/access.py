"""Is this one who may search?

A request proves it by `Authorization: Basic` (a login) or `Authorization: Bearer` (an API key); both open the page and
the API. Nothing secret is kept: of settings only hashes are known, and of a password that was right, a hash keyed with
a number that only this process knows, so that its next request costs no scrypt.

Comparisons take the same time whatever the answer is, also for users that do not exist. Passwords are checked one at a
time in a thread beside the one that answers; those who wait for it are few, and the rest is told to come back.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import secrets
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import msgspec

from cobnut.config.credentials import Login, key_hash, parse_api_key, parse_login

MAX_HEADER_BYTES = 1_024
"""Longer credentials are none."""

MOST_WAITING = 16
"""Passwords that wait to be checked."""

_REMEMBERED = 1_000


class Busy(Exception):
    """Too many passwords wait to be checked."""


class Access:
    """The logins and keys of one server. Without any, everybody may search."""

    def __init__(self, logins: Sequence[str], api_keys: Sequence[str]) -> None:
        self._logins = tuple(parse_login(text) for text in logins)
        self._keys = tuple(parse_api_key(text) for text in api_keys)
        self._secret = secrets.token_bytes(32)
        self._right: OrderedDict[bytes, str] = OrderedDict()
        self._thread = ThreadPoolExecutor(1, "passwords") if self._logins else None
        self._waiting = 0

    @property
    def is_required(self) -> bool:
        """Whether one must prove anything."""
        return bool(self._logins or self._keys)

    @property
    def challenges(self) -> list[bytes]:
        """The values of WWW-Authenticate: how one may prove it."""
        found = [b'Basic realm="Cobnut", charset="UTF-8"'] if self._logins else []
        return found + ([b'Bearer realm="Cobnut"'] if self._keys else [])

    def known(self, header: bytes) -> str | None:
        """Whose credentials these are, as far as that can be told at once: keys, and passwords that were right."""
        scheme, _, rest = header[: MAX_HEADER_BYTES + 1].partition(b" ")
        if len(header) > MAX_HEADER_BYTES:
            return None
        if scheme.lower() == b"bearer":
            asked, found = key_hash(rest.strip()), None
            for key in self._keys:
                if hmac.compare_digest(key.hash, asked):
                    found = key.name
            return found
        memory = self._memory(header)
        name = self._right.get(memory)
        if name is not None:
            self._right.move_to_end(memory)
        return name

    async def is_login(self, header: bytes) -> str | None:
        """The user whose password this is; `Busy` when too many wait."""
        pair = basic_pair(header)
        if pair is None or self._thread is None:
            return None
        user, password = pair
        login = next((each for each in self._logins if each.user == user), None)
        # a user that does not exist takes as long
        against = login or msgspec.structs.replace(self._logins[0], user="", hash=bytes(32))
        if self._waiting >= MOST_WAITING:
            raise Busy
        self._waiting += 1
        try:
            is_right = await asyncio.get_running_loop().run_in_executor(self._thread, _matches, against, password)
        finally:
            self._waiting -= 1
        if not is_right or login is None:
            return None
        self._right[self._memory(header)] = login.user
        while len(self._right) > _REMEMBERED:
            self._right.popitem(last=False)
        return login.user

    @staticmethod
    def user_of(header: bytes) -> str:
        """The user named in credentials, whether there is one of that name or not."""
        pair = basic_pair(header)
        return pair[0] if pair else ""

    def _memory(self, header: bytes) -> bytes:
        return hashlib.blake2b(header, key=self._secret, digest_size=32).digest()


def _matches(login: Login, password: bytes) -> bool:
    return login.matches(password)


def basic_pair(header: bytes) -> tuple[str, bytes] | None:
    """User and password of `Authorization: Basic` (RFC 7617); None when it is none.

    >>> basic_pair(b"Basic YWxpY2U6cGFzczp3b3Jk")
    ('alice', b'pass:word')
    """
    scheme, _, rest = header.partition(b" ")
    if scheme.lower() != b"basic" or len(header) > MAX_HEADER_BYTES:
        return None
    try:
        user, colon, password = base64.b64decode(rest.strip(), validate=True).partition(b":")
        return (user.decode(), password) if colon else None
    except (binascii.Error, ValueError):
        return None
