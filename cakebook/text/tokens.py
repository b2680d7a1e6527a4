"""Tokens, of two kinds: those that a language model is billed for, estimated from above, and those that search uses.

`approx-1` counts one token for a CJK character, ceil(length / 3) for any other run of word characters, one for every
other visible character and one for a newline.
"""

from __future__ import annotations

import re
from functools import lru_cache

CJK = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af"
_COUNT = rf"[{CJK}]|([^\W{CJK}]+)|\n|[^\w\s]"
_WORD = re.compile(rf"([{CJK}]+)|([A-Za-z0-9_]+(?:(?:::|[.\-+/#&])[A-Za-z0-9_]+)*)")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
STOPWORDS = frozenset(
    "a an and are as at be but by can do does for from get how i if in is it its my not of on or our should so that the "
    "their then there this to use using was we what when where which while who why will with you your".split()
)
_FILLER = (
    "为什么|怎么办|怎么样|怎么|怎样|什么|如何|为啥|哪里|哪个|哪些|哪种|多少|几个|是否|是不是|能不能|要不要|有没有|可不可以|请问|一下|"
    "一个|应该|需要|可以|这个|那个|的|了|吗|呢|吧|呀|是|在|和|与|把|被|就|都|也|很|老|时候|时"
)
"""What a Chinese question is made of beside its subject; bigrams across it would be words of no text."""


def count(text: str) -> int:
    """Tokens of `text` by `approx-1`."""
    total = 0
    for match in re.finditer(_COUNT, text):  # compiled at first use: a search counts nothing
        run = match.group(1)
        total += -(-len(run) // 3) if run else 1
    return total


def has_cjk(text: str) -> bool:
    """Whether `text` holds a CJK character."""
    return not text.isascii() and re.search(f"[{CJK}]", text) is not None


def is_identifier(word: str) -> bool:
    """Whether `word` looks like a name from code: camel case, an underscore, `::`, a dot between letters, or a number in it."""
    return (
        "_" in word.strip("_")
        or "::" in word
        or re.search(r"[a-z][A-Z]|[A-Z]{2,}[a-z]|[A-Za-z]\.[A-Za-z]|[A-Za-z]\d|\d[A-Za-z]", word) is not None
    )


def words(text: str) -> list[str]:
    """Search tokens of `text`, in order: identifiers whole and split, other words stemmed, CJK as bigrams.

    `DataCopyPad` gives datacopypad, data, copy, pad; `多核切分` gives 多核, 核切, 切分; a single CJK character stands alone.
    """
    result: list[str] = []
    for match in _WORD.finditer(text):
        run, word = match.groups()
        if run:
            result += _bigrams(run)
        else:
            result += _identifier(word)
    return result


def query_words(text: str) -> list[str]:
    """Search tokens of a question: as `words`, without the words that carry no subject, each once."""
    if has_cjk(text):
        bare = re.sub(_FILLER, " ", text)
        text = bare if words(bare) else text
    found = [w for w in words(text) if w not in _STOPPED]
    longer = [w for w in found if len(w) > 1 or w.isascii()]  # a lone character is what a filler left over
    return list(dict.fromkeys(longer or found))


def _bigrams(run: str) -> list[str]:
    return [run] if len(run) == 1 else [run[i : i + 2] for i in range(len(run) - 1)]


@lru_cache(1 << 14)  # texts of one field repeat their words
def _identifier(word: str) -> tuple[str, ...]:
    whole = word.lower()
    parts = [p.lower() for p in _PART.findall(word)]
    if len(parts) <= 1:
        return (stem(whole),)
    return (whole, *(stem(p) for p in parts if len(p) > 1))


def stem(word: str) -> str:
    """A light English stemmer: plural and verb endings, so that `copies` meets `copy` and `idles` meets `idle`."""
    if len(word) <= 3 or not word.isalpha():
        return word
    for ending, put in (("ies", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("es", "e"), ("s", "")):
        if word.endswith(ending) and not (ending == "s" and word.endswith(("ss", "us", "is"))):
            base = word[: -len(ending)] + put
            if len(base) < 3:
                return word
            if ending in ("ing", "ed"):
                if base[-1] == base[-2] and base[-1] not in "ls":
                    base = base[:-1]
                return base.removesuffix("e")
            return base.removesuffix("e") if len(base) > 3 else base
    return word.removesuffix("e")


_STOPPED = STOPWORDS | {stem(word) for word in STOPWORDS}
"""Stop words as they come out of `words`: `does` is stemmed before anybody looks."""
