"""Into which fields and words is a document cut?

Text fields (`title`, `headings`, `body`, `anchors`, `url`) are cut into words the same way, and a query is cut by the
same analyzer: letters and digits of any script, lower case, accents folded, English endings stemmed; Chinese and
Japanese runs become overlapping pairs of characters (`text.cjk`). Raw fields hold one value unchanged: `doc` and
`segment` for deletes, `url_key` for look-ups, `site` (the host and every domain above it) and `language` for filters,
`exact` for whole titles, anchors and URL names.

Numbers that ranking needs for many candidates are fast fields; everything a result page shows is in the one stored
`blob`.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from typing import Any

import tantivy

from cobnut.text.cjk import spaced_bigrams

TEXT_FIELDS = ("title", "headings", "body", "anchors", "url")
RAW_FIELDS = ("doc", "url_key", "segment", "site", "language", "exact")
FAST_FIELDS = (
    "page_rank",
    "host_rank",
    "inlink_count",
    "inlink_host_count",
    "url_length",
    "title_words",
    "body_words",
)

LATER_FIELDS = ("boost",)
"""Fast fields that came later. A document may lack them, and so may a whole index: in the schema they stand behind all
others, so that the numbers of those stay, and an index without them can be read and merged as it is."""

_ANALYZER = "web"
_MAX_TOKEN_BYTES = 80
_DESCRIPTION = (
    "fields 1: text title headings body anchors url; raw doc url_key segment site language exact:t,a,u; "
    "fast "
    + " ".join(FAST_FIELDS)
    + "; analyzer simple remove_long:80 lowercase ascii_fold stem:English, cjk bigrams 1"
)

SCHEMA_DIGEST = hashlib.sha256(_DESCRIPTION.encode()).hexdigest()[:16]
"""Changes when documents are cut differently: indexes with different digests cannot be merged."""

_URL_PARTS = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@lru_cache(maxsize=1)
def analyzer() -> tantivy.TextAnalyzer:
    """The analyzer of all text fields."""
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    for step in (
        tantivy.Filter.remove_long(_MAX_TOKEN_BYTES),
        tantivy.Filter.lowercase(),
        tantivy.Filter.ascii_fold(),
        tantivy.Filter.stemmer("English"),
    ):
        builder = builder.filter(step)
    return builder.build()


def words_of(text: str) -> list[str]:
    """The words of a text, cut as in the text fields."""
    words: list[str] = analyzer().analyze(spaced_bigrams(text))
    return words


@lru_cache(maxsize=1)
def schema() -> tantivy.Schema:
    """The schema of every index."""
    builder = tantivy.SchemaBuilder()
    for name in RAW_FIELDS:
        builder = builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    for name in TEXT_FIELDS:
        builder = builder.add_text_field(name, tokenizer_name=_ANALYZER)
    for name in FAST_FIELDS:
        builder = builder.add_integer_field(name, fast=True)
    builder = builder.add_bytes_field("blob", stored=True)
    for name in LATER_FIELDS:
        builder = builder.add_integer_field(name, fast=True)
    return builder.build()


def register(index: tantivy.Index) -> tantivy.Index:
    """The same index, its analyzer registered (the engine forgets it at every open)."""
    index.register_tokenizer(_ANALYZER, analyzer())
    return index


def url_words(url: str) -> str:
    """The words of a URL: of its host, path and query; `camelCase` parted as well."""
    _, _, rest = url.partition("://")
    rest = rest[:512]
    parted = _CAMEL.sub(" ", rest)
    return rest if parted == rest else f"{rest} {parted}"


def url_name(url: str) -> str:
    """The last part of a URL's path without its ending, or its host's name: what a person would call the page.

    >>> url_name("http://example.org/docs/pickle.html"), url_name("https://www.example.org/")
    ('pickle', 'example')
    """
    _, _, rest = url.partition("://")
    host, _, path = rest.partition("/")
    path = path.partition("?")[0]
    parts = [part for part in path.split("/") if part]
    if parts and parts[-1].partition(".")[0].lower() in ("index", "default", "home"):
        parts.pop()
    if parts:
        name = parts[-1]
        return name.rpartition(".")[0] if "." in name[1:] else name
    labels = [label for label in host.partition(":")[0].split(".") if label != "www"]
    return labels[-2] if len(labels) > 1 else host


def sites_of(host: str) -> list[str]:
    """The host and every domain above it, so that `site:` is one look-up."""
    if host.startswith("[") or host.replace(".", "").isdigit():
        return [host]
    labels = host.split(".")
    return [".".join(labels[i:]) for i in range(max(0, len(labels) - 12), len(labels))] + (
        [host] if len(labels) > 12 else []
    )


def exact_form(kind: str, text: str) -> str | None:
    """The value of the `exact` field for a whole title (`t`), anchor (`a`) or URL name (`u`)."""
    words = words_of(text[:300])
    return f"{kind}:{' '.join(words)}" if words and len(words) <= 24 else None


_TITLE_PARTS = re.compile(r"\s+[-–—|·»«:/]+\s+|\s*[|»«]\s*")


def title_parts(title: str) -> list[str]:
    """A title and, when it has several parts ("Page — Site"), each of them."""
    parts = [part.strip() for part in _TITLE_PARTS.split(title[:300])]
    return [title, *(p for p in parts if p)] if len(parts) > 1 else [title]


def fields_of(values: dict[str, Any]) -> tantivy.Document:
    """An engine document from plain values."""
    return tantivy.Document.from_dict(values, schema())
