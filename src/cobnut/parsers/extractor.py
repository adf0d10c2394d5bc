"""Who tells a page's main part from what stands around it?

`parser.main_text` names one. `blocks` is our own rule (`parsers.main_text`): it looks at blocks that are known already,
and costs next to nothing. `trafilatura` is the library of that name, which parses the page a second time: better on
articles, three times the price of all the rest. It comes with the extra `quality`. Where it finds nothing, our own
rule decides.

Not here: the rule itself. What is extracted never decides which links or words of a page are known, only what is shown
first and told apart from boilerplate.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec

from cobnut.errors import MachineError

BLOCKS, TRAFILATURA = "blocks", "trafilatura"

Extract = Callable[[str], str | None]
"""The main part of a page's HTML as text, one block a line; None where it cannot be told apart."""


def require_extractor(name: str) -> None:
    """Looks whether the extractor is installed, without loading it; a `MachineError` says how to get it."""
    if name == TRAFILATURA and not (find_spec("trafilatura") and find_spec("lxml_html_clean")):
        raise _missing()


@cache
def extractor(name: str) -> Extract | None:
    """The function of that name, loaded; None when our own rule is all there is."""
    if name != TRAFILATURA:
        return None
    require_extractor(name)
    try:
        from trafilatura import extract
    except ImportError as error:
        raise _missing() from error

    def with_trafilatura(html: str) -> str | None:
        try:
            text = extract(html, include_comments=False, include_tables=True)
        except Exception:  # on hostile pages it, or what it uses, may fail in any way; the page is not lost by it
            return None
        lines = (" ".join(line.split()) for line in (text or "").splitlines())
        return "\n".join(filter(None, lines)) or None

    return with_trafilatura


def _missing() -> MachineError:
    return MachineError(
        "trafilatura, which parser.main_text asks for, is not installed",
        remedy="pip install 'cobnut[quality]', or set parser.main_text=blocks",
    )
