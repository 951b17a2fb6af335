"""What a browser sees in HTML: elements with their attributes, and the text between them."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "br", "img", "rect", "line", "circle", "input", "link"}


class ParsedHtml(HTMLParser):
    """Elements, texts, and whether every element is closed where it was opened."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(page)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def named(self, tag: str) -> list[dict[str, str | None]]:
        """The attributes of all elements of a name."""
        return [attributes for name, attributes in self.elements if name == tag]

    def of_class(self, name: str) -> list[dict[str, str | None]]:
        """The attributes of all elements of a class."""
        return [attributes for _, attributes in self.elements if name in (attributes.get("class") or "").split()]
