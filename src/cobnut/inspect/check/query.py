"""How is this query understood?

Item: `query`. Answer: `wanted` and `unwanted` clauses as the index's words (`exactly`: a quoted phrase), `sites` and
`other_sites`, `words` (all wanted ones in order), `empty` (it asks for nothing), `notices` (what was left out).
"""

from __future__ import annotations

from typing import Any

from cobnut.inspect.check.basis import Basis
from cobnut.inspect.check.items import Answer, Item, Story, needed_text
from cobnut.search.query import parse


def answer(item: Item, basis: Basis) -> Answer:
    """What a query asks of the index."""
    parsed = parse(needed_text(item, "query"), basis.settings.search.max_query_chars)
    asked = parsed.index_query
    return {
        "query": parsed.text,
        "words": list(parsed.words),
        "wanted": [{"words": list(c.words), "exactly": c.exactly} for c in asked.wanted],
        "unwanted": [{"words": list(c.words), "exactly": c.exactly} for c in asked.unwanted],
        "sites": list(asked.sites),
        "other_sites": list(asked.other_sites),
        "empty": asked.is_empty,
        "notices": list(parsed.notices),
    }


def story(found: Answer) -> Story:
    """The answer for a person."""
    lines = [("query", found["query"])]
    lines += [("wanted", _clause(clause)) for clause in found["wanted"]]
    lines += [("not wanted", _clause(clause)) for clause in found["unwanted"]]
    lines += [("only on", f"{site} and hosts below it") for site in found["sites"]]
    lines += [("not on", f"{site} and hosts below it") for site in found["other_sites"]]
    if found["empty"]:
        lines.append(("wanted", "nothing: no document is looked for"))
    return lines + [("note", text) for text in found["notices"]]


def _clause(clause: dict[str, Any]) -> str:
    words = clause["words"]
    if clause["exactly"]:
        return f'"{" ".join(words)}": in a row, as quoted'
    return words[0] if len(words) == 1 else f"{' '.join(words)}: in a row, as they are written as one"
