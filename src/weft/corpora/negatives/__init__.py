"""Negatives: seeded permutations, swaps and replacements of a document."""
