"""The client of the service, with the methods and the results of the library."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, overload

from weft.corpora.text.genre import genre_of_label
from weft.document import ALL_GENRES, Continuation, Document, Score
from weft.errors import ConfigError, WeftError
from weft.generation.decoding_settings import Decoding
from weft.ordering.order import Objective, Search
from weft.ordering.ordering import Ordering
from weft.service.received import received_ordering, received_revision, received_score
from weft.settings import check_type
from weft.text_inputs import SINGLE_NAME, labels_of, one_document, texts_of

if TYPE_CHECKING:
    import httpx

    from weft.evaluation.text_comparison import Revision

AT_ONCE = 64  # texts in one request
BUSY = (429, 503)  # the same request may succeed later
NOT_SENT = ("draws", "groups")  # options of decoding that the service chooses itself
AnyText = str | Document


class Client:
    """Scores, orders, continues and compares texts with a service that `weft serve` started.

    Args:
        url: Address of the service, such as ``http://127.0.0.1:8000``, with or without ``/v1``.
        api_key: Its key, if it has one.
        timeout: Seconds that an answer may take.
        retries: How often a request is sent again if the service is busy.

    Raises:
        WeftError: The service cannot be reached or refuses a request; the message is that of the service.

    Example:
        >>> with Client("http://127.0.0.1:9", retries=0) as client:  # doctest: +ELLIPSIS
        ...     client.score("It rained. The street was wet.")
        Traceback (most recent call last):
        weft.errors.WeftError: cannot reach the service: saw ...
    """

    def __init__(self, url: str, api_key: str | None = None, *, timeout: float = 120.0, retries: int = 3) -> None:
        self.url, self.retries = _address(url), retries
        self._http = _connection(self.url, api_key, timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __repr__(self) -> str:
        return f"Client({self.url!r})"

    @overload  # a str is a text here, never an iterable of letters
    def score(  # type: ignore[overload-overlap]
        self,
        texts: AnyText,
        *,
        model: str | None = ...,
        combine: str | None = ...,
        language: str = ...,
        genre: str | None = ...,
        own_shuffles: bool = ...,
    ) -> Score: ...

    @overload
    def score(
        self,
        texts: Iterable[AnyText],
        *,
        model: str | None = ...,
        combine: str | None = ...,
        language: str = ...,
        genre: str | None = ...,
        own_shuffles: bool = ...,
    ) -> list[Score]: ...

    def score(
        self,
        texts: object,
        *,
        model: str | None = None,
        combine: str | None = None,
        language: str = "en",
        genre: str | None = None,
        own_shuffles: bool = False,
    ) -> Score | list[Score]:
        """Score texts; see `weft.score`. Many texts are sent in several requests."""
        given, single = texts_of(texts)
        check_type("own_shuffles", own_shuffles, False)
        options = {
            "model": model, "combine": combine, "language": language, "genre": genre, "own_shuffles": own_shuffles
        }  # fmt: skip
        found = [
            received_score(record, text)
            for part, answer in self._in_parts("/v1/score", given, options, single=single)
            for record, text in zip(answer["scores"], part, strict=True)
        ]
        if (labels := labels_of(texts)) is not None:
            found = [_labelled_score(score, label) for score, label in zip(found, labels, strict=True)]
        return found[0] if single else found

    @overload
    def order(  # type: ignore[overload-overlap]
        self, texts: AnyText, *, model: str | None = ..., combine: str | None = ..., first_given: bool = ...,
        search: Search = ..., objective: Objective = ..., beam: int = ..., seed: int = ..., language: str = ...,
    ) -> Ordering: ...  # fmt: skip

    @overload
    def order(
        self, texts: Iterable[AnyText], *, model: str | None = ..., combine: str | None = ..., first_given: bool = ...,
        search: Search = ..., objective: Objective = ..., beam: int = ..., seed: int = ..., language: str = ...,
    ) -> list[Ordering]: ...  # fmt: skip

    def order(
        self,
        texts: object,
        *,
        model: str | None = None,
        combine: str | None = None,
        first_given: bool = False,
        search: Search = "auto",
        objective: Objective = "auto",
        beam: int = 10,
        seed: int = 1,
        language: str = "en",
    ) -> Ordering | list[Ordering]:
        """Put the sentences of texts in order; see `weft.order`."""
        given, single = texts_of(texts)
        options = {
            "model": model, "combine": combine, "first_given": first_given, "search": search, "objective": objective,
            "beam": beam, "seed": seed, "language": language,
        }  # fmt: skip
        answers = self._in_parts("/v1/order", given, options, single=single)
        found = [received_ordering(record) for _, answer in answers for record in answer["orders"]]
        if (labels := labels_of(texts)) is not None:
            found = [replace(ordering, label=label) for ordering, label in zip(found, labels, strict=True)]
        return found[0] if single else found

    @overload
    def generate(
        self, texts: AnyText, *, sentences: int = ..., model: str | None = ..., combine: str | None = ...,
        rerank: str | None = ..., decoding: Decoding | None = ..., language: str = ..., **options: Any,
    ) -> Continuation: ...  # fmt: skip

    @overload
    def generate(
        self, texts: Iterable[AnyText], *, sentences: int = ..., model: str | None = ..., combine: str | None = ...,
        rerank: str | None = ..., decoding: Decoding | None = ..., language: str = ..., **options: Any,
    ) -> list[Continuation]: ...  # fmt: skip

    def generate(
        self,
        texts: object,
        *,
        sentences: int = 1,
        model: str | None = None,
        combine: str | None = None,
        rerank: str | None = None,
        decoding: Decoding | None = None,
        language: str = "en",
        **options: Any,
    ) -> Continuation | list[Continuation]:
        """Continue texts; see `weft.generate`. Models are named as the service serves them."""
        given, single = texts_of(texts)
        named = {"model": model, "combine": combine, "language": language, "number": sentences, "rerank": rerank}
        chosen = Decoding.from_options(options, decoding) if options or decoding is not None else None
        answers = self._in_parts("/v1/generate", given, named | _sent_decoding(chosen), single=single)
        found = [
            Continuation(
                one_document(text, name=record["id"], language=language), tuple(record["sentences"]), record["model"]
            )
            for part, answer in answers
            for record, text in zip(answer["continuations"], part, strict=True)
        ]
        if (labels := labels_of(texts)) is not None:
            pairs = zip(found, labels, strict=True)
            found = [replace(new, document=replace(new.document, label=label)) for new, label in pairs]
        return found[0] if single else found

    def compare(
        self,
        first: AnyText,
        second: AnyText,
        *,
        model: str | None = None,
        combine: str | None = None,
        language: str = "en",
    ) -> Revision:
        """Compare two versions of a text; see `weft.compare`."""
        bodies = self._with_genres([_sent(first, "first"), _sent(second, "second")], model)
        body = {
            **dict(zip(("first", "second"), bodies, strict=True)),
            "model": model,
            "combine": combine,
            "language": language,
        }
        return received_revision(self._post("/v1/compare", body), first, second)

    def models(self) -> list[dict[str, Any]]:
        """Return the models that the service serves, the default one first."""
        found: list[dict[str, Any]] = self._request("GET", "/v1/models")["models"]
        return found

    # -- Requests -----------------------------------------------------------------------------------------------------

    def _in_parts(
        self, path: str, texts: Sequence[AnyText], options: Mapping[str, Any], *, single: bool
    ) -> Iterator[tuple[Sequence[AnyText], Any]]:
        """Yield parts of the texts, each with its answer."""
        names = [SINGLE_NAME] if single else [f"{SINGLE_NAME}-{number}" for number in range(len(texts))]
        bodies = self._with_genres([_sent(*one) for one in zip(texts, names, strict=True)], options["model"])
        if single:
            yield texts, self._post(path, {"text": bodies[0], **options})
            return
        for start in range(0, len(texts), AT_ONCE):
            part = slice(start, start + AT_ONCE)
            yield texts[part], self._post(path, {"texts": bodies[part], **options})

    def _with_genres(self, bodies: list[dict[str, Any]], model: str | None) -> list[dict[str, Any]]:
        """Return texts as they are sent, without the labels of genres that the model does not know.

        The library ignores such labels, because files name genres in many ways; the service would refuse them.
        """
        if not any(body.get("genre") for body in bodies):
            return bodies
        served = self.models()
        chosen = next((one for one in served if one["name"] == model or (model is None and one["default"])), None)
        known = (ALL_GENRES, *(chosen["genres"] if chosen is not None else ()))
        return [
            {**body, "genre": label if (label := genre_of_label(body.get("genre", ""))) in known else ""}
            for body in bodies
        ]

    def _post(self, path: str, body: Mapping[str, Any]) -> Any:
        return self._request("POST", path, {name: value for name, value in body.items() if value is not None})

    def _request(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Return the answer of the service; a busy service is asked again."""
        import httpx

        for attempt in range(self.retries + 1):
            try:
                response = self._http.request(method, path, json=body)
            except httpx.HTTPError as error:
                raise self._unreachable(error) from error
            if response.status_code not in BUSY or attempt == self.retries:
                break
            time.sleep(float(response.headers.get("retry-after", 1)))
        if response.is_success:
            return response.json()
        raise _refused(response)

    def _unreachable(self, error: Exception) -> WeftError:
        return WeftError(
            "cannot reach the service",
            seen=f"{self.url}: {type(error).__name__}",
            allowed="the address of a running service, which answers in time",
            next_step="start one with `weft serve`, or check the address; a longer timeout helps with long texts",
        )


def _address(url: object) -> str:
    """Return the address of a service without a path, which requests add.

    Raises:
        ConfigError: It is not one of HTTP.

    Example:
        >>> _address("http://127.0.0.1:8000/v1/")
        'http://127.0.0.1:8000'
    """
    scheme, _, rest = url.strip().partition("://") if isinstance(url, str) else ("", "", "")
    if scheme.lower() not in ("http", "https") or not rest.strip("/"):
        plain = isinstance(url, str) and "://" not in url and url.strip()
        raise ConfigError(
            "not the address of a service",
            seen=url,
            allowed="http://HOST:PORT or https://HOST",
            next_step=f"did you mean http://{url}?" if plain else "copy the address that `weft serve` shows",
        )
    return f"{scheme.lower()}://{rest}".rstrip("/").removesuffix("/v1").rstrip("/")


def _connection(url: str, api_key: str | None, timeout: float) -> httpx.Client:
    try:
        import httpx
    except ImportError as error:
        raise ConfigError(
            "the client needs a package that is not installed",
            seen="no httpx",
            allowed="the extra `web`",
            next_step="pip install 'weft-coherence[web]'",
        ) from error
    headers = {b"Authorization": f"Bearer {api_key}".encode()} if api_key else {}
    return httpx.Client(base_url=url, headers=headers, timeout=timeout, trust_env=False)


def _labelled_score(score: Score, label: Any) -> Score:
    """Return a score with the label of its text in the index of a Series."""
    assert score.document is not None
    return replace(score, document=replace(score.document, label=label))


def _sent(text: object, name: str) -> dict[str, Any]:
    """Return a text as it is sent."""
    if isinstance(text, str):
        return {"id": name, "text": text}
    document = one_document(text)
    starts = {"paragraph_starts": list(document.paragraph_starts)} if document.sentences else {}
    names = {"id": document.id or name, "title": document.title, "genre": document.genre}
    return {**names, "sentences": list(document.sentences), **starts}


def _sent_decoding(decoding: Decoding | None) -> dict[str, Any]:
    """Return the options of decoding that the service takes."""
    if decoding is None:
        return {}
    options, plain = asdict(decoding), asdict(Decoding(method=decoding.method, beam=decoding.beam))
    for name in NOT_SENT:
        if options.pop(name) != plain[name]:
            raise ConfigError(
                "the service chooses this option of decoding itself",
                seen=name,
                allowed=", ".join(options),
                next_step=f"omit {name}",
            )
    return options


def _refused(response: httpx.Response) -> WeftError:
    """Return the error that the service reports."""
    kind = response.headers.get("content-type", "")
    if not kind.startswith("application/problem+json"):
        return WeftError(
            "the address answers, but not as a service of weft does",
            seen=f"status {response.status_code}",
            allowed="the address of a service that `weft serve` started",
            next_step="check the address",
        )
    problem = response.json()
    next_step = "give the key: weft.Client(url, api_key=KEY)" if response.status_code == 401 else problem["next_step"]
    return WeftError(problem["title"], seen=problem["seen"], allowed=problem["allowed"], next_step=next_step)
