"""Ordering (section 4.2.2): the objectives and the searches that put sentences in order."""
