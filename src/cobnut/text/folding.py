"""What is this text without its accidental white space?"""

from __future__ import annotations


def fold_space(text: str) -> str:
    """Each run of Unicode white space (no-break, ideographic, line separators …) as one space; none at the ends.

    >>> fold_space(" a\\u00a0\\n b\\u3000")
    'a b'
    """
    return " ".join(text.split())
