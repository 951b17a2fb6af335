"""Generation: decoding, reranking, and continuing a text."""
