"""Causal language models of transformers as coherence models."""
