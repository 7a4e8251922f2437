"""`miai new`: what it writes can be installed, passes its own tests, and plays."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from tests.child_imports import environment_with
from tests.warm_command import call_miai
from tests.whole_texts import assert_transcript, refusal

from miai.cli.new import PackageKind, package

NEW = (
    ("game", "number-heap"),
    ("agent", "greedy_one"),
    ("agent", "bluffer", "--game", "kuhn_poker"),
    ("agent", "bidder", "--game", "goofspiel"),
    ("plugin", "duel"),
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
    assert "12 passed" in done.stdout, done.stdout + done.stderr


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
    assert all(f"\n{name} " in check.stdout for name in ("number-heap", "greedy_one", "duel"))
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


def test_the_command_says_what_it_wrote_or_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "miai-nim").mkdir()
    exists = "miai-nim: exists already; choose another name, or a folder with --into"
    for words, message in (
        ("game ../Nim", "'../Nim': is not a name for a game"),
        ("plugin duel --game go", "--game go: is for a new agent; a plugin has a game of its own"),
        ("game nim", exists),
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
