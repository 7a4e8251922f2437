"""Rules that end games of Go before their end: a lead in points, unconditional life.

They are components of the kind ``adjudicator``; see docs/tournaments.md.

Unconditional life on the whole board: what is safe even if its owner always passes.

D. B. Benson, "Life in the game of Go", Information Sciences 10 (1976). `tsumego.kernels.life` asks
the same of one target in a zone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from miai.errors import UnsuitableGameError
from miai.game import State
from miai.parameters import Parameters
from miai.playing.adjudication import Verdict
from miai.playing.agreement import DrawAgreement, DrawAgreementParameters
from miai.record import MoveRecord
from miai_go.rules.board import BLACK, EMPTY, WHITE
from miai_go.rules.game import GoGame
from miai_go.rules.parameters import ScoreLeadParameters
from miai_go.rules.phases import Phase
from miai_go.rules.playouts import Playouts, load_playouts
from miai_go.rules.scoring import Stones, neighbours
from miai_go.rules.state import GoState


@dataclass(frozen=True, slots=True)
class Safe:
    """What a player keeps whatever the opponent plays, though he himself only passes.

    Attributes:
      stones: points of his chains that can never be captured, ascending.
      eyes: single points that these surround; they stay his territory, ascending.
      shared: regions of two points or more that these surround in which one empty point at least,
        beside such a chain, can never be the opponent's.
    """

    stones: tuple[int, ...]
    eyes: tuple[int, ...]
    shared: int

    def min_lead(self, points: int) -> int:
        """Return by how much area, komi aside, he leads at least in the end.

        Args:
          points: of the board.
        """
        own = len(self.stones) + len(self.eyes)
        return own - (points - own - self.shared)


@dataclass(slots=True)
class _Region:
    """A part of the board without stones of the player.

    `chains` are the numbers of his chains round it, `vital` those to which it is a sure liberty.
    """

    points: list[int]
    chains: frozenset[int]
    vital: frozenset[int]


def find_safe(stones: Stones, color: int, *, suicide: bool) -> Safe:
    """Return what is safe for a player.

    A region surrounded by his chains is vital to one of them when the opponent, who has to leave a
    point of it empty, can leave none that is not beside that chain: when all of its empty points
    are, or where suicide may empty it again all of its points. Chains with two vital regions each,
    surrounded by such chains alone, are safe.

    Args:
      stones: what lies on each point, int8 of shape (size, size): 0 empty, 1 black, 2 white.
      color: of the player, 0 for Black.
      suicide: whether the opponent may take his own stones off.
    """
    flat: list[int] = stones.reshape(-1).tolist()
    around = _neighbours(len(stones))
    own = color + 1
    chains = _parts([p for p, what in enumerate(flat) if what == own], around)
    chain_of = {point: number for number, points in enumerate(chains) for point in points}
    areas = _parts([p for p, what in enumerate(flat) if what != own], around)
    regions = [_region(area, flat, chain_of, around, suicide=suicide) for area in areas]
    alive = set(range(len(chains)))
    while True:
        regions = [r for r in regions if r.chains <= alive]
        eyes = {number: sum(number in r.vital for r in regions) for number in alive}
        left = {number for number, count in eyes.items() if count >= 2}
        if left == alive:
            break
        alive = left
    vital = [region for region in regions if region.vital]
    return Safe(
        stones=tuple(sorted(point for number in alive for point in chains[number])),
        eyes=tuple(sorted(r.points[0] for r in vital if len(r.points) == 1)),
        shared=sum(len(region.points) > 1 for region in vital),
    )


def _region(
    points: list[int],
    flat: Sequence[int],
    chain_of: dict[int, int],
    around: Sequence[Sequence[int]],
    *,
    suicide: bool,
) -> _Region:
    beside = [frozenset(chain_of[q] for q in around[p] if q in chain_of) for p in points]
    last = [found for p, found in zip(points, beside, strict=True) if suicide or flat[p] == EMPTY]
    vital = frozenset.intersection(*last) if last else frozenset[int]()
    return _Region(points, frozenset[int]().union(*beside), vital)


def _parts(points: Iterable[int], around: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return points in connected parts."""
    left = set(points)
    parts = []
    while left:
        part = [left.pop()]
        for point in part:
            found = left.intersection(around[point])
            left -= found
            part += found
        parts.append(part)
    return parts


@cache
def _neighbours(size: int) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(neighbours(point, size)) for point in range(size * size))


_RETURNS = {BLACK: (1.0, -1.0), WHITE: (-1.0, 1.0)}
_SEEDS = 2**64


class ScoreLead:
    """Decides for a player who leads by so many points for so many plies in a row.

    The lead is the mean score of light playouts from the position, by area, komi and compensation
    included; beside that a share of the playouts has to be won. The playouts are seeded by the
    game and the position. They know no tactics (see `miai_go.rules.playouts.Playouts`), so this
    is an
    estimate: hold games out to see how often it is wrong.
    """

    def __init__(self, game: GoGame, parameters: ScoreLeadParameters | None = None) -> None:
        self._game, self._given = game, parameters or ScoreLeadParameters()
        self._seed, self._leader, self._plies = 0, -1, 0

    def new_game(self, seed: int) -> None:
        """Seed the playouts; nobody leads."""
        load_playouts()
        self._seed, self._leader, self._plies = seed, -1, 0

    def judge(self, state: State, moves: Sequence[MoveRecord]) -> Verdict | None:
        """Return a win for whoever has led for long enough, or None."""
        assert isinstance(state, GoState)
        leader, points = self._lead(state)
        self._plies = self._plies + 1 if leader == self._leader else 1
        self._leader = leader
        if leader < 0 or self._plies < self._given.plies:
            return None
        name = self._game.info.player_names[leader]
        return Verdict(
            _RETURNS[leader], f"{name} has led for {self._plies} plies, now by {points:.1f} points"
        )

    def _lead(self, state: GoState) -> tuple[int, float]:
        """Return who leads clearly, -1 for nobody, and by how many points."""
        if state.phase != Phase.PLAY:
            return -1, 0.0
        given = self._given
        found = Playouts(self._game.size, (self._seed ^ state.board.hash) % _SEEDS).run(
            state.board,
            state.to_move,
            given.playouts,
            komi=self._game.white_bonus,
            passes=state.passes,
        )
        lead = found.mean_score
        won = found.black_wins if lead > 0 else found.count - found.black_wins - found.draws
        if abs(lead) < given.points or won < given.certainty * found.count:
            return -1, 0.0
        return (BLACK if lead > 0 else WHITE), abs(lead)


class UnconditionalLife:
    """Decides for a player who wins even if he only passes from now on, which is a proof.

    It counts his unconditionally living stones and their one-point eyes as his, and all else as
    the opponent's but for one point of each other vital region; see `find_safe`.

    Raises:
      UnsuitableGameError: the game counts by territory, or repetitions may end it in a draw that a
        player can bring about by suicide.
    """

    def __init__(self, game: GoGame, parameters: Parameters | None = None) -> None:
        rules = game.rules
        if rules.scoring != "area":
            raise UnsuitableGameError(
                "unconditional-life: counts by area, and this game by territory; leave the rule "
                'out, or give the game scoring = "area"'
            )
        if rules.suicide and rules.ko == "simple" and rules.repetition == "draw":
            raise UnsuitableGameError(
                "unconditional-life: with suicide and simple ko a player who is lost can have the "
                "game drawn by repetition; leave the rule out"
            )
        self._game = game

    def new_game(self, seed: int) -> None:
        """Nothing is remembered."""

    def judge(self, state: State, moves: Sequence[MoveRecord]) -> Verdict | None:
        """Return a win for whoever cannot lose any more, or None."""
        assert isinstance(state, GoState)
        if state.phase != Phase.PLAY:
            return None
        stones, bonus = state.board.stones(), self._game.white_bonus
        for color, komi in ((BLACK, -bonus), (WHITE, bonus)):
            safe = find_safe(stones, color, suicide=self._game.rules.suicide)
            lead = safe.min_lead(stones.size) + komi
            if lead > 0:
                name = self._game.info.player_names[color]
                return Verdict(
                    _RETURNS[color], f"{name} wins by {lead:g} points or more even by passing"
                )
        return None


def draw_agreement(game: GoGame, parameters: DrawAgreementParameters) -> DrawAgreement:
    """Return the framework's `DrawAgreement` for a game that may be drawn.

    Raises:
      UnsuitableGameError: half a point for White decides every game.
    """
    if game.white_bonus % 1:
        raise UnsuitableGameError(
            f"draw-agreement: with {game.white_bonus:g} points for White no game of go is drawn; "
            "leave the rule out, or give the game a whole komi"
        )
    return DrawAgreement(game, parameters)
