"""Lexical coherence: mean cosine of adjacent sentences (Foltz et al. 1998), with several kinds of sentence vectors."""
