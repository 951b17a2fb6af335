"""What the service answers to the requests in its description; `tools/answer_examples.py` writes the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("answer_examples.json")


def with_answers(paths: dict[str, Any]) -> dict[str, Any]:
    """Add an example of an answer to each operation of a description in OpenAPI that has one, and return the paths."""
    examples = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    for path, example in examples.items():
        for operation in paths[path].values():
            for content in operation["responses"]["200"]["content"].values():
                content["example"] = example
    return paths
