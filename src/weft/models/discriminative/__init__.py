"""Models that learn to tell texts from damaged ones: cliques of sentences, pairs of sentences, cliques over trees."""
