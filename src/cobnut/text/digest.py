"""What is the signature of exactly this content?"""

from __future__ import annotations

import hashlib


def md5_digest(body: bytes) -> bytes | None:
    """MD5 of a body, 16 bytes; None when it is empty: empty pages are no duplicates of each other."""
    return hashlib.md5(body, usedforsecurity=False).digest() if body else None
