"""The tool that chooses the weights of a reader: its parts make the score of any order, with any weights."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from tests.helpers.tiny_reader import SENTENCES, untrained_reader
from tools import reader_weights

from weft.document import Document
from weft.io.model_folder import load_artifact
from weft.models.reader.reader import Reader

# Without repetition: links of repeated sentences do not depend on the weights.
TEXT = Document(
    "d", ("Bees see colours.", "Honey is sweet.", "Many orchards bloom in May.", "A hive hums.", "Then winter came.")
)


def test_the_weighted_parts_are_the_score_of_an_order() -> None:
    model = untrained_reader()
    size = len(TEXT)
    orders = np.array([list(range(size)), list(reversed(range(size))), np.random.default_rng(1).permutation(size)])
    found = reader_weights.parts(model.tables(TEXT), orders)
    for beside, precedence in ((0.0, 0.1), (0.7, 0.0), (0.4, 1.3)):
        chosen = model.adjusted({"neighbour_weight": beside, "precedence_weight": precedence})
        expected = chosen.order_scores(TEXT, orders.tolist())
        assert found @ [1.0, beside, precedence] == pytest.approx(expected, abs=1e-9)


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    untrained_reader().save(tmp_path / "m")
    lines = [json.dumps({"id": str(n), "sentences": SENTENCES[6 * n : 6 * n + 6]}) for n in range(3)]
    (tmp_path / "valid.jsonl").write_text("\n".join(lines))
    command = ["x", str(tmp_path / "m"), "--data", str(tmp_path / "valid.jsonl"), "--out", str(tmp_path / "w.json")]
    monkeypatch.setattr("sys.argv", command)
    assert reader_weights.main() == 0
    (found,) = json.loads((tmp_path / "w.json").read_text()).values()
    assert all(0 <= one["swaps"] <= 1 for one in found["scores"].values())
    assert all(-1 <= tau <= 1 for tau in found["orders"].values())
    assert "best order" in capsys.readouterr().out


def test_chosen_weights_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = untrained_reader()
    model.save(tmp_path / "m", training={"command": "weft train"})
    command = ["x", str(tmp_path / "m"), "--choose", "neighbour_weight=0.5"]
    monkeypatch.setattr("sys.argv", command)
    assert reader_weights.main() == 0
    expected = model.adjusted({"neighbour_weight": 0.5}).score([TEXT])
    assert Reader.load(tmp_path / "m").score([TEXT]) == expected != model.score([TEXT])
    assert load_artifact(tmp_path / "m").training == {"command": "weft train"}
    monkeypatch.setattr("sys.argv", [*command[:-1], "layers=3"])
    assert reader_weights.main() == 2


def test_the_best_weights_of_several_files_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def result(best: str, order: str) -> dict[str, object]:
        grid = product(reader_weights.ORDER_BESIDE, reader_weights.PRECEDENCE, reader_weights.ORDER)
        names = [reader_weights._names(*one) for one in grid]
        scores = {name: {"swaps": 0.9 if name == best else 0.6, "pairs": 0.9} for name, _ in names}
        return {"scores": scores, "orders": {name: 0.4 if name == order else 0.2 for _, name in names}}

    untrained_reader().save(tmp_path / "m")
    best = "neighbour_weight 0.3 precedence_weight 0.5"
    results = {
        "one": result(best, "neighbour_weight 0.3 order_weight 8"),
        "two": result(best, "neighbour_weight 0 order_weight 2"),
    }
    (tmp_path / "w.json").write_text(json.dumps(results))
    monkeypatch.setattr("sys.argv", ["x", str(tmp_path / "m"), "--best", str(tmp_path / "w.json")])
    assert reader_weights.main() == 0
    settings = Reader.load(tmp_path / "m").settings
    assert (settings.neighbour_weight, settings.precedence_weight, settings.order_weight) == (0.3, 0.5, 8)
