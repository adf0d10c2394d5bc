"""What did the searcher type?

`parse` never raises: whatever cannot be an operator is text. Known are words (all of them are wanted), "phrases",
`-word` and `-"phrase"` (not wanted), `site:host` (that host, or every host of that domain) and `-site:host`. A word
that is written with signs inside (`usb-c`, `y+(y+25)`, an address) is one clause of several words. Unknown prefixes
(`note:`) are text, and `--option` is a word, not an exclusion.

Not here: how words are cut (`index.schema`, the same for documents and queries).
"""

from __future__ import annotations

import re

import msgspec

from cobnut.index.clauses import Clause, IndexQuery
from cobnut.index.schema import words_of

MOST_WORDS = 32
"""Words of a query that count; the rest is left out and said so."""

_QUOTES = '"“”„‟«»「」『』＂'
_TOKEN = re.compile(
    rf"(?P<minus>-(?!-))?(?:[{_QUOTES}](?P<phrase>[^{_QUOTES}]*)[{_QUOTES}]?|(?P<word>[^\s{_QUOTES}]+))"
)
_SITE = re.compile(r"site:(?P<host>[^\s/]+)(?:/(?P<path>\S*))?", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\ud800-\udfff]+")


class ParsedQuery(msgspec.Struct, frozen=True, kw_only=True):
    """What was typed, and what it asks of the index. `notices` say what was left out, in words for the searcher."""

    text: str
    index_query: IndexQuery
    notices: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """All wanted words, in order, as the index has them."""
        return tuple(word for clause in self.index_query.wanted for word in clause.words)


def parse(text: str, max_chars: int = 400) -> ParsedQuery:
    """What the text asks for; never an exception.

    >>> q = parse('"exact words" more -not site:example.org').index_query
    >>> [c.words for c in q.wanted], [c.words for c in q.unwanted], q.sites
    ([('exact', 'word'), ('more',)], [('not',)], ('example.org',))
    """
    notices = []
    if len(text) > max_chars:
        notices.append(f"only the first {max_chars} characters were searched for")
    clean = _CONTROL.sub(" ", text[:max_chars].replace("\xad", "")).strip()  # a soft hyphen parts no word
    wanted: list[Clause] = []
    unwanted: list[Clause] = []
    sites: list[str] = []
    other_sites: list[str] = []
    room = MOST_WORDS
    for match in _TOKEN.finditer(clean):
        negative = match["minus"] is not None
        word, exactly = match["word"], match["phrase"] is not None
        site = None if exactly else _SITE.fullmatch(word)
        if site is not None:
            host = site["host"].strip("*.").rstrip(":").lower()
            if host:
                (other_sites if negative else sites).append(host)
                if site["path"] and not negative:
                    word = site["path"]
                else:
                    continue
        words = words_of(_without_scheme(match["phrase"] if exactly else word))
        if not words:
            continue
        if len(words) > room:
            notices.append(f"only the first {MOST_WORDS} words were searched for")
            words = words[:room]
        room -= len(words)
        if words:
            (unwanted if negative else wanted).append(Clause(tuple(words), exactly))
    if unwanted and not (wanted or sites):
        notices.append("the query only says what is not wanted: add a word to search for")
    return ParsedQuery(
        text=clean,
        index_query=IndexQuery(
            wanted=tuple(dict.fromkeys(wanted)),
            unwanted=tuple(dict.fromkeys(unwanted)),
            sites=tuple(dict.fromkeys(sites))[:8],
            other_sites=tuple(dict.fromkeys(other_sites))[:8],
        ),
        notices=tuple(dict.fromkeys(notices)),
    )


def _without_scheme(word: str) -> str:
    """A pasted address without its scheme, which the index does not keep of a URL."""
    return re.sub(r"^https?://", "", word, flags=re.IGNORECASE)
