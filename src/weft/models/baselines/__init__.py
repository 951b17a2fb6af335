"""The baselines the paper compares with; each a working model here."""
