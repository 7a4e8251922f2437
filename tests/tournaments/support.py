"""What the tests of tournaments share: configs, the real command, a plugin of misbehaving parts."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from tests.warm_command import call_miai, run_miai
from tests.whole_texts import table_of

from miai.record import VerdictRecord
from miai.record_reader import read_record
from miai_tournaments.config.load import Tournament, load_tournament
from miai_tournaments.report.live import Reporter
from miai_tournaments.running.tournament_run import RunEnding, RunOptions, play_tournament
from miai_tournaments.store.folder import FILE_NAME
from miai_tournaments.store.rows import GameResult, GameRow, PlayerRow, RunInfo, ScheduledGame
from miai_tournaments.store.store import Store

PLUGIN = Path(__file__).parents[1] / "fixtures" / "miai-mischief"
CONFIGS = Path(__file__).parents[2] / "configs"

Table = Mapping[str, object]
Part = TypeVar("Part", ScheduledGame, GameResult)


def config_text(
    *players: Table, game: Table | None = None, tournament: Table | None = None, **sections: Table
) -> str:
    """Return a config file; tic-tac-toe where no game is given."""
    head = {"name": "test", "seed": 3, "rounds": 2, **(tournament or {})}
    tables = {"tournament": head, "game": game or {"name": "tic_tac_toe"}, **sections}
    blocks = [f"[{name}]\n{_lines(table)}" for name, table in tables.items()]
    blocks += [f"[[players]]\n{_lines(player)}" for player in players]
    return "\n".join(blocks)


def _lines(table: Table) -> str:
    return "".join(f"{key} = {_value(value)}\n" for key, value in table.items())


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key} = {_value(below)}' for key, below in value.items())}}}"
    return repr(value)


def config_with(tables: str) -> str:
    """Return a config file of three random players with other tables, as `table_of` reads them.

    A text among the players is the name of a random one; ``more`` are added to the three.
    """
    given = table_of(tables)
    rounds = {} if "format" in given else {"rounds": 2}
    players = given.pop("players", ["ann", "bob", "cid", *given.pop("more", [])])
    if isinstance(players, list):
        players = [player(entry) if isinstance(entry, str) else entry for entry in players]
    head = {"name": "test", "seed": 3, **rounds, **given.pop("tournament", {})}
    game = {"name": "tic_tac_toe"}
    return _lines({"tournament": head, "game": game, "players": players, **given})


def load(folder: Path, text: str, *settings: str) -> Tournament:
    """Return the tournament of a config file with this text."""
    path = folder / "x.toml"
    path.write_text(text)
    return load_tournament(path, settings)


def player(name: str, agent: str = "random", **parameters: object) -> Table:
    """Return a ``[[players]]`` table."""
    return {"name": name, "agent": agent, **parameters}


def rule(name: str, *lines: str) -> str:
    """Return a ``[[adjudication.rules]]`` table, to be added at the end of a config."""
    return "\n".join(("", "[[adjudication.rules]]", f'name = "{name}"', *lines, ""))


RANDOMS = (player("ann"), player("bob"), player("cid"))


def environment(folder: Path | None = None, **more: str) -> dict[str, str]:
    """Return the environment of a command; with a folder, the mischief plugin is installed in it.

    The plugin's distribution is a folder on the import path, with metadata beside it: what an
    installer would write, without the seconds that one takes.
    """
    values = {**os.environ, "COLUMNS": "200", **more}
    if folder is not None:
        site = folder / "site"
        if not site.exists():
            shutil.copytree(PLUGIN, site)
        values["PYTHONPATH"] = os.pathsep.join(
            filter(None, (str(site), os.environ.get("PYTHONPATH")))
        )
    return values


def command(*words: object) -> list[str]:
    """Return the command line of ``miai tournament``."""
    return [sys.executable, "-m", "miai", "tournament", *map(str, words)]


def tournament(
    *words: object,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    status: int | Sequence[int] = 0,
    timeout: float = 250,
) -> subprocess.CompletedProcess[str]:
    """Run ``miai tournament`` as a user does, and check how it exits."""
    given = ["tournament", *map(str, words)]
    done = run_miai(given, cwd=cwd, env=env or environment(), timeout=timeout)
    allowed = (status,) if isinstance(status, int) else status
    output = f"{' '.join(given)}\n{done.stdout}\n{done.stderr}"
    assert done.returncode in allowed, output
    assert "Traceback" not in done.stderr, output
    return done


def run_serially(config: Path, out: Path, *words: str) -> None:
    """Play a tournament in one process, for tests that are about its games and its store."""
    how = ("--executor", "serial", "--set", "limits.isolation=none")
    tournament("run", config, "--out", out, *how, *words)


def play(made: Tournament, folder: Path, **options: Any) -> None:
    """Play a tournament to its end, its runner in this process; so are workers by default."""
    usual: dict[str, Any] = {"make_reporter": lambda _: Reporter(), "executor": "serial"}
    ending = play_tournament(made, folder, RunOptions(**(usual | options)))
    assert ending == RunEnding("complete")


@contextmanager
def running(
    config: Path, out: Path, env: Mapping[str, str], *words: object
) -> Iterator[subprocess.Popen[str]]:
    """Provide a real run after its first game, and kill it in the end."""
    process = subprocess.Popen(
        command("run", config, "--out", out, *words),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=dict(env),
    )
    try:
        assert process.stdout is not None
        while (line := process.stdout.readline()) and not line.startswith("["):
            pass
        assert line, process.communicate()
        yield process
    finally:
        process.kill()
        process.communicate()


def refused(*words: object, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> str:
    """Run the command, check that it is refused with one message, and return the message."""
    given = ["tournament", *map(str, words)]
    done = run_miai(given, cwd=cwd, env=env) if env else call_miai(given, cwd=cwd)
    assert (done.returncode, done.stderr.rfind("miai: ")) == (2, 0), done
    return done.stderr


def store_of(
    folder: Path, info: RunInfo, players: Sequence[PlayerRow], games: Sequence[GameRow]
) -> Store:
    """Make a store in which the games that are done have been played; it is to be closed."""

    def part(row: GameRow, kind: type[Part]) -> Part:
        return kind(**{each.name: getattr(row, each.name) for each in fields(kind)})

    store = Store.create(folder, info, players, [part(row, ScheduledGame) for row in games])
    done = [row for row in games if row.status == "done"]
    store.finish((row.game_id, part(row, GameResult), "{}\n") for row in done)
    return store


def change(folder: Path, statement: str, *values: object) -> None:
    """Change a store as another program would."""
    with closing(sqlite3.connect(folder / FILE_NAME)) as connection, connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute(statement, values)


def wait_until(condition: Callable[[], object], *, seconds: float = 60) -> None:
    """Wait for a condition."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"it took longer than {seconds} s"
        time.sleep(0.1)


def games_of(folder: Path) -> dict[str, tuple[Any, ...]]:
    """Return for each finished game all that must not depend on how it was played."""
    with Store.read(folder) as store:
        return {
            row.game_id: (
                row.players,
                row.seed,
                row.opening,
                row.returns,
                row.termination,
                row.loser,
                actions(store.record(row.game_id)),
            )
            for row in store.results()
        }


def verdicts_of(folder: Path) -> dict[str, list[VerdictRecord]]:
    """Return for each finished game the verdicts of adjudicators."""
    with Store.read(folder) as store:
        return {
            row.game_id: read_record(store.record(row.game_id)).verdicts for row in store.results()
        }


def actions(record: str) -> tuple[tuple[int, int], ...]:
    """Return who did what in a recorded game."""
    return tuple((move.actor, move.action) for move in read_record(record).moves)
