"""The settings of the service: which models it serves, where, and its limits."""

from __future__ import annotations

from dataclasses import dataclass, field

from weft.registry import DEFAULT_MODEL, DEFAULT_WRITER


@dataclass(frozen=True, kw_only=True)
class ServiceSettings:
    """What the service serves and what it allows.

    Attributes:
        models: Names or folders of the models; the first is the default of requests.
        writer: Name or folder of the model that continues texts if a request names none; the default one
            is loaded when it is first used, another one when the service starts.
        device: ``auto``, ``cpu`` or ``cuda``.
        api_key: Key that requests must have; empty for none.
        hosts: Names that requests may use for the service (`*.example.org` for all below a name); empty for any. Asked
            for only without a key: the page of another site can give a name of its own this address (DNS rebinding).
        requests: Number of requests that are answered at a time; further ones get 429.
        body_bytes: Size of the largest body of a request.
        stream_bytes: Size of the largest body of a stream of JSON lines.
        texts: Number of texts of a request.
        sentences: Number of sentences of a text.
        characters: Number of characters of a text.
        tokens: Number of tokens of a text that the model reads; of words, for a model without a tokenizer.
        order_sentences: Number of sentences of a text to order, or to explain, with a model that computes each pair of
            sentences: the time grows with their square.
        reader_order_sentences: The same for a model that reads the sentences in groups, such as ``weft-reader``.
        batch_sentences: Number of sentences in one call of a model.
        queue_texts: Number of texts that may wait for a model; further requests get 429.
        batch_texts: Number of texts in one call of a model.
        batch_wait: Seconds that a text waits for others to share a call of the model with.
        request_seconds: Time after which a request gets 503.
        shutdown_seconds: Time in which requests may finish after the service is asked to stop.

    Example:
        >>> ServiceSettings(models=("foltz-sif",)).default_model
        'foltz-sif'
    """

    models: tuple[str, ...] = (DEFAULT_MODEL,)
    writer: str = DEFAULT_WRITER
    device: str = "auto"
    api_key: str = field(default="", repr=False)
    hosts: tuple[str, ...] = ()
    requests: int = 256
    body_bytes: int = 4 * 2**20
    stream_bytes: int = 256 * 2**20
    texts: int = 256
    sentences: int = 2_000
    characters: int = 1_000_000
    tokens: int = 200_000
    order_sentences: int = 100
    reader_order_sentences: int = 500
    queue_texts: int = 512
    batch_texts: int = 32
    batch_sentences: int = 512
    batch_wait: float = 0.003
    request_seconds: float = 60.0
    shutdown_seconds: float = 30.0

    @property
    def default_model(self) -> str:
        """The model of requests that name none."""
        return self.models[0]
