"""The features of the boosted trees as inputs of a network: one row per sentence of a continuation, scaled."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from weft.evaluation.adversarial.chunks import CONTEXT
from weft.evaluation.adversarial.evaluators.features import Floats, SentenceFeatures, place_features
from weft.evaluation.adversarial.labelled_chunks import LabelledChunks

SurfaceTables = Mapping[tuple[str, str], Floats]  # by side and part: [chunks, sentences of a continuation, features]
SHARES = np.linspace(0, 1, 101)  # quantiles of a feature
FURTHEST = 4.0  # standard deviations at which a feature is cut


def surface_tables(labelled: LabelledChunks, known: SentenceFeatures) -> SurfaceTables:
    """Return features of every sentence of a continuation, twice: as standard scores and as ranks from −1 to 1.

    Both scales are those of the training part. Trees split a feature anywhere; to a network, ranks show differences in
    the dense middle of a feature that standard scores squeeze together.
    """
    sides = {"human": labelled.human, "machine": labelled.machine}
    tables = {
        (side, part): np.stack(
            [place_features(chunks, place, known) for place in range(CONTEXT, chunks.shape[1])], axis=1
        )
        for side, parts in sides.items()
        for part, chunks in parts.items()
    }
    learned = np.concatenate([tables[side, "train"] for side in sides])  # [chunks, sentences, features]
    scale = learned.mean(axis=0), learned.std(axis=0) + 1e-6, np.quantile(learned, SHARES, axis=0)
    return {name: _scaled(table, *scale) for name, table in tables.items()}


def _scaled(table: Floats, mean: Floats, deviation: Floats, quantiles: Floats) -> Floats:
    """Return standard scores and ranks of a table: [chunks, sentences, 2 · features].

    ``mean`` and ``deviation`` are [sentences, features]; ``quantiles`` is [shares, sentences, features].
    """
    scores = np.clip((table - mean) / deviation, -FURTHEST, FURTHEST)
    ranks = np.empty_like(table)
    for place in np.ndindex(table.shape[1:]):
        steps, values = quantiles[:, *place], table[:, *place]
        both = np.searchsorted(steps, values, "left") + np.searchsorted(steps, values, "right")
        ranks[:, *place] = both / len(steps) - 1
    return np.concatenate([scores, ranks], axis=2).astype(np.float32)
