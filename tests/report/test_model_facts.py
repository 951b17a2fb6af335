from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.helpers.published_results import published_results

from weft.errors import CorpusError, ModelError
from weft.io.model_folder import Artifact, load_artifact, save_artifact
from weft.io.quantization import SCALE
from weft.report.model_facts import facts_of, load_facts, read_facts, record_facts

ROOT = Path(__file__).parents[2]
ZOO, RESULTS = ROOT / "zoo", ROOT / "results"


@pytest.mark.parametrize("name", ["vlv-gm-accidents", "foltz-lda", "entity-grid", "discriminative-accidents"])
def test_parameters_are_those_of_the_loaded_weights(name: str) -> None:
    """`vlv-gm-accidents` shares weights with the folder beside it: they are counted, and once."""
    tensors = load_artifact(ZOO / name).tensors
    facts = read_facts(ZOO / name, RESULTS / "training")
    assert facts.parameters == sum(value.size for key, value in tensors.items() if not key.endswith(SCALE))
    assert facts.size >= sum(value.nbytes for value in tensors.values())


def test_the_record_is_what_the_models_say(tmp_path: Path) -> None:
    """Models that are no longer in the zoo stay in the record, after those that are."""
    (tmp_path / "training").symlink_to(RESULTS / "training")
    shutil.copy(RESULTS / "models.json", tmp_path)
    assert record_facts(ZOO, tmp_path).read_text() == (RESULTS / "models.json").read_text()
    known = {facts.name: facts for facts in load_facts(tmp_path)}
    assert known["seq2seq"].sentences == 1_457_261
    assert known["discriminative-pair"].sentences == 3_560_957 and not (ZOO / "discriminative-pair").exists()
    before, own = known["seq2seq"].minutes_before or 0, known["seq2seq"].minutes or 0
    assert known["vlv-gm"].minutes_before == pytest.approx(before + own, abs=0.11)


def test_results_find_their_models() -> None:
    known, results = load_facts(RESULTS), published_results()
    for key, name in {
        ("wikipedia-pairs", "seq2seq", "mmi"): "seq2seq-improved",
        ("wikipedia-pairs", "seq2seq", "mmi-zoo"): "seq2seq",
        ("accidents", "seq2seq", "bi"): "seq2seq-accidents",
        ("earthquakes", "discriminative", "seed-3"): "discriminative-earthquakes",
        ("wikipedia-pairs", "hmm-lda-gm", "mmi-peek"): "hmm-lda-gm-peek",
        ("wikipedia-pairs", "weft-small", "mmi"): "weft-small",
    }.items():
        facts = facts_of(results[key], known)
        assert facts is not None
        assert facts.name == name
    assert facts_of(results["wikipedia-pairs", "foltz-sif", ""], known) is None


def test_damaged_folders_and_records_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no model folder"):
        record_facts(tmp_path, tmp_path)
    broken = tmp_path / "zoo" / "m"
    broken.mkdir(parents=True)
    for content in ("", "[]", '{"files": {"a.safetensors": ""}, "training": {}, "model": "m"}'):
        (broken / "model.json").write_text(content)
        (broken / "a.safetensors").write_bytes(b"\xff" * 20)
        with pytest.raises(ModelError):
            record_facts(tmp_path / "zoo", tmp_path)
    save_artifact(Artifact("m", {}, training={"start": "another"}), broken)
    with pytest.raises(CorpusError, match="cannot read how the model"):
        record_facts(tmp_path / "zoo", tmp_path)
    (tmp_path / "models.json").write_text('[{"name": 1}]')
    with pytest.raises(CorpusError, match=r"models\.json"):
        load_facts(tmp_path)
    assert load_facts(tmp_path / "nowhere") == []
    good = json.loads((RESULTS / "models.json").read_text())[0]
    for field, value in (("parameters", "many"), ("minutes", [1]), ("data", [1]), ("command", None)):
        (tmp_path / "models.json").write_text(json.dumps([{**good, field: value}]))
        with pytest.raises(CorpusError, match=r"models\.json"):
            load_facts(tmp_path)
