"""Trees: brackets, dependency parses as trees, sentences found by their letters."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from weft.corpora.syntax.parsed_sentence import ParsedSentence
from weft.corpora.syntax.trees import Tree, TreeBank, join_trees, read_tree, tree_of_parse
from weft.errors import CorpusError

SAT = "(ROOT (S (NP-SBJ (DT The) (NN cat)) (VP (VBD sat) (PP (IN on) (NP (PRP it)))) (. .)))"


def test_brackets_become_nodes_from_the_top_down() -> None:
    tree = read_tree(SAT)
    assert tree.labels[:4] == ("ROOT", "S", "NP", "DT")
    assert [word for word in tree.words if word] == ["The", "cat", "sat", "on", "it", "."]
    assert tree.depths()[:5] == [0, 1, 2, 3, 3]
    assert tree.children()[1] == [2, 5, 11]


@pytest.mark.parametrize("text", ["(S (NP", "(S))", ")"])
def test_brackets_that_do_not_match_are_refused(text: str) -> None:
    with pytest.raises(CorpusError, match="not a tree"):
        read_tree(text)


def test_a_very_deep_tree_is_no_trouble() -> None:
    tree = read_tree("(X " * 50_000 + "w" + ")" * 50_000)
    assert len(tree.labels) == 50_000
    assert max(tree.depths()) == 49_999


def test_a_dependency_parse_keeps_words_in_order() -> None:
    words = ("The", "dog", "chased", "cats", "today")
    parse = ParsedSentence(
        words, ("DT", "NN", "VBD", "NNS", "NN"), (1, 2, 2, 2, 2), ("det", "nsubj", "ROOT", "dobj", "npadvmod")
    )
    tree = tree_of_parse(parse)
    assert tuple(word for word in tree.words if word) == words
    assert tree.labels == ("ROOT", "nsubj", "det", "DT", "NN", "VBD", "dobj", "NNS", "npadvmod", "NN")


def test_a_parse_with_two_roots_and_an_empty_one() -> None:
    two = ParsedSentence(("Yes", "No"), ("UH", "UH"), (0, 1), ("ROOT", "ROOT"))
    assert tree_of_parse(two).parents == (-1, 0, -1, 2)
    assert tree_of_parse(ParsedSentence((), (), (), ())) == Tree((), (), ())


def test_sentences_are_found_whatever_the_splits() -> None:
    bank = TreeBank([read_tree(SAT), read_tree("(S (NP (NNS Dogs)) (VP (VBP bark)) (. !))")])
    assert bank.find("the cat sat on it") == read_tree(SAT)
    assert bank.find("The cat sat on it. Dogs bark!") == join_trees(bank.trees)
    assert bank.find("Dogs") == bank.trees[1]
    assert bank.find("") is None
    assert bank.find("Cows moo.") is None


def test_trees_are_read_from_a_file_and_from_an_archive(tmp_path: Path) -> None:
    (tmp_path / "trees.txt").write_text(f"{SAT}\n\n(S (NNS Dogs))\n")
    assert len(TreeBank.read(tmp_path / "trees.txt").trees) == 2
    with tarfile.open(tmp_path / "trees.tar.gz", "w:gz") as archive:
        for name in ("data/a.txt", "data/xml/other.txt"):
            member = tarfile.TarInfo(name)
            member.size = len(SAT)
            archive.addfile(member, io.BytesIO(SAT.encode()))
    assert len(TreeBank.read(tmp_path / "trees.tar.gz").trees) == 1


def test_a_file_without_trees_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("\n")
    with pytest.raises(CorpusError, match="no trees in the file"):
        TreeBank.read(tmp_path / "empty.txt")
    (tmp_path / "broken.tar.gz").write_bytes(b"nothing of the kind")
    with pytest.raises(CorpusError, match="cannot read trees"):
        TreeBank.read(tmp_path / "broken.tar.gz")


@pytest.mark.shared
def test_most_sentences_of_the_corpora_have_their_tree(shared_data: Path) -> None:
    from weft.corpora.readers.formats import read_documents

    bank = TreeBank.read(shared_data / "barzilay_lapata" / "corenlp_trees.tar.gz")
    for domain in ("accidents", "earthquakes"):
        documents = read_documents(shared_data / "barzilay_lapata" / f"{domain}.train.jsonl")
        found = [bank.find(sentence) is not None for document in documents for sentence in document.sentences]
        assert sum(found) / len(found) > 0.9
