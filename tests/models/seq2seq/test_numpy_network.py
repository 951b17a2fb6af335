"""The networks in numpy against the networks in torch: the same numbers, whatever stands beside them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from weft.io.quantization import pack, unpack
from weft.models.common.neural.encoder_decoder import Architecture, Seq2SeqNetwork, Tokens
from weft.models.common.neural.source_memory import Memory
from weft.models.common.thread_pool import at_once, in_threads, thread_count
from weft.models.seq2seq import numpy_layers as plain_layers
from weft.models.seq2seq import numpy_network as plain_network
from weft.models.seq2seq.numpy_layers import NumpyLstm, Ragged, token_log_probs
from weft.models.seq2seq.numpy_network import NumpyNetwork, cut_evenly

KINDS: list[dict[str, object]] = [{}, {"attention": False}, {"lexical": True}]
SOURCES = [[5, 6, 7], [8], [9, 10, 11, 12, 13, 3, 3, 9], [4, 3], [2], list(range(3, 30)) * 6]
TARGETS = [[3, 4], [], [6], [5, 6, 7, 8, 9], list(range(29, 2, -1)) * 5]


def networks(**changes: object) -> tuple[Seq2SeqNetwork, NumpyNetwork]:
    """One network twice."""
    torch.manual_seed(0)
    sizes = {"vocabulary": 30, "dimensions": 8, "hidden": 12, "layers": 1, "dropout": 0.0, **changes}
    made = Seq2SeqNetwork(Architecture(**sizes), bos=1, eos=2, pad=0).eval()  # type: ignore[arg-type]
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter, std=0.5)  # biases and mixtures start at zero, where nothing is seen of them
    return made, NumpyNetwork(unpack(pack(made.state_dict(), "float32")), bos=1, eos=2)


def tokens(row: list[int]) -> Tokens:
    return Tokens(torch.tensor([row], dtype=torch.long), torch.tensor([len(row)]))


def by_torch(network: Seq2SeqNetwork, source: list[int] | None, target: list[int]) -> float:
    memory = Memory() if source is None else network.encode(tokens(source))
    return network.log_prob(memory, tokens(target)).item()


@pytest.mark.parametrize("changes", KINDS)
def test_log_probabilities_are_those_of_torch(changes: dict[str, object]) -> None:
    network, plain = networks(**changes)
    sources = plain.encode(SOURCES)
    pairs = list(itertools.product(range(-1, len(SOURCES)), range(len(TARGETS))))
    pairs = [pairs[(7 * n) % len(pairs)] for n in range(len(pairs))]  # in no order
    found = plain.log_prob(sources, [source for source, _ in pairs], [TARGETS[target] for _, target in pairs])
    for (source, target), value in zip(pairs, found, strict=True):
        expected = by_torch(network, None if source < 0 else SOURCES[source], TARGETS[target])
        assert value == pytest.approx(expected, rel=1e-6, abs=1e-4), (source, target)


def test_a_language_model_has_no_source() -> None:
    network, plain = networks(encoder=False)
    assert plain.encoder is None
    found = plain.log_prob([], [-1] * len(TARGETS), TARGETS)
    assert found == pytest.approx([by_torch(network, None, target) for target in TARGETS], rel=1e-6, abs=1e-4)
    assert plain.log_prob([], [], []) == []


@pytest.mark.parametrize("changes", KINDS)
def test_groups_chunks_and_neighbours_change_nothing(
    changes: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, plain = networks(**changes)
    chosen = [number % len(SOURCES) for number in range(40)]
    targets = [TARGETS[number % len(TARGETS)] for number in range(40)]
    together = plain.log_prob(plain.encode(SOURCES), chosen, targets)
    monkeypatch.setattr(plain_network, "GROUP_POSITIONS", 60)
    monkeypatch.setattr(plain_layers, "CHUNK_ROWS", 7)
    monkeypatch.setattr(plain_layers, "CHUNK_WORDS", 11)
    monkeypatch.setattr(plain_layers, "ATTENTION_CELLS", 100)
    assert len(cut_evenly([len(target) + 1 for target in targets])) == 10
    assert plain.log_prob(plain.encode(SOURCES), chosen, targets) == pytest.approx(together, rel=1e-6, abs=1e-5)
    alone = [plain.log_prob(plain.encode([SOURCES[chosen[n]]]), [0], [targets[n]])[0] for n in range(40)]
    assert alone == pytest.approx(together, rel=1e-6, abs=1e-5)


def test_rows_are_cut_into_an_even_number_of_equal_groups() -> None:
    lengths = np.random.default_rng(1).integers(1, 80, 900).tolist()
    groups = cut_evenly(lengths)
    assert sorted(row for group in groups for row in group) == list(range(900))
    sizes = [sum(lengths[row] for row in group) for group in groups]
    assert len(groups) % 2 == 0
    assert max(sizes) < 1.05 * min(sizes)
    assert max(sizes) <= 1.05 * plain_network.GROUP_POSITIONS
    assert cut_evenly([]) == []
    assert cut_evenly([20] * 60) == [list(range(60))]  # too few to share out
    assert cut_evenly([plain_network.GROUP_POSITIONS * 3]) == [[0]]  # a row is never cut


def test_logits_far_from_zero_keep_their_places() -> None:
    """The peak is not taken off before the exponential: where that overflows or underflows it is done with care."""
    generator = np.random.default_rng(2)
    weight = generator.normal(size=(50, 4)).astype(np.float32)
    weight[:, 3] = 1.0
    outputs = np.zeros((6, 4), np.float32)
    outputs[:, 0] = [1, 1, 1, 300, 1, 1]
    outputs[:, 3] = [0, 500, -500, 0, -95, 87]  # adds to all logits alike, and so changes nothing
    targets = np.array([1, 2, 3, 4, 5, 6])
    logits = outputs.astype(np.float64) @ weight.T.astype(np.float64)
    peaks = logits.max(axis=1)
    expected = logits[np.arange(6), targets] - peaks - np.log(np.exp(logits - peaks[:, None]).sum(axis=1))
    assert token_log_probs(outputs, weight, targets) == pytest.approx(expected, rel=1e-6, abs=1e-4)


def test_an_lstm_reads_rows_of_any_lengths_in_any_order() -> None:
    torch.manual_seed(1)
    lstm = torch.nn.LSTM(5, 7, batch_first=True)
    plain = NumpyLstm({name: value.detach().numpy() for name, value in lstm.named_parameters()})
    vectors = torch.randn(9, 5)
    rows = [[0, 3, 3, 8], [1], [2, 4, 6, 7, 5, 0, 1]]
    start = torch.randn(2, 3, 7)
    found = plain.run(
        np.array([token for row in rows for token in row]),
        Ragged.of([len(row) for row in rows]),
        plain.inputs(vectors.numpy()),
        (start[0].numpy(), start[1].numpy()),
    )
    expected = [
        lstm(vectors[row][None], (start[:1, n : n + 1], start[1:, n : n + 1]))[0][0] for n, row in enumerate(rows)
    ]
    assert found == pytest.approx(torch.cat(expected).detach().numpy(), abs=1e-5)


@pytest.mark.parametrize("changes", [{"layers": 2}, {"layers": 2, "feed": True}, {"frozen": True}])
def test_other_networks_are_declined(changes: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="has the shape|no decoder"):
        networks(**changes)


def test_weights_that_are_missing_or_misshapen_are_refused() -> None:
    _, plain = networks()
    with pytest.raises(ValueError, match="no embedding"):
        NumpyNetwork({}, bos=1, eos=2)
    weights = unpack(pack(networks()[0].state_dict(), "float32"))
    with pytest.raises(ValueError, match="bridge.bias has the shape None"):
        NumpyNetwork({name: value for name, value in weights.items() if name != "encoder.bridge.bias"}, bos=1, eos=2)
    with pytest.raises(ValueError, match=r"output.weight has the shape \(8, 11\), not \(8, 12\)"):
        NumpyNetwork({**weights, "output.weight": plain.output.T[:, :11]}, bos=1, eos=2)


# Threads ----------------------------------------------------------------------------------------------------------


def use_threads(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    monkeypatch.setenv("OMP_NUM_THREADS", str(count))
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(4)), raising=False)


def test_scores_do_not_depend_on_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_network, "GROUP_POSITIONS", 200)
    _, plain = networks(lexical=True)
    chosen = [number % len(SOURCES) for number in range(60)]
    targets = [TARGETS[number % len(TARGETS)] for number in range(60)]
    found = []
    for count in (1, 2, 3):
        use_threads(monkeypatch, count)
        assert thread_count() == count
        found.append(plain.log_prob(plain.encode(SOURCES), chosen, targets))
    assert found[0] == found[1] == found[2]


def test_threads_are_as_many_as_asked_for_and_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    use_threads(monkeypatch, 2)
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert thread_count() == 4  # the cores there are
    for asked, count in (("1", 1), ("3", 3), ("64", 4), ("0", 1), ("many", 4)):
        monkeypatch.setenv("OMP_NUM_THREADS", asked)
        assert thread_count() == count
    monkeypatch.delenv("OPENBLAS_NUM_THREADS")
    assert thread_count() == 1  # the library of matrix products has threads of its own


@pytest.mark.parametrize("count", [1, 3])
def test_what_threads_find_comes_in_order_and_so_do_errors(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    use_threads(monkeypatch, count)
    assert in_threads(lambda number: number * number, range(20)) == [number * number for number in range(20)]
    assert in_threads(abs, []) == []
    with pytest.raises(ZeroDivisionError):
        in_threads(lambda number: 1 // number, [1, 0])
    with pytest.raises(ZeroDivisionError):
        at_once(lambda: 1, lambda: 1 // 0)
    assert at_once(lambda: 1, lambda: "b") == (1, "b")
