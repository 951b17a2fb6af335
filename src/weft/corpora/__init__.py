"""Where documents come from: readers, sentence splitting, tokenizers, the token store and corruption."""
