"""Bots of reconchess in our games, and our agents in those of reconchess; real processes."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import json
import os
import pickle
import pkgutil
import random
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import chess
import psutil
import pytest
import reconchess
from reconchess.bots.random_bot import RandomBot
from reconchess.history import GameHistoryEncoder
from reconchess.play import play_turn
from reconchess.utilities import ChessJSONDecoder
from tests.slow import with_slow

import miai
from miai import ClockReading, TimeControl
from miai.errors import AgentUnavailableError
from miai.plain import to_plain
from miai.playing.match import InProcessSeat, Seat, play_game
from miai.process import programs
from miai.process.agent_process import AgentProcess
from miai.record import GameRecord, Termination
from miai.testing import check_agent
from miai_rbc import reconchess_bots
from miai_rbc.reconchess.histories import read_history
from miai_rbc.reconchess.player import ReconchessAgent
from miai_rbc.reconchess_bots import _ServerClock, player_class
from miai_rbc.rules.knowledge import OwnBoard

NO_CLOCK = ClockReading(control=TimeControl())
RANDOM = "reconchess.bots.random_bot"
ATTACKER = "reconchess.bots.attacker_bot"
TROUT = "reconchess.bots.trout_bot"
BIN = Path(sys.executable).parent
BOTS = [
    f"{reconchess_bots.__name__}.{module.name}"
    for module in pkgutil.iter_modules(reconchess_bots.__path__)
    if module.name not in ("factory", "agent_player")
]


@pytest.fixture
def clean_imports() -> Iterator[None]:
    """Forget the modules of bots that are files, and their folders."""
    path, modules = sys.path.copy(), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def write_bot(folder: Path, body: str, *, name: str = "some_bot") -> Path:
    """Write a bot's file: `RandomBot`, with some methods or lines of its own."""
    head = "import random\nimport chess\nfrom reconchess.bots import random_bot\n\n\n"
    head += "class SomeBot(random_bot.RandomBot):\n"
    path = folder / f"{name}.py"
    path.write_text(head + textwrap.indent(textwrap.dedent(body), "    "))
    return path


def play_bot(seat: AgentProcess, *, white: bool = True, move_limit: int | None = 60) -> GameRecord:
    """Play one game of a bot's process against a random player, and end the process."""
    game = miai.load_game("rbc")
    other = InProcessSeat(miai.make_agent("rbc-random", game))
    with seat:
        seats: list[Seat] = [seat, other] if white else [other, seat]
        return play_game(game, seats, seed=4, move_limit=move_limit)


def process(bot: str | Path, **parameters: Any) -> AgentProcess:
    return AgentProcess("rbc", {}, "reconchess", {"bot": str(bot), **parameters}, name="bot")


# -- bots in our games --------------------------------------------------------------------------


@pytest.mark.parametrize("bot", [RANDOM, ATTACKER])
@pytest.mark.parametrize("white", with_slow([True, False], False))
def test_bundled_bots_play_whole_games(bot: str, white: bool) -> None:
    record = play_bot(process(bot), white=white, move_limit=None)
    assert record.termination is Termination.TERMINAL, record.detail
    assert record.players[not white].version.endswith("reconchess 1.6.9")


@pytest.mark.slow
@pytest.mark.parametrize("bot", [RANDOM, ATTACKER])
def test_a_bot_keeps_the_rules_of_agents(bot: str) -> None:
    def make(game: miai.Game) -> miai.Agent:
        return miai.make_agent("reconchess", game, bot=bot)

    check_agent(make, miai.load_game("rbc", full_turn_limit=10), seed=1)


def test_numbers_drawn_elsewhere_do_not_change_a_bots_game() -> None:
    game = miai.load_game("rbc", full_turn_limit=8)
    agents = [miai.make_agent("reconchess", game, bot=RANDOM) for _ in range(2)]
    before = random.getstate()
    first = miai.play(game, agents, seed=1)
    assert random.getstate() == before
    again = miai.play(game, agents, seed=1, on_move=lambda state, move: random.seed(move.ply))
    assert [move.action for move in again.moves] == [move.action for move in first.moves]


LOGGER = """
log = []

def handle_game_start(self, color, board, opponent_name):
    self.log.append(("start", color, board.fen()))

def handle_opponent_move_result(self, captured_my_piece, capture_square):
    self.log.append(("opponent", captured_my_piece, capture_square))

def choose_sense(self, sense_actions, move_actions, seconds_left):
    moves = sorted({move.uci() for move in move_actions})
    self.log.append(("choose sense", list(sense_actions), moves))
    return sense_actions[len(self.log) * 7 % 64] if len(self.log) % 10 else None

def handle_sense_result(self, sense_result):
    self.log.append(("sense", list(sense_result)))

def choose_move(self, move_actions, seconds_left):
    moves = sorted({move.uci() for move in move_actions})
    self.log.append(("choose move", moves))
    number = len(self.log) * 13 % len(moves)
    return chess.Move.from_uci(moves[number]) if number else None

def handle_move_result(self, requested_move, taken_move, captured_opponent_piece, capture_square):
    self.log.append(
        ("move", requested_move, taken_move, captured_opponent_piece, capture_square)
    )

def handle_game_end(self, winner_color, win_reason, game_history):
    self.log.append(("end", winner_color, win_reason))
"""


@pytest.mark.parametrize("white", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_a_bot_is_called_alike(white: bool, seed: int, tmp_path: Path, clean_imports: None) -> None:
    file = write_bot(tmp_path, LOGGER)
    _, bot_class = reconchess.load_player(str(file))
    random.seed(seed)
    bot = bot_class()
    players = [bot, RandomBot()] if white else [RandomBot(), bot]
    game = reconchess.LocalGame(full_turn_limit=150)
    _, _, history = reconchess.play_local_game(*players, game=game)
    called = bot.log.copy()
    history.save(tmp_path / "history.json")

    report_text = read_history(tmp_path / "history.json")
    agent = miai.make_agent("reconchess", report_text.game, bot=str(file), reload=False)
    assert isinstance(agent, ReconchessAgent)
    bot.log.clear()  # of the class, and so of the agent's bot too
    player = 0 if white else 1
    agent.new_game(0, player=player)
    states = list(report_text.states())
    for state, action in zip(states, [*report_text.actions, None], strict=True):
        if (observation := state.observation(player)) is not None:
            agent.observe(observation)
        if state.current_player() == player:
            assert agent.act(NO_CLOCK).action == action
    agent.end(states[-1].returns())
    assert bot.log == called


@pytest.mark.slow
def test_the_list_of_moves_has_the_order_of_local_game() -> None:
    for seed in range(20):
        rng = random.Random(seed)
        board = chess.Board()
        own = {colour: OwnBoard(board, colour) for colour in chess.COLORS}
        while not board.is_game_over() and board.fullmove_number < 60:
            theirs = reconchess.utilities.move_actions(board)
            if board.ep_square is None:
                assert own[board.turn].move_actions() == theirs, board.fen()
            else:
                assert set(own[board.turn].move_actions()) == set(theirs), board.fen()
            move = rng.choice(list(board.legal_moves))
            captured = reconchess.utilities.capture_square_of_move(board, move)
            own[board.turn].move(move)
            own[not board.turn].lose(captured)
            board.push(move)


def test_seconds_left_are_those_of_the_clock(tmp_path: Path, clean_imports: None) -> None:
    bot = write_bot(tmp_path, "def choose_sense(self, *a): raise ValueError(a[-1])\n")
    game = miai.load_game("rbc")
    agent = miai.make_agent("reconchess", game, bot=str(bot), seconds=77.0)
    control = TimeControl(kind="fischer", seconds=600, increment=2)
    late = ClockReading(control=control, main=12.5, limit=12.5)
    for clock, seconds in ((NO_CLOCK, "77.0"), (late, "12.5")):
        agent.new_game(0, player=0)
        observation = game.new_initial_state().observation(0)
        assert observation is not None
        agent.observe(observation)
        with pytest.raises(ValueError, match=seconds):
            agent.act(clock)


@pytest.mark.parametrize("increment", [0.0, 2.0, 5.0])
def test_a_bot_finds_the_increment_of_the_server(increment: float) -> None:
    clocks: list[ClockReading] = []

    class Listening(player_class("rbc-random")):  # type: ignore[misc]  # a class made at run time
        def handle_game_start(self, *arguments: Any) -> None:
            super().handle_game_start(*arguments)
            act = self._agent.act

            def listen(clock: ClockReading) -> Any:
                clocks.append(clock)
                return act(clock)

            self._agent.act = listen

    random.seed(2)
    game = reconchess.LocalGame(seconds_per_player=60, full_turn_limit=6)
    game.seconds_increment = increment
    reconchess.play_local_game(Listening(), RandomBot(), game=game)
    assert [clock.control.increment for clock in clocks[:2]] == [0.0, 0.0]
    assert len(clocks) > 4
    for clock in clocks[2:]:
        assert clock.control.increment == pytest.approx(increment, abs=0.9)
        assert clock.control.increment_per == "turn"
    late = _ServerClock().reading(-3.0)  # a server's clock may be overdrawn
    control = TimeControl(kind="fischer", seconds=0.001, increment=0.0, increment_per="turn")
    assert late == ClockReading(control=control, main=0.0, limit=0.0)
    assert _ServerClock().reading(float("inf")) == NO_CLOCK


# -- bots that fail -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "detail"),
    [
        ("choose_sense(self, *a): return 64", "to sense 64"),
        ("choose_sense(self, *a): return 'e4'", "to sense 'e4'"),
        ("choose_move(self, *a): return 12", "chose 12, which is not a move"),
        ("choose_move(self, *a): return chess.Move.from_uci('e1e8')", "chose e1e8, which is not"),
        ("choose_move(self, *a): return chess.Move.from_uci('e2e4q')", "chose e2e4q"),
    ],
)
def test_a_choice_that_was_not_offered_is_a_forfeit(
    method: str, detail: str, tmp_path: Path, clean_imports: None
) -> None:
    game = miai.load_game("rbc")
    bot = miai.make_agent("reconchess", game, bot=str(write_bot(tmp_path, f"def {method}\n")))
    record = miai.play(game, [bot, miai.make_agent("rbc-random", game)], seed=4)
    assert (record.termination, record.loser) == (Termination.PROTOCOL, 0)
    assert detail in record.detail


@pytest.mark.parametrize(
    ("method", "detail"),
    [
        ("handle_sense_result(self, *a): raise KeyError(3)", "KeyError: 3"),
        ("__init__(self): raise OSError('no net')", "OSError: no net"),
    ],
)
def test_a_bot_that_crashes_forfeits(method: str, detail: str, tmp_path: Path) -> None:
    record = play_bot(process(write_bot(tmp_path, f"def {method}\n")))
    assert record.termination is Termination.CRASH
    assert record.loser == 0
    assert detail in record.detail


@pytest.mark.parametrize(
    ("bot", "message"),
    [
        ("missing/bot.py", "no file missing/bot.py"),
        ("no_such_module", "No module named 'no_such_module'"),
        ("json", "did not contain any subclasses"),
        (f"{RANDOM}:Nobody", "has no class Nobody"),
        (f"{RANDOM}:GameHistory", "not a reconchess.Player"),
    ],
)
def test_a_bot_that_is_not_there_is_unavailable(bot: str, message: str) -> None:
    with pytest.raises(AgentUnavailableError, match=message):
        miai.make_agent("reconchess", miai.load_game("rbc"), bot=bot)


def test_of_several_classes_one_is_named(tmp_path: Path, clean_imports: None) -> None:
    file = write_bot(tmp_path, "pass\n", name="two_bots")
    file.write_text(file.read_text() + "\n\nclass Other(SomeBot):\n    pass\n")
    game = miai.load_game("rbc")
    with pytest.raises(AgentUnavailableError, match="multiple subclasses"):
        miai.make_agent("reconchess", game, bot=str(file))
    miai.make_agent("reconchess", game, bot=f"{file}:Other")


def test_without_reconchess_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "reconchess", None)
    with pytest.raises(AgentUnavailableError, match=r"pip install .*rbc\[reconchess\]"):
        miai.make_agent("reconchess", miai.load_game("rbc"), bot=RANDOM)
    with pytest.raises(AgentUnavailableError, match=r"pip install .*rbc\[reconchess\]"):
        player_class("random")


def test_without_stockfish_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, folder in (("STOCKFISH_EXECUTABLE", ""), ("PATH", str(tmp_path))):
        monkeypatch.setenv(name, folder)
    monkeypatch.delenv("STOCKFISH_EXECUTABLE")
    monkeypatch.setattr(programs, "MORE_FOLDERS", ())
    agent = miai.make_agent("reconchess", miai.load_game("rbc"), bot=TROUT)
    with pytest.raises(AgentUnavailableError, match="apt install stockfish"):
        agent.new_game(0, player=0)


@pytest.mark.slow
@pytest.mark.engine("stockfish")
def test_trout_plays_by_a_stockfish_off_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STOCKFISH_EXECUTABLE", raising=False)
    record = play_bot(process(TROUT), move_limit=10)
    assert record.termination is Termination.MOVE_LIMIT, record.detail
    asked = [move for move in record.moves if move.actor == 0]
    assert len(asked) >= 5
    assert sum(move.cpu_seconds or 0 for move in asked) > 0.2  # the engine's


# -- our agents as bots -------------------------------------------------------------------------


@pytest.mark.parametrize("module", BOTS)
def test_every_module_of_bots_shows_one_class_that_other_processes_find(module: str) -> None:
    name, bot_class = reconchess.load_player(module)
    assert issubclass(bot_class, reconchess.Player)
    assert bot_class.__name__ == name
    assert bot_class.__module__ == module
    assert pickle.loads(pickle.dumps(bot_class)) is bot_class
    shown = inspect.getmembers(importlib.import_module(module), inspect.isclass)
    players = [found for found in shown if issubclass(found[1], reconchess.Player)]
    assert players == [(name, bot_class)]


def run_tool(tool: str, *words: object, cwd: Path) -> str:
    done = subprocess.run(
        [str(BIN / tool), *map(str, words)], cwd=cwd, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stdout + done.stderr, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_match_and_its_playback_by_the_tools_of_reconchess(tmp_path: Path) -> None:
    bot = "miai_rbc.reconchess_bots.rbc_random"
    opponent = write_bot(tmp_path, "random.seed(6)\n")  # of both: our seeds are drawn there too
    report_text = run_tool("rc-bot-match", bot, opponent, cwd=tmp_path)
    assert "Game Over!" in report_text
    assert "ERROR" not in report_text
    (file,) = tmp_path.glob("*.json")
    history = read_history(file)
    assert history.players == ("RbcRandom", "SomeBot")
    assert history.reason == json.loads(file.read_text())["win_reason"]["value"]
    for colour in ("white", "black"):
        run_tool("rc-playback", file, bot, colour, cwd=tmp_path)


@contextmanager
def connected(bot: str, address: str, log: Path) -> Iterator[psutil.Process]:
    """Run rc-connect, one game at a time, and end it by SIGTERM."""
    words = [str(BIN / "rc-connect"), bot, "--username", "u", "--password", "p"]
    words += ["--server-url", address, "--max-concurrent-games", "1"]
    env = {**os.environ, "NO_PROXY": "127.0.0.1", "PYTHONUNBUFFERED": "1"}
    with log.open("w") as output:
        process = subprocess.Popen(words, stdout=output, stderr=subprocess.STDOUT, env=env)
        try:
            yield psutil.Process(process.pid)
            process.terminate()
            assert process.wait(60) == 0, log.read_text()
        finally:
            process.kill()
            process.wait()


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, pytest.param(100, marks=pytest.mark.soak)])
def test_many_games_on_a_server_that_goes_away_leak_nothing(tmp_path: Path, count: int) -> None:
    games, log = ServedGames(count, turns=8, seconds=4.0, increment=0.2), tmp_path / "log"
    figures: list[tuple[int, int, int]] = []
    half = threading.Event()
    with contextlib.ExitStack() as stack:
        with serving(games) as address:
            bot = "miai_rbc.reconchess_bots.rbc_strong"
            process = stack.enter_context(connected(bot, address, log))

            def note() -> None:
                memory = process.memory_info().rss
                figures.append((memory, process.num_fds(), len(process.children(recursive=True))))
                if len(figures) == count // 2:
                    half.set()

            games.on_finish = note
            assert half.wait(60 + 40 * count), log.read_text()
            time.sleep(0.5)  # until the answer is there
        until = time.monotonic() + 60
        while "Failed to connect to server" not in log.read_text():  # it asks every five seconds
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.1)
        with serving(games, port=int(address.rpartition(":")[2])):
            assert games.done.wait(60 + 40 * count), log.read_text()
            stack.close()
    text = log.read_text()
    assert not games.resigned, text
    assert text.count("Finished game") == count
    for game in games.games.values():
        assert game.get_win_reason() is not reconchess.WinReason.TIMEOUT
    first, last = figures[len(figures) // 5], figures[-1]
    print(f"{count} games; memory, descriptors, processes after some: {first}, at the end: {last}")
    assert last[0] < first[0] + (4 << 20)
    assert last[1:] == first[1:]


class Recorder:
    """What the agent behind a player of reconchess was told."""

    def __init__(self, player: Any) -> None:
        self.observations: list[Any] = []
        observe = player._observe

        def record(*report_text: Any) -> None:
            self.observations.append(report_text)
            observe(*report_text)

        player._observe = record


@pytest.mark.parametrize("white", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_an_agent_receives_our_games_observations(white: bool, seed: int, tmp_path: Path) -> None:
    random.seed(seed)
    ours = player_class("rbc-random")()
    recorder = Recorder(ours)
    players = [ours, RandomBot()] if white else [RandomBot(), ours]
    _, _, history = reconchess.play_local_game(*players)
    history.save(tmp_path / "history.json")
    expected = read_history(tmp_path / "history.json").observations(0 if white else 1)
    last = expected[-1]
    if last.actor != (0 if white else 1):  # of its opponent's last move reconchess tells nothing
        expected.pop()
    for number, (found, wanted) in enumerate(zip(recorder.observations, expected, strict=True)):
        actor, action, data, legal = found
        assert isinstance(wanted.data, dict)
        report_text = {k: v for k, v in wanted.data.items() if k != "result"}
        plain = to_plain(report_text, what="data")  # lists for tuples
        assert (actor, action, data) == (wanted.actor, wanted.action, plain), number
        assert tuple(legal) == wanted.legal_actions, number


@pytest.mark.parametrize("fen", [chess.STARTING_FEN, "4k3/PPPPPPPP/8/8/8/8/8/4K3 b - - 0 1"])
def test_any_position_is_followed_and_the_lists_of_reconchess_stay_as_they_are(fen: str) -> None:
    player, board = player_class("random")(), chess.Board(fen)
    senses, moves = list(chess.SQUARES), reconchess.utilities.move_actions(board)
    before = senses.copy(), moves.copy()
    player.handle_game_start(board.turn, board, "somebody")
    assert player.choose_sense(senses, moves, 900.0) is None  # nobody said that it is our turn
    player.handle_opponent_move_result(False, None)
    player.choose_sense(senses, moves, 900.0)
    player.handle_sense_result([])
    assert player.choose_move(moves, float("inf")) in (*moves, None)
    assert (senses, moves) == before
    player.handle_game_end(None, None, None)


# -- the server's side ----------------------------------------------------------------------------


class ServedGames:
    """The server's side of games that it invites a bot to, one after the other.

    The bot is white, `RandomBot` black.

    Attributes:
      games: by their number, from 1.
      finished: the number of games that the bot's process has said it is done with.
      done: set when that is so for all games.
      resigned: whether it gave up on an error.
      on_finish: called after each game.
    """

    def __init__(self, count: int, *, turns: int, seconds: float, increment: float) -> None:
        random.seed(1)
        self.games = {
            number: reconchess.LocalGame(seconds, increment, full_turn_limit=turns)
            for number in range(1, count + 1)
        }
        self.finished = 0
        self.done = threading.Event()
        self.resigned = False
        self.on_finish: Callable[[], None] = lambda: None
        self._accepted = 0
        self._opponent = RandomBot()

    def answer(self, endpoint: str, body: bytes) -> str | None:
        """Return the answer to a request, or None for an endpoint that is not there."""
        output = (json.loads(body, cls=ChessJSONDecoder) if body else None) or {}
        answer = self._answer(endpoint, output)
        return None if answer is None else json.dumps(answer, cls=GameHistoryEncoder)

    def _answer(self, endpoint: str, output: dict[str, Any]) -> Any:
        match endpoint.split("/"):
            case ["version"]:
                return {"version": reconchess.__version__}
            case ["users", "me", "ranked" | "max_games"]:
                return {}
            case ["invitations", ""]:
                waits = self._accepted == self.finished < len(self.games)
                return {"invitations": [self.finished + 1] if waits else []}
            case ["invitations", number]:
                self._accepted += 1
                return {"game_id": int(number)}
            case ["invitations", _, "finish"]:
                self.finished += 1
                self.on_finish()
                if self.finished == len(self.games):
                    self.done.set()
                return {}
            case ["games", _, "error_resign"]:
                self.resigned = True
                return {}
            case ["games", number, what]:
                return self._of_game(self.games[int(number)], what, output)
        return None

    def _of_game(self, game: reconchess.LocalGame, what: str, output: dict[str, Any]) -> Any:
        answers: dict[str, Callable[[], Any]] = {
            "color": lambda: {"color": True},
            "starting_board": lambda: {"board": game.board},
            "opponent_name": lambda: {"opponent_name": "RandomBot"},
            "ready": lambda: game.start() or {},
            "sense_actions": lambda: {"sense_actions": game.sense_actions()},
            "move_actions": lambda: {"move_actions": game.move_actions()},
            "seconds_left": lambda: {"seconds_left": game.get_seconds_left()},
            "opponent_move_results": lambda: {what: game.opponent_move_results()},
            "sense": lambda: {"sense_result": game.sense(output["square"])},
            "move": lambda: {"move_result": game.move(output["requested_move"])},
            "end_turn": lambda: self._end_turn(game),
            "game_status": lambda: {"is_over": game.is_over(), "is_my_turn": True},
            "winner_color": lambda: {"winner_color": game.get_winner_color()},
            "win_reason": lambda: {"win_reason": game.get_win_reason()},
            "game_history": lambda: {"game_history": game.get_game_history()},
        }
        return answers[what]() if what in answers else None

    def _end_turn(self, game: reconchess.LocalGame) -> dict[str, Any]:
        game.end_turn()
        if not game.is_over():
            play_turn(game, self._opponent, end_turn_last=True)
        if game.is_over():
            game.end()
        return {}


@contextmanager
def serving(games: ServedGames, *, port: int = 0) -> Iterator[str]:
    """Serve games; the value is the server's address."""

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            answer = games.answer(self.path.removeprefix("/api/"), body)
            self.send_response(404 if answer is None else 200)
            data = (answer or "{}").encode()
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            pass

    for method in ("GET", "POST"):
        setattr(Handler, f"do_{method}", Handler._serve)
    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
