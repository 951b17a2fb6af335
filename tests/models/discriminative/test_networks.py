"""The networks of the discriminative models: reading sentences, cliques, pairs and similarity."""

from __future__ import annotations

import pytest
import torch

from weft.models.discriminative.clique_windows import EDGES
from weft.models.discriminative.networks import CliqueHead, PairNetwork, ReaderOptions, SentenceLstm
from weft.models.discriminative.sentence_similarity import BAG, ContentEncoder, content_size, similarities


@pytest.mark.parametrize("pooling", ["last", "max", "mean"])
def test_a_sentence_is_read_from_its_end_as_if_it_were_alone(pooling: str) -> None:
    torch.manual_seed(1)
    reader = SentenceLstm(ReaderOptions(vocabulary=9, dimensions=3, hidden=4, pooling=pooling))
    embedded, lengths = torch.randn(3, 5, 3), torch.tensor([5, 1, 3])
    found = reader(embedded, lengths)
    for row, length in enumerate(lengths.tolist()):
        states = reader.lstm(embedded[row : row + 1, :length].flip(1))[0][0]  # [length, hidden]
        pooled = {"last": states[-1], "max": states.amax(dim=0), "mean": states.mean(dim=0)}[pooling]
        assert torch.allclose(found[row], pooled, atol=1e-6)


def test_a_pair_is_judged_by_both_sentences_their_difference_and_their_product() -> None:
    torch.manual_seed(1)
    network = PairNetwork(ReaderOptions(vocabulary=9, dimensions=3, hidden=4, similarity=True), width=5).eval()
    left, right = torch.randn(2, 4 + content_size(3, 9)), torch.randn(2, 4 + content_size(3, 9))
    u, v, alike = left[:, :4], right[:, :4], similarities(left[:, 4:], right[:, 4:], 3)
    assert network.alike is not None
    layers = (
        network.left(u),
        network.right(v),
        network.joint(torch.cat([(u - v).abs(), u * v], 1)),
        network.alike(alike),
    )
    expected = network.verdict(torch.relu(sum(layers)))[:, 0]
    assert torch.allclose(network(left, right), expected, atol=1e-6)
    assert not torch.allclose(network(left, right), network(right, left))


def test_an_edge_is_like_nothing() -> None:
    head = CliqueHead(4, 1, 5, 0.0, 3)
    rows = head.rows(torch.randn(3, 4 + content_size(3, 9)))
    assert rows.similarities is not None
    for table in rows.similarities:
        assert not table[:EDGES].any() and not table[:, :EDGES].any()
        assert table[EDGES:, EDGES:].any()


def test_padding_says_nothing_of_a_sentence_and_folded_words_cancel_out() -> None:
    contents, vectors = ContentEncoder(9), torch.randn(9, 3)
    tokens, owners = torch.tensor([1, 2, 0, 4, 5, 6]), torch.tensor([0, 0, 0, 1, 1, 1])
    counted = torch.tensor([True, True, False, True, False, False])
    padded = contents(tokens, owners, counted, 2, vectors)
    alone = contents(tokens[counted], owners[counted], None, 2, vectors)
    assert torch.allclose(padded, alone)
    assert not torch.allclose(padded, contents(tokens, owners, None, 2, vectors))
    many = torch.arange(1, 3 * BAG)
    bag = ContentEncoder(3 * BAG)(many, torch.zeros_like(many), None, 1, torch.randn(3 * BAG, 2))[0, 2:]
    assert (bag < 0).any() and (bag > 0).any()


@pytest.mark.parametrize(("words", "encoder"), [(False, False), (True, False), (False, True)])
def test_what_is_fixed_is_not_learned(words: bool, encoder: bool) -> None:
    network = PairNetwork(
        ReaderOptions(vocabulary=9, dimensions=3, hidden=4, fixed_words=words, fixed_encoder=encoder), 5
    )
    assert network.embedding.weight.requires_grad is not (words or encoder)
    assert {parameter.requires_grad for parameter in network.encoder.parameters()} == {not encoder}
    assert network.verdict.weight.requires_grad
