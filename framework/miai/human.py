"""The agent ``human``: a person at a terminal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TextIO

from miai.agent import Agent, Decision
from miai.clock import ClockReading
from miai.errors import AgentUnavailableError, GameError
from miai.game import Game, State
from miai.plugins.parameters import Parameters
from miai.render import Renderer, action_text, renderer_for

HELP = """\
Type a move in the game's notation, or one of:
  moves      show the legal moves
  board      show the board again
  resign     give the game up
  quit       leave without finishing
  help       show this"""


class HumanAgent(Agent):
    """Asks a person for each move.

    Attributes:
      read, write: where answers come from and where the board is shown.

    Raises:
      KeyboardInterrupt: the person quits or the input ends.
    """

    def __init__(
        self,
        game: Game,
        parameters: Parameters | None = None,
        *,
        read: TextIO | None = None,
        write: TextIO | None = None,
    ) -> None:
        super().__init__(game, parameters)
        self.read = read or sys.stdin
        self.write = write or sys.stdout
        self._renderer: Renderer = renderer_for(game)
        self._notation = game.new_initial_state()

    def new_game(self, seed: int, *, player: int, log: Path | None = None) -> None:
        """Begin a game. Refuses to play without a person.

        Raises:
          AgentUnavailableError: the input is closed, as in a process of its own.
        """
        if self.read.closed:
            raise AgentUnavailableError(
                "agent 'human' needs a terminal: use `miai play`, not a tournament"
            )
        super().new_game(seed, player=player, log=log)

    def act(self, clock: ClockReading) -> Decision:
        """Show the position and return what the person chooses."""
        try:
            return self._choose(clock)
        except KeyboardInterrupt:
            self._say("\nThe game was left unfinished.")
            raise

    def _choose(self, clock: ClockReading) -> Decision:
        self._say(self._renderer.render(self.view))
        name = self.game.info.player_names[self.view.player]
        left = "" if clock.limit is None else f" ({clock.limit:.0f} s left)"
        while True:
            decision = self._answer(self._ask(f"{name}{left}> "))
            if decision is not None:
                return decision

    def end(self, returns: tuple[float, ...]) -> None:
        """Show the end of the game."""
        self._say(self._renderer.render(self.view))
        mine = returns[self.view.player]
        verdict = "a draw" if len(set(returns)) == 1 else "you win" if mine > 0 else "you lose"
        self._say(f"The game is over: {verdict}.")

    def _answer(self, text: str) -> Decision | None:
        command = text.strip().lower()
        if command in ("", "help", "?"):
            self._say(HELP)
        elif command == "board":
            self._say(self._renderer.render(self.view))
        elif command == "moves":
            position = self._position()
            legal = [action_text(position, action) for action in self.view.legal_actions]
            self._say(" ".join(legal))
        elif command in ("quit", "exit"):
            raise KeyboardInterrupt
        elif command == "resign":
            return Decision(self.view.legal_actions[0], resign=True)
        else:
            return self._move(text)
        return None

    def _move(self, text: str) -> Decision | None:
        try:
            return Decision(self._parse(text))
        except GameError as error:
            self._say(f"{error}\nType 'help' for what can be typed.")
            return None

    def _parse(self, text: str) -> int:
        if self.game.info.perfect_information:
            return self.view.state.string_to_action(text)
        wanted = text.strip().lower()
        for action in self.view.legal_actions:
            if wanted in (action_text(self._notation, action).lower(), str(action)):
                return action
        raise GameError(f"no legal move is written '{text.strip()[:40]}'")

    def _position(self) -> State:
        return self.view.state if self.game.info.perfect_information else self._notation

    def _ask(self, prompt: str) -> str:
        self.write.write(prompt)
        self.write.flush()
        line = self.read.readline()
        if not line:
            raise KeyboardInterrupt
        return line

    def _say(self, text: str) -> None:
        print(text, file=self.write, flush=True)
