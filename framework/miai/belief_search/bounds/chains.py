"""One belief against a chain: the beliefs of which bounds are known, at one public part and depth.

Chains hold beliefs of one kind. Masks are compared where they stand, without a call: most of the
time of a search over small games is spent here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, cast

from miai.belief_search.sets import Belief, HashedSet, subset_test

if TYPE_CHECKING:
    Masks: TypeAlias = dict[int, float]
    Sets: TypeAlias = dict[HashedSet, float]

Chain: TypeAlias = dict[Belief, float]
"""Beliefs and the bounds of their values."""


def best_superset(chain: Chain, belief: Belief, floor: float) -> tuple[float, Belief]:
    """Return the greatest bound above a floor of a belief that contains one; else floor and 0."""
    best, which = floor, cast(Belief, 0)
    if isinstance(belief, int):
        for mask, value in cast("Masks", chain).items():
            if value > best and not belief & ~mask:
                best, which = value, mask
        return best, which
    contains, hashes, size = subset_test(), belief.hashes, belief.size
    for larger, value in cast("Sets", chain).items():
        if value > best and larger.size >= size and contains(larger.hashes, hashes):
            best, which = value, larger
    return best, which


def best_subset(chain: Chain, belief: Belief, ceiling: float) -> tuple[float, Belief]:
    """Return the least bound below a ceiling of a belief within one; else ceiling and 0."""
    best, which = ceiling, cast(Belief, 0)
    if isinstance(belief, int):
        for mask, value in cast("Masks", chain).items():
            if value < best and not mask & ~belief:
                best, which = value, mask
        return best, which
    contains, hashes, size = subset_test(), belief.hashes, belief.size
    for smaller, value in cast("Sets", chain).items():
        if value < best and smaller.size <= size and contains(hashes, smaller.hashes):
            best, which = value, smaller
    return best, which


def has_superset(chain: Chain, belief: Belief, least: float) -> bool:
    """Return whether a belief that contains one has a bound of at least so much."""
    if isinstance(belief, int):
        masks = cast("Masks", chain).items()
        return any(value >= least and not belief & ~mask for mask, value in masks)
    contains, hashes, size = subset_test(), belief.hashes, belief.size
    return any(
        value >= least and larger.size >= size and contains(larger.hashes, hashes)
        for larger, value in cast("Sets", chain).items()
    )


def has_subset(chain: Chain, belief: Belief, most: float) -> bool:
    """Return whether a belief within one has a bound of at most so much."""
    if isinstance(belief, int):
        masks = cast("Masks", chain).items()
        return any(value <= most and not mask & ~belief for mask, value in masks)
    contains, hashes, size = subset_test(), belief.hashes, belief.size
    return any(
        value <= most and smaller.size <= size and contains(hashes, smaller.hashes)
        for smaller, value in cast("Sets", chain).items()
    )


def subsets(chain: Chain, belief: Belief, most: float) -> list[Belief]:
    """Return the beliefs within one whose bounds are at most so much."""
    if isinstance(belief, int):
        masks = cast("Masks", chain).items()
        return [mask for mask, value in masks if value <= most and not mask & ~belief]
    contains, hashes, size = subset_test(), belief.hashes, belief.size
    return [
        smaller
        for smaller, value in cast("Sets", chain).items()
        if value <= most and smaller.size <= size and contains(hashes, smaller.hashes)
    ]


def supersets(chain: Chain, belief: Belief, least: float) -> list[Belief]:
    """Return the beliefs that contain one and whose bounds are at least so much."""
    if isinstance(belief, int):
        masks = cast("Masks", chain).items()
        return [mask for mask, value in masks if value >= least and not belief & ~mask]
    contains, hashes, size = subset_test(), belief.hashes, belief.size
    return [
        larger
        for larger, value in cast("Sets", chain).items()
        if value >= least and larger.size >= size and contains(larger.hashes, hashes)
    ]
