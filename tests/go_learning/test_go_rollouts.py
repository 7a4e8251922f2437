"""Rollouts from leaves: their means are those of playouts from the same positions."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from miai_go.kernels import trail
from miai_go.nets.encoder import Positions
from miai_go.nets.patterns import PatternPolicy
from miai_go.rules.playouts import Playouts
from miai_go.search.forest import Rollouts

SIZE = 5
KOMI = 2.5
COUNT = 4000


def leaves() -> Positions:
    """The empty board, a position with White to move, and one after a pass."""
    positions = Positions.room(SIZE, 3)
    for row, actions in enumerate(([], [12, 7, 6], [12, 25])):
        moves = np.array(actions, np.int16)
        played = trail.extend_trail(positions.words[row], positions.trails[row], moves, False)
        assert played == len(actions)
    return positions


def results(
    rollouts: Rollouts, positions: Positions, *, seed: int, count: int = COUNT
) -> list[float]:
    found = rollouts.results(
        positions,
        np.zeros(len(positions), np.int32),
        counts=np.array([count]),
        limits=np.array([75]),
        komi=np.array([KOMI]),
        rng=np.array([seed], np.uint64),
    )
    return [float(value) for value in found]


def test_light_rollouts_agree_with_playouts() -> None:
    positions = leaves()
    found = results(Rollouts(SIZE), positions, seed=3)
    for row, passes in enumerate((0, 0, 1)):
        mover = int(positions.colors()[row]) - 1
        expected = Playouts(SIZE, 77).run(
            positions.board(row), mover, COUNT, komi=KOMI, passes=passes
        )
        # Two means of 4000 results within -1 to 1 differ by less than 0.1 but once in 10**5.
        assert found[row] == pytest.approx(expected.value(mover), abs=0.1), row


def test_the_score_is_a_share_of_a_rollouts_worth() -> None:
    """Rollouts of no move end at once, so that their worth is that of the board."""
    positions = leaves()
    found = Rollouts(SIZE).results(
        positions,
        np.zeros(len(positions), np.int32),
        counts=np.array([2]),
        limits=np.array([0]),
        komi=np.array([KOMI]),
        rng=np.array([3], np.uint64),
        shares=np.array([0.4]),
    )
    for row in range(len(positions)):
        margin = positions.board(row).area_score() - KOMI
        black = 0.6 * np.sign(margin) + 0.4 * np.tanh(margin / SIZE)
        assert found[row] == pytest.approx(black if positions.colors()[row] == 1 else -black)


def played_by(
    policy: PatternPolicy, positions: Positions, row: int, count: int
) -> NDArray[np.float64]:
    """Return Black's results of games in which NumPy draws the moves."""
    rng = np.random.default_rng(99)
    games = Positions(
        SIZE,
        np.repeat(positions.words[row : row + 1], count, 0),
        np.repeat(positions.trails[row : row + 1], count, 0),
    )
    passes = np.zeros(count, int)
    for _ in range(75):
        shares = policy.probabilities(games).astype(float)
        for game in np.flatnonzero(passes < 2).tolist():
            moves = shares[game, :-1].sum()  # without any the player passes
            action = rng.choice(SIZE**2, p=shares[game, :-1] / moves) if moves else SIZE**2
            passes[game] = passes[game] + 1 if action == SIZE**2 else 0
            move = np.array([action], np.int16)
            assert trail.extend_trail(games.words[game], games.trails[game], move, False) == 1
    return np.sign([games.board(game).area_score() - KOMI for game in range(count)])


@pytest.mark.slow
def test_pattern_rollouts_agree_with_games_drawn_by_the_probabilities() -> None:
    policy = PatternPolicy.untrained(SIZE)
    rng = np.random.default_rng(5)
    policy.weights[:] = rng.normal(0, 0.3, len(policy.weights))
    positions = leaves()[:2]
    means = results(Rollouts(SIZE, policy), positions, seed=3)
    for row in range(2):
        black = float(played_by(policy, positions, row, 250).mean())
        mover = int(positions.colors()[row])
        assert means[row] == pytest.approx(black if mover == 1 else -black, abs=0.2), row


@pytest.mark.parametrize("policy", [None, PatternPolicy.untrained(SIZE)])
def test_seeds_and_counts_are_respected(policy: PatternPolicy | None) -> None:
    rollouts, positions = Rollouts(SIZE, policy), leaves()
    assert results(rollouts, positions, seed=1, count=9) == results(
        rollouts, positions, seed=1, count=9
    )
    assert results(rollouts, positions, seed=1, count=0) == [0.0, 0.0, 0.0]
    assert {abs(value) for value in results(rollouts, positions, seed=1, count=1)} == {1.0}
