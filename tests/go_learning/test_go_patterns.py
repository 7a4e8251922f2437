"""The pattern policy: which moves it considers, symmetry, learning, playouts and its file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.go_learning.slow_planes import SlowGame, positions_of

from miai.errors import WeightsError
from miai.tensors import TrainingRecord, read_tensors, write_tensors
from miai_go.errors import DataError, TrainingError
from miai_go.kernels import trail
from miai_go.learning.training.rollout_policy import PatternReport, measure, train
from miai_go.nets.encoder import Positions
from miai_go.nets.patterns import PatternHeader, PatternPolicy
from miai_go.rules.chains import fills_eye
from miai_go.rules.playouts import Playouts
from miai_go.search.forest import Rollouts

SIZE = 5
POINTS = SIZE * SIZE


def play_random(seed: int, plies: int) -> list[int]:
    """Return random legal actions that fill no own eye; where one can capture, it does."""
    rng = np.random.default_rng(seed)
    game = SlowGame(SIZE)
    actions: list[int] = []
    for _ in range(plies):
        moves = considered(game)
        captures = [a for a in moves if takes(game, a)]
        actions.append(int(rng.choice(captures or moves or [POINTS])))
        game.play(actions[-1])
    return actions


def considered(game: SlowGame) -> list[int]:
    colors, own = game.board.colors, game.color
    return [a for a in range(game.size**2) if game.legal(a) and not fills_eye(colors, a, own)]


def takes(game: SlowGame, action: int) -> bool:
    return bool(game.board.copy().play(action, game.color))


def some_policy(seed: int = 5) -> PatternPolicy:
    policy = PatternPolicy.untrained(SIZE)
    rng = np.random.default_rng(seed)
    policy.weights[:] = rng.normal(0, 0.4, len(policy.weights))
    return policy


@pytest.fixture(scope="module")
def trained() -> PatternPolicy:
    policy = PatternPolicy.untrained(SIZE)
    record = TrainingRecord(command="tests", date="2026-11-21")
    train(policy, [play_random(seed, 50) for seed in range(100)], size=SIZE, record=record)
    return policy


@pytest.mark.slow
def test_untrained_it_plays_alike_what_is_legal_and_fills_no_eye() -> None:
    games = [play_random(seed, plies) for seed in range(6) for plies in (0, 7, 30, 55)]
    shares = PatternPolicy.untrained(SIZE).probabilities(positions_of(SIZE, games))
    assert shares.shape == (len(games), POINTS + 1)
    for actions, row in zip(games, shares, strict=True):
        game = SlowGame(SIZE)
        for action in actions:
            game.play(action)
        moves = [*considered(game), POINTS]
        expected = np.zeros(POINTS + 1)
        expected[moves] = 1 / len(moves)
        np.testing.assert_allclose(row, expected, rtol=1e-5, err_msg=f"after {actions}")


@pytest.mark.slow
@pytest.mark.parametrize("symmetry", range(1, 8))
def test_a_turned_position_has_the_turned_probabilities(symmetry: int) -> None:
    games = [play_random(seed, 9 + 4 * seed) for seed in range(8)]
    to_new = np.append(np.argsort(turn(np.arange(POINTS), symmetry)), POINTS)
    policy = some_policy()
    plain = policy.probabilities(positions_of(SIZE, games))
    moved = policy.probabilities(positions_of(SIZE, [[int(to_new[a]) for a in g] for g in games]))
    np.testing.assert_allclose(moved[:, to_new], plain, rtol=1e-4)
    assert plain.max() > 3 * np.median(plain[plain > 0])  # the weights tell moves apart


def turn(flat: NDArray[np.int64], symmetry: int) -> NDArray[np.int64]:
    square = np.rot90(flat.reshape(SIZE, SIZE), symmetry % 4)
    return (square[:, ::-1] if symmetry >= 4 else square).ravel()


@pytest.mark.slow
def test_learning_finds_the_captures_and_measures_on_other_games(trained: PatternPolicy) -> None:
    # The players capture where they can, at random otherwise: the policy must find that out.
    games = [play_random(seed, 50) for seed in range(1000, 1012)]
    report = measure(trained, games, size=SIZE)
    blind = measure(PatternPolicy.untrained(SIZE), games, size=SIZE)
    assert report.positions == blind.positions == 12 * 50
    assert report.cross_entropy < blind.cross_entropy - 0.15
    found, hit = 0, 0
    for game in games:
        position = SlowGame(SIZE)
        shares = trained.probabilities(positions_of(SIZE, [game[:ply] for ply in range(50)]))
        for ply, action in enumerate(game):
            if any(takes(position, a) for a in considered(position)):
                found += 1
                hit += takes(position, int(shares[ply].argmax()))
            position.play(action)
    assert found > 40
    assert hit > 0.9 * found


@pytest.mark.slow
def test_measures_are_those_of_the_probabilities(trained: PatternPolicy) -> None:
    game = play_random(77, 40)
    shares = trained.probabilities(positions_of(SIZE, [game[:ply] for ply in range(40)]))
    made = shares[np.arange(40), game]
    report = measure(trained, [game], size=SIZE)
    assert report.unseen == 0
    np.testing.assert_allclose(report.cross_entropy, -np.log(made).mean(), rtol=1e-3)
    assert report.top_1 == pytest.approx((made == shares.max(axis=1)).mean(), abs=0.06)


@pytest.mark.slow
def test_training_is_reproducible_and_noted() -> None:
    games = [play_random(seed, 30) for seed in range(20)]
    output: list[tuple[int, PatternReport]] = []
    policies = [PatternPolicy.untrained(SIZE) for _ in range(2)]
    for policy in policies:
        note: Any = lambda epoch, report: output.append((epoch, report))  # noqa: E731
        train(policy, games, size=SIZE, epochs=2, seed=3, progress=note)
    np.testing.assert_array_equal(policies[0].weights, policies[1].weights)
    assert [epoch for epoch, _ in output] == [0, 1, 0, 1]
    assert output[1][1].cross_entropy < output[0][1].cross_entropy
    assert policies[0].header.history[0].steps == 2 * 20 * 30
    assert policies[0].header.sizes == (SIZE, SIZE)


@pytest.mark.slow
def test_bad_games_and_rates_are_refused() -> None:
    policy = PatternPolicy.untrained(SIZE)
    with pytest.raises(DataError, match=r"game 1 .* illegal"):
        train(policy, [[0, 1], [3, 3]], size=SIZE)
    with pytest.raises(DataError, match=r"game 0 .* illegal"):
        measure(policy, [[POINTS + 1]], size=SIZE)
    with pytest.raises(DataError, match="no games"):
        train(policy, [], size=SIZE)
    with pytest.raises(TrainingError, match="rate"):
        train(policy, [[0]], size=SIZE, rate=0.0)
    assert not policy.weights.any()


@pytest.mark.slow
def test_a_file_comes_back_as_it_was(trained: PatternPolicy, tmp_path: Path) -> None:
    path = tmp_path / "patterns.safetensors"
    trained.save(path)
    loaded = PatternPolicy.load(path, size=SIZE)
    np.testing.assert_array_equal(loaded.weights, trained.weights)
    assert loaded.header == trained.header
    assert loaded.header.history[0].date == "2026-11-21"
    with pytest.raises(WeightsError, match="for 5x5, not for 9x9"):
        PatternPolicy.load(path, size=9)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_files_that_are_not_what_they_say_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "patterns.safetensors"
    some_policy().save(path)
    data = path.read_bytes()
    tensors, metadata = read_tensors(path)
    other = tmp_path / "other.safetensors"

    def refused(match: str) -> None:
        with pytest.raises(WeightsError, match=match) as caught:
            PatternPolicy.load(other)
        assert str(other) in str(caught.value)
        assert "\n" not in str(caught.value)

    other.write_bytes(data[:-4] + b"\x00\x00\x80\x3e")
    refused("digest")
    write_tensors(other, tensors, {})
    refused("no header")
    header = json.loads(metadata[PatternHeader.KEY])
    for change, match in (
        ({"version": 2}, "version"),
        ({"features": ["reply"]}, "families"),
        ({"sizes": [0, 99]}, "not a range"),
        ({"extra": 1}, "unknown"),
        ({"licence": "MIT"}, "digest"),
    ):
        write_tensors(other, tensors, {PatternHeader.KEY: json.dumps({**header, **change})})
        refused(match)
    fewer = {name: array for name, array in tensors.items() if name != "reply"}
    write_tensors(other, fewer, metadata)
    refused("digest|'reply'")


# -- rollouts from leaves: their means are those of playouts from the same positions ---------------


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
    rollouts: Rollouts, positions: Positions, *, count: int = COUNT, limit: int = 75, **more: Any
) -> list[float]:
    given = {"counts": count, "limits": limit, "komi": KOMI, **more}
    arrays = {name: np.array([number]) for name, number in given.items()}
    rng, games = np.array([3], np.uint64), np.zeros(len(positions), np.int32)
    return [float(value) for value in rollouts.results(positions, games, rng=rng, **arrays)]


@pytest.mark.slow
def test_light_rollouts_agree_with_playouts() -> None:
    positions = leaves()
    found = results(Rollouts(SIZE), positions)
    for row, passes in enumerate((0, 0, 1)):
        board, mover = positions.board(row), int(positions.colors()[row]) - 1
        expected = Playouts(SIZE, 77).run(board, mover, COUNT, komi=KOMI, passes=passes)
        # Two means of 4000 results within -1 to 1 differ by less than 0.1 but once in 10**5.
        assert found[row] == pytest.approx(expected.value(mover), abs=0.1), row


def test_the_score_is_a_share_of_a_rollouts_worth() -> None:
    """Rollouts of no move end at once, so that their worth is that of the board."""
    positions = leaves()
    found = results(Rollouts(SIZE), positions, count=2, limit=0, shares=0.4)
    for row in range(len(positions)):
        margin = positions.board(row).area_score() - KOMI
        black = 0.6 * np.sign(margin) + 0.4 * np.tanh(margin / SIZE)
        assert found[row] == pytest.approx(black if positions.colors()[row] == 1 else -black)


def played_by(policy: PatternPolicy, positions: Positions, row: int, count: int) -> Any:
    """Return Black's results of games in which NumPy draws the moves."""
    rng, one = np.random.default_rng(99), positions[row : row + 1]
    games = Positions(SIZE, np.repeat(one.words, count, 0), np.repeat(one.trails, count, 0))
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
    policy, positions = some_policy(), leaves()[:2]
    means = results(Rollouts(SIZE, policy), positions)
    for row in range(2):
        black = float(played_by(policy, positions, row, 250).mean())
        mover = int(positions.colors()[row])
        assert means[row] == pytest.approx(black if mover == 1 else -black, abs=0.2), row


@pytest.mark.slow
@pytest.mark.parametrize("policy", [None, PatternPolicy.untrained(SIZE)])
def test_seeds_and_counts_are_respected(policy: PatternPolicy | None) -> None:
    rollouts, positions = Rollouts(SIZE, policy), leaves()
    first, again = (results(rollouts, positions, count=9) for _ in range(2))
    assert first == again
    assert results(rollouts, positions, count=0) == [0.0, 0.0, 0.0]
    assert {abs(value) for value in results(rollouts, positions, count=1)} == {1.0}
