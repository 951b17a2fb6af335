"""What the neural models share: networks, decoding, training parts and model folders. Importing it imports torch."""
