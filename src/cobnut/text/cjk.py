"""How does a text that is written without spaces fall into words?

Chinese and Japanese do not part words, and Korean glues particles to them. Runs of these scripts are put as
overlapping pairs of characters (bigrams) parted by spaces, on the side of the index and on the side of the query
alike: a word of two characters is a term, a longer one a phrase. A run of one character stays as it is.
"""

from __future__ import annotations

import re

_CJK = (
    "\u1100-\u11ff"  # Hangul Jamo
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303b"  # radicals, iteration mark, closing mark, numerals
    "\u3041-\u3096\u3099-\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff"  # Hiragana, Katakana, long vowel mark
    "\u3105-\u312f\u3131-\u318e\u31a0-\u31bf\u31f0-\u31ff"  # Bopomofo, Hangul and Katakana letters
    "\u3400-\u4dbf\u4e00-\u9fff"  # Han
    "\ua960-\ua97f\uac00-\ud7a3\ud7b0-\ud7ff"  # Hangul syllables and Jamo
    "\uf900-\ufaff\uff66-\uff9f\uffa1-\uffdc"  # compatibility Han, half-width Katakana and Hangul
    "\U0001aff0-\U0001afff\U0001b000-\U0001b16f\U00020000-\U0003ffff"  # Kana supplements, Han extensions
)
_RUN = re.compile(f"[{_CJK}]+")


def has_cjk(text: str) -> bool:
    """Is there a character of a script that is put as bigrams?"""
    return not text.isascii() and _RUN.search(text) is not None


def _pairs(match: re.Match[str]) -> str:
    run = match[0]
    if len(run) == 1:
        return f" {run} "
    return f" {' '.join(map(str.__add__, run, run[1:]))} "


def spaced_bigrams(text: str) -> str:
    """`text` with each run of Chinese, Japanese or Korean as its pairs of characters; unchanged when it has none.

    >>> spaced_bigrams("日本語 text")
    ' 日本 本語  text'
    """
    return text if text.isascii() else _RUN.sub(_pairs, text)
