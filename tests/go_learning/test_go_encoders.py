"""Compiled planes against slow ones made from the definitions, and what all encoders keep to."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.go_learning import slow_planes
from tests.go_learning.slow_planes import SlowGame, positions_of

from miai.errors import ParameterError, UnknownComponentError
from miai.parameters import Parameters
from miai.plugins.registry import Registry
from miai_go.kinds import ENCODER
from miai_go.nets.encoder import Encoder, Positions, load_encoder
from miai_go.nets.encoders import AlphaGoEncoder, ZeroEncoder
from miai_go.nets.network_parameters import AlphaGoEncoderParameters, ZeroEncoderParameters
from miai_go.rules.board import BoardError
from miai_go.rules.chains import fills_eye

FULL = ZeroEncoderParameters(history=5, komi=True, legal=True, ko=True)

MAKERS: dict[str, Callable[[int], Encoder]] = {
    "alphago": AlphaGoEncoder,
    "alphago with komi": lambda size: AlphaGoEncoder(size, AlphaGoEncoderParameters(komi=True)),
    "zero": lambda size: ZeroEncoder(size, FULL),
}
SLOW: dict[str, Callable[[SlowGame], slow_planes.Planes]] = {
    "alphago": slow_planes.alphago,
    "alphago with komi": slow_planes.alphago_with_komi,
    "zero": lambda game: slow_planes.zero(game, FULL.history),
}


@cache
def random_game(size: int, plies: int, seed: int) -> list[int]:
    """Return legal actions, most of them beside other stones, so that chains run into atari."""
    rng = np.random.default_rng(seed)
    game = SlowGame(size)
    actions: list[int] = []
    for _ in range(plies):
        weights = np.zeros(size**2 + 1)
        for point in range(size**2):
            if game.legal(point) and not fills_eye(game.board.colors, point, game.color):
                near = [game.board.colors[n] for n in game.board.neighbours(point)]
                weights[point] = 0.3 + sum(stone != 0 for stone in near)
        weights[-1] = 0.2 if weights.any() else 1
        actions.append(int(rng.choice(size**2 + 1, p=weights / weights.sum())))
        game.play(actions[-1])
    return actions


def slow_game(size: int, actions: list[int], half_komi: int = 0) -> SlowGame:
    game = SlowGame(size, half_komi)
    for action in actions:
        game.play(action)
    return game


def prefixes(size: int, seed: int, every: int) -> list[list[int]]:
    game = random_game(size, min(2 * size * size, 100), seed)
    return [game[:ply] for ply in range(0, len(game), every)]


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize(
    ("size", "seeds", "every"),
    [(1, 1, 1), (2, 1, 1), (3, 3, 1), (5, 3, 4), (7, 2, 9), (9, 1, 30), (13, 1, 80)],
)
def test_planes_are_those_of_the_definitions(name: str, size: int, seeds: int, every: int) -> None:
    for seed in range(seeds):
        games = prefixes(size, seed, every)
        encoded = MAKERS[name](size).encode(positions_of(size, games, half_komi=15))
        for actions, planes in zip(games, encoded, strict=True):
            slow = SLOW[name](slow_game(size, actions, half_komi=15))
            flat = planes.reshape(len(planes), -1)
            np.testing.assert_array_equal(flat, slow, f"seed {seed}, after {actions}")


@pytest.mark.parametrize("name", MAKERS)
def test_the_largest_board(name: str) -> None:
    game = random_game(25, 20, 4)
    (planes,) = MAKERS[name](25).encode(positions_of(25, [game]))
    slow = SLOW[name](slow_game(25, game))
    np.testing.assert_array_equal(planes.reshape(len(planes), -1), slow)


def test_a_ladder_across_the_board_and_one_with_a_breaker() -> None:
    # Black's atari at C4 drives D3 up to the far corner, unless White has a stone on the way.
    size = 9
    stones = "C3 D3 D2 J1 E2 H1 C4 A9"
    actions = [point(name, size) for name in stones.split()]
    for extra, works in (([], True), ([point("F6", size)], False)):
        game = [*actions[:-1], *(extra or actions[-1:])]
        planes = AlphaGoEncoder(size).encode(positions_of(size, [game]))[0].reshape(48, -1)
        slow = slow_planes.alphago(slow_game(size, game))
        np.testing.assert_array_equal(planes, slow)
        assert bool(planes[44, point("D4", size)] or planes[44, point("E3", size)]) == works


def point(name: str, size: int) -> int:
    return (int(name[1:]) - 1) * size + "ABCDEFGHJKLMNOPQRSTUVWXYZ".index(name[0])


@pytest.mark.parametrize("name", MAKERS)
def test_a_batch_is_its_positions_one_by_one_and_leaves_them(name: str) -> None:
    encoder = MAKERS[name](7)
    positions = positions_of(7, prefixes(7, 3, 4))
    before = positions.words.copy(), positions.trails.copy()
    batch = encoder.encode(positions)
    assert batch.dtype == np.uint8
    assert encoder.scales.shape == (encoder.planes,)
    out = np.full((1, *batch.shape[1:]), 7, np.uint8)
    for row in range(len(positions)):
        assert encoder.encode(positions[row : row + 1], out) is out
        np.testing.assert_array_equal(out[0], batch[row])
    np.testing.assert_array_equal(encoder.encode(positions[::2]), batch[::2])
    np.testing.assert_array_equal(positions.words, before[0])
    np.testing.assert_array_equal(positions.trails, before[1])
    for array in (positions.words, positions.trails):
        array.flags.writeable = False
    np.testing.assert_array_equal(encoder.encode(positions), batch)


def test_komi_is_scaled_and_seen_by_the_mover() -> None:
    encoder = ZeroEncoder(5, ZeroEncoderParameters(history=1, komi=True))
    positions = positions_of(5, [[], [12]], half_komi=14)
    given = encoder.encode(positions)[:, 4, 0, 0] * encoder.scales[4] - 2
    np.testing.assert_allclose(given, [-7 / 16, 7 / 16])


def test_positions_and_planes_that_do_not_fit_are_refused() -> None:
    encoder = ZeroEncoder(5)
    with pytest.raises(ValueError, match="boards of 5, the positions are of 7"):
        encoder.encode(Positions.room(7, 1))
    for out in (np.zeros((1, 17, 5, 5), np.uint8), np.zeros((1, 18, 5, 5), np.int8)):
        with pytest.raises(ValueError, match=r"\(1, 18, 5, 5\)"):
            encoder.encode(Positions.room(5, 1), out)  # type: ignore[arg-type]
    with pytest.raises(BoardError):
        ZeroEncoder(26)


class OwnAges:
    """An encoder as another plugin writes it: accessors of `Positions` alone."""

    planes = 2
    scales = np.array([1, 1 / 255], np.float32)

    def __init__(self, size: int, parameters: Parameters) -> None:
        self.size = size

    def encode(self, positions: Positions, out: Any = None) -> Any:
        shape = (len(positions), 2, self.size, self.size)
        out = np.empty(shape, np.uint8) if out is None else out
        for row, color in enumerate(positions.colors()):
            out[row, 0] = positions.board(row).stones() == color
        out[:, 1] = positions.ages().reshape(-1, self.size, self.size)
        return out


def test_encoders_are_found_by_name_those_of_other_plugins_too() -> None:
    components = Registry().for_plugin("other")
    components.declare(ENCODER)
    components.add(ENCODER.name, "own-ages", OwnAges, summary="Own stones, and ages")
    encoder = load_encoder("own-ages", 5, components=components)
    assert isinstance(encoder, Encoder)
    planes = encoder.encode(positions_of(5, [[12, 13, 7]]))
    assert planes[0, 0].ravel().nonzero()[0].tolist() == [13]
    assert planes[0, 1].ravel()[[7, 12, 13]].tolist() == [3, 1, 2]


def test_names_sizes_and_parameters_are_checked() -> None:
    for name, planes in (("alphago", 48), ("zero", 18)):
        encoder = load_encoder(name, 9)
        assert (encoder.size, encoder.planes) == (9, planes)
        assert isinstance(encoder, Encoder)
    assert load_encoder("zero", 9, {"history": 2, "legal": True}).planes == 7
    with pytest.raises(ParameterError, match="history"):
        load_encoder("zero", 9, {"history": 9})
    with pytest.raises(ParameterError, match="unknown parameter"):
        load_encoder("alphago", 9, {"history": 2})
    with pytest.raises(UnknownComponentError, match="alphago"):
        load_encoder("alphgo", 9)
    with pytest.raises(BoardError):
        load_encoder("zero", 26)
