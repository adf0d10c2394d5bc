"""What is this page, rather than a page to be read?

Three *flags*, each of which a page with hardly any text may get: `needs_javascript` (only scripts would fill it),
`login_wall` (a reader must log in first), `bot_challenge` (the server wants to know whether a person asks). They change
nothing about what becomes of the page; they say why there is so little in it.

A page with much text is none of these, and costs nothing here: only what has little of it is looked at a second time,
and only its beginning. What counts is how a page is built, and set phrases where they stand nearly alone; a page that
merely carries somebody's protection script, or writes about challenges, is not flagged.

Not here: answers that are no page (401, 403, 429, 503): those have a reason of their own (`fetcher.outcome`).
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

NEEDS_JAVASCRIPT, LOGIN_WALL, BOT_CHALLENGE = "needs_javascript", "login_wall", "bot_challenge"

MOST_TEXT = 1_500
"""Characters of text above which a page is one to be read, whatever else stands in it."""
SHORT_TEXT = 700
"""Above this, a phrase is a part of what the page tells."""
NEXT_TO_NONE = 150
_LOOKED_AT = 262_144
"""Characters of the page's source that are looked at."""


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What parsing has seen of a page. `main_chars` is the length of the part that is no navigation or form."""

    source: str
    title: str
    text: str
    main_chars: int
    links: int
    passwords: int
    new_passwords: int
    scripts: int
    shows: int = 0  # frames, images, media and objects: something else to look at


def flags_of(seen: Seen) -> list[str] | None:
    """The flags of a page, None without one. A challenge is told as that alone: that it needs scripts is its nature."""
    if len(seen.text) > MOST_TEXT and not (seen.passwords and seen.main_chars <= SHORT_TEXT):
        return None
    if _is_challenge(seen):
        return [BOT_CHALLENGE]
    found = []
    if _needs_javascript(seen):
        found.append(NEEDS_JAVASCRIPT)
    if _is_login_wall(seen):
        found.append(LOGIN_WALL)
    return found or None


# ---- bot_challenge

_CHALLENGE_PARTS: Final = re.compile(
    # names that stand in a challenge and not in the pages behind it
    r"_cf_chl_opt|cf-browser-verification|id=[\"']?(?:challenge-form|challenge-running|cf-please-wait)"
    r"|captcha-delivery\.com|px-captcha|sec-if-cpt-container|triggerInterstitialChallenge"
    r"|sucuri_cloudproxy_js|/\.well-known/sgcaptcha|id=[\"']?anubis_challenge|/\.within\.website/x/cmd/anubis"
    r"|awsWafCookieDomainList|AwsWafIntegration\.(?:checkForceRefresh|forceRefreshToken)|ddos-guard/js-challenge"
)
_CAPTCHA_PARTS: Final = re.compile(
    # these stand in ordinary pages too (a comment form): they count only where there is next to nothing else
    r"_Incapsula_Resource|challenges\.cloudflare\.com/turnstile|hcaptcha\.com/|/recaptcha/(?:api|enterprise)"
    r"|class=[\"']?(?:g-recaptcha|h-captcha|cf-turnstile)|arkoselabs\.com|geetest"
)
_CHALLENGE_WORDS: Final = re.compile(
    r"checking (?:if the site connection is secure|your browser)"
    r"|(?:verify|verifying|confirm|prove) (?:that )?you(?: a|['’])re (?:a )?(?:human|not a (?:bot|robot))"
    r"|you(?: a|['’])re not a (?:bot|robot)|are you a (?:human|robot)\b"
    r"|press (?:&|and) hold to confirm|unusual traffic from your (?:computer|network)"
    r"|enable javascript and cookies to continue|please complete the security check|pardon our interruption"
    r"|request unsuccessful\. incapsula|ddos protection by"
    r"|请完成安全验证|百度安全验证|人机验证|请输入验证码|当前环境异常"
    r"|ロボットではない|überprüfen(?: sie)?,? (?:ob|dass) sie (?:ein mensch|kein roboter)",
    re.IGNORECASE,
)
_CHALLENGE_TITLES: Final = re.compile(
    r"just a moment|attention required! \| cloudflare|ddos-guard|bot verification|security check|human verification"
    r"|robot check|captcha\b|are you (?:a )?(?:human|robot)|access to this page has been denied|安全验证",
    re.IGNORECASE,
)


def _is_challenge(seen: Seen) -> bool:
    source, length = seen.source[:_LOOKED_AT], len(seen.text)
    if length <= MOST_TEXT and _CHALLENGE_PARTS.search(source):
        return True
    if length > SHORT_TEXT:
        return False
    words = bool(_CHALLENGE_WORDS.search(seen.text) or _CHALLENGE_WORDS.search(_noscript(source)))
    named = bool(_CHALLENGE_TITLES.match(seen.title))
    if _CAPTCHA_PARTS.search(source):
        # a captcha that is the whole page
        return words or named or (length <= NEXT_TO_NONE and not seen.passwords and seen.links <= 2)
    return words and (named or seen.scripts > 0 or length <= 2 * NEXT_TO_NONE)


# ---- needs_javascript

_NOSCRIPT: Final = re.compile(r"<noscript[^>]*>(.{0,2000}?)</noscript", re.IGNORECASE | re.DOTALL)
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
    r"<script[^>]*>[^<]{0,2000}?\b(?:window\.|document\.|top\.|self\.)?location(?:\.(?:href|pathname))?\s*"
    r"(?:=(?!=)|\.(?:replace|assign)\s*\()",
    re.IGNORECASE,
)


def _needs_javascript(seen: Seen) -> bool:
    if not seen.scripts or len(seen.text) > SHORT_TEXT:
        return False
    source, length = seen.source[:_LOOKED_AT], len(seen.text)
    if length <= 2 * NEXT_TO_NONE and _EMPTY_ROOT.search(source):
        return True
    if _SCRIPT_WORDS.search(seen.text) and length <= SHORT_TEXT:
        return True
    if length <= 2 * NEXT_TO_NONE and _SCRIPT_WORDS.search(_noscript(source)):
        return True
    if length > NEXT_TO_NONE or seen.links > 2 or seen.shows or seen.passwords:
        return False
    # nothing to read, nowhere to go, nothing to look at: the scripts are all there is
    return not seen.text or bool(_GOES_ON_BY_SCRIPT.search(source))


def _noscript(source: str) -> str:
    """What the page says to those without scripts; the first few places."""
    return " ".join(match[1] for _, match in zip(range(8), _NOSCRIPT.finditer(source), strict=False))


# ---- login_wall

_LOGIN_WORDS: Final = re.compile(
    r"(?:(?:log|sign)[ -]?in|register|sign up)(?: or (?:register|sign up|create an account))? "
    r"(?:is required|first|(?:to|in order to) (?:continue|view|read|see|access|proceed|use))"
    r"|(?:you (?:must|need to|have to)|please) (?:be logged in|first )?(?:log|sign)[ -]?in"
    r"|you must be (?:logged|signed) in|(?:members|subscribers) only|you are not (?:logged|signed) in"
    r"|(?:请先?|登錄|需要)登[录入錄]|登[录入錄]后(?:查看|继续|可见)|ログインして(?:ください|続行)"
    r"|melden sie sich an,? um|bitte (?:melden sie sich|loggen sie sich)|connectez-vous pour|inicia(?:r)? sesión para"
    r"|войдите,? чтобы|необходимо авторизоваться",
    re.IGNORECASE,
)


def _is_login_wall(seen: Seen) -> bool:
    # two fields, or a new password, are for those who register or change one
    asks = seen.passwords == 1 and not seen.new_passwords
    if asks and seen.main_chars <= NEXT_TO_NONE and len(seen.text) <= SHORT_TEXT:
        return True
    if len(seen.text) > SHORT_TEXT and not (asks and len(seen.text) <= MOST_TEXT):
        return False
    return bool(_LOGIN_WORDS.search(seen.text)) and (asks or len(seen.text) <= 2 * NEXT_TO_NONE)
