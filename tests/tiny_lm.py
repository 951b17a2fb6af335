"""A causal language model of transformers, tiny and random, in a folder: a real one in all but what it knows."""

from __future__ import annotations

from pathlib import Path

WORDS = (
    "The cat chased a mouse through the garden. The mouse hid under an old tree. In 1929 the market fell sharply.",
    "Banks closed and investors lost their money. By 1933 the market had begun to recover. Cats like to sleep.",
)
POSITIONS = 512


def tiny_lm(folder: Path, *, positions: int = POSITIONS) -> Path:
    """Write it, as `save_pretrained` does; the same each time."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, initial_alphabet=sorted(alphabet), special_tokens=["<|endoftext|>"], show_progress=False
    )
    tokenizer.train_from_iterator(WORDS, trainer)
    whole = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|endoftext|>")
    with torch.random.fork_rng():
        torch.manual_seed(1)
        config = LlamaConfig(
            vocab_size=len(whole), hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
            num_key_value_heads=1, max_position_embeddings=positions, initializer_range=0.5, eos_token_id=0,
        )  # fmt: skip
        LlamaForCausalLM(config).save_pretrained(folder)
    whole.save_pretrained(folder)
    return folder
