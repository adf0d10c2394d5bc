"""Rule files: the first rule that matches decides, whatever kind it is, and what is no rule is named with its line."""

from __future__ import annotations

import pytest

from cobnut.config.load import load_settings
from cobnut.config.sections import UrlSettings
from cobnut.errors import CobnutError, InputError
from cobnut.urls.filters import Scope, compile_filter
from cobnut.urls.normalizers import compile_normalizer
from cobnut.urls.rules import compile_filter_rules, compile_normalizer_rules, in_folder, shown_name

FILTER = """\
# comment
- suffix .png
- suffix .gif
> www.example.org
- path ^/private/
- pathquery \\?secret=
<
+ host example.org
+ prefix http://one.test/a/
- regex (?i)Session
+ regex ^https://[^/]*\\.test/
"""


@pytest.mark.parametrize(
    ("url", "refused"),
    [
        ("http://example.org/", False),
        ("http://example.org/x.png", True),
        ("http://example.org/x.gif", True),
        ("http://example.org/x.gif?a", False),
        ("http://sub.example.org:8080/", False),
        ("http://notexample.org/", True),
        ("http://example.org/private/", False),
        ("http://www.example.org/private/", True),
        ("http://www.example.org/a/private/", False),
        ("http://deep.www.example.org/private/", True),
        ("http://www.example.org/?secret=1", True),
        ("http://example.org/?secret=1", False),
        ("http://one.test/a/b", False),
        ("http://one.test/b", True),
        ("https://two.test/", False),
        ("https://two.test/SESSION", True),
        ("http://two.test/", True),
        ("https://[2001:db8::1]:8080/", True),
    ],
)
def test_the_first_rule_that_matches_decides(url, refused):
    assert compile_filter_rules(FILTER, "f")(url) is refused


def test_without_a_last_word_the_rest_is_refused():
    assert compile_filter_rules("", "f")("http://a.test/") is True
    assert compile_filter_rules("- host b.test\n+ all\n", "f")("http://a.test/") is False


def test_many_hosts_are_one_look_up():
    refuses = compile_filter_rules("".join(f"+ host h{n}.test\n" for n in range(50_000)), "f")
    assert not refuses("http://www.h49999.test/")
    assert refuses("http://h50000.test/")


def test_ipv6_hosts():
    refuses = compile_filter_rules("+ host [2001:db8::1]\n", "f")
    assert not refuses("http://[2001:db8::1]:81/a")
    assert not refuses("http://[2001:db8::1]/a")
    assert refuses("http://[2001:db8::2]/a")


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("= all", "not a rule"),
        ("+ hots a.test", "no kind of rule is called 'hots'"),
        ("+ regex (", "not a regular expression"),
        ("+ regex [[a]b]", "not a regular expression"),
        ("- host", "needs a value"),
        ("- regex " + "(" * 50_000 + ")" * 50_000, "of more than|not a regular expression"),
        ("- regex " + "(" * 5_000 + ")" * 5_000, "not a regular expression"),
        ("- regex a{99999999999999999999}", "not a regular expression"),
    ],
)
def test_what_is_no_rule_is_named_with_its_line(line, what):
    with pytest.raises(InputError, match=what) as told:
        compile_filter_rules(f"# first\n{line}\n", "file.txt")
    assert "file.txt:2" in told.value.line()


NORMALIZER = """
[[rule]]
pattern = '[?&]utm_[a-z]+=[^&]*'
replace = ''

[[rule]]
pattern = '^(?P<scheme>https?)://m\\.'
replace = '\\g<scheme>://www.'
"""


def test_a_normalizer_replaces_every_match():
    normalize = compile_normalizer_rules(NORMALIZER, "n")
    assert normalize("http://m.a.test/?utm_a=1&utm_b=2") == "http://www.a.test/"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("rule = 1", r"\[\[rule\]\]"),
        ("[[rules]]\n", r"\[\[rule\]\]"),
        ("[[rule]]\npattern = 'a'\n", "pattern and replace"),
        ("[[rule]]\npattern = 'a'\nreplace = 1\n", "are texts"),
        ("[[rule]]\npattern = '('\nreplace = ''\n", "not a regular expression"),
        ("[[rule]]\npattern = 'a'\nreplace = '\\1'\n", "not a replacement"),
        ("[[rule]]\npattern = 'a'\nreplace = '\\g<no>'\n", "not a replacement"),
        ("[[rule]]\npattern = 'a'\nreplace = '\\'\n", "not a replacement"),
        ("rule = " + "[" * 5000 + "]" * 5000, "not TOML"),
    ],
)
def test_what_is_no_normalizer_rule_is_told(text, what):
    with pytest.raises(InputError, match=what):
        compile_normalizer_rules(text, "n")


def test_a_crawl_names_rule_files_in_its_own_folder(tmp_path):
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules/filter.txt").write_text("- host bad.test\n+ all\n")
    (tmp_path / "rules/normal.toml").write_text(NORMALIZER)
    (tmp_path / "cobnut.toml").write_text(
        "[urls]\nfilters = ['scheme', 'rules:rules/filter.txt']\nnormalizers = ['basic', 'rules:rules/normal.toml']\n"
    )
    urls = load_settings(tmp_path, environ={}).settings.urls
    refused_by = compile_filter(urls, Scope("web"))
    assert refused_by("http://bad.test/") == "rules:filter.txt"
    assert refused_by("http://good.test/") is None
    assert compile_normalizer(urls.normalizers)("http://m.a.test/x?utm_z=") == "http://www.a.test/x"


def test_a_rule_file_that_is_missing_or_no_text_is_told(tmp_path):
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for name, what in (
        ("nowhere", "no such rule file"),
        ("binary", "not UTF-8"),
        ("", "a folder"),
        ("a\0b", "cannot read"),
    ):
        urls = UrlSettings(filters=(in_folder(f"rules:{name}", tmp_path),))
        with pytest.raises(CobnutError, match=what):
            compile_filter(urls, Scope("web"))


def test_names():
    assert shown_name("rules:/a/b.txt") == "rules:b.txt"
    assert in_folder("rules:/a/b.txt", in_folder_base()) == "rules:/a/b.txt"
    assert in_folder("suffix", in_folder_base()) == "suffix"


def in_folder_base():
    from pathlib import Path

    return Path("/somewhere")
