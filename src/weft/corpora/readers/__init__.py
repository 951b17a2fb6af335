"""Readers: one module per file format; each turns a file into documents."""
