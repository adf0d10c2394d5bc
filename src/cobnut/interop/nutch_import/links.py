"""What do Nutch's records of links and hosts mean in our tables?

1.x's linkdb names the page that links; 0.7's web database the MD5 of the content the link stands in, which the stage
`adoptlinks` finds the pages of. A link's kind is always `link`, and it was followed: Nutch kept no others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from cobnut.interop.nutch07 import Link
from cobnut.interop.nutch1 import HostDatum, Inlinks
from cobnut.interop.nutch_import.losses import Losses
from cobnut.interop.nutch_import.staging import time_or_none
from cobnut.urls.resolve import Forms

MOST_COUNT = (1 << 62) - 1
_NO_HOST = re.compile(r"[/?#@\\]")

Row = tuple[Any, ...]


class LinkRows:
    """Makes rows of `ADOPTED_LINKS`."""

    def __init__(self, forms: Forms, losses: Losses, max_anchor_chars: int) -> None:
        self._forms, self._losses, self._chars = forms, losses, max_anchor_chars

    def of_inlinks(self, url: str, inlinks: Inlinks) -> Iterator[Row]:
        """The links to one page, as 1.x's linkdb has them."""
        to = self._forms(url)
        seen: set[str] = set()
        for inlink in inlinks:
            source = self._forms(inlink.from_url)
            if to is None or source is None:
                self._losses.leave_out("bad_link")
                continue
            if source.key in seen:  # it goes along, so that words stand before none
                self._losses.leave_out("same_two_pages")
            seen.add(source.key)
            yield (
                to.key,
                to.host,
                to.bucket,
                source.key,
                source.host,
                None,
                anchor_of(inlink.anchor, self._chars),
                False,
                "link",
            )

    def of_link(self, link: Link) -> Row | None:
        """A link of 0.7's web database."""
        to = self._forms(link.url)
        if to is None:
            self._losses.leave_out("bad_link")
            return None
        return to.key, to.host, to.bucket, None, None, link.from_id, anchor_of(link.anchor, self._chars), False, "link"


def anchor_of(text: str, max_chars: int) -> str | None:
    """The words of a link, white space folded, cut as those of parsed pages are; None when there are none."""
    return " ".join(text[: 4 * max_chars].split())[:max_chars] or None


def host_row(forms: Forms, host: str, datum: HostDatum, now_ms: int) -> Row | None:
    """A row of `ADOPTED_HOSTS`; None for what is no host. Requests are counted as far as the pages' states tell."""
    found = None if _NO_HOST.search(host) else forms(f"http://{host}/")
    if found is None:
        return None
    dns, broken = _count(datum.dns_failures), _count(datum.connection_failures)
    answered = sum(
        _count(n) for n in (datum.fetched, datum.not_modified, datum.redir_temp, datum.redir_perm, datum.gone)
    )
    return (
        found.host, found.bucket, None, None, 0, 0, min(answered + broken, MOST_COUNT), min(answered, MOST_COUNT),
        broken, dns, None, "dns_failed" if dns else None, None, None, 0, 0, None,
        time_or_none(datum.last_check) or now_ms,
    )  # fmt: skip


def _count(number: int) -> int:
    return max(0, min(number, MOST_COUNT >> 3))
