"""Sentence and paragraph splitting.

The splitter is ``sentencex``: rules and abbreviation lists, no model. Its time grows with the square of the number of
quotation marks that are never closed, so it gets a long paragraph in stretches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from weft.corpora.text.sentence_ends import with_abbreviations
from weft.corpora.text.text_limits import NO_SENTENCE_ENDS, is_run_on, without_run_ons
from weft.corpora.text.text_warnings import layout_warnings
from weft.document import Document
from weft.errors import ConfigError, CorpusError, did_you_mean

# ISO 639-1. sentencex accepts any string and silently falls back to English rules, so that a typing error ("ge" for
# German) would go unnoticed. Two-letter codes are therefore checked against ISO.
_TWO_LETTER = """
aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee
el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is
it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms
mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg sh si
sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh
yi yo za zh zu
"""
# Three-letter codes for which sentencex 1.0.32 has rules that differ from its default, found by trying all
# 17,576, and the Chinese languages. "deu" is not among them: it would be split as English, "de" as German.
_THREE_LETTER = """
aae acm aeb als alt anp apc arn arq ary arz ast atj avk awa bar bci blk bpy bxr csb dsb dua egl eml ext fit
fon frc frp frr fur gcf gcr gld gsw guc hke hrx hsb hyw inh jut kaa kab kbp kea kjh kjp koi krc krl ksh ksw
kum lad lbe lez lij lld lmo lua mag mai mdf mhr mnw mrj mwl myv nah nap nds olo pcd pdc pdt pfl pms pnt qug
rgn rue rut sah scn sdc ses shy sjd sli smn srn sro stq sty szl tcy tet tyv udm vec vls vmf vmw vot wls xal
cdo gan hak hsn lzh nan wuu yue
"""
STRETCH = 50_000  # characters that are split at once; hardly any paragraph is longer
_KNOWN = frozenset(_TWO_LETTER.split() + _THREE_LETTER.split())


def check_language(language: str) -> str:
    """Return the language code for the splitter.

    Args:
        language: A language code, with or without a region: ``en``, ``de-AT``, ``pt_BR``, ``gsw``.

    Returns:
        The language without a region, in lower case, as sentencex expects it.

    Raises:
        ConfigError: The code does not exist, or sentencex would silently treat it as English.

    Example:
        >>> check_language("de-AT")
        'de'
    """
    code = str(language).replace("_", "-").partition("-")[0].lower()
    if code in _KNOWN:
        return code
    raise ConfigError(
        "unknown language",
        seen=language,
        allowed="a two-letter ISO 639-1 code, or a three-letter one that the splitter has rules for (gsw)",
        next_step=f'use `language="en"`, or the nearest language: {_nearest(code)}',
    )


def _nearest(code: str) -> str:
    listing = did_you_mean(code[:2], (known for known in _TWO_LETTER.split() if known[0] == code[:1]))
    return listing or "such as de, es, fr, zh"


def split_sentences(text: str, language: str = "en") -> tuple[str, ...]:
    r"""Return the sentences of a text.

    Args:
        text: Any text. A blank line always ends a sentence, a single newline does not.
        language: The language of the text; see :func:`check_language`.

    Returns:
        The sentences, stripped, with single spaces inside. What has no end of a sentence for too long is cut into parts
        (`weft.corpora.text.text_limits`).

    Example:
        >>> split_sentences("Dr. Smith\nslept. It rained.\n\nA heading\n\nHe woke.")
        ('Dr. Smith slept.', 'It rained.', 'A heading', 'He woke.')
    """
    return tuple(sentence for paragraph in split_paragraphs(text, language) for sentence in without_run_ons(paragraph))


def split_paragraphs(text: str, language: str = "en") -> tuple[tuple[str, ...], ...]:
    r"""Return the paragraphs of a text, which blank lines separate, each as its sentences.

    Example:
        >>> split_paragraphs("It rained. He slept.\n\nHe woke.")
        (('It rained.', 'He slept.'), ('He woke.',))
    """
    if not isinstance(text, str):
        raise CorpusError(
            "not a text",
            seen=f"{type(text).__name__} {text!r:.60}",
            allowed="one str",
            next_step="convert it with str(), or split every text of a list by itself",
        )
    check_language(language)
    blocks = blank_line_blocks(enumerate(text.split("\n")))
    return tuple(split_block(" ".join(lines), language) for _, lines in blocks)


def blank_line_blocks(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, list[str]]]:
    """Yield the blocks of numbered lines that blank lines separate, each with the number of its first line."""
    for filled, group in groupby(lines, key=lambda line: bool(line[1].strip())):
        if filled:
            block = list(group)
            yield block[0][0], [text for _, text in block]


def split_block(text: str, language: str = "en") -> tuple[str, ...]:
    """Return the sentences of one paragraph; newlines in it count as spaces.

    Raises:
        CorpusError: The text contains a lone surrogate.
    """
    code, flat = check_language(language), " ".join(text.split())
    pieces = []
    while len(flat) > STRETCH:
        end = flat.rfind(" ", 1, STRETCH)
        *whole, last = _segments(code, flat[: end if end > 0 else STRETCH])
        pieces += whole or [last]  # the last piece may go on in the next stretch, unless it fills this one
        flat = flat[sum(map(len, whole or [last])) :]
    pieces += _segments(code, flat)
    return tuple(sentence for piece in pieces if (sentence := piece.strip()))


def _segments(code: str, flat: str) -> list[str]:
    """Return the parts that sentencex finds, which are the whole text when joined."""
    from sentencex import segment  # imported here: `import weft` stays fast

    try:
        pieces: list[str] = segment(code, flat)
    except UnicodeEncodeError as error:
        raise CorpusError(
            "the text has half a surrogate pair, which is not a character",
            seen=f"U+{ord(flat[error.start]):04X} at character {error.start}",
            allowed="Unicode text",
            next_step="remove it from the text, or correct the program that wrote it",
        ) from error
    return with_abbreviations(pieces) if code == "en" else pieces


def tidy_sentence(sentence: str) -> str:
    """Return a sentence on one line, without white space around it."""
    sentence = sentence.strip()
    return " ".join(sentence.split()) if "\n" in sentence or "\r" in sentence else sentence


def document_of_text(name: str, text: str, language: str = "en", title: str = "") -> Document:
    r"""Return a text as a document: its blank lines separate paragraphs, and its lines may give layout warnings.

    Example:
        >>> document_of_text("d", "It rained. He slept.\n\nHe woke.").paragraph_starts
        (0, 2)
    """
    paragraphs = split_paragraphs(text, language)
    document = assemble(name, map(without_run_ons, paragraphs), title)
    warnings = layout_warnings(text.split("\n"), len(document))
    run_ons = any(is_run_on(sentence) for paragraph in paragraphs for sentence in paragraph)
    return replace(document, layout_warnings=(*warnings, *([NO_SENTENCE_ENDS] if run_ons else [])))


def assemble(name: str, paragraphs: Iterable[Sequence[str]], title: str = "") -> Document:
    """Return a document of paragraphs of sentences; empty paragraphs are omitted."""
    sentences: list[str] = []
    starts: list[int] = []
    for paragraph in paragraphs:
        if paragraph:
            starts.append(len(sentences))
            sentences.extend(paragraph)
    return Document(name, tuple(sentences), title, tuple(starts) or (0,))
