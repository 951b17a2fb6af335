"""Networks, decoding, training parts and model folders of the neural models; its modules import torch."""
