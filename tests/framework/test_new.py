"""`miai new`: what it writes can be installed, passes its own tests, and plays."""

from __future__ import annotations

import importlib
import itertools
import os
import shutil
import subprocess
import sys
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from tests.child_imports import environment_with
from tests.warm_command import TerminalMiai, call_miai
from tests.whole_texts import assert_transcript, refusal

from miai.cli.new import PackageKind, Traits, package
from miai.testing import check_game

NEW = (
    ("game", "number-heap"),
    ("agent", "greedy_one"),
    ("agent", "bluffer", "--game", "kuhn_poker"),
    ("agent", "bidder", "--game", "goofspiel"),
    ("plugin", "duel"),
    ("plugin", "secret", "--players", "3", "--hidden", "--chance", "--simultaneous"),
)


def run(*words: str | Path, cwd: Path, path: Path | None = None) -> CompletedProcess[str]:
    environment = environment_with(*([path] if path else []))
    command = [sys.executable, "-m", *map(str, words)]
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=110, check=False
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a package of each kind, all installed in its folder `installed`."""
    folder = tmp_path_factory.mktemp("new")
    for words in NEW:
        done = run("miai", "new", *words, cwd=folder)
        assert done.returncode == 0, done.stderr
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--no-index")
    sources = sorted(folder.glob("miai-*"))
    assert len(sources) == len(NEW)
    done = run(
        *("pip", "--disable-pip-version-check", "install", *options, "--target", "installed"),
        *sources,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
def test_its_tests_pass_once_it_is_installed(folder: Path) -> None:
    tests = sorted(folder.glob("miai-*/tests"))
    done = run(
        "pytest", "-q", "-p", "no:cacheprovider", *tests, cwd=folder, path=folder / "installed"
    )
    assert "16 passed" in done.stdout, done.stdout + done.stderr


@pytest.mark.slow
def test_its_own_tests_notice_a_wrong_rule(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder / "miai-number-heap", tmp_path / "copy")
    rules = copy / "miai_number_heap" / "game.py"
    text = rules.read_text("utf-8")
    rules.write_text(text.replace("min(3, self.counters)", "min(2, self.counters)"))
    words = ("pytest", "-q", "-p", "no:cacheprovider")
    done = run(*words, cwd=copy, path=folder / "installed")  # this copy comes first
    assert "2 failed, 1 passed" in done.stdout, done.stdout


@pytest.mark.slow
def test_its_components_are_sound_and_play(folder: Path) -> None:
    installed = folder / "installed"
    check = run("miai", "plugins", "check", cwd=folder, path=installed)
    assert check.returncode == 0, check.stdout
    assert all(
        f"\n{name} " in check.stdout for name in ("number-heap", "greedy_one", "duel", "secret")
    )
    words = ("play", "duel", "--first", "duel-player", "--second", "random", "--quiet")
    done = run("miai", *words, "--seed", "1", cwd=folder, path=installed)
    assert "wins" in done.stdout, done.stderr


@pytest.mark.slow
def test_it_is_clean_by_the_linter_and_the_type_checker_of_miai(folder: Path) -> None:
    sources = sorted(folder.glob("miai-*"))
    for words in (("check",), ("format", "--check")):
        done = run("ruff", *words, "--isolated", "--line-length", "100", *sources, cwd=folder)
        assert done.returncode == 0, done.stdout


def test_a_bad_name_is_refused() -> None:
    def answer(line: str) -> str:
        kind, name, *games = line.split()
        return refusal(lambda: package(PackageKind(kind), name, game=" ".join(games)))

    assert_transcript("new-names.txt", answer)


@pytest.mark.parametrize("game", ["tic_tac_toe", "goofspiel", "pig", "kuhn_poker", "go"])
def test_an_agent_need_beat_nobody_where_luck_or_others_decide(game: str) -> None:
    files = package(PackageKind.AGENT, "tested", game=game)
    beats = "test_it_beats_the_random_agent" in files["tests/test_tested_agent.py"]
    assert beats == (game == "tic_tac_toe")


FEW = [(2, *on) for on in itertools.product([False, True], repeat=3) if any(on)]


@pytest.mark.parametrize("values", [*FEW, (3, True, True, False), (5, False, False, True)])
def test_a_game_has_what_was_asked_for_and_keeps_the_contract(
    values: tuple[Any, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    traits = Traits(*values)
    name = f"asked-{'-'.join(map(str, map(int, values)))}"
    for path, text in package(PackageKind.GAME, name, traits=traits).items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module(f"miai_{name.replace('-', '_')}.game")
    camel = name.title().replace("-", "")
    game = getattr(module, camel)(getattr(module, f"{camel}Parameters")())
    info = game.info
    has = (bool(info.max_chance_outcomes), info.simultaneous, info.perfect_information)
    assert has == (traits.chance, traits.simultaneous, not traits.hidden)
    assert check_game(game, games=3).games == 3
    assert info.num_players == traits.players


def test_what_a_game_has_is_asked_for_at_a_terminal(tmp_path: Path) -> None:
    terminal = TerminalMiai(["new", "game", "asked", "--into", str(tmp_path)], env=os.environ)
    for question in ("Players, 2 to 10 .2.: ", "Hidden information", "Chance", "Acting at once"):
        terminal.expect(question)
        terminal.sendline({"P": "3", "H": "y"}.get(question[0], ""))
    assert terminal.expect_end() == 0
    text = (tmp_path / "miai-asked" / "miai_asked" / "game.py").read_text(encoding="utf-8")
    assert "PLAYERS, BIDS = 3, 3" in text
    assert "perfect_information=False" in text
    assert "chance_outcomes" not in text


def test_the_command_says_what_it_wrote_or_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "miai-nim").mkdir()
    exists = "miai-nim: exists already; choose another name, or a folder with --into"
    for words, message in (
        ("game ../Nim", "'../Nim': is not a name for a game"),
        ("plugin duel --game go", "--game go: is for a new agent; a plugin has a game of its own"),
        ("game nim", exists),
        ("agent ann --chance", "--chance: is for a new game; an agent plays one that is there"),
    ):
        done = call_miai(["new", *words.split()], cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"miai: {message}")
        assert [path.name for path in tmp_path.rglob("*")] == ["miai-nim"]
    done = call_miai(["new", "game", "nim", "--into", "other"], cwd=tmp_path)
    texts, folder = package(PackageKind.GAME, "nim"), Path("other", "miai-nim")
    assert done.stdout == (
        f"written to {folder}: {', '.join(texts)}\n"
        f"Next: cd {folder} && pip install -e '.[test]' && pytest\n"
    )
    for path, text in texts.items():
        assert (tmp_path / folder / path).read_text(encoding="utf-8") == text
