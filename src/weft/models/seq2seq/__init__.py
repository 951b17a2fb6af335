"""Generative model 1 (section 3.1): Seq2Seq."""
