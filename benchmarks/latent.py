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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from weft.corpora.data_folder import find_data
from weft.corpora.negatives.permute import permutations
from weft.corpora.negatives.permuted_document import PermutedDocument
from weft.corpora.readers.jsonl import read_jsonl
from weft.corpora.store.token_store import TokenStore
from weft.evaluation.discrimination import discriminate
from weft.evaluation.metrics import bootstrap_interval, paired_bootstrap, ratio
from weft.evaluation.result import Measure
from weft.hub import model_folder
from weft.io.atomic_files import write_atomically
from weft.models.common.neural.batch_tensors import to_device
from weft.models.common.neural.encoder_decoder import Tokens
from weft.models.vlv.chain_predictor import VariationalPredictor
from weft.models.vlv.latent_chain import ChainStep, divergence
from weft.models.vlv.network import Texts, VariationalNetwork
from weft.models.vlv.vlv_gm import VlvGm
from weft.scoring.sequence_scorer import order_cache
from weft.training.devices import start_runtime
from weft.training.part_names import ENCODERS
from weft.training.settings import TrainingSettings
from weft.version import VERSION

# A dimension counts as used if the shift of the mean of z by its sentence, in standard deviations of the prior, has a
# higher variance over sentences (Burda et al. 2016). They use the mean itself: their prior is the same for all texts.
ACTIVE = 0.01


@dataclass(frozen=True, slots=True)
class LatentUse:
    """The use of the latent variables of a chain.

    Attributes:
        sentences: Number of sentences.
        divergence: Mean KL of posterior and prior, nats per sentence; near 0 if the posterior has collapsed.
        active: Share of dimensions whose posterior mean depends on the sentence.
        loss: Mean −log p(s_n | z_n, s_{n−1}) per sentence, with z_n at the posterior mean.
        shuffled_loss: The same loss with the z of another sentence; higher if the decoder uses z.
    """

    sentences: int
    divergence: float
    active: float
    loss: float
    shuffled_loss: float


@torch.inference_mode()
def latent_use(network: VariationalNetwork, batches: Iterable[Texts], *, seed: int = 1) -> LatentUse:
    """Return the use of latent variables in a trained chain.

    Args:
        network: The chain.
        batches: Texts that were not in the training data.
        seed: Seed of the shuffle.
    """
    network.eval()
    generator = torch.Generator().manual_seed(seed)
    count, nats, loss, shuffled = 0, 0.0, 0.0, 0.0
    shifts = []
    for texts in batches:
        memory, vectors = network.read(texts.sentences)
        steps = network.walk(vectors, texts.places, vectors.new_zeros(1, 1, 1).expand(texts.places.shape[1], -1, -1))
        real = texts.real.T  # [longest − 1, texts]
        latent = torch.stack([step.latent for step in steps])[real]  # [predicted, latent]
        nats += float(torch.stack([divergence(step.posterior, step.prior) for step in steps])[real].sum())
        targets, sources = texts.places[:, 1:].T[real], texts.places[:, :-1].T[real]
        others = latent[torch.randperm(len(latent), generator=generator).to(latent.device)]
        loss += float(network.word_loss(memory, texts.sentences, sources, targets, latent))
        shuffled += float(network.word_loss(memory, texts.sentences, sources, targets, others))
        count += len(targets)
        shifts.append(torch.stack([_shift(step) for step in steps])[real])
    spread = torch.cat(shifts).var(dim=0)  # [latent]
    active = float((spread > ACTIVE).float().mean())
    return LatentUse(count, nats / count, active, loss / count, shuffled / count)


def _shift(step: ChainStep) -> Tensor:
    """Return the shift of the mean of z by its sentence, in standard deviations of the prior: [rows, latent]."""
    return (step.posterior.mean - step.prior.mean) * (-step.prior.log_std).exp()


class MisguidedPredictor(VariationalPredictor):
    """A chain in which each sentence has the z of another sentence of its text.

    Args:
        predictor: The chain.
        whole: Whether the density of z changes too; otherwise only decoding uses the other z.
    """

    def __init__(self, predictor: VariationalPredictor, *, whole: bool) -> None:
        super().__init__(predictor.network, predictor.ids, predictor.estimate)
        self.whole = whole

    def sampled(self, steps: Sequence[ChainStep]) -> tuple[Tensor, Tensor]:
        """Return latent variables, shifted by a random number of places in each order, and their log-densities."""
        latent, densities = super().sampled(steps)  # [steps, rows, latent], [steps, rows]
        count, samples = len(steps), self.estimate.samples
        if count < 2:
            return latent, densities
        orders = latent.shape[1] // samples
        shifts = np.random.default_rng([self.estimate.seed, count]).integers(1, count, orders).repeat(samples)  # [rows]
        taken = torch.from_numpy((np.arange(count)[:, None] + shifts) % count).to(latent.device)  # [steps, rows]
        others = latent.gather(0, taken[:, :, None].expand_as(latent))
        if not self.whole:
            return others, densities
        drawn = torch.stack([step.proposal.log_prob(step.latent) for step in steps]).gather(0, taken)  # [steps, rows]
        return others, torch.stack([step.prior.log_prob(z) for step, z in zip(steps, others, strict=True)]) - drawn


def with_shuffled_latents(model: VlvGm, *, whole: bool = False) -> VlvGm:
    """Return a model in which each sentence has the z of another; its loss in accuracy is due to z.

    Args:
        model: The trained model.
        whole: Whether the density of z changes too; otherwise only decoding uses the other z.
    """
    other = model.adjusted({})
    other.memory = order_cache()  # scores of the original model do not apply
    other.predictors = {
        part: MisguidedPredictor(one, whole=whole) if isinstance(one, VariationalPredictor) else one
        for part, one in model.predictors.items()
    }
    return other


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
    texts = islice(read_jsonl(path), count)
    documents = [PermutedDocument(text, permutations(text, seed=seed)) for text in texts]
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
            part: asdict(
                latent_use(model.predictors[part].network, held_out(model, part, store, options.texts, runtime.device))
            )
            for part in ENCODERS
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
