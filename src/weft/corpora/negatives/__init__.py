"""Negatives of a document: seeded permutations, swaps and replacements."""
