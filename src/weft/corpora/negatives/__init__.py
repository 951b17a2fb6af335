"""Negatives for evaluation and rankers: seeded permutations, swaps and replacements of a document.

The damaged cliques that the discriminative models learn from are in `weft.models.discriminative.clique_windows`.
"""
