"""External engines in games of miai: the agent ``gtp`` and the judge of dead stones ``gtp``.

GTP knows main time with Canadian overtime, in whole seconds; extensions know more. The settings
sent for a time control with `m` its main time, `p` its period and `i` its increment:

=========  ====================  ==============================  =============================
control    kata-time_settings    kgs-time_settings               time_settings
=========  ====================  ==============================  =============================
none       none                  none                            0 1 0
per-move   canadian 0 m 1        canadian 0 m 1                  0 m 1
absolute   absolute m            absolute m                      m 0 0
fischer    fischer m i                                           m - i, i for one stone
byo-yomi   byoyomi m p periods   byoyomi m p periods             m, p for one stone
=========  ====================  ==============================  =============================

Times are rounded down, a period to at least 1 second, so that an engine never thinks it has more
than it has. Under ``time_settings`` the increment of a Fischer clock becomes a Canadian period that
every move renews, and of several byo-yomi periods only the last is sent.
"""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Collection, Sequence, Set
from pathlib import Path
from typing import Final, Literal, TypeAlias

import numpy as np

from miai.agent import Agent, Decision
from miai.clock import ClockReading, TimeControl
from miai.errors import (
    AgentCrashedError,
    AgentError,
    AgentFloodError,
    AgentProtocolError,
    AgentUnavailableError,
    InvalidActionError,
)
from miai.game import Game, Observation
from miai.process.programs import ProgramProcess, installing
from miai_go.gtp.client import ADVICE, EngineLog, GtpClient, excerpt, find_engine
from miai_go.gtp.engine_parameters import (
    PLACEHOLDERS,
    GtpEngineParameters,
    GtpParameters,
    engine_seed,
)
from miai_go.gtp.kata_rules import rules_fields
from miai_go.rules.board import BLACK_STONE, WHITE_STONE
from miai_go.rules.coordinates import parse_vertex, vertex
from miai_go.rules.dead_stones import RefereeError, settle
from miai_go.rules.game import GoGame, GoState, Phase

COLOR_NAMES: Final = ("b", "w")
"""Players 0 and 1 in GTP."""


def dead_stones(client: GtpClient, size: int, seconds: float) -> frozenset[int]:
    """Return the points that an engine lists as dead.

    Raises `AgentProtocolError` if it does not know ``final_status_list`` or answers nonsense.
    """
    listed = client.ask("final_status_list dead", seconds=seconds).split()
    try:
        points = frozenset(parse_vertex(word, size) for word in listed)
    except InvalidActionError as error:
        raise AgentProtocolError(f"{client.who}, asked for dead stones: {error}") from error
    return points - {size * size}


def whole_chains(state: GoState, points: Set[int]) -> tuple[int, ...]:
    """Return the points of all chains that have a stone on one of `points`, ascending."""
    return tuple(sorted(p for c in state.board.chains() if not points.isdisjoint(c) for p in c))


class GtpJudge:
    """The judge ``gtp``: asks an engine for ``final_status_list dead``, in a process per answer.

    For reproducible answers give the engine a fixed seed in its command. Raises
    `AgentUnavailableError` if it is not installed.
    """

    def __init__(self, game: GoGame, parameters: GtpEngineParameters) -> None:
        find_engine(parameters.command[0])
        self._game = game
        self._parameters = parameters

    def dead_points(self, state: GoState) -> tuple[int, ...]:
        """Return the points of the chains that the engine lists. Raises `RefereeError`."""
        try:
            client = launch(self._parameters, EngineLog(), self._game, seed=0)
            try:
                return whole_chains(state, self._ask(client, state))
            finally:
                client.close()
        except AgentError as error:
            raise RefereeError(f"the referee for dead stones failed: {error}") from error

    def _ask(self, client: GtpClient, state: GoState) -> frozenset[int]:
        size, seconds = self._game.size, self._parameters.timeouts.command
        clear_board(client, size, seconds)
        client.ask(f"komi {self._game.white_bonus:g}", seconds=seconds)
        stones = state.board.stones().ravel()
        black, white = (np.flatnonzero(stones == s).tolist() for s in (BLACK_STONE, WHITE_STONE))
        place_points(client, (black, white), size, seconds)
        return dead_stones(client, size, seconds)


class GtpAgent(Agent):
    """Plays the moves that an engine answers to ``genmove``.

    The program is looked up at once and started with the first game. Any failure kills the engine
    and raises an `AgentError`; the next game starts it again. Illegal moves are returned unchanged,
    for the referee to judge.

    Attributes:
      version: name and version that the engine reports; empty before the first game.

    Raises:
      AgentUnavailableError: the engine is not installed, or the game is not Go.
    """

    version = ""

    def __init__(self, game: Game, parameters: GtpParameters) -> None:
        super().__init__(game, parameters)
        if not isinstance(game, GoGame):
            raise AgentUnavailableError(f"GTP engines play go, not {game.info.name}")
        find_engine(parameters.command[0])
        self._go = game
        self._parameters = parameters
        self._client: GtpClient | None = None
        self._conversation = EngineLog()
        self._past_cpu_seconds = 0.0  # of engines that have ended
        self._timed = False  # whether the running engine was ever sent a clock
        self._moves: list[tuple[int, int]] = []  # of the game, as players and actions
        self._on_board: list[tuple[int, int]] = []  # on the engine's board, its own answer included
        self._dialect: ClockDialect | None = None
        self._dead: frozenset[int] | None = None
        self._resumed = False  # whether dead stones have to be captured now
        self._warned = False  # whether the log of this game tells of the clock
        self._checked = False  # whether the engine was asked what it can play

    # -- the four calls -----------------------------------------------------------------------

    def new_game(self, seed: int, *, player: int, log: Path | None = None) -> None:
        """Begin a game, in a new process unless one is kept. Raises `AgentError` if it fails.

        Before its first game an engine is asked whether it can play it, so that a tournament finds
        out before it begins.
        """
        super().new_game(seed, player=player, log=log)
        self._end_game(keep=self._parameters.restart == "never")
        self._conversation = EngineLog(log)
        self._moves.clear()
        self._on_board.clear()
        self._dialect = self._dead = None
        self._resumed = self._warned = False
        try:
            client = self._start(seed) if self._client is None else self._continue(seed)
            require_commands(client)
            begin_game(client, self._go, self._parameters)
            if not self._checked and check_rules(client, self._go, self._parameters):
                begin_game(client, self._go, self._parameters)
            self._checked = True
        except AgentError as error:
            self._abandon(error)
            raise

    def observe(self, observation: Observation) -> None:
        """Note a move, to be sent to the engine on its turn."""
        playing = self._state.phase == Phase.PLAY
        super().observe(observation)
        if observation.action is None or observation.actor is None:
            return
        if playing:
            self._moves.append((observation.actor, observation.action))
            self._dead = None
        elif observation.action == self._go.resume_action:
            self._resumed = True

    def act(self, clock: ClockReading) -> Decision:
        """Return the engine's move.

        Raises:
          AgentTimeoutError: no answer within the clock's limit and its margin, or within
            `timeouts.move` without a clock.
          AgentCrashedError: the engine died.
          AgentProtocolError: its answer is not a vertex, or it refused a move or a command.
          AgentFloodError: it wrote more than the limits allow.
        """
        limit, margin = clock.limit, clock.control.margin
        # The referee judges the time by its own clock; this only ends a wait that has become
        # pointless.
        allowed = self._parameters.timeouts.move if limit is None else limit + margin
        until = time.monotonic() + allowed
        client = self._running
        try:
            self._catch_up(client, until)
            if self._state.phase != Phase.PLAY:
                return self._settle(client, until)
            self._tell_time(client, clock, until)
            return self._move(client, until)
        except AgentError as error:
            self._abandon(error)
            raise

    def end(self, returns: tuple[float, ...]) -> None:
        """End the engine's process unless it is kept for the next game."""
        self._end_game(keep=self._parameters.restart == "never")

    def close(self) -> None:
        """End the engine's process."""
        self._end_game(keep=False)

    def cpu_seconds(self) -> float:
        """Return CPU seconds used so far by this process and by the engine with its children."""
        running = self._client.cpu_seconds() if self._client is not None else 0.0
        return super().cpu_seconds() + self._past_cpu_seconds + running

    # -- the process --------------------------------------------------------------------------

    def _start(self, seed: int) -> GtpClient:
        client = launch(self._parameters, self._conversation, self._go, seed)
        self._client, self._timed = client, False
        self.version = f"{client.name} {client.version}".strip()
        return client

    def _continue(self, seed: int) -> GtpClient:
        """Prepare the running engine, or a new one if it died, for the next game."""
        client, parameters = self._running, self._parameters
        if not client.is_alive():
            client.close()
            self._forget(client)
            return self._start(seed)
        client.new_game(self._conversation)
        _, startup = filled(parameters, self._go, seed)
        for template, command in zip(parameters.startup, startup, strict=True):
            if any(placeholder in template for placeholder in PLACEHOLDERS):
                client.ask(command, seconds=parameters.timeouts.startup)
        return client

    @property
    def _running(self) -> GtpClient:
        if self._client is None:
            raise AgentCrashedError(f"{self._parameters.called} is not running; begin a new game")
        return self._client

    def _end_game(self, *, keep: bool) -> None:
        client = self._client
        if client is not None and not keep:
            client.close()
            self._forget(client)
        self._conversation.close()

    def _abandon(self, error: AgentError) -> None:
        """Kill the engine after its error."""
        if self._client is not None:
            self._client.kill(str(error))
            self._forget(self._client)
        self._conversation.close()

    def _forget(self, client: GtpClient) -> None:
        self._past_cpu_seconds += client.cpu_seconds()
        self._client = None

    # -- the game -----------------------------------------------------------------------------

    @property
    def _state(self) -> GoState:
        state = self.view.state
        assert isinstance(state, GoState)
        return state

    def _catch_up(self, client: GtpClient, until: float) -> None:
        """Bring the engine's board up to date."""
        if self._moves[: len(self._on_board)] != self._on_board:  # its last answer was not played
            begin_game(client, self._go, self._parameters)
            self._on_board.clear()
        for player, action in self._moves[len(self._on_board) :]:
            play_move(client, self._go, player, action, self._seconds(until))
            self._on_board.append((player, action))

    def _tell_time(self, client: GtpClient, clock: ClockReading, until: float) -> None:
        """Send the time control, once per game, and the time left."""
        control = clock.control
        if self._dialect is None:
            if control.kind == "none" and not self._timed:
                return  # the engine's command line says how long it thinks
            self._dialect = dialect_for(control, client.commands)
            hindrance = clock_hindrance(control, self._dialect)
            if hindrance and not self._warned:
                self._conversation.note(hindrance)
                self._warned = True
            if self._dialect is None:
                return
            client.ask(time_settings(control, self._dialect), seconds=self._seconds(until))
            self._timed = True
        left = time_left(clock, COLOR_NAMES[self.view.player], self._dialect)
        if left and client.knows("time_left"):
            client.ask(left, seconds=self._seconds(until))

    def _move(self, client: GtpClient, until: float) -> Decision:
        """Return the engine's answer to a request for a move."""
        cleans_up = self._resumed and client.knows("kgs-genmove_cleanup")
        request = "kgs-genmove_cleanup" if cleans_up else "genmove"
        color = COLOR_NAMES[self.view.player]
        answer = client.ask(f"{request} {color}", seconds=until - time.monotonic())
        if answer.strip().lower() == "resign":
            return Decision(self.view.legal_actions[-1], resign=True)
        try:
            action = parse_vertex(answer, self._go.size)
        except InvalidActionError as error:
            raise AgentProtocolError(f"{client.who}, asked for a move: {error}") from error
        self._on_board.append((self.view.player, action))
        return Decision(action)

    def _settle(self, client: GtpClient, until: float) -> Decision:
        """Return an action of the agreement on dead stones, by the engine's list of them."""
        dead = self._dead
        if dead is None:
            lists = client.knows("final_status_list")
            seconds = until - time.monotonic()
            dead = dead_stones(client, self._go.size, seconds) if lists else frozenset()
            self._dead = dead
        return Decision(settle(self._state, whole_chains(self._state, dead)))

    def _seconds(self, until: float) -> float:
        return min(self._parameters.timeouts.command, until - time.monotonic())


# -- what an engine is sent -----------------------------------------------------------------------


def launch(
    parameters: GtpEngineParameters, conversation: EngineLog, game: GoGame, seed: int
) -> GtpClient:
    """Start an engine, wait for it to answer, and send its start-up commands.

    Raises:
      AgentUnavailableError: it cannot be found or started, dies, hangs, does not speak GTP or
        refuses a command.
      AgentFloodError: it writes more than the limits allow.
    """
    command, startup = filled(parameters, game, seed)
    engine = ProgramProcess(
        command, advice=ADVICE, cwd=parameters.folder, environment=parameters.environment
    )
    conversation.note(f"started process {engine.pid}: {shlex.join(command)}")
    client = GtpClient(engine, conversation, who=parameters.called)
    try:
        client.handshake(seconds=parameters.timeouts.startup)
        for text in startup:
            client.ask(text, seconds=parameters.timeouts.startup)
    except AgentFloodError:
        raise
    except AgentError as error:
        client.kill(str(error))
        hint = "" if client.commands else "; does its command start it in GTP mode?"
        raise AgentUnavailableError(f"{error}{hint}{installing(command[0], ADVICE)}") from error
    return client


def filled(parameters: GtpEngineParameters, game: GoGame, seed: int) -> tuple[list[str], list[str]]:
    """Return the command and the start-up commands with their placeholders replaced."""
    # Not str.format: commands may contain other braces, such as JSON.
    values = (str(engine_seed(seed)), str(game.size), f"{engine_komi(game, parameters):g}")

    def fill(text: str) -> str:
        for placeholder, value in zip(PLACEHOLDERS, values, strict=True):
            text = text.replace(placeholder, value)
        return text

    return [fill(word) for word in parameters.command], [fill(text) for text in parameters.startup]


def begin_game(client: GtpClient, game: GoGame, parameters: GtpParameters) -> None:
    """Set an engine up for the start of a game.

    Raises `AgentUnavailableError` if it does not play on this board or under these rules.
    """
    seconds = parameters.timeouts.command
    clear_board(client, game.size, seconds)
    if parameters.rules == "told" and client.knows("kata-set-rules"):
        _tell_rules(client, game, parameters)
    client.ask(f"komi {engine_komi(game, parameters):g}", seconds=seconds)
    if parameters.handicap == "announced":
        if _announce_handicap(client, game, seconds):
            return
        if game.white_bonus != game.rules.komi:  # the engine sees moves, and adds nothing to komi
            client.ask(f"komi {game.white_bonus:g}", seconds=seconds)
    place_points(client, (game.start.black, game.start.white), game.size, seconds)


REQUIRED: Final = ("boardsize", "clear_board", "komi", "play", "genmove")
"""The commands that a player needs."""


def require_commands(client: GtpClient) -> None:
    """Raise `AgentUnavailableError` if the engine lists its commands, and some are missing."""
    missing = [command for command in REQUIRED if not client.knows(command)]
    if client.commands and missing:
        raise AgentUnavailableError(
            f"{client.who} does not know {', '.join(missing)}, which every player needs"
        )


def check_rules(client: GtpClient, game: GoGame, parameters: GtpParameters) -> bool:
    """Play the suicide of two stones on an engine's board, if the game allows it.

    The engine has been told the rules, if it can be. Returns whether its board has to be set up
    again. Other rules are not checked: an engine that accepts a move need not ever play it.

    Raises `AgentUnavailableError` if the engine refuses the suicide.
    """
    if not (parameters.probe and game.rules.suicide) or game.size < _SUICIDE_SIZE:
        return False
    seconds = parameters.timeouts.command
    clear_board(client, game.size, seconds)
    for move in _BEFORE_SUICIDE:
        client.ask(f"play {move}", seconds=seconds)
    response = client.command(f"play {_SUICIDE}", seconds=seconds)
    if not response.ok:
        raise AgentUnavailableError(
            f"{client.who} refuses the suicide of two stones ({excerpt(response.text)}), which is "
            "legal in this game, so an opponent that plays one would win by it; have the engine "
            "allow suicide (GNU Go: --allow-suicide), or forbid it in the game (suicide = false); "
            "probe = false leaves out this check"
        )
    return True


_SUICIDE_SIZE: Final = 3
# Black first: without its stones the position must be new, or superko would forbid the suicide.
_BEFORE_SUICIDE: Final = ("b A1", "w A2", "w B2", "w C1")
_SUICIDE: Final = "b B1"


def clear_board(client: GtpClient, size: int, seconds: float) -> None:
    """Give an engine an empty board. Raises `AgentUnavailableError` for a size it refuses."""
    response = client.command(f"boardsize {size}", seconds=seconds)
    if not response.ok:
        raise AgentUnavailableError(
            f"{client.who} does not play on a board of size {size}: {excerpt(response.text)}"
        )
    client.ask("clear_board", seconds=seconds)


def engine_komi(game: GoGame, parameters: GtpEngineParameters) -> float:
    """Return the komi to send to an engine; see `GtpParameters.handicap`."""
    announced = isinstance(parameters, GtpParameters) and parameters.handicap == "announced"
    return game.rules.komi if announced else game.white_bonus


def place_points(
    client: GtpClient, stones: Sequence[Sequence[int]], size: int, seconds: float
) -> None:
    """Play the stones of a position, those of Black and of White.

    The order does not matter: every chain has a liberty at the end, so none is captured before.
    """
    for color, points in zip(COLOR_NAMES, stones, strict=True):
        for point in points:
            client.ask(f"play {color} {vertex(point, size)}", seconds=seconds)


def play_move(client: GtpClient, game: GoGame, player: int, action: int, seconds: float) -> None:
    """Play a legal move on an engine's board. Raises `AgentProtocolError` if it refuses."""
    name = vertex(action, game.size)
    response = client.command(f"play {COLOR_NAMES[player]} {name}", seconds=seconds)
    if not response.ok:
        raise AgentProtocolError(
            f"{client.who} refused {name} of {game.info.player_names[player]} "
            f"({excerpt(response.text)}), which is legal in this game; have it play by the same "
            f"rules of ko ({game.rules.ko}) and suicide "
            f"({'allowed' if game.rules.suicide else 'forbidden'})"
        )


def _tell_rules(client: GtpClient, game: GoGame, parameters: GtpParameters) -> None:
    fields = rules_fields(game.rules)
    if parameters.handicap != "announced":
        fields["whiteHandicapBonus"] = "0"
    rules = json.dumps(fields, separators=(",", ":"))
    seconds = parameters.timeouts.command
    response = client.command(f"kata-set-rules {rules}", seconds=seconds)
    if not response.ok:
        raise AgentUnavailableError(
            f"{client.who} does not play by these rules ({excerpt(response.text)}): {rules}; "
            "set rules = 'own' to have it play by its own"
        )


def _announce_handicap(client: GtpClient, game: GoGame, seconds: float) -> bool:
    """Announce the handicap. Returns False if there is none or the engine has no command for it."""
    start, stones = game.start, game.parameters.handicap_stones
    if not stones or start.white or len(start.black) != stones:
        return False
    names = [vertex(point, game.size) for point in start.black]
    if client.knows("set_free_handicap"):
        client.ask(f"set_free_handicap {' '.join(names)}", seconds=seconds)
        return True
    if not client.knows("fixed_handicap") or game.parameters.handicap_points:
        return False
    placed = client.ask(f"fixed_handicap {stones}", seconds=seconds).split()
    if {word.upper() for word in placed} != set(names):
        raise AgentProtocolError(
            f"{client.who} placed the handicap on {excerpt(' '.join(placed))}, not on "
            f"{' '.join(names)}"
        )
    return True


# The clock.

ClockDialect: TypeAlias = Literal["kata", "kgs", "gtp"]

_DIALECTS: Final[tuple[tuple[ClockDialect, str], ...]] = (
    ("kata", "kata-time_settings"),
    ("kgs", "kgs-time_settings"),
    ("gtp", "time_settings"),
)


def dialect_for(control: TimeControl, commands: Collection[str]) -> ClockDialect | None:
    """Return the most precise dialect among an engine's commands, or None."""
    for dialect, command in _DIALECTS:
        if command in commands and not (dialect == "kgs" and control.kind == "fischer"):
            return dialect
    return None


def clock_hindrance(control: TimeControl, dialect: ClockDialect | None) -> str:
    """Return why an engine may lose on time through no fault of its own; empty if it does not."""
    if dialect is None:
        return "the engine knows no time_settings, so it does not see its clock"
    seconds = {"per-move": control.seconds, "byo-yomi": control.period_seconds}.get(control.kind, 1)
    if dialect != "kata" and seconds < 1:
        return (
            f"the engine has {seconds:g} s for a move and is told 1 s, because it does not know "
            "kata-time_settings, which has fractions of a second"
        )
    return ""


def time_settings(control: TimeControl, dialect: ClockDialect) -> str:
    """Return the command that sets the time control."""
    if dialect == "gtp":
        return f"time_settings {_plain_settings(control)}"
    number = _whole if dialect == "kgs" else _decimal
    main = number(control.seconds)
    settings = {
        "none": "none",
        "per-move": f"canadian 0 {_period(control.seconds, dialect)} 1",
        "absolute": f"absolute {main}",
        "fischer": f"fischer {main} {number(control.increment)}",
        "byo-yomi": f"byoyomi {main} {_period(control.period_seconds, dialect)} {control.periods}",
    }
    return f"{dialect}-time_settings {settings[control.kind]}"


def time_left(reading: ClockReading, color: str, dialect: ClockDialect) -> str:
    """Return the command that sets the time left of a colour; empty without a clock."""
    if reading.main is None:
        return ""
    seconds, stones = _left(reading, reading.main, dialect)
    shown = _decimal(seconds) if dialect == "kata" else _whole(seconds)
    return f"time_left {color} {shown} {stones}"


def _plain_settings(control: TimeControl) -> str:
    # Canadian overtime of one stone is a period that every move renews.
    main, period = control.seconds, 0.0
    if control.kind == "none":
        return "0 1 0"
    if control.kind == "per-move":
        main, period = 0.0, control.seconds
    elif control.kind == "fischer":
        main, period = max(0.0, main - control.increment), control.increment
    elif control.kind == "byo-yomi":
        period = control.period_seconds
    if period == 0 or (control.kind == "fischer" and period < 1):
        return f"{_whole(control.seconds)} 0 0"
    return f"{_whole(main)} {_period(period, 'gtp')} 1"


def _left(reading: ClockReading, main: float, dialect: ClockDialect) -> tuple[float, int]:
    """Return seconds and stones (kgs, kata: periods) of `time_left`."""
    control = reading.control
    if control.kind == "per-move":
        return main, 1
    if control.kind == "byo-yomi" and (main == 0 or (main < 1 and dialect != "kata")):
        return control.period_seconds, 1 if dialect == "gtp" else reading.periods
    if control.kind == "fischer" and dialect == "gtp" and control.increment >= 1:
        reserve = main - control.increment
        return (reserve, 0) if reserve >= 1 else (main, 1)
    return main, 0


def _period(seconds: float, dialect: ClockDialect) -> str:
    return _decimal(seconds) if dialect == "kata" else str(max(1, int(seconds)))


def _whole(seconds: float) -> str:
    return str(int(seconds))


def _decimal(seconds: float) -> str:
    return f"{int(seconds * 1000) / 1000:.3f}".rstrip("0").rstrip(".")
