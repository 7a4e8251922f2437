"""Real games against GNU Go, and GNU Go as an oracle for the rules."""

import random
import re
import tomllib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from tests.go.positions import go, position
from tests.go.positions import play as play_moves

from miai import TimeControl, load_game, make_agent
from miai.errors import AgentUnavailableError
from miai.playing.match import InProcessSeat, play, play_game
from miai.process.agent_process import AgentProcess
from miai.process.programs import ProgramProcess
from miai.record import GameRecord, Termination
from miai.testing import check_agent
from miai_go.gtp.agent import GtpJudge
from miai_go.gtp.client import EngineLog, GtpClient
from miai_go.rules.board import BLACK, WHITE
from miai_go.rules.coordinates import parse_vertex, vertex
from miai_go.rules.game import GoGame, GoState

pytestmark = [pytest.mark.engine("gnugo"), pytest.mark.usefixtures("token")]

SECONDS = 30.0
COMMAND = "gnugo --mode gtp --level 1 --chinese-rules --positional-superko --seed {seed}"


Oracle = Callable[..., GtpClient]


@pytest.fixture
def oracle() -> Iterator[Oracle]:
    """Start GNU Go with an empty board."""
    with ExitStack() as stack:

        def start(size: int, *options: str) -> GtpClient:
            engine = ProgramProcess(["gnugo", "--mode", "gtp", "--seed", "1", *options])
            client = GtpClient(engine, EngineLog(), who="engine 'gnugo'")
            stack.enter_context(closing(client)).handshake(seconds=SECONDS)
            for command in (f"boardsize {size}", "clear_board"):
                client.ask(command, seconds=SECONDS)
            return client

        yield start


def points(client: GtpClient, question: str, size: int) -> set[int]:
    return {parse_vertex(word, size) for word in client.ask(question, seconds=SECONDS).split()}


def assert_same_board(client: GtpClient, state: GoState) -> None:
    """Compare stones and prisoners with GNU Go's."""
    size = state.game.size
    flat = state.board.stones().reshape(-1).tolist()
    for player, name in ((BLACK, "black"), (WHITE, "white")):
        ours = {point for point, stone in enumerate(flat) if stone == player + 1}
        assert points(client, f"list_stones {name}", size) == ours
        taken = client.ask(f"captures {name}", seconds=SECONDS)
        assert int(taken) == state.board.captures[player]


def replay(client: GtpClient, game: GoGame, record: GameRecord) -> GoState:
    """Play a record on GNU Go's board and on ours, comparing them all the way."""
    state = game.new_initial_state()
    for move in record.moves:
        client.ask(f"play {'bw'[move.actor]} {vertex(move.action, game.size)}", seconds=SECONDS)
        state.apply_action(move.action)
        assert_same_board(client, state)
    return state


@pytest.mark.slow
@pytest.mark.parametrize(("size", "color"), [(5, 0), (5, 1), (9, 1)])
def test_a_game_against_gnu_go(size: int, color: int, oracle: Oracle, tmp_path: Path) -> None:
    """Both colours, to the end; GNU Go sees the same board after every move and the same score."""
    game = go(board_size=size, rules="chinese", suicide=False)
    gnugo = make_agent("gtp", game, command=COMMAND)
    other = make_agent("fast-random", game)
    agents = [gnugo, other] if color == 0 else [other, gnugo]
    record = play(game, agents, seed=size, log_dir=tmp_path)
    gnugo.close()
    assert record.termination in (Termination.TERMINAL, Termination.RESIGNATION), record.detail
    assert record.returns[color] == 1.0  # GNU Go beats a random player
    assert getattr(gnugo, "version", "") == "GNU Go 3.8"
    assert "genmove" in (tmp_path / f"{game.info.player_names[color]}.log").read_text()
    client = oracle(size, "--chinese-rules", "--positional-superko")
    client.ask(f"komi {game.white_bonus:g}", seconds=SECONDS)
    state = replay(client, game, record)
    if record.termination == Termination.TERMINAL:
        dead = points(client, "final_status_list dead", size)
        counted = state.score_with_dead(tuple(sorted(dead))).margin
        assert client.ask("final_score", seconds=SECONDS) == score(counted)


def test_gnu_go_is_asked_before_a_game_whether_it_allows_suicide() -> None:
    """Without its option GNU Go would lose by protocol as soon as an opponent plays a suicide."""
    game = go(board_size=5)
    gnugo = make_agent("gtp", game, command=COMMAND)
    with pytest.raises(AgentUnavailableError, match=r"suicide of two stones.*--allow-suicide"):
        gnugo.new_game(1, player=0)
    gnugo = make_agent("gtp", game, command=f"{COMMAND} --allow-suicide")
    gnugo.new_game(1, player=0)
    gnugo.close()


def score(margin: float) -> str:
    return f"{'B' if margin > 0 else 'W'}+{abs(margin):.1f}" if margin else "0"


@pytest.mark.parametrize(
    ("size", "values", "options"),
    [
        (3, {"ko": "positional", "suicide": False}, ["--positional-superko"]),
        (3, {"ko": "situational", "suicide": False}, ["--situational-superko"]),
        (5, {}, ["--positional-superko", "--allow-suicide"]),
        (9, {"ko": "simple", "suicide": False, "repetition": "allowed"}, ["--simple-ko"]),
    ],
)
def test_legal_moves_are_those_of_gnu_go(
    size: int, values: dict[str, object], options: list[str], oracle: Oracle
) -> None:
    game = go(board_size=size, rules="tromp-taylor", **values)
    client, rng = oracle(size, *options), random.Random(size)
    state = game.new_initial_state()
    while not state.is_terminal() and state.move_number() < 160:
        legal, color = state.legal_actions()[:-1], "bw"[state.current_player()]
        assert points(client, f"all_legal {color}", size) == set(legal), str(state)
        action = rng.choice(legal) if legal else game.pass_action
        client.ask(f"play {color} {vertex(action, size)}", seconds=SECONDS)
        state.apply_action(action)
    assert_same_board(client, state)


@pytest.mark.slow
def test_a_game_under_a_clock_in_a_process_of_its_own(tmp_path: Path) -> None:
    game = go(board_size=5, rules="chinese")
    values = {"command": f"{COMMAND} --min-level 1 --max-level 1"}
    control = TimeControl(kind="byo-yomi", seconds=20, periods=3, period_seconds=10)
    with AgentProcess("go", {"board_size": 5, "rules": "chinese"}, "gtp", values, name="g") as seat:
        other = InProcessSeat(make_agent("fast-random", game))
        limits: Any = {"time_control": control, "move_limit": 8, "log_dir": tmp_path}
        record = play_game(game, [seat, other], seed=1, **limits)
        assert record.termination == Termination.MOVE_LIMIT, record.detail
        assert record.players[0].version.endswith("GNU Go 3.8")
        assert record.players[0].cpu_seconds is not None
        assert record.players[0].cpu_seconds > 0
    log = (tmp_path / "black.log").read_text()
    assert "time_settings 20 10 1" in log
    assert "time_left b 20 0" in log


def test_gnu_go_takes_handicap_either_way(oracle: Oracle, tmp_path: Path) -> None:
    """Its own count agrees with the game's, whoever compensates White."""
    for handicap in ("moves", "announced"):
        game = go(board_size=9, rules="chinese", handicap=4, komi=0.5)
        agent = make_agent("gtp", game, command=COMMAND, handicap=handicap)
        folder = tmp_path / handicap
        record = play(game, [make_agent("fast-random", game), agent], move_limit=4, log_dir=folder)
        agent.close()
        assert record.termination == Termination.MOVE_LIMIT
        client = oracle(9, "--chinese-rules")
        for line in (folder / "white.log").read_text().splitlines():
            text = line[9:].split()
            if text[0] == ">" and text[2] in ("komi", "play", "set_free_handicap"):
                client.ask(" ".join(text[2:]), seconds=SECONDS)
        client.ask("clear_cache", seconds=SECONDS)
        komi = float(client.ask("get_komi", seconds=SECONDS))
        output = int(client.ask("get_handicap", seconds=SECONDS))
        assert komi + output == game.white_bonus


DOCUMENT = Path(__file__).parents[2] / "docs" / "gtp.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)


def test_the_document_s_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = blocks("python")
    exec(compile(example, str(DOCUMENT), "exec"), {})
    assert capsys.readouterr().out.startswith("GNU Go 3.8 ")


def test_the_document_s_configs_are_right() -> None:
    player, *_, referee = map(tomllib.loads, blocks("toml"))
    (values,) = player["players"]
    agent = make_agent("gtp", go(board_size=9), command=values["command"])
    agent.new_game(1, player=0)
    agent.close()
    settings = referee["game"]
    game = load_game(settings.pop("name"), **settings)
    assert isinstance(game, GoGame)
    assert isinstance(game.judge, GtpJudge)


def test_gnu_go_as_a_referee_finds_the_dead_stones() -> None:
    settings = {"command": "gnugo --mode gtp --chinese-rules --seed 1"}
    referee: Any = {"dead_stones": "referee", "referee": "gtp", "referee_settings": settings}
    state = position("X.X.. ..XO. XOXO. ..XO. .OX..", rules="chinese", **referee)
    play_moves(state, "pass pass")
    assert state.is_terminal()
    assert state.result_to_string() == "B+17.5"
    assert {vertex(point, 5) for point in state.dead} == {"B1", "B3", "D2", "D3", "D4"}


def test_gnu_go_keeps_the_rules_of_agents() -> None:
    """Seeded, and nothing carried over: with a process for each game that can be promised."""
    game = go(board_size=5, rules="chinese")
    check_agent(lambda g: make_agent("gtp", g, command=COMMAND), game, games=1, max_plies=4)
