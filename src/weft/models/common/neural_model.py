"""What the generative models share: networks by the names of their parts, and their folder on disk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import torch

from weft.corpora.store.pair_batches import PairBatch
from weft.corpora.text.tokenizers import Tokenizer
from weft.document import Document
from weft.io.model_folder import Artifact, load_artifact, save_artifact
from weft.io.quantization import Packed, Weights, pack, unpack
from weft.io.shared_weights import share
from weft.models.common.contrastive_loss import contrast_loss
from weft.models.common.encoder_decoder import Seq2SeqNetwork, Tokens
from weft.models.common.network_parts import (
    TOKENIZER,
    saved_parts,
    saved_reference,
    saved_tokenizer,
    saved_weights,
    weights_do_not_fit,
)
from weft.models.common.setting_checks import rebuild, untrained
from weft.models.common.token_cache import TokenCache
from weft.progress import Progress, silent
from weft.scoring.calibration import REFERENCE, Reference, reference_for
from weft.scoring.pairs import Combine
from weft.training.loop import LossPart


class NeuralModel:
    """A model made of several networks that share a tokenizer.

    A model says what its networks are (`new_network`, `empty_network`), where their batches come from, what their loss
    is, and what it does with trained ones (`take`); this class takes them in, moves, writes and reads them.
    """

    name: ClassVar[str]
    settings: ClassVar[tuple[str, ...]]  # names of the constructor's arguments, which are written to disk
    combine: Combine
    precision: str
    tokenizer: Tokenizer | None = None
    reference: Reference | None = None

    @property
    def setting(self) -> str:
        """What reference scores are of: the way its parts are combined."""
        return self.combine

    def networks(self) -> dict[str, torch.nn.Module]:
        """The trained networks by the names of their parts."""
        raise NotImplementedError

    def empty_network(self, part: str, tokenizer: Tokenizer) -> torch.nn.Module:
        """A network of the right shape, whatever its weights."""
        raise NotImplementedError

    def take(self, part: str, network: torch.nn.Module, ids: TokenCache) -> None:
        """Put a trained network to its use."""
        raise NotImplementedError

    def companions(self) -> dict[str, Artifact]:
        """Return other models that are saved in the same folder, by name; none by default."""
        return {}

    def read_companions(self, artifact: Artifact, folder: str | Path) -> None:
        """Restore what `companions` returned, before the networks are built."""

    def initial_parts(self) -> Mapping[str, str]:
        """Return, by part, the part of `run.start` that it starts from; a part not listed starts from its namesake."""
        return {}

    def built_on(self) -> tuple[str, ...]:
        """Return the model folders named in the settings whose weights are part of this model; none by default."""
        return ()

    def read_texts(self, sentences: Sequence[str], tokenizer: Tokenizer, *, progress: Progress = silent) -> None:
        """Read the training texts; most models need only their tokens."""

    def assemble(self, networks: Mapping[str, torch.nn.Module], tokenizer: Tokenizer) -> Self:
        """Take trained networks in, rounded as they will be saved, so that saving changes no score."""
        for network in networks.values():
            network.load_state_dict(as_tensors(unpack(pack(network.state_dict(), self.precision))))
        return self._take_all(networks, tokenizer)

    def _take_all(self, networks: Mapping[str, torch.nn.Module], tokenizer: Tokenizer) -> Self:
        self.tokenizer, known = tokenizer, TokenCache(tokenizer)
        for part, network in networks.items():
            self.take(part, network, known)
        return self

    def to(self, device: str | torch.device) -> Self:
        """Move the networks to a device."""
        for network in self.networks().values():
            network.to(device)
        return self

    def fit(self, documents: Iterable[Document], *, seed: int = 1, progress: Progress = silent) -> Self:
        """Train all parts on documents, with a BPE vocabulary learned from them; for corpora that fit a short run."""
        from weft.training.fitting import fit_documents

        return fit_documents(self, documents, seed=seed, progress=progress)  # type: ignore[type-var]

    def save(
        self, folder: str | Path, *, training: Mapping[str, Any] | None = None, beside: Sequence[str | Path] = ()
    ) -> None:
        """Write all parts and their tokenizer.

        Args:
            folder: Where.
            training: How the model was made.
            beside: Model folders in the same place; what one of them holds is not written again.
        """
        networks = self.networks()
        if not networks or self.tokenizer is None:
            raise untrained(self.name)
        tensors: Packed = {}
        for part, network in networks.items():
            packed = pack(network.state_dict(), self.precision)
            tensors |= {f"{part}/{name}": value for name, value in packed.items()}
        models = self.companions()
        tensors |= {f"{name}/{key}": value for name, one in models.items() for key, value in one.tensors.items()}
        config = {name: getattr(self, name) for name in self.settings} | {"parts": list(networks)}
        config |= {name: dict(one.config) for name, one in models.items()}
        texts = {TOKENIZER: self.tokenizer.to_text()} | {k: v for one in models.values() for k, v in one.texts.items()}
        if self.reference is not None:
            texts[REFERENCE] = self.reference.to_text()
        save_artifact(share(Artifact(self.name, config, tensors, texts, training or {}), folder, beside), folder)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a folder written by `save`."""
        return cls.from_artifact(load_artifact(folder), folder)

    @classmethod
    def from_artifact(cls, artifact: Artifact, folder: str | Path) -> Self:
        """The model that a folder was found to hold."""
        tokenizer = saved_tokenizer(artifact, folder)
        model = rebuild(cls, artifact, folder, cls.settings)
        model.read_companions(artifact, folder)
        networks = {
            part: _load_network(model, part, tokenizer, artifact, folder) for part in cls.saved_parts(artifact, folder)
        }
        model._take_all(networks, tokenizer)
        model.reference = reference_for(saved_reference(artifact, folder), model.setting)
        return model

    @classmethod
    def saved_parts(cls, artifact: Artifact, folder: str | Path) -> list[str]:
        """The parts a folder holds, in the order they are built."""
        return saved_parts(artifact, folder)


def _load_network(
    model: NeuralModel, part: str, tokenizer: Tokenizer, artifact: Artifact, folder: str | Path
) -> torch.nn.Module:
    with torch.device("meta"):  # no memory and no random numbers for weights that are read anyway
        network = model.empty_network(part, tokenizer)
    try:
        network.load_state_dict(as_tensors(saved_weights(artifact, part)), assign=True)
    except (RuntimeError, ValueError) as error:
        raise weights_do_not_fit(part, folder, error) from error
    return network


def as_tensors(weights: Weights) -> dict[str, torch.Tensor]:
    """Arrays as tensors, without a copy."""
    return {name: torch.from_numpy(value) for name, value in weights.items()}


def moved(values: Any, device: torch.device) -> torch.Tensor:
    """An array on a device."""
    tensor = torch.from_numpy(values)
    # Pinned memory lets the copy overlap with the step before.
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor


def moved_pairs(batch: PairBatch, device: torch.device) -> tuple[Tokens, Tokens, torch.Tensor]:
    """Sources, targets, and which predictions are real, on a device."""
    source = Tokens(moved(batch.source, device), moved(batch.source_lengths, device))
    target = Tokens(moved(batch.target, device), moved(batch.target_lengths, device))
    return source, target, moved(batch.places(), device)


def moved_others(batch: PairBatch, device: torch.device) -> Tokens:
    """The sentences that are contrasted with the sources, on a device."""
    return Tokens(moved(batch.other, device), moved(batch.other_lengths, device))


def contrast_part(
    network: Seq2SeqNetwork,
    sources: tuple[Tokens, Tokens],
    target: Tokens,
    places: torch.Tensor,
    weight: float,
    tokens: int,
    guides: tuple[torch.Tensor, torch.Tensor] | None = None,
) -> LossPart:
    """The loss of a batch with contrast, as the training loop takes it: of so many tokens, both parts beside it."""
    loss = contrast_loss(network, sources, target, places, weight, guides)
    return LossPart(loss.total, tokens, {"likelihood": loss.likelihood, "contrast": loss.contrast})


def no_loss(network: torch.nn.Module) -> torch.Tensor:
    """The loss of a process whose share of a batch is empty: nothing, with gradients of zero."""
    return torch.stack([p.sum() for p in network.parameters() if p.requires_grad]).sum() * 0.0
