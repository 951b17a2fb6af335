"""weft inside other libraries: spaCy, scikit-learn, and metrics in the style of Hugging Face."""
