"""What mkdocs does besides its settings in mkdocs.yml, so that the same Markdown works on the site and on GitHub.

- Pages that stand outside of docs/, such as CONTRIBUTING.md, are part of the site, and links to them lead there.
- Every model that comes with the repository has a page with its card.
- A code block with the mark `needs-data` gets a title that says so.
- The search dialog has a name.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from weft.hub import known_models
from weft.report.model_card import model_card
from weft.report.tables import load_results

ROOT = Path(__file__).parents[1]
# Pages of the site by their name there, and the files that they are.
OUTSIDE = {"contributing.md": "CONTRIBUTING.md", "zoo.md": "zoo/README.md", "changelog.md": "CHANGELOG.md"}
LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)\s#]+)")
SEARCH = '<div class="md-search" data-md-component="search" role="dialog">'
NEEDS_DATA = re.compile(r"^(```\w+) needs-data$", re.MULTILINE)


def models_with_cards() -> list[str]:
    """Return the names of the models in the package and in zoo/, in order.

    Example:
        >>> {"weft-reader", "foltz-glove"} <= set(models_with_cards())
        True
    """
    inside = (row.name for row in known_models() if row.source == "weft" or (ROOT / "zoo" / row.name).is_dir())
    return sorted(inside)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add the cards to the part of the navigation that is about models."""
    (models,) = (part["Models"] for part in config.nav or [] if "Models" in part)
    models.append({"Cards": [{name: f"cards/{name}.md"} for name in models_with_cards()]})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that stand outside of docs/, and the cards."""
    for name, path in OUTSIDE.items():
        files.append(File.generated(config, name, content=(ROOT / path).read_text(encoding="utf-8")))
    results = load_results(ROOT / "results")
    for name in models_with_cards():
        files.append(File.generated(config, f"cards/{name}.md", content=model_card(name, results)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Point links to the pages of the site, and name the blocks that need data."""
    place = page.file.src_uri
    markdown = LINK.sub(lambda found: site_link(found[1], place), markdown)
    return NEEDS_DATA.sub(r'\1 title="needs the research data"', markdown)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:  # noqa: ARG001
    """Give the search dialog of the theme a name, which screen readers say."""
    return output.replace(SEARCH, SEARCH.replace(">", ' aria-label="Search">'))


def site_link(target: str, page: str) -> str:
    """Return a link of a page in the repository as a link on the site.

    Args:
        target: Path relative to the folder of the page in the repository.
        page: Name of the page on the site.

    Example:
        >>> site_link("../CONTRIBUTING.md", "models.md"), site_link("docs/models.md", "contributing.md")
        ('contributing.md', 'models.md')
        >>> site_link("../../zoo/README.md", "tutorials/teacher.md"), site_link("../docs/log.md", "zoo.md")
        ('../zoo.md', 'log.md')
    """
    source = OUTSIDE.get(page, f"docs/{page}")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
    outside = {path: name for name, path in OUTSIDE.items()} | {"README.md": "index.md"}
    name = outside.get(path) or (path.removeprefix("docs/") if path.startswith("docs/") else None)
    return target if name is None else posixpath.relpath(name, posixpath.dirname(page) or ".")
