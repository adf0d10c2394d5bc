"""White space, bigrams, signatures and languages."""

from __future__ import annotations

import hashlib
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobnut.text.cjk import has_cjk, spaced_bigrams
from cobnut.text.digest import md5_digest
from cobnut.text.folding import fold_space
from cobnut.text.language import detect


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("", ""),
        (" \t\n", ""),
        ("  a \t\r\n b\u00a0\u2003c\u3000\u2028d\x85e ", "a b c d e"),
        ("a\u200bb", "a\u200bb"),
    ],
)
def test_white_space(text: str, folded: str) -> None:
    assert fold_space(text) == folded


@given(st.text())
def test_folding_twice_changes_nothing(text: str) -> None:
    assert fold_space(fold_space(text)) == fold_space(text)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("plain text, ça va", None),
        ("日本語", ["日本", "本語"]),
        ("日", ["日"]),
        ("東京タワー", ["東京", "京タ", "タワ", "ワー"]),
        ("abc中文def", ["abc", "中文", "def"]),
        ("中文。英文", ["中文", "。", "英文"]),
        ("한국어 문서", ["한국", "국어", "문서"]),
        ("人々", ["人々"]),
        ("ｶﾀｶﾅ", ["ｶﾀ", "ﾀｶ", "ｶﾅ"]),
        ("𠮷野家", ["𠮷野", "野家"]),
        ("ไทย русский", None),
        ("、。「」", None),
    ],
)
def test_bigrams(text: str, terms: list[str] | None) -> None:
    if terms is None:
        assert spaced_bigrams(text) == text
        assert not has_cjk(text)
    else:
        assert spaced_bigrams(text).split() == terms
        assert has_cjk(text)


@given(st.text(alphabet="ab 中文字한 ", max_size=20))
def test_bigrams_hold_every_character_once_or_twice(text: str) -> None:
    spaced = spaced_bigrams(text)
    for character in set(text) - {" "}:
        assert text.count(character) <= spaced.count(character) <= 2 * text.count(character)


def test_an_empty_body_has_no_signature() -> None:
    assert md5_digest(b"") is None
    assert md5_digest(b"a") == hashlib.md5(b"a").digest()


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "The quick brown fox jumps over the lazy dog and runs away."),
        ("de", "Der schnelle braune Fuchs springt über den faulen Hund."),
        ("fr", "Portez ce vieux whisky au juge blond qui fume sur la terrasse."),
        ("es", "El perro corre por el jardín de la casa todas las mañanas."),
        ("ru", "Съешь же ещё этих мягких французских булок, да выпей чаю."),
        ("ja", "これは日本語の短い文章です。"),
        ("zh", "这是一个很短的中文句子。"),
        ("ko", "이것은 한국어로 된 짧은 문장입니다."),
    ],
)
def test_languages(language: str, text: str) -> None:
    assert detect(text) == language
    assert detect(text * 5_000) == language


@pytest.mark.parametrize(
    "text", ["", "Hello world", "asdf qwer zxcv uiop hjkl vbnm qwer", "1234567890 " * 50, "....", "你好"]
)
def test_too_little_text_has_no_language(text: str) -> None:
    assert detect(text) is None


def test_the_model_is_loaded_only_when_asked() -> None:
    heavy = ["numpy", "py3langid", "chardetng_py", "publicsuffixlist", "webencodings"]
    code = "import sys, cobnut.text.language, cobnut.text.charset\n"
    code += "import cobnut.urls.page_links, cobnut.urls.filters, cobnut.urls.overrides\n"
    code += f"print([name for name in {heavy} if name in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
