"""Text: sentences, words, tokens and years."""
