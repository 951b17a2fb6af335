"""What the service counts, in the format of Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
SIZES = (1, 2, 4, 8, 16, 32, 64)


class Metrics:
    """The counters of one service; a service of its own in each test has counters of its own.

    Example:
        >>> metrics = Metrics()
        >>> metrics.scored(3, 45, 0.2)
        >>> b"weft_scored_texts_total 3.0" in metrics.text()
        True
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "weft_requests_total", "Requests answered.", ["route", "method", "status"], registry=self.registry
        )
        self.seconds = Histogram(
            "weft_request_seconds", "Time to answer a request.", ["route"], buckets=SECONDS, registry=self.registry
        )
        self.running = Gauge("weft_requests_in_progress", "Requests being answered.", registry=self.registry)
        self.queue = Gauge("weft_queue_texts", "Texts that wait for their score.", registry=self.registry)
        self.batches = Histogram(
            "weft_batch_texts", "Texts scored in one call of a model.", buckets=SIZES, registry=self.registry
        )
        self.model_seconds = Counter(
            "weft_model_seconds_total", "Time in calls of models that score.", registry=self.registry
        )
        self.texts = Counter("weft_scored_texts_total", "Texts scored.", registry=self.registry)
        self.sentences = Counter("weft_scored_sentences_total", "Sentences scored.", registry=self.registry)

    def scored(self, texts: int, sentences: int, seconds: float) -> None:
        """Count a call of a model."""
        self.batches.observe(texts)
        self.model_seconds.inc(seconds)
        self.texts.inc(texts)
        self.sentences.inc(sentences)

    def text(self) -> bytes:
        """Return all counters in the text format of Prometheus."""
        return generate_latest(self.registry)
