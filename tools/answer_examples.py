"""Write the answers that /openapi.json shows: what the service answers to the requests that it shows.

    python tools/answer_examples.py     writes src/weft/service/bodies/answer_examples.json

It needs the extras `web` and `train`, and the zoo. Run it when fields of answers or the default model change; a test
compares the fields.
"""

from __future__ import annotations

import json
from typing import Any

from starlette.testclient import TestClient

from weft.io.atomic_files import write_atomically
from weft.registry import DEFAULT_MODEL, DEFAULT_WRITER
from weft.service.app import create_app
from weft.service.bodies.answer_examples import FILE
from weft.service.bodies.wrong_requests import BODIES
from weft.service.settings import ServiceSettings

DIGITS = 4


def answers() -> dict[str, Any]:
    """Return the answer to the example of each path; of a stream, its lines."""
    found: dict[str, Any] = {}
    with TestClient(create_app(ServiceSettings(models=(DEFAULT_MODEL,)))) as client:
        schemas = client.get("/openapi.json").json()["components"]["schemas"]
        for path, body in BODIES.items():
            if path.endswith("score/stream"):
                response = client.post(path, content=b'"Bees visit flowers. They drink nectar."\n')
            else:
                response = client.post(path, json=schemas[body.__name__]["example"])
            response.raise_for_status()
            found[path] = response.text if path.endswith("stream") else rounded(response.json())
        for path in ("/v1/models", "/healthz", "/readyz"):
            found[path] = rounded(client.get(path).json())
    return found


def rounded(value: Any) -> Any:
    """Return an answer with short numbers."""
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    return [rounded(one) for one in value] if isinstance(value, list) else value


def main() -> None:
    """Write the file."""
    with write_atomically(FILE) as handle:
        handle.write(json.dumps(answers(), ensure_ascii=False, indent=1).encode() + b"\n")
    print(f"wrote {FILE} with {DEFAULT_MODEL} and {DEFAULT_WRITER}")


if __name__ == "__main__":
    main()
