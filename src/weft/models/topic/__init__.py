"""Generative model 2 (section 3.2): HMM-LDA and HMM-LDA-GM."""
