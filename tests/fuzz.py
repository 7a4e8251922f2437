"""Fuzzing of everything that reads untrusted input, guided by coverage with Atheris.

    python -m tests.fuzz                        all targets, ten million inputs in all
    python -m tests.fuzz sgf toml --inputs 50000

An input fails if it raises anything but the error that the reader documents, takes longer than a
second, or takes the process beyond 512 MiB. A failing input is written to `.fuzz/failures/`; mend
the defect and add the input to `REGRESSIONS`. Corpora stay in `.fuzz/corpus/`, so that the next run
starts where this one ended.

`tests/plugins/test_fuzz.py` runs the seeds, the regressions and some random changes of them in
every test run, without Atheris.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SCRATCH = ROOT / ".fuzz"
ALL_INPUTS = 10_000_000
MOST_SECONDS, MOST_MEGABYTES, MOST_BYTES = 1, 512, 4096
PACKAGES = ["miai", "miai_go", "miai_rbc", "miai_tournaments", "sgfmill", "chess", "tomllib"]
KERNELS = [
    ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
    for root in (ROOT / "framework", ROOT / "plugins" / "go", ROOT / "plugins" / "rbc")
    for path in root.glob("**/kernels/*.py")
]
"""Modules that Atheris leaves alone, as numba compiles them."""

Check = Callable[[bytes], None]
"""Reads an input. Raises nothing but defects."""


@dataclass(frozen=True, slots=True)
class Target:
    """A reader of untrusted input.

    Attributes:
      make: imports what is needed and returns the check.
      seeds: returns good inputs, from which fuzzing starts.
      words: what the format consists of, divided by bars.
      share: part of all inputs; the faster the reader the larger.
    """

    make: Callable[[], Check]
    seeds: Callable[[], Sequence[bytes]]
    words: str
    share: float = 1.0


@cache
def scratch_file(suffix: str) -> Path:
    """Return a file in memory, for readers that take a path."""
    memory = Path("/dev/shm")
    folder = tempfile.mkdtemp(prefix="miai-fuzz-", dir=memory if memory.is_dir() else None)
    return Path(folder) / f"input{suffix}"


def written(data: bytes, suffix: str) -> Path:
    """Return a file with an input."""
    path = scratch_file(suffix)
    path.write_bytes(data)
    return path


# Go -----------------------------------------------------------------------------------------------


def check_sgf() -> Check:
    """Records: read, all variations followed on a board."""
    import miai
    from miai_go.rules.game import GoGame
    from miai_go.sgf.check import SgfError
    from miai_go.sgf.reading import read_bytes

    def check(data: bytes) -> None:
        with contextlib.suppress(SgfError):
            for game in read_bytes(data):
                for line in game.lines():
                    go = miai.load_game("go", **game.parameters(line, komi=0))
                    assert isinstance(go, GoGame)
                    game.replay(go, line)

    return check


def check_problems() -> Check:
    """Life-and-death problems in SGF."""
    from miai_go.tsumego.problem_sgf import read_problems

    def check(data: bytes) -> None:
        for problem in read_problems(data):  # an error is yielded, not raised
            str(problem)

    return check


def check_gtp_controller() -> Check:
    """The engine: what a controller may send, line by line."""
    from miai_go.gtp.engine_session import Session
    from miai_go.gtp.players import player_maker
    from miai_go.gtp.session_commands import answer

    maker = player_maker("random", {})
    file = re.compile(rb"loadsgf|printsgf")

    def check(data: bytes) -> None:
        answers: list[str] = []
        game = {"board_size": 5, "rules": "tromp-taylor"}
        with contextlib.redirect_stderr(io.StringIO()) as defects:
            session = Session(maker, game, write=answers.append, agent="random")
            for line in data.split(b"\n")[:40]:
                if file.search(line):
                    continue  # reads and writes files of this machine
                answer(session, line)
                if session.ended:
                    break
            session.player.close()
        assert "Traceback" not in defects.getvalue(), defects.getvalue()
        assert all(answer.startswith(("=", "?")) for answer in "".join(answers).split("\n\n")[:-1])

    return check


def check_gtp_engine() -> Check:
    """The controller: what an engine may write."""
    from miai.errors import AgentFloodError, AgentProtocolError
    from miai_go.gtp.client import ResponseReader

    def check(data: bytes) -> None:
        reader = ResponseReader(lambda line: None)
        with contextlib.suppress(AgentProtocolError, AgentFloodError):
            for part in data.split(b"\xff"):
                reader.feed(part)
                while reader.next() is not None:
                    pass

    return check


def check_safetensors() -> Check:
    """Weights: the tensors and the header."""
    from miai.errors import WeightsError
    from miai.tensors import read_tensors
    from miai_go.nets.network import WeightsHeader

    def check(data: bytes) -> None:
        path = written(data, ".safetensors")
        with contextlib.suppress(WeightsError):
            read_tensors(path)
        with contextlib.suppress(WeightsError):
            WeightsHeader.read_all(path)

    return check


# Reconnaissance Blind Chess -----------------------------------------------------------------------


def check_fen() -> Check:
    """Positions: one line of FEN."""
    from miai.errors import InvalidStateError
    from miai_rbc.rules.rows import board_of_fen

    def check(data: bytes) -> None:
        with contextlib.suppress(InvalidStateError):
            board_of_fen(data.decode("utf-8", "replace"))

    return check


def _openings(reader: str, suffix: str) -> Check:
    from miai.errors import ConfigError
    from miai_rbc import chess_files
    from miai_rbc.rules.game import RbcGame

    make = getattr(chess_files, reader)(RbcGame())

    def check(data: bytes) -> None:
        with contextlib.suppress(ConfigError):
            make.read(written(data, suffix))

    return check


def check_epd() -> Check:
    """Openings in EPD or FEN."""
    return _openings("EpdOpenings", ".epd")


def check_pgn() -> Check:
    """Openings in PGN."""
    return _openings("PgnOpenings", ".pgn")


def check_reconchess() -> Check:
    """Games that reconchess recorded."""
    from miai.errors import RecordError
    from miai_rbc.reconchess.histories import read_history

    def check(data: bytes) -> None:
        with contextlib.suppress(RecordError):
            read_history(written(data, ".json"))

    return check


def check_uci() -> Check:
    """What a UCI engine may write."""
    from miai_rbc.engines.uci import EngineError, _parse

    def check(data: bytes) -> None:
        lines = [line for line in data.decode("utf-8", "replace").splitlines() if line.split()]
        with contextlib.suppress(EngineError):
            _parse([*lines, "bestmove"])
        with contextlib.suppress(EngineError):
            _parse([*lines, "bestmove e2e4 ponder e7e5"])

    return check


# The framework and tournaments --------------------------------------------------------------------


def check_toml() -> Check:
    """Tournament configs."""
    from miai.errors import MiaiError
    from miai_tournaments.config.load import load_tournament

    def check(data: bytes) -> None:
        with contextlib.suppress(MiaiError):
            load_tournament(written(data, ".toml"))

    return check


def check_record() -> Check:
    """Records of games, as JSON lines."""
    from miai.errors import ConfigError, RecordError
    from miai.playing.replay import replay
    from miai.record_reader import read_record

    def check(data: bytes) -> None:
        with contextlib.suppress(RecordError, ConfigError):  # the game may be a program
            record = read_record(data.decode("utf-8", "replace"))
            replay(record)

    return check


def check_agent() -> Check:
    """What an agent's process may answer."""
    from miai.errors import AgentFloodError, AgentProtocolError
    from miai.process.agent_messages import unpack_cpu, unpack_decision
    from miai.process.messages import FrameReader

    def check(data: bytes) -> None:
        reader = FrameReader(1 << 20)
        with contextlib.suppress(AgentProtocolError, AgentFloodError):
            for part in data.split(b"\xfe\xfe"):
                reader.feed(part)
                while (message := reader.next()) is not None:
                    unpack_cpu(message, limit=60.0)
                    unpack_decision(message)

    return check


def check_program() -> Check:
    """What the program of a game may write: a hello, then positions, line by line."""
    from miai.errors import AgentProtocolError
    from miai.process.conversation import read_line
    from miai.process.program_game import read_hello, read_position

    def check(data: bytes) -> None:
        with contextlib.suppress(AgentProtocolError, ValueError):
            first, *lines = data.split(b"\n")
            info = read_hello(read_line(first, "it")).info()
            for line in lines:
                with contextlib.suppress(AgentProtocolError, ValueError):
                    hash(read_position(read_line(line, "it"), info).key)

    return check


def check_store() -> Check:
    """Stores of runs: SQLite files of which some bytes are changed."""
    from miai.errors import MiaiError
    from miai_tournaments.report.report import build_report
    from miai_tournaments.store.folder import FILE_NAME
    from miai_tournaments.store.store import Store

    def check(data: bytes) -> None:
        folder = scratch_file("").parent / "run"
        folder.mkdir(exist_ok=True)
        store = bytearray(good_store())
        # The input is a list of changes, as the corpus would otherwise be megabytes.
        for begin in range(0, len(data) - 4, 5):
            place = int.from_bytes(data[begin : begin + 4], "big") % len(store)
            store[place] = data[begin + 4]
        if data[:1] == b"!":
            del store[int.from_bytes(data[1:4], "big") % len(store) :]
        (folder / FILE_NAME).write_bytes(store)
        with contextlib.suppress(MiaiError), Store.open(folder) as opened:
            build_report(opened)

    return check


# The browser --------------------------------------------------------------------------------------

SUFFIXES = (".sgf", ".pgn", ".json", ".jsonl")


def check_upload() -> Check:
    """Files opened in the browser, and the pages of their games."""
    from miai.errors import RecordError
    from miai.pages.replay_page import replay_page
    from miai.web.records import read_file

    def check(data: bytes) -> None:
        suffix = SUFFIXES[data[0] % len(SUFFIXES)] if data else ""
        with contextlib.suppress(RecordError):
            record = read_file(f"file{suffix}", data[1:])[0]
            if len(record.moves) <= 8:  # a page takes 20 ms for each move, without instruments
                replay_page(record, "fuzz")

    return check


def check_request() -> Check:
    """Requests to `miai web`, through its middleware.

    An input is ``METHOD ADDRESS TIMES``, headers, an empty line, and what the body repeats.
    """
    from urllib.parse import unquote

    from miai.web.server import MOST_BODY, make_app

    loop, token = asyncio.new_event_loop(), "a-token-of-the-fuzzer"
    app = make_app(scratch_file("").parent / "web", token=token, hosts=["h"])

    def asked(first: bytes, lines: Sequence[bytes], body: bytes) -> dict[str, Any]:
        method, _, rest = first.partition(b" ")
        address, _, times = rest.partition(b" ")
        path, _, query = address.decode("ascii", "ignore").partition("?")
        pairs = [line.partition(b": ") for line in lines]
        body = (body * int(times if times.isdigit() and len(times) < 8 else 1))[:MOST_BODY]
        messages = [{"type": "http.request", "body": body}]
        answer: dict[str, Any] = {}

        async def receive() -> Any:
            return messages.pop() if messages else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            answer.update(message)

        scope = {
            "type": "http",
            "method": method.decode("ascii", "ignore"),
            "path": unquote(path),
            "query_string": query.encode(),
            "headers": [(name.lower(), value) for name, _, value in pairs] + own,
            "scheme": "http",
            "state": {},
        }
        loop.run_until_complete(app(scope, receive, send))
        return answer

    own = [(b"host", b"h")]
    answer = asked(b"GET /?token=" + token.encode(), [], b"")
    cookie = dict(answer["headers"])[b"set-cookie"].partition(b";")[0]
    own += [(b"cookie", cookie), (b"origin", b"http://h")]
    form = b"players.0.agent=me&players.1.agent=guest"
    kind = b"content-type: application/x-www-form-urlencoded"
    table = dict(asked(b"POST /games/tic_tac_toe", [kind], form)["headers"])[b"location"]

    def check(data: bytes) -> None:
        head, _, body = data.replace(b"TABLE", table).partition(b"\n\n")
        first, *lines = head.split(b"\n")
        assert asked(first, lines, body)["status"] < 500

    return check


@cache
def good_store() -> bytes:
    """Return the store of a small run."""
    from miai_tournaments.store.folder import FILE_NAME

    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "small.toml"
        config.write_bytes(SMALL_CONFIG)
        words = ("tournament", "run", str(config), "--out", f"{folder}/run")
        subprocess.run([sys.executable, "-m", "miai", *words], check=True, capture_output=True)
        return (Path(folder) / "run" / FILE_NAME).read_bytes()


SMALL_CONFIG = b"""
game = {name = "tic_tac_toe"}
players = [{name = "one", agent = "random"}, {name = "other", agent = "random"}]
tournament = {name = "small", rounds = 1, seed = 1}
"""


GTP_RESPONSES = [b"= D4\n\n?3 illegal move\n\n", b"=1 a\nb\n\n\xff=2\n\xff\n# comment\n= x\n\n"]
FEN = [
    b"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    b"r3k2r/8/8/3pP3/8/8/8/R3K2R w KQkq d6 3 40",
    b"4k3/P6P/8/8/8/8/p6p/4K3 b - - 99 200",
]
PGN = [
    b'[ECO "B00"]\n[Result "*"]\n\n1. e4 e5 2. Nf3 {a comment} (2. f4 exf4) Nc6 $1 *\n',
    b'1. d4 d5 2. c4 e6 3. Nc3 Nf6 1/2-1/2\n\n[White "a"]\n\n1. e4 c5 ; rest\n2. Nf3! d6?! *\n',
]
UCI_ANSWERS = [
    b"info depth 5 seldepth 7 multipv 1 score cp 31 nodes 100 nps 9 time 1 pv e2e4 e7e5",
    b"info depth 9 multipv 2 score mate -3 lowerbound pv a2a3\ninfo string x\ninfo depth 1",
]


def seeds_sgf() -> Sequence[bytes]:
    """Return records with set-up, variations, comments, escapes and a charset."""
    return [
        b"(;GM[1]FF[4]SZ[9]RU[Chinese]PB[a]RE[B+3.5];B[ee]LB[cc:1];W[cc]C[\\] b](;B[])(;TR[]))",
        b"(;SZ[5]AB[aa:bb][cc]AW[dd]PL[W]HA[2]CA[UTF-8];W[ee];B[tt])",
        b"(;FF[3]GM[1]SZ[19]BL[30]OB[3];B[pd]BL[29.5];AE[pd]AW[aa])(;SZ[9];B[aa])",
        *(path.read_bytes()[:MOST_BYTES] for path in sorted(ROOT.glob("tests/**/*.sgf"))[:10]),
    ]


def seeds_upload() -> Sequence[bytes]:
    """Return a file of each format, after the byte that chooses its suffix."""
    files = (seeds_sgf(), PGN, seeds_reconchess(), seeds_record())
    return [bytes([place]) + seed for place, seeds in enumerate(files) for seed in seeds]


def seeds_request() -> Sequence[bytes]:
    """Return requests to every kind of page."""
    form = b"\nContent-Type: application/x-www-form-urlencoded\n\n"
    parts = b"\nContent-Type: multipart/form-data; boundary=x\n\n"
    name = b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.sgf"\r\n\r\n'
    return [
        *(b"GET " + path for path in (b"/", b"/games/go?a=b&c=d", b"TABLE", b"TABLE/events")),
        b"POST TABLE/answers 1\n\n" + b'{"number": 1, "kind": "move", "action": 4}',
        b"POST TABLE/pace 1000000\n\n[",
        b"POST TABLE/invitations/1\nOrigin: http://[\n\n",
        b"POST /invitations/0123456789ab/key",
        b"POST /games/go 1" + form + b"game.komi=1e308&players.0.agent=me&clock.seconds=1e400",
        b"POST /games/rbc 90000" + form + b"game.fen=%FF&",
        b"POST /records/" + parts + name + b"(;SZ[5];B[aa])\r\n--x--\r\n",
        b"GET /records/0123456789ab/play?ply=1",
    ]


def seeds_gtp() -> Sequence[bytes]:
    """Return sessions with every command."""
    from miai_go.gtp.session_commands import COMMANDS, STREAMING

    names = sorted({*COMMANDS, *STREAMING} - {"quit", "loadsgf", "printsgf"})
    return [
        b"boardsize 5\nclear_board\nkomi 6.5\nplay b C3\nplay w pass\ngenmove b\nundo\n",
        b"1 time_settings 60 5 3\n2 time_left b 10 1\n3 genmove w\nkgs-time_settings none\n",
        b"set_free_handicap A1 C3 E5\nfinal_score\nfinal_status_list dead\nlz-analyze b 10\n",
        b"kata-set-rules japanese\nkata-get-rules\nkata-analyze b 5 ownership true\n",
        "\n".join(names).encode(),
        "\n".join(f"{name} b 3" for name in names).encode(),
    ]


def seeds_safetensors() -> Sequence[bytes]:
    """Return small files with and without a header of miai."""
    import numpy as np
    from safetensors.numpy import save

    tensors: dict[str, Any] = {"a": np.ones((2, 3), np.float32), "b": np.arange(4)}
    header = {
        "format": 1,
        "network": "resnet",
        "network_parameters": {"blocks": 1},
        "encoder": "zero",
        "size": 9,
        "planes": 8,
        "komi": [6.5, 7.5],
        "outputs": ["policy", "value"],
    }
    return [
        save(tensors),
        save({}),
        save(tensors, {"miai": json.dumps(header)}),
        save(tensors, {"miai": "{}", "other": "x"}),
    ]


def seeds_epd() -> Sequence[bytes]:
    """Return files of positions."""
    line = b"rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq e6"
    return [
        b"# openings\n" + line + b' hmvc 0; fmvn 2; id "open"; bm Nf3;\n',
        line + b" 0 2\n",
        *FEN,
    ]


def seeds_reconchess() -> Sequence[bytes]:
    """Return a short game that reconchess itself recorded."""
    import chess
    from reconchess import LocalGame

    game = LocalGame(seconds_per_player=None)
    game.start()
    for sense, move in ((chess.E7, "e2e4"), (chess.E2, "e7e5"), (None, "d1h5"), (chess.D4, None)):
        game.sense(sense)
        game.move(None if move is None else chess.Move.from_uci(move))
        game.end_turn()
    game.end()
    path = scratch_file(".history")
    game.get_game_history().save(str(path))
    return [path.read_bytes()]


def seeds_toml() -> Sequence[bytes]:
    """Return the shipped configs of games without neural networks."""
    texts = [SMALL_CONFIG]
    for path in sorted(ROOT.glob("configs/*.toml")):
        text = path.read_bytes()
        if re.search(rb'name = "(tic_tac_toe|kuhn_poker|phantom_tic_tac_toe)"', text):
            texts.append(text)
    return texts


def seeds_record() -> Sequence[bytes]:
    """Return the records of two played games."""
    import miai

    records = []
    for game in ("tic_tac_toe", "kuhn_poker"):
        loaded = miai.load_game(game)
        players = [miai.RandomAgent(loaded) for _ in range(2)]
        records.append(miai.play(loaded, players, seed=1).to_json_lines().encode())
    return records


def seeds_agent() -> Sequence[bytes]:
    """Return answers of an agent."""
    from miai.process.messages import encode

    answer = {"id": 3, "ok": True, "cpu": 0.5, "action": 4, "resign": False}
    return [
        encode({**answer, "statistics": {"value": 0.5, "pv": [1, 2]}}),
        encode(answer) + b"\xfe\xfe" + encode({"id": 4, "error": {"type": "X", "message": "y"}}),
    ]


def seeds_program() -> Sequence[bytes]:
    """Return what programs of games of three kinds write."""
    hello = {"name": "x", "version": 1, "players": ["a", "b"], "max_game_length": 9, "actions": 3}
    turn = {"state": "s", "player": 0, "legal": [0, 2], "legal_text": ["x", "y"], "text": "t"}
    end = {"state": [1, None], "player": -4, "returns": [1, -1]}
    hidden = {**hello, "actions": ["x", "y"], "chance": ["h"], "perfect_information": False}
    dealt = {
        "state": 1,
        "player": -1,
        "chance": [[2, 1.0]],
        "observations": [None, {"sees": "actor"}],
    }
    joint = {"state": {}, "player": -2, "legal": [[0], [1]], "returns": [0.5, 0]}
    several = {**hello, "simultaneous": True, "intermediate_rewards": True, "teams": [0, 1]}
    games = [(hello, turn, end), (hidden, dealt), (several, joint)]
    return ["\n".join(map(json.dumps, lines)).encode() for lines in games]


def seeds_store() -> Sequence[bytes]:
    """Return changes of the store's file: none, in its header, further on, many, an end."""
    many = b"".join((5003 * n).to_bytes(4, "big") + bytes([n]) for n in range(100))
    few = [b"\0\0\0\x10\xff", b"\0\0\x20\x10\xff\0\0\x21\x10A"]
    return [b"", *few, many, b"!\0\x20\0"]


TARGETS: dict[str, Target] = {
    "sgf": Target(
        check_sgf,
        seeds_sgf,
        ";|(|)|[|]|\\|SZ[|B[|W[|AB[|AW[|AE[|PL[|KM[|HA[|RU[|RE[|CA[|GM[1]|FF[4]|aa|tt|:|UTF-8",
    ),
    "problems": Target(check_problems, seeds_sgf, "(;|)|[|]|SZ[|B[|W[|AB[|AW[|SQ[|TR[|CR[|MA[|LB["),
    "gtp-controller": Target(
        check_gtp_controller,
        seeds_gtp,
        "play |genmove |boardsize |komi |undo\n|b |w |pass|A1|1e309|kata-|lz-|analyze|nan|"
        "inf|-1|\n|true|{}|dead",
        share=0.4,
    ),
    "gtp-engine": Target(check_gtp_engine, lambda: GTP_RESPONSES, "=|?|\n\n|# ", share=5.0),
    "safetensors": Target(
        check_safetensors,
        seeds_safetensors,
        "__metadata__|dtype|F32|I64|shape|data_offsets|miai|{|}|[|]",
    ),
    "fen": Target(check_fen, lambda: FEN, "/|8|KQkq| w | b |-|k|K", share=4.0),
    "epd": Target(check_epd, seeds_epd, '/|8|KQkq| w |id |"|;|hmvc |#|bm '),
    "pgn": Target(
        check_pgn, lambda: PGN, '1. |e4|Nf3|O-O|{|}|(|)|[FEN |"]|$1|--|*|1-0|\n\n', share=0.7
    ),
    "reconchess": Target(
        check_reconchess,
        seeds_reconchess,
        '"type"|"value"|null|true|"senses"|"sense_results"|"requested_moves"|"e2e4"|[|]|{|}|,',
        share=0.7,
    ),
    "uci": Target(
        check_uci,
        lambda: UCI_ANSWERS,
        "info |score |cp |mate |pv |multipv |-|999999999999999999999999999999",
        share=5.0,
    ),
    "toml": Target(
        check_toml,
        seeds_toml,
        "[tournament]|[game]|[[players]]|[format]|[time]|[openings]|[balance]|"
        '[adjudication]|[limits]|[run]|name = |agent = |rounds = |true|1e400|-1|""|{|}|nan',
        share=0.3,
    ),
    "record": Target(
        check_record, seeds_record, '"action"|"player"|"returns"|null|true|1e400|-1|{|}|[|]|\n'
    ),
    "agent": Target(
        check_agent,
        seeds_agent,
        '"id"|"ok"|"cpu"|"action"|"resign"|"statistics"|1e308|NaN|{|}',
        share=6.0,
    ),
    "program": Target(
        check_program,
        seeds_program,
        '"state"|"player"|"legal"|"chance"|"returns"|"observations"|"sees"|"data"|"actions"|'
        '"players"|-1|-2|-4|1e308|NaN|null|{|}|[|]|\n',
    ),
    "upload": Target(
        check_upload,
        seeds_upload,
        '(;|SZ[|B[|[FEN "|1. e4|"type"|"value"|"action"|"returns"|"game"|null|1e400|-1|{|}|[|]|\n',
        share=0.5,
    ),
    "request": Target(
        check_request,
        seeds_request,
        "GET |POST | 1000000\n|TABLE|/games/|/records/|?token=|&|%00|Origin: |Cookie: |1e308|[|{",
        share=0.3,
    ),
    "store": Target(check_store, seeds_store, "", share=0.01),
}

REGRESSIONS: dict[str, tuple[bytes, ...]] = {
    "store": (b"\x0a\xfb\xce\xf5\xff\xff\xff\xdf\xee\x00",),
}
"""Inputs that once failed, by target."""


# Running ------------------------------------------------------------------------------------------


def fuzz(name: str, arguments: Sequence[str]) -> None:
    """Fuzz one target in this process, which ends with the run."""
    try:
        import atheris
    except ImportError:
        sys.exit("fuzzing needs Atheris: pip install -e '.[fuzz]'")
    with atheris.instrument_imports(include=PACKAGES, exclude=KERNELS):
        check = TARGETS[name].make()
        for seed in (*TARGETS[name].seeds(), b"", b"x"):
            check(seed)  # compiles kernels, imports what is imported late
    atheris.Setup([sys.argv[0], *arguments], check)
    atheris.Fuzz()


def run(name: str, inputs: int) -> bool:
    """Fuzz a target in a process of its own; return whether all went well."""
    corpus, failures = SCRATCH / "corpus" / name, SCRATCH / "failures"
    corpus.mkdir(parents=True, exist_ok=True)
    failures.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate((*TARGETS[name].seeds(), *REGRESSIONS.get(name, ()))):
        (corpus / f"seed-{number}").write_bytes(seed)
    words = SCRATCH / f"{name}.dict"
    escaped = [_escaped(word) for word in TARGETS[name].words.split("|") if word]
    words.write_text("".join(f'"{w}"\n' for w in escaped), "utf-8")
    command = [
        *(sys.executable, __file__, "--one", name, f"-runs={inputs}", f"-timeout={MOST_SECONDS}"),
        *(f"-rss_limit_mb={MOST_MEGABYTES}", f"-max_len={MOST_BYTES}", "-seed=1"),
        *([f"-dict={words}"] if escaped else []),
        *(f"-artifact_prefix={failures}/{name}-", "-print_final_stats=1", str(corpus)),
    ]
    return subprocess.run(command, check=False).returncode == 0


def _escaped(word: str) -> str:
    """Return a word as libFuzzer's dictionaries spell it."""
    return "".join(c if c.isalnum() else f"\\x{ord(c):02x}" for c in word)


def main(arguments: Sequence[str] | None = None) -> int:
    """Fuzz the targets; return 1 if an input failed."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == ["--one"]:
        fuzz(words[1], words[2:])
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("targets", nargs="*", help=f"of {', '.join(TARGETS)} (default: all)")
    parser.add_argument("--inputs", type=int, default=ALL_INPUTS, help="number in all")
    options = parser.parse_args(words)
    names = options.targets or list(TARGETS)
    if unknown := set(names) - set(TARGETS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    shares, failed, tried = sum(TARGETS[name].share for name in names), list[str](), 0
    started = time.monotonic()
    for name in names:
        inputs = round(options.inputs * TARGETS[name].share / shares)
        print(f"{name}: {inputs:,} inputs ...", flush=True)
        if not run(name, inputs):
            failed.append(name)
        tried += inputs
    result = f"failures: {', '.join(failed) or 'none'}"
    print(result)
    if not options.targets and options.inputs >= ALL_INPUTS:
        from tests.records import write_row  # where a target runs by itself, there is no package

        minutes = (time.monotonic() - started) / 60
        figure = f"{tried:,} inputs in {minutes:.0f} minutes, {result}"
        write_row("fuzz", figure, command="make fuzz")
    return int(bool(failed))


if __name__ == "__main__":
    os.environ.setdefault("PYTHONHASHSEED", "0")
    sys.exit(main())
