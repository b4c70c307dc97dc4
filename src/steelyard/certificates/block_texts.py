"""Conditions, base maps and terms as the exact texts that a certificate holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.blocks import Block
from steelyard.conic.exact_text import number, number_text, texts
from steelyard.model.terms import Term, term_document, term_from

Array = NDArray[np.float64]


def block_document(block: Block) -> dict[str, Any]:
    """A condition as plain data with exact coefficients."""
    return {
        "name": block.words,
        "kind": block.kind,
        "columns": [int(c) for c in block.columns],
        "A": [texts(row) for row in block.A],
        "b": texts(block.b),
    }


def sparse_texts(K: Array) -> list[list[Any]]:
    """The nonzero entries: [row, column, value]."""
    rows, columns = np.nonzero(K)
    return [
        [int(i), int(j), number_text(float(K[i, j]))] for i, j in zip(rows, columns, strict=True)
    ]


SHAPES = ("width", "travel", "speed")
"""Numbers of a term that shape its law."""


def term_texts(term: Term) -> dict[str, Any]:
    """A term as plain data, its numbers as exact texts."""
    made = term_document(term)
    made["direction"] = {joint: number_text(weight) for joint, weight in term.direction}
    made |= {name: number_text(made[name]) for name in SHAPES if name in made}
    if term.load:
        made["load"] = {body: [number_text(x) for x in phi] for body, phi in term.load}
    return made


def term_of_texts(entry: Mapping[str, Any]) -> Term:
    """The term that :func:`term_texts` described; KeyError and the like for anything else."""
    direction = {joint: float(number(text)) for joint, text in entry["direction"].items()}
    shapes = {name: float(number(entry.get(name, "0"))) for name in SHAPES}
    load = {body: [float(number(x)) for x in phi] for body, phi in entry.get("load", {}).items()}
    return term_from({**entry, "direction": direction, **shapes, "load": load})
