"""The generative models of the paper's section 3: they predict a sentence from its neighbours."""
