"""`RbcProblem` and its roots: beliefs of games played from a seed."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np

import miai
from miai import ClockReading, TimeControl
from miai.agent import Agent
from miai.values import ValueUnit
from miai_rbc.agents.belief_agents import BeliefAgent
from miai_rbc.belief.belief import RbcBelief
from miai_rbc.kernels.bitboards import WIN, Words
from miai_rbc.kernels.board import STATE
from miai_rbc.kernels.moves import MAX_MOVES
from miai_rbc.rbc_parameters import MinimaxProblemParameters
from miai_rbc.rules.board_set import BoardSet
from miai_rbc.rules.game import RbcGame
from miai_rbc.search.candidates import (
    SAMPLE,
    Candidates,
    Valuer,
    digest_of,
    hashes_of,
    sample,
)

Sizes = tuple[int, int]
"""Minimum and maximum number of boards of a belief."""

_OPPONENTS = ("rbc-seed", "attacker", "rbc-random")
_QUICK = {"depth": 1, "samples": 8}
_TURNS = 40
_OPENING, _RANDOM = 6, 0.5  # turns, and the share of random moves in them
_PER_GAME = 5  # roots taken from one game
_BARREN_GAMES = 300  # in a row without a belief of the requested size
_NO_CLOCK = ClockReading(control=TimeControl())


def beliefs_of_games(sizes: Sizes, *, seed: int) -> Iterator[tuple[str, BoardSet]]:
    """Play games and yield beliefs of `rbc-seed` before its senses, each with a name.

    Its opponents are itself, `attacker` and `rbc-random` in turn, with either colour, at engine
    depth 1 and 8 samples. In the first 6 turns about every other move is random. Of each game,
    five beliefs of the right size are drawn. The iterator ends after 300 games in a row without
    one.
    """
    game = miai.load_game("rbc", full_turn_limit=_TURNS)
    assert isinstance(game, RbcGame)
    number = barren = 0
    while barren < _BARREN_GAMES:
        rng = random.Random(f"{seed} {number}")
        beliefs = [
            (f"seed {seed}, game {number}, turn {turn}", boards)
            for turn, boards in _drawn(_played(game, number, sizes, rng), sizes, rng)
        ]
        barren = 0 if beliefs else barren + 1
        yield from beliefs
        number += 1


def _drawn(
    beliefs: Iterator[RbcBelief], sizes: Sizes, rng: random.Random
) -> list[tuple[int, BoardSet]]:
    """Return some of a player's beliefs before its senses that fit, with their turns."""
    every = [
        (turn, belief.boards.copy())
        for turn, belief in enumerate(beliefs)
        if belief.complete and sizes[0] <= len(belief) <= sizes[1]
    ]
    chosen = rng.sample(range(len(every)), min(_PER_GAME, len(every)))
    return [every[index] for index in sorted(chosen)]


def _played(game: RbcGame, number: int, sizes: Sizes, rng: random.Random) -> Iterator[RbcBelief]:
    """Play one game; yield the belief of `rbc-seed` before each of its senses."""
    # Both colours and three opponents, so that beliefs of many kinds become roots.
    seat = number % 2
    agents: list[Agent] = [_agent("rbc-seed", game, sizes)]
    agents.insert(1 - seat, _agent(_OPPONENTS[number // 2 % len(_OPPONENTS)], game, sizes))
    observer = agents[seat]
    assert isinstance(observer, BeliefAgent)
    for player, agent in enumerate(agents):
        agent.new_game(rng.randrange(1 << 32), player=player)
    state, turn = game.new_initial_state(), 0
    try:
        while True:
            for player, agent in enumerate(agents):
                if (observation := state.observation(player)) is not None:
                    agent.observe(observation)
            if state.is_terminal():
                return
            mover = int(state.current_player())
            if mover == seat and state.senses:
                yield observer.belief
                turn += 1
            if not state.senses and turn <= _OPENING and rng.random() < _RANDOM:
                state.apply_action(rng.choice(state.legal_actions()))
            else:
                state.apply_action(agents[mover].act(_NO_CLOCK).action)
    finally:
        for agent in agents:
            agent.close()


def _agent(name: str, game: RbcGame, sizes: Sizes) -> Agent:
    quick = {**_QUICK, "limit": max(MAX_MOVES, 2 * sizes[1])} if name == "rbc-seed" else {}
    return miai.make_agent(name, game, **quick)


_64_BITS = (1 << 64) - 1
_MAX_REPEATS = 1000  # beliefs in a row that were seen before


@dataclass(frozen=True, slots=True, eq=False)
class RbcRoot:
    """A belief to search, the player to move.

    Attributes:
      boards: the belief: at least one board, all with the same own pieces.
      senses: whether a sense comes first; else a move.
      barred: requests of the first move that are tried as passes.
      name: the game and turn it comes from.
    """

    boards: BoardSet
    senses: bool = True
    barred: AbstractSet[int] = frozenset()
    name: str = ""

    def __post_init__(self) -> None:
        if len(self.boards) == 0:
            raise ValueError("a belief has at least one board")

    @property
    def size(self) -> int:
        """The number of boards in the belief."""
        return len(self.boards)

    @property
    def player(self) -> int:
        """The player of the belief: 0 for White, 1 for Black."""
        return int(self.boards.rows[0, STATE]) & 1


class DrawnRoot(NamedTuple):
    """The boards of a root that are searched.

    Attributes:
      rows: (n, 8) in the order of their hashes.
      candidates: chooses senses and moves.
    """

    rows: Words
    candidates: Candidates


class RbcProblem:
    """Reconnaissance Blind Chess for one player, to a depth of one to three own moves.

    Values are centipawns to the player of the belief; docs/belief-search.md defines them. The
    game's turn limits do not apply.

    Args:
      seed: decides which boards are drawn at roots.

    Attributes:
      rules: how boards are valued and candidates chosen.
      least, greatest: the range of values.
      root_classes: ``game``: beliefs before a sense, from games.
    """

    least, greatest = -float(WIN), float(WIN)
    reachability = False
    value_unit = ValueUnit.CENTIPAWNS
    root_classes: Sequence[str] = ("game",)

    def __init__(
        self, parameters: MinimaxProblemParameters | None = None, *, seed: int = 0
    ) -> None:
        self.rules = parameters or MinimaxProblemParameters()
        self._seed = seed
        if self.rules.min_boards > self.rules.max_boards:
            raise ValueError(
                f"min_boards {self.rules.min_boards}, max_boards {self.rules.max_boards}: no "
                "belief has such a size"
            )

    def room(self, depth: int) -> int:
        """Return the maximum number of boards of a root that are searched at a depth."""
        return self.rules.boards if depth == 1 else self.rules.deep_boards

    def draw(self, valuer: Valuer, root: RbcRoot, room: int) -> DrawnRoot:
        """Return at most `room` boards of a root, drawn by the seed and the boards."""
        rows = np.ascontiguousarray(root.boards.rows)
        hashes = hashes_of(rows)
        order = np.argsort(hashes)
        # In the order of hashes, so that a belief draws the same boards however it was found.
        rows, hashes = rows[order], hashes[order]
        rng = np.random.default_rng((self._seed, digest_of(hashes) & _64_BITS))
        drawn, searched = sample(rng, len(rows), SAMPLE), sample(rng, len(rows), room)
        candidates = Candidates(self.rules, valuer, rows[drawn], root.player)
        candidates.barred = root.barred
        return DrawnRoot(rows[searched], candidates)

    def roots(self, kind: str, count: int, *, depth: int, seed: int) -> list[RbcRoot]:
        """Return the first distinct beliefs of a class; the same arguments give the same roots.

        Args:
          depth: ignored.

        Raises:
          ValueError: unknown class, or too few beliefs of that size.
        """
        if kind != "game":
            raise ValueError(f"rbc has no roots of class {kind!r}; its class is 'game'")
        sizes = (self.rules.min_boards, self.rules.max_boards)
        roots = list(islice(_distinct(beliefs_of_games(sizes, seed=seed)), count))
        if len(roots) < count:
            raise ValueError(
                f"the games played: {len(roots)} beliefs of {sizes[0]} to {sizes[1]} boards, "
                f"not {count}; lower min_boards or raise max_boards"
            )
        return roots


def _distinct(beliefs: Iterable[tuple[str, BoardSet]]) -> Iterator[RbcRoot]:
    """Yield each belief once, as games of the same agents begin alike."""
    keys: set[int] = set()
    barren = 0
    for name, boards in beliefs:
        key = digest_of(np.unique(hashes_of(boards.rows)))
        barren = barren + 1 if key in keys else 0
        if barren > _MAX_REPEATS:
            return
        if key not in keys:
            keys.add(key)
            yield RbcRoot(boards, name=name)
