"""The agent ``program``: the example bots in five languages, and programs that misbehave."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

import miai
from miai.agent import RandomAgent
from miai.clock import TimeControl
from miai.errors import AgentUnavailableError, ConfigError
from miai.playing.match import InProcessSeat, Seat, play_game
from miai.process.agent_process import AgentProcess
from miai.process.limits import ProcessLimits
from miai.process.sandbox import Isolation
from miai.record import GameRecord, Termination
from miai.testing import check_agent
from miai_tournaments.config.load import load_tournament

EXAMPLES = Path(__file__).parents[2] / "examples" / "programs"

PROLOGUE = """
import json, sys, time
def say(**message):
    print(json.dumps(message), flush=True)
def hear():
    line = sys.stdin.readline()
    if not line:
        sys.exit()
    return json.loads(line)
hello = hear()
def greet(**more):
    say(type="hello", protocol=1, name="test", version="2", **more)
def questions():
    while True:
        message = hear()
        if message["type"] == "act":
            yield message
"""


def python(code: str) -> list[str]:
    return [sys.executable, "-c", PROLOGUE + code]


FIRST = """
greet()
for question in questions():
    say(type="action", id=question["id"], action=question["legal"][0])
"""


def playing(command: list[str], *, game: str = "tic_tac_toe", seed: int = 1) -> GameRecord:
    """Return a game of a program, which begins, against a random player."""
    loaded = miai.load_game(game)
    bot = miai.make_agent("program", loaded, command=command)
    try:
        return miai.play(loaded, [bot, RandomAgent(loaded)], seed=seed)
    finally:
        bot.close()


def built(language: str, folder: Path) -> list[str]:
    """Build an example; return its command."""
    if language == "c":
        source, target = EXAMPLES / "random_bot.c", folder / "bot"
        subprocess.run(["cc", "-Wall", "-Werror", "-o", target, source], check=True)
        return [str(target)]
    if language == "rust":
        source, target = EXAMPLES / "random_bot.rs", folder / "bot"
        subprocess.run(["rustc", "-D", "warnings", "-o", target, source], check=True)
        return [str(target)]
    if language == "java":
        subprocess.run(["javac", "-d", folder, EXAMPLES / "RandomBot.java"], check=True)
        return ["java", "-cp", str(folder), "RandomBot"]
    if language == "javascript":
        return ["node", str(EXAMPLES / "random_bot.js")]
    return [str(EXAMPLES / "first_legal.sh")]


@pytest.mark.parametrize(
    "language",
    [
        pytest.param("c", marks=pytest.mark.engine("cc")),
        pytest.param("rust", marks=pytest.mark.engine("rustc")),
        pytest.param("java", marks=pytest.mark.engine("javac")),
        pytest.param("javascript", marks=pytest.mark.engine("node")),
        "shell",
    ],
)
def test_examples_play(language: str, tmp_path: Path) -> None:
    command = built(language, tmp_path)
    games = [("tic_tac_toe", 1), ("tic_tac_toe", 2), ("phantom_tic_tac_toe", 1), ("kuhn_poker", 1)]
    played = []
    for name, seed in games:
        record = playing(command, game=name, seed=seed)
        assert record.termination is Termination.TERMINAL, record.detail
        assert "1.0" in record.players[0].version or language in ("java", "rust")
        played.append([move.action for move in record.moves])
        again = playing(command, game=name, seed=seed)
        assert [move.action for move in again.moves] == played[-1]
    if language != "shell":
        assert played[0] != played[1], "the seed decides"


def test_the_shell_script_passes_the_conformance_kit() -> None:
    game, command = miai.load_game("tic_tac_toe"), built("shell", Path())
    check_agent(lambda g: miai.make_agent("program", g, command=command), game, games=2)


def test_a_program_sees_what_its_player_sees(tmp_path: Path) -> None:
    """What it writes of the conversation is compared with the player's own observations."""
    notes = tmp_path / "notes"
    code = f"""
greet()
with open({str(notes)!r}, "w") as file:
    file.write(json.dumps(hello) + "\\n")
    while True:
        message = hear()
        file.write(json.dumps(message) + "\\n")
        file.flush()
        if message["type"] == "act":
            say(type="action", id=message["id"], action=message["legal_text"][-1], unknown=[1],
                value=0.25, pv=["a", "b"], statistics={{"nodes": 7}})
"""
    record = playing(python(code), game="phantom_tic_tac_toe")
    hello, start, *rest = [json.loads(line) for line in notes.read_text().splitlines()]
    assert (hello["game"], hello["protocol"]) == ("phantom_tic_tac_toe", 1)
    assert hello["perfect_information"] is False
    assert (start["type"], start["player"]) == ("new_game", 0)
    assert rest[-1] == {"type": "end", "returns": list(record.returns)}
    game = miai.load_game("phantom_tic_tac_toe")
    state, expected = game.new_initial_state(), []
    first = state.observation(0)
    seen = [] if first is None else [first]
    asked = [message for message in rest if message["type"] == "act"]
    for move in record.moves:
        if move.actor == 0:
            expected.append([(o.actor, o.action, o.data) for o in seen])
            seen = []
        state.apply_action(move.action)
        if (observation := state.observation(0)) is not None:
            seen.append(observation)
    told = [
        [(o["actor"], o["action"], o.get("data")) for o in message["observations"]]
        for message in asked
    ]
    assert told == expected
    statistics = record.moves[0].statistics
    assert statistics["value"] == 0.25
    assert statistics["pv"] == ["a", "b"]
    assert statistics["nodes"] == 7


def test_a_game_begins_without_news_of_the_last(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    code = f"""
greet()
for question in questions():
    with open({str(notes)!r}, "a") as file:
        print(question["id"], len(question["observations"]), file=file)
    say(type="action", id=question["id"], action=question["legal"][0])
"""
    game = miai.load_game("tic_tac_toe")
    bot = miai.make_agent("program", game, command=python(code))
    try:
        lengths = [len(miai.play(game, [bot, RandomAgent(game)], seed=1).moves) for _ in range(2)]
    finally:
        bot.close()
    lines = notes.read_text().splitlines()
    first = lines[: (lengths[0] + 1) // 2]
    assert [line.split()[1] for line in lines] == [line.split()[1] for line in first] * 2
    assert [line.split()[0] for line in lines] == [str(n + 1) for n in range(len(lines))]


@pytest.mark.parametrize(
    ("code", "termination", "detail"),
    [
        ("greet()\nnext(questions())\nsys.exit(3)", "crash", "exited with status 3"),
        ("greet()\nnext(questions())\nraise KeyError('x')", "crash", "KeyError: 'x'"),
        ("greet()\nnext(questions())\nprint('hm')\nhear()", "protocol", "wrote 'hm'"),
        ("greet()\nnext(questions())\nprint('[' * 99999)\nhear()", "protocol", "a JSON object"),
        (
            "greet()\nq = next(questions())\nsay(type='action', id=q['id'] + 1, action=0)\nhear()",
            "protocol",
            "an action with id 1 was wanted",
        ),
        (
            "greet()\nfor q in questions():\n    [say(type='action', id=q['id'], "
            "action=q['legal'][0]) for _ in 'ab']",
            "protocol",
            "an action with id 2 was wanted",
        ),
        (
            "greet()\nq = next(questions())\nsay(type='action', id=q['id'], action='z9')\nhear()",
            "protocol",
            "'z9', which is no text of a legal action",
        ),
        (
            "greet()\nq = next(questions())\nsay(type='action', id=q['id'], action=True)\nhear()",
            "protocol",
            "not True",
        ),
        (
            "greet()\nq = next(questions())\nsay(type='action', id=q['id'], action=99)\nhear()",
            "illegal-action",
            "99",
        ),
        (
            "greet()\nnext(questions())\nsys.stdout.write('x' * 3_000_000)\nhear()",
            "flood",
            "more than 1,048,576 bytes",
        ),
        (
            "greet()\nnext(questions())\nwhile True: sys.stderr.write('x' * 1_000_000)",
            "flood",
            "to standard error",
        ),
    ],
)
def test_misbehaviour_forfeits(code: str, termination: str, detail: str) -> None:
    record = playing(python(code))
    assert (record.termination, record.loser) == (Termination(termination), 0), record.detail
    assert detail in record.detail


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("say(type='hello', protocol=2)", "speaks version 2; its first line must be a hello"),
        ("print('GNU Go 3.8', flush=True)\nhear()", "wrote 'GNU Go 3.8'"),
        ("say(type='action', id=1, action=0)", "speaks something else"),
        ("greet(games=['go', 'chess'])", "does not play tic_tac_toe; it plays go, chess"),
        ("sys.exit('no license')", "no license"),
        ("time.sleep(60)", "did not say hello in time"),
    ],
)
def test_a_program_that_does_not_begin_is_unavailable(code: str, message: str) -> None:
    game = miai.load_game("tic_tac_toe")
    began = time.monotonic()
    bot = miai.make_agent("program", game, command=python(code), startup_timeout=1.0)
    with pytest.raises(AgentUnavailableError, match=r"see docs/programs\.md") as caught:
        bot.new_game(1, player=0)
    assert message in str(caught.value)
    assert time.monotonic() - began < 10


def test_a_program_that_is_missing() -> None:
    game = miai.load_game("tic_tac_toe")
    bot = miai.make_agent("program", game, command="./nothing --level 3")
    with pytest.raises(AgentUnavailableError, match=r"the program '\./nothing' was not found"):
        bot.new_game(1, player=0)


def test_a_program_that_hangs_loses_on_time() -> None:
    game = miai.load_game("tic_tac_toe")
    hanging = {"command": python("greet()\nnext(questions())\ntime.sleep(600)")}
    seat = AgentProcess(
        "tic_tac_toe",
        {},
        "program",
        hanging,
        name="bot",
        limits=ProcessLimits(isolation=Isolation.PROCESS),
    )
    control = TimeControl(kind="absolute", seconds=0.5)
    try:
        seats: list[Seat] = [seat, InProcessSeat(RandomAgent(game))]
        record = play_game(game, seats, seed=1, time_control=control)
    finally:
        seat.kill()
    assert (record.termination, record.loser) == (Termination.TIME, 0)


def test_a_program_that_crashed_is_started_again() -> None:
    game = miai.load_game("tic_tac_toe")
    bot = miai.make_agent(
        "program", game, command=python("greet()\nnext(questions())\nsys.exit(1)")
    )
    try:
        for seed in (1, 2):
            record = miai.play(game, [bot, RandomAgent(game)], seed=seed)
            assert record.termination is Termination.CRASH
    finally:
        bot.close()


def test_a_player_of_a_config_is_a_program(tmp_path: Path) -> None:
    bot = EXAMPLES / "first_legal.sh"
    config = tmp_path / "bots.toml"
    text = f"""
[tournament]
name = "bots"
rounds = 2
[game]
name = "tic_tac_toe"
[[players]]
name = "shell"
program = ["{bot}"]
[[players]]
name = "random"
agent = "random"
"""
    config.write_text(text)
    shell = load_tournament(config).players[0]
    assert (shell.agent, list(shell.parameters["command"])) == ("program", [str(bot)])
    output = command_line("tournament", "run", str(config), "--out", str(tmp_path / "run"))
    assert "shell" in output
    config.write_text(text.replace("program =", 'agent = "random"\nprogram ='))
    with pytest.raises(ConfigError, match="an agent or a program, not both"):
        load_tournament(config)


def command_line(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "miai", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_program_plays_from_the_command_line() -> None:
    bot = EXAMPLES / "first_legal.sh"
    words = ["tic_tac_toe", "--x", str(bot), "--o", "random", "--seed", "3"]
    assert "x wins" in command_line("play", *words)
