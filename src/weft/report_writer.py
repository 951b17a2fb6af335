"""The public function `write_report`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from weft.document import Document, Score
from weft.errors import ConfigError
from weft.io.atomic_files import write_atomically
from weft.loaded_model import AnyModel, Model, as_model
from weft.models.common.thread_pool import few_threads
from weft.progress import Progress, silent
from weft.registry import DEFAULT_MODEL
from weft.settings import check_type

SUFFIXES = (".html", ".htm")


def write_report(
    texts: str | Document | Iterable[str | Document],
    out: str | Path = "report.html",
    *,
    model: AnyModel = DEFAULT_MODEL,
    combine: str | None = None,
    genre: str | None = None,
    title: str = "",
    details: bool = True,
    pdf: bool = False,
    language: str = "en",
    progress: Progress = silent,
) -> Path:
    """Score texts and write a report on them: one HTML file that needs no other files and no network.

    Args:
        texts: A str (a whole text), a Document, or a list or Series of them.
        out: The HTML file to write.
        model: Name, folder, or what `load` returned.
        combine: ``uni``, ``bi`` or ``mmi``, for a generative model; the default is the model's own.
        genre: Genre of the reference texts of the percentiles; guessed from each text by default.
        title: Title of the report.
        details: Whether to show matrices, reasons, topics and latent paths, which take most of the time.
        pdf: Whether to print a PDF of the same name too; needs Chromium.
        language: Language of the sentence splitter.
        progress: Receives the progress.

    Returns:
        The path of the HTML file.

    Raises:
        WeftError: There is no such model, combination or genre, something is not a text, the file cannot be written,
            or there is no Chromium.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "report.html"
        >>> write_report("A cat sat. It slept. Rain fell.", file, model="foltz-sif").read_text()[:15]
        '<!DOCTYPE html>'
    """
    for name, value, example in (("title", title, ""), ("details", details, True), ("pdf", pdf, False)):
        check_type(name, value, example)
    check_report_file(out, pdf=pdf)
    loaded = as_model(model).combined(combine)
    found = loaded.score([texts] if isinstance(texts, str | Document) else texts, language=language, genre=genre)
    return write_scores(loaded, found, out, title=title, details=details, pdf=pdf, progress=progress)


def check_report_file(out: str | Path, *, pdf: bool = False) -> None:
    """Check the name of a report, and that there is a browser if a PDF is wanted, before texts are scored.

    Raises:
        ConfigError: The name does not end in .html.
        CorpusError: There is no Chromium.
    """
    if not isinstance(out, str | Path) or Path(out).suffix.lower() not in SUFFIXES:
        raise ConfigError(
            "a report is an HTML file",
            seen=str(out),
            allowed="a name that ends in .html; --pdf writes a PDF beside it",
            next_step="choose such a name, such as --out report.html",
        )
    if pdf:
        from weft.report.html.pdf_files import find_chromium

        find_chromium()


def write_scores(
    model: Model,
    scores: Sequence[Score],
    out: str | Path,
    *,
    title: str = "",
    details: bool = True,
    pdf: bool = False,
    progress: Progress = silent,
) -> Path:
    """Write a report on scores that the model gave; see `write_report`."""
    from weft.report.html.page import report_page

    target = Path(out)
    parts = report_page(scores, model.inner, name=model.name, title=title, details=details, progress=progress)
    with write_atomically(target) as handle, few_threads():
        for part in parts:
            handle.write(part.encode())
    if pdf:
        from weft.report.html.pdf_files import write_pdf

        write_pdf(target, target.with_suffix(".pdf"))
    return target
