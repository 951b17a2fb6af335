"""A report on scored texts as one HTML file, and as PDF."""
