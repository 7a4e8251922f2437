"""What the games of this plugin share: player 0 searches, player 1 hides and sees everything."""

from __future__ import annotations

import string
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Self, TypeAlias

from miai import (
    Game,
    GameInfo,
    Json,
    Observation,
    Player,
    State,
)
from miai.beliefs.problem import Root

Phase: TypeAlias = Literal["start", "sense", "place", "move", "search", "answer", "over"]
"""Chance acts in ``start``, player 1 in ``answer``, nobody when the game is ``over``."""

_OTHER_ACTORS = {"start": Player.CHANCE, "answer": 1, "over": Player.TERMINAL}


class BlindGame(Game):
    """A game against a hidden opponent. Chance begins it by choosing a hidden part.

    Player 0's actions have the numbers of the problem, player 1's follow, then come those of
    chance: `first_start` chooses the hidden part 0.

    Args:
      name, players: names of the game and its players.
      columns: width of the board.
      root: the public part at the start, and the hidden parts, all equally likely.
      first_start: the number of all other actions.
      max_length: maximum number of actions.
      chance: whether there is a choice at the start.

    Attributes:
      columns, first_start: see above.
      start, starts: the public and the hidden parts of the root, the latter in increasing order.
    """

    def __init__(
        self,
        name: str,
        players: tuple[str, str],
        *,
        columns: int,
        root: Root[Any],
        first_start: int,
        max_length: int,
        chance: bool = True,
    ) -> None:
        self.columns = columns
        self.start, self.starts = root.public, sorted(set(root.hidden))
        self.first_start = first_start
        self.info = GameInfo(
            name=name,
            version=1,
            num_players=2,
            num_distinct_actions=first_start,
            max_game_length=max_length,
            max_chance_outcomes=first_start + self.starts[-1] + 1 if chance else 0,
            player_names=players,
            perfect_information=False,
        )

    @abstractmethod
    def new_initial_state(self) -> BlindState:
        """Return the state before the choice of chance."""

    def state_at(self, public: Any, hidden: int) -> BlindState:
        """Return a state of the problem, without a history and with all turns left."""
        state = self.new_initial_state()
        state.place(public, hidden)
        return state


class BlindState(State):
    """A state of such a game.

    Both players notice every transition. Player 0 observes its own actions and what they revealed;
    of chance's choice and of player 1's actions it observes only that they happened. Player 1
    observes everything.
    """

    game: BlindGame
    _phase: Phase = "start"
    _words: tuple[str, ...] = ()  # the information state of player 0
    _revealed: Mapping[str, Json] = {}  # by the last action, to both players
    _value: float | None = None  # of the finished game, to player 0

    # What a game implements.

    @property
    @abstractmethod
    def public(self) -> Any:
        """The public part of the problem's state; while player 1 acts, that after its answer."""

    @property
    @abstractmethod
    def hidden(self) -> int:
        """The hidden part of the problem's state."""

    @abstractmethod
    def place(self, public: Any, hidden: int) -> None:
        """Set up a state of the problem, without a history and with all turns left."""

    @abstractmethod
    def _legal_moves(self) -> list[int]:
        """Return the actions of a player in ascending order."""

    @abstractmethod
    def _play(self, action: int) -> None:
        """Apply an action of a player."""

    @abstractmethod
    def letters(self) -> str:
        """Return one letter for each square, in order; ``.`` for an empty one."""

    @abstractmethod
    def winner_to_string(self, value: float) -> str:
        """Return the result in words, from the value to player 0."""

    # What follows.

    def current_player(self) -> int:
        """Return chance at the start, player 1 for an answer, otherwise player 0."""
        return _OTHER_ACTORS.get(self._phase, 0)

    def legal_actions(self) -> list[int]:
        """Return the actions of chance or a player in ascending order."""
        if self._phase == "start":
            return [action for action, _ in self.chance_outcomes()]
        return [] if self._phase == "over" else self._legal_moves()

    def _apply(self, action: int) -> None:
        if self._phase == "start":
            self._reveal_nothing()
            self.place(self.game.start, action - self.game.first_start)
        else:
            self._play(action)

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Return the hidden parts at the start as actions, equally probable."""
        if self._phase != "start":
            return []
        starts = self.game.starts
        return [(self.game.first_start + hidden, 1 / len(starts)) for hidden in starts]

    def _reveal(self, action: int, data: Mapping[str, Json]) -> None:
        """Record what an action of player 0 revealed."""
        words = ",".join(f"{key}={value}" for key, value in data.items())
        self._words = (*self._words, f"{self.action_to_string(action)}:{words}")
        self._revealed = data

    def _reveal_nothing(self) -> None:
        """Record an action of chance or of player 1, which player 0 does not see."""
        self._words = (*self._words, ".")
        self._revealed = {}

    def _finish(self, value: float) -> None:
        self._phase = "over"
        self._value = value
        self._words = (*self._words, self.winner_to_string(value))

    def observation(self, player: int) -> Observation | None:
        """Return the actor, the action if the player sees it, and what it revealed.

        At the end `Observation.data` contains ``"result"`` for both players.
        """
        legal = self._legal_for(player)
        if not self._history:
            return Observation(player, legal_actions=legal)
        actor = self._actors[-1]
        data: dict[str, Json] = dict(self._revealed)
        if self._value is not None:
            data["result"] = self.result_to_string()
        action = self._history[-1] if player == 1 or actor == 0 else None
        return Observation(player, actor, action, data or None, legal)

    def information_state_string(self, player: int) -> str:
        """Return player 0's observations, ``.`` for what it did not see; for 1 all actions."""
        if player == 1:
            return " ".join(map(self.action_to_string, self._history))
        return " ".join(self._words)

    def returns(self) -> tuple[float, ...]:
        """Return the value of the finished game to player 0, and the opposite; zeros before."""
        value = self._value or 0.0
        return (value, -value)

    def result_to_string(self) -> str:
        """Return the result in words; empty before the end."""
        return "" if self._value is None else self.winner_to_string(self._value)

    def _name(self, square: int) -> str:
        return square_name(square, self.game.columns)

    def __str__(self) -> str:
        return board_text(self.letters(), self.game.columns)

    def _copy_to(self, other: Self) -> None:
        other._phase, other._words = self._phase, self._words
        other._revealed, other._value = self._revealed, self._value


# Squares by number, row by row from the lower left, and by name: ``a1`` is 0.


def square_name(square: int, columns: int) -> str:
    """Return the name of a square: its column's letter and its row's number from 1."""
    row, column = divmod(square, columns)
    return f"{string.ascii_lowercase[column]}{row + 1}"


def parse_square(text: str, *, rows: int, columns: int) -> int:
    """Return the square of a name. Raises `ValueError` if the board has no such square."""
    names = [square_name(square, columns) for square in range(rows * columns)]
    if text not in names:
        raise ValueError(f"{text[:20]!r} is not a square; the board has a1 to {names[-1]}")
    return names.index(text)


def board_symmetries(rows: int, columns: int) -> tuple[tuple[int, ...], ...]:
    """Return the symmetries of a board, the identity first: the image of each square.

    There are eight of a square board and four of another.
    """
    images = []
    for turned in (False, True) if rows == columns else (False,):
        for down in (False, True):
            for left in (False, True):
                image = []
                for square in range(rows * columns):
                    row, column = divmod(square, columns)
                    row, column = (column, row) if turned else (row, column)
                    row = rows - 1 - row if down else row
                    column = columns - 1 - column if left else column
                    image.append(row * columns + column)
                images.append(tuple(image))
    return tuple(images)


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


def board_text(letters: Sequence[str], columns: int) -> str:
    """Return a board for people, the top row first, from one letter per square."""
    rows = ["".join(letters[i : i + columns]) for i in range(0, len(letters), columns)]
    return "\n".join(reversed(rows))
