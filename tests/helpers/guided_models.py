"""Small guided models with random weights, for tests of guides."""

from __future__ import annotations

import torch

from weft.corpora.text.tokenizers import Tokenizer
from weft.models.vlv.vlv_gm import VlvGm


def assembled(model: VlvGm, tokenizer: Tokenizer, *, seed: int) -> VlvGm:
    """Return the model with new networks whose guides have random weights."""
    torch.manual_seed(seed)
    networks = {part: model.new_network(part, tokenizer) for part in model.parts}
    for network in networks.values():
        for name, parameter in network.named_parameters():
            if "guides" in name:  # they start at zero, where they have no effect
                torch.nn.init.normal_(parameter)
    return model.assemble(networks, tokenizer)
