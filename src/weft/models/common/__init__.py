"""What several model families share: networks, predictors, the base of neural models, checks of settings."""
