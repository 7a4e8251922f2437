"""Planes from their definitions, slowly: chains by flood fill, ladders by copies of the board."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from miai_go.kernels import trail
from miai_go.nets.encoder import Positions
from miai_go.rules.chains import chain_at, fills_eye, liberties_of, neighbours

LADDER_LEVELS = 3
LADDER_CHOICES = 1

Planes = NDArray[np.int64]


class Stones:
    """A board without history; colours are 1 and 2, points are numbered row by row."""

    def __init__(self, size: int, colors: list[int] | None = None) -> None:
        self.size = size
        self.colors = colors if colors is not None else [0] * (size * size)

    def copy(self) -> Stones:
        return Stones(self.size, list(self.colors))

    def neighbours(self, point: int) -> tuple[int, ...]:
        return neighbours(point, self.size)

    def chain(self, point: int) -> tuple[set[int], set[int]]:
        """Return the stones and the liberties of the chain on a point."""
        stones = chain_at(self.colors, point, self.size)
        return stones, liberties_of(self.colors, stones, self.size)

    def play(self, point: int, color: int) -> set[int] | None:
        """Put a stone; return what it took, or None for a suicide, which leaves the board."""
        self.colors[point] = color
        taken: set[int] = set()
        for n in self.neighbours(point):
            if self.colors[n] == 3 - color and n not in taken:
                stones, free = self.chain(n)
                if not free:
                    taken |= stones
        for s in taken:
            self.colors[s] = 0
        if not self.chain(point)[1]:
            self.colors[point] = 0
            return None
        return taken


@dataclass
class SlowGame:
    """A game as the definitions of the planes see it."""

    size: int
    half_komi: int = 0
    color: int = 1
    ply: int = 0
    ko: int = -1
    board: Stones = field(init=False)
    placed: dict[int, int] = field(default_factory=dict)
    past: list[list[int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.board = Stones(self.size)
        self.past = [list(self.board.colors)]

    def legal(self, point: int, color: int | None = None) -> bool:
        color = color or self.color
        if self.board.colors[point] or (point == self.ko and color == self.color):
            return False
        return self.board.copy().play(point, color) is not None

    def play(self, action: int) -> None:
        self.ply += 1
        self.ko = -1
        if action < self.size**2:
            taken = self.board.play(action, self.color)
            assert taken is not None
            stones, free = self.board.chain(action)
            if len(taken) == 1 and len(stones) == 1 and len(free) == 1:
                self.ko = next(iter(taken))
            self.placed[action] = self.ply
        self.placed = {p: ply for p, ply in self.placed.items() if self.board.colors[p]}
        self.color = 3 - self.color
        self.past.append(list(self.board.colors))


def zero(game: SlowGame, history: int) -> Planes:
    """The planes with komi, legal points and ko."""
    points = game.size**2
    planes = np.zeros((2 * history + 5, points), np.int64)
    for t, stones in enumerate(reversed(game.past[-history:])):
        planes[2 * t] = [s == game.color for s in stones]
        planes[2 * t + 1] = [s == 3 - game.color for s in stones]
    planes[2 * history + game.color - 1] = 1
    planes[2 * history + 2] = shifted_komi(game)
    planes[2 * history + 3] = [game.legal(p) for p in range(points)]
    if game.ko >= 0:
        planes[2 * history + 4, game.ko] = 1
    return planes


def shifted_komi(game: SlowGame) -> int:
    given = game.half_komi if game.color == 2 else -game.half_komi
    return min(128, max(0, given + 64))


def alphago_with_komi(game: SlowGame) -> Planes:
    return np.vstack((alphago(game), np.full(game.size**2, shifted_komi(game))))


def turns(game: SlowGame, point: int) -> int:
    """Return how many turns ago a stone was placed, 1 for the last move."""
    return game.ply - game.placed[point] + 1 if point in game.placed else 99


def alphago(game: SlowGame) -> Planes:
    planes = np.zeros((48, game.size**2), np.int64)
    planes[3] = 1
    planes[47] = game.color == 1
    board, me = game.board, game.color
    for point, stone in enumerate(board.colors):
        if stone:
            planes[0 if stone == me else 1, point] = 1
            planes[3 + min(8, turns(game, point)), point] = 1
            planes[11 + min(8, len(board.chain(point)[1])), point] = 1
            continue
        planes[2, point] = 1
        if not game.legal(point):
            continue
        after = board.copy()
        taken = after.play(point, me)
        assert taken is not None
        stones, free = after.chain(point)
        if taken:
            planes[19 + min(8, len(taken)), point] = 1
        if len(free) == 1:
            planes[27 + min(8, len(stones)), point] = 1
        planes[35 + min(8, len(free)), point] = 1
        planes[44, point] = takes_in_ladder(board, point, me)
        planes[45, point] = escapes_ladder(board, point, me)
        planes[46, point] = not fills_eye(board.colors, point, me)
    return planes


def takes_in_ladder(board: Stones, point: int, me: int) -> bool:
    for n in board.neighbours(point):
        if board.colors[n] == 3 - me:
            _, free = board.chain(n)
            if len(free) == 2:
                after = board.copy()
                after.play(point, me)
                (stretch,) = free - {point}
                if caught(after, n, stretch, LADDER_LEVELS * board.size + 1, LADDER_CHOICES):
                    return True
    return False


def escapes_ladder(board: Stones, point: int, me: int) -> bool:
    for start in range(len(board.colors)):
        if (
            board.colors[start] == me
            and len(board.chain(start)[1]) == 1
            and point in replies(board, start)
            and away(board, start, point, LADDER_LEVELS * board.size, LADDER_CHOICES)
        ):
            return True
    return False


def replies(board: Stones, chain: int) -> set[int]:
    """Return where the owner of a chain in atari can stretch or take attackers in atari."""
    stones, free = board.chain(chain)
    found = set(free)
    for s in stones:
        for n in board.neighbours(s):
            if board.colors[n] == 3 - board.colors[chain]:
                last = board.chain(n)[1]
                if len(last) == 1:
                    found |= last
    return found


def away(board: Stones, chain: int, move: int, levels: int, choices: int) -> bool:
    """Say whether a chain in atari gets away by its owner's move."""
    if levels <= 0:
        return True
    mine = board.colors[chain]
    after = board.copy()
    if after.play(move, mine) is None:
        return False
    free = sorted(after.chain(chain)[1])
    if len(free) != 2:
        return len(free) > 2
    attacks = []
    for x, y in (free, free[::-1]):
        attacked = after.copy()
        if attacked.play(x, 3 - mine) is None:
            continue
        stretched = attacked.copy()
        if stretched.play(y, mine) is None or len(stretched.chain(chain)[1]) < 3:
            attacks.append((attacked, y))
    choices -= len(attacks) == 2
    if choices < 0:
        return True
    return not any(caught(attacked, chain, y, levels, choices) for attacked, y in attacks)


def caught(board: Stones, chain: int, stretch: int, levels: int, choices: int) -> bool:
    for reply in replies(board, chain):
        cost = reply != stretch
        if cost and choices == 0:
            return False
        if away(board, chain, reply, levels - 1, choices - cost):
            return False
    return True


def positions_of(size: int, games: list[list[int]], half_komi: int = 0) -> Positions:
    """Return the position after each list of actions."""
    positions = Positions.room(size, len(games))
    for row, actions in enumerate(games):
        words, after = positions.words[row], positions.trails[row]
        trail.begin_trail(words, after, np.int64(1), np.int64(half_komi))
        made = trail.extend_trail(words, after, np.array(actions, np.int16), False)
        assert made == len(actions)
    return positions
