"""A component for spaCy: `nlp.add_pipe("weft")` scores every Doc, and `doc._.coherence` holds the result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import accumulate
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import minibatch

from weft.corpora.text.sentences import split_sentences
from weft.document import Document, Score
from weft.errors import ConfigError
from weft.loaded_model import Model, as_model
from weft.registry import DEFAULT_MODEL
from weft.scoring.genre_choice import check_genre

NAME = "coherence"
KEY = "weft.coherence"  # in doc.user_data, which Doc.to_bytes keeps
AT_ONCE = 64  # documents scored in one batch


@dataclass(frozen=True, slots=True)
class DocCoherence:
    """The coherence of a Doc.

    Attributes:
        value: The score; None if there is nothing to judge.
        links: The score of each pair of neighbouring sentences.
        breaks: Numbers of the breaks or weak links: i is the gap between sentence i and sentence i + 1.
        break_probabilities: Probability of a break at each gap, for models that estimate it.
        starts: Number of the first token of each sentence; ``doc[starts[i + 1]]`` follows gap i.
        percentile: Percentage of reference texts that score lower, for calibrated models.
        genre: Genre of these texts.
        shuffles_beaten: Share of the text's own random orders that score lower, for models that compare orders.
        warnings: Reasons to distrust the score, each a sentence.
        warning_codes: Their codes.
        model: Name of the model.
        fluency: How easy to predict the sentences are, whatever their order, for models that estimate it.
    """

    value: float | None
    links: tuple[float, ...]
    breaks: tuple[int, ...]
    break_probabilities: tuple[float, ...]
    starts: tuple[int, ...]
    percentile: float | None
    genre: str
    shuffles_beaten: float | None
    warnings: tuple[str, ...]
    warning_codes: tuple[str, ...]
    model: str
    fluency: float | None = None


class CoherenceComponent:
    """Scores Docs; made by `nlp.add_pipe("weft")`.

    Sentences are those of the Doc if a component before it has set them, and weft's own otherwise. The model is loaded
    once per process; the component holds its name alone, so that pipelines can be saved and sent to other processes.

    Args:
        name: Name of the component in the pipeline.
        model: Name or folder of the model.
        combine: ``uni``, ``bi`` or ``mmi``, for a generative model; empty for the model's own.
        genre: Genre of the reference texts of the percentiles; empty to guess it.
        language: Language of weft's sentence splitter.

    Example:
        >>> import spacy
        >>> nlp = spacy.blank("en")
        >>> _ = nlp.add_pipe("weft", config={"model": "foltz-sif"})
        >>> doc = nlp("The cat slept. It purred. Rates rose.")
        >>> len(doc._.coherence.links), doc[doc._.coherence.starts[1]].text
        (2, 'It')
    """

    def __init__(self, name: str, model: str, *, combine: str = "", genre: str = "", language: str = "en") -> None:
        self.name, self.model = name, model
        self.combine, self.genre, self.language = combine or None, genre or None, language
        loaded = self._loaded()  # an unknown name or genre is reported here
        check_genre(self.genre, loaded.inner, loaded.name)

    def _loaded(self) -> Model:
        return as_model(self.model).combined(self.combine)

    def __call__(self, doc: Doc) -> Doc:
        """Score one Doc."""
        (scored,) = self._scored([doc])
        return scored

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = AT_ONCE) -> Iterator[Doc]:
        """Score Docs in batches."""
        for docs in minibatch(stream, size=batch_size):
            yield from self._scored(docs)

    def _scored(self, docs: list[Doc]) -> list[Doc]:
        texts = [_sentences(doc, self.language) for doc in docs]
        documents = [Document(str(number), sentences) for number, (sentences, _) in enumerate(texts)]
        scores = self._loaded().score_stream(iter(documents), genre=self.genre)
        for doc, (_, starts), score in zip(docs, texts, scores, strict=True):
            doc.user_data[KEY] = _plain(score, starts)
        return docs


def _sentences(doc: Doc, language: str) -> tuple[tuple[str, ...], list[int]]:
    """Return the sentences of a Doc and the number of the first token of each."""
    if doc.has_annotation("SENT_START"):
        spans = [span for span in doc.sents if span.text.strip()]
        return tuple(" ".join(span.text.split()) for span in spans), [span.start for span in spans]
    sentences = split_sentences(doc.text, language)
    return sentences, _token_starts(doc, sentences)


def _token_starts(doc: Doc, sentences: Iterable[str]) -> list[int]:
    """Return the token at which each sentence begins; sentences have the characters of the text except for spaces."""
    letters = [0, *accumulate(len("".join(token.text.split())) for token in doc)]  # before each token
    starts, passed, token = list[int](), 0, 0
    for sentence in sentences:
        # The last token that begins at this letter or before it; tokens of white space have no letters.
        while token + 1 < len(doc) and letters[token + 1] <= passed:
            token += 1
        starts.append(token)
        passed += len("".join(sentence.split()))
    return starts


def _plain(score: Score, starts: list[int]) -> dict[str, Any]:
    """Return a score as plain data, which Doc.to_bytes can hold."""
    found = DocCoherence(
        score.value, score.transitions, score.breaks, score.break_probabilities, tuple(starts), score.percentile,
        score.genre, score.shuffles_beaten, tuple(map(str, score.warnings)),
        tuple(warning.code for warning in score.warnings), score.model, score.fluency,
    )  # fmt: skip
    return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(found).items()}


def coherence_of(doc: Doc) -> DocCoherence | None:
    """Return the coherence of a Doc; None if it was not scored."""
    stored = doc.user_data.get(KEY)
    if stored is None:
        return None
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in stored.items()
    }
    return DocCoherence(**values)


def create_component(
    nlp: Language, name: str, model: str, combine: str, genre: str, language: str, attribute: str
) -> CoherenceComponent:
    """Return the component; spaCy calls this, with the pipeline first."""
    del nlp  # sentences and words are those of the Doc
    set_attribute(attribute)
    return CoherenceComponent(name, model, combine=combine, genre=genre, language=language)


def set_attribute(name: str = NAME) -> None:
    """Let ``doc._.NAME`` hold the coherence of Docs, also of those that were scored elsewhere and are read from a file.

    Raises:
        ConfigError: Another component has an attribute of that name.
    """
    if not Doc.has_extension(name):
        Doc.set_extension(name, getter=coherence_of)
    elif Doc.get_extension(name)[2] is not coherence_of:
        raise ConfigError(
            "another component has an attribute of this name",
            seen=f"doc._.{name}",
            allowed="a name that no other component uses",
            next_step='nlp.add_pipe("weft", config={"attribute": "weft"})',
        )


# Registered when spaCy imports this module through the entry point `spacy_factories`, or when a program imports it.
DEFAULTS = {"model": DEFAULT_MODEL, "combine": "", "genre": "", "language": "en", "attribute": NAME}
Language.factory("weft", assigns=[f"doc._.{NAME}"], default_config=DEFAULTS, func=create_component)
