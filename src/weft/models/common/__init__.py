"""Code shared by several model families; code that needs torch is in `neural`."""
