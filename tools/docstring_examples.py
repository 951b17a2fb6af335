"""A griffe extension for mkdocs.yml: shows the section `Example:` of docstrings as code.

griffe knows the section by its plural only, and takes the singular for a remark.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

SECTION = re.compile(r"^([ ]*)Example:$", re.MULTILINE)


class DocstringExamples(griffe.Extension):
    """Renames the section before docstrings are parsed."""

    def on_instance(self, *, obj: griffe.Object, **_other: Any) -> None:
        """Change the docstring of a module, class, function or attribute.

        Args:
            obj: What was just read from the source.
        """
        if obj.docstring is not None:
            obj.docstring.value = SECTION.sub(r"\1Examples:", obj.docstring.value)
