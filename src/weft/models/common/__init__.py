"""Code shared by several model families; what needs torch is in `neural`."""
