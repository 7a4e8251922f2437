"""Tables: games between people at browsers and agents in processes of their own.

A table's game is played in a thread. What happens is written to the table's journal before anybody
is told, so that a restart of the server loses nothing: a table that is opened again goes on after
the moves in its journal.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import json
import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal, TypedDict

import miai
from miai.agent import Decision
from miai.api import analyst_of, load_game, renderer_for
from miai.clock import Clock, ClockReading, TimeControl
from miai.errors import (
    AgentTimeoutError,
    ConfigError,
    GameError,
    MiaiError,
    ParameterError,
    RecordError,
)
from miai.files import Journal, write_text
from miai.game import Game, Observation, State
from miai.information import PlayerView
from miai.pages.document import printable
from miai.pages.replay_page import legend
from miai.plain import Json, dumps, listed, one_line, to_plain
from miai.playing.match import DrawAgreed, Seat, SeatReply, play_game, turn_is_over
from miai.playing.session import RevisableGame, TakeBack, decision_in_place, hint_line
from miai.plugins.kinds import GAME
from miai.plugins.loader import registry
from miai.process.agent_process import AgentProcess
from miai.process.compilations import compilation_text
from miai.process.kernel_caches import prepare_kernels
from miai.process.sandbox import ProcessLimits
from miai.record import GameRecord, MoveRecord, ending_text
from miai.record_reader import read_record
from miai.seeds import SEED_BITS
from miai.web.analysis import Estimates, EstimateView, Thoughts, analysis_of, thoughts_of
from miai.web.frames import Camera, SeatFrame, still

PERSON: Final = "human"
IDLE_SECONDS: Final = 900.0
"""Time without a viewer after which a table's game is suspended and its agents are ended."""
MOST_RUNNING: Final = 64
"""Maximum number of games in progress at once."""
PREPARATION_SECONDS: Final = 300.0
"""Maximum time in which an agent starts, and in which it prepares for a game.

A person waits longer than a tournament does, also for a machine that is busy."""
_BACKLOG = 64  # messages that a slow browser may be behind
_COMPILING_SECONDS = 1.0
_SHORTLY = 3.0  # seconds between a frame and the referee's question, on a busy machine
_SCHEMA = "miai.table/1"
_STILL = ".still"

_NOTHING: Final = still("The position is hidden until the game is over.")

Stage = Literal["waiting", "starting", "playing", "suspended", "over", "failed"]
_logger = logging.getLogger("miai.web")


class Hint(TypedDict):
    """A hint: an action, -1 to resign, a line about it, and what the adviser considered."""

    action: int
    text: str
    thoughts: Thoughts


class Interrupted(BaseException):
    """The server suspends a game; what was played stays in the journal."""


@dataclass(slots=True, kw_only=True)
class Chair:
    """Who plays for one player of a game.

    Attributes:
      agent: its agent component, or ``human``.
      parameters: the agent's.
      browser: digest of the cookie of the person that sits here; empty while nobody does.
      invitation: digest of the key that lets a browser sit down; empty for none.
      name: what the person that sits here is called; empty if it did not say.
    """

    agent: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    browser: str = ""
    invitation: str = ""
    name: str = ""


@dataclass(slots=True, kw_only=True)
class Setting:
    """What a table was made with; plain data.

    Attributes:
      game, parameters: the game.
      chairs: in player order.
      seed: of the game.
      clock: fields of the time control.
      created: ISO 8601 in UTC.
      origin: the record from which the game goes on; empty for none.
    """

    game: str
    parameters: Mapping[str, Any]
    chairs: list[Chair]
    seed: int
    clock: Mapping[str, Any] = field(default_factory=dict)
    created: str = ""
    origin: str = ""


class Clocks(TypedDict):
    """The clocks of a table as a page shows them.

    Attributes:
      left: seconds until each player's flag falls; None where the page may not know.
      ticking: the players whose clocks run.
    """

    left: list[float | None]
    ticking: list[int]


class PersonSeat:
    """The seat of a person, whose answers come from a browser.

    Attributes:
      name, agent, parameters, version, concurrent: as of any seat.
      view: what the person has observed in this game.
      frame: the latest frame, made from the view alone.
      asked: when the person was asked for a decision, on the monotonic clock; None if it is not.
      thought: seconds that the person took for a decision that others have yet to take, too; else
        None.
    """

    agent = PERSON
    version = ""
    concurrent = True

    def __init__(
        self, game: Game, camera: Camera, show: Callable[[], None], *, name: str = ""
    ) -> None:
        self.name = name or PERSON
        self.parameters: Mapping[str, Any] = {}
        self._game, self._camera, self._show = game, camera, show
        self.view = PlayerView(game, 0)
        self.frame: SeatFrame = camera.frame(self.view)
        self.asked: float | None = None
        self.thought: float | None = None
        self._asking = False
        self._answer: Decision | BaseException | None = None
        self._changed = threading.Condition()

    def new_game(self, seed: int, *, player: int, log: Path | None) -> None:
        """Begin a game."""
        self.view = PlayerView(self._game, player)
        self._answer = None

    def observe(self, observation: Observation) -> None:
        """Show an observation."""
        data = to_plain(observation.data, what="the data of an observation")
        self.view.observe(replace(observation, data=data))
        self.frame, self.thought = self._camera.frame(self.view), None
        if self.frame["turn"]:
            self.asked = time.monotonic()  # the referee asks at once
        self._show()

    def ponder(self) -> None:
        """Do nothing: a person thinks anyway."""

    def act(self, reading: ClockReading, *, deadline: float | None) -> SeatReply:
        """Return the person's decision. Raises what `interrupt` was given, or a timeout."""
        self.asked = began = time.monotonic()
        with self._changed:
            self._asking = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._answer is not None, timeout=deadline)
            self._asking = False
            answer, self._answer = self._answer, None
        seconds = time.monotonic() - began
        self.asked, self.thought = None, seconds
        if self._game.info.simultaneous:  # others may still be thinking
            taken = answer.action if isinstance(answer, Decision) and not answer.resign else None
            chosen = [move["text"] for move in self.frame["moves"] if move["action"] == taken]
            hint = f"You chose {chosen[0]}." if chosen else ""
            self.frame = {**self.frame, "turn": False, "hint": hint, "areas": [], "moves": []}
            self._show()
        if answer is None:
            raise AgentTimeoutError(f"no move within {deadline:.0f} s")
        if isinstance(answer, BaseException):
            raise answer
        return SeatReply(answer, seconds, None)

    def policy(self) -> None:
        """Return None: a person states none."""

    def end(self, returns: tuple[float, ...]) -> None:
        """Do nothing; the table shows the end."""

    def close(self) -> None:
        """Do nothing."""

    def answer(self, number: int, decision: Decision) -> None:
        """Give the person's decision on the frame of a number.

        Raises `ConfigError` if that is not the position any more, or the action is not legal in it.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._asking, timeout=_SHORTLY)
            if not self._asking or number != len(self.view.observations) or self._answer:
                raise ConfigError("the position has changed: look again")
            if not decision.resign and decision.action not in self.view.legal_actions:
                raise ConfigError("that is not a legal move")
            self._answer = decision
            self._changed.notify_all()

    def why_not(self, text: str) -> str:
        """Return why a typed move is illegal; of a hidden game, only that it is."""
        reason = f"No legal move is written '{printable(text, 40)}'."
        if self._game.info.perfect_information:
            state = self.view.state.clone()
            try:
                state.apply_action(state.string_to_action(text))
            except (GameError, ValueError) as error:
                said = str(error).partition("\n")[0]
                reason = said.removeprefix(f"{self._game.info.name}: ") or reason
        return reason

    def interrupt(self, error: BaseException) -> None:
        """Let `act` raise an exception instead of returning."""
        with self._changed:
            self._answer = error
            self._changed.notify_all()


class SeatChannel:
    """Messages to the browsers that look at one seat, or at the table from outside."""

    def __init__(self) -> None:
        self._queues: set[asyncio.Queue[str]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    def __len__(self) -> int:
        return len(self._queues)

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message to all; from any thread."""
        loop = self._loop
        if loop is not None and self._queues:
            text = dumps(message)
            with contextlib.suppress(RuntimeError):  # the loop is closed
                # This is the thread of the game, and the queues belong to the server's loop.
                loop.call_soon_threadsafe(self._put, text)

    @contextlib.contextmanager
    def listen(self) -> Iterator[asyncio.Queue[str]]:
        """Give the queue of a browser; in the server's loop."""
        self._loop = asyncio.get_running_loop()
        queue: asyncio.Queue[str] = asyncio.Queue()
        self._queues.add(queue)
        try:
            yield queue
        finally:
            self._queues.discard(queue)

    def _put(self, text: str) -> None:
        for queue in self._queues:
            # Whoever does not read loses news: each message says everything that a page shows.
            if queue.qsize() < _BACKLOG:
                queue.put_nowait(text)


class GameTable:
    """One game, and everything that happens at it.

    Attributes:
      id: its name in addresses.
      setting: what it was made with.
      game: the game.
      stage: where it stands.
      problem: why it failed; empty otherwise.
      record: the finished game; None before.
      rematch: name of the table at which its people play again; empty for none.
      channels: one for each player, by number; -1 for spectators.
      ended: called when the game has ended with a result.
    """

    def __init__(self, name: str, setting: Setting, path: Path, *, hidden: Sequence[str]) -> None:
        self.id, self.setting = name, setting
        self.game = load_game(setting.game, **setting.parameters)
        self.control = TimeControl(**setting.clock)
        self.renderer = renderer_for(self.game)
        self.stage: Stage = "waiting"
        self.problem = ""
        self.record: GameRecord | None = None
        self.rematch = ""
        self.channels = {player: SeatChannel() for player in range(-1, self.game.num_players())}
        self.ended: Callable[[GameTable], None] | None = None
        self.touched = time.monotonic()
        self._path, self._journal = path, Journal(path)
        self._hidden = tuple(hidden)
        self._lock = threading.RLock()
        self._thread: threading.Thread | None = None
        self._seats: list[Seat] = []
        self._stopping = self._wanted = False
        self._offers: set[int] = set()  # the players who offer a draw or, at the end, a rematch
        self._allowing: set[int] = set()  # the people who allow hints
        self._paused, self._steps, self._pace = False, 0, threading.Condition()
        self._estimates = {
            player: Estimates(self.game, renderer_for(self.game)) for player in self.channels
        }
        self._ready = threading.Event()  # the players know all that was played before
        self._camera = Camera(self.game, self.renderer)
        self._public: SeatFrame = self._camera.truth(self.game.new_initial_state())
        self._turn: tuple[tuple[int, ...], float] = (), 0.0  # who acts, and since when
        self._session = RevisableGame(self.game, note=self._note)

    # -- storing -------------------------------------------------------------------------------

    def create(self, earlier: Sequence[MoveRecord] = ()) -> None:
        """Write the table for the first time. Raises `OSError`.

        Args:
          earlier: moves of a record, after which the game begins; their times and statistics are
            left out.
        """
        moves = [
            MoveRecord(ply=ply, actor=move.actor, action=move.action, text=move.text)
            for ply, move in enumerate(earlier)
        ]
        head = {"schema": _SCHEMA, **asdict(self.setting)}
        self._journal.append([head, *({"move": _plain(move)} for move in moves)])
        self._session.moves.extend(moves)
        self._path.chmod(0o600)

    @classmethod
    def open(cls, path: Path, *, hidden: Sequence[str]) -> GameTable:
        """Return a table as its journal tells.

        Raises `RecordError` if the journal is damaged, `MiaiError` if the game is not installed.
        """
        entries = Journal(path).read()
        try:
            head, *rest = entries
            if head.pop("schema") != _SCHEMA:
                raise ValueError("of another version")
            chairs = [Chair(**chair) for chair in head.pop("chairs")]
            table = cls(path.stem, Setting(**head, chairs=chairs), path, hidden=hidden)
            for entry in rest:
                table._restore(entry)
            table._session.drop_pending()
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise RecordError(f"{path}: is not a table's journal: {error}") from error
        return table

    def _restore(self, entry: Mapping[str, Any]) -> None:
        if "move" in entry:
            move = MoveRecord(**entry["move"])
            while self._session.moves and self._session.moves[-1].ply >= move.ply:
                self._session.moves.pop()  # of a decision that was interrupted and taken again
            self._session.moves.append(move)
        elif "undo" in entry:
            self._session.moves = [m for m in self._session.moves if m.ply < entry["undo"]]
        elif "sit" in entry:
            player, *of = entry["sit"]
            _seat_person(self.setting.chairs[player], *of)
        elif "end" in entry:
            self.record = read_record(entry["end"])
            self.stage = "over"

    # -- sitting down ----------------------------------------------------------------------------

    def player_of(self, browser: str) -> int:
        """Return the player for whom a browser plays; -1 for a spectator."""
        for player, chair in enumerate(self.setting.chairs):
            if chair.browser and chair.browser == browser:
                return player
        return -1

    def invited(self, key: str) -> int:
        """Return the player to whose chair an invitation's key leads; -1 for none."""
        digest = hashlib.sha256(key.encode()).hexdigest()
        for player, chair in enumerate(self.setting.chairs):
            if chair.invitation and secrets.compare_digest(chair.invitation, digest):
                return player
        return -1

    def sit(self, player: int, browser: str, name: str = "") -> None:
        """Let a browser sit down, for a person of a name."""
        with self._lock:
            self._journal.append([{"sit": [player, browser, name]}])
            _seat_person(self.setting.chairs[player], browser, name)
        self._show_stage()

    def invite(self, player: int) -> str:
        """Return the key of a new invitation to an empty chair; the last one is void."""
        key = secrets.token_urlsafe(16)
        self.setting.chairs[player].invitation = hashlib.sha256(key.encode()).hexdigest()
        return key

    @property
    def empty_chairs(self) -> list[int]:
        """The players for whom nobody sits yet."""
        return [
            player
            for player, chair in enumerate(self.setting.chairs)
            if chair.agent == PERSON and not chair.browser
        ]

    @property
    def _people(self) -> int:
        return sum(chair.agent == PERSON for chair in self.setting.chairs)

    # -- playing -------------------------------------------------------------------------------

    def resume(self) -> None:
        """Let the game go on if everybody is there and it is not over."""
        with self._lock:
            self.touched = time.monotonic()
            self._wanted = self._thread is not None and self._stopping  # once it has stopped
            if self._thread is not None or self.stage in ("over", "failed") or self.empty_chairs:
                return
            self.stage, self._stopping = "playing", False
            self._ready.clear()
            self._seats = [self._seat(player) for player in range(self.game.num_players())]
            self._thread = threading.Thread(target=self._run, name=f"table-{self.id}", daemon=True)
            self._thread.start()
            threading.Thread(target=self._say_compilations, daemon=True).start()

    def _say_compilations(self) -> None:
        """Tell the pages what is compiled until the players are ready."""
        said = ""
        while not self._ready.wait(_COMPILING_SECONDS):
            if (text := compilation_text()) != said:
                said = text
                self._show_stage()

    def suspend(self) -> None:
        """Stop the game where it is, and end its agents' processes."""
        with self._lock:
            thread, self._stopping, self._wanted = self._thread, True, False
            for seat in self._seats:
                if isinstance(seat, PersonSeat):
                    seat.interrupt(Interrupted())
                elif isinstance(seat, AgentProcess):
                    # The game's thread waits for an answer; the death of the process wakes it.
                    with contextlib.suppress(OSError):  # the game's thread has seen its death
                        seat.kill()
        if thread is not None:
            thread.join(timeout=10)

    @property
    def running(self) -> bool:
        """Whether the game goes on in a thread."""
        return self._thread is not None

    @property
    def moves(self) -> list[MoveRecord]:
        """The moves so far."""
        return self._session.moves

    def seat(self, player: int) -> PersonSeat | None:
        """Return the seat of a person while the game goes on."""
        seat = self._seats[player] if self._seats and player >= 0 else None
        return seat if isinstance(seat, PersonSeat) else None

    def can_take_back(self, player: int) -> bool:
        """Return whether a person may take back a move: alone, nothing hidden, without a clock."""
        return (
            self._people == 1
            and self.game.info.perfect_information
            and self.control.kind == "none"
            and self._session.last_ply_of(player) is not None
        )

    def take_back(self, player: int) -> None:
        """Take back a person's last move, on its turn. Raises `ConfigError` if it may not."""
        seat = self.seat(player)
        if seat is None or not seat.view.legal_actions or not self.can_take_back(player):
            raise ConfigError("no move can be taken back here")
        ply = self._session.last_ply_of(player)
        assert ply is not None, "can_take_back says so"
        self._journal.append([{"undo": ply}])
        seat.interrupt(TakeBack(ply))

    def can_advise(self) -> bool:
        """Return whether hints are given: to people who play each other if all allow them."""
        chairs = enumerate(self.setting.chairs)
        people = {player for player, chair in chairs if chair.agent == PERSON}
        return len(people) == 1 or (bool(people) and people <= self._allowing)

    def _allowing_of(self, player: int) -> dict[str, Json] | None:
        """Return whether a person allows hints, and in words who does; None if nobody is asked."""
        if self._people < 2:
            return None
        names = [self.game.info.player_names[each] for each in sorted(self._allowing)]
        who = f"allowed by {listed(names) or 'nobody'}"
        return {"own": player in self._allowing, "who": who}

    def allow_hints(self, player: int, *, allow: bool) -> None:
        """Note whether a person allows hints, and tell everybody."""
        (self._allowing.add if allow else self._allowing.discard)(player)
        self._show_stage()

    def advise(self, player: int) -> Hint:
        """Return a move for a person on its turn, a line about it, and what was considered.

        The game's analyst, in a process of its own, chooses it, never the opponent, from what the
        person has observed and no more.
        Raises `ConfigError` if it is not the person's turn, `AgentError` if the agent fails.
        """
        seat = self.seat(player)
        if not self.can_advise() and self._people:
            raise ConfigError("hints are off until all players allow them")
        if seat is None or not seat.view.legal_actions:
            raise ConfigError("there is no hint here")
        analyst = analyst_of(self.game)
        chair = Chair(agent=analyst.agent, parameters=dict(analyst.parameters))
        decision = decision_in_place(self._process(chair), seat.view, seed=self.setting.seed)
        action = -1 if decision.resign else decision.action
        known = self.game.info.perfect_information
        before = seat.view.state if known else self.game.new_initial_state()
        thoughts = thoughts_of(decision.statistics, before, player, self.renderer)
        text = hint_line(seat.view, analyst.agent, decision)
        return {"action": action, "text": text, "thoughts": thoughts}

    # -- what people agree on ------------------------------------------------------------------

    @property
    def _agreement(self) -> str:
        """What two people may agree on now: ``draw``, ``rematch`` or nothing."""
        info = self.game.info
        if self._people != 2 or info.num_players != 2 or self.rematch:
            return ""
        drawn = info.utility_sum is not None and not info.payoffs and self._ready.is_set()
        return "rematch" if self.stage == "over" else "draw" * (drawn and self.stage == "playing")

    def offer(self, player: int, said: str) -> bool:
        """Offer a draw or, after the game, a rematch; what both offer is agreed.

        A draw ends the game; a rematch is for the caller to make. In a game without hidden
        information an offer of a draw stands until the other player moves.

        Args:
          said: ``draw``, ``rematch`` or, to refuse what the other offers, ``decline``.

        Returns whether both have agreed. Raises `ConfigError` if it cannot be offered now.
        """
        with self._lock:
            if not self._agreement or said not in (self._agreement, "decline"):
                raise ConfigError("that cannot be offered now: look again")
            self._offers = self._offers | {player} if said != "decline" else set()
            agreed = len(self._offers) == 2
            if agreed:
                self._offers = set()
            for seat in self._seats if agreed else ():
                if isinstance(seat, PersonSeat):
                    seat.interrupt(DrawAgreed())
        self._show_stage()
        return agreed

    def begin_rematch(self, name: str) -> None:
        """Tell the players at which table they play again."""
        self.rematch = name
        self._show_stage()

    # -- analysis ------------------------------------------------------------------------------

    def can_analyse(self, player: int) -> bool:
        """Return whether a player, or with -1 a spectator, may see what agents thought.

        Not while people play: an opponent's thoughts would tell them its plans.
        """
        return self.stage == "over" or not self._people

    def analyse(self, player: int) -> dict[str, Any]:
        """Return the values over the game and the latest thoughts; see `analysis_of`.

        Raises `ConfigError` if they are not for this player now.
        """
        if not self.can_analyse(player):
            raise ConfigError("the analysis is shown when the game is over")
        record = self.record
        moves = self.moves if record is None else record.moves
        return analysis_of(self.game, moves, renderer_for(self.game))

    def estimate_of(self, player: int) -> str:
        """Return what can be estimated for a player, or with -1 a spectator; empty for nothing."""
        if self.game.info.perfect_information:
            shown = self.stage == "over" or self._people <= 1
            return self._estimates[player].title if shown else ""
        own = self._people == 1 and player >= 0 and self.stage != "over"
        return self._estimates[player].title if own else ""

    def estimate(self, player: int) -> EstimateView:
        """Return what a player may infer from its observations.

        Raises `ConfigError` if there is no estimate for it now.
        """
        if not self.estimate_of(player):
            raise ConfigError("there is no estimate here")
        seat = self.seat(player)
        if seat is not None:
            return self._estimates[player].of(seat.view)
        if not self.game.info.perfect_information:
            return self._estimates[player].of(self._view(player))
        return self._estimates[player].of(PlayerView.at(self._position(), 0))

    # -- the pace of a game between agents -----------------------------------------------------

    @property
    def can_pause(self) -> bool:
        """Whether the game can be paused: nobody waits for a person."""
        return not self._people

    def set_pace(self, *, paused: bool, step: bool) -> None:
        """Pause the game after the next move, or let it go on; `step` allows one move.

        Raises `ConfigError` if a person plays.
        """
        if not self.can_pause:
            raise ConfigError("only games between agents can be paused")
        with self._pace:
            self._paused, self._steps = paused, self._steps + 1 if step else 0
            self._pace.notify_all()
        self._show_stage()

    def _await_pace(self) -> None:
        with self._pace:
            while self._paused and not self._steps and not self._stopping:
                self._pace.wait(timeout=1.0)
            self._steps = max(0, self._steps - 1)

    def _seat(self, player: int) -> Seat:
        chair = self.setting.chairs[player]
        if chair.agent == PERSON:
            camera = Camera(self.game, renderer_for(self.game))
            show = functools.partial(self._show, player)
            return PersonSeat(self.game, camera, show, name=chair.name)
        return self._process(chair)

    def _process(self, chair: Chair) -> AgentProcess:
        return AgentProcess(
            self.setting.game,
            self.setting.parameters,
            chair.agent,
            chair.parameters,
            name=chair.agent,
            limits=ProcessLimits(hidden=self._hidden, new_game_seconds=PREPARATION_SECONDS),
            start_timeout=PREPARATION_SECONDS,
        )

    def _run(self) -> None:
        try:
            self._turn = self._position().acting_players(), time.monotonic()
            record = self._session.play(
                lambda earlier, on_move: play_game(
                    self.game,
                    self._seats,
                    seed=self.setting.seed,
                    time_control=self.control,
                    earlier=earlier,
                    on_move=on_move,
                )
            )
            if self._stopping:  # an agent that the server killed has not lost
                raise Interrupted
            self._journal.append([{"end": record.to_json_lines()}])
            self.record, self.stage, self._offers = record, "over", set()
            if self.ended is not None and self.setting.origin:
                self.ended(self)
        except Interrupted:
            self.stage = "suspended"
        except Exception as error:
            self._fail(error)
        finally:
            self._session.drop_pending()
            with self._lock:
                for seat in self._seats:
                    with contextlib.suppress(MiaiError, OSError):
                        seat.close()
                self._thread, self._seats = None, []
            self._ready.set()
            self._show_stage()
            if self.stage == "suspended":
                self._store_pages()
            with self._lock:
                if self._wanted:
                    self.resume()

    def _store_pages(self) -> None:
        """Store what each page shows, for `TableSet.stored_page`; nothing depends on it."""
        browsers = {chair.browser: n for n, chair in enumerate(self.setting.chairs)} | {"": -1}
        try:
            stored = {
                "journal": self._path.stat().st_size,
                "version": miai.__version__,
                "pages": {browser: self.page(player) for browser, player in browsers.items()},
            }
            path = self._path.with_suffix(_STILL)
            write_text(path, json.dumps(stored), sync=False)
            path.chmod(0o600)
        except Exception as error:  # of the game's plugin
            _logger.error("table %s", self.id, exc_info=error)

    def _fail(self, error: Exception) -> None:
        """Note why the game ended without a result; not if its agents were killed to suspend it."""
        if self._stopping:
            self.stage = "suspended"
            return
        problem = str(error)
        if not isinstance(error, (MiaiError, OSError)):  # of the game's plugin
            _logger.error("table %s", self.id, exc_info=error)
            problem = f"{type(error).__name__}: {error}"
        self.stage, self.problem = "failed", one_line(problem)

    def _note(self, state: State, move: MoveRecord) -> None:
        """Store a move; called in the game's thread, before the players observe it."""
        if self._stopping:
            raise Interrupted
        # Stored before it is shown: what somebody has seen must not be lost by a crash.
        self._journal.append([{"move": _plain(move)}])
        if state.pending_actions():
            return  # the other moves of this decision follow at once
        self._turn = state.acting_players(), time.monotonic()
        if self.game.info.perfect_information and move.actor >= 0:  # else it would tell who moved
            self._offers &= {move.actor}
        if not self._session.catching_up:
            self._ready.set()
        if not self.secret:
            self._public = self._camera.truth(state)
            self.channels[-1].send(self.news(-1))
        self._await_pace()
        if self._stopping:
            raise Interrupted

    # -- showing -------------------------------------------------------------------------------

    def page(self, player: int) -> dict[str, Any]:
        """Return what the page of a player, or with -1 a spectator, shows before any news.

        Plain data, the values of a template; of a game that goes on without the position.
        """
        agents = [chair.agent for chair in self.setting.chairs]
        opponent = player >= 0 and sum(agent != PERSON for agent in agents) == 1
        # Of a game in progress the first news says it all, and the position changes meanwhile.
        frame = self._frame_at_rest(player) if self.stage == "suspended" else None
        return {
            "starting": f"{'The opponent is' if opponent else 'The players are'} starting; "
            "on a busy machine this takes a while.",
            "game": self.setting.game,
            "names": [printable(name, 40) for name in self.game.info.player_names],
            "chairs": self._chairs(player),
            "player": player,
            "timed": self.control.kind != "none",
            "empty": self.empty_chairs,
            "definitions": self._camera.definitions(),
            "legend": legend(self.game),
            "picture": frame["picture"] if frame else "",
            "text": frame["text"] if frame else "",
        }

    def frame(self, player: int) -> SeatFrame:
        """Return what a player, or with -1 a spectator, sees now."""
        seat = self.seat(player)
        return self._frame_at_rest(player) if seat is None else seat.frame

    @property
    def secret(self) -> bool:
        """Whether a spectator may not see the position, because a person plays a hidden game."""
        return self._people > 0 and not (self.game.info.perfect_information or self.stage == "over")

    def news(self, player: int) -> dict[str, Any]:
        """Return everything that a page of a player, or with -1 of a spectator, shows now."""
        starting = self.running and (not self._ready.is_set() or self._session.catching_up)
        frame = self._frame_at_rest(player) if starting else self.frame(player)
        # While earlier moves are played again, the seats know less than the page has shown.
        if starting:
            frame = {**frame, "turn": False, "areas": [], "moves": []}
        news: dict[str, Any] = {
            "frame": frame,
            "stage": "starting" if starting else self.stage,
            "problem": self.problem,
            "compiling": compilation_text() if starting else "",
            "empty": self.empty_chairs,
            "chairs": self._chairs(player),
            "offer": self._agreement if player >= 0 else "",
            "offered": [each == player for each in self._offers] if player >= 0 else [],
            "rematch": self.rematch if player >= 0 else "",
            "hints": player >= 0 and self.can_advise(),
            "allowing": self._allowing_of(player),
            "undo": player >= 0 and self.can_take_back(player),
            "paused": self._paused if self.can_pause else None,
            "analysis": self.can_analyse(player),
            "estimate": self.estimate_of(player),
            "clocks": None if self.control.kind == "none" else self._clocks(player),
            "result": ending_text(self.record, self.game) if self.record else "",
        }
        if self.game.info.perfect_information:
            news["moves"] = list(map(self._move_text, self.moves))
        return news

    def _chairs(self, player: int) -> list[str]:
        """Return who plays, for the page of a player, or with -1 of a spectator."""
        chairs = list(map(described, self.setting.chairs))
        if player >= 0:
            name = self.setting.chairs[player].name
            chairs[player] = f"{name} (you)" if name else "you"
        return chairs

    def _move_text(self, move: MoveRecord) -> str:
        """Return a move of the list of moves, with who made it unless two take turns."""
        info = self.game.info
        if info.num_players == 2 and not (info.simultaneous or info.max_chance_outcomes):
            return move.text
        return f"{'chance' if move.actor < 0 else info.player_names[move.actor]} {move.text}"

    def _clocks(self, player: int) -> Clocks:
        """Return the clocks as a player, or with -1 a spectator, may see them."""
        left: list[float | None] = [clock.limit() for clock in self._clocks_at_rest()]
        turn, since = self._turn
        seat = self.seat(player)
        if not self.game.info.perfect_information and self.stage != "over":
            # When another clock runs, and for how long, would tell what its player does.
            left = [own if each == player else None for each, own in enumerate(left)]
            asked = None if seat is None else seat.asked
            turn, since = ((), 0.0) if asked is None else ((player,), asked)
        if self.stage != "playing" or not self._ready.is_set():
            turn = ()
        spent = dict.fromkeys(turn, time.monotonic() - since)
        ticking = list(turn)
        if seat is not None and seat.thought is not None:
            spent[player] = seat.thought
            ticking = [each for each in turn if each != player]
        for each, seconds in spent.items():
            if (own := left[each]) is not None:
                left[each] = max(0.0, own - seconds)
        return {
            "left": [None if s is None else round(s, 1) for s in left],
            "ticking": ticking,
        }

    def _clocks_at_rest(self) -> list[Clock]:
        """Return the clocks as the last move left them, made from the times of the moves."""
        clocks = [Clock(self.control) for _ in range(self.game.num_players())]
        by_turn = self.control.increment_per == "turn"
        state = self.game.new_initial_state()
        for move in list(self.moves):
            before = state.current_player()
            if by_turn:
                state.apply_action(move.action)
            if move.actor < 0 or move.seconds is None:
                continue
            clocks[move.actor].charge(move.seconds)
            if by_turn and turn_is_over(before, state):
                clocks[move.actor].end_turn()
        return clocks

    def _show(self, player: int) -> None:
        if self._session.catching_up:
            return
        first = not self._ready.is_set()
        self._ready.set()
        self.channels[player].send(self.news(player))
        if first:  # spectators learn that the players have started
            self.channels[-1].send(self.news(-1))

    def _show_stage(self) -> None:
        for player, channel in self.channels.items():
            channel.send(self.news(player))

    def _frame_at_rest(self, player: int) -> SeatFrame:
        """Return a frame of a game that does not go on now, made from its moves."""
        camera = Camera(self.game, renderer_for(self.game))
        if self.stage != "over" and not self.game.info.perfect_information:
            if player < 0 and self.secret:
                return _NOTHING
            return camera.frame(self._view(player)) if player >= 0 else self._public
        return camera.truth(self._position())

    def _position(self) -> State:
        """Return the state after all moves."""
        state = self.game.new_initial_state()
        for move in list(self.moves):
            state.apply_action(move.action)
        return state

    def _view(self, player: int) -> PlayerView:
        """Return what a player has observed, made by playing the moves again."""
        view, state = PlayerView(self.game, player), self.game.new_initial_state()
        actions: list[int | None] = [None, *(move.action for move in self.moves)]
        for action in actions:
            if action is not None:
                state.apply_action(action)
            if (observation := state.observation(player)) is not None:
                view.observe(observation)
        return view


def described(chair: Chair) -> str:
    """Return who plays, in words."""
    return (chair.name or "a person") if chair.agent == PERSON else chair.agent


def _seat_person(chair: Chair, browser: str, name: str = "") -> None:
    chair.browser, chair.name, chair.invitation = browser, name, ""


def _plain(move: MoveRecord) -> dict[str, Json]:
    values = to_plain(asdict(move), what="a move")
    assert isinstance(values, dict)
    return values


def refuse_opened(kind: str, name: str, values: Mapping[str, Any], game: str, where: str) -> None:
    """Raise `MiaiError` if a component's parameters name a program, a file or weights here."""
    filled = registry().get(kind, name, game=game).fill(values, where=where)
    for path in registry().opened(filled, game, where=where):
        raise ParameterError(f"{path}: names a program, a file or weights; see --allow-programs")


def kept_file(folder: Path, name: str) -> Path | None:
    """Return the file of a table or record; None if there is none of this name."""
    path = folder / f"{name}.jsonl"
    # The name is part of an address, which anybody may write.
    well_formed = len(name) == 12 and set(name) <= set("0123456789abcdef")
    return path if well_formed and path.is_file() else None


class TableSet:
    """All tables of a server.

    Args:
      folder: where their journals are, which agents can neither read nor change.
      programs: whether tables may name programs, files and weights of this machine.

    Attributes:
      ended: called with a table whose game has ended, if it went on from a record.
    """

    def __init__(self, folder: Path, *, programs: bool = False) -> None:
        self._folder, self.programs = folder, programs
        self.ended: Callable[[GameTable], None] | None = None
        self._tables: dict[str, GameTable] = {}
        self._lock = threading.Lock()

    def new(self, setting: Setting, *, earlier: Sequence[MoveRecord] = ()) -> GameTable:
        """Return a new table. Raises `MiaiError` or `OSError` if it cannot be made.

        Args:
          earlier: moves of a record, after which the game begins.
        """
        self._refuse_too_many()
        setting.created = datetime.now(UTC).isoformat(timespec="seconds")
        name = secrets.token_hex(6)
        path = self._folder / f"{name}.jsonl"
        for chair in setting.chairs:  # beside the game's own kernels, for which this thread waits
            if chair.agent != PERSON:
                threading.Thread(
                    target=prepare_kernels,
                    args=(setting.game, chair.agent, chair.parameters),
                    daemon=True,
                ).start()
        table = GameTable(name, setting, path, hidden=[str(self._folder)])
        table.create(earlier)
        with self._lock:
            self._tables[name] = table
        table.ended = self.ended
        return table

    def rematch(self, table: GameTable) -> GameTable:
        """Return a new table for the people of one, with colours swapped; raises as `new`."""
        chairs = [replace(chair) for chair in reversed(table.setting.chairs)]
        made = self.new(replace(table.setting, chairs=chairs, seed=secrets.randbits(SEED_BITS)))
        table.begin_rematch(made.id)
        return made

    def get(self, name: str) -> GameTable | None:
        """Return a table by name, read from its journal if need be; None if there is none."""
        with self._lock:
            if name in self._tables:
                return self._tables[name]
            path = kept_file(self._folder, name)
            if path is None:
                return None
            self._tables[name] = GameTable.open(path, hidden=[str(self._folder)])
            self._tables[name].ended = self.ended
            return self._tables[name]

    def stored_page(self, name: str, browser: str) -> dict[str, Any] | None:
        """Return `GameTable.page` of a suspended game that this server has not read yet, or None.

        To load compiled rules takes longer than all else that a first page needs; they are loaded
        when the page asks for news.
        """
        with self._lock:
            path = None if name in self._tables else kept_file(self._folder, name)
        if path is None:
            return None
        try:
            stored = json.loads(path.with_suffix(_STILL).read_text(encoding="utf-8"))
            pages, version = stored["pages"], stored["version"]
            # A journal that has grown since belongs to a later position.
            current = version == miai.__version__ and stored["journal"] == path.stat().st_size
        except (OSError, KeyError, TypeError, ValueError):
            return None
        values: dict[str, Any] = pages.get(browser, pages[""])
        installed = values["game"] in {game.name for game in registry().components(GAME)}
        return values if current and installed else None

    def resume(self, table: GameTable) -> None:
        """Let a table's game go on.

        Raises `MiaiError` if too many games are in progress, or an agent is not for this server.
        """
        if not table.running and table.stage not in ("over", "failed"):
            self._refuse_too_many()
            game = table.setting.game
            for chair in table.setting.chairs:
                if chair.agent != PERSON and not self.programs:
                    refuse_opened("agent", chair.agent, chair.parameters, game, chair.agent)
        table.resume()

    def latest(self, count: int = 30) -> list[GameTable]:
        """Return the tables that were changed last, newest first; damaged ones are left out."""
        paths = sorted(
            self._folder.glob("*.jsonl"), key=lambda path: path.stat().st_mtime, reverse=True
        )
        tables = []
        for path in paths[:count]:
            try:
                if (table := self.get(path.stem)) is not None:
                    tables.append(table)
            except (MiaiError, OSError) as error:
                _logger.warning("%s", error)
        return tables

    def suspend_idle(self) -> None:
        """Suspend the games that nobody has looked at for a while."""
        for table in list(self._tables.values()):
            if any(table.channels.values()):
                table.touched = time.monotonic()
            elif table.running and time.monotonic() - table.touched > IDLE_SECONDS:
                table.suspend()

    def close(self) -> None:
        """Suspend every game."""
        for table in list(self._tables.values()):
            table.suspend()

    def _refuse_too_many(self) -> None:
        running = sum(table.running for table in self._tables.values())
        if running >= MOST_RUNNING:
            raise ConfigError(
                f"{running} games are in progress, as many as this server plays at once; finish "
                "or leave one"
            )
