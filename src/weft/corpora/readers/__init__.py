"""Readers: one module per file format, each from a file to documents."""
