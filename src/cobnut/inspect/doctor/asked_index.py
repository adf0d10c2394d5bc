"""Does a search index open, and answer? Asked in a process of its own (see `probe`): a damaged one can end it.

Not here: what is to be done about it (`indexes`).
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

SOME = 1_000


def look(folder: str) -> dict[str, Any]:
    """How many documents the index has, and what it says of itself; an error when it does not open or answer."""
    from cobnut.index.reader import IndexReader

    reader = IndexReader(Path(folder))
    some = [document.url for document in islice(reader.documents(), SOME)]
    if some:
        reader.frequency(some[0])
    return {"documents": reader.doc_count, "announced": reader.manifest.doc_count, "read": len(some)}
