"""Generative model 1 (section 3.1): Seq2Seq, and weft-small, the trained model inside the package."""
