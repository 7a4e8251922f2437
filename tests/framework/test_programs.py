"""The agent ``program``: the example bots in five languages, and programs that misbehave."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.framework.histories import TTT
from tests.framework.test_pondering import Slow
from tests.tournaments.support import config_text, player
from tests.warm_command import call_miai

import miai
from miai.agent import Agent, RandomAgent
from miai.clock import TimeControl
from miai.errors import AgentUnavailableError, ConfigError
from miai.game import Game
from miai.playing.match import InProcessSeat, Seat, play_game
from miai.process.agent_process import AgentProcess
from miai.process.sandbox import Isolation, ProcessLimits
from miai.record import GameRecord, Termination
from miai.testing import check_agent
from miai_tournaments.config.load import load_tournament

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples" / "programs"
PHANTOM = "phantom_tic_tac_toe"

SPEECH = """
import json, os, sys, time
def say(**message):
    print(json.dumps(message), flush=True)
def hear():
    line = sys.stdin.readline()
    if not line:
        sys.exit()
    return json.loads(line)
"""
PROLOGUE = f"""{SPEECH}
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


def games(
    command: str | list[str], *seeds: int, game: Game | str = TTT, **options: Any
) -> list[GameRecord]:
    """Return games of a program, which begins, against a random player."""
    loaded = miai.load_game(game) if isinstance(game, str) else game
    with closing(miai.make_agent("program", loaded, command=command)) as bot:
        agents = [bot, RandomAgent(loaded)]
        return [miai.play(loaded, agents, seed=seed, **options) for seed in seeds]


def playing(command: str | list[str], *, seed: int = 1, **options: Any) -> GameRecord:
    return games(command, seed, **options)[0]


def refereed(
    command: list[str], *, other: Agent | None = None, memory: int | None = None, **options: Any
) -> GameRecord:
    """Return a game of a program in a process of its own, which begins."""
    limits = ProcessLimits(isolation=Isolation.PROCESS, memory=memory)
    given = {"command": command}
    with AgentProcess("tic_tac_toe", {}, "program", given, name="bot", limits=limits) as seat:
        seats: list[Seat] = [seat, InProcessSeat(other or RandomAgent(TTT))]
        return play_game(TTT, seats, seed=1, **options)


@cache
def built(example: str, folder: Path) -> str:
    """Build an example; return its command."""
    source, target = EXAMPLES / example, folder / example.replace(".", "_")
    if example.endswith(".c"):
        subprocess.run(["cc", "-O2", "-Wall", "-Werror", "-o", target, source], check=True)
        return str(target)
    if example.endswith(".rs"):
        subprocess.run(["rustc", "-D", "warnings", "-o", target, source], check=True)
        return str(target)
    if example.endswith(".java"):
        subprocess.run(["javac", "-d", folder, source], check=True)
        return f"java -cp {folder} {source.stem}"
    return f"node {source}" if example.endswith(".js") else str(source)


def example_of(file: str, *more: Any) -> Any:
    """Return parameters of a test that begin with an example, and the mark of what it needs."""
    engine = {"c": "cc", "rs": "rustc", "java": "javac", "js": "node"}.get(file.split(".")[1])
    return pytest.param(file, *more, marks=[pytest.mark.engine(engine)] if engine else [])


BOTS = ("random_bot.c", "random_bot.rs", "RandomBot.java", "random_bot.js", "first_legal.sh")


@pytest.mark.slow
@pytest.mark.parametrize("file", map(example_of, BOTS))
def test_examples_play(file: str, tmp_path: Path) -> None:
    command, records = built(file, tmp_path), []
    for name, seed in (("tic_tac_toe", 1), ("tic_tac_toe", 2), (PHANTOM, 1), ("kuhn_poker", 1)):
        record, again = games(command, seed, seed, game=name)
        assert record.termination is Termination.TERMINAL, record.detail
        assert "1.0" in record.players[0].version or file.endswith((".java", ".rs"))
        records.append([move.action for move in record.moves])
        assert [move.action for move in again.moves] == records[-1]
    if file != "first_legal.sh":
        assert records[0] != records[1], "the seed decides"


def test_the_shell_script_passes_the_conformance_kit() -> None:
    command = str(EXAMPLES / "first_legal.sh")
    check_agent(lambda g: miai.make_agent("program", g, command=command), TTT, games=2)


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
    lengths = [len(record.moves) for record in games(python(code), 1, 1)]
    lines = notes.read_text().splitlines()
    first = lines[: (lengths[0] + 1) // 2]
    assert [line.split()[1] for line in lines] == [line.split()[1] for line in first] * 2
    assert [line.split()[0] for line in lines] == [str(n + 1) for n in range(len(lines))]


ASKED = """
import os
greet()
q = next(questions())
def act(**answer):
    say(**{"type": "action", "id": q["id"], "action": 0, **answer})
"""
"""The first question was heard; the code of a case follows, and then the program listens."""


@pytest.mark.parametrize(
    ("code", "termination", "detail"),
    [
        ("sys.exit(3)", "crash", "exited with status 3"),
        ("raise KeyError('x')", "crash", "KeyError: 'x'"),
        ("os.kill(os.getpid(), 11)", "crash", "was killed by SIGSEGV"),
        ("os.close(1); time.sleep(60)", "crash", "closed its standard output"),
        ("os.close(0); act(); time.sleep(60)", "crash", "closed its standard input"),
        ("sys.stdout.write('x' * 3_000_000)", "flood", "more than 1,048,576 bytes"),
        ("while True: sys.stderr.write('x' * 1_000_000)", "flood", "to standard error"),
        ("act(action=99)", "illegal-action", "99"),
        ("act(resign=True)", "resignation", ""),
        ("print('hm')", "protocol", "wrote 'hm'"),
        ("print('[' * 99999)", "protocol", "a JSON object"),
        ("sys.stdout.buffer.write(bytes([255, 10]))", "protocol", "a JSON object"),
        ("act(id=q['id'] + 1)", "protocol", "an action with id 1 was wanted"),
        ("act(); act()", "protocol", "an action with id 2 was wanted"),
        ("act(action='z9')", "protocol", "'z9', which is not the text of a legal action"),
        (
            "act(action=True)",
            "protocol",
            "answer.action: expected a number or a text of a legal action, got true",
        ),
        ("act(value='high')", "protocol", "answer.value: expected a number, got 'high'"),
        ("act(value=float('nan'))", "protocol", "a JSON object: NaN is not a JSON number"),
        ("act(value=10**400)", "protocol", "answer.value: expected a number, got 1000"),
        ("act(pv='e4 e5')", "protocol", "answer.pv: expected a list of numbers or texts of"),
        ("act(policy=[[0, 0.5], [1, 0.4]])", "protocol", "the probabilities sum to 0.9, not to 1"),
        ("act(policy=[['z9', 1]])", "protocol", "'z9', which is not the text of a legal action"),
        ("act(policy=[[0]])", "protocol", "answer.policy: expected a list of pairs"),
        ("x = []\nfor _ in range(99): x = [x]\nact(pv=x)", "protocol", "nested deeper than 32"),
        ("say(type='error', message='no memory')", "protocol", "reports an error: no memory"),
    ],
)
def test_misbehaviour_forfeits(code: str, termination: str, detail: str) -> None:
    record = playing(python(f"{ASKED}\n{code}\nsys.stdout.flush()\nhear(), hear()"))
    assert (record.termination, record.loser) == (Termination(termination), 0), record.detail
    assert detail in record.detail


def test_an_answer_before_the_question_forfeits() -> None:
    record = playing(python("greet()\nsay(type='action', id=7, action=0)\nhear(), hear(), hear()"))
    assert (record.termination, record.loser) == (Termination.PROTOCOL, 0)
    assert "answered type 'action', id 7" in record.detail


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("say(type='hello', protocol=2)", "speaks version 2; its first line must be a hello"),
        ("print('GNU Go 3.8', flush=True)\nhear()", "wrote 'GNU Go 3.8'"),
        ("say(type='action', id=1, action=0)", 'speaks something else, {"type": "action"'),
        ("greet(stop=1)", "hello.stop: expected true or false, got 1"),
        ("greet(games=['go', 'chess'])", "does not play tic_tac_toe; it plays go and chess"),
        ("sys.exit('no license')", "no license"),
        ("time.sleep(60)", "did not say hello in time"),
    ],
)
def test_a_program_that_does_not_begin_is_unavailable(code: str, message: str) -> None:
    began = time.monotonic()
    bot = miai.make_agent("program", TTT, command=python(code), startup_timeout=1.0)
    with pytest.raises(AgentUnavailableError, match=r"see docs/programs\.md") as caught:
        bot.new_game(1, player=0)
    assert message in str(caught.value)
    assert time.monotonic() - began < 10


def test_a_program_that_may_not_be_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bot.sh").touch()
    monkeypatch.chdir(tmp_path)
    for command, message in (
        ("./bot.sh", r"'\./bot\.sh' may not be run: make it executable \(chmod \+x\)"),
        ("bot.sh", r"'bot\.sh' was not found.*for the file in the working folder write \./bot\.sh"),
        (str(tmp_path), r"' is a folder"),
        ("./nothing --level 3", r"the program '\./nothing' was not found"),
    ):
        bot = miai.make_agent("program", TTT, command=command)
        with pytest.raises(AgentUnavailableError, match=message):
            bot.new_game(1, player=0)


def test_a_late_answer_loses_on_time_in_the_referees_process_too() -> None:
    late = FIRST.replace("    say(", "    time.sleep(0.3)\n    say(")
    control = TimeControl(kind="per-move", seconds=0.05)
    record = playing(python(late), time_control=control)
    assert (record.termination, record.loser) == (Termination.TIME, 0)


def test_a_program_that_takes_too_much_memory_loses_alone() -> None:
    greedy = python("greet()\nnext(questions())\nx = bytearray(2 << 30)")
    record = refereed(greedy, memory=512)
    assert (record.termination, record.loser) == (Termination.CRASH, 0)
    assert "MemoryError" in record.detail
    assert record.returns == (-1.0, 1.0)


def test_what_a_program_does_at_the_end_changes_no_result(caplog: pytest.LogCaptureFixture) -> None:
    code = """
greet()
while True:
    message = hear()
    if message["type"] == "act":
        say(type="action", id=message["id"], action=message["legal"][0])
    elif message["type"] == "end":
        sys.exit(1)
"""
    with closing(miai.make_agent("program", TTT, command=python(code))) as bot:
        for seed in (1, 2):
            record = miai.play(TTT, [bot, RandomAgent(TTT)], seed=seed)
            assert record.termination is Termination.TERMINAL, record.detail
            assert bot._conversation.process.await_death(10)  # type: ignore[attr-defined]
    assert not caplog.records


def test_a_program_that_does_not_end_is_killed_with_what_it_started(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    code = f"""
import os, signal, subprocess
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen(["sleep", "600"])
with open({str(pids)!r}, "w") as file:
    print(os.getpid(), child.pid, file=file)
greet()
while True:
    line = sys.stdin.readline()
    if not line:
        time.sleep(600)
    question = json.loads(line)
    if question["type"] == "act":
        say(type="action", id=question["id"], action=question["legal"][0])
"""
    record = playing(python(code))
    assert record.termination is Termination.TERMINAL, record.detail
    until = time.monotonic() + 10
    left = [int(pid) for pid in pids.read_text().split()]
    while left and time.monotonic() < until:
        left = [p for p in left if psutil.pid_exists(p) and psutil.Process(p).status() != "zombie"]
    assert not left


def test_a_program_that_crashed_is_started_again() -> None:
    for record in games(python("greet()\nnext(questions())\nsys.exit(1)"), 1, 2):
        assert record.termination is Termination.CRASH


@pytest.mark.slow
def test_a_player_of_a_config_is_a_program(tmp_path: Path) -> None:
    bot = EXAMPLES / "first_legal.sh"
    config = tmp_path / "bots.toml"
    text = config_text({"name": "shell", "program": [str(bot)]}, player("random"))
    config.write_text(text)
    shell = load_tournament(config).players[0]
    assert (shell.agent, list(shell.parameters["command"])) == ("program", [str(bot)])
    output = command_line("tournament", "run", str(config), "--out", str(tmp_path / "run"))
    assert "shell" in output
    config.write_text(text.replace("program =", 'agent = "random"\nprogram ='))
    with pytest.raises(ConfigError, match="an agent or a program, not both"):
        load_tournament(config)
    config.write_text(text.replace("program =", 'command = "x"\nprogram ='))
    with pytest.raises(ConfigError, match="command: the program is the command; remove one"):
        load_tournament(config)


def command_line(*words: str) -> str:
    done = call_miai(words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_bare_file_name_is_told_from_a_component(tmp_path: Path) -> None:
    """A program is named by its path; the message shows it."""
    (tmp_path / "race.sh").touch()
    for words, said in [
        (
            ["race.sh"],
            "no game is called 'race.sh'; to run the file of that name as a program "
            "write ./race.sh\n",
        ),
        (["tic_tac_toe", "--x", "race.sh"], "write --x ./race.sh\n"),
        (["tic_tac_toe", "--x", "race.sh --fast 1"], 'write --x "./race.sh --fast 1"\n'),
    ]:
        done = call_miai(["play", *words], cwd=tmp_path)
        assert done.returncode == 2
        assert done.stderr.endswith(said)
    config = config_text(player("one", "race.sh"), player("other"), game={"name": "race.sh"})
    (tmp_path / "race.toml").write_text(config)
    done = call_miai(["tournament", "run", "race.toml"], cwd=tmp_path)
    assert 'write program = ["./race.sh"] instead of the name\n' in done.stderr
    assert 'write program = ["./race.sh"] instead of the agent\n' in done.stderr


def test_a_program_plays_from_the_command_line() -> None:
    bot = EXAMPLES / "first_legal.sh"
    words = ["tic_tac_toe", "--x", str(bot), "--o", "random", "--seed", "3"]
    assert "X wins" in command_line("play", *words)


# -- pondering and stopping -----------------------------------------------------------------------

NOTING = """
import threading
notes = open({notes!r}, "a")
def note(*what):
    print(json.dumps(what), file=notes, flush=True)
greet({hello})
while True:
    message = hear()
    note(message["type"], message.get("id"), len(message.get("observations", [])))
    if message["type"] == "act":
        {act}
        say(type="action", id=message["id"], action=message["legal"][0])
    elif message["type"] == "ponder":
        {ponder}
"""


def pondering(
    notes: Path, *, hello: str = "ponder=True", act: str = "pass", ponder: str = "pass", **more: Any
) -> tuple[GameRecord, list[list[Any]]]:
    """Return a game of a program that notes its messages, and the notes."""
    code = NOTING.format(notes=str(notes), hello=hello, act=act, ponder=ponder)
    control = TimeControl(**{"kind": "absolute", "seconds": 60.0, "ponder": True, **more})
    record = refereed(python(code), other=Slow(TTT, 0.15), time_control=control)
    return record, [json.loads(line) for line in notes.read_text().splitlines()]


def test_a_line_of_texts_is_recorded_in_numbers() -> None:
    """Pages show it by the game's own notation, as far as it can be played."""
    code = """
greet()
for question in questions():
    first, second, *_ = question["legal_text"]
    say(type="action", id=question["id"], action=first, pv=[first, second, first, 3])
    """
    record = playing(python(code))
    assert record.moves[0].statistics["pv"] == [0, 1, "a3", 3]


def test_a_program_ponders_and_is_stopped(tmp_path: Path) -> None:
    record, notes = pondering(tmp_path / "notes")
    assert record.termination is Termination.TERMINAL, record.detail
    kinds = [kind for kind, *_ in notes]
    assert kinds[:5] == ["new_game", "act", "ponder", "stop", "act"]
    asked = [number for kind, number, _ in notes if kind == "act"]
    assert asked == list(range(1, len(asked) + 1))
    # The start, then the own move and the opponent's in turn: nothing comes twice.
    told = [count for kind, _, count in notes if kind in ("act", "ponder")]
    assert told[: 2 * len(asked) - 1] == [1] * (2 * len(asked) - 1)


def test_a_program_that_does_not_say_that_it_ponders_is_told_nothing_new(tmp_path: Path) -> None:
    record, notes = pondering(tmp_path / "notes", hello="")
    assert record.termination is Termination.TERMINAL, record.detail
    assert {kind for kind, *_ in notes} == {"new_game", "act", "end"}


@pytest.mark.slow
def test_a_program_that_ignores_stop_thinks_on_its_own_clock(tmp_path: Path) -> None:
    """It reads the next question late; with a short clock it loses, and nothing else hangs."""
    record, notes = pondering(tmp_path / "notes", ponder="time.sleep(0.4)")
    assert record.termination is Termination.TERMINAL, record.detail
    assert [kind for kind, *_ in notes][:5] == ["new_game", "act", "ponder", "stop", "act"]
    later = [move.seconds or 0 for move in record.moves if move.actor == 0][1:]
    assert max(later) > 0.15
    began = time.monotonic()
    record, _ = pondering(tmp_path / "more", ponder="time.sleep(600)", seconds=0.5)
    assert (record.termination, record.loser) == (Termination.TIME, 0)
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(
    ("ponder", "termination", "detail"),
    [
        ("sys.exit(3)", "crash", "exited with status 3"),
        ("say(type='action', id=1, action=0)", "protocol", "an action with id 2 was wanted"),
        ("print('thinking', flush=True)", "protocol", "wrote 'thinking'"),
    ],
)
def test_misbehaviour_while_pondering_forfeits(
    ponder: str, termination: str, detail: str, tmp_path: Path
) -> None:
    record, _ = pondering(tmp_path / "notes", ponder=ponder)
    assert (record.termination, record.loser) == (Termination(termination), 0), record.detail
    assert detail in record.detail


THINKS = """
import select
def think(message):
    while message["clock"]["limit"]:
        if select.select([sys.stdin], [], [], 30)[0]:
            stop = hear()
            note(stop["type"], stop["id"], 0)
            return
"""


@pytest.mark.parametrize(("says", "termination"), [("stop=True", "terminal"), ("", "time")])
def test_a_program_is_told_to_decide_before_its_time_is_over(
    says: str, termination: str, tmp_path: Path
) -> None:
    """It thinks until it is told; one that does not ask to be told loses."""
    notes = tmp_path / "notes"
    code = THINKS + NOTING.format(notes=str(notes), hello=says, act="think(message)", ponder="pass")
    control = TimeControl(kind="per-move", seconds=1.0)
    record = refereed(python(code), time_control=control, opening=[0, 3])
    assert record.termination == Termination(termination), record.detail
    if says:
        stops = [json.loads(line) for line in notes.read_text().splitlines() if "stop" in line]
        own = [move.seconds or 0 for move in record.moves[2:] if move.actor == 0]
        assert stops == [["stop", number, 0] for number in range(1, len(own) + 1)]
        assert min(own) > 0.3
