"""Evaluation (section 4): one file per task, metrics, results and comparisons."""
