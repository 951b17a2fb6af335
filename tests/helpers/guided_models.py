"""Small guided models with random weights, for tests of what guides do."""

from __future__ import annotations

import torch

from weft.corpora.text.tokenizers import Tokenizer
from weft.models.vlv.vlv_gm import VlvGm


def assembled(model: VlvGm, tokenizer: Tokenizer, *, seed: int) -> VlvGm:
    """The model with new networks whose guides do something."""
    torch.manual_seed(seed)
    networks = {part: model.new_network(part, tokenizer) for part in model.parts}
    for network in networks.values():
        for name, parameter in network.named_parameters():
            if "guides" in name:  # they start at zero, where nothing could be seen of them
                torch.nn.init.normal_(parameter)
    return model.assemble(networks, tokenizer)
