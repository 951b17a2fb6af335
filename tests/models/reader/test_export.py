"""An exported reader computes what the trained one does, without PyTorch, and altered files are refused."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper
from tests.helpers.command_line import ok, refused
from tests.helpers.tiny_reader import TEXTS, trained_reader, untrained_reader

import weft
from weft.document import Document
from weft.errors import ConfigError, ModelError
from weft.evaluation.calibration import calibrate
from weft.io.devices import on_device
from weft.io.model_folder import load_artifact, save_artifact
from weft.models.reader.export import export
from weft.models.reader.exported.exported_weights import exported_weights
from weft.models.reader.exported.onnx_tables import Ids, OnnxTableReader, States
from weft.models.reader.network_constants import GRAPHS, TEXT
from weft.models.reader.reader import Reader
from weft.models.reader.reader_settings import PART
from weft.models.reader.reader_training import MASKED_WORDS
from weft.models.reader.text_tables import TextTables
from weft.protocols import Arranger, OrderScorer, PlacedModel
from weft.report.model_facts import read_facts
from weft.scoring.percentiles import REFERENCE, Group, Reference
from weft.training.neural_run import _networks_of

DOCUMENTS = [Document(f"d{number}", sentences) for number, sentences in enumerate(TEXTS)]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reader") / "reader"
    trained_reader().save(folder)
    return folder


@pytest.fixture(scope="module")
def exported(trained: Path) -> Path:
    return export(trained)


def largest_difference(one: list[TextTables], other: list[TextTables]) -> float:
    pairs = [(getattr(a, part), getattr(b, part)) for a, b in zip(one, other, strict=True) for part in parts(a)]
    return max(float(np.abs(first - second).max(initial=0.0)) for first, second in pairs)


def parts(tables: TextTables) -> tuple[str, ...]:
    return tuple(tables.__dataclass_fields__)


# Agreement ------------------------------------------------------------------------------------------------------------


def test_it_agrees_with_pytorch_in_numbers_and_decisions(trained: Path, exported: Path) -> None:
    own, other = Reader.load(trained), Reader.load(exported)
    assert isinstance(other.reader, OnnxTableReader)
    assert largest_difference(own.reader.tables(TEXTS), other.reader.tables(TEXTS)) < 1e-3
    for document in DOCUMENTS:
        assert own.arrange(document) == other.arrange(document)
        orders = [tuple(range(len(document))), tuple(reversed(range(len(document))))]
        values, others = own.order_scores(document, orders), other.order_scores(document, orders)
        assert values == pytest.approx(others, abs=1e-3)
        assert sorted(range(2), key=lambda n: values[n] or 0.0) == sorted(range(2), key=lambda n: others[n] or 0.0)
        breaks = own.break_probabilities(document), other.break_probabilities(document)
        assert [one > 0.5 for one in breaks[0]] == [one > 0.5 for one in breaks[1]]


@pytest.mark.parametrize("local_layers", [0, 1, 2])
@pytest.mark.parametrize(("arithmetic", "tolerance"), [("float32", 1e-4), ("int16", 1e-3), ("int8", 0.2)])
def test_every_arithmetic_computes_the_network(
    arithmetic: str, tolerance: float, local_layers: int, tmp_path: Path
) -> None:
    model = untrained_reader(local_layers)
    model.save(tmp_path / "m")
    found = Reader.load(export(tmp_path / "m", arithmetic=arithmetic)).reader.tables(TEXTS)
    assert largest_difference(model.reader.tables(TEXTS), found) < tolerance


def test_both_directions_are_exported(tmp_path: Path) -> None:
    model = untrained_reader(directions="both")
    model.save(tmp_path / "m")
    found = Reader.load(export(tmp_path / "m")).reader.tables(TEXTS)
    assert largest_difference(model.reader.tables(TEXTS), found) < 1e-4
    assert largest_difference(untrained_reader().reader.tables(TEXTS), found) > 1e-3


@pytest.mark.parametrize("precision", ["float16", "float32"])
def test_weights_of_higher_precision_are_rounded(precision: str, tmp_path: Path) -> None:
    model = untrained_reader(precision=precision)
    model.save(tmp_path / "m")
    found = Reader.load(export(tmp_path / "m")).reader.tables(TEXTS)
    assert largest_difference(model.reader.tables(TEXTS), found) < 0.1


def test_batches_do_not_change_tables(exported: Path) -> None:
    together = Reader.load(exported).reader.tables(TEXTS)
    alone = [Reader.load(exported).reader.tables([text])[0] for text in TEXTS]
    assert largest_difference(together, alone) < 1e-5


def test_after_an_edit_only_new_sentences_are_read(exported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = Reader.load(exported).reader
    assert isinstance(reader, OnnxTableReader)
    read: list[int] = []
    run = reader._read_sentences

    def counted(group: Sequence[Ids]) -> list[States]:
        read.append(len(group))
        return run(group)

    monkeypatch.setattr(reader, "_read_sentences", counted)
    first = reader.tables([TEXTS[0]])[0]
    edited = (*TEXTS[0][:-1], "The second storm.")
    reader.tables([edited])
    assert read == [len(TEXTS[0]), 1]
    assert largest_difference([first], reader.tables([TEXTS[0]])) == 0
    assert read == [len(TEXTS[0]), 1]


def test_many_threads_give_the_same_tables(exported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = Reader.load(exported).reader.tables(TEXTS)
    monkeypatch.setattr("weft.models.common.thread_pool.thread_count", lambda: 4)
    assert largest_difference(alone, Reader.load(exported).reader.tables(TEXTS)) < 1e-5


# The folder -----------------------------------------------------------------------------------------------------------


def test_the_folder_holds_graphs_and_no_other_weights(trained: Path, exported: Path) -> None:
    assert exported == trained.with_name("reader-onnx")
    assert {path.name for path in exported.iterdir()} == {"model.json", "tokenizer.json", *GRAPHS}
    for name in GRAPHS:
        graph = onnx.load(exported / name).graph
        large = [one for one in graph.initializer if one.data_type == TensorProto.FLOAT and len(one.dims) == 2]
        assert all(one.dims[1] == 1 for one in large), name  # scales of rows
    assert read_facts(exported, exported).parameters == read_facts(trained, trained).parameters > 10_000


def test_it_keeps_the_contracts_of_scoring_and_ordering(exported: Path) -> None:
    model = Reader.load(exported)
    assert isinstance(model, OrderScorer) and isinstance(model, Arranger) and isinstance(model, PlacedModel)
    with pytest.raises(ModelError, match="an exported model has no weights to save"):
        model.save(exported.with_name("copy"))


def test_reference_scores_are_exported_and_can_be_added(trained: Path, tmp_path: Path) -> None:
    artifact = load_artifact(trained)
    group = Group(3, 2, tuple(float(n) for n in range(101)), tuple(float(n) for n in range(101)))
    reference = Reference("texts", "", (group,), 1, "").to_text()
    save_artifact(replace(artifact, texts={**artifact.texts, REFERENCE: reference}), tmp_path / "calibrated")
    assert Reader.load(export(tmp_path / "calibrated")).reference is not None
    plain = load_artifact(export(trained, tmp_path / "plain"))
    save_artifact(replace(plain, texts={**plain.texts, REFERENCE: reference}), tmp_path / "plain")
    model = Reader.load(tmp_path / "plain")
    assert model.reference is not None and model.score(DOCUMENTS[:1])[0].value is not None


def test_scoring_and_ordering_import_no_torch(exported: Path) -> None:
    code = f"""import sys, weft
model = weft.load({str(exported)!r})
text = weft.Document("d", {TEXTS[0]!r})
assert model.score(text).value is not None and model.order(text).order and model.compare("A. B. C.", "C. B. A.")
print([name for name in ("torch", "onnx", "transformers", "sklearn") if name in sys.modules])"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[]", done.stderr


def test_the_command(trained: Path, tmp_path: Path) -> None:
    ok("export", str(trained), "--out", str(tmp_path / "out"), "--arithmetic", "int8")
    assert load_artifact(tmp_path / "out").training["export"]["arithmetic"] == "int8"
    assert "exported already" in refused("export", str(tmp_path / "out"), cwd=tmp_path)
    assert weft.load(tmp_path / "out").score("The first cat. The second cat.").value is not None


def test_a_notice_stays_beside_the_weights(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "notice.txt").write_text("Made from the weights of others.")
    ok("export", str(trained), "--out", "out", "--notice", "notice.txt", cwd=tmp_path)
    texts = [Document(f"d{n}", (f"Cat {n} sat.", "Then it slept.", f"Later cat {n} ate.")) for n in range(20)]
    calibrate(tmp_path / "out", texts, texts="cats")
    assert (tmp_path / "out" / "NOTICE.txt").read_text() == "Made from the weights of others."
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for name, said in (("none.txt", "no such file"), (".", "a folder"), ("binary", "decode")):
        assert said in refused("export", str(trained), "--out", "other", "--notice", name, cwd=tmp_path)
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("arithmetic", ["float32", "int16", "int8"])
def test_the_weights_come_back(arithmetic: str, trained: Path, tmp_path: Path) -> None:
    folder, name = tmp_path / "out", f"{PART}/"
    graphs = load_artifact(export(trained, folder, arithmetic=arithmetic)).graphs
    saved = {key.removeprefix(name): value for key, value in load_artifact(trained).tensors.items()}
    found = exported_weights(graphs)
    assert {key for key in saved if not key.startswith(MASKED_WORDS)} == set(found)
    for key, value in found.items():
        assert value.dtype == saved[key].dtype and np.allclose(value, saved[key], atol=1e-7), key


def test_training_goes_on_from_an_exported_model(trained: Path, exported: Path) -> None:
    tokenizer = Reader.load(exported).tokenizer
    assert tokenizer is not None
    (own,), (other,) = (_networks_of(str(folder), tokenizer).values() for folder in (trained, exported))
    for key, value in own.state_dict().items():
        if not key.startswith(MASKED_WORDS):
            assert torch.allclose(value, other.state_dict()[key], atol=1e-7), key
    assert all(parameter.requires_grad for parameter in other.parameters())


def test_values_of_surprise_come_back(tmp_path: Path) -> None:
    model = untrained_reader(surprise=True)
    head = model.networks()[PART].surprise
    head.set_moments(torch.tensor([-3.5, 0.75]))  # type: ignore[operator, union-attr]
    model.save(tmp_path / "trained")
    other = Reader.load(export(tmp_path / "trained", tmp_path / "exported"))
    assert other.networks()[PART].surprise.moments.tolist() == [-3.5, 0.75]  # type: ignore[operator, union-attr]
    assert other.surprises(DOCUMENTS[0]) == pytest.approx(model.surprises(DOCUMENTS[0]), abs=1e-3)


def test_an_exported_model_without_some_of_its_weights_is_no_start(exported: Path, tmp_path: Path) -> None:
    artifact = load_artifact(exported)
    save_artifact(replace(artifact, config={**artifact.config, "surprise_weight": 1.0}), tmp_path / "m")
    with pytest.raises(ModelError, match="do not fit its settings.*surprise"):
        Reader.load(tmp_path / "m").networks()


def test_a_gpu_that_onnxruntime_does_not_have(exported: Path) -> None:
    model = Reader.load(exported)
    if "cuda" in model.devices():
        pytest.skip("there is a GPU here")
    assert on_device(model, "auto") is model
    with pytest.raises(ConfigError, match="onnxruntime finds no GPU.*saw 'cuda'; allowed: "):
        on_device(model, "cuda")


# What cannot be exported ----------------------------------------------------------------------------------------------


def test_only_a_whole_reader_is_exported(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    artifact = load_artifact(trained)
    save_artifact(replace(artifact, model="seq2seq"), tmp_path / "other")
    with pytest.raises(ConfigError, match="only a reader can be exported"):
        export(tmp_path / "other")
    tensors = {name: value for name, value in artifact.tensors.items() if "narrow" not in name}
    save_artifact(replace(artifact, tensors=tensors), tmp_path / "less")
    with pytest.raises(ModelError, match="do not fit its settings.*no encoder.layers.0.narrow.weight"):
        export(tmp_path / "less")
    save_artifact(replace(artifact, config={**artifact.config, "hidden": 64}), tmp_path / "wider")
    with pytest.raises(ModelError, match="do not fit its settings"):
        export(tmp_path / "wider")
    assert not (tmp_path / "wider-onnx").exists()
    with pytest.raises(ConfigError, match="arithmetic"):
        export(trained, arithmetic="int4")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'weft-coherence\[train\]'"):
        export(trained)


# Altered files --------------------------------------------------------------------------------------------------------


def external(model: onnx.ModelProto) -> None:
    tensor = model.graph.initializer[0]
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="/etc/passwd")


def external_without_mark(model: onnx.ModelProto) -> None:
    model.graph.initializer[0].external_data.add(key="location", value="other.bin")


def custom_domain(model: onnx.ModelProto) -> None:
    model.opset_import.append(helper.make_opsetid("evil.ops", 1))


def custom_operator(model: onnx.ModelProto) -> None:
    model.graph.node[0].domain = "evil.ops"


def unknown_operator(model: onnx.ModelProto) -> None:
    model.graph.node[0].op_type = "Loop"


def graph_in_an_attribute(model: onnx.ModelProto) -> None:
    model.graph.node[0].attribute.append(helper.make_attribute("body", helper.make_graph([], "g", [], [])))


def tensor_in_an_attribute(model: onnx.ModelProto) -> None:
    tensor = helper.make_tensor("t", TensorProto.FLOAT, [1], [1.0])
    model.graph.node[0].attribute.append(helper.make_attribute("value", tensor))


def functions(model: onnx.ModelProto) -> None:
    model.functions.append(helper.make_function("evil", "f", [], [], [], []))


@pytest.mark.parametrize(
    ("change", "seen"),
    [
        (external, "weights outside of the file"),
        (external_without_mark, "weights outside of the file"),
        (custom_domain, "operators of the domain 'evil.ops'"),
        (custom_operator, "the operator evil.ops."),
        (unknown_operator, "the operator Loop"),
        (graph_in_an_attribute, "tensors or graphs of its own"),
        (tensor_in_an_attribute, "tensors or graphs of its own"),
        (functions, "functions of its own"),
    ],
)
def test_what_export_does_not_write_is_refused_before_onnxruntime_reads_it(
    change: Callable[[onnx.ModelProto], None],
    seen: str,
    exported: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = onnx.load(exported / TEXT)
    change(model)
    with_graph(exported, model.SerializeToString(), tmp_path / "m")
    monkeypatch.setattr("onnxruntime.InferenceSession", lambda *given, **named: pytest.fail("it was read"))
    with pytest.raises(ModelError, match=f"{TEXT} is refused: saw .*{seen}"):
        Reader.load(tmp_path / "m")


@pytest.mark.parametrize("content", [b"", b"\xff" * 40, b"no protocol buffer", b"\x3a\xff\xff\xff\xff\x0f"])
def test_bytes_that_are_no_graph_are_refused(content: bytes, exported: Path, tmp_path: Path) -> None:
    with_graph(exported, content, tmp_path / "m")
    with pytest.raises(ModelError, match="is refused"):
        Reader.load(tmp_path / "m")


def test_a_graph_with_other_inputs_or_sizes_is_refused(exported: Path, tmp_path: Path) -> None:
    artifact = load_artifact(exported)
    with_graph(exported, artifact.graphs["sentences.onnx"], tmp_path / "m")
    with pytest.raises(ModelError, match="cannot be used.*saw 'the inputs ids, positions"):
        Reader.load(tmp_path / "m")
    model = onnx.load(exported / TEXT)
    model.graph.node[0].input[0] = "nothing"
    with_graph(exported, model.SerializeToString(), tmp_path / "m")
    with pytest.raises(ModelError, match="cannot be used"):
        Reader.load(tmp_path / "m")


def test_an_altered_or_missing_file_is_refused(exported: Path, tmp_path: Path) -> None:
    artifact = load_artifact(exported)
    save_artifact(artifact, tmp_path / "m")
    path = tmp_path / "m" / TEXT
    path.write_bytes(path.read_bytes()[:-1] + b"\0")
    with pytest.raises(ModelError, match="does not match the SHA-256"):
        Reader.load(tmp_path / "m")
    graphs = {name: content for name, content in artifact.graphs.items() if name != TEXT}
    save_artifact(replace(artifact, graphs=graphs), tmp_path / "m")
    (tmp_path / "m" / TEXT).write_bytes(artifact.graphs[TEXT])  # a file that the manifest does not name
    with pytest.raises(ModelError, match=f"no {TEXT}"):
        Reader.load(tmp_path / "m")


def with_graph(exported: Path, content: bytes, folder: Path) -> None:
    """Write an exported folder with another text graph, and a manifest that fits."""
    artifact = load_artifact(exported)
    save_artifact(replace(artifact, graphs={**artifact.graphs, TEXT: content}), folder)
