"""Does this text ask whether a person reads it, or for a login?

Two kinds of wall: a *challenge* (the server wants to know first whether a person asks) and a *login*. What counts is
how a page is built, and set phrases where they stand nearly alone; a page that merely carries somebody's protection
script, or writes about challenges, is none.

Not here: pages that came with success (`parsers.flags`), answers that refuse (`fetcher.refusal`); both ask this.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

MOST_TEXT = 1_500
"""Characters of text above which a page is one to be read, whatever else stands in it."""
SHORT_TEXT = 700
"""Above this, a phrase is a part of what the page tells."""
NEXT_TO_NONE = 150
LOOKED_AT = 262_144
"""Characters of the page's source that are looked at."""


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen of a page. `main_chars` is the length of the part that is no navigation or form."""

    source: str
    title: str
    text: str
    main_chars: int
    links: int
    passwords: int
    new_passwords: int
    scripts: int
    shows: int = 0  # frames, images, media and objects: something else to look at


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


def is_challenge(seen: Seen) -> bool:
    """Whether a page with this text is a challenge."""
    source, length = seen.source[:LOOKED_AT], len(seen.text)
    if length <= MOST_TEXT and _CHALLENGE_PARTS.search(source):
        return True
    if length > SHORT_TEXT:
        return False
    words = bool(_CHALLENGE_WORDS.search(seen.text) or _CHALLENGE_WORDS.search(noscript(source)))
    named = bool(_CHALLENGE_TITLES.match(seen.title))
    if _CAPTCHA_PARTS.search(source):
        # a captcha that is the whole page
        return words or named or (length <= NEXT_TO_NONE and not seen.passwords and seen.links <= 2)
    return words and (named or seen.scripts > 0 or length <= 2 * NEXT_TO_NONE)


_NOSCRIPT: Final = re.compile(r"<noscript[^>]{0,300}>(.{0,2000}?)</noscript", re.IGNORECASE | re.DOTALL)


def noscript(source: str) -> str:
    """What the page says to those without scripts; the first few places."""
    return " ".join(match[1] for _, match in zip(range(8), _NOSCRIPT.finditer(source), strict=False))


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


def asks_for_login(seen: Seen) -> bool:
    """Whether there is a form to log in with: two fields, or a new password, are for who registers or changes one."""
    return seen.passwords == 1 and not seen.new_passwords


def says_login(text: str) -> bool:
    """Whether the text says that one has to log in first."""
    return bool(_LOGIN_WORDS.search(text))
