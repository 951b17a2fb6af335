"""Scoring: uni, bi and MMI once (equations 1-3), over pairs and over sequences, and what a score means."""
