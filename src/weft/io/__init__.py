"""Files: atomic writes, checked model folders, quantised weights, compressed streams, hashes."""
