"""The token store: a corpus as token ids on disk, and the training batches read from it."""
