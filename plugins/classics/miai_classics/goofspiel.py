"""Goofspiel, the game of pure strategy: all players bid a card at once for a prize card.

Each player holds the cards 1 to N, and so does the pile of prizes. In each round one prize is
turned up, every player bids a card of its hand, and all bids are shown at once. The highest bid
wins the prize, which is worth its number in points; if several players bid the highest card, nobody
wins it. Bids are used up. The last card of each hand is bid by itself. These are the rules of
OpenSpiel's ``goofspiel``; S. M. Ross, "Goofspiel - the game of pure strategy" (1971), analyses it.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Self

from miai import Game, GameInfo, Observation, Parameters, Player, SimultaneousState, parameter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class GoofspielParameters(Parameters):
    """Parameters of `Goofspiel`."""

    players: int = parameter(2, ge=2, le=10, help="Number of players")
    num_cards: int = parameter(5, ge=2, le=52, unit="cards", help="Cards in each hand")
    points_order: Literal["random", "ascending", "descending"] = parameter(
        "random", help="Order of the prizes"
    )
    returns_type: Literal["win_loss", "point_difference", "total_points"] = parameter(
        "win_loss", help="Who has most points wins; or points less the players' mean; or points"
    )
    imp_info: bool = parameter(False, help="Show who won each prize, and hide the bids")


class Goofspiel(Game):
    """The game. Action a bids card a + 1, or turns it up as a prize."""

    parameters: GoofspielParameters

    def __init__(self, parameters: GoofspielParameters | None = None) -> None:
        parameters = parameters or GoofspielParameters()
        self.parameters = parameters
        cards, players = parameters.num_cards, parameters.players
        total = cards * (cards + 1) / 2
        bounds = {
            "win_loss": (-1.0, 1.0),
            "point_difference": (-total / players, total - total / players),
            "total_points": (0.0, total),
        }
        low, high = bounds[parameters.returns_type]
        points = parameters.returns_type != "win_loss"
        self.info = GameInfo(
            name="goofspiel",
            version=1,
            num_players=players,
            num_distinct_actions=cards,
            max_game_length=players * (cards - 1),
            player_names=tuple(f"player{number}" for number in range(1, players + 1)),
            max_chance_outcomes=cards if parameters.points_order == "random" else 0,
            min_utility=low,
            max_utility=high,
            utility_sum=None if parameters.returns_type == "total_points" else 0.0,
            payoffs=points,
            perfect_information=not parameters.imp_info,
            simultaneous=True,
            intermediate_rewards=points,
        )

    def new_initial_state(self) -> GoofspielState:
        """Return the state before the first prize is turned up."""
        return GoofspielState(self)

    def observation_tensor_shape(self) -> tuple[int, ...]:
        """Return the length: the prize, prizes to come, the own hand, each player's points."""
        return (3 * self.parameters.num_cards + self.parameters.players,)


class GoofspielState(SimultaneousState):
    """Hands, prizes and points."""

    game: Goofspiel

    def __init__(self, game: Goofspiel) -> None:
        super().__init__(game)
        cards = list(range(1, game.parameters.num_cards + 1))
        self._hands = [cards.copy() for _ in range(game.parameters.players)]
        self._prizes = cards  # face down, and turned up in this order unless chance does it
        if game.parameters.points_order == "descending":
            self._prizes = cards[::-1]
        self._prize = 0  # turned up; 0 before chance has done it
        self._points = [0] * game.parameters.players
        self._winners: list[int | None] = []  # of each round
        self._settled = 0  # rounds that the last transition settled
        self._views = [""] * game.parameters.players
        if game.parameters.points_order != "random":
            self._turn_up(self._prizes[0])

    def hand(self, player: int) -> list[int]:
        """Return the cards in a player's hand, ascending."""
        return self._hands[player].copy()

    # -- the rules ----------------------------------------------------------------------------

    def current_player(self) -> int:
        """Return chance before a prize is turned up, then that all players bid."""
        if not self._hands[0]:
            return Player.TERMINAL
        return Player.SIMULTANEOUS if self._prize else Player.CHANCE

    def legal_actions_of(self, player: int) -> list[int]:
        """Return the cards in the player's hand."""
        return [card - 1 for card in self._hands[player]] if self._prize else []

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Return the prizes that may be turned up, equally probable."""
        if not self.is_chance_node():
            return []
        return [(prize - 1, 1 / len(self._prizes)) for prize in self._prizes]

    def _apply_actions(self, actions: Mapping[int, int]) -> None:
        self._settled = 0
        if self.is_chance_node():
            self._turn_up(actions[Player.CHANCE] + 1)
            return
        self._bid([actions[player] + 1 for player in range(len(self._hands))])
        if self._prizes and (len(self._prizes) == 1 or not self.game.info.max_chance_outcomes):
            self._turn_up(self._prizes[0])
        if len(self._hands[0]) == 1:
            self._bid([hand[0] for hand in self._hands])

    def _turn_up(self, prize: int) -> None:
        self._prizes = [other for other in self._prizes if other != prize]
        self._prize = prize
        self._views = [f"{view} {prize}:" for view in self._views]

    def _bid(self, bids: Sequence[int]) -> None:
        best = max(bids)
        winner = bids.index(best) if bids.count(best) == 1 else None
        self._points = [
            points + self._prize * (player == winner) for player, points in enumerate(self._points)
        ]
        pairs = zip(self._hands, bids, strict=True)
        self._hands = [[card for card in hand if card != bid] for hand, bid in pairs]
        self._winners = [*self._winners, winner]
        self._settled += 1
        self._prize = 0
        result = "-" if winner is None else str(winner)
        self._views = [f"{view}{bid}>{result}" for view, bid in zip(self._views, bids, strict=True)]

    def returns(self) -> tuple[float, ...]:
        """Return the utilities by the parameter ``returns_type``; points count on the way."""
        points, kind = self._points, self.game.parameters.returns_type
        if kind == "total_points":
            return tuple(map(float, points))
        if kind == "point_difference":
            mean = sum(points) / len(points)
            return tuple(own - mean for own in points)
        winners = points.count(max(points))
        losers = len(points) - winners
        if not self.is_terminal() or not losers:
            return (0.0,) * len(points)
        return tuple(1 / winners if own == max(points) else -1 / losers for own in points)

    # -- what players see ---------------------------------------------------------------------

    def _observation(self, player: int) -> Observation:
        if self.game.info.perfect_information:
            return self._observation_of(player, self._last)
        data = {"winners": list(self._winners[-self._settled :])} if self._settled else None
        seen = {actor: a for actor, a in self._last.items() if actor in (Player.CHANCE, player)}
        return self._observation_of(player, seen, data)

    def information_state_string(self, player: int) -> str:
        """Return the history or, if bids are hidden, each prize, own bid and winner: ``3:2>0``."""
        if self.game.info.perfect_information:
            return super().information_state_string(player)
        return self._views[player].strip()

    def observation_tensor(self, player: int) -> NDArray[np.float32]:
        """Return the prize, the prizes to come and the hand as ones, and shares of the points."""
        import numpy as np

        cards = self.game.parameters.num_cards
        tensor = np.zeros(self.game.observation_tensor_shape(), dtype=np.float32)
        if self._prize:
            tensor[self._prize - 1] = 1
        for prize in self._prizes:
            tensor[cards + prize - 1] = 1
        for card in self._hands[player]:
            tensor[2 * cards + card - 1] = 1
        order = [*self._points[player:], *self._points[:player]]  # the player's own first
        tensor[3 * cards :] = np.array(order) / (cards * (cards + 1) / 2)
        return tensor

    # -- copies and texts ---------------------------------------------------------------------

    def _copy_to(self, other: Self) -> None:
        for name in ("_hands", "_prizes", "_prize", "_points", "_winners", "_settled", "_views"):
            setattr(other, name, getattr(self, name))  # replaced, never changed

    def _key(self) -> str:
        """Return the prize, the hands and the points: ``3/12 12/3 0``; the rest follows."""
        hands = " ".join("".join(chr(64 + card) for card in hand) for hand in self._hands)
        prizes = "".join(chr(64 + prize) for prize in self._prizes)
        return f"{self._prize}/{prizes}/{hands}/{' '.join(map(str, self._points))}"

    def __str__(self) -> str:
        names = self.game.info.player_names
        lines = [f"prize {self._prize or '-'}, to come {_cards(self._prizes)}"]
        for name, hand, points in zip(names, self._hands, self._points, strict=True):
            lines.append(f"{name}: {points} points, hand {_cards(hand)}")
        return "\n".join(lines)

    def action_to_string(self, action: int) -> str:
        """Return the card's number."""
        return str(action + 1)


def _cards(cards: Sequence[int]) -> str:
    """Return cards in ascending order; three and more that follow each other as a range."""
    runs: list[list[int]] = []
    for card in sorted(cards):
        if runs and runs[-1][-1] == card - 1:
            runs[-1].append(card)
        else:
            runs.append([card])
    texts = [[f"{run[0]}-{run[-1]}"] if len(run) > 2 else map(str, run) for run in runs]
    return " ".join(itertools.chain.from_iterable(texts)) or "-"
