"""Trees and the recursive model: levels do what recursion does, and no parser is needed to test it."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
import torch

from weft.corpora.syntax.binary_trees import BinaryTree, binarised, binarised_phrases
from weft.corpora.syntax.parsed_sentence import ParsedSentence
from weft.corpora.syntax.trees import read_tree
from weft.document import Document
from weft.errors import ConfigError
from weft.models.discriminative.recursive_model import Recursive
from weft.models.discriminative.tree_batches import ParsedTrees, TreeBatch, TreeStream
from weft.models.discriminative.tree_network import RecursiveSettings, TokenTree, TreeNetwork, level_trees, token_tree
from weft.progress import Progress, silent
from weft.training.fit_documents import fit_documents
from weft.training.settings import TrainingSettings


def random_parse(size: int, seed: int) -> ParsedSentence:
    """A tree of so many words, heads at random."""
    rng = random.Random(seed)
    order = rng.sample(range(size), size)
    heads = [0] * size
    for number, word in enumerate(order):
        heads[word] = word if number == 0 else rng.choice(order[:number])
    words = tuple(f"w{n}" for n in range(size))
    return ParsedSentence(words, ("NN",) * size, tuple(heads), ("dep",) * size)


class Branches:
    """A source of trees without a parser: every word takes in all that follows."""

    def trees(self, sentences: Sequence[str], *, progress: Progress = silent) -> list[BinaryTree]:
        found = []
        for sentence in sentences:
            words = tuple(sentence.split())
            heads = tuple(max(number - 1, 0) for number in range(len(words)))
            found.append(binarised(ParsedSentence(words, ("",) * len(words), heads, ("",) * len(words))))
        return found


def test_a_head_takes_in_what_follows_then_what_stands_before() -> None:
    parse = ParsedSentence(
        ("The", "old", "dog", "chased", "a", "cat", "."),
        ("DT", "JJ", "NN", "VBD", "DT", "NN", "."),
        (2, 2, 3, 3, 5, 3, 3),
        ("det", "amod", "nsubj", "ROOT", "det", "dobj", "punct"),
    )
    assert phrase(binarised(parse)) == "((The (old dog)) ((chased (a cat)) .))"


def phrase(tree: BinaryTree) -> str:
    made = list(tree.words)
    for left, right in tree.merges:
        made.append(f"({made[left]} {made[right]})")
    return made[-1]


@pytest.mark.parametrize("size", [1, 2, 7, 40])
def test_every_word_is_in_the_tree_once_and_children_come_first(size: int) -> None:
    tree = binarised(random_parse(size, seed=size))
    assert len(tree.merges) == size - 1
    used = [child for pair in tree.merges for child in pair]
    assert sorted([*used, 2 * size - 2]) == list(range(2 * size - 1))
    assert all(max(pair) < size + number for number, pair in enumerate(tree.merges))


def test_several_roots_and_no_words() -> None:
    two = ParsedSentence(("a", "b", "c"), ("",) * 3, (0, 0, 2), ("",) * 3)
    assert phrase(binarised(two)) == "((a b) c)"
    assert binarised(ParsedSentence((), (), (), ())) == BinaryTree((), ())


def test_a_chain_of_five_thousand_words_needs_no_recursion() -> None:
    size = 5000
    heads = tuple(max(number - 1, 0) for number in range(size))
    tree = binarised(ParsedSentence(("w",) * size, ("",) * size, heads, ("",) * size))
    assert len(tree.merges) == size - 1


def test_penn_trees_are_binarised_and_brackets_restored() -> None:
    text = "(ROOT (S (NP (DT The) (JJ old) (NN dog)) (VP (VBD ran) (-LRB- -LRB-) (RB off)) (. .)))"
    tree = binarised_phrases(read_tree(text))
    assert tree.words == ("The", "old", "dog", "ran", "(", "off", ".")
    assert phrase(tree) == "((The (old dog)) ((ran (( off)) .))"
    assert binarised_phrases(read_tree("(ROOT (NN One))")) == BinaryTree(("One",), ())
    assert binarised_phrases(read_tree("(S (VB Go)) (S (VB Now))")).merges == ((0, 1),)
    assert binarised_phrases(read_tree("(S (`` ``) (VB Go))")).words == ('"', "Go")


def small_settings(
    dimensions: int, hidden: int, composition: str = "tanh", pooling: str = "root", *, likeness: bool = False
) -> RecursiveSettings:
    return RecursiveSettings(
        dimensions=dimensions, hidden=hidden, composition=composition, pooling=pooling, likeness=likeness, width=5,
        dropout=0.0,
    )  # fmt: skip


def recursion(reader: TreeNetwork, tree: BinaryTree, ids: list[list[int]]) -> torch.Tensor:
    """The same network node by node, with no batches and no levels."""
    weight, scale = reader.embedding.weight, reader.embedding.scale
    nodes = [reader._leaves(weight[word].mean(dim=0, keepdim=True) * scale) for word in ids]
    for left, right in tree.merges:
        nodes.append(reader._composed(torch.stack([nodes[left], nodes[right]], dim=1)))
    return torch.cat(nodes)[:, : reader.hidden]


@pytest.mark.parametrize("composition", ["tanh", "lstm"])
@pytest.mark.parametrize("pooling", ["root", "max", "mean"])
def test_levels_do_what_recursion_does(composition: str, pooling: str) -> None:
    reader = TreeNetwork(small_settings(6, 5, composition, pooling), 30).eval()
    rng = random.Random(1)
    trees = [binarised(random_parse(size, seed=size)) for size in (1, 9, 2, 17)]
    ids = [[[rng.randrange(30) for _ in range(rng.choice((1, 1, 2)))] for _ in tree.words] for tree in trees]
    forest = level_trees([token_tree(tree, words) for tree, words in zip(trees, ids, strict=True)])
    found = reader.read(forest)
    for row, tree, words in zip(found, trees, ids, strict=True):
        nodes = recursion(reader, tree, words)
        expected = {"root": nodes[-1], "max": nodes.amax(dim=0), "mean": nodes.mean(dim=0)}[pooling]
        assert torch.allclose(row, expected, atol=1e-6)


def test_a_batch_takes_as_many_steps_as_its_highest_tree() -> None:
    flat = [token_tree(BinaryTree(("a", "b"), ((0, 1),)), [[4], [5]])] * 100
    assert len(level_trees(flat).levels) == 1
    assert len(level_trees(flat).levels[0]) == 100


def test_a_sentence_without_words_is_nothing_and_spoils_nothing() -> None:
    reader = TreeNetwork(small_settings(6, 5, likeness=True), 30).eval()
    some = token_tree(BinaryTree(("a", "b"), ((0, 1),)), [[4], [5]])
    none = token_tree(BinaryTree((), ()), [])
    together = reader.read(level_trees([some, none, some]))
    assert torch.isfinite(together).all()
    assert torch.allclose(together[0], together[2])
    assert torch.allclose(together[0], reader.read(level_trees([some]))[0], atol=1e-6)


STORIES = [
    Document(f"s{n}", (f"{who} lit the stove", f"then {who} cooked soup", "the soup was eaten", "dishes were washed"))
    for n, who in enumerate(("Ann", "Bob", "Cid", "Dan", "Eve", "Fay") * 3)
]


@pytest.fixture(scope="module")
def model() -> Recursive:
    model = Recursive(Recursive.Settings(dimensions=16, hidden=16, width=16))
    model.source = Branches()
    settings = TrainingSettings(steps=60, warmup=0, learning_rate=1e-2, validate_every=0, batch_tokens=400)
    return fit_documents(model, STORIES, settings=settings, vocabulary=300)


def test_the_model_learns_through_the_seam_alone(model: Recursive) -> None:
    document = STORIES[0]
    whole, mixed = model.order_scores(document, [range(4), (2, 0, 3, 1)])
    assert whole is not None
    assert mixed is not None
    assert whole > mixed


def test_a_store_whose_texts_were_not_given_is_refused(model: Recursive) -> None:
    class Texts:
        class store:  # noqa: N801
            @staticmethod
            def sentence(number: int) -> list[int]:
                return [number]

        @staticmethod
        def laid_out(pairs: object) -> tuple[list[list[int]], list[int]]:
            return [[0]], [7]

    with pytest.raises(ConfigError, match=r"needs the text of each sentence.*data\.train"):
        TreeStream(Texts(), {}).batch([0])  # type: ignore[arg-type]


def test_penn_trees_stand_before_the_parser(tmp_path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "trees.txt").write_text("(ROOT (S (NP (NNS Dogs)) (VP (VBP do) (RB n't) (VP (VB bark))) (. .)))\n")
    source = ParsedTrees(penn=str(tmp_path / "trees.txt"))
    (tree,) = source.trees(["Dogs don't bark."])
    assert tree.words == ("Dogs", "do", "n't", "bark", ".")


@pytest.mark.parametrize("composition", ["tanh", "lstm"])
def test_a_node_is_made_of_its_left_and_its_right_child(composition: str) -> None:
    torch.manual_seed(1)
    reader = TreeNetwork(small_settings(3, 4, composition), 9)
    below = torch.randn(1, 2, 4 if composition == "tanh" else 8)
    left, right = below[0, 0], below[0, 1]
    mixed = reader.compose.weight @ torch.cat([left[:4], right[:4]]) + reader.compose.bias
    found = reader._composed(below)[0]
    if composition == "tanh":
        assert torch.allclose(found, torch.tanh(mixed), atol=1e-6)
        return
    enter, keep_left, keep_right, output, new = mixed.chunk(5)
    cell = torch.sigmoid(enter) * torch.tanh(new)
    cell = cell + torch.sigmoid(keep_left + 1) * left[4:] + torch.sigmoid(keep_right + 1) * right[4:]
    assert torch.allclose(found, torch.cat([torch.sigmoid(output) * torch.tanh(cell), cell]), atol=1e-6)


def test_a_process_gets_its_texts_and_their_trees() -> None:
    trees = [TokenTree((number,), (1,), (), ()) for number in range(6)]
    batch = TreeBatch(np.array([[0, 1, -1], [2, 3, 4], [5, -1, -1]]), trees)
    for start in range(2):
        share = batch.rows(start, 2)
        assert len(share) == (2, 1)[start]
        for row, places in zip(batch.places[start::2], share.places, strict=True):
            assert [share.trees[place].tokens[0] for place in places[places >= 0]] == row[row >= 0].tolist()
        assert len(share.trees) == (share.places >= 0).sum()
