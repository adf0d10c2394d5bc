"""Which language is this text in?

Answers with an ISO 639 code (two letters where there are two), or None where the text is too short or no language
is likely enough: a wrong language costs more (stemmed wrongly, left out by `lang:`) than none.
"""

from __future__ import annotations

import re
import tempfile
from functools import cache
from typing import Any

from cobnut.errors import MachineError
from cobnut.text.cjk import has_cjk

MAX_CHARS = 1_000
"""Characters looked at: more does not make the answer better."""

MIN_LETTERS = 20
"""Letters needed; a CJK character counts as three."""

MIN_CONFIDENCE = 0.3
"""Least share of the probability that the language must have."""

_NO_LANGUAGE = "zxx"  # ISO 639-2: no linguistic content; the model's answer to lists of tokens

_LETTERS = re.compile(r"[^\W\d_]")


@cache
def _identifier() -> Any:
    # half a second of CPU: once per process, when first asked
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    try:
        return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    except OSError as error:  # it is unpacked into the folder for temporary files
        raise MachineError(
            f"the language model cannot be unpacked ({error.strerror or error})",
            where=tempfile.tempdir,
            remedy="make room there, or name another folder in TMPDIR",
        ) from error


def detect(text: str) -> str | None:
    """The language of `text`, told by its first 1,000 characters; None when it cannot be told."""
    sample = text[:MAX_CHARS]
    letters = _LETTERS.findall(sample)
    weight = len(letters) + (2 * sum(map(has_cjk, letters)) if len(letters) < MIN_LETTERS else 0)
    if weight < MIN_LETTERS:
        return None
    language, confidence = _identifier().classify(sample)
    return str(language) if confidence >= MIN_CONFIDENCE and language != _NO_LANGUAGE else None
