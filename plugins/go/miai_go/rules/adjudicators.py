"""Adjudicators of Go, which end games early: a lead in points, unconditional life.

They are components of the kind ``adjudicator``; see docs/tournaments.md. Stones are
unconditionally alive if they survive even though their owner always passes (D. B. Benson, "Life in
the game of Go", Information Sciences 10, 1976). `miai_go.tsumego.kernels.judging` asks the same
about one target in a zone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from miai.errors import UnsuitableGameError
from miai.game import State
from miai.parameters import Parameters
from miai.playing.adjudication import Verdict
from miai.playing.agreement import DrawAgreement, DrawAgreementParameters
from miai.record import MoveRecord
from miai_go.rules.board import BLACK, WHITE
from miai_go.rules.chains import connected_parts, neighbours
from miai_go.rules.game import GoGame, GoState, Phase
from miai_go.rules.game_parameters import ScoreLeadParameters
from miai_go.rules.playouts import Playouts, load_playouts
from miai_go.rules.scoring import Stones


@dataclass(frozen=True, slots=True)
class Safe:
    """What a player keeps even if they always pass, whatever the opponent plays.

    Attributes:
      stones: points of the chains that can never be captured, ascending.
      eyes: single points that these surround, which stay territory, ascending.
      shared: number of regions of two points or more that these surround and in which at least one
        empty point, beside such a chain, can never be the opponent's.
    """

    stones: tuple[int, ...]
    eyes: tuple[int, ...]
    shared: int

    def min_lead(self, points: int) -> int:
        """Return the smallest final lead by area, without komi, on a board of `points` points."""
        own = len(self.stones) + len(self.eyes)
        return own - (points - own - self.shared)


@dataclass(slots=True)
class _Region:
    """A part of the board without stones of the player.

    `chains` are the numbers of the player's chains around it, `vital` those to which it is vital.
    """

    points: list[int]
    chains: frozenset[int]
    vital: frozenset[int]


def find_safe(stones: Stones, color: int, *, suicide: bool) -> Safe:
    """Return what is unconditionally safe for a player, by Benson's algorithm.

    A region surrounded by the player's chains is vital to a chain when all its empty points are
    liberties of that chain; where suicide is legal, which may empty the region again, all its
    points must be beside the chain. Chains are safe when each has two vital regions that are
    surrounded by safe chains only.

    Args:
      stones: int8 of shape (size, size): 0 empty, 1 black, 2 white.
      color: the player, 0 for Black.
      suicide: whether the opponent may remove stones of their own by suicide.
    """
    flat: list[int] = stones.ravel().tolist()
    around = [neighbours(point, len(stones)) for point in range(len(flat))]
    own = color + 1
    chains = connected_parts((p for p, s in enumerate(flat) if s == own), around.__getitem__)
    chain_of = {point: number for number, points in enumerate(chains) for point in points}
    areas = connected_parts((p for p, s in enumerate(flat) if s != own), around.__getitem__)
    regions = [_region(sorted(a), flat, chain_of, around, suicide=suicide) for a in areas]
    # Begin with all chains, and drop what does not hold until nothing changes: the largest set of
    # chains and regions that support each other remains.
    alive = set(range(len(chains)))
    while True:
        regions = [r for r in regions if r.chains <= alive]
        eyes = {number: sum(number in r.vital for r in regions) for number in alive}
        remaining = {number for number, count in eyes.items() if count >= 2}
        if remaining == alive:
            break
        alive = remaining
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
    last = [chains for p, chains in zip(points, beside, strict=True) if suicide or not flat[p]]
    vital = frozenset.intersection(*last) if last else frozenset[int]()
    return _Region(points, frozenset[int]().union(*beside), vital)


_RETURNS = {BLACK: (1.0, -1.0), WHITE: (-1.0, 1.0)}
_SEEDS = 2**64


class ScoreLead:
    """Awards the game to a player who leads clearly for several plies in a row.

    The lead is the mean score of light playouts from the position, by area, komi and compensation
    included; the leader must also win a share of the playouts. The playouts are seeded by the game
    and the position. They know no tactics (see `miai_go.rules.playouts.Playouts`), so this is an
    estimate: hold out games to see how often it is wrong.
    """

    def __init__(self, game: GoGame, parameters: ScoreLeadParameters | None = None) -> None:
        self._game, self._parameters = game, parameters or ScoreLeadParameters()
        self._seed, self._leader, self._plies = 0, -1, 0

    def new_game(self, seed: int) -> None:
        """Seed the playouts and forget the previous game."""
        load_playouts()
        self._seed, self._leader, self._plies = seed, -1, 0

    def judge(self, state: State, moves: Sequence[MoveRecord]) -> Verdict | None:
        """Return a win for the player who has led for long enough, or None."""
        assert isinstance(state, GoState)
        leader, points = self._lead(state)
        self._plies = self._plies + 1 if leader == self._leader else 1
        self._leader = leader
        if leader < 0 or self._plies < self._parameters.plies:
            return None
        name = self._game.info.player_names[leader]
        return Verdict(
            _RETURNS[leader], f"{name} has led for {self._plies} plies, now by {points:.1f} points"
        )

    def _lead(self, state: GoState) -> tuple[int, float]:
        """Return the player who leads clearly, -1 for neither, and the lead in points."""
        if state.phase != Phase.PLAY:
            return -1, 0.0
        parameters = self._parameters
        result = Playouts(self._game.size, (self._seed ^ state.board.hash) % _SEEDS).run(
            state.board,
            state.to_move,
            parameters.playouts,
            komi=self._game.white_bonus,
            passes=state.passes,
        )
        lead = result.mean_score
        won = result.black_wins if lead > 0 else result.count - result.black_wins - result.draws
        if abs(lead) < parameters.points or won < parameters.certainty * result.count:
            return -1, 0.0
        return (BLACK if lead > 0 else WHITE), abs(lead)


class UnconditionalLife:
    """Awards the game to a player who wins even by passing from now on, which is a proof.

    It counts the player's unconditionally alive stones, their one-point eyes and one point of each
    larger vital region as the player's, and all else as the opponent's; see `find_safe`.

    Raises:
      UnsuitableGameError: the game counts by territory, or a losing player could force a draw by
        repetition, through suicide.
    """

    def __init__(self, game: GoGame, parameters: Parameters | None = None) -> None:
        rules = game.rules
        if rules.scoring != "area":
            raise UnsuitableGameError(
                "unconditional-life: counts by area, but this game counts by territory; remove the "
                'adjudicator, or set scoring = "area" for the game'
            )
        if rules.suicide and rules.ko == "simple" and rules.repetition == "draw":
            raise UnsuitableGameError(
                "unconditional-life: with suicide and simple ko a losing player can force a draw "
                "by repetition; remove the adjudicator"
            )
        self._game = game

    def new_game(self, seed: int) -> None:
        """Do nothing: no state is kept."""

    def judge(self, state: State, moves: Sequence[MoveRecord]) -> Verdict | None:
        """Return a win for the player who can no longer lose, or None."""
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
                    _RETURNS[color], f"{name} wins by at least {lead:g} points even by passing"
                )
        return None


def draw_agreement(game: GoGame, parameters: DrawAgreementParameters) -> DrawAgreement:
    """Return `DrawAgreement` for a game that can be drawn. Raises `UnsuitableGameError`."""
    if game.white_bonus % 1:
        raise UnsuitableGameError(
            f"draw-agreement: with {game.white_bonus:g} points for White no game can be drawn; "
            "remove the adjudicator, or set a whole komi"
        )
    return DrawAgreement(game, parameters)
