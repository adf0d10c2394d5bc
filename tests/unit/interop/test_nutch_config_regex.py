"""Java's regular expressions in Python's syntax: the same URLs match, or the part that has no form is named."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobnut.errors import InputError
from cobnut.interop.nutch_config.javaregex import UntranslatableError, replacement_to_python, to_python
from cobnut.interop.nutch_config.rewrites import host_rewrites, protocol_rewrites, regex_rewrites
from cobnut.interop.nutch_config.rulefiles import (
    automaton_rules,
    automaton_to_python,
    domain_rules,
    fast_rules,
    prefix_rules,
    regex_rules,
    suffix_rules,
)
from cobnut.urls.rules import compile_filter_rules, compile_normalizer_rules


@pytest.mark.parametrize(
    ("java", "matches", "does_not"),
    [
        (r"^(file|ftp|mailto):", "ftp://a", "http://ftp:"),
        (r"(?i)\.(gif|jpg)$", "x.GIF", "x.gif?"),
        (r"a(?i)b|c", "C", "Ab"),
        (r"a(?:x(?i)y|z)w", "aZw", "axyW"),
        (r"(?i)a(?-i)b", "Ab", "aB"),
        (r"(?i:a)b", "Ab", "aB"),
        (r"\p{Alpha}+\p{Digit}{2}\p{Punct}", "ab12!", "12!"),
        (r"^\p{Upper}\P{Upper}+$", "Abc", "ABC"),
        (r"[\p{Alnum}_]+@", "a_1@", "-@"),
        (r"(?<first>a+)-\k<first>$", "aa-aa", "aab-aab"),
        (r"\Qa.b\E+", "a.bb", "axb"),
        (r"a\z", "ba", "ab"),
        (r"\x41\u0042\x{43}\0104", "ABCD", "abcd"),
        (r"\cA|\e|\h", "\x01", "A"),
        (r"[a[bc]]d", "bd", "xd"),
        (r"[^a[bc]]d", "xd", "bd"),
        (r"[]a]b", "]b", "xb"),
        (r"[a&|~]b", "&b", "xb"),
        (r"a++b", "aab", "a"),
        (r"(?>a|ab)c", "ac", "abc"),
        (r"(?<!a)b(?!c)", "xbd", "abd"),
        (r".*(/[^/]+)/[^/]+\1/[^/]+\1/", "/x/1/x/2/x/", "/x/1/y/2/x/"),
        (r"[?*!@=]", "a?b", "ab"),
        (r"^\w+$", "abc", "äbc"),
        (r"(a)\11", "aa1", "aa"),
        (r"x{2,}", "xx", "x"),
        (r"[\Q[]\E]x", "[x", "ax"),
    ],
)
def test_what_matches(java, matches, does_not):
    made = re.compile(to_python(java), re.ASCII)
    assert made.search(matches)
    assert not made.search(does_not)


@pytest.mark.parametrize(
    "java",
    [
        r"[a-z&&[^b]]", r"\p{L}", r"\p{IsLatin}", r"\p{InGreek}", r"\p{javaLowerCase}", r"\G", r"\X", r"(?u)a",
        r"(?x)a b", r"(?<=a+)b", r"[a-z&&b]", "(", ")", "[", "[a", "\\", r"a{,3}", r"*", r"\y", r"\k", r"[\b]",
        r"[^\P{Alpha}]", r"\c", r"(?", r"(?<", r"(?P<a>b)", r"[z-a]", r"a{3,1}", r"[a--b]", r"\x{110000}",
        "(" * 1000, "(" * 300 + ")" * 300, "[" * 1000, "a{99999999999}", "x" * 20_000, r"\2(a)",
        r"(?<a>x)(?<a>y)",
    ],
)  # fmt: skip
def test_what_has_no_form_says_why(java):
    with pytest.raises(UntranslatableError) as told:
        to_python(java)
    assert str(told.value)


@given(st.text(alphabet=st.sampled_from(list("ab(?i:)[]^-&\\pP{Alpha}QE<>=!|*+.,12kxu$ \x00é")), max_size=40))
def test_any_pattern_is_translated_or_refused(java):
    try:
        re.compile(to_python(java), re.ASCII)
    except UntranslatableError:
        return


@pytest.mark.parametrize(
    ("java", "pattern", "expected"),
    [
        ("$1x", "(a)", r"\g<1>x"),
        ("$12", "(a)", r"\g<1>2"),
        (r"\$1\\", "(a)", "$1\\\\"),
        ("${n}", "(?P<n>a)", r"\g<n>"),
        ("", "a", ""),
        ("$0", "a", r"\g<0>"),
    ],
)
def test_replacements(java, pattern, expected):
    assert replacement_to_python(java, pattern) == expected
    re.sub(pattern, expected, "a")


@pytest.mark.parametrize("java", ["$", "$x", "$2", "\\", "${", "$99999999999999999999"])
def test_replacements_without_a_form(java):
    with pytest.raises(UntranslatableError):
        replacement_to_python(java, "(a)")


@pytest.mark.parametrize(
    ("pattern", "matches", "does_not"),
    [
        (r"http://.*\.(gif|jpg)", "http://a.gif", "http://a.gifs"),
        (r'"a.b"@', "a.bcd", "axbcd"),
        (r"[?*!]", "?", "a"),
        (r"[^a]", "b", "a"),
        (r"a$", "a$", "a"),
    ],
)
def test_automaton_patterns(pattern, matches, does_not):
    made = re.compile(f"^(?:{automaton_to_python(pattern)})$", re.ASCII)
    assert made.search(matches)
    assert not made.search(does_not)


@pytest.mark.parametrize("pattern", ["a&b", "~a", "#", "<1-9>", '"a', "a\\", "[]", "(", "[", "*"])
def test_automaton_patterns_without_a_form(pattern):
    with pytest.raises(UntranslatableError):
        automaton_to_python(pattern)


ANY = st.text(max_size=80) | st.lists(
    st.sampled_from(
        ["+", "-", ">", "<", "a.test", "+.", "-(?i)x", "-(?i)", "Host a", "DenyPath x", "*.a b", "# x", "+PI", "\0"]
    ),
    max_size=12,
).map("\n".join)  # fmt: skip


@given(ANY)
def test_any_rule_file_is_read(text):
    makers = (
        regex_rules, automaton_rules, prefix_rules, suffix_rules, fast_rules, host_rewrites, protocol_rewrites,
        lambda *a: domain_rules(*a, accepted=True), lambda *a: domain_rules(*a, accepted=False),
    )  # fmt: skip
    for make in makers:
        made = make(text, "source", "name")
        assert made.rules >= 0  # and what was made has been read again


@given(st.binary(max_size=120))
def test_any_normalizer_file_is_read_or_refused(data):
    for body in (data, b"<regex-normalize><regex><pattern>" + data + b"</pattern></regex></regex-normalize>"):
        with contextlib.suppress(InputError):
            regex_rewrites(body, "source", "name")


ORACLE = Path(__file__).parents[2] / "formats/nutch/oracle/urls.json"

OWN_FILTER = r"""
-^(?:file|ftp|mailto):
-(?i)\.(?:gif|jpe?g|png|ico|css|sit|eps|wmf|zip|ppt|mpg|xls|gz|rpm|tgz|mov|exe|bmp|js)$
-[?*!@=]
-.*(/[^/]+)/[^/]+\1/[^/]+\1/
+.
"""
OWN_NORMALIZER = r"""<regex-normalize>
<regex><pattern>(?i);?\b(?:l|j|bv)?_?(?:[a-z]*sid|phpsessid|sessionid)=.*?(&amp;|#|$|(?=\?))</pattern>
<substitution></substitution></regex>
<regex><pattern>#.*\z</pattern><substitution/></regex>
<regex><pattern>\?&amp;</pattern><substitution>?</substitution></regex>
<regex><pattern>&amp;{2,}</pattern><substitution>&amp;</substitution></regex>
<regex><pattern>[?&amp;.]$</pattern><substitution/></regex>
<regex><pattern>^file:/++</pattern><substitution>file:/</substitution></regex>
<regex><pattern>(?&lt;!:)/{2,}</pattern><substitution>/</substitution></regex>
</regex-normalize>"""


def test_rules_of_the_same_meaning_do_what_the_real_plugins_did():
    cases = json.loads(ORACLE.read_text("utf-8"))
    refuses = compile_filter_rules(regex_rules(OWN_FILTER, "f", "f").text, "f")
    normalize = compile_normalizer_rules(regex_rewrites(OWN_NORMALIZER.encode(), "n", "n").text, "n")
    assert {case["in"]: not refuses(case["in"]) for case in cases} == {
        case["in"]: case["regexFilterAccepts"] for case in cases
    }
    assert {case["in"]: normalize(case["in"]) for case in cases} == {case["in"]: case["regex"] for case in cases}
    assert len(cases) == 65


def test_too_many_rules_are_refused():
    assert prefix_rules("http://a/\n" * 100_000, "s", "n").rules == 100_000
    for text in ("-a\n" * 20_001, "-(\n" * 20_001):
        with pytest.raises(InputError, match="more than 20,000"):
            regex_rules(text, "s", "n")
    with pytest.raises(UntranslatableError):
        to_python("(?i)" * 3000 + "|" * 4000)


def test_the_last_word_of_a_suffix_file():
    assert "+ all" in suffix_rules("+\n.gif\n", "s", "n").text
    assert "+ all" not in suffix_rules(".gif\n", "s", "n").text
    assert "- path (?:\\.gif)$" in suffix_rules("+P\n.gif\n", "s", "n").text
