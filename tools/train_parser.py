"""Train the parser inside weft, in three steps.

    pip install 'weft-coherence[parse]'
    python tools/train_parser.py prepare --data silver.jsonl.xz --out runs/parser
    python tools/train_parser.py train --config configs/parser.cfg --data runs/parser --out runs/parser/model
    python tools/train_parser.py pack --data silver.jsonl.xz --model runs/parser/model/model-best
        --out src/weft/pretrained/parser

``prepare`` writes the parsed sentences as spaCy's binary files, without the 5% that `silver_parses.part_of` holds out.
``train`` calls the functions of ``spacy train`` with numpy's matrix product in place of spaCy's, which halves the time.
``pack`` measures a trained pipeline on the held-out 5%, rounds its weights to float16 and writes weft's folder format.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from weft.corpora.syntax.packed_pipeline import KIND, LABELS, SETTINGS, SPACY, pipeline_weights
from weft.corpora.syntax.parser import find_parser
from weft.errors import ModelError
from weft.io.model_folder import Artifact, save_artifact

sys.path.insert(0, str(Path(__file__).parents[1]))  # a script has only its own folder on the path
from tools.parse_accuracy import parse_accuracy
from tools.silver_parses import DEVELOPMENT, HELD_OUT, TRAINING, SilverSentence, read_silver

if TYPE_CHECKING:
    from spacy.language import Language

VERSION = "1.0.0"  # of the pipeline
COMMANDS = (
    "python tools/train_parser.py prepare --data silver.jsonl.xz --out runs/parser",
    "python tools/train_parser.py train --config configs/parser.cfg --data runs/parser --out runs/parser/model",
    "python tools/train_parser.py pack --data silver.jsonl.xz --model runs/parser/model/model-best"
    " --out src/weft/pretrained/parser",
)


def main() -> None:
    """Run one step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = parser.add_subparsers(dest="step", required=True)
    prepare_step = steps.add_parser("prepare")
    prepare_step.add_argument("--data", type=Path, required=True)
    prepare_step.add_argument("--out", type=Path, required=True)
    train_step = steps.add_parser("train")
    train_step.add_argument("--config", type=Path, required=True)
    train_step.add_argument("--data", type=Path, required=True)
    train_step.add_argument("--out", type=Path, required=True)
    pack_step = steps.add_parser("pack")
    pack_step.add_argument("--data", type=Path, required=True)
    pack_step.add_argument("--model", type=Path, required=True)
    pack_step.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    if options.step == "prepare":
        prepare(options.data, options.out)
    elif options.step == "train":
        train(options.config, options.data, options.out)
    else:
        pack(options.data, options.model, options.out)


def prepare(data: Path, out: Path) -> None:
    """Write ``training.spacy`` and ``development.spacy``."""
    import spacy
    from spacy.tokens import DocBin

    vocabulary = spacy.blank("en").vocab
    bins = {part: DocBin(attrs=["ORTH", "SPACY", "TAG", "HEAD", "DEP"]) for part in (TRAINING, DEVELOPMENT)}
    for sentence in read_silver(data):
        if (part := sentence.part) in bins:
            bins[part].add(to_doc(sentence, vocabulary))
    out.mkdir(parents=True, exist_ok=True)
    for part, docs in bins.items():
        docs.to_disk(out / f"{part}.spacy")
        print(f"{part}: {len(docs)} sentences")


def train(config: Path, data: Path, out: Path) -> None:
    """Train as by ``spacy train``; ``model-best`` has the highest LAS on the development part."""
    import spacy.training.loop
    from spacy.training.initialize import init_nlp
    from spacy.util import load_config
    from thinc.api import NumpyOps, set_current_ops

    set_current_ops(NumpyOps(use_blis=False))
    paths = {"paths.train": str(data / f"{TRAINING}.spacy"), "paths.dev": str(data / f"{DEVELOPMENT}.spacy")}
    nlp = init_nlp(load_config(config, overrides=paths, interpolate=False))
    out.mkdir(parents=True, exist_ok=True)
    spacy.training.loop.train(nlp, out)


def pack(data: Path, model: Path, out: Path) -> None:
    """Write a trained pipeline in weft's folder format, with its accuracy on the held-out sentences."""
    import spacy

    language = spacy.load(model)
    record: dict[str, Any] = {
        "commands": COMMANDS,
        "seed": language.config.interpolate()["training"]["seed"],
        "spacy": spacy.__version__,
        "data": {"file": data.name, "sha256": hashlib.sha256(data.read_bytes()).hexdigest()},
        "development": {name: language.meta["performance"][name] for name in ("tag_acc", "dep_uas", "dep_las")},
    }
    counts: Counter[str] = Counter()
    held_out = []
    for sentence in read_silver(data):
        counts[sentence.part] += 1
        held_out += [sentence] if sentence.part == HELD_OUT else []
    record["sentences"] = dict(counts)
    with tempfile.TemporaryDirectory() as place:
        save_packed(language, Path(place) / "parser", version=VERSION, training={})
        parses = find_parser(str(Path(place) / "parser")).parse([sentence.text for sentence in held_out])
    measures = parse_accuracy([sentence.parse for sentence in held_out], parses)
    record["held_out"] = {name: round(value, 4) for name, value in measures.items()}
    save_packed(language, out, version=VERSION, training=record)
    print(json.dumps(record, indent=2))


def save_packed(language: Language, folder: str | Path, *, version: str, training: Mapping[str, Any]) -> None:
    """Write a trained spaCy pipeline as a model folder: settings, labels and float16 weights.

    Args:
        language: The pipeline.
        folder: The folder to write.
        version: The version of the pipeline.
        training: How it was trained.

    Raises:
        ModelError: A weight is too large for float16.
    """
    settings = language.config.copy()
    settings["paths"] = dict.fromkeys(settings["paths"])  # paths of the training data are not recorded
    labels = {name: language.get_pipe(name).label_data for name in language.pipe_names}
    labels = {name: known for name, known in labels.items() if known}
    artifact = Artifact(
        KIND,
        {"language": language.lang, "spacy": SPACY, "version": version, "pipeline": language.pipe_names},
        tensors={
            f"{part}.{place}.{name}": _halved(f"{part}.{place}.{name}", node.get_param(name))
            for part, place, node, name in pipeline_weights(language)
        },
        texts={SETTINGS: settings.to_str(), LABELS: json.dumps(labels, indent=1, sort_keys=True) + "\n"},
        training=training,
    )
    save_artifact(artifact, folder)


def _halved(name: str, value: npt.NDArray[Any]) -> npt.NDArray[np.float16]:
    with np.errstate(over="ignore"):
        halved = np.asarray(value, dtype=np.float16)
    if not np.isfinite(halved).all():
        raise ModelError(
            "a weight does not fit float16",
            seen=f"{name}: {np.abs(value).max()}",
            allowed=f"up to {np.finfo(np.float16).max}",
            next_step="train with a higher weight decay",
        )
    return halved


def to_doc(sentence: SilverSentence, vocabulary: Any) -> Any:
    """Return a parsed sentence as a spaCy document."""
    from spacy.tokens import Doc

    parse = sentence.parse
    return Doc(
        vocabulary,
        words=list(parse.words),
        spaces=list(sentence.spaces),
        tags=list(parse.tags),
        heads=list(parse.heads),
        deps=list(parse.labels),
    )


if __name__ == "__main__":
    main()
