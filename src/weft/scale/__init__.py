"""Datasets of many files: `score` writes the scores of JSONL and Parquet shards, with several processes or with Ray."""

from weft.scale.score_shards import ScoredShards, score

__all__ = ["ScoredShards", "score"]
