"""Scores of texts: exact match, token F1, ROUGE-L and word error rate; BLEU and chrF by sacrebleu.

What is no text scores 0 (for error rates: as an empty text), because a model that answers with something else
has not answered.
"""

from __future__ import annotations

import importlib
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from pytest_procure.errors import DataError, DeclarationError

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)

Normalise = Callable[[str], str]


def plain(text: str) -> str:
    """Lower case, NFKC, no punctuation, no English articles, single spaces (as SQuAD's script does)."""
    lowered = unicodedata.normalize("NFKC", text).lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", lowered).split())


def exact_match(normalise: Normalise | None = plain) -> Callable[[Any, Any], bool]:
    """A scorer: whether the output is one of the references after `normalise`, or as it is with None.

    A reference is a text, or a list of texts of which any will do.
    """
    if normalise is not None and not callable(normalise):
        raise DeclarationError(f"`normalise={normalise!r}`; expected a function of a text, or None")

    def exact_match(output: Any, reference: Any) -> bool:
        allowed = references_of(reference)
        if not isinstance(output, str):
            return False
        said = output if normalise is None else normalise(output)
        return any(said == (each if normalise is None else normalise(each)) for each in allowed)

    return exact_match


def token_f1(output: Any, reference: Any) -> float:
    """F1 of the words that output and reference share, the best of several references (SQuAD's measure)."""
    allowed = references_of(reference)
    if not isinstance(output, str):
        return 0.0
    return max(_f1(plain(output).split(), plain(each).split()) for each in allowed)


def rouge_l(output: Any, reference: Any) -> float:
    """ROUGE-L: F1 by the longest common subsequence of words (Lin 2004), the best of several references.

    Words are runs of letters and digits in lower case, without stemming.
    """
    allowed = references_of(reference)
    if not isinstance(output, str):
        return 0.0
    return max(_lcs_f1(_words(output), _words(each)) for each in allowed)


def word_error_rate(outputs: Sequence[Any], references: Sequence[Any]) -> float:
    """Word error rate of all: substitutions, deletions and insertions over the references' words.

    Texts are compared in lower case without punctuation; it may exceed 1. Raises `DataError` for references
    without a word.
    """
    errors = words = 0
    for output, reference in zip(outputs, references, strict=True):
        expected = plain_words(one_text(reference))
        errors += edit_distance(plain_words(output if isinstance(output, str) else ""), expected)
        words += len(expected)
    if not words:
        raise DataError("the references hold no word; a word error rate needs one")
    return errors / words


def bleu(outputs: Sequence[Any], references: Sequence[Any]) -> float:
    """BLEU of all, 0 to 100, by sacrebleu with its default tokenizer (extra `[text]`)."""
    return _sacrebleu("corpus_bleu", outputs, references)


def chrf(outputs: Sequence[Any], references: Sequence[Any]) -> float:
    """ChrF of all, 0 to 100, by sacrebleu (extra `[text]`)."""
    return _sacrebleu("corpus_chrf", outputs, references)


def plain_words(text: str) -> list[str]:
    """Words in lower case, NFKC, without punctuation; articles stay."""
    return unicodedata.normalize("NFKC", text).lower().translate(_PUNCTUATION).split()


def references_of(reference: Any) -> list[str]:
    """The texts of which any will do. Raises `DataError` for a reference that is none."""
    texts = [reference] if isinstance(reference, str) else reference
    if not isinstance(texts, list | tuple) or not texts or not all(isinstance(each, str) for each in texts):
        raise DataError(f"the reference is {type(reference).__name__}; expected a text, or a list of texts")
    return list(texts)


def one_text(reference: Any) -> str:
    """The reference as one text. Raises `DataError` for anything else."""
    if not isinstance(reference, str):
        raise DataError(f"the reference is {type(reference).__name__}; expected a text")
    return reference


def edit_distance(said: Sequence[str], expected: Sequence[str]) -> int:
    """Levenshtein's distance of two lists of words."""
    row = list(range(len(expected) + 1))
    for place, word in enumerate(said, 1):
        corner, row[0] = row[0], place
        for at, other in enumerate(expected, 1):
            corner, row[at] = row[at], min(row[at] + 1, row[at - 1] + 1, corner + (word != other))
    return row[-1]


def _f1(said: list[str], expected: list[str]) -> float:
    if not said or not expected:
        return float(said == expected)
    shared = sum((Counter(said) & Counter(expected)).values())
    return 2 * shared / (len(said) + len(expected))


def _lcs_f1(said: list[str], expected: list[str]) -> float:
    if not said or not expected:
        return float(said == expected)
    row = [0] * (len(expected) + 1)
    for word in said:
        corner = 0
        for at, other in enumerate(expected, 1):
            corner, row[at] = row[at], corner + 1 if word == other else max(row[at], row[at - 1])
    return 2 * row[-1] / (len(said) + len(expected))


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", text).lower())


def _sacrebleu(function: str, outputs: Sequence[Any], references: Sequence[Any]) -> float:
    try:
        sacrebleu: Any = importlib.import_module("sacrebleu")  # an extra
    except ImportError:
        raise DataError(
            "BLEU and chrF need sacrebleu, which is not installed; run `pip install 'pytest-procure[text]'`"
        ) from None
    said = [output if isinstance(output, str) else "" for output in outputs]
    allowed = [references_of(reference) for reference in references]
    # One list a number of the reference; sacrebleu takes None where an item has fewer.
    most = max(map(len, allowed))
    streams = [[each[i] if i < len(each) else None for each in allowed] for i in range(most)]
    return float(getattr(sacrebleu, function)(said, streams).score)
