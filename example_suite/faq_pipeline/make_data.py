"""Make the FAQ pipeline's data: articles and questions of Python's own documentation, and their index.

    apt-get download python3.11-doc && dpkg-deb -x python3.11-doc_*.deb doc
    python example_suite/faq_pipeline/make_data.py doc/usr/share/doc/python3.11

Writes `data/articles.jsonl.gz` (every question of the FAQ with its answer, then 1,000 paragraphs of the
manual that answer none) and `data/index.npy`, the articles' embeddings by MiniLM in fp32. Needs
`example_suite/assets.txt`; the index takes a minute or two.
"""

import argparse
import gzip
import json
import random
import re
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
ARTICLES = HERE / "data" / "articles.jsonl.gz"
INDEX = HERE / "data" / "index.npy"
PARAGRAPHS = 1000
SEED = 0
LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"

_RULE = re.compile(r"^([-=~^.\"'`#*+])\1{3,}\s*$")
_MARKUP = (
    (re.compile(r"``([^`]*)``"), r"\1"),
    (re.compile(r":[\w:+-]+:`~?!?([^`<]*?)(?:\s*<[^>]*>)?`"), r"\1"),
    (re.compile(r"`([^`<]*?)\s*<[^>]*>`_+"), r"\1"),
    (re.compile(r"^\s*\.\. .*$", re.MULTILINE), ""),
    (re.compile(r"::\s*$", re.MULTILINE), ":"),
)


def plain(text):
    """Take the markup out of reStructuredText."""
    for pattern, kept in _MARKUP:
        text = pattern.sub(kept, text)
    return " ".join(text.replace("*", "").split())


def answered_questions(sources):
    """Every question of the FAQ with its answer, as (question, answer)."""
    for file in sorted((sources / "faq").glob("*.rst.txt")):
        lines = file.read_text(encoding="utf-8").splitlines()
        heads = [
            place for place in range(len(lines) - 1) if lines[place].strip() and _RULE.match(lines[place + 1])
        ]
        for place, end in zip(heads, [*heads[1:], len(lines)], strict=True):
            answer = plain("\n".join(lines[place + 2 : end]))
            if lines[place].strip().endswith("?") and len(answer) > 80:
                yield plain(lines[place]), answer


def paragraphs(sources):
    """Paragraphs of the library reference and the tutorial, in an order drawn by the seed."""
    found = []
    for part in ("library", "tutorial"):
        for file in sorted((sources / part).glob("*.rst.txt")):
            texts = (plain(each) for each in re.split(r"\n\s*\n", file.read_text(encoding="utf-8")))
            found += [text for text in texts if 120 < len(text) < 900 and not text.startswith((">>>", ".."))]
    random.Random(SEED).shuffle(found)  # noqa: S311 - no cryptography here
    return found[:PARAGRAPHS]


def number(place):
    """The number of an article, as a help desk would print it: two letters, four digits."""
    first, second = LETTERS[place * 7 % len(LETTERS)], LETTERS[place * 5 % len(LETTERS)]
    return f"{first}{second}-{1000 + place * 37 % 9000}"


def main():
    parser = argparse.ArgumentParser(description="Make the data of the FAQ pipeline.")
    parser.add_argument("documentation", type=Path, help="the folder that holds html/_sources")
    sources = parser.parse_args().documentation / "html" / "_sources"
    articles = [{"question": question, "text": text} for question, text in answered_questions(sources)]
    articles += [{"text": text} for text in paragraphs(sources)]
    lines = [
        json.dumps({"number": number(i), **each}, sort_keys=True) + "\n" for i, each in enumerate(articles)
    ]
    ARTICLES.parent.mkdir(exist_ok=True)
    # Without a name and a time in its head the file has the same bytes whenever it is made.
    with ARTICLES.open("wb") as raw, gzip.GzipFile("", "wb", mtime=0, fileobj=raw) as packed:
        packed.write("".join(lines).encode())
    from faq_stages import Encoder  # noqa: PLC0415 - it reads the file that was just written

    encoder = Encoder("fp32").load()
    np.save(INDEX, np.stack([encoder.embed(each["text"]) for each in articles]).astype(np.float16))
    print(f"{sum('question' in each for each in articles)} questions, {len(articles)} articles")


if __name__ == "__main__":
    main()
