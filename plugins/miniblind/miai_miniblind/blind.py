"""What the games of this plugin share: player 0 searches, player 1 hides and sees everything.

How the games are shown to a player: from what it was told, and from nothing else.

Squares of a board by number, row by row from the lower left, and by name: ``a1`` is 0.
"""

from __future__ import annotations

import string
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

from miai import EnumeratedBelief, Game, Json, Observation, Parameters, Player, PlayerView, State


class BlindState(State):
    """A state of a game in which player 0 is told what its problem tells, player 1 everything.

    Every transition is told to both players. Player 0 is told its own actions and what they
    showed; of the start that chance chose and of player 1's actions only that they were taken.
    """

    _told: tuple[str, ...] = ()  # the information state of player 0, in words
    _shown: Mapping[str, Json] = {}  # what the last action showed both players
    _value: float | None = None  # of the finished game, to player 0

    # -- what a game implements -------------------------------------------------------------------

    @property
    @abstractmethod
    def public(self) -> Any:
        """The public part of the problem's state; while player 1 acts, of what it answers."""

    @property
    @abstractmethod
    def hidden(self) -> int:
        """The hidden part of the problem's state."""

    @abstractmethod
    def letters(self) -> str:
        """Return one letter a square, in order: what stands there, ``.`` for nothing."""

    @abstractmethod
    def winner_to_string(self, value: float) -> str:
        """Return the result in words, from the value to player 0."""

    # -- what follows -----------------------------------------------------------------------------

    def _tell(self, action: int, shown: Mapping[str, Json]) -> None:
        """Note what an action of player 0 showed."""
        words = ",".join(f"{key}={value}" for key, value in shown.items())
        self._told = (*self._told, f"{self.action_to_string(action)}:{words}")
        self._shown = shown

    def _tell_nothing(self) -> None:
        """Note that chance or player 1 did something that player 0 does not see."""
        self._told = (*self._told, ".")
        self._shown = {}

    def _finish(self, value: float) -> None:
        self._value = value
        self._told = (*self._told, self.winner_to_string(value))

    def observation(self, player: int) -> Observation | None:
        """Return who acted, what was shown, and to whom it is visible how.

        `Observation.data` has ``"result"`` for both players at the end.
        """
        legal = self._legal_for(player)
        if not self._history:
            return Observation(player, legal_actions=legal)
        actor = self._actors[-1]
        data: dict[str, Json] = dict(self._shown)
        if self._value is not None:
            data["result"] = self.result_to_string()
        action = self._history[-1] if player == 1 or actor == 0 else None
        return Observation(player, actor, action, data or None, legal)

    def information_state_string(self, player: int) -> str:
        """Return what player 0 was told, ``.`` for what it did not see; for 1 all actions."""
        if player == 1:
            return " ".join(map(self.action_to_string, self._history))
        return " ".join(self._told)

    def returns(self) -> tuple[float, ...]:
        """Return the value of the finished game to player 0, and the opposite; zeros before."""
        value = self._value or 0.0
        return (value, -value)

    def result_to_string(self) -> str:
        """Return the result in words; empty before the end."""
        return "" if self._value is None else self.winner_to_string(self._value)

    def _copy_to(self, other: Self) -> None:
        other._told, other._shown, other._value = self._told, self._shown, self._value


class Starts:
    """The chance node at the start of a game: one hidden part of some, equally likely.

    Attributes:
      hidden: the hidden parts, in increasing order.
      first: the number of the chance action for the hidden part 0; the others follow.
    """

    def __init__(self, hidden: list[int], *, first: int) -> None:
        self.hidden = sorted(set(hidden))
        self.first = first

    def outcomes(self) -> list[tuple[int, float]]:
        """Return the chance actions with their probabilities."""
        share = 1 / len(self.hidden)
        return [(self.first + hidden, share) for hidden in self.hidden]

    def hidden_of(self, action: int) -> int:
        """Return the hidden part that a chance action chooses."""
        return action - self.first


def actor_of(phase: str) -> int:
    """Return who acts in a phase: ``start``, ``answer`` and ``over`` are not player 0's."""
    others = {"start": Player.CHANCE, "answer": 1, "over": Player.TERMINAL}
    return others.get(phase, 0)


def square_name(square: int, columns: int) -> str:
    """Return the name of a square: its column's letter and its row's number from 1."""
    row, column = divmod(square, columns)
    return f"{string.ascii_lowercase[column]}{row + 1}"


def parse_square(text: str, *, rows: int, columns: int) -> int:
    """Return the square of a name.

    Raises:
      ValueError: the board has no such square.
    """
    for square in range(rows * columns):
        if square_name(square, columns) == text:
            return square
    last = square_name(rows * columns - 1, columns)
    raise ValueError(f"{text[:20]!r} is no square; those of the board are a1 to {last}")


def bits(squares: Iterable[int]) -> int:
    """Return a set of squares as an integer with a bit for each."""
    mask = 0
    for square in squares:
        mask |= 1 << square
    return mask


def squares_of(mask: int) -> Iterator[int]:
    """Iterate over the squares of a set, the lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def board_text(letters: str, columns: int) -> str:
    """Return a board for people, the top row first, from one letter a square."""
    rows = [letters[start : start + columns] for start in range(0, len(letters), columns)]
    return "\n".join(reversed(rows))


COLUMNS = {"mini_rbc": "size", "phantom_lines": "columns", "sub_hunt": "size"}
"""The parameter that says how wide a game's board is."""


class BlindRenderer:
    """Shows what is certain, and ``?`` where the player's worlds differ."""

    def __init__(self, game: Game, parameters: Parameters) -> None:
        self._columns: int = getattr(game.parameters, COLUMNS[game.info.name])

    def render(self, view: PlayerView) -> str:
        """Return the board, the top row first, and the number of worlds."""
        belief = EnumeratedBelief(view.game, view.player)
        for observation in view.observations:
            belief.observe(observation)
        boards = [world.letters() for world in belief if isinstance(world, BlindState)]
        if not boards:
            return "nothing was told yet"
        letters = (stack[0] if len(set(stack)) == 1 else "?" for stack in zip(*boards, strict=True))
        worlds = "1 world" if len(boards) == 1 else f"{len(boards)} worlds"
        return f"{board_text(''.join(letters), self._columns)}\n{worlds}"
