"""Hidden Markov models: syntax (Louis & Nenkova 2012), content (Barzilay & Lee 2004), and rankers over them."""
