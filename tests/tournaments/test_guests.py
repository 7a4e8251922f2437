"""Guests: agents, folders and machines that the organiser of a run does not control."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import shutil
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.slow import with_slow
from tests.tournaments.support import RANDOMS, change, config_text, games_of, player

from miai.errors import ConfigError, StoreError
from miai.process.sandbox import sandbox_hindrance
from miai.record_reader import read_record
from miai_tournaments.config.load import load_tournament
from miai_tournaments.report.live import Reporter, read_status
from miai_tournaments.report.report import build_report
from miai_tournaments.running.named_files import NamedFiles, named_files
from miai_tournaments.running.tournament_run import RunOptions, play_tournament, resume_tournament
from miai_tournaments.store import folder as store_folder
from miai_tournaments.store.folder import FILE_NAME, locked, locked_anew
from miai_tournaments.store.rows import GameResult, ScheduledGame
from miai_tournaments.store.store import Store
from miai_tournaments.web.runs import run_summary

AGENT = "import miai\nclass Own(miai.RandomAgent):\n    pass\n"
OWN = player("own", "own.py:Own")


class Watcher(Reporter):
    """Does something after each game."""

    def __init__(self, after: Callable[[], object]) -> None:
        super().__init__()
        self._after = after

    def finished(self, game: ScheduledGame, result: GameResult) -> None:
        """Do it."""
        self._after()


class Run:
    """A run in this process and in its folder, with what it says and the file of an agent."""

    def __init__(self, base: Path, *players: Any, rounds: int = 1, **sections: Any) -> None:
        self.config, self.folder, self.said = base / "x.toml", base / "out", list[str]()
        self.file = base / "own.py"
        self.file.write_text(AGENT)
        text = config_text(*players, tournament={"rounds": rounds}, **sections)
        if "format" in sections:  # which has its own number
            text = text.replace(f"rounds = {rounds}\n", "", 1)
        self.config.write_text(text)

    def play(self, *settings: str, after: Callable[[], object] = lambda: None) -> None:
        """Begin or extend it."""
        with contextlib.chdir(self.config.parent):
            tournament = load_tournament(self.config, list(settings))
            play_tournament(tournament, self.folder, self.options(after))

    def resume(self) -> None:
        """Resume it."""
        with contextlib.chdir(self.config.parent):
            resume_tournament(self.folder, self.options())

    def options(self, after: Callable[[], object] = lambda: None) -> RunOptions:
        """Return options of a run in this process."""
        self.said.clear()
        return RunOptions(
            make_reporter=lambda title: Watcher(after),
            say=self.said.append,
            executor="serial",
            records=("jsonl",),
        )

    def change(self, statement: str) -> None:
        change(self.folder, statement)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of six games, of which no test changes anything."""
    run = Run(tmp_path_factory.mktemp("finished"), *RANDOMS[:2], OWN)
    run.play()
    return run


@pytest.fixture
def copied(finished: Run, tmp_path: Path) -> Run:
    """A copy of the finished run."""
    run = Run(tmp_path, *RANDOMS[:2], OWN)
    shutil.copytree(finished.folder, run.folder)
    return run


# -- files that the config names -------------------------------------------------------------------


@pytest.mark.parametrize("rounds", [1, 2], ids=["complete", "growing"])
def test_a_run_does_not_go_on_with_a_changed_file(copied: Run, rounds: int) -> None:
    copied.file.write_text(AGENT + "# weaker\n")
    with pytest.raises(StoreError, match=r": own.py changed since .*restore the file and resume"):
        copied.play(f"rounds={rounds}")


@pytest.mark.slow
def test_a_run_goes_no_further_with_a_changed_file(tmp_path: Path) -> None:
    """Neither while it goes on nor in another sitting; what killed workers leave goes with it."""
    run = Run(tmp_path, *RANDOMS[:1], OWN, limits={"isolation": "process"})
    left = run.folder / "logs" / ".running-1" / "own.log"

    def spoil() -> None:
        left.parent.mkdir(parents=True, exist_ok=True)
        left.touch()
        run.file.write_text(AGENT + "# weaker\n")

    with pytest.raises(StoreError, match=r": own.py changed"):
        run.play("rounds=20", after=spoil)
    assert not left.parent.exists()
    played = read_status(run.folder).counts["done"]
    assert 0 < played < 40
    with pytest.raises(StoreError, match=r": own.py changed"):
        run.resume()
    assert read_status(run.folder).counts["done"] == played
    run.file.write_text(AGENT)
    run.resume()
    assert read_status(run.folder).counts["done"] == 40


def test_named_files_are_found_and_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs by path or name, arguments beside ``cwd``, files of tables, links and folders."""
    for name in ("bin/engine", "bots/bot.py", "bots/w.bin", "net/1", "book", "other", "net2/1"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("text")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "link").symlink_to("book")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin")
    monkeypatch.chdir(tmp_path)
    command = ["engine", "bot.py", "--weights=w.bin"]
    run = Run(
        tmp_path,
        player("a", "program", command=command, cwd="bots"),
        player("b", "program", command=[sys.executable, "link", "net/", "net2"], cwd="."),
    )
    made = load_tournament(run.config, [])
    paths = named_files(made.config, made.players, made.game, run.config, run.folder)
    assert paths.pop(sys.executable)
    assert set(paths) == {"engine", "bots/bot.py", "bots/w.bin", "link", "net/"}
    look = partial(NamedFiles, paths, run=run.folder)
    facts = look({}).facts
    (tmp_path / "bots/bot.py").touch()  # of the same content
    look(facts)

    def point_elsewhere() -> None:
        (tmp_path / "link").unlink()
        (tmp_path / "link").symlink_to("other2")
        (tmp_path / "other2").write_text("other")

    changes: dict[str, Callable[[], object]] = {
        "engine": partial(rewrite, tmp_path / "bin/engine"),
        "link": point_elsewhere,
        "net/": (tmp_path / "net/2").touch,
        "bots/w.bin": (tmp_path / "bots/w.bin").unlink,
    }
    for name, spoil in changes.items():
        spoil()
        with pytest.raises(StoreError, match=rf": {name} changed since"):
            look(facts)
        facts = look({}).facts


def rewrite(path: Path) -> None:
    """Change a file, but neither its size nor its time."""
    before = path.stat()
    path.write_text("TEXT")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


# -- the level of isolation ------------------------------------------------------------------------


def test_a_run_in_sandboxes_does_not_go_on_without(
    copied: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    if reason := sandbox_hindrance():
        pytest.skip(reason)
    for module in ("config.schema", "running.tournament_run", "running.start"):
        monkeypatch.setattr(f"miai_tournaments.{module}.sandbox_hindrance", lambda: "bwrap is gone")
    with pytest.raises(ConfigError, match=r"ran in sandboxes so far, and bwrap is gone; install"):
        copied.play("rounds=2")


@pytest.mark.slow
def test_the_level_of_isolation_does_not_change_by_itself(tmp_path: Path) -> None:
    if reason := sandbox_hindrance():
        pytest.skip(reason)
    run = Run(tmp_path, player("ann"), player("bob"))

    def levels() -> tuple[str, dict[str, int]]:
        """Return the level of the run and the number of games at each."""
        with Store.read(run.folder) as store:
            records = [read_record(store.record(row.game_id)) for row in store.results()]
            return store.info().isolation(), Counter(str(r.tags["isolation"]) for r in records)

    run.play("limits.isolation=process")
    run.play("rounds=2")
    assert levels() == ("process", {"process": 4})
    assert any("not in sandboxes" in line for line in run.said)
    run.play("rounds=3", "limits.isolation=sandbox")
    assert "agents were isolated at the level process so far" in run.said
    assert levels() == ("sandbox", {"process": 4, "sandbox": 2})


def test_a_sandbox_hides_the_folder_of_a_run_that_it_is_older_than(tmp_path: Path) -> None:
    if reason := sandbox_hindrance():
        pytest.skip(reason)
    run = Run(tmp_path, OWN, player("ann"))
    act = f"    def act(self, clock):\n        open('{run.folder / FILE_NAME}')\n"
    run.file.write_text(AGENT + act)
    run.play("limits.isolation=sandbox")
    with Store.read(run.folder) as store:
        assert all("No such file" in game.detail for game in store.games())


# -- folders of others -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["lock", "records", "logs", "report", FILE_NAME, f"{FILE_NAME}-wal", "store.json"]
)
def test_a_link_in_the_folder_of_a_run_leads_nowhere(copied: Run, name: str) -> None:
    path, victim = copied.folder / name, copied.folder.parent / "victim"
    if path.is_dir():
        path.rename(victim)
    elif path.exists():
        shutil.copy(path, victim)
        path.unlink()
    else:
        victim.write_text("mine")
    if not victim.is_dir():
        before = victim.read_bytes()
    path.symlink_to(victim)
    uses: tuple[Callable[[], object], ...] = (
        copied.resume,
        partial(copied.play, "rounds=2"),
        partial(read_status, copied.folder),
        locked(copied.folder).__enter__,
    )
    for use in uses:
        with pytest.raises(StoreError, match=rf"{path}: is not miai's .*; remove it"):
            use()
    assert victim.is_dir() or victim.read_bytes() == before


@pytest.mark.parametrize("name", ["lock", f"{FILE_NAME}-journal"])
def test_another_name_of_a_file_and_a_journal_are_not_used(copied: Run, name: str) -> None:
    """Of a journal SQLite would write pages to the store, and remove files that it names."""
    victim, path = copied.folder.parent / "victim", copied.folder / name
    victim.write_bytes(bytes(512))
    path.unlink(missing_ok=True)
    path.hardlink_to(victim)
    with pytest.raises(StoreError, match=rf"{path}: is not miai's .*; remove it"):
        copied.resume()
    assert victim.read_bytes() == bytes(512)


def begin_again_and_again(number: int, folder: Path, together: Any) -> None:
    """Begin in one new folder after another; every other time be refused once the lock is there."""
    for turn in range(60):
        store = folder / f"{turn}" / "out" / FILE_NAME
        together.wait()
        while time.monotonic() % 0.002 < 0.0015:
            pass
        with contextlib.suppress(StoreError, ConfigError), locked_anew(store.parent):
            if (number + turn) % 2:
                raise ConfigError("refused")
            if not store.exists():
                time.sleep(0.01)  # the others stop waiting for the lock
                store.write_text(f"{number}")
                (folder / f"{turn}.{number}").touch()


@pytest.mark.slow
def test_of_runners_that_begin_at_once_none_removes_the_folder_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_folder, "_PAUSE", 0.001)
    system = multiprocessing.get_context("fork")
    together = system.Barrier(8, timeout=30)
    racing = [
        system.Process(target=begin_again_and_again, args=(number, tmp_path, together))
        for number in range(together.parties)
    ]
    for process in racing:
        process.start()
    for process in racing:
        process.join()
        assert process.exitcode == 0
    winners = [path.name.split(".") for path in tmp_path.glob("*.*")]
    stores = {path.parts[-3]: path.read_text() for path in tmp_path.glob(f"*/out/{FILE_NAME}")}
    assert stores == dict(winners)
    assert len(winners) == len(stores) > 3
    left = {path.parts[-2] for path in tmp_path.glob("*/out")}
    assert left == set(stores), "who is refused leaves nothing"


# -- rows that are gone ----------------------------------------------------------------------------


FORMATS: dict[str, dict[str, Any]] = {
    "round-robin": {},
    "swiss": {"rounds": 2},
    "knockout": {},
    "adaptive": {"pairs": 3},
    "sprt": {"name": "match", "pairs": 30, "sprt": {"elo0": 0, "elo1": 300}},
}


@pytest.mark.parametrize("name", with_slow(FORMATS, "sprt"))
def test_games_that_are_gone_are_missed_and_played_again(tmp_path: Path, name: str) -> None:
    players = RANDOMS[:2] if "pairs" in FORMATS[name] else (*RANDOMS, player("dan"))
    format_ = {"name": name} | FORMATS[name]
    run = Run(tmp_path, *players, format=format_, limits={"isolation": "none"})
    run.play()
    assert read_status(run.folder).gaps == ()
    before = games_of(run.folder)
    last = "(SELECT game_id FROM games WHERE surplus = 0 ORDER BY round DESC, game_id LIMIT 1)"
    game = [f"DELETE FROM {table} WHERE game_id = {last}" for table in ("records", "games")]
    count = ["DELETE FROM run WHERE key = 'scheduled'"]
    missed = "1 game missing in the store: resume to play them"
    exact = name not in ("knockout", "adaptive", "sprt")
    unsaid = "the number of games is missing in the store: resume to play all of them"
    for changes, line in (
        (game, missed),
        (game + count, missed if exact else unsaid),
        (count, unsaid),
    ):
        for statement in changes:
            run.change(statement)
        if exact and changes == count:  # as many as the format has
            continue
        assert f"games are done\n{line}" in read_status(run.folder).to_text()
        with Store.read(run.folder) as store:
            for details in (False, True):
                assert f"games done; {line}" in build_report(store, details=details).to_text(200)
        assert run_summary(run.folder)[-1].startswith("stopped, ")
        run.resume()
        assert line in run.said
        assert (games_of(run.folder), read_status(run.folder).gaps) == (before, ())
        assert run_summary(run.folder)[-1].startswith("complete, ")


def test_a_surplus_game_that_is_gone_is_missed_once(tmp_path: Path) -> None:
    run = Run(tmp_path, *RANDOMS[:2], format=FORMATS["sprt"], limits={"isolation": "none"})
    run.play()
    before = games_of(run.folder)
    run.change("DELETE FROM games WHERE game_id = (SELECT max(game_id) FROM games WHERE surplus)")
    assert "1 game missing" in read_status(run.folder).gaps[0]
    run.resume()
    assert (games_of(run.folder), read_status(run.folder).gaps) == (before, ())


def test_records_that_are_gone_are_named(copied: Run) -> None:
    copied.change("DELETE FROM records WHERE game_id = 'ann~bob~0001a'")
    line = "no record in the store of finished games: ann~bob~0001a"
    assert line in read_status(copied.folder).to_text()
    with Store.read(copied.folder) as store:
        assert line in build_report(store).to_text(200)
    copied.resume()
    assert line in copied.said
    copied.change("DELETE FROM games WHERE game_id = 'bob~own~0001b'")  # and not its record
    assert read_status(copied.folder).gaps[1:] == (line,)


# -- stores that are cut short ---------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["", "-wal"])
def test_a_store_cut_short_goes_on_or_says_what_to_do(copied: Run, suffix: str) -> None:
    """As a full disk leaves it when it is copied, or written by a system that dies."""
    with closing(sqlite3.connect(copied.folder / FILE_NAME)) as connection:
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("UPDATE games SET void_count = 1")
        connection.commit()
        files = {path: path.read_bytes() for path in copied.folder.glob(f"{FILE_NAME}*")}
    cut = copied.folder / f"{FILE_NAME}{suffix}"
    size = len(files[cut])
    for length in {0, 1, 99, 100, size // 2, size - 4096, size - 1}:
        for path, data in files.items():
            path.write_bytes(data[:length] if path == cut else data)
        for use in (copied.resume, partial(read_status, copied.folder)):
            if suffix:
                use()
                continue
            remedy = "remove .* and begin again" if length < 100 else "begin a new run in another"
            with pytest.raises(
                StoreError, match=f"^{cut}: .*; restore .* from a copy, or {remedy}"
            ):
                use()
