"""Scoring: uni, bi and MMI (equations 1 to 3) over pairs and over sequences, and calibration of scores."""
