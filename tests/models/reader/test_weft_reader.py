"""The default model: its weights are inside the package, and what it says of plain texts is what a user expects."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import weft
from weft.evaluation.metrics import kendall_tau
from weft.hub import model_folder
from weft.io.package_files import PRETRAINED
from weft.models.reader.reader import Reader
from weft.registry import DEFAULT_MODEL

EXAMPLES = Path(__file__).parents[3] / "examples"
MOST_BYTES = 36 * 2**20  # of all weights inside the package
SOUND = (
    "The town built a new library last year. It stands beside the river and has large windows. Children come there"
    " after school to read. In winter the rooms are warm, and many stay until evening. The librarian knows most of them"
    " by name.",
    "My grandmother kept hens behind the house. Every morning she let them out and counted them. One day a hen was"
    " missing. She searched the hedge and found it on a nest of eleven eggs. Three weeks later the yard was full of"
    " chicks.",
    "To make the dough, mix flour, salt and yeast in a large bowl. Add warm water and stir until the flour is wet. Then"
    " knead it for ten minutes. Cover the bowl with a cloth and let the dough rise for an hour. Finally, shape it into"
    " a loaf and bake it.",
)
STRANGER = "The treaty was signed by both governments in March 1921."


@pytest.fixture(scope="module")
def model() -> weft.Model:
    return weft.load(DEFAULT_MODEL)


def test_the_weights_in_the_package_are_small_and_have_their_notice() -> None:
    assert sum(path.stat().st_size for path in PRETRAINED.rglob("*") if path.is_file()) < MOST_BYTES
    assert "Apache License" in (model_folder(DEFAULT_MODEL) / "NOTICE.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("command", [["score", "essay.txt", "-e"], ["order", "shuffled.txt"]])
def test_commands_import_nothing_heavy(command: list[str]) -> None:
    arguments = [command[0], str(EXAMPLES / command[1]), *command[2:]]
    code = f"""
import atexit, sys
sys.argv = ["weft", *{arguments!r}]
heavy = ("torch", "transformers", "scipy", "sklearn", "pyarrow", "tomotopy")
atexit.register(lambda: print([name for name in heavy if name in sys.modules], file=sys.stderr))
from weft.cli import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout
    assert done.stderr.splitlines()[-1] == "[]"


def test_a_sound_text_has_no_break_and_beats_its_shuffles(model: weft.Model) -> None:
    for score in model.score(list(SOUND)):
        assert not score.breaks
        assert score.shuffles_beaten is not None and score.shuffles_beaten > 0.5


def test_a_stranger_is_found(model: weft.Model) -> None:
    found = []
    for score in model.score(list(SOUND)):
        assert score.document is not None
        sentences = score.document.sentences
        broken = model.score(weft.Document("broken", (*sentences[:3], STRANGER, *sentences[3:])))
        assert broken.value is not None and score.value is not None and broken.value < score.value
        found.append(bool(set(broken.breaks) & {2, 3}))
    assert sum(found) >= 2


def test_repetition_and_gibberish_do_not_raise_a_score(model: weft.Model) -> None:
    (score,) = model.score([SOUND[0]])
    assert score.document is not None and score.value is not None
    sentences = score.document.sentences
    letters = ("Qwx zzkp vbrt lmno.", "Trpl kkjw xxcv.", "Bnmz qqwp dfgh.", "Plok ijuh ygtf.", "Rdes waqz xcvb.")
    for damaged in ((sentences[0],) * 5, (*sentences, *(sentences[-1],) * 3), letters, (letters[0],) * 5):
        found = model.score(weft.Document("damaged", damaged)).value
        assert found is not None and found < score.value


def test_plain_texts_are_put_in_order(model: weft.Model) -> None:
    taus = []
    for text in SOUND:
        given = reversed_sentences(text, model)
        found = model.order(weft.Document("d", given)).order
        taus.append(kendall_tau([len(given) - 1 - place for place in found]) or 0.0)
    assert sum(taus) / len(taus) > 0.3  # a random order gets 0, the given one -1


def reversed_sentences(text: str, model: weft.Model) -> tuple[str, ...]:
    document = model.score(text).document
    assert document is not None
    return tuple(reversed(document.sentences))


def test_fluency_falls_when_words_are_mixed_up(model: weft.Model) -> None:
    assert isinstance(model.inner, Reader)
    mixed = " ".join(" ".join(reversed(part.split())) + "." for part in SOUND[0].rstrip(".").split(". "))
    plain, wrong = (model.score(text).fluency for text in (SOUND[0], mixed))
    assert plain is not None and wrong is not None and wrong < plain
