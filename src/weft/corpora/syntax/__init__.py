"""Syntax: the dependency parser, its cache, and syntax trees."""
