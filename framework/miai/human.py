"""The agent ``human``: a person at a terminal."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Protocol, TextIO

from miai.advice import hint_text
from miai.agent import Agent, Decision
from miai.clock import ClockReading
from miai.errors import AgentUnavailableError, GameError, IllegalActionError, MiaiError
from miai.game import Game, State
from miai.plugins.parameters import Parameters
from miai.render import Renderer, action_text, hint_of, renderer_for
from miai.search.protocol import SearchResult

HELP = """\
Type a move in the game's notation, such as {example}, or one of:
  moves      show the legal moves
  board      show the board again
{offered}  resign     give the game up
  quit       leave without finishing
  help       show this"""

_HINT = "  hint, ?    ask a search for the best moves\n"
_UNDO = "  undo       take back your last move and what followed\n"
_SAVE = "  save FILE  write the game so far; the suffix names the format\n"

_MOST_LISTED = 12
"""Legal moves up to this number are listed after a wrong one; of more, a few are."""

_EXAMPLES = 3


class TakeBack(BaseException):
    """A person takes a move back: whoever plays the game has to go on from before it.

    Attributes:
      ply: of the move.
    """

    def __init__(self, ply: int) -> None:
        super().__init__(ply)
        self.ply = ply


class Offers(Protocol):
    """What the surroundings of a game can do for a person beside passing moves on."""

    def last_ply_of(self, player: int) -> int | None:
        """Return the last ply that `player` may take back by `TakeBack`; None for none."""

    def can_advise(self) -> bool:
        """Return whether there is a search to ask."""

    def advise(self, state: State) -> SearchResult:
        """Return what the search finds. Raises `MiaiError`."""

    def can_save(self) -> bool:
        """Return whether a game that is going on may be written to a file."""

    def save(self, file: str) -> str:
        """Write the game so far; return what to say of it. Raises `MiaiError`."""


class HumanAgent(Agent):
    """Asks a person for each move.

    Attributes:
      read, write: where answers come from and where the board is shown.
      offers: what can be done beside moving; None for nothing.

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
        self.read: TextIO | None = read or sys.stdin  # None when the process began without one
        self.write: TextIO | None = write or sys.stdout
        self.offers: Offers | None = None
        self._told: list[str] = []
        self._renderer: Renderer = renderer_for(game)
        self._notation = game.new_initial_state()
        self._lines_below = 0  # written since the board was shown
        self._greeted = False

    def new_game(self, seed: int, *, player: int, log: Path | None = None) -> None:
        """Begin a game. Refuses to play without a person.

        Raises:
          AgentUnavailableError: the input is closed, as in a process of its own.
        """
        for stream, name in ((self.read, "input"), (self.write, "output")):
            if stream is None or stream.closed:
                raise AgentUnavailableError(
                    f"agent 'human' needs a terminal, and standard {name} is closed: call "
                    "`miai play` in a terminal, or let another agent play"
                )
        super().new_game(seed, player=player, log=log)

    def tell(self, text: str) -> None:
        """Show a line below the board at the next turn, or the end."""
        self._told.append(text)

    def act(self, clock: ClockReading) -> Decision:
        """Show the position and return what the person chooses."""
        try:
            return self._choose(clock)
        except KeyboardInterrupt:
            self._say("")
            raise KeyboardInterrupt("the game was left unfinished") from None

    def _choose(self, clock: ClockReading) -> Decision:
        self._show_board()
        if not self._greeted:
            self._greeted = True
            self._say(f"Type a move, such as {self._examples(1)}, or 'help'.")
        if hint := hint_of(self._renderer, self.view):
            self._say(hint)
        name = self.game.info.player_names[self.view.player]
        left = "" if clock.limit is None else f" ({clock.limit:.0f} s left)"
        while True:
            decision = self._answer(self._ask(f"{name}{left}> "))
            if decision is not None:
                self._told.clear()
                return decision

    def end(self, returns: tuple[float, ...]) -> None:
        """Show the end of the game."""
        self._show_board()
        mine = returns[self.view.player]
        verdict = "a draw" if len(set(returns)) == 1 else "you win" if mine > 0 else "you lose"
        self._say(f"The game is over: {verdict}.")

    def _answer(self, text: str) -> Decision | None:
        command = text.strip().lower()
        if command in ("", "help") or (command == "?" and not self._can_advise()):
            self._say(HELP.format(example=self._examples(1), offered=self._offered()))
        elif command in ("hint", "?", "undo") or command.partition(" ")[0] == "save":
            self._serve(text.strip())
        elif command == "board":
            self._show_board()
        elif command == "moves":
            self._say(" ".join(self._legal_moves()))
        elif command in ("quit", "exit"):
            raise KeyboardInterrupt
        elif command == "resign":
            return Decision(self.view.legal_actions[0], resign=True)
        else:
            return self._move(text)
        return None

    # -- what is offered beside moves -----------------------------------------------------------

    def _offered(self) -> str:
        offers = self.offers
        if offers is None:
            return ""
        undo = _UNDO if self.game.info.perfect_information else ""
        hint = _HINT if offers.can_advise() else ""
        return f"{hint}{undo}{_SAVE if offers.can_save() else ''}"

    def _can_advise(self) -> bool:
        return self.offers is not None and self.offers.can_advise()

    def _serve(self, text: str) -> None:
        """Do what is no move. Raises `TakeBack` where a move is taken back."""
        command, _, file = text.partition(" ")
        try:
            if command.lower() == "undo":
                self._take_back()
            elif command.lower() == "save":
                self._save(file.strip())
            else:
                self._hint()
        except MiaiError as error:
            self._say(str(error))

    def _take_back(self) -> None:
        if self.offers is None or not self.game.info.perfect_information:
            self._say("Moves cannot be taken back here.")
            return
        ply = self.offers.last_ply_of(self.view.player)
        if ply is None:
            self._say("There is no move of yours to take back.")
            return
        self._told.clear()
        raise TakeBack(ply)

    def _save(self, file: str) -> None:
        if self.offers is None or not self.offers.can_save():
            self._say("A game that is going on cannot be saved here.")
        elif not file:
            self._say("Name a file: save FILE")
        else:
            self._say(self.offers.save(file))

    def _hint(self) -> None:
        if self.offers is None or not self.offers.can_advise():
            self._say("There is no search to ask here.")
            return
        self._say(hint_text(self.view, self._renderer, self.offers.advise(self.view.state)))

    # -- moves ----------------------------------------------------------------------------------

    def _move(self, text: str) -> Decision | None:
        try:
            return Decision(self._parse(text))
        except GameError as error:
            self._explain(error)
            return None

    def _explain(self, error: GameError) -> None:
        """Say what was wrong with a move and what would be right, the board still in sight."""
        told = str(error)
        if isinstance(error, IllegalActionError):
            told = told.removesuffix(f"\n{error.position}")
        self._say(f"{told}\n{self._advice()}")
        board = self._renderer.render(self.view)
        if self._lines_below + board.count("\n") + 2 > shutil.get_terminal_size().lines:
            self._show_board()

    def _advice(self) -> str:
        moves = self._legal_moves()
        if len(moves) <= _MOST_LISTED:
            return f"Legal moves: {' '.join(moves)}. 'help' shows what else can be typed."
        return (
            f"Legal are {self._examples(_EXAMPLES)} and {len(moves) - _EXAMPLES} more: 'moves' "
            "shows all, 'help' what else can be typed."
        )

    def _examples(self, number: int) -> str:
        """Return legal moves from the middle of them all, where boards have their middle."""
        moves = self._legal_moves()
        start = max(0, (len(moves) - number) // 2)
        return ", ".join(moves[start : start + number])

    def _legal_moves(self) -> list[str]:
        position = self.view.state if self.game.info.perfect_information else self._notation
        return [action_text(position, action) for action in self.view.legal_actions]

    def _parse(self, text: str) -> int:
        if self.game.info.perfect_information:
            return self.view.state.string_to_action(text.strip())
        wanted = text.strip().lower()
        for action in self.view.legal_actions:
            if wanted in (action_text(self._notation, action).lower(), str(action)):
                return action
        raise GameError(f"no legal move is written '{text.strip()[:40]}'")

    def _ask(self, prompt: str) -> str:
        assert self.read is not None, "new_game refuses to begin without it"
        assert self.write is not None, "new_game refuses to begin without it"
        self.write.write(prompt)
        self.write.flush()
        line = self.read.readline()
        self._lines_below += 1
        if not line:
            raise KeyboardInterrupt
        return line

    def _say(self, text: str) -> None:
        print(text, file=self.write, flush=True)
        self._lines_below += text.count("\n") + 1

    def _show_board(self) -> None:
        self._say(self._renderer.render(self.view))
        self._lines_below = 0
        for line in self._told:
            self._say(line)
