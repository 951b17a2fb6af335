"""Trained models for weft. The package holds model folders and no code; `weft.hub` finds them without importing it."""
