"""Scans: exact outcomes of all windows, and the strategies that choose among them."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from functools import cache

import numpy as np
import pytest
from tests.rbc.games import follow, rbc

from miai_rbc.belief import scans
from miai_rbc.rules.board_set import BoardSet
from miai_rbc.rules.game import window
from miai_rbc.rules.rows import piece_at


@cache
def middle_games() -> list[tuple[BoardSet, int]]:
    """Return beliefs of both players that have a few hundred to a few thousand boards."""
    found = []
    for seed in range(2):
        for played in follow(rbc(), random.Random(seed), 16, limit=1000):
            for player, belief in enumerate(played.beliefs):
                if len(belief) > 200:
                    found.append((belief.boards.copy(), player))
    return found[:: max(1, len(found) // 6)]


@pytest.mark.parametrize(
    "number", [0, 1, *(pytest.param(n, marks=pytest.mark.soak) for n in range(2, 6))]
)
def test_outcomes_equal_a_count_by_hand(number: int) -> None:
    boards, player = middle_games()[number]
    weights = np.random.default_rng(number).random(len(boards))
    plain, weighted = (scans.outcomes(boards, player, w) for w in (scans.NO_WEIGHTS, weights))
    assert plain.total == len(boards)
    for index, centre in enumerate(scans.CENTRES):
        counts: Counter[tuple[str | None, ...]] = Counter()
        sums: defaultdict[tuple[str | None, ...], float] = defaultdict(float)
        for row, weight in zip(boards.rows, weights, strict=True):
            seen = tuple(piece_at(row, square) for square in window(centre))
            counts[seen] += 1
            sums[seen] += weight
        assert sorted(plain.sums[index]) == sorted(map(float, counts.values()))
        assert np.allclose(sorted(weighted.sums[index]), sorted(sums.values()))


def test_strategies_keep_their_promises() -> None:
    """Entropy from its definition; equal weights are no weights."""
    for boards, player in middle_games():
        found = scans.outcomes(boards, player)
        entropies = scans.entropy(boards, player)
        for index, sums in enumerate(found.sums):
            share = sums / len(boards)
            assert entropies[index] == pytest.approx(-(share * np.log2(share)).sum())
        equal = scans.weighted(boards, player, np.full(len(boards), 0.25))
        assert np.allclose(equal, entropies)


def test_the_partition_looks_at_the_square_whose_commonest_content_is_rarest() -> None:
    for boards, player in middle_games()[:2]:
        values = scans.partition(boards, player)
        for index, centre in enumerate(scans.CENTRES):
            contents = Counter(piece_at(row, centre) for row in boards.rows)
            assert values[index] == -max(contents.values())


def test_tables_that_grow_hold_the_same_outcomes(monkeypatch: pytest.MonkeyPatch) -> None:
    boards, player = middle_games()[0]
    for _ in range(2):
        boards = boards.copy()
        boards.rows[:, 7] ^= np.uint64(1)
        boards, _ = boards.after_opponent(None, limit=20_000)
    weights = np.random.default_rng(1).random(len(boards))
    whole = scans.outcomes(boards, player, weights)
    monkeypatch.setattr(scans, "_FIRST_TABLE", 1 << 10)  # for 512 outcomes
    found = scans.outcomes(boards, player, weights)
    assert max(map(len, found.sums)) > 512
    for sums, expected in zip(found.sums, whole.sums, strict=True):
        assert sorted(sums) == sorted(expected)
