"""The precedence network: a set network that predicts which of two sentences of a text comes first.

Likelihoods connect sentences of one topic but contain little information about the order of topics. This network reads
all sentences of a text at once, without their order, and returns the log-odds that one precedes another for each pair.
References: Chen et al. 2016 (pairwise order of sentences); Lee et al. 2019 (set transformer). Not in the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from weft.corpora.store.paragraph_batches import ParagraphBatch, ParagraphStream
from weft.corpora.store.token_store import TokenStore
from weft.corpora.text.years import first_year
from weft.document import Document
from weft.errors import ConfigError
from weft.models.common.neural.encoder_decoder import Seq2SeqNetwork, Tokens
from weft.models.common.neural.sentence_predictor import Predictor
from weft.models.common.precedence_cues import CUES, HEADS, PAIR, number_cues
from weft.scoring.uni_bi_mmi import Table
from weft.training.loop import LossPart
from weft.training.part_names import ENCODERS
from weft.training.settings import TrainingSettings


@dataclass(frozen=True, slots=True)
class Bag:
    """Sentences of some texts as the input of the network."""

    vectors: Tensor  # encoder states of each sentence: [texts, longest, features]
    cues: Tensor  # number cues: [texts, longest, CUES]
    real: Tensor  # false after the end of a text: [texts, longest]


class PrecedenceNetwork(nn.Module):
    """A set transformer and an antisymmetric score of every pair.

    Dropout is high, because the vectors, of the size ``features``, are frozen and there are few texts.
    """

    def __init__(self, features: int, width: int = 192, layers: int = 2, dropout: float = 0.3) -> None:
        super().__init__()
        self.norm_in = nn.LayerNorm(features)
        self.inputs = nn.Linear(features, width)
        self.cues = nn.Linear(CUES, width)
        self.dropout = nn.Dropout(dropout)
        layer = nn.TransformerEncoderLayer(width, HEADS, 4 * width, dropout, batch_first=True, norm_first=True)
        self.among = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(width)
        self.earlier = nn.Linear(width, PAIR, bias=False)
        self.later = nn.Linear(width, PAIR, bias=False)
        self.early = nn.Linear(width, 1, bias=False)

    def forward(self, bag: Bag) -> Tensor:
        """Return log-odds that sentence i comes before sentence j: [texts, longest, longest], antisymmetric."""
        mixed = self.inputs(self.dropout(self.norm_in(bag.vectors))) + self.cues(bag.cues)  # [texts, longest, width]
        states = self.norm(self.among(mixed, src_key_padding_mask=~bag.real))  # [texts, longest, width]
        joint = self.earlier(states) @ self.later(states).transpose(1, 2) / PAIR**0.5  # [texts, longest, longest]
        joint = joint + self.early(states)  # how early a sentence comes, independent of the others
        odds: Tensor = joint - joint.transpose(1, 2)
        return odds

    def loss(self, bag: Bag) -> Tensor:
        """Return the summed negative log-likelihood of the order of all pairs; sentences are in reading order."""
        odds = self(bag).float()
        longest = bag.real.shape[1]
        before = torch.ones(longest, longest, dtype=torch.bool, device=odds.device).triu(diagonal=1)  # i < j
        counted = before & bag.real[:, :, None] & bag.real[:, None, :]  # [texts, longest, longest]
        return (functional.softplus(-odds) * counted).sum()


def make_bag(vectors: Tensor, years: Tensor, lengths: Tensor, places: Tensor) -> Bag:
    """Return the sentences of texts as the input of the network.

    Args:
        vectors: Encoder states of each sentence: [sentences, features].
        years: First year in each sentence, 0 for none: [sentences].
        lengths: Number of tokens of each sentence: [sentences].
        places: Numbers of the sentences of each text, −1 after the end: [texts, longest].
    """
    real = places >= 0
    chosen = places.clamp(min=0)  # [texts, longest]
    cues = _cues(years[chosen].float() * real, lengths[chosen].float(), real)
    return Bag(vectors[chosen] * real[:, :, None], cues, real)


def _cues(years: Tensor, lengths: Tensor, real: Tensor) -> Tensor:
    """Return number cues: [texts, longest, CUES]."""
    cues = number_cues(years, (years > 0).float(), lengths.clamp(min=1).log())
    return torch.stack(cues, dim=-1) * real[:, :, None]


def sentence_vectors(networks: Sequence[Seq2SeqNetwork], sentences: Tokens) -> Tensor:
    """Return the decoder start states of all encoders, concatenated: [sentences, 2 · hidden · networks]."""
    with torch.no_grad():
        starts = [network.encode(sentences).start for network in networks]
    return torch.cat([part[0].float() for start in starts if start is not None for part in start], dim=1)


def batch_bag(networks: Sequence[Seq2SeqNetwork], batch: ParagraphBatch, device: torch.device) -> Bag:
    """Return a training batch as input of the network."""
    sentences, lengths, years, places = (
        torch.from_numpy(part).to(device) for part in (batch.sentences, batch.lengths, batch.years, batch.places)
    )
    return make_bag(sentence_vectors(networks, Tokens(sentences, lengths)), years, lengths, places)


class PrecedencePart:
    """The fourth part of a generative model, which reads the states of its ``encoders``."""

    def __init__(self, hidden: int, encoders: Callable[[], Mapping[str, Predictor]]) -> None:
        self.hidden, self.encoders = hidden, encoders
        self.trained: PrecedenceNetwork | None = None

    def new_network(self) -> PrecedenceNetwork:
        """Return an untrained network."""
        return PrecedenceNetwork(4 * self.hidden)  # two states of two encoders

    def batches(self, store: TokenStore, pad: int, settings: TrainingSettings) -> ParagraphStream:
        """Return batches of whole paragraphs."""
        return ParagraphStream(
            store, batch_tokens=settings.batch_tokens, max_tokens=settings.max_tokens, seed=settings.seed, pad=pad
        )

    def loss(self, network: PrecedenceNetwork, batch: ParagraphBatch, device: torch.device) -> LossPart:
        """Return the summed loss of a batch of paragraphs."""
        encoders = [encoder.network for encoder in self.trained_encoders()]
        return LossPart(network.loss(batch_bag(encoders, batch, device)), batch.pairs)

    def foundation(self) -> dict[str, torch.Tensor]:
        """Return the weights of the encoders; with other encoders, the part must be trained again."""
        encoders = self.encoders()
        return {
            f"{name}.{key}": value
            for name in ENCODERS
            if name in encoders
            for key, value in encoders[name].network.state_dict().items()
        }

    def take(self, network: PrecedenceNetwork) -> None:
        """Use a trained network."""
        self.trained_encoders()  # raises now if one is missing
        self.trained = network.eval()

    def trained_encoders(self) -> list[Predictor]:
        """Return both encoders.

        Raises:
            ConfigError: An encoder is not trained yet.
        """
        encoders = self.encoders()
        missing = [part for part in ENCODERS if part not in encoders]
        if missing:
            raise ConfigError(
                "the precedence part needs the trained encoders of other parts",
                seen=f"no trained {' and '.join(missing)}",
                allowed=f"trained {' and '.join(ENCODERS)} parts",
                next_step="train all parts (omit --part), or train those first",
            )
        return [encoders[part] for part in ENCODERS]

    @torch.inference_mode()
    def table(self, document: Document, weight: float) -> Table | None:
        """Return the weighted log-odds that each sentence comes before each other one; None if it is not trained.

        The table is antisymmetric: [sentences, sentences].
        """
        if self.trained is None:
            return None
        if len(document) < 2:
            return np.zeros((len(document), len(document)))
        encoders = self.trained_encoders()
        tokens = encoders[0].tokens(document.sentences)
        years = torch.tensor([first_year(sentence) or 0 for sentence in document.sentences], device=tokens.ids.device)
        places = torch.arange(len(document), device=tokens.ids.device)[None]  # [1, sentences]
        vectors = sentence_vectors([encoder.network for encoder in encoders], tokens)
        odds: Table = self.trained(make_bag(vectors, years, tokens.lengths, places))[0].double().cpu().numpy()
        return weight * odds
