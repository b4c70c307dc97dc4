"""A payload drawn in its frame, as SVG text: axes, centre of mass and equivalent box."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.report._matplotlib import svg_text
from steelyard.report.numbers import with_half_width
from steelyard.robot.principal_body import EquivalentBox

Array = NDArray[np.float64]

AXIS_COLORS = {"x": "#c62828", "y": "#1f7a4d", "z": "#1f5fb4"}
BOX, OPEN_BOX, COM, SOFT = "#444444", "#888888", "#111111", "#bbbbbb"
STEPS_MM = tuple(digit * 10.0**power for power in range(-3, 6) for digit in (1, 2, 5))
MOST_STEPS = 4
WIDTH, HEIGHT = 5.4, 4.4
"""Inches."""
SMALLEST_REACH = 0.005
"""m; a point at the origin is drawn in a space of this size."""


@dataclass(frozen=True)
class View:
    """A parallel projection, from a camera at these angles (degrees) about and above the frame."""

    name: str
    azimuth: float
    elevation: float

    @property
    def matrix(self) -> Array:
        """(3, 3), rows: right and up in the picture, and towards the camera."""
        a, e = math.radians(self.azimuth), math.radians(self.elevation)
        return np.array(
            [
                [-math.sin(a), math.cos(a), 0.0],
                [-math.sin(e) * math.cos(a), -math.sin(e) * math.sin(a), math.cos(e)],
                [math.cos(e) * math.cos(a), math.cos(e) * math.sin(a), math.sin(e)],
            ]
        )


VIEWS = (
    View("seen from between +x and +y", 35.0, 24.0),
    View("seen from between -x and +y", 125.0, 24.0),
)


@dataclass(frozen=True, eq=False)
class DrawnBody:
    """What is drawn.

    com_intervals : (lower, upper) in m of each coordinate; None where it is not determined.
    box_known : whether the data determine all of the inertia, and so the box.
    box_drawn : False where they say nothing about it.
    """

    box: EquivalentBox
    com_intervals: tuple[tuple[float, float] | None, ...]
    box_known: bool
    box_drawn: bool = True

    @property
    def corners(self) -> Array:
        """Corners (8, 3) of the box, mm; the centre of mass alone where no box is drawn."""
        if not self.box_drawn:
            return 1000.0 * self.box.centre[None]
        along = self.box.rotation * self.box.half_sizes
        signs = np.array(list(product((-1, 1), repeat=3)))
        return np.asarray(1000.0 * (self.box.centre + signs @ along.T))


def body_figure(body: DrawnBody, view: View) -> str:
    """The body from one side. Lengths are in mm."""

    def draw(figure: Any) -> None:
        figure.set_layout_engine("none")
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set_aspect("equal")
        axes.axis("off")
        draw_body(axes, body, view)
        axes.set_xlim(left, right)
        axes.set_ylim(bottom, top)
        figure.text(0.01, 0.99, com_label(body), fontsize=8, va="top")

    left, right, bottom, top = extent(body, view)
    return svg_text(draw, WIDTH, HEIGHT)


def extent(body: DrawnBody, view: View) -> tuple[float, float, float, float]:
    """Left, right, bottom and top of what is drawn, in mm of the picture, with a margin."""
    step, low, high = room(body)
    points = [np.array([x, y, 0.0]) for x in (low[0], high[0]) for y in (low[1], high[1])]
    points += [
        *((high + 0.5 * step) * np.eye(3)),
        *body.corners,
    ]
    for k in range(3):
        along = 1000.0 * body.box.centre
        for end in (low[k], high[k]):
            points.append(np.where(np.arange(3) == k, end, along))
    across, up = view.matrix[:2] @ np.array(points).T
    margin = 0.05 * float(max(np.ptp(across), np.ptp(up)))
    return (
        float(across.min()) - margin,
        float(across.max()) + margin,
        float(up.min()) - margin,
        float(up.max()) + margin,
    )


def draw_body(axes: Any, body: DrawnBody, view: View) -> None:
    """Everything on axes, back to front."""
    step, low, high = room(body)
    P = view.matrix
    _draw_floor(axes, P, low, high, step)
    _draw_axes(axes, P, high, step)
    if body.box_drawn:
        _draw_box(axes, P, body)
    _draw_com(axes, P, body, low, high)


def room(body: DrawnBody) -> tuple[float, Array, Array]:
    """Distance of the ticks, and the lower and upper corner (3,) of what is drawn, all in mm.

    The corners are multiples of that distance, and hold the origin, the box and the intervals.
    """
    shown = np.array([np.zeros(3), *body.corners])
    for k, ends in enumerate(body.com_intervals):
        if ends is not None:
            along = np.tile(1000.0 * body.box.centre, (2, 1))
            # an interval far wider than the body would shrink the body to a dot
            size = max(float(np.abs(shown).max()), 1000.0 * SMALLEST_REACH)
            along[:, k] = np.clip(1000.0 * np.array(ends), -3.0 * size, 3.0 * size)
            shown = np.concatenate([shown, along])
    low, high = shown.min(axis=0), shown.max(axis=0)
    reach = max(float((high - low).max()), 1000.0 * SMALLEST_REACH)
    step = next(s for s in (*STEPS_MM, reach) if s * MOST_STEPS >= reach)
    low = step * np.floor(low / step + 1e-9)
    return step, np.minimum(low, 0.0), np.maximum(step * np.ceil(high / step - 1e-9), step)


def com_label(body: DrawnBody) -> str:
    """The centre of mass with half widths of its intervals, one line for each axis."""
    lines = ["centre of mass, mm"]
    for name, value, ends in zip(AXIS_COLORS, body.box.centre, body.com_intervals, strict=True):
        if ends is None:
            lines.append(f"{name} open")
        else:
            half = 500.0 * (ends[1] - ends[0])
            lines.append("{} {} ± {}".format(name, *with_half_width(1000.0 * float(value), half)))
    return "\n".join(lines)


def _draw_floor(axes: Any, P: Array, low: Array, high: Array, step: float) -> None:
    """Lines of the plane z = 0, which show where things are."""
    for k, other in ((0, 1), (1, 0)):
        for at in np.arange(low[k], high[k] + 0.5 * step, step):
            ends = np.zeros((2, 3))
            ends[:, k] = at
            ends[:, other] = low[other], high[other]
            _line(axes, P, ends, color=SOFT, linewidth=0.5, alpha=0.7, zorder=1)


def _draw_axes(axes: Any, P: Array, high: Array, step: float) -> None:
    for k, (name, color) in enumerate(AXIS_COLORS.items()):
        tip = np.zeros(3)
        tip[k] = high[k] + 0.45 * step
        at = P[:2] @ tip
        axes.annotate(
            "",
            at,
            (0.0, 0.0),
            arrowprops={"arrowstyle": "-|>", "color": color, "linewidth": 1.8, "shrinkA": 0},
            zorder=4,
        )
        place = P[:2] @ (tip * (1.0 + 0.12 * step / tip[k]))
        axes.text(
            *place, name, color=color, fontsize=11, fontweight="bold", ha="center", va="center"
        )
        aside = label_side(P[:2, k])
        for tick in np.arange(step, high[k] + 0.5 * step, step):
            point = np.zeros(3)
            point[k] = tick
            x, y = P[:2] @ point
            axes.plot(x, y, "o", color=color, markersize=2.8, zorder=4)
            axes.annotate(
                f"{tick:g}",
                (x, y),
                tuple(aside),
                textcoords="offset points",
                ha="center",
                va="center",
                color=color,
                fontsize=8,
                zorder=6,
            )


def label_side(direction: Array) -> Array:
    """Where labels of an axis with this direction (2,) are put, below or right of it, points."""
    x, y = direction / max(float(np.linalg.norm(direction)), 1e-9)
    normal = np.array([y, -x]) if x > 0.0 else np.array([-y, x])
    if abs(x) < 0.1:
        normal = np.array([1.0, 0.0])
    return np.asarray(normal * (13.0, 9.0))


def _draw_box(axes: Any, P: Array, body: DrawnBody) -> None:
    """Twelve edges; those behind the box are dotted."""
    corners = body.corners
    signs = np.array(list(product((-1, 1), repeat=3)))
    farthest = int(np.argmin(corners @ P[2]))
    color = BOX if body.box_known else OPEN_BOX
    for i, first in enumerate(signs):
        for j in range(i + 1, len(signs)):
            if np.abs(first - signs[j]).sum() == 2:
                hidden = farthest in (i, j)
                style = ":" if hidden else "-" if body.box_known else (0, (5, 3))
                _line(
                    axes,
                    P,
                    corners[[i, j]],
                    color=color,
                    linewidth=1.0 if hidden else 1.4,
                    linestyle=style,
                    zorder=2 if hidden else 5,
                )


def _draw_com(axes: Any, P: Array, body: DrawnBody, low: Array, high: Array) -> None:
    """The centre of mass, its interval along each axis, and the place below it on the floor."""
    com = 1000.0 * body.box.centre
    _line(
        axes, P, np.array([com, com * (1, 1, 0)]), color=COM, linewidth=0.7, linestyle=":", zorder=3
    )
    for k, (ends, color) in enumerate(zip(body.com_intervals, AXIS_COLORS.values(), strict=True)):
        along = np.tile(com, (2, 1))
        along[:, k] = (low[k], high[k]) if ends is None else 1000.0 * np.array(ends)
        along[:, k] = np.clip(along[:, k], low[k], high[k])
        style = (0, (2, 2)) if ends is None else "-"
        _line(axes, P, along, color=color, linewidth=2.4, linestyle=style, zorder=7)
        if ends is not None:
            axes.plot(*(P[:2] @ along.T), "|", color=color, markersize=7, zorder=7)
    axes.plot(
        *(P[:2] @ com), "o", color=COM, markeredgecolor="white", markersize=7, zorder=8, alpha=0.85
    )


def _line(axes: Any, P: Array, points: Array, **style: Any) -> None:
    axes.plot(*(P[:2] @ points.T), **style)
