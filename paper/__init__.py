"""The pages on our results: templates written by hand and the code that inserts numbers and tables."""
