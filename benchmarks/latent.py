"""Use of the latent variables of a trained vlv-gm: KL divergence, active dimensions, loss and accuracy with wrong z.

    python benchmarks/latent.py --model zoo/vlv-gm --store stores/dev [--data wikipedia/valid.paragraphs.jsonl]
        [--texts 2000] [--documents 300] [--device auto] [--seed 1] [--out results/benchmarks/latent.json]

On texts of the store, for both directions: KL divergence of posterior and prior per sentence, the share of dimensions
whose mean depends on the sentence, and the loss per sentence with its own z and with that of another sentence. On the
paragraphs of --data: how often a paragraph scores higher than its 20 permutations by uni, bi and MMI; the same when
every sentence is decoded with the z of another one; and the same when z is exchanged in the prior, too.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

from weft.corpora.data_folder import find_data
from weft.corpora.negatives.permute import permute_documents
from weft.corpora.readers.jsonl import read_jsonl
from weft.corpora.store.token_store import TokenStore
from weft.evaluation.discrimination import discriminate
from weft.evaluation.metrics import bootstrap_interval, paired_bootstrap, ratio
from weft.evaluation.result import Measure
from weft.hub import model_folder
from weft.io.atomic_files import write_atomically
from weft.models.common.neural.batch_tensors import to_device
from weft.models.common.neural.encoder_decoder import Tokens
from weft.models.vlv.diagnostics import latent_use, with_shuffled_latents
from weft.models.vlv.network import Texts
from weft.models.vlv.vlv_gm import VlvGm
from weft.training.devices import start_runtime
from weft.training.settings import TrainingSettings
from weft.version import VERSION


def held_out(model: VlvGm, part: str, store: TokenStore, count: int, device: Any) -> Iterator[Texts]:
    """Yield texts of a store in the form that one direction reads."""
    settings = TrainingSettings(steps=1, batch_tokens=8000, seed=0)
    stream = model.training_batches(part, store, store.tokenizer().pad_id, settings)
    seen = 0
    for planned in stream.epoch(0):
        if seen >= count:
            return
        batch = stream.batch(planned)
        sentences = Tokens(to_device(batch.sentences, device), to_device(batch.lengths, device))
        yield Texts(sentences, to_device(batch.places, device))
        seen += len(batch)


def preferences(model: VlvGm, path: Path, count: int, seed: int) -> dict[str, Any]:
    """Return the accuracies on permutations with z and with the z of other sentences."""
    documents = list(permute_documents(list(islice(read_jsonl(path), count)), seed=seed))
    report: dict[str, Any] = {"data": path.name, "documents": len(documents), "seed": seed}
    for combine in ("uni", "bi", "mmi"):
        chosen = model.combined(combine)
        plain = discriminate(chosen, documents).measures["accuracy"]
        report[combine] = with_interval(plain, seed)
        for name, whole in (("decoded_with_others", False), ("exchanged", True)):
            found = discriminate(with_shuffled_latents(chosen, whole=whole), documents).measures["accuracy"]
            fall = paired_bootstrap(plain.numerators, found.numerators, plain.denominators, seed=seed)
            report[combine][name] = {**with_interval(found, seed), "fall": asdict(fall)}
    return report


def with_interval(measure: Measure, seed: int) -> dict[str, Any]:
    """Return an accuracy and its interval."""
    counts = measure.numerators, measure.denominators
    return {"accuracy": ratio(*counts), "interval": bootstrap_interval(*counts, seed=seed)}


def main() -> int:
    """Measure, print the results and write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="vlv-gm", help="name or folder of a trained vlv-gm")
    parser.add_argument("--store", type=Path, required=True, help="store of held-out text, written by `weft prepare`")
    parser.add_argument(
        "--data", default="wikipedia/valid.paragraphs.jsonl", help="paragraphs to compare with their permutations"
    )
    parser.add_argument("--data-root")
    parser.add_argument("--texts", type=int, default=2000)
    parser.add_argument("--documents", type=int, default=300)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("results/benchmarks/latent.json"))
    options = parser.parse_args()
    store = TokenStore(options.store)
    with start_runtime(options.device) as runtime:
        model = VlvGm.load(model_folder(options.model)).to(runtime.device)
        use = {
            part: asdict(latent_use(chain.network, held_out(model, part, store, options.texts, runtime.device)))
            for part, chain in model.predictors.items()
        }
        path = find_data(options.data, options.data_root)
        pairs = preferences(model, path, options.documents, options.seed)
    report = {
        "benchmark": "latent", "model": options.model, "estimator": model.estimate.name,
        "weft": VERSION, "texts": use, "pairs": pairs,
    }  # fmt: skip
    with write_atomically(options.out) as handle:
        handle.write((json.dumps(report, indent=1) + "\n").encode())
    print(json.dumps(report, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
