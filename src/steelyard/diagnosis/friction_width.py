"""The width of Coulomb friction: one share of the speed for all joints, or one for each.

A width that predicts left-out parts best may be one of two things: a property of the robot, whose
friction grows with the speed, or the smear of a measurement that does not know the sign of a small
speed, because of noise, of the filter, or since the joint sticks. Only the first belongs to the law
of the robot. It is seen at speeds whose sign is sure; see `law_shares`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.left_out import Parts, best_of, left_out_squares, scores
from steelyard.diagnosis.signal_ways import Way, Ways, predicted_way

Array = NDArray[np.float64]

SHARES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4)
"""Widths that are tried, as shares of the rms speed."""
CLEARLY = 0.1
"""A width belongs to the law if the squared error without it is larger by more than this share.
With MuJoCo's frictionloss a width of 2 % gained up to 6 %, with tanh 25 % or more."""


def shares_by_term(ways: Ways, way: Way) -> dict[str, float]:
    """A share for each term, by owner; the one of ``way`` for all unless several predict better,
    and for joints that are not compared.

    A channel's factors depend only on the widths of the terms that act on it, so those of
    different shares can be combined channel by channel. Rows of energy or power are not of single
    channels: all terms then have one share.
    """
    if not ways.equation.of_joints:
        return dict.fromkeys(ways.speeds, way.share)
    all_ways = [replace(way, share=share) for share in SHARES]
    ways.find_shares(way, SHARES)
    squares = [ways.squares(one)[0] for one in all_ways]
    predicted = [ways.parts(predicted_way(one)) for one in all_ways]
    counts, shared = predicted[0].counts, SHARES.index(way.share)
    best = np.full(counts.shape[1], shared)
    own = dict.fromkeys(ways.speeds, way.share)
    for owners, channels in _terms_of_channels(ways):
        choice = best_of([scores(one, counts, channels) for one in squares], shared)
        best[channels] = choice
        own.update(dict.fromkeys(owners, SHARES[choice]))
    if len(set(own.values())) > 1:
        mixed = _mixed([ways.parts(one) for one in all_ways], best)
        several = left_out_squares(mixed, _mixed(predicted, best), ways.pull)
        gain = scores(squares[shared], counts) - scores(several, counts)
        if float(gain.mean()) > float(np.std(gain, ddof=1)) / np.sqrt(len(gain)):
            return own
    return dict.fromkeys(ways.speeds, way.share)


def law_shares(ways: Ways, way: Way, shares: Mapping[str, float]) -> dict[str, float]:
    """Shares by owner that belong to the law: those that predict left-out torques best where the
    sign of the speed is sure. sign(v) is kept where it is about as good, and for a single joint the
    share of all joints. At most ``shares``; exactly these if no other cutoff shows which speeds are
    sure.

    shares : those that predict all left-out torques best.
    """
    if not any(shares.values()) or not ways.equation.of_joints or ways.other_cutoff(way) is None:
        return dict(shares)
    # fitted outside the dead band, where all laws are one
    fitted = replace(way, dead_band=True)
    all_ways = [replace(fitted, share=share) for share in SHARES]
    ways.find_shares(fitted, SHARES, sure=True)
    squares, counts = zip(*(ways.squares(one, sure=True) for one in all_ways), strict=True)
    usual = best_of([scores(one, counts[0]) for one in squares], 0, CLEARLY)
    found = {owner: min(SHARES[usual], share) for owner, share in shares.items()}
    for owners, channels in _terms_of_channels(ways):
        own = [scores(one, counts[0], channels) for one in squares]
        best = SHARES[best_of(own, usual, CLEARLY)]
        found.update({owner: min(best, shares[owner]) for owner in owners})
    return found


def _terms_of_channels(ways: Ways) -> list[tuple[list[str], list[int]]]:
    """Owners of terms that jump at zero speed, with the compared channels that they act on;
    together if they share one, and not those that act on others, too.
    """
    rows = {name: row for row, name in enumerate(ways.model.channels)}
    sets: list[tuple[list[str], set[int]]] = []
    for term in ways.model.jumping_terms:
        own = {rows[joint] for joint, _ in term.direction}
        touching = [one for one in sets if one[1] & own]
        sets = [one for one in sets if not one[1] & own]
        owners = [*(owner for one in touching for owner in one[0]), term.owner]
        sets.append((owners, own.union(*(one[1] for one in touching))))
    place = {row: k for k, row in enumerate(ways.compared.rows)}
    return [(owners, [place[k] for k in sorted(own)]) for owners, own in sets if own <= set(place)]


def _mixed(ways: Sequence[Parts], chosen: NDArray[np.int64]) -> Parts:
    """Parts whose channels are prepared in different ways."""
    channels = tuple(ways[int(k)].channels[c] for c, k in enumerate(chosen))
    return replace(ways[0], channels=channels)
