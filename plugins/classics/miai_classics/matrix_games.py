"""Matrix games for two, in rounds: both players choose at once and are paid by a table.

After each round both players see both choices and receive their rewards; the returns are the sums
over all rounds. The games:

=========================  =====================================================================
``matching_pennies``       heads or tails; the first player wins if both show the same side
``rock_paper_scissors``    rock beats scissors beats paper beats rock; ``rock`` is what rock pays
``prisoners_dilemma``      cooperate or defect (A. W. Tucker, 1950; R. Axelrod's tournaments, 1980)
=========================  =====================================================================
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Self, TypeAlias

from miai import Game, GameInfo, Parameters, Player, SimultaneousState, parameter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PayoffMatrix: TypeAlias = Sequence[Sequence[tuple[float, float]]]
"""Both players' rewards, by the first player's choice and then the second's."""


class RepeatedGameParameters(Parameters):
    """Parameters of a game in rounds."""

    rounds: int = parameter(10, ge=1, le=10_000, unit="rounds", help="Rounds of a game")


class RockPaperScissorsParameters(RepeatedGameParameters):
    """Parameters of `RockPaperScissors`."""

    rock: float = parameter(
        1.0, gt=0, le=100, unit="points", help="Points for a win with rock; other wins score 1"
    )


class MatrixGame(Game):
    """A game of rounds in which both players choose at once.

    Attributes:
      choices: names of the choices, the same for both players, by action.
      table: the rewards.
      rounds: number of rounds.
    """

    def __init__(
        self,
        name: str,
        parameters: RepeatedGameParameters,
        *,
        choices: Sequence[str],
        table: PayoffMatrix,
        players: tuple[str, str] = ("first", "second"),
    ) -> None:
        rewards = [reward for row in table for pair in row for reward in pair]
        sums = {sum(pair) for row in table for pair in row}
        self.parameters = parameters
        rounds = self.rounds = parameters.rounds
        self.choices, self.table = tuple(choices), table
        self.info = GameInfo(
            name=name,
            version=1,
            num_players=2,
            num_distinct_actions=len(choices),
            max_game_length=2 * rounds,
            player_names=players,
            min_utility=rounds * min(rewards),
            max_utility=rounds * max(rewards),
            utility_sum=rounds * sums.pop() if len(sums) == 1 else None,
            payoffs=True,
            simultaneous=True,
            intermediate_rewards=True,
        )

    def new_initial_state(self) -> MatrixState:
        """Return the state before the first round."""
        return MatrixState(self)

    def observation_tensor_shape(self) -> tuple[int, ...]:
        """Return the length of the tensor: rounds left, then each player's last choice."""
        return (1 + 2 * len(self.choices),)


class MatchingPennies(MatrixGame):
    """The game: the first player wins if both show the same side."""

    def __init__(self, parameters: RepeatedGameParameters | None = None) -> None:
        parameters = parameters or RepeatedGameParameters()
        win, loss = (1.0, -1.0), (-1.0, 1.0)
        super().__init__(
            "matching_pennies",
            parameters,
            choices=("heads", "tails"),
            table=((win, loss), (loss, win)),
            players=("even", "odd"),
        )


class RockPaperScissors(MatrixGame):
    """The game: rock, paper or scissors; a win with rock may be worth more or less than another."""

    def __init__(self, parameters: RockPaperScissorsParameters | None = None) -> None:
        parameters = parameters or RockPaperScissorsParameters()
        rock, draw = parameters.rock, (0.0, 0.0)
        super().__init__(
            "rock_paper_scissors",
            parameters,
            choices=("rock", "paper", "scissors"),
            table=(
                (draw, (-1.0, 1.0), (rock, -rock)),
                ((1.0, -1.0), draw, (-1.0, 1.0)),
                ((-rock, rock), (1.0, -1.0), draw),
            ),
        )


class PrisonersDilemma(MatrixGame):
    """The game: 3 points each for cooperation, 1 each for defection, 5 and 0 for one of each."""

    def __init__(self, parameters: RepeatedGameParameters | None = None) -> None:
        parameters = parameters or RepeatedGameParameters()
        super().__init__(
            "prisoners_dilemma",
            parameters,
            choices=("cooperate", "defect"),
            table=(((3.0, 3.0), (0.0, 5.0)), ((5.0, 0.0), (1.0, 1.0))),
        )


class MatrixState(SimultaneousState):
    """The choices of all rounds so far."""

    game: MatrixGame

    def __init__(self, game: MatrixGame) -> None:
        super().__init__(game)
        self._rounds: list[tuple[int, int]] = []
        self._sums = (0.0, 0.0)

    def rounds(self) -> list[tuple[int, int]]:
        """Return both players' choices in each round so far."""
        return self._rounds.copy()

    def current_player(self) -> int:
        """Return that both act, until the last round is over."""
        return Player.TERMINAL if len(self._rounds) == self.game.rounds else Player.SIMULTANEOUS

    def legal_actions_of(self, player: int) -> list[int]:
        """Return all choices."""
        return [] if self.is_terminal() else list(range(len(self.game.choices)))

    def _apply_actions(self, actions: Mapping[int, int]) -> None:
        choices = actions[0], actions[1]
        first, second = self.game.table[choices[0]][choices[1]]
        self._rounds.append(choices)
        self._sums = self._sums[0] + first, self._sums[1] + second

    def returns(self) -> tuple[float, ...]:
        """Return both players' sums so far."""
        return self._sums

    def _copy_to(self, other: Self) -> None:
        other._rounds = self._rounds.copy()
        other._sums = self._sums

    def _key(self) -> str:
        """Return the choices of all rounds: ``01 11``."""
        return " ".join(f"{first}{second}" for first, second in self._rounds)

    def __str__(self) -> str:
        game, lines = self.game, []
        for number, pair in enumerate(self._rounds[-8:], max(0, len(self._rounds) - 8) + 1):
            played = ", ".join(
                f"{name} {game.choices[choice]}"
                for name, choice in zip(game.info.player_names, pair, strict=True)
            )
            lines.append(f"round {number}: {played}")
        sums = ", ".join(
            f"{name} {total:g}"
            for name, total in zip(game.info.player_names, self._sums, strict=True)
        )
        lines.append(f"{len(self._rounds)} of {game.rounds} rounds; points: {sums}")
        return "\n".join(lines)

    def action_to_string(self, action: int) -> str:
        """Return the name of a choice."""
        return self.game.choices[action]

    def observation_tensor(self, player: int) -> NDArray[np.float32]:
        """Return the share of rounds left, then one-hot the last choice, the player's own first."""
        import numpy as np

        size = len(self.game.choices)
        tensor = np.zeros(1 + 2 * size, dtype=np.float32)
        tensor[0] = 1 - len(self._rounds) / self.game.rounds
        if self._rounds:
            last = self._rounds[-1]
            tensor[1 + last[player]] = 1
            tensor[1 + size + last[1 - player]] = 1
        return tensor
