"""What SECURITY.md promises: of files, of agents in processes, of ``miai web`` and of engines."""

from __future__ import annotations

import os
import random
import re
import secrets
import shutil
import socket
import sqlite3
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.framework.test_hostile_agents import (
    LEVELS,
    REFUSED,
    Fight,
    has_control_groups,
    hostile,
    innocents,
)
from tests.framework.test_match import Scripted
from tests.framework.test_program_games import SOUND, counting, python, randomly
from tests.framework.twin_histories import ALL_SEEING, SEATS, twins
from tests.fuzz import MOST_SECONDS, TARGETS
from tests.plugins.test_fuzz import changed
from tests.tournaments.support import config_text, player, refused, tournament
from tests.tournaments.test_hostile_runs import run_with
from tests.web.server import Browser, Events, is_turn, let_in, running

import miai
from miai.errors import ConfigError
from miai.playing.match import InProcessSeat, play_game
from miai.playing.replay import replay
from miai.process.agent_process import AgentProcess
from miai.process.landlock import landlock_version
from miai.process.sandbox import Isolation, ProcessLimits, sandbox_hindrance
from miai.record import Termination
from miai.record_reader import read_record
from miai.web.server import serve
from miai_tournaments.store.folder import FILE_NAME
from miai_tournaments.store.store import Store

__all__ = ["hostile", "innocents"]

ROOT = Path(__file__).parents[2]
PACKAGES = ("framework", "tournaments", "plugins")

# -- files of others ------------------------------------------------------------------------------

EXECUTES = re.compile(
    r"^\s*(import|from) (pickle|marshal|shelve)\b|(?<![.\w])(eval|exec)\(|shell=True"
    r"|os\.(system|popen)\(|allow_pickle=True|torch\.load\("
)


def test_there_is_nothing_that_would_execute_a_file() -> None:
    """SECURITY: "There is no pickle, no `eval` and no shell"."""
    files = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    assert len(files) > 300
    lines = [(path, line) for path in files for line in path.read_text("utf-8").splitlines()]
    assert not [(str(path), line) for path, line in lines if EXECUTES.search(line)]


UNTRUSTED = "sgf pgn fen epd toml reconchess record safetensors uci gtp-engine"


@pytest.mark.parametrize("name", UNTRUSTED.split())
def test_what_is_malformed_is_refused_with_a_reason_in_a_moment(name: str) -> None:
    """SECURITY: "What is malformed, too large or hostile is refused with a reason, within bounded
    memory and time"; SECURITY: "What a GTP or UCI engine writes is bounded and checked".

    The check of each target of the fuzzer fails on any error but those of miai."""
    target, rng = TARGETS[name], random.Random(name)
    check, seeds = target.make(), [*target.seeds()]
    call = b"cos\nsystem\n(S'exit 1'\ntR."  # a pickle
    hostile = [b"", b"\0" * 4096, b"[" * 100_000, b"(" * 100_000, b'{"a":' * 50_000, call]
    for data in (*seeds, b"", b"x"):  # compiles and imports
        check(data)
    for data in [*hostile, *(changed(rng.choice(seeds), seeds, rng) for _ in range(20))]:
        began = time.process_time()
        check(data)
        assert time.process_time() - began < MOST_SECONDS, data[:80]


def test_a_record_starts_no_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SECURITY: "does not start it, unless `MIAI_RUN_PROGRAMS=1` is set"."""
    mark = tmp_path / "ran"
    record = randomly(counting())
    command = python(f"open({str(mark)!r}, 'w').close()" + SOUND)
    record = replace(record, game_parameters={**record.game_parameters, "command": command})
    with pytest.raises(ConfigError, match="MIAI_RUN_PROGRAMS=1"):
        replay(record)
    assert not mark.exists()
    monkeypatch.setenv("MIAI_RUN_PROGRAMS", "1")
    assert replay(record).is_terminal()
    assert mark.exists()


@pytest.fixture(scope="module")
def imports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run whose config names a Python file, which leaves the file ``ran``."""
    base = tmp_path_factory.mktemp("imports")
    (base / "spy.py").write_text(
        f"import pathlib\nimport miai\npathlib.Path({str(base / 'ran')!r}).touch()\n"
        "@miai.hookimpl\ndef miai_register(registry):\n"
        "    registry.add('agent', 'spied', miai.RandomAgent, summary='Plays')\n"
    )
    players = (player("ann"), player("bob", "spied"))
    text = config_text(*players, tournament={"rounds": 1}, limits={"isolation": "process"})
    (base / "x.toml").write_text('plugins = ["spy.py"]\n' + text)
    tournament("run", base / "x.toml", "--out", base / "out", "--executor", "serial")
    assert (base / "ran").exists()
    return base / "out"


def test_to_look_at_a_store_runs_nothing_of_it(imports: Path, tmp_path: Path) -> None:
    """SECURITY: "`miai tournament resume` runs its programs and imports its files, and so does
    resuming it in `miai web --allow-programs`; `report` and `status` do neither"."""
    (mark := imports.parent / "ran").unlink()
    for word in ("report", "status"):
        tournament(word, imports)
        assert not mark.exists(), word
    with running(tmp_path / "games", imports) as port:
        reply = let_in(port).form("/runs/0/resume", {})
        assert (reply.status, mark.exists()) == (409, False)
    tournament("resume", imports, "--executor", "serial")
    assert mark.exists()


def test_a_name_that_is_a_path_is_not_written_outside(imports: Path, tmp_path: Path) -> None:
    """SECURITY: "A path in a record never leads outside the folder that it is written to"."""
    name, folder = "../../../../escape", tmp_path / "a/b/c/d/run"
    shutil.copytree(imports, folder)
    for table in ("records", "games"):
        with closing(sqlite3.connect(folder / FILE_NAME)) as connection:
            connection.execute(f"UPDATE {table} SET game_id = ? WHERE rowid = 1", (name,))
            connection.commit()
        assert name in refused("replay", folder, name)
    assert name in refused("report", folder, "--replays", "all")
    assert not list(tmp_path.rglob("*escape*"))


# -- agents ---------------------------------------------------------------------------------------

SEED = "271828182845"
TO_PROCESSES = "prlimit scheduler priority oom stop kill ptrace memory environment"
TO_FILES = "read unlink truncate write create fifo"


@pytest.fixture(scope="module", params=LEVELS)
def attacked(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[str, Any]]:
    """A run's folder, and what became of all attacks that an agent made on its surroundings."""
    if landlock_version() < 6:
        pytest.skip("the kernel has no such Landlock")
    if request.param is Isolation.SANDBOX and (reason := sandbox_hindrance()):
        pytest.skip(reason)
    run = tmp_path_factory.mktemp("run")
    (run / "logs").mkdir()
    files = [run / name for name in ("store.sqlite", "config.toml", "logs/1.log")]
    for file in files:
        file.write_text(f"seed = {SEED}")
    fight = Fight(Isolation(request.param), run)
    fight.innocent.start()
    assert fight.innocent.pid
    below = psutil.Process(fight.innocent.pid).children(recursive=True)
    pids = [fight.innocent.pid, os.getpid(), os.getppid(), *(child.pid for child in below)]
    outcomes = fight.result(
        f"{TO_PROCESSES} {TO_FILES} find", pids=pids, paths=[str(file) for file in files], text=SEED
    )
    assert all(file.read_text() == f"seed = {SEED}" for file in files)
    assert {path.name for path in run.iterdir()} == {"config.toml", "logs", "store.sqlite"}
    return run, outcomes


def test_an_agent_cannot_touch_its_opponent_or_the_referee(attacked: tuple[Path, Any]) -> None:
    """SECURITY: "An agent in a process of its own cannot cheat: it sees what its seat observes, and
    cannot touch its opponent, the referee, the results, the logs or the seeds"."""
    outcomes = {name: attacked[1][name] for name in TO_PROCESSES.split()}
    assert all(each and set(each) <= REFUSED for each in outcomes.values()), outcomes


def test_an_agent_cannot_touch_the_results_or_the_logs(attacked: tuple[Path, Any]) -> None:
    """SECURITY: "cannot touch its opponent, the referee, the results, the logs or the seeds"."""
    outcomes = {name: attacked[1][name] for name in TO_FILES.split()}
    assert all(each and set(each) <= REFUSED for each in outcomes.values()), outcomes


def test_an_agent_does_not_find_the_seed(attacked: tuple[Path, Any]) -> None:
    """SECURITY: "cannot touch its opponent, the referee, the results, the logs or the seeds"."""
    assert attacked[1]["find"] == []


def test_an_agent_is_not_told_the_deal_by_the_other_game_of_the_pair(tmp_path: Path) -> None:
    """SECURITY: "it sees what its seat observes"."""
    spy = player("spy", "hostile", attack="remember_deal")
    out, _ = run_with(tmp_path, player("good"), spy, level="process", rounds=3)
    with Store.read(out) as store:
        records = [read_record(store.record(row.game_id)) for row in store.results()]
    known = [m.statistics["result"] for r in records for m in r.moves if "result" in m.statistics]
    assert len(known) >= 6
    assert not any(known), "it knows the opponent's card"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    if reason := sandbox_hindrance():
        pytest.skip(reason)
    return tmp_path


def test_a_sandbox_limits_processes_and_disk(run: Path) -> None:
    """SECURITY: "A sandbox limits memory, processes and disk"."""
    if os.geteuid() == 0 and not has_control_groups():
        pytest.skip("root is limited by control groups only, and none can be made")
    fight = Fight(Isolation.SANDBOX, run, processes=64, disk=4)
    outcomes = fight.result("fill_disk fork_bomb")
    assert outcomes["fill_disk"] == ["OSError", "OSError"]
    name, _, count = outcomes["fork_bomb"].partition(" after ")
    assert name == "BlockingIOError"
    assert 20 < int(count) < 64


def test_a_sandbox_s_processes_share_its_memory(run: Path) -> None:
    """SECURITY: "A sandbox limits memory, processes and disk"."""
    if not has_control_groups():
        pytest.skip("no control group can be made")
    record = Fight(Isolation.SANDBOX, run, memory=300).play("take_memory")
    if record.termination is not Termination.CRASH:  # the kernel may choose any of its processes
        results = [m.statistics["result"] for m in record.moves if "result" in m.statistics]
        assert int(str(results[0])) < 8
    assert record.loser in {None, 0}


def test_a_sandbox_reaches_no_server(run: Path) -> None:
    """SECURITY: "as far as its level of isolation goes"."""
    abstract = f"\0miai-{os.getpid()}"
    paths = [str(run / "socket"), abstract]
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as named:
        named.bind(paths[0])
        named.listen()
        with socket.socket(socket.AF_UNIX) as unnamed:
            unnamed.bind(abstract)
            unnamed.listen()
            outcomes = Fight(Isolation.SANDBOX, run / "hidden").result(
                "connect",
                text=str(tcp.getsockname()[1]),
                paths=[path.replace("\0", "@") for path in paths],
            )
    assert len(outcomes) == 3
    assert set(outcomes) <= REFUSED | {"ConnectionRefusedError"}


ENGINE = """
import os, sys
for line in sys.stdin:
    words = line.split()
    number = words.pop(0) if words[0].isdigit() else ""
    answer = {"name": "Thief", "version": "1", "protocol_version": "2"}.get(words[0], "")
    if words[0] == "list_commands":
        answer = "\\n".join("name version protocol_version list_commands quit boardsize "
                           "clear_board komi play genmove".split())
    if words[0] == "genmove":
        try:
            "MY_SECRET" in os.environ or open(SECRET).read()
            answer = "resign"
        except OSError:
            answer = "pass"
    print(f"={number} {answer}\\n", flush=True)
"""


@pytest.mark.parametrize("level", LEVELS)
def test_an_engine_is_confined_as_its_agent_is(
    level: Isolation, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SECURITY: "An engine runs within its agent's isolation"."""
    monkeypatch.setenv("MY_SECRET", "1")
    (run / "store").mkdir()
    secret = run / "store" / "seed"
    secret.write_text("1")
    code = ENGINE.replace("SECRET", repr(str(secret)))
    thief = {"command": [sys.executable, "-S", "-E", "-c", code]}
    limits = ProcessLimits(isolation=level, hidden=(str(run / "store"),))
    game = miai.load_game("go", board_size=5)
    other = InProcessSeat(Scripted(game, 25))
    settings = {"board_size": 5}
    with AgentProcess("go", settings, "gtp", thief, name="thief", limits=limits) as black:
        record = play_game(game, [black, other], seed=1)
    assert record.termination is Termination.TERMINAL, record.detail
    assert len(record.moves) == 2, "the engine passed, as it could read nothing"


# -- miai web -------------------------------------------------------------------------------------


def sent(
    folder: Path, name: str, seat: int, history: Sequence[int], patch: pytest.MonkeyPatch
) -> tuple[list[bytes], list[bytes]]:
    """Return the bytes sent to a seat and to a spectator while a history is played."""
    state = miai.load_game(name).new_initial_state()
    chance: list[int] = []
    steps: list[tuple[int, int]] = []
    for action in history:
        actor = int(state.current_player())
        steps += [(actor, action)] if actor >= 0 else []
        chance += [action] if actor < 0 else []
        state.apply_action(action)
    draws = iter(chance)
    patch.setattr("miai.playing.match._draw", lambda outcomes, rng: next(draws))
    patch.setattr(secrets, "token_hex", lambda size: "0123456789ab")
    answered: dict[int, int] = {}  # the frame that each seat answered last
    asked: list[bytes] = []
    asked_public: set[bytes] = set()  # the opponent may have tried in vain more often
    with running(folder) as port:
        own, other, spectator = Browser(port), Browser(port), Browser(port)
        own.enter()
        spectator.enter()
        chairs = {f"players__{player}__agent": "guest" for player in (0, 1)}
        table = own.new_table(name, **{**chairs, f"players__{seat}__agent": "me"})
        with own.watching(table) as seen, spectator.watching(table) as public:
            seen.next()
            public.next()
            own.invite(other, table, 1 - seat)
            with other.watching(table) as theirs:
                for actor, action in steps:
                    browser, events = (own, seen) if actor == seat else (other, theirs)
                    news = events.until(
                        lambda n, action=action, actor=actor: (
                            is_turn(n)
                            and n["frame"]["number"] > answered.get(actor, -1)
                            and action in [m["action"] for m in n["frame"]["moves"]]
                        )
                    )
                    answered[actor] = news["frame"]["number"]
                    paths = [f"{table}/{path}" for path in ("estimate", "analysis")]
                    if browser is own:
                        asked += [own.ask(path).body for path in paths]
                    asked_public |= {spectator.ask(path).body for path in paths}
                    answer = {"number": news["frame"]["number"], "kind": "move", "action": action}
                    assert browser.post(f"{table}/answers", answer).status == 200
                    events.next()
                seen.until(is_turn)  # histories end where the seat is to act
                with ThreadPoolExecutor() as pool:  # each waits for a silence
                    list(pool.map(Events.drain, (seen, public)))
                assert all(b"problem" in answer for answer in asked_public)
                tree = f"{table.replace('tables', 'records')}/positions/0"
                pages = [own.ask(path).body for path in (table, "/", f"{table}/replay", tree)]
                pages += [spectator.ask(path).body for path in (table, "/")]
        pages = [re.sub(rb"\d{4}-\d\d-\d\d \d\d:\d\d", b"TIME", content) for content in pages]
        return seen.lines + asked + pages[:4], public.lines + sorted(asked_public) + pages[4:]


@pytest.mark.parametrize(
    ("name", "seat"),
    [
        pytest.param(*pair, marks=[pytest.mark.slow] if pair[0] == "rbc" else [])
        for pair in SEATS
        if pair not in ALL_SEEING
    ],
)
def test_a_page_is_equal_to_the_byte_in_all_worlds_that_look_the_same(
    name: str, seat: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SECURITY: "A page holds what its player was told". Of two games that a seat cannot tell
    apart, all that is sent to it, and to spectators, is the same; blind chess is a slow test."""
    first, second = twins(name, seat)
    assert first != second
    shown = []
    for number, history in enumerate((first, second)):
        with monkeypatch.context() as patch:
            shown.append(sent(tmp_path / str(number), name, seat, history, patch))
    assert shown[0] == shown[1]


def test_a_browser_without_the_token_gets_nothing(browser: Browser) -> None:
    """SECURITY: "answers only browsers that have shown the token or hold an invitation"."""
    table = browser.new_table("tic_tac_toe")
    stranger = Browser(browser.port)
    for path in ("/", "/games/go", table, f"{table}/events", "/?token=wrong", "/?token="):
        reply = stranger.ask(path)
        assert reply.status == 403
        assert "random" not in reply.text
    assert not stranger.cookie
    assert stranger.post(f"{table}/answers", {}).status == 403


def test_an_invitation_serves_one_browser_for_one_game(browser: Browser) -> None:
    """SECURITY: "answers only browsers that have shown the token or hold an invitation"."""
    table = browser.new_table("tic_tac_toe", players__0__agent="me", players__1__agent="guest")
    other = browser.new_table("tic_tac_toe")
    address = browser.post(f"{table}/invitations/1", {}).json["address"]
    path = "/" + address.split("/", 3)[3]
    guest, late = Browser(browser.port), Browser(browser.port)
    assert [late.ask(path, method=method).status for method in ("HEAD", "GET")] == [405, 200]
    assert not late.cookie, "to look at a link is not to sit down"
    assert guest.form(path, {}).status == 200
    assert [late.form(path, {}).status, late.ask(path).status, late.cookie] == [410, 410, ""]
    assert guest.form(path, {}).headers["location"] == table, "it is seated there already"
    assert guest.ask(table).status == 200
    for forbidden in ("/", other, f"{other}/events", "/games/go"):
        assert guest.ask(forbidden).status == 403
    with guest.watching(table) as seen, browser.watching(table) as own:
        assert own.until(is_turn)["frame"]["turn"]
        assert not seen.next()["frame"]["turn"]
        number = own.last["frame"]["number"]
        answer = {"number": number, "kind": "move", "action": 4}
        assert guest.post(f"{table}/answers", answer).status == 409, "it is not its turn"
        assert browser.post(f"{table}/answers", answer).status == 200
        seen.until(is_turn)


@pytest.mark.parametrize(
    ("host", "token", "programs", "message"),
    [
        ("0.0.0.0", None, False, "everybody who reaches this address"),
        ("", "short", False, "too short to be a secret"),
        ("192.0.2.1", "long enough, really", False, "cannot listen on 192.0.2.1"),
        ("192.0.2.1", "long enough, really", True, "could start programs.*`ssh -L 0:127.0.0.1:0"),
    ],
)
def test_an_open_door_is_refused(
    host: str, token: str | None, programs: bool, message: str, tmp_path: Path
) -> None:
    """SECURITY: "this machine alone, unless `--host` and a token of your own are given"; "only with
    `--allow-programs`, which excludes `--host`"."""
    with pytest.raises(ConfigError, match=message):
        serve(tmp_path, port=0, host=host, token=token, programs=programs)


def test_another_name_of_the_host_is_refused(visitor: Browser) -> None:
    """SECURITY: "It refuses requests that pages of other sites could cause"."""
    for host in ("elsewhere.example", f"elsewhere.example:{visitor.port}", "127.0.0.1", None):
        assert visitor.ask("/", headers={"host": host}).status in (400, 421)
    assert visitor.ask("/", headers={"host": f"localhost:{visitor.port}"}).status == 200


@pytest.mark.parametrize("origin", [None, "null", "http://elsewhere.example", "http://127.0.0.1"])
def test_a_post_from_another_site_is_refused(visitor: Browser, origin: str | None) -> None:
    """SECURITY: "It refuses requests that pages of other sites could cause"."""
    body = b"players.0.agent=me&players.1.agent=random"
    kind = {"content-type": "application/x-www-form-urlencoded"}
    reply = visitor.ask(
        "/games/tic_tac_toe", method="POST", body=body, headers={**kind, "origin": origin}
    )
    assert reply.status == 403


def test_every_page_has_a_strict_policy(visitor: Browser) -> None:
    """SECURITY: "runs no script but its own"."""
    table = visitor.new_table("tic_tac_toe")
    for path in ("/", "/games/go", "/games/nothing", table, "/tables/0123456789ab", "/nowhere"):
        reply = visitor.ask(path)
        policy = reply.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "unsafe-eval" not in policy
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert "<script>" not in reply.text
        assert " onclick=" not in reply.text
        assert "http://" not in reply.text.replace("http://www.w3.org/", "")
        assert "https://" not in reply.text


def test_what_is_entered_is_escaped(visitor: Browser) -> None:
    """SECURITY: "runs no script but its own"."""
    evil = "\"><script>alert('x')</script>"
    entered = {"players.0.agent": evil, "game.board_size": evil, "seed": evil, "clock.kind": evil}
    reply = visitor.form("/games/go", entered)
    assert reply.status == 200
    assert "<script>alert" not in reply.text
    assert "&lt;script&gt;" in reply.text


def test_a_request_has_a_maximum_size(visitor: Browser) -> None:
    """SECURITY: "bounds what is sent to it"."""
    reply = visitor.form("/games/go", {"players.0.agent": "x" * (1 << 21)})
    assert reply.status == 413


@pytest.mark.parametrize(
    "path",
    [
        "/tables/../../etc/passwd",
        "/tables/..%2f..%2fetc%2fpasswd",
        "/tables/0123456789ab%00",
        "/assets/../server.py",
        "/assets/..%2fserver.py",
        "/assets/%2e%2e%2fserver.py",
        "/games/go%0d%0aset-cookie:x=1",
    ],
)
def test_a_path_leads_to_no_file(visitor: Browser, path: str) -> None:
    """SECURITY: "opens no path that a request names"."""
    reply = visitor.ask(path)
    assert reply.status in (400, 404, 405)
    assert b"root:" not in reply.body
    assert b"import" not in reply.body
    assert "set-cookie" not in reply.headers
