"""From docstrings as the code writes them to reStructuredText.

The docstrings are plain text with three habits: ``name : meaning`` lines are a list,
indented blocks are shown as they stand, ``literals``, :func:`roles` and *emphasis* are kept.
Everything else that reStructuredText would read as markup (|tau|, W_, a*b) is text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

ITEM = re.compile(r"^[\w*][\w*.]*(?:, [\w*][\w*.]*)* : ")
BULLET = re.compile(r"^(?:[-*] |\d+\. )")
EMPHASIS = r"(?<!\w)\*{1,2}\w[\w -]*\*{1,2}(?!\w)"
MARKED = re.compile(rf"(``.+?``|:[\w:+-]+:`[^`]+`|`[^`]+`|{EMPHASIS})")
SPECIAL = re.compile(r"[*|]|(?<=\w)_(?!\w)")


def process(
    app: object, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Handler of Sphinx's ``autodoc-process-docstring``: changes ``lines`` in place."""
    lines[:] = as_rest(lines)


def as_rest(lines: Iterable[str]) -> list[str]:
    """The docstring's lines as reStructuredText."""
    out: list[str] = []
    announced = False
    for block in blocks(lines):
        if block[0].startswith(" "):
            out += [] if announced else ["::", ""]
            out += [*block, ""]
        else:
            out += text_block(block)
        announced = block[-1].endswith("::")
    return out


def blocks(lines: Iterable[str]) -> list[list[str]]:
    """Lines grouped at blank lines; indented groups in a row stay one block."""
    groups: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            groups[-1].append(line)
        elif groups[-1]:
            groups.append([])
    merged: list[list[str]] = []
    for group in filter(None, groups):
        if merged and group[0].startswith(" ") and merged[-1][0].startswith(" "):
            merged[-1] += ["", *group]
        else:
            merged.append(group)
    return merged


def text_block(block: list[str]) -> list[str]:
    """A paragraph, a bullet list, or a list of ``name : meaning`` items."""
    out: list[str] = []
    for item in items(block):
        text = " ".join(line.strip() for line in item)
        bullet, named = BULLET.match(text), ITEM.match(text)
        if bullet:
            out += [f"- {escape(text[bullet.end() :])}", ""]
        elif named:
            name, _, meaning = text.partition(" : ")
            out += [f"- ``{name}`` : {escape(meaning)}", ""]
        else:
            out += [escape(text), ""]
    return out


def items(block: list[str]) -> list[list[str]]:
    """The block split where a bullet or a ``name : meaning`` line starts."""
    found: list[list[str]] = []
    for line in block:
        if not found or BULLET.match(line) or ITEM.match(line):
            found.append([line])
        else:
            found[-1].append(line)
    return found


def escape(text: str) -> str:
    """Take the meaning from characters that reStructuredText would read as markup."""
    parts = MARKED.split(text)
    return "".join(
        part if k % 2 else SPECIAL.sub(lambda found: "\\" + found.group(), part)
        for k, part in enumerate(parts)
    )
