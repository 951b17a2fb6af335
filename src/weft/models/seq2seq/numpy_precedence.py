"""The precedence network in numpy: the log-odds of `common.neural.precedence`, without torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from weft.corpora.text.years import first_year
from weft.document import Document
from weft.models.common.precedence_cues import CUES, HEADS, PAIR, number_cues
from weft.models.seq2seq.numpy_layers import Reals, check_shapes, layer_norm, softmax
from weft.models.seq2seq.numpy_predictor import NumpyPredictor
from weft.scoring.uni_bi_mmi import Table


class NumpyPrecedence:
    """A trained network with its encoders, which computes a table of log-odds.

    Raises:
        ValueError: The weights are those of another network.
    """

    def __init__(self, weights: Mapping[str, Reals], predictors: Sequence[NumpyPredictor]) -> None:
        self.weights, self.predictors = weights, predictors
        self.layers = len({name.split(".")[2] for name in weights if name.startswith("among.layers.")})
        features = sum(2 * predictor.network.decoder.hidden for predictor in predictors)
        bias = weights.get("inputs.bias", np.zeros(0, np.float32))  # [width]
        if bias.ndim != 1 or len(bias) % HEADS:
            raise ValueError(f"inputs.bias has the shape {bias.shape}, not ({HEADS} · n,)")
        check_shapes(weights, _shapes(features, len(bias), self.layers))

    def table(self, document: Document) -> Table:
        """Return log-odds that each sentence comes before each other one: [sentences, sentences], antisymmetric."""
        if len(document) < 2:
            return np.zeros((len(document), len(document)))
        vectors = [predictor.starts(document.sentences) for predictor in self.predictors]
        return self._odds(np.concatenate(vectors, axis=1), self._cues(document)).astype(np.float64)

    def _cues(self, document: Document) -> Reals:
        """Return the number cues: [sentences, CUES]."""
        years = np.array([[first_year(sentence) or 0 for sentence in document.sentences]], dtype=np.float32)
        lengths = [len(ids) for ids in self.predictors[0].ids.to_read(document.sentences)]
        cues = number_cues(years, (years > 0).astype(np.float32), np.log(np.array([lengths], dtype=np.float32)))
        stacked: Reals = np.stack(cues, axis=-1)[0]
        return stacked

    def _odds(self, vectors: Reals, cues: Reals) -> Reals:
        """Return log-odds from vectors, [sentences, features], and cues, [sentences, CUES]: [sentences, sentences]."""
        states = self._linear("inputs", self._norm("norm_in", vectors)) + self._linear("cues", cues)
        for layer in range(self.layers):
            states = self._mixed(f"among.layers.{layer}", states)  # [sentences, width]
        states = self._norm("norm", states)
        joint = self._linear("earlier", states) @ self._linear("later", states).T / np.float32(PAIR**0.5)
        joint = joint + self._linear("early", states)  # how early a sentence comes, independent of the others
        odds: Reals = joint - joint.T
        return odds

    def _mixed(self, layer: str, states: Reals) -> Reals:
        """Apply one pre-norm layer of the transformer: [sentences, width] → [sentences, width]."""
        states = states + self._attention(f"{layer}.self_attn", self._norm(f"{layer}.norm1", states))
        wide = np.maximum(self._linear(f"{layer}.linear1", self._norm(f"{layer}.norm2", states)), 0)
        return states + self._linear(f"{layer}.linear2", wide)

    def _attention(self, name: str, states: Reals) -> Reals:
        sentences, width = states.shape
        joint = states @ self.weights[f"{name}.in_proj_weight"].T + self.weights[f"{name}.in_proj_bias"]
        query, key, value = joint.reshape(sentences, 3, HEADS, -1).transpose(1, 2, 0, 3)  # [heads, sentences, size]
        scale = np.float32((width // HEADS) ** -0.5)
        scores: Reals = query @ key.transpose(0, 2, 1) * scale  # [heads, sentences, sentences]
        softmax(scores)
        found = (scores @ value).transpose(1, 0, 2).reshape(sentences, width)
        return self._linear(f"{name}.out_proj", found)

    def _linear(self, name: str, values: Reals) -> Reals:
        found: Reals = values @ self.weights[f"{name}.weight"].T
        return found + self.weights[f"{name}.bias"] if f"{name}.bias" in self.weights else found

    def _norm(self, name: str, values: Reals) -> Reals:
        return layer_norm(values, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])


def _shapes(features: int, width: int, layers: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the weights of a `PrecedenceNetwork`."""
    expected = {
        **_affine("inputs", features, width),
        **_affine("cues", CUES, width),
        "norm_in.weight": (features,),
        "norm_in.bias": (features,),
        "norm.weight": (width,),
        "norm.bias": (width,),
        "earlier.weight": (PAIR, width),
        "later.weight": (PAIR, width),
        "early.weight": (1, width),
    }
    for layer in (f"among.layers.{number}" for number in range(layers)):
        expected |= {f"{layer}.{norm}.{kind}": (width,) for norm in ("norm1", "norm2") for kind in ("weight", "bias")}
        expected |= {f"{layer}.self_attn.in_proj_weight": (3 * width, width)}
        expected |= {f"{layer}.self_attn.in_proj_bias": (3 * width,)}
        expected |= _affine(f"{layer}.self_attn.out_proj", width, width)
        expected |= _affine(f"{layer}.linear1", width, 4 * width) | _affine(f"{layer}.linear2", 4 * width, width)
    return expected


def _affine(name: str, inputs: int, outputs: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}
