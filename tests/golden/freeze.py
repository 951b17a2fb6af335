"""Golden values: scores, orders, results and trained weights that must not change.

    python -m tests.golden.freeze              compute all of them and write the JSON files of this folder
    python -m tests.golden.freeze zoo/vlv-gm   only those of this key

The changelog gives the reason for every value that changes.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from weft.corpora.readers.formats import read_documents
from weft.document import Document
from weft.evaluation.evaluate import evaluate
from weft.evaluation.task_contract import EvaluateOptions, Subject
from weft.hub import load_model
from weft.io.model_folder import load_artifact
from weft.ordering.order import order_document
from weft.training.config import build_config
from weft.training.runs import train

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TEXTS = HERE / "texts.jsonl"
EXAMPLES = ROOT / "examples"
DIGITS = 10  # significant digits that are kept

BUILT_IN = ("foltz-glove", "foltz-sif", "foltz-embedding", "entity-graph", "weft-reader", "random", "year-sort")
ZOO = tuple(sorted(path.parent.name for path in (ROOT / "zoo").glob("*/model.json")))
SHOWN = ("foltz-sif", "foltz-glove", "weft-reader")  # models whose numbers stand in the README and the docs
WITH_MEMORY = ("hmm-lda-gm", "vlv-gm")  # their search takes seconds, so that only MMI orders
COMBINED = ("seq2seq", "hmm-lda-gm", "vlv-gm", "weft-small")

Values = dict[str, Any]


def texts() -> list[Document]:
    """Return the golden texts, which are part of this repository."""
    return list(read_documents(TEXTS))


def built(name: str) -> Any:
    """Return a model of the zoo or a built-in one."""
    return load_model(ROOT / "zoo" / name if name in ZOO else name)


# Scores and orders ----------------------------------------------------------------------------------------------------


def model_values(name: str) -> Values:
    """Return the scores of all texts and the order of the second one, for each way of combining the parts."""
    model = built(name)
    if name not in COMBINED:
        return {"": _values_of(model)}
    by_way = {way: model.combined(way) for way in ("uni", "bi", "mmi")}
    if name in WITH_MEMORY:
        return {way: _scores_of(one) for way, one in by_way.items()} | {"mmi": _values_of(by_way["mmi"])}
    return {way: _values_of(one) for way, one in by_way.items()}


def _values_of(model: Any) -> Values:
    found = order_document(model, texts()[1], first=None, seed=1)
    return {**_scores_of(model), "order": list(found.order), "order_value": _rounded(found.value)}


def _scores_of(model: Any) -> Values:
    scores = model.score(texts())
    return {
        "scores": [_rounded(score.value) for score in scores],
        "transitions": [[_rounded(value) for value in score.transitions] for score in scores[:2]],
    }


def example_values(name: str) -> Values:
    """Return the score of the essay and the order of the shuffled text in `examples/`."""
    model = built(name)
    (essay,), (shuffled,) = (list(read_documents(EXAMPLES / file)) for file in ("essay.txt", "shuffled.txt"))
    (score,) = model.score([essay])
    found = order_document(model, shuffled)
    return {
        "score": _rounded(score.value),
        "transitions": [_rounded(value) for value in score.transitions],
        "order": list(found.order),
        "found_by": [found.search, found.objective],
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{DIGITS}g}")


# Results --------------------------------------------------------------------------------------------------------------

RESULT_TASKS = {
    "accidents": "foltz-sif",
    "earthquakes": "foltz-glove",
    "wikipedia-pairs": "weft-reader",
    "wikipedia-pairs-inner": "foltz-sif",
    "wikipedia-swaps": "foltz-sif",
    "wikipedia-order": "weft-reader",
    "wikipedia-insertion": "foltz-sif",
    "miniatures": "weft-reader",
    "probes": "foltz-sif",
}


def result_values(task: str) -> Values:
    """Return the result of a task, on the golden texts or on the pairs inside the package."""
    name = RESULT_TASKS[task]
    data = None if task in {"miniatures", "probes"} else str(TEXTS)
    result = evaluate(task, Subject(load_model(name), name), data)
    return _result_values(result)


def _result_values(result: Any) -> Values:
    return {
        "metrics": {key: _rounded(value) for key, value in result.metrics.items()},
        "interval": {
            key: None if ends is None else [_rounded(end) for end in ends] for key, ends in result.interval.items()
        },
        "counts": [result.n_documents, result.n_pairs, result.ties, result.n_excluded],
        "negatives": result.negatives_sha256,
    }


WORDS = "cat dog fox hen owl sun sea sky oak elm red blue old new big sat ran saw had was".split()


def write_pages(path: Path, count: int = 40) -> Path:
    """Write pages of random words for a tiny adversarial evaluation."""
    generator = np.random.default_rng(5)
    with path.open("w", encoding="utf-8") as file:
        for page in range(count):
            sizes = generator.integers(3, 7, 18)
            sentences = [f"{' '.join(generator.choice(WORDS, size))} p{page}." for size in sizes]
            file.write(json.dumps({"id": f"page-{page}", "paragraphs": [sentences[:9], sentences[9:]]}) + "\n")
    return path


def adversarial_values(place: Path) -> Values:
    """Return the results of a whole adversarial evaluation of a small trained model."""
    model = train_ten("seq2seq", place)
    data = write_pages(place / "pages.jsonl")
    evaluator = {
        "reader": str(place / "seq2seq"), "hidden": 8, "width": 8, "pairs": 16, "epochs": 2, "dropout": 0.0,
        "second": False, "informed": False, "seeds": 1,
    }  # fmt: skip
    decoding = {"method": "sample", "beam": 3, "top_k": 50, "top_p": 0.9, "min_tokens": 2, "max_tokens": 12, "draws": 3}
    settings = {f"decoding.{name}": value for name, value in decoding.items()}
    settings |= {f"evaluator.{name}": value for name, value in evaluator.items()}
    options = EvaluateOptions(limit=5, settings=settings, work=place / "work")
    found = {}
    for way in ("uni", "mmi"):
        subject = Subject(model.combined(way), "seq2seq", way, {"combine": way})
        found[way] = _result_values(evaluate("adversarial", subject, str(data), options))
    return found


# Training -------------------------------------------------------------------------------------------------------------

SMALL: Mapping[str, Mapping[str, Any]] = {
    "seq2seq": {"dimensions": 16, "hidden": 16, "layers": 1, "contrast": 0.5, "precedence": True, "combine": "mmi"},
    "hmm-lda-gm": {"dimensions": 16, "hidden": 16, "layers": 1, "guide": 4},
    "vlv-gm": {"dimensions": 16, "hidden": 16, "layers": 1, "latent": 4, "width": 16, "samples": 2, "contrast": 0.5},
    "discriminative": {"dimensions": 16, "hidden": 16, "width": 16},
    "discriminative-pair": {"dimensions": 16, "hidden": 16, "width": 16},
    "recursive": {"dimensions": 16, "hidden": 16, "width": 16},
}
TOPICS: Mapping[str, Any] = {"topics": 3, "iterations": 5, "drop_top": 0, "rarest": 1, "prior_words": 1.0}


def write_corpus(path: Path) -> Path:
    """Write forty documents, each with sentences of two golden texts."""
    sentences = [document.sentences for document in texts()[:5]]
    with path.open("w", encoding="utf-8") as file:
        for number in range(40):
            one, other = sentences[number % 5], sentences[(number // 5) % 5]
            start = number % 3
            file.write(json.dumps({"id": f"c{number}", "sentences": [*one[start:], *other[:start]]}) + "\n")
    return path


def train_ten(name: str, place: Path) -> Any:
    """Return a model after ten steps of every part, trained as by `weft train`; its folder is ``place / name``."""
    data = {"train": [str(write_corpus(place / "corpus.jsonl"))], "vocabulary": 400}
    settings = dict(SMALL[name])
    if name == "hmm-lda-gm":
        _train("hmm-lda", TOPICS, {"train": data["train"]}, place, {})
        settings["topics"] = str(place / "hmm-lda")
    steps = {"steps": 10, "warmup": 2, "batch_tokens": 200, "validate_every": 0}
    return _train(name, {**settings, "precision": "float32"}, data, place, steps)


def _train(
    name: str, settings: Mapping[str, Any], data: Mapping[str, Any], place: Path, training: Mapping[str, Any]
) -> Any:
    content = {
        "model": {"name": name, **settings},
        "data": data,
        "run": {"out": str(place / name), "device": "cpu", "seed": 3},
    }
    return train(build_config({**content, **({"training": training} if training else {})}, to_run=True))


def training_values(name: str, place: Path) -> Values:
    """Return the size, the sum, the sum of magnitudes and the first values of every tensor after ten steps."""
    train_ten(name, place)
    tensors = load_artifact(place / name).tensors
    return {key: _summary(tensors[key].astype(np.float64)) for key in sorted(tensors)}


def _summary(values: Any) -> list[float | None]:
    flat = values.ravel()
    return [float(flat.size), *(_rounded(float(one)) for one in (flat.sum(), np.abs(flat).sum(), *flat[:3]))]


# All of them ----------------------------------------------------------------------------------------------------------


def frozen() -> Iterator[tuple[str, str, Callable[[], Values]]]:
    """Yield (file, key, function that computes it) of every golden value."""
    for name in BUILT_IN:
        yield "models.json", name, partial(model_values, name)
    for name in ZOO:
        yield "models.json", f"zoo/{name}", partial(model_values, name)
    for name in SHOWN:
        yield "examples.json", name, partial(example_values, name)
    for task in RESULT_TASKS:
        yield "results.json", task, partial(result_values, task)
    yield "results.json", "adversarial", partial(_in_folder, adversarial_values)
    for name in SMALL:
        yield "training.json", name, partial(_in_folder, partial(training_values, name))


def _in_folder(compute: Callable[[Path], Values]) -> Values:
    with tempfile.TemporaryDirectory() as place:
        return compute(Path(place))


def main(wanted: Sequence[str]) -> None:
    """Write all golden values, or those of the wanted keys."""
    for file, key, compute in frozen():
        if wanted and key not in wanted:
            continue
        path = HERE / file
        known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        known[key] = compute()
        path.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        sys.stderr.write(f"{file} {key}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
