"""Where the research data come from, and their licences, by the name of a training file.

The names are those of `docs/data.md`. A file with another name is a user's own: weft does not know its licence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import Any


@dataclass(frozen=True, slots=True)
class DataLicence:
    """The sources of a training file.

    Attributes:
        file: Pattern of its name, without the endings of compression.
        sources: What it holds.
        licence: Licences of the texts.
        open: Whether all sources are open, and not for research or non-commercial use alone.
    """

    file: str
    sources: str
    licence: str
    open: bool


UNKNOWN = DataLicence("*", "not known to weft", "not known to weft", False)
DATA_LICENCES = (
    DataLicence("train-0[0-9].jsonl", "English Wikipedia", "CC BY-SA 3.0", True),
    DataLicence(
        "silver.jsonl", "English Wikipedia, parsed by an English model of spaCy", "CC BY-SA 3.0; the model MIT", True
    ),
    DataLicence("accidents.train.jsonl", "NTSB accident reports (Barzilay & Lapata)", "research use", False),
    DataLicence("earthquakes.train.jsonl", "AP news (Barzilay & Lapata)", "research use", False),
    DataLicence(
        "train.abstract.jsonl",
        "ACL Anthology; arXiv cs; eLife",
        "CC BY 4.0, CC BY-NC-SA 3.0 before 2016; authors' copyright, metadata CC0; CC BY 4.0 or CC0",
        True,
    ),
    DataLicence("train.answer.jsonl", "MedQuAD", "CC BY 4.0", True),
    DataLicence(
        "train.blog.jsonl",
        "18F, digital.gov; Rust; Go; Let's Encrypt; rOpenSci, The Carpentries; Scott Logic",
        "CC0; MIT or Apache 2.0; CC BY 4.0; MPL 2.0; CC BY 4.0; CC BY-NC-SA 4.0",
        False,
    ),
    DataLicence(
        "train.essay.jsonl",
        "ASAP-AES; W&I+LOCNESS; Ghostbuster; essays from PERSUADE",
        "research use; research, non-commercial; mixed; CC BY 4.0 or non-commercial",
        False,
    ),
    DataLicence(
        "train.fiction.jsonl",
        "classic books, Standard Ebooks, ELTeC; Ghostbuster (writing prompts)",
        "public domain; mixed",
        True,
    ),
    DataLicence(
        "train.howto.jsonl",
        "based.cooking, public-domain-recipes; Programming Historian, Open Source Guides",
        "public domain; CC BY 4.0",
        True,
    ),
    DataLicence("train.interview.jsonl", "The Changelog", "CC BY-SA 4.0", True),
    DataLicence("train.legal.jsonl", "US Supreme Court", "CC0", True),
    DataLicence(
        "train.llm.jsonl",
        "Ghostbuster; AlpacaEval; stories of language models (lechmazur/writing)",
        "mixed; CC BY-NC 4.0; not stated",
        False,
    ),
    DataLicence(
        "train.news.jsonl",
        "Wikinews; Guardian, Reuters-21578; Ghostbuster (Reuters)",
        "CC BY 2.5; research use; mixed",
        False,
    ),
    DataLicence("train.nonfiction.jsonl", "classic books", "public domain", True),
    DataLicence("train.paper.jsonl", "eLife", "CC BY 4.0 or CC0", True),
    DataLicence("train.popsci.jsonl", "eLife digests", "CC BY 4.0 or CC0", True),
    DataLicence("train.review.jsonl", "IMDb (aclImdb)", "research use", False),
    DataLicence("train.simplewiki.jsonl", "Simple English Wikipedia", "CC BY-SA 3.0", True),
    DataLicence("train.speech.jsonl", "US presidents; TED", "public domain; CC BY-NC-ND 4.0", False),
    DataLicence("train.story5.jsonl", "ROCStories", "research use", False),
    DataLicence(
        "train.tale.jsonl", "FairytaleQA; African Storybook", "public domain; CC BY or CC BY-NC per story", True
    ),
    DataLicence("train.textbook.jsonl", "OpenStax", "CC BY 4.0 (two books); CC BY-NC-SA 4.0 (others)", False),
)
# What `tools/split_by_licence.py` keeps of files that also have sources for research or non-commercial use.
OPEN_PARTS = (
    DataLicence(
        "train.blog.open.jsonl",
        "18F, digital.gov; Rust; Go; Let's Encrypt; rOpenSci, The Carpentries",
        "CC0; MIT or Apache 2.0; CC BY 4.0; MPL 2.0; CC BY 4.0",
        True,
    ),
    DataLicence("train.essay.open.jsonl", "Ghostbuster; essays from PERSUADE", "mixed; CC BY 4.0 or mixed", True),
    DataLicence("train.llm.open.jsonl", "Ghostbuster", "CC BY 3.0, with parts of mixed origin", True),
    DataLicence("train.news.open.jsonl", "Wikinews; Ghostbuster (Reuters)", "CC BY 2.5; mixed", True),
    DataLicence("train.speech.open.jsonl", "US presidents", "public domain", True),
    DataLicence("train.textbook.open.jsonl", "OpenStax (two books)", "CC BY 4.0", True),
)
# What `tools/split_by_licence.py` takes out of them. Files of one class, such as `review`, are restricted as a whole.
RESTRICTED_PARTS = (
    DataLicence("train.blog.restricted.jsonl", "Scott Logic", "CC BY-NC-SA 4.0", False),
    DataLicence(
        "train.essay.restricted.jsonl",
        "ASAP-AES; W&I+LOCNESS",
        "research use; research, non-commercial",
        False,
    ),
    DataLicence(
        "train.llm.restricted.jsonl",
        "AlpacaEval; stories of language models (lechmazur/writing)",
        "CC BY-NC 4.0; not stated",
        False,
    ),
    DataLicence("train.news.restricted.jsonl", "Guardian, Reuters-21578", "research use", False),
    DataLicence("train.speech.restricted.jsonl", "TED", "CC BY-NC-ND 4.0", False),
    DataLicence("train.textbook.restricted.jsonl", "OpenStax (all but two books)", "CC BY-NC-SA 4.0", False),
)
ENCODERS = {"minilm": DataLicence("", "all-MiniLM-L6-v2 (weights to start from)", "Apache 2.0", True)}


def licence_of(file: str) -> DataLicence:
    """Return the sources and licences of a training file by its name.

    Example:
        >>> licence_of("wikipedia/train-00.jsonl.xz").licence, licence_of("my-essays.jsonl").licence
        ('CC BY-SA 3.0', 'not known to weft')
    """
    name = PurePath(file).name
    for ending in (".xz", ".gz", ".bz2"):
        name = name.removesuffix(ending)
    # Of a file whose sources are all open, or all restricted, the part is the whole.
    whole = name.replace(".open.", ".").replace(".restricted.", ".")
    known = (*OPEN_PARTS, *RESTRICTED_PARTS, *DATA_LICENCES)
    return next((one for one in known if fnmatchcase(name, one.file) or fnmatchcase(whole, one.file)), UNKNOWN)


def training_files(data: Any) -> dict[str, str]:
    """Return the hash of each training file that a manifest names.

    Args:
        data: ``{path: hash}`` of baselines, ``{"file", "sha256"}`` of the parser, ``[{"name", "sha256"}]`` of stores.

    Example:
        >>> training_files([{"name": "mine.jsonl", "sha256": "ab12"}]), training_files({"file": "x", "sha256": "cd"})
        ({'mine.jsonl': 'ab12'}, {'x': 'cd'})
    """
    if not isinstance(data, Mapping):
        return {str(one["name"]): str(one.get("sha256", "")) for one in data}
    if set(data) == {"file", "sha256"}:
        return {str(data["file"]): str(data["sha256"])}
    return {str(name): str(digest) for name, digest in data.items()}
