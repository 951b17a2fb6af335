"""Small safeguards that a reviewer removed without a test noticing: each is held here."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.helpers.scorers import synthetic

from weft.cli.evaluating import write_result
from weft.cli.output import write_scores
from weft.corpora.readers.formats import ReadOptions
from weft.document import Document
from weft.errors import ConfigError, ModelError, WeftError
from weft.evaluation.evaluate import Subject, evaluate
from weft.evaluation.result import Result
from weft.evaluation.subjects import load_subjects
from weft.io.atomic_files import write_atomically
from weft.io.model_folder import Artifact, load_artifact, save_artifact
from weft.loaded_model import Model
from weft.models.common.network_parts import saved_weights
from weft.models.common.neural.encoder_decoder import Architecture, Seq2SeqNetwork
from weft.models.seq2seq.seq2seq import Seq2Seq
from weft.models.seq2seq.weft_small import EMBEDDED
from weft.registry import create_model
from weft.report.tables import Cell, Column, RenderedTable, load_results, render

# Model folders ----------------------------------------------------------------------------------------------------


def test_a_failed_swap_puts_the_old_model_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "model"
    save_artifact(Artifact("random", {"seed": 1}), target)
    rename = os.replace

    def fails_once(source: str | Path, destination: str | Path) -> None:
        if Path(destination) == target and not str(source).endswith(".old"):
            raise OSError(5, "Input/output error")
        rename(source, destination)

    monkeypatch.setattr(os, "replace", fails_once)
    with pytest.raises((OSError, WeftError)):
        save_artifact(Artifact("random", {"seed": 2}), target)
    monkeypatch.undo()
    assert load_artifact(target).config == {"seed": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@pytest.fixture(params=[0o022, 0o027, 0o077])
def mask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@pytest.mark.skipif(os.name == "nt", reason="no permission bits here")
def test_files_get_the_permissions_the_user_asked_for(tmp_path: Path, mask: int) -> None:
    with write_atomically(tmp_path / "a.txt") as handle:
        handle.write(b"a")
    assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o666 & ~mask
    save_artifact(Artifact("random", {}, texts={"v.txt": "a"}), tmp_path / "model")
    assert (tmp_path / "model").stat().st_mode & 0o777 == 0o777 & ~mask
    for path in (tmp_path / "model").iterdir():
        assert path.stat().st_mode & 0o777 == 0o666 & ~mask


@pytest.mark.skipif(os.name == "nt", reason="a backslash is no part of a name here")
@pytest.mark.parametrize("name", ["a\\b.txt", "..\\secret.txt", "\\"])
def test_names_with_a_backslash_are_refused(tmp_path: Path, name: str) -> None:
    """On Windows they would lead out of the folder; the manifest is otherwise in order, hashes included."""
    save_artifact(Artifact("random", {}, texts={name: "a"}), tmp_path / "model")
    with pytest.raises(ModelError, match="not a file name inside the folder"):
        load_artifact(tmp_path / "model")


# Output -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["../evil", "a/b", "..", ".hidden", "a\\b", "/etc/evil"])
def test_a_variant_never_leaves_the_results_folder(variant: str) -> None:
    with pytest.raises(ConfigError, match="part of a file name"):
        load_subjects("pairs", "random", {}, variant=variant)


@pytest.fixture
def result(tmp_path: Path) -> Result:
    path = tmp_path / "mine.jsonl"
    path.write_text("\n".join(json.dumps({"id": d.id, "sentences": d.sentences}) for d in synthetic(3, 4)))
    return evaluate("wikipedia-pairs", Subject(create_model("random"), "random"), str(path))


def test_null_is_an_empty_field_in_every_csv(
    result: Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_result(replace(result, metrics={"accuracy": None}, interval={"accuracy": None}), form="csv")
    (tmp_path / "one.txt").write_text("Only one sentence.")
    write_scores(
        Model(create_model("random"), "random"), [str(tmp_path / "one.txt")], ReadOptions(), form="csv", explain=False
    )
    table = RenderedTable(1, "T", (Column("x, paper", False), Column("x, weft", True)), (("m", (Cell(), Cell())),))
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out + render(table, "csv"))))
    assert rows[1] == ["wikipedia-pairs", "random", "", "accuracy", "", "", ""]
    assert rows[3] == ["one", "1", "", "", ""]
    assert rows[5] == ["m", "", "", "", ""]


def test_json_output_leaves_the_lists_of_documents_to_the_result_file(
    result: Result, capsys: pytest.CaptureFixture[str]
) -> None:
    assert result.documents
    assert result.per_document
    write_result(result, form="json")
    shown = json.loads(capsys.readouterr().out)
    assert shown["metrics"] == result.metrics
    assert not {"documents", "per_document"} & set(shown)


def test_a_run_on_part_of_the_data_is_in_no_table(tmp_path: Path) -> None:
    published = Path(__file__).parents[2] / "results"
    whole = next(iter(load_results(published).values()))
    whole.save(tmp_path / "whole")
    replace(whole, settings={**whole.settings, "limit": 5}).save(tmp_path / "part")
    assert len(load_results(tmp_path / "whole")) == 1
    assert load_results(tmp_path / "part") == {}


# Generative models ------------------------------------------------------------------------------------------------


def test_the_weight_of_precedence_counts_with_torch_too() -> None:
    model = Seq2Seq.load(EMBEDDED)
    text = Document("t", ("Mary ate some apples.", "She likes apples.", "The senate adjourned in 1952."))
    once, more = model.precedence_table(text), model.adjusted({"precedence_weight": -2.5}).precedence_table(text)
    assert once is not None
    assert more is not None
    assert np.abs(once).max() > 0.1
    assert more == pytest.approx(-2.5 * once, abs=1e-6)


def test_a_fed_decoder_from_before_attention_had_keys_is_read() -> None:
    """Its first layer asked the source with a query of its state, (Q h) · s; now the source has keys, h · (Qᵀ s)."""
    torch.manual_seed(0)
    network = Seq2SeqNetwork(Architecture(9, 4, 6, layers=2, dropout=0.0, feed=True), bos=1, eos=2, pad=0)
    new = {name: value.numpy() for name, value in network.state_dict().items()}
    old = {name: value for name, value in new.items() if name != "decoder.key.weight"}
    old["decoder.query.weight"] = new["decoder.key.weight"].T.copy()
    tensors = {f"forward/{name}": value for name, value in old.items()}
    read = saved_weights(Artifact("seq2seq", {}, tensors), "forward")
    assert set(read) == set(new)
    for name, value in new.items():
        assert np.array_equal(read[name], value), name


# The command line -------------------------------------------------------------------------------------------------

WATCH = """
import os, sys
class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == "numpy":
            print(os.environ.get("OPENBLAS_NUM_THREADS"), os.environ.get("OMP_WAIT_POLICY"), file=sys.stderr)
sys.meta_path.insert(0, Watch())
from weft.cli import main
sys.argv = ["weft", *sys.argv[1:]]
main()
"""


@pytest.mark.parametrize(
    ("command", "given", "seen"),
    [
        ("score", {}, "1 PASSIVE"),
        ("order", {}, "1 PASSIVE"),
        ("order", {"OPENBLAS_NUM_THREADS": "3", "OMP_WAIT_POLICY": "ACTIVE"}, "3 ACTIVE"),
        ("config", {}, "None PASSIVE"),
    ],
)
def test_threads_of_matrix_products_are_settled_before_numpy_comes(
    command: str, given: dict[str, str], seen: str, tmp_path: Path
) -> None:
    """Too late it would change nothing: the library of matrix products reads the environment once."""
    text = tmp_path / "text.txt"
    text.write_text("A cat sat. A cat slept.")
    words = ["foltz-sif"] if command == "config" else [str(text), "--model", "foltz-sif"]
    inherited = {k: v for k, v in os.environ.items() if k not in {"OPENBLAS_NUM_THREADS", "OMP_WAIT_POLICY"}}
    done = subprocess.run(
        [sys.executable, "-c", WATCH, command, *words],
        capture_output=True, text=True, check=True, env={**inherited, **given},
    )  # fmt: skip
    assert done.stderr.splitlines()[0] == seen  # numpy is looked for once; messages of the command follow
