"""Files: written whole or not at all, read with checks; model folders, quantised weights, compressed streams."""
