"""Scores of texts: exact match, token F1, ROUGE-L and word error rate; BLEU and chrF by sacrebleu.

What is no text scores 0 (for error rates: as an empty text), because a model that answers with something else
has not answered.
"""

from __future__ import annotations

import importlib
import re
import string
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from pytest_procure.errors import DataError, DeclarationError

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
#: What ends a clause, where it stands behind a letter; behind a digit only what is no factorial.
_CLAUSE_END = re.compile(
    r"(?:(?<=[^\W\d])[.,;:!?\u2026\u3002\uff0c\uff01\uff1f\u3001]+|(?<=\d)[.,;:]+)(?=\s|$)"
)

#: What prose sets between words and nobody speaks, unless it belongs to a number: `-5`, `.5`, `3.5`, `10:30`.
_UNSPOKEN = re.compile(
    r"""[!"'(),.:;?\[\]`{}"""
    r"\u00a1\u00ab\u00bb\u00bf\u060c\u061b\u061f\u0964\u0965\u2018-\u201f\u2026\u2039\u203a\u3001\u3002"
    r"\u300a-\u300f\uff01\uff08\uff09\uff0c\uff0e\uff1a\uff1b\uff1f-]"
    r"(?<!(?<=\d).(?=\d))(?<!-(?=[^\w\s]?\d))(?<!\.(?=\d))"
)
_MINUS = "\u2212"
_APART = re.compile(r"(?<!\S)-\s+(?=\d)")
_DASHES = re.compile("[\u2010-\u2015]")

Normalise = Callable[[str], str]


def folded(text: str) -> str:
    """Case folded, canonical Unicode (NFC), single spaces, without a full stop at its end.

    Signs, digits, operators, accents and articles stay: texts that mean something else stay different. The
    minus sign and the hyphen that is typed for it are one.
    """
    kept = " ".join(_cased(text).split())
    return kept.removesuffix(".").rstrip() or kept


def squad(text: str) -> str:
    """Lower case, NFKC, no punctuation, no English articles, single spaces (as SQuAD's script does).

    For short answers in English prose; it takes 5 for -5 and C for C++.
    """
    lowered = unicodedata.normalize("NFKC", text).lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", lowered).split())


def exact_match(normalise: Normalise | None = folded) -> Callable[[Any, Any], bool]:
    """A scorer: whether the output is one of the references after `normalise`, or as it is with None.

    A reference is a text, or a list of texts of which any will do. An output of which `normalise` leaves
    nothing is none of them, unless the reference is blank before it.
    """
    if normalise is not None and not callable(normalise):
        raise DeclarationError(f"`normalise={normalise!r}`; expected a function of a text, or None")

    def exact_match(output: Any, reference: Any) -> bool:
        allowed = references_of(reference)
        if not isinstance(output, str):
            return False
        if normalise is None:
            return output in allowed
        said = normalise(output)
        return any(said == normalise(each) and (said != "" or not each.strip()) for each in allowed)

    return exact_match


def token_f1(output: Any, reference: Any) -> float:
    """F1 of the words that output and reference share, the best of several references.

    Words are those of `words`, so that signs and symbols count.
    """
    return _best(output, reference, words, _f1)


def squad_f1(output: Any, reference: Any) -> float:
    """F1 of the words that output and reference share after `squad`, as SQuAD's script has it."""
    return _best(output, reference, lambda text: squad(text).split(), _f1)


def rouge_l(output: Any, reference: Any) -> float:
    """ROUGE-L: F1 by the longest common subsequence of words (Lin 2004), the best of several references.

    Words are those of `words`, without stemming.
    """
    return _best(output, reference, words, _lcs_f1)


def words(text: str) -> list[str]:
    """Cut a text, case folded and in NFC: runs of letters, marks and digits, and each other sign by itself.

    What ends a clause behind a word is left out, white space too. No other sign is, so that texts of one list
    of words say the same.
    """
    plain = _CLAUSE_END.sub("", _cased(text))
    return (_ASCII_WORD if plain.isascii() else _any_word()).findall(plain)


def _best(
    output: Any,
    reference: Any,
    cut: Callable[[str], list[str]],
    compare: Callable[[list[str], list[str]], float],
) -> float:
    """Give the best score against any reference; nothing said is right where the reference is blank."""
    allowed = references_of(reference)
    if not isinstance(output, str):
        return 0.0
    said = cut(output)
    if not said:
        return float(any(not each.strip() for each in allowed))
    return max(compare(said, cut(each)) for each in allowed)


def word_error_rate(outputs: Sequence[Any], references: Sequence[Any]) -> float:
    """Word error rate of all: substitutions, deletions and insertions over the references' words.

    Words are those of `plain_words`; it may exceed 1. Raises `DataError` for references without a word.
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
    """Words, case folded and in NFC, without the punctuation of prose; articles stay.

    What makes another number stays, a sign before digits and what stands between two of them, and so does
    every symbol: `-5` is not `5`, `3.5` not `35`, `C++` not `C`. `covid-19` is one word, and so is
    `wellknown` for `well-known`.
    """
    plain = _DASHES.sub("-", _APART.sub("-", _cased(text)))
    return _UNSPOKEN.sub("", plain).split()


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
    shared = sum((Counter(said) & Counter(expected)).values())
    return 2 * shared / (len(said) + len(expected))


def _lcs_f1(said: list[str], expected: list[str]) -> float:
    row = [0] * (len(expected) + 1)
    for word in said:
        corner = 0
        for at, other in enumerate(expected, 1):
            corner, row[at] = row[at], corner + 1 if word == other else max(row[at], row[at - 1])
    return 2 * row[-1] / (len(said) + len(expected))


def _cased(text: str) -> str:
    text = text.replace(_MINUS, "-")
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


_ASCII_WORD = re.compile(r"\w+|[^\w\s]")


@cache
def _any_word() -> re.Pattern[str]:
    """The same with the marks of all scripts, which `re` takes for no letters: in Hindi they are vowels."""
    marks = "".join(chr(sign) for sign in range(sys.maxunicode) if unicodedata.category(chr(sign))[0] == "M")
    word = rf"[\w{re.escape(marks)}\u200c\u200d]"
    return re.compile(rf"{word}+|[^\s]")


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
