"""The pages on our results: templates written by hand, and the code that fills in numbers and tables from `results/`."""
