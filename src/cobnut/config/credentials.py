"""How does a settings file know a password or an API key without holding it?

A **login** stands as `USER:scrypt:LOG2N:R:P:SALT:HASH`: scrypt (RFC 7914) is slow on purpose, for people choose
passwords that can be guessed. An **API key** is 256 random bits that Cobnut makes, so a plain hash is enough:
`NAME:sha256:HASH`. Salts and hashes are base64url without padding: no form holds a comma, a quote, a dollar or a space,
and so each may stand in a list, an environment variable or a systemd unit as it is.

Not here: asking for a password (`cli`), checking what a request brings (`web.access`).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets

import msgspec

LOG2N, R, P = 14, 8, 1
"""The cost of a new login: 16 MiB and some 40 ms of one core."""

_NAME = re.compile(r"[A-Za-z0-9._@+-]{1,64}", re.ASCII)
_MOST_MEMORY = 256 * 1024 * 1024
_HASH_BYTES = 32


class Login(msgspec.Struct, frozen=True):
    """A user and the scrypt hash of a password."""

    user: str
    log2n: int
    r: int
    p: int
    salt: bytes
    hash: bytes

    def matches(self, password: bytes) -> bool:
        """Whether this is the password. Takes as long whatever the answer is."""
        return hmac.compare_digest(self.derive(password), self.hash)

    def derive(self, password: bytes) -> bytes:
        """The hash of a password at this login's cost, with its salt."""
        n = 1 << self.log2n
        return hashlib.scrypt(
            password, salt=self.salt, n=n, r=self.r, p=self.p, maxmem=_memory(self) * 2, dklen=_HASH_BYTES
        )

    def text(self) -> str:
        """As it stands in `serve.basic_auth`."""
        return f"{self.user}:scrypt:{self.log2n}:{self.r}:{self.p}:{_encoded(self.salt)}:{_encoded(self.hash)}"


class ApiKey(msgspec.Struct, frozen=True):
    """Whom a key was given to, and the SHA-256 of the key."""

    name: str
    hash: bytes

    def text(self) -> str:
        """As it stands in `serve.api_keys`."""
        return f"{self.name}:sha256:{_encoded(self.hash)}"


def new_login(user: str, password: str) -> Login:
    """A login with a fresh salt; a `ValueError` when the user's name cannot stand in a setting."""
    _check_name(user)
    draft = Login(user, LOG2N, R, P, secrets.token_bytes(16), b"")
    return msgspec.structs.replace(draft, hash=draft.derive(password.encode()))


def new_api_key(name: str) -> tuple[str, ApiKey]:
    """A fresh key, which is shown once, and what is kept of it."""
    _check_name(name)
    key = f"cobnut_{secrets.token_urlsafe(32)}"
    return key, ApiKey(name, key_hash(key.encode()))


def key_hash(key: bytes) -> bytes:
    """What is kept of an API key."""
    return hashlib.sha256(key).digest()


def parse_login(text: str) -> Login:
    """The login that a setting holds; a `ValueError` says what is wrong and quotes nothing: it may be a password."""
    pieces = text.split(":")
    if len(pieces) != 7 or pieces[1] != "scrypt" or not all(p.isascii() and p.isdigit() for p in pieces[2:5]):
        raise ValueError("an entry is not USER:scrypt:…; `cobnut config hash-password USER` makes one")
    _check_name(pieces[0])
    log2n, r, p = (int(piece[:4]) for piece in pieces[2:5])
    login = Login(pieces[0], log2n, r, p, _decoded(pieces[5]), _decoded(pieces[6]))
    if not (10 <= log2n <= 20 and 1 <= r <= 32 and 1 <= p <= 16 and _memory(login) <= _MOST_MEMORY):
        raise ValueError("the cost of an entry is out of bounds; `cobnut config hash-password USER` makes one")
    if len(login.salt) < 8 or len(login.hash) != _HASH_BYTES:
        raise ValueError("an entry was cut or changed; `cobnut config hash-password USER` makes one")
    return login


def parse_api_key(text: str) -> ApiKey:
    """The key that a setting holds; a `ValueError` says what is wrong and quotes nothing, for it may be the key."""
    pieces = text.split(":")
    if len(pieces) != 3 or pieces[1] != "sha256":
        raise ValueError("an entry is not NAME:sha256:…; `cobnut config new-key NAME` makes one")
    _check_name(pieces[0])
    key = ApiKey(pieces[0], _decoded(pieces[2]))
    if len(key.hash) != 32:
        raise ValueError("an entry was cut or changed; `cobnut config new-key NAME` makes one")
    return key


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise ValueError("a name has 1 to 64 letters, digits, and any of . _ @ + -")


def _memory(login: Login) -> int:
    return 128 * login.r * ((1 << login.log2n) + login.p + 2)


def _encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("an entry was cut or changed") from None
