"""A tiny causal language model of transformers with random weights, as a folder or a GGUF file."""

from __future__ import annotations

import json
from pathlib import Path

WORDS = (
    "The cat chased a mouse through the garden. The mouse hid under an old tree. In 1929 the market fell sharply.",
    "Banks closed and investors lost their money. By 1933 the market had begun to recover. Cats like to sleep.",
)
POSITIONS = 512


def tiny_lm(folder: Path, *, positions: int = POSITIONS) -> Path:
    """Write the model with `save_pretrained`; its weights are the same each time."""
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


def trained_lm(folder: Path, *, positions: int = POSITIONS, steps: int = 120) -> Path:
    """Write the model after a short training on `WORDS`, so that it writes sentences; about two seconds."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tiny_lm(folder, positions=positions)
    network, tokenizer = AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    sentences = [f"{sentence.rstrip('.')}." for text in WORDS for sentence in text.split(". ")]
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
    with torch.random.fork_rng():
        torch.manual_seed(1)
        for _ in range(steps):
            order = torch.randperm(len(sentences)).tolist()
            ids = tokenizer("<|endoftext|>" + " ".join(sentences[place] for place in order))["input_ids"]
            given = torch.tensor([ids[:positions]])
            loss = network(input_ids=given, labels=given).loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    network.eval().save_pretrained(folder)
    return folder


def tiny_gguf(folder: Path, file: Path) -> Path:
    """Write the same model as one GGUF file without quantisation."""
    import gguf
    import numpy as np
    from safetensors.numpy import load_file

    config = json.loads((folder / "config.json").read_text())
    vocabulary = json.loads((folder / "tokenizer.json").read_text())["model"]
    heads, shared = config["num_attention_heads"], config["num_key_value_heads"]
    writer = gguf.GGUFWriter(file, "llama")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(shared)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(10000.0)
    writer.add_rope_dimension_count(config["hidden_size"] // heads)
    writer.add_vocab_size(config["vocab_size"])
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(sorted(vocabulary["vocab"], key=vocabulary["vocab"].get))
    writer.add_token_types([3] + [1] * (config["vocab_size"] - 1))  # the first is special
    writer.add_token_merges([" ".join(merge) for merge in vocabulary["merges"]])
    writer.add_eos_token_id(0)
    writer.add_bos_token_id(0)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config["num_hidden_layers"])
    for name, value in load_file(folder / "model.safetensors").items():
        for part, count in (("q_proj", heads), ("k_proj", shared)):  # the format keeps halves of rotations together
            if part in name:
                value = value.reshape(count, 2, -1, value.shape[1]).swapaxes(1, 2).reshape(value.shape)
        writer.add_tensor(names.get_name(name, (".weight",)), np.ascontiguousarray(value, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file
