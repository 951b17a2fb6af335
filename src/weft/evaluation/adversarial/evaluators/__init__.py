"""Evaluators: classifiers that tell human continuations from those of a machine."""
