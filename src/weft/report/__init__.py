"""Reports: scores and comparisons in a terminal, tables, plots and pictures."""
