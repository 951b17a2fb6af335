"""Datasets of many files: `score` writes the scores of JSONL and Parquet shards, with several processes or with Ray.

`score_dataset` adds scores to a dataset of Ray Data.
"""

from weft.scale.ray_dataset import score_dataset
from weft.scale.score_shards import ScoredShards, score

__all__ = ["ScoredShards", "score", "score_dataset"]
