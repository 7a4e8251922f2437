"""Kuhn poker: the smallest game with chance and hidden cards.

Each of two players pays one chip and is dealt one of three cards, J, Q and K. In turn they pass
or bet one chip more. After two passes or an answered bet the higher card takes the pot; a pass
after a bet gives it up. The game is worth -1/18 to the first player (H. W. Kuhn, "A simplified
two-person poker", Contributions to the Theory of Games I, 1950).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from miai import Game, GameInfo, Observation, Player, State

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CARDS = "JQK"
ACTIONS: tuple[str, ...] = ("pass", "bet", *CARDS)
"""The actions by number: two of the players, then the cards that chance deals.

None of them is shared, so that an action can be named to a player who sees no state.
"""
PASS, BET, FIRST_CARD = 0, 1, 2
ENDINGS = ("pp", "pbp", "pbb", "bp", "bb")
"""The ends of the betting: ``p`` for a pass, ``b`` for a bet."""


class KuhnPoker(Game):
    """The game. Players pass (0) or bet (1); chance deals J (2), Q (3) or K (4)."""

    info = GameInfo(
        name="kuhn_poker",
        version=1,
        num_players=2,
        num_distinct_actions=2,
        max_game_length=3,
        player_names=("first", "second"),
        max_chance_outcomes=len(ACTIONS),
        min_utility=-2.0,
        max_utility=2.0,
        perfect_information=False,
        payoffs=True,
    )

    def new_initial_state(self) -> KuhnPokerState:
        """Return the state before the deal."""
        return KuhnPokerState(self)

    def observation_tensor_shape(self) -> tuple[int, ...]:
        """Return the length of the tensor: three cards, then pass and bet of three plies."""
        return (9,)


class KuhnPokerState(State):
    """The cards dealt and the betting."""

    def __init__(self, game: KuhnPoker) -> None:
        super().__init__(game)
        self._cards = ""  # of the first player, then of the second
        self._bets = ""

    def current_player(self) -> int:
        """Return chance until both cards are dealt, then the players in turn."""
        if len(self._cards) < 2:
            return Player.CHANCE
        return Player.TERMINAL if self._bets in ENDINGS else len(self._bets) % 2

    def legal_actions(self) -> list[int]:
        """Return pass and bet, or the cards left to deal."""
        if self.is_chance_node():
            return [card for card, _ in self.chance_outcomes()]
        return [] if self.is_terminal() else [PASS, BET]

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Return the cards left, equally probable."""
        if not self.is_chance_node():
            return []
        left = [FIRST_CARD + n for n, card in enumerate(CARDS) if card not in self._cards]
        return [(card, 1 / len(left)) for card in left]

    def _apply(self, action: int) -> None:
        if self.is_chance_node():
            self._cards += ACTIONS[action]
        else:
            self._bets += ACTIONS[action][0]

    def observation(self, player: int) -> Observation | None:
        """Return the player's card after the deal, then every pass and bet.

        Players see their cards when both are dealt; until then nobody observes anything.
        """
        legal = self._legal_for(player)
        if self._bets:
            return Observation(player, self._actors[-1], self._history[-1], None, legal)
        if len(self._cards) < 2:
            return None
        return Observation(player, Player.CHANCE, None, {"card": self._cards[player]}, legal)

    def information_state_string(self, player: int) -> str:
        """Return the player's card and the betting: ``Kpb``; empty before the deal."""
        return "" if len(self._cards) < 2 else self._cards[player] + self._bets

    def returns(self) -> tuple[float, ...]:
        """Return chips won; the players lose what they paid to the pot, or win the other's."""
        if not self.is_terminal():
            return (0.0, 0.0)
        if self._bets.endswith("bp"):  # the player who passes the bet gives up one chip
            first = 1.0 if len(self._bets) == 2 else -1.0
        else:
            stake = 2.0 if self._bets.endswith("bb") else 1.0
            first = stake if CARDS.index(self._cards[0]) > CARDS.index(self._cards[1]) else -stake
        return (first, -first)

    def _copy_to(self, other: Self) -> None:
        other._cards = self._cards
        other._bets = self._bets

    def key(self) -> str:
        """Return cards and betting: ``KQpb``."""
        return self._cards + self._bets

    def __str__(self) -> str:
        if not self._cards:
            return "the cards are not dealt yet"
        hands = zip(self.game.info.player_names, self._cards, strict=False)
        cards = ", ".join(f"{name} {card}" for name, card in hands)
        return f"cards: {cards}\n{betting_text(self._bets)}"

    def action_to_string(self, action: int) -> str:
        """Return ``pass`` or ``bet``, or the card that chance deals."""
        return ACTIONS[action]

    def observation_tensor(self, player: int) -> NDArray[np.float32]:
        """Return the player's card as one of three ones, then two numbers a ply: pass, bet."""
        import numpy as np

        tensor = np.zeros(9, dtype=np.float32)
        if len(self._cards) == 2:
            tensor[CARDS.index(self._cards[player])] = 1
        for ply, bet in enumerate(self._bets):
            tensor[3 + 2 * ply + "pb".index(bet)] = 1
        return tensor


def betting_text(bets: str) -> str:
    """Return the betting in words, and the chips in the pot: ``betting: pass, bet; pot: 3``."""
    words = ", ".join({"p": "pass", "b": "bet"}[bet] for bet in bets) or "none yet"
    return f"betting: {words}; pot: {2 + bets.count('b')}"
