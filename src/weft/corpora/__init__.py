"""Corpora: readers, sentence splitting, tokenizers, negatives, the token store and the parser."""
