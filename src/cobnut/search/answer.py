"""What does the API answer?

The form is documented and only grows: `{"query", "total", "took_ms", "hits": [{"url", "title", "snippet", "score",
…}]}`. Times are ISO 8601 in UTC; `snippet` and `title` are plain text, `snippet_html` is escaped and marks the
matches.
"""

from __future__ import annotations

import time
from typing import Any

from cobnut.search.searcher import Hit, Results


def as_json(results: Results) -> dict[str, Any]:
    """The results as plain values, ready for any JSON writer."""
    answer: dict[str, Any] = {
        "query": results.query,
        "total": results.total,
        "took_ms": results.took_ms,
        "offset": results.offset,
        "limit": results.limit,
        "hits": [_hit(hit) for hit in results.hits],
    }
    if results.notices:
        answer["notice"] = results.notice
    return answer


def _hit(hit: Hit) -> dict[str, Any]:
    values: dict[str, Any] = {
        "position": hit.position,
        "url": hit.url,
        "shown_url": hit.shown_url,
        "title": hit.title,
        "snippet": hit.snippet.text,
        "snippet_html": hit.snippet.to_html(),
        "score": round(hit.score, 4),
        "host": hit.host,
        "language": hit.language,
        "media_type": hit.document.media_type,
        "fetched_at": _time(hit.fetched_at),
        "segment": hit.segment,
        "inlink_count": hit.document.inlink_count,
    }
    if hit.features:
        values["features"] = [
            {"name": f.name, "value": round(f.value, 6), "contribution": round(f.contribution, 6)} for f in hit.features
        ]
    return values


def _time(at_ms: int) -> str | None:
    if at_ms <= 0 or at_ms > 253_402_300_799_000:
        return None
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at_ms / 1000))
