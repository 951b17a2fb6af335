"""The discriminative model of section 2, the recursive model, and a classifier of sentence pairs."""
