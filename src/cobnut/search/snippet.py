"""Which words of a page show that it answers the query?

`snippet` looks for the query's words in the stored text, takes the stretch that holds most of them, and says which
parts to mark. It works on any script: a word is found by the beginning that its stem shares with it and checked by
the same analyzer as the index; pairs of Chinese or Japanese characters are found as they are. Its cost is bounded: at
most a few dozen matches a word are looked at, and the second part of a long text only when the first does not hold
every word.

Not here: HTML (`to_html` escapes everything it passes on).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from html import escape

import msgspec

from cobnut.index.schema import words_of
from cobnut.text.cjk import has_cjk

_PIECES = re.compile(r"[^\W_]+")
_MATCHES = 10  # matches of a spelling that are considered
_TRIES = 40  # places of a spelling that are looked at
_HEAD = 5_000  # characters that are looked at before the rest
_WORDS = 16  # words of a query that are looked for, pairs of characters included
_LONGEST = 6  # and of those with letters, when there are many
_WITHOUT_ACCENTS = 2_000  # characters that are read without accents when nothing else is found

_Needles = tuple[int, bool, tuple[str, ...]]  # which word, whether it is a pair of characters, and how it is written

Match = tuple[int, int, int]
"""Start and end in a text, and which of the wanted words it is."""


class Snippet(msgspec.Struct, frozen=True):
    """Plain text, and the (start, end) ranges of it that match the query."""

    text: str
    ranges: tuple[tuple[int, int], ...] = ()

    def to_html(self, tag: str = "mark") -> str:
        """Escaped HTML in which the matches are marked."""
        parts: list[str] = []
        at = 0
        for start, end in self.ranges:
            parts += (escape(self.text[at:start]), f"<{tag}>", escape(self.text[start:end]), f"</{tag}>")
            at = end
        parts.append(escape(self.text[at:]))
        return "".join(parts)


class Matcher:
    """Finds the words of one query in texts; make one per query and use it for all its hits.

    `words` are as the index has them, `typed` is the query as typed (its accents help to find the words).

    Lower-casing a text costs twenty times as much as searching it, so each word is looked for as it is commonly
    written: small, capitalised, in capitals.
    """

    def __init__(self, words: Sequence[str], typed: str = "") -> None:
        self.words = _telling(tuple(dict.fromkeys(words)))
        self._known: dict[tuple[str, str], bool] = {}
        self._needles: list[_Needles] = []
        spelled = {
            piece: words_of(piece) for piece in _PIECES.findall(typed.lower())[: 2 * _WORDS] if not piece.isascii()
        }
        for which, word in enumerate(self.words):
            if has_cjk(word):
                self._needles.append((which, True, (word,)))
                continue
            stem = word[:-1] if len(word) > 3 and word[-1] in "iy" else word
            forms = [stem, *(p for p, cut in spelled.items() if cut == [word] and not p.startswith(stem))]
            every = [form for f in forms for form in (f, f.capitalize(), f.upper())]
            self._needles.append((which, False, tuple(dict.fromkeys(every))))

    def find(self, text: str) -> list[Match]:
        """Matches in order of place."""
        found: list[Match] = []
        self._scan(text[:_HEAD], self._needles, found)
        if len(text) > _HEAD:
            seen = {which for _, _, which in found}
            missing = [needles for needles in self._needles if needles[0] not in seen]
            if missing:
                self._scan(text, missing, found)
        if not found and not text.isascii():
            self._scan(_plain(text[:_WITHOUT_ACCENTS]), self._needles, found)
        found.sort()
        return found

    def _scan(self, text: str, wanted: Sequence[_Needles], found: list[Match]) -> None:
        size, find = len(text), text.find
        for which, pairs, needles in wanted:
            word = self.words[which]
            for needle in needles:
                at, matches = find(needle), 0
                for _ in range(_TRIES):
                    if at < 0 or matches == _MATCHES:
                        break
                    end = at + len(needle)
                    if pairs:
                        found.append((at, end, which))
                        matches += 1
                    elif at == 0 or not text[at - 1].isalnum():
                        while end < size and text[end].isalnum() and end - at < 64:
                            end += 1
                        if self._is_word(text[at:end], word):
                            found.append((at, end, which))
                            matches += 1
                    at = find(needle, end)

    def _is_word(self, piece: str, word: str) -> bool:
        if piece == word:
            return True
        answer = self._known.get((piece, word))
        if answer is None:
            answer = self._known[piece, word] = words_of(piece) == [word]
        return answer


def _telling(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words worth showing: of many, the longer ones; pairs of characters all."""
    if len(words) <= 3:
        return words
    longest = set(sorted((w for w in words if len(w) > 2), key=len, reverse=True)[:_LONGEST])
    return tuple(w for w in words if w in longest or has_cjk(w))[:_WORDS] or words[:_LONGEST]


def snippet(text: str, matcher: Matcher, *, chars: int = 240, otherwise: str = "") -> Snippet:
    """The stretch of `text` that holds most of the words, about `chars` long.

    Without a match it is the beginning of `otherwise` (the page's description), or of the text.
    """
    matches = matcher.find(text)
    if matches:
        return _cut(text, _best_start(matches, matcher.words, chars), chars, matches)
    if otherwise:
        return _cut(otherwise, 0, chars, matcher.find(otherwise))
    return _cut(text, 0, chars, ())


def marked(text: str, matcher: Matcher, chars: int = 200) -> Snippet:
    """A short text (a title) with its matches."""
    return _cut(text, 0, chars, matcher.find(text[: 2 * chars]))


def _plain(text: str) -> str:
    """Lower case without accents, of the same length, so that places agree (U+0130 alone would grow)."""
    return text.replace("\u0130", "I").lower().translate(_FOLD)


def _fold_table() -> dict[int, str]:
    """Accented Latin letters, and full-width forms, to the plain letter; only one-to-one."""
    table = {}
    for code in (*range(0xC0, 0x250), *range(0x1E00, 0x1F00), *range(0xFF10, 0xFF5B)):
        plain = unicodedata.normalize("NFKD", chr(code))[:1].lower()
        if plain.isascii() and plain.isalnum():
            table[code] = plain
    return table


_FOLD = _fold_table()


def _best_start(matches: Sequence[Match], words: Sequence[str], chars: int) -> int:
    """Where the stretch begins that holds most: distinct words first (longer ones say more), then matches, then
    early.
    """
    worth = [1.0 + min(len(word), 12) / 4 for word in words]
    counts = [0] * len(words)
    width, size = chars * 4 // 5, len(matches)
    best, best_value, value, last = 0, -1.0, 0.0, 0
    for first in range(size):
        start, _, leaving = matches[first]
        while last < size and (matches[last][1] - start <= width or last == first):
            which = matches[last][2]
            if not counts[which]:
                value += worth[which]
            counts[which] += 1
            last += 1
        worth_now = value + 0.05 * min(last - first, 10)
        if worth_now > best_value + 1e-9:
            best, best_value = start, worth_now
        counts[leaving] -= 1
        if not counts[leaving]:
            value -= worth[leaving]
    return best


def _cut(text: str, match: int, chars: int, matches: Sequence[Match]) -> Snippet:
    """About `chars` characters around `match`, cut between words, on one line, with the ranges that match."""
    start = max(0, match - chars // 5)
    if start:
        line = text.rfind("\n", max(0, start - chars // 4), match)
        if line >= 0:
            start = line + 1
        else:
            space = text.find(" ", start, match)
            start = space + 1 if space >= 0 else start
    end = min(len(text), start + chars)
    if end < len(text):
        space = text.rfind(" ", start + chars * 3 // 4, end)
        end = space if space >= 0 else end
    piece = text[start:end]
    lead = len(piece) - len(piece.lstrip())
    start, piece = start + lead, piece.strip()
    end = start + len(piece)
    before = "… " if start - lead > 0 else ""
    after = " …" if end < len(text.rstrip()) else ""
    offset = len(before) - start
    ranges: list[tuple[int, int]] = []
    for low, high, _ in matches:
        if low >= start and high <= end:
            if ranges and low + offset <= ranges[-1][1]:
                ranges[-1] = (ranges[-1][0], max(ranges[-1][1], high + offset))
            else:
                ranges.append((low + offset, high + offset))
    return Snippet(f"{before}{_one_line(piece)}{after}", tuple(ranges))


_LINE = {ord(c): " " for c in "\n\r\t\x0b\x0c\x85\u2028\u2029"}


def _one_line(text: str) -> str:
    return (
        text.translate(_LINE) if not text.isascii() else text.replace("\n", " ").replace("\r", " ").replace("\t", " ")
    )
