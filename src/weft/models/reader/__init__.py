"""The reader: one encoder over all sentences of a text at once, without their order."""
