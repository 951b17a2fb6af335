"""Generative model 3 (section 3.3): VLV-GM, a Markov chain of latent sentence variables."""
