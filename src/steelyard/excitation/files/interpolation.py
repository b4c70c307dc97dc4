"""What a controller does between the points that it is sent."""

from __future__ import annotations

from typing import Literal, get_args

Interpolation = Literal["linear", "cubic", "quintic"]
INTERPOLATIONS: tuple[Interpolation, ...] = get_args(Interpolation)
