"""The token store: text as ids on disk, and the training batches read from it."""
