"""Syntax: the dependency parser, its cache, and trees."""
