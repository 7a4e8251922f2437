"""People at a terminal: the agent ``human``, and the session in which it plays.

The agent shows the board and reads moves. The session of `miai play` adds undo, hints, saving and
the opponents' evaluations.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import (
    ExitStack,
    contextmanager,
    nullcontext,
    redirect_stderr,
    redirect_stdout,
    suppress,
)
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from miai.agent import Agent, Decision
from miai.api import renderer_for
from miai.clock import ClockReading
from miai.errors import AgentUnavailableError, ConfigError, GameError, IllegalActionError, MiaiError
from miai.game import Game, State
from miai.information import PlayerView
from miai.parameters import Parameters
from miai.plain import dumps, listed
from miai.playing.match import Seat, play_in_process
from miai.playing.session import RevisableGame, TakeBack, decision_in_place, hint_line
from miai.record import MoveRecord, PlayerRecord, winners_text
from miai.render import Renderer, StyledRenderer, action_text, hint_of
from miai.search.protocol import SearchResult, SimultaneousSearch
from miai.seeds import derive_seed
from miai.values import Evaluation

if TYPE_CHECKING:
    from miai.record import GameRecord
    from miai.search.protocol import Search


_HINT_MOVES = 5
"""Number of moves in a hint."""
_LINE_MOVES = 5
"""Number of moves in a line of play."""


def show_position(
    renderer: Renderer, view: PlayerView, stream: TextIO, marks: Mapping[int, str] | None = None
) -> None:
    """Write a position: in signs and colours where the stream is a terminal that shows them.

    Args:
      marks: a character for each action to mark, drawn at its place where there are signs.
    """
    if isinstance(renderer, StyledRenderer) and stream.isatty():
        from rich.console import Console

        console = Console(file=stream, highlight=False)
        if "utf" in console.encoding.lower() and not console.is_dumb_terminal:
            console.print(renderer.styled(view, marks), soft_wrap=True)
            return
    print(renderer.render(view), file=stream, flush=True)


def hint_text(view: PlayerView, result: SearchResult) -> str:
    """Return the hint of a search for the player to move."""
    state = view.state
    priors = _shares(result, "priors")
    best = _best(result, priors)
    strategy = _shares(result, "strategy")
    lines = []
    for number, action in enumerate(best, 1):
        facts = ", ".join(_facts(state.game, result, priors, action))
        if strategy:  # where players act at once
            facts += f", probability {100 * strategy.get(action, 0.0):.0f} %"
        lines.append(f"{number}. {action_text(state, action)}: {facts}")
    if expected := line_text(state, result.pv[: 1 + _LINE_MOVES]):
        lines.append(f"Expected: {expected}")
    return "\n".join(lines)


def move_text(state: State, move: MoveRecord) -> str:
    """Return a line with a move and its evaluation; `state` is the position after it."""
    if move.actor < 0:
        return f"chance: {move.text}"
    name = state.game.info.player_names[move.actor]
    facts = _thoughts(state, move.statistics)
    if move.seconds is not None:
        facts.append(f"{move.seconds:.1f} s")
    return f"{name} played {move.text}" + (f": {', '.join(facts)}" if facts else "")


def line_text(state: State, actions: Sequence[int]) -> str:
    """Return a line of play from a state, as far as it is legal and single players act."""
    names = []
    state = state.clone()
    for action in actions:
        if state.current_player() < 0 or not state.is_legal(action):
            break
        names.append(state.action_to_string(action))
        state.apply_action(action)
    return " ".join(names)


def _facts(game: Game, result: SearchResult, priors: Mapping[int, float], action: int) -> list[str]:
    """Return the value and the visits of an action, or its prior if it was not visited."""
    facts, value = [], result.values.get(action)
    if value is None and (action == result.action or action not in priors):
        value = result.value
    if value is not None:
        facts.append(Evaluation(value, result.unit).text(game.info))
    if action in result.visits:
        facts.append(f"{result.visits[action]} visits")
    elif action in priors:
        facts.append(f"prior {100 * priors[action]:.0f} %")
    return facts


def _shares(result: SearchResult, name: str) -> dict[int, float]:
    """Return probabilities of actions in the statistics of a search; empty without any."""
    pairs = result.statistics.get(name)
    if not isinstance(pairs, Sequence) or isinstance(pairs, str):
        return {}
    return {int(pair[0]): float(pair[1]) for pair in pairs if isinstance(pair, list) and pair[1]}


def _best(result: SearchResult, priors: Mapping[int, float]) -> list[int]:
    """Return the move to play and the next best by visits or, without visits, by priors."""
    tried = [action for action, visits in result.visits.items() if visits > 0]
    tried.sort(key=lambda action: (action != result.action, -result.visits[action], action))
    if not tried:
        tried = [result.action, *(action for action in priors if action != result.action)]
    return tried[:_HINT_MOVES]


def _thoughts(state: State, statistics: Mapping[str, object]) -> list[str]:
    """Return the value, the simulations and the expected line of a player's own search."""
    facts = []
    if (evaluation := Evaluation.from_statistics(statistics)) is not None:
        facts.append(f"its {evaluation.text(state.game.info)}")
    simulations = statistics.get("simulations")
    if isinstance(simulations, int):
        facts.append(f"{simulations} simulations")
    pv = statistics.get("pv")
    if isinstance(pv, Sequence) and not isinstance(pv, str):
        expected = line_text(state, [a for a in pv[1 : 1 + _LINE_MOVES] if isinstance(a, int)])
        facts += [f"expects {expected}"] if expected else []
    return facts


HELP = """\
Type a move in the game's notation, such as {example}, or one of:
  moves      show the legal moves
  board      show the board again
{offered}  resign     resign the game
  quit       leave without finishing
  help       show this"""

_OFFERS = {
    "hint": "  hint, ?    ask for good moves\n",
    "undo": "  undo       take back your last move and what followed\n",
    "save": "  save FILE  write the game so far; the suffix names the format\n",
}
_REFUSALS = {
    "hint": "Hints are unavailable here.",
    "undo": "Moves cannot be taken back here.",
    "save": "An unfinished game cannot be saved here.",
}

_ENTER_SCREEN = "\x1b[?1049h\x1b[2J\x1b[H"
_LEAVE_SCREEN = "\x1b[2J\x1b[?1049l"
"""What xterm and most other terminals take as entering and leaving a cleared second screen."""

_MAX_LISTED = 12
"""Maximum number of legal moves that are all listed after an illegal one."""

_EXAMPLES = 3


class HumanAgent(Agent):
    """Asks a person for each move.

    Attributes:
      read, write: the input and the output.
      session: offers undo, hints and saving; None without one.
      hides: whether each turn is on a screen of its own, which vanishes with what was typed.

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
        self.read: TextIO | None = read or sys.stdin  # None if the process has none
        self.write: TextIO | None = write or sys.stdout
        self.session: PlaySession | None = None
        self.hides = False
        self._notes: list[str] = []
        self._renderer: Renderer = renderer_for(game)
        self._notation = game.new_initial_state()
        self._lines_below = 0  # written since the board was shown
        self._greeted = False

    def new_game(self, seed: int, *, player: int, log: Path | None = None) -> None:
        """Begin a game. Raises `AgentUnavailableError` if the process has no input."""
        for stream, name in ((self.read, "input"), (self.write, "output")):
            if stream is None or stream.closed:
                raise AgentUnavailableError(
                    f"agent 'human' needs a terminal, but standard {name} is closed: run "
                    "`miai play` in a terminal, or choose another agent"
                )
        super().new_game(seed, player=player, log=log)

    def tell(self, text: str) -> None:
        """Show a line below the board at the next turn or at the end."""
        self._notes.append(text)

    def act(self, clock: ClockReading) -> Decision:
        """Show the position and return the person's choice."""
        try:
            with self._hidden_turn() if self.hides else nullcontext():
                return self._choose(clock)
        except KeyboardInterrupt:
            self._say("")
            raise KeyboardInterrupt("the game was left unfinished") from None

    @contextmanager
    def _hidden_turn(self) -> Iterator[None]:
        """Show a turn on the terminal's alternate screen: leaving it leaves nothing to scroll to.

        The player before has time to leave the seat.
        """
        assert self.write is not None, "new_game refuses to begin without it"
        self.write.write(_ENTER_SCREEN)
        try:
            if self.session is not None and self.session.seated is not self:
                self.session.seated = self
                name = self.game.info.player_names[self.view.player]
                self._ask(f"{name}: press Enter when nobody else is looking. ")
            yield
        finally:
            self.write.write(_LEAVE_SCREEN)
            self.write.flush()

    def _choose(self, clock: ClockReading) -> Decision:
        self._show_board()
        if not self._greeted:
            self._greeted = True
            self._say(f"Type a move, such as {self._examples(1)}, or 'help'.")
        if hint := hint_of(self._renderer, self.view):
            self._say(hint)
        name = self.game.info.player_names[self.view.player]
        remaining = "" if clock.limit is None else f" ({clock.limit:.0f} s left)"
        while True:
            decision = self._answer(self._ask(f"{name}{remaining}> "))
            if decision is not None:
                self._notes.clear()
                return decision

    def end(self, returns: tuple[float, ...]) -> None:
        """Show the end of the game, once to several people; the session says who has won."""
        if self.session is not None and self is not self.session.people[0]:
            return
        self._show_board()
        if self.session is None:
            best = [player for player, value in enumerate(returns) if value == max(returns)]
            verdict = "you win" if best == [self.view.player] else "you lose"
            if len(best) == len(returns) > 1:
                verdict = "a draw"
            elif len(best) > 1 and self.view.player in best:
                verdict = winners_text([self.game.info.player_names[player] for player in best])
            self._say(f"The game is over: {verdict}.")

    def _answer(self, text: str) -> Decision | None:
        command, offers = text.strip().lower(), self._offers()
        if command in ("", "help") or (command == "?" and "hint" not in offers):
            offered = "".join(_OFFERS[name] for name in offers)
            self._say(HELP.format(example=self._examples(1), offered=offered))
        elif command in ("hint", "?", "undo") or command.partition(" ")[0] == "save":
            try:
                self._serve(text.strip())
            except MiaiError as error:
                self._say(str(error))
        elif command == "board":
            self._show_board()
        elif command == "moves":
            self._say(" ".join(self._legal_moves()))
        elif command in ("quit", "exit"):
            raise KeyboardInterrupt
        elif command == "resign":
            return Decision(self.view.legal_actions[0], resign=True)
        else:
            try:
                return Decision(self._parse(text))
            except GameError as error:
                self._explain(error)
        return None

    # -- commands other than moves --------------------------------------------------------------

    def _offers(self) -> list[str]:
        if self.session is None:
            return []
        hint = ["hint"] if self.session.can_advise() else []
        return [*hint, "undo", "save"] if self.game.info.perfect_information else hint

    def _serve(self, text: str) -> None:
        """Run a command of the session. Raises `TakeBack` for an undo."""
        command, _, file = text.partition(" ")
        command = command.lower().replace("?", "hint")
        if self.session is None or command not in self._offers():
            self._say(_REFUSALS[command])
        elif command == "hint":
            self._show_hint(self.session)
        elif command == "save":
            self._say(self.session.save(file.strip()) if file.strip() else "Name a file: save FILE")
        elif (ply := self.session.last_ply_of(self.view.player)) is None:
            self._say("There is no move of yours to take back.")
        else:
            self._notes.clear()
            raise TakeBack(ply)

    def _show_hint(self, session: PlaySession) -> None:
        if not self.game.info.perfect_information:
            self._say(session.advise_from(self.view))
            return
        result = session.advise(self.view)
        best = _best(result, _shares(result, "priors"))
        show_position(
            self._renderer,
            self.view,
            self.write or sys.stdout,
            {action: str(number) for number, action in enumerate(best, 1)},
        )
        self._say(hint_text(self.view, result))

    # -- moves ----------------------------------------------------------------------------------

    def _explain(self, error: GameError) -> None:
        """Explain an error and list legal moves; show the board again if it has scrolled away."""
        message = str(error)
        if isinstance(error, IllegalActionError):
            message = message.removesuffix(f"\n{error.position}")
        self._say(f"{message}\n{self._advice()}")
        board = self._renderer.render(self.view)
        if self._lines_below + board.count("\n") + 2 > self._height():
            self._show_board()

    def _advice(self) -> str:
        moves = self._legal_moves()
        if len(moves) <= _MAX_LISTED:
            return f"Legal moves: {' '.join(moves)}. 'help' shows what else can be typed."
        return (
            f"Legal moves: {self._examples(_EXAMPLES)} and {len(moves) - _EXAMPLES} more; 'moves' "
            "shows all of them, 'help' what else can be typed."
        )

    def _examples(self, number: int) -> str:
        """Return legal moves from the middle of the list, which are central on most boards."""
        moves = self._legal_moves()
        start = max(0, (len(moves) - number) // 2)
        return ", ".join(moves[start : start + number])

    def _legal_moves(self) -> list[str]:
        position = self.view.state if self.game.info.perfect_information else self._notation
        return [action_text(position, action) for action in self.view.legal_actions]

    def _parse(self, text: str) -> int:
        if self.game.info.perfect_information and not self.game.info.simultaneous:
            return self.view.state.string_to_action(text.strip())
        notation = text.strip().lower()
        for action in self.view.legal_actions:
            if notation in (action_text(self._notation, action).lower(), str(action)):
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

    def _height(self) -> int:
        """Return the number of lines of the person's terminal."""
        assert self.write is not None, "new_game refuses to begin without it"
        try:
            return os.get_terminal_size(self.write.fileno()).lines
        except (OSError, ValueError):  # not a terminal
            return shutil.get_terminal_size().lines

    def _say(self, text: str) -> None:
        print(text, file=self.write, flush=True)
        self._lines_below += text.count("\n") + 1

    def _show_board(self, marks: Mapping[int, str] | None = None) -> None:
        assert self.write is not None, "new_game refuses to begin without it"
        show_position(self._renderer, self.view, self.write, marks)
        self._lines_below = 0
        for line in self._notes:
            self._say(line)


class PlaySession:
    """A game between people and agents in this process, in which moves can be taken back.

    After an undo the referee starts a new game with the remaining moves as its opening. Only games
    of perfect information allow undo.

    In a game that hides information a person sees only what its seat observes: the opponents' moves
    are not reported, and what the opponents print is withheld until the game is over. Several
    people there, or where players act at once, sit down in turn, each at a screen of its own.

    Args:
      note: called with each new state and the move that led to it.
      save: writes a record to a file and returns a confirmation.
      adviser: builds the search for hints; None for none.
      blind_adviser: in a game that hides information, the name of the agent that gives hints, and
        what makes a seat for it; None for none.

    Attributes:
      people: the players at the terminal.
      seated: who had the last turn of those that are hidden.

    Raises:
      ConfigError: the terminal cannot hide the turns of several people from each other.
    """

    def __init__(
        self,
        game: Game,
        agents: Sequence[Agent],
        *,
        note: Callable[[State, MoveRecord], None],
        save: Callable[[GameRecord, str], str],
        adviser: Callable[[], Search] | None,
        blind_adviser: tuple[str, Callable[[], Seat]] | None = None,
    ) -> None:
        self.session = RevisableGame(game, note=self._take)
        self._game, self._agents = game, agents
        self._note, self._save = note, save
        self._make_adviser = adviser
        self._blind_adviser = blind_adviser
        self._adviser: Search | None = None
        self._seed = 0
        self._withheld: TextIO | None = None  # output of others in a game that hides information
        self.people = [agent for agent in agents if isinstance(agent, HumanAgent)]
        self.seated: HumanAgent | None = None
        hides = len(self.people) > 1 and (
            game.info.simultaneous or not game.info.perfect_information
        )
        if hides and not all(_has_screens(person.write) for person in self.people):
            raise ConfigError(_one_person_only(game, agents))
        for person in self.people:
            person.session, person.hides = self, hides
        self._secret = bool(self.people) and not game.info.perfect_information

    def play(self, *, seed: int) -> GameRecord:
        """Return the record of the finished game. Raises as `miai.playing.match.play`."""
        self._seed = seed
        if self._secret:
            self._withheld = tempfile.TemporaryFile(  # noqa: SIM115 - `close` prints and closes it
                "a+", encoding="utf-8", errors="backslashreplace", buffering=1
            )
        with _output_to(self._withheld, self.people) if self._withheld else nullcontext():
            return self.session.play(
                lambda earlier, on_move: play_in_process(
                    self._game, self._agents, seed=seed, earlier=earlier, on_move=on_move
                )
            )

    def _take(self, state: State, move: MoveRecord) -> None:
        self._note(state, move)
        if self._secret:  # the move, its time and its statistics are the opponent's secrets
            return
        for number, person in enumerate(self._agents):
            if isinstance(person, HumanAgent) and move.actor != number:
                person.tell(move_text(state, move))

    # -- what people can ask for ----------------------------------------------------------------

    def last_ply_of(self, player: int) -> int | None:
        """Return the last ply that a player may take back; None if there is none."""
        return self.session.last_ply_of(player)

    def can_advise(self) -> bool:
        """Return whether hints are available."""
        return self._make_adviser is not None or self._blind_adviser is not None

    def advise(self, view: PlayerView) -> SearchResult:
        """Return the adviser's result for a person's position. Raises `MiaiError`."""
        if self._adviser is None:
            assert self._make_adviser is not None, "can_advise says so"
            self._adviser = self._make_adviser()
        self._adviser.new_game(self._seed)
        state = view.state
        if isinstance(self._adviser, SimultaneousSearch):
            return self._adviser.search_as(state, view.player)
        return self._adviser.search(state)

    def advise_from(self, view: PlayerView) -> str:
        """Return a hint that an agent gives from a player's observations. Raises `MiaiError`."""
        assert self._blind_adviser is not None, "can_advise says so"
        name, make_seat = self._blind_adviser
        return hint_line(view, name, decision_in_place(make_seat(), view, seed=self._seed))

    def close(self) -> None:
        """Close the adviser, and print what the opponents printed in a game that is over now."""
        if self._adviser is not None:
            self._adviser.close()
        if self._withheld is not None:
            with self._withheld as file:
                file.seek(0)
                print(file.read(), end="", file=sys.stderr)

    def save(self, file: str) -> str:
        """Write the game so far; return a confirmation. Raises `MiaiError`."""
        players = [
            PlayerRecord(
                name=agent.component,
                agent=agent.component,
                parameters=dict(agent.settings),
                seed=derive_seed(self._seed, "player", number),
                version=agent.version,
            )
            for number, agent in enumerate(self._agents)
        ]
        record = self.session.unfinished_record(players, seed=self._seed)
        return self._save(record, file)


def _has_screens(stream: TextIO | None) -> bool:
    """Return whether a stream is a terminal that takes commands, such as those for a screen."""
    return stream is not None and stream.isatty() and os.environ.get("TERM") not in (None, "dumb")


def _one_person_only(game: Game, agents: Sequence[Agent]) -> str:
    """Return the message that refuses several people, with a command for one of them."""
    info = game.info
    names = [
        name
        for name, agent in zip(info.player_names, agents, strict=True)
        if isinstance(agent, HumanAgent)
    ]
    what, secrets = "hides information", "secrets"
    if info.perfect_information:
        what, secrets = "lets players act at once", "choices"
    values = game.parameters.model_dump(mode="json", exclude_defaults=True)
    words = [info.name]
    words += [f"--set {k}={v if isinstance(v, str) else dumps(v)}" for k, v in values.items()]
    if info.title != info.name:
        words = ["..."]  # as it was written
    words += [f"--{name} random" for name in names[1:6]] + ["..."] * (len(names) > 6)
    return (
        f"{info.title} {what}, and this terminal cannot hide the {secrets} of {listed(names)} from "
        "each other, as it is a file, a pipe or dumb; let agents play all of them but one, such "
        f"as: miai play {' '.join(words)}"
    )


@contextmanager
def _output_to(file: TextIO, people: Sequence[HumanAgent]) -> Iterator[None]:
    """Redirect the output of this process to a file, except what people see.

    The file descriptors are redirected too: engines and other child processes inherit them, and
    loggers keep the stream that they were set up with.
    """
    with ExitStack() as stack:
        for descriptor in (1, 2):
            with suppress(OSError):  # the process has none
                terminal = os.dup(descriptor)
                stack.callback(_restore, descriptor, terminal)
                for person in people:
                    if person.write is not None and _descriptor(person.write) == descriptor:
                        stack.enter_context(_writing_to(terminal, person))
                _flush()
                os.dup2(file.fileno(), descriptor)
        stack.enter_context(redirect_stdout(file))
        stack.enter_context(redirect_stderr(file))
        yield


@contextmanager
def _writing_to(descriptor: int, person: HumanAgent) -> Iterator[None]:
    """Let a person's output go to another descriptor."""
    stream = person.write
    assert stream is not None, "the caller checks it"
    with open(
        descriptor, "w", encoding=stream.encoding, errors=stream.errors, closefd=False
    ) as own:
        person.write = own
        try:
            yield
        finally:
            person.write = stream


def _restore(descriptor: int, copy: int) -> None:
    _flush()  # what a stream still holds was written before
    os.dup2(copy, descriptor)
    os.close(copy)


def _flush() -> None:
    for stream in (sys.__stdout__, sys.__stderr__):
        if stream is not None and not stream.closed:
            stream.flush()


def _descriptor(stream: TextIO) -> int | None:
    """Return the file descriptor of a stream; None if it has none."""
    try:
        return stream.fileno()
    except (OSError, ValueError):
        return None
