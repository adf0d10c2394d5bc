"""Which words of a page show that it answers the query?

`snippet` looks for the query's words in the stored text, takes the stretch that holds most of them, and says which
parts to mark. It works on any script: a word is found by the beginning that its stem shares with it and checked by
the same analyzer as the index; pairs of Chinese or Japanese characters are found as they are. Its cost is bounded: at
most a few dozen matches a word are looked at, and the second part of a long text only when the first does not hold
every word.

Not here: HTML (`to_html` escapes everything it passes on).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from html import escape

import msgspec

from cobnut.index.schema import words_of
from cobnut.text.cjk import has_cjk

_FIRST = 4_000  # characters that are looked at before the rest
_MATCHES = 16  # matches a word that are considered
_TRIES = 120  # places a word that are looked at


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


def snippet(text: str, words: Sequence[str], *, chars: int = 240, otherwise: str = "") -> Snippet:
    """The stretch of `text` that holds most of `words` (as the index has them), about `chars` long.

    Without a match it is the beginning of `otherwise` (the page's description), or of the text.
    """
    wanted = list(dict.fromkeys(words))[:16]
    matches = _find(text, wanted)
    if not matches:
        if otherwise:
            marked = _find(otherwise, wanted)
            return _cut(otherwise, 0, chars, marked)
        return _cut(text, 0, chars, [])
    return _cut(text, _best_start(matches, wanted, chars), chars, matches)


def marked(text: str, words: Sequence[str], chars: int = 200) -> Snippet:
    """A short text (a title) with its matches."""
    return _cut(text, 0, chars, _find(text[: 2 * chars], list(dict.fromkeys(words))[:16]))


def _find(text: str, words: Sequence[str]) -> list[tuple[int, int, int]]:
    """(start, end, which word) of matches, in order of place."""
    known: dict[str, bool] = {}
    found: list[tuple[int, int, int]] = []
    missing = list(enumerate(words))
    for piece, fold in _readings(text, missing):
        _scan(fold(piece), missing, known, found)
        seen = {which for _, _, which in found}
        missing[:] = [pair for pair in missing if pair[0] not in seen]
        if not missing:
            break
    found.sort()
    return found


def _readings(text: str, missing: Sequence[tuple[int, str]]) -> Iterator[tuple[str, Callable[[str], str]]]:
    """The text as it is looked at until every word is found: its beginning, all, its beginning without accents."""
    head = text[:_FIRST]
    yield head, _lower
    if len(text) > _FIRST:
        yield text, _lower
    if not head.isascii() and any(word.isascii() for _, word in missing):
        yield head, _plain


def _scan(
    folded: str, words: Sequence[tuple[int, str]], known: dict[str, bool], found: list[tuple[int, int, int]]
) -> None:
    """Add the places of some words to `found`."""
    size = len(folded)
    for which, word in words:
        needle = word[:-1] if len(word) > 3 and word[-1] in "iy" else word
        pairs = has_cjk(word)
        at, matches = folded.find(needle), 0
        for _ in range(_TRIES if len(needle) > 2 or pairs else _TRIES // 4):
            if at < 0 or matches == _MATCHES:
                break
            end = at + len(needle)
            if pairs:
                found.append((at, end, which))
                matches += 1
            elif at == 0 or not folded[at - 1].isalnum():
                while end < size and folded[end].isalnum() and end - at < 64:
                    end += 1
                if _is_word(folded[at:end], word, known):
                    found.append((at, end, which))
                    matches += 1
            at = folded.find(needle, end)


def _is_word(piece: str, word: str, known: dict[str, bool]) -> bool:
    if piece == word:
        return True
    key = f"{word}\n{piece}"
    answer = known.get(key)
    if answer is None:
        answer = known[key] = words_of(piece) == [word]
    return answer


def _lower(text: str) -> str:
    """Lower case, of the same length, so that places agree (U+0130 alone would grow)."""
    return text.lower() if text.isascii() else text.replace("\u0130", "I").lower()


def _plain(text: str) -> str:
    """Lower case without accents, of the same length."""
    return _lower(text).translate(_FOLD)


def _fold_table() -> dict[int, str]:
    """Accented Latin letters, and full-width forms, to the plain letter; only one-to-one."""
    table = {}
    for code in (*range(0xC0, 0x250), *range(0x1E00, 0x1F00), *range(0xFF10, 0xFF5B)):
        plain = unicodedata.normalize("NFKD", chr(code))[:1].lower()
        if plain.isascii() and plain.isalnum():
            table[code] = plain
    return table


_FOLD = _fold_table()


def _best_start(matches: Sequence[tuple[int, int, int]], words: Sequence[str], chars: int) -> int:
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


def _cut(text: str, match: int, chars: int, matches: Sequence[tuple[int, int, int]]) -> Snippet:
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
