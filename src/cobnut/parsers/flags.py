"""What is this page, rather than a page to be read?

Three *flags*, each of which a page with hardly any text may get: `needs_javascript` (only scripts would fill it),
`login_wall` (a reader must log in first), `bot_challenge` (the server wants to know whether a person asks). They change
nothing about what becomes of the page; they say why there is so little in it.

A page with much text is none of these, and costs nothing here: only what has little of it is looked at a second time,
and only its beginning.

Not here: how a challenge and a login are told (`text.walls`); answers that are no page (401, 403, 429, 503):
`fetcher.refusal`.
"""

from __future__ import annotations

import re
from typing import Final

from cobnut.text.walls import (
    LOOKED_AT,
    MOST_TEXT,
    NEXT_TO_NONE,
    SHORT_TEXT,
    Seen,
    asks_for_login,
    is_challenge,
    noscript,
    says_login,
)

NEEDS_JAVASCRIPT, LOGIN_WALL, BOT_CHALLENGE = "needs_javascript", "login_wall", "bot_challenge"


def flags_of(seen: Seen) -> list[str] | None:
    """The flags of a page, None without one. A challenge is told as that alone: that it needs scripts is its nature."""
    if len(seen.text) > MOST_TEXT and not (seen.passwords and seen.main_chars <= SHORT_TEXT):
        return None
    if is_challenge(seen):
        return [BOT_CHALLENGE]
    found = []
    if _needs_javascript(seen):
        found.append(NEEDS_JAVASCRIPT)
    if _is_login_wall(seen):
        found.append(LOGIN_WALL)
    return found or None


# ---- needs_javascript

_EMPTY_ROOT: Final = re.compile(
    r"<(div|main|section)\b[^>]{0,300}\bid=[\"']?(?:root|app|__next|__nuxt|__layout|main-app|react-root|app-root|"
    r"application|ember-app|q-app|svelte|gatsby-focus-wrapper|___gatsby|vue-app|mount|container-root)[\"']?(?=[\s>])[^>]{0,300}>"
    r"(?:\s|<!--.{0,200}?-->)*</\1|<(app-root|my-app|app-component)\b[^>]{0,300}>(?:\s|<!--.{0,200}?-->)*</\2",
    re.IGNORECASE | re.DOTALL,
)
_SCRIPT_WORDS: Final = re.compile(
    r"(?:enable|activate|turn on|requires?|needs?|without|allow|support|need to have)\b[^.!?<]{0,60}"
    r"\b(?:javascript|java script|js)\b"
    r"|javascript[^.!?<]{0,60}\b(?:disabled|required|enabled|turned off|not available|to view|to use|to run|to work)\b"
    r"|javascript[^.!?<]{0,30}(?:aktivieren|activ[ae]r|activez|deaktiviert|désactivé|включ|отключ)"
    r"|(?:aktivier|activ|включ)[^.!?<]{0,40}javascript"
    r"|(?:启用|开启|打开|支持|啟用|有効)[^。<]{0,20}(?:javascript|js)|javascript[^。<]{0,20}(?:有効|启用|开启|啟用)",
    re.IGNORECASE,
)
_GOES_ON_BY_SCRIPT: Final = re.compile(
    r"<script[^>]{0,300}>[^<]{0,2000}?\b(?:window\.|document\.|top\.|self\.)?location(?:\.(?:href|pathname))?\s*"
    r"(?:=(?!=)|\.(?:replace|assign)\s*\()",
    re.IGNORECASE,
)


def _needs_javascript(seen: Seen) -> bool:
    if not seen.scripts or len(seen.text) > SHORT_TEXT:
        return False
    source, length = seen.source[:LOOKED_AT], len(seen.text)
    if length <= 2 * NEXT_TO_NONE and _EMPTY_ROOT.search(source):
        return True
    if _SCRIPT_WORDS.search(seen.text) and length <= SHORT_TEXT:
        return True
    if length <= 2 * NEXT_TO_NONE and _SCRIPT_WORDS.search(noscript(source)):
        return True
    if length > NEXT_TO_NONE or seen.links > 2 or seen.shows or seen.passwords:
        return False
    # nothing to read, nowhere to go, nothing to look at: the scripts are all there is
    return not seen.text or bool(_GOES_ON_BY_SCRIPT.search(source))


# ---- login_wall


def _is_login_wall(seen: Seen) -> bool:
    asks = asks_for_login(seen)
    if asks and seen.main_chars <= NEXT_TO_NONE and len(seen.text) <= SHORT_TEXT:
        return True
    if len(seen.text) > SHORT_TEXT and not (asks and len(seen.text) <= MOST_TEXT):
        return False
    return says_login(seen.text) and (asks or len(seen.text) <= 2 * NEXT_TO_NONE)
