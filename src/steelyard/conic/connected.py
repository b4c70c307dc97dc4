"""Blocks that share variables, directly or through others."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.conic.blocks import Block


def connected(blocks: Sequence[Block]) -> list[list[int]]:
    """Groups of block indices; blocks of different groups share no variable.

    Indices ascend in each group, and groups are in the order of their first blocks.
    """
    root: dict[int, int] = {}

    def find(column: int) -> int:
        while root.setdefault(column, column) != column:
            root[column] = root[root[column]]
            column = root[column]
        return column

    for block in blocks:
        for column in block.columns[1:]:
            root[find(column)] = find(block.columns[0])
    groups: dict[int, list[int]] = {}
    for k, block in enumerate(blocks):
        groups.setdefault(find(block.columns[0]), []).append(k)
    return list(groups.values())
