"""Training: settings, the training loop, checkpoints, devices, and runs from a configuration to a model folder."""
