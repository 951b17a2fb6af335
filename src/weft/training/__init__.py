"""Training: settings, the one loop, checkpoints, devices, and runs from a configuration to a model folder."""
