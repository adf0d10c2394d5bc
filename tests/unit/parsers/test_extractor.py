"""The extractors of a page's main part: our own, and trafilatura where it is installed."""

import subprocess
import sys
from importlib.util import find_spec

import pytest

from cobnut.config.load import load_settings
from cobnut.config.sections import ParserSettings, Settings
from cobnut.errors import InputError
from cobnut.parsers.extractor import extractor, require_extractor
from cobnut.parsers.page import PageInput, parse_page
from cobnut.parsers.pool import ParsePool

PROSE = "".join(
    f"<p>Paragraph {n}: the hazel bears nuts in autumn, and squirrels find nearly all of them.</p>" for n in range(9)
)
ARTICLE = (
    "<html><head><title>Hazel</title></head><body><nav><a href=/>home</a> <a href=/b>all about nuts</a></nav>"
    f"<article><h1>Hazel</h1>{PROSE}</article><footer>2026, <a href=/imprint>imprint</a></footer></body></html>"
)

installed = pytest.mark.skipif(
    not (find_spec("trafilatura") and find_spec("lxml_html_clean")), reason="the extra quality is not installed"
)


def parsed(html: str, name: str):
    settings = Settings(parser=ParserSettings(main_text=name))
    page = PageInput("http://a.test/", html.encode(), {"content-type": "text/html; charset=utf-8"})
    return parse_page(page, settings)


def test_our_own_rule_needs_no_library():
    assert extractor("blocks") is None
    require_extractor("blocks")
    assert "Paragraph 8" in parsed(ARTICLE, "blocks").main_text
    code = "from cobnut.parsers import extractor, page, pool; import sys; print('trafilatura' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


@installed
def test_trafilatura_takes_the_article_and_leaves_the_rest():
    found = parsed(ARTICLE, "trafilatura")
    assert "Paragraph 0" in found.main_text
    assert "Paragraph 8" in found.main_text
    assert "imprint" not in found.main_text
    assert "all about nuts" not in found.main_text
    own = parsed(ARTICLE, "blocks")
    assert (found.text, found.links, found.title) == (own.text, own.links, own.title)


@installed
@pytest.mark.parametrize(
    "html",
    ["", "<p>\x00\x01 few words", "<div>" * 3000 + "x" * 500 + "</div>" * 3000, "<table>" * 50, "<!--" + "x" * 9999],
)
def test_a_page_it_makes_nothing_of_is_read_as_without_it(html):
    found, own = parsed(html, "trafilatura"), parsed(html, "blocks")
    assert found.parse_status == own.parse_status
    assert found.text == own.text


@installed
def test_it_raises_nothing():
    extract = extractor("trafilatura")
    assert extract is not None
    for html in ("<span>" * 200_000 + "x", "\ud800<p>x", '<?xml version="1.0" encoding="utf-16"?><p>x'):
        extract(html)


WITHOUT = """
import sys
sys.modules[sys.argv[1]] = None  # as if it were not installed
from cobnut.config.sections import ParserSettings, Settings
from cobnut.errors import MachineError
from cobnut.parsers.pool import ParsePool
try:
    ParsePool(Settings(parser=ParserSettings(main_text="trafilatura")))
except MachineError as error:
    print(error.line())
"""


@pytest.mark.parametrize("missing", ["trafilatura", "lxml_html_clean"])
def test_when_it_is_missing_one_line_says_how_to_get_it(missing):
    done = subprocess.run([sys.executable, "-c", WITHOUT, missing], capture_output=True, text=True)
    assert "pip install 'cobnut[quality]'" in done.stdout, done.stderr


@installed
def test_a_pool_of_processes_loads_it():
    with ParsePool(Settings(parser=ParserSettings(main_text="trafilatura", workers=1))) as pool:
        assert pool.count == 1


def test_another_name_is_refused():
    with pytest.raises(InputError, match="main_text"):
        load_settings(None, environ={}, overrides=["parser.main_text=boilerpipe"])
