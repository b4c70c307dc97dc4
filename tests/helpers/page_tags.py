"""The tags, images and text of an HTML page."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "img", "line", "circle", "path", "br"}


class Tags(HTMLParser):
    """All tags of a page, whether they are closed in order, and its images and text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.images: list[str] = []
        self.text: list[str] = []
        self.scripts = 0

    def handle_starttag(self, tag, attributes):
        self.scripts += tag == "script"
        if tag == "img":
            self.images.append(dict(attributes)["src"])
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        assert tag in VOID

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def parsed(page: str) -> Tags:
    """The page, checked for tags that are closed in order."""
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    return tags
