"""The base of the discriminative models: networks by part, and their model folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import torch

from weft.corpora.text.tokenizers import Tokenizer
from weft.document import Document
from weft.io.model_folder import Artifact, load_artifact
from weft.models.common.network_parts import saved_parts, saved_reference, saved_tokenizer
from weft.models.common.neural.network_folder import load_networks, round_as_saved, save_networks
from weft.models.common.setting_checks import rebuild, restored_settings, untrained
from weft.models.common.token_cache import TokenCache
from weft.progress import Progress, silent
from weft.protocols import ModelCard
from weft.scoring.calibration import Reference, reference_for
from weft.settings import Settings


class NeuralModel:
    """A model made of several networks that share a tokenizer.

    A model says what its networks are (`new_network`, `empty_network`), where their batches come from, what their loss
    is, and what it does with trained ones (`take`); this class takes them in, moves, writes and reads them.
    """

    name: ClassVar[str]
    card: ModelCard
    settings: Any  # a `Settings` object; the names of the constructor's arguments where there is none yet
    tokenizer: Tokenizer | None = None
    reference: Reference | None = None

    @property
    def setting(self) -> str:
        """The setting that reference scores belong to."""
        raise NotImplementedError

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

    def prepare(self) -> None:
        """Load nothing: the settings name no other model."""

    def built_on(self) -> tuple[str, ...]:
        """Return the model folders named in the settings whose weights are part of this model; none by default."""
        return ()

    def read_texts(self, sentences: Iterable[str], tokenizer: Tokenizer, *, progress: Progress = silent) -> None:
        """Read the training texts; most models need only their tokens."""

    def assemble(self, networks: Mapping[str, torch.nn.Module], tokenizer: Tokenizer) -> Self:
        """Take trained networks in, rounded as they will be saved, so that saving changes no score."""
        round_as_saved(networks, self._config()["precision"])
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
        from weft.training.short_runs import fit_documents

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
        save_networks(
            self.name, self._config(), networks, self.tokenizer, folder, companions=self.companions(),
            reference=self.reference, training=training, beside=beside,
        )  # fmt: skip

    def _config(self) -> dict[str, Any]:
        if isinstance(self.settings, Settings):  # all models, once each has its dataclass
            return self.settings.to_dict()
        return {name: vars(self)[name] for name in self.settings}

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a folder written by `save`."""
        return cls.from_artifact(load_artifact(folder), folder)

    @classmethod
    def from_artifact(cls, artifact: Artifact, folder: str | Path) -> Self:
        """The model that a folder was found to hold."""
        tokenizer = saved_tokenizer(artifact, folder)
        kind: Any = cls
        model: Self
        if "Settings" in vars(cls):
            model = kind(restored_settings(kind.Settings, artifact, folder))
        else:
            model = rebuild(cls, artifact, folder, kind.settings)
        model.read_companions(artifact, folder)
        parts = cls.saved_parts(artifact, folder)
        networks = load_networks(parts, lambda part: model.empty_network(part, tokenizer), artifact, folder)
        model._take_all(networks, tokenizer)
        model.reference = reference_for(saved_reference(artifact, folder), model.setting)
        return model

    @classmethod
    def saved_parts(cls, artifact: Artifact, folder: str | Path) -> list[str]:
        """The parts a folder holds, in the order they are built."""
        return saved_parts(artifact, folder)
