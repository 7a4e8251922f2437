"""Where compiled kernels are kept, for how long, and who compiles when many start at once."""

from __future__ import annotations

import ast
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, cast

import numba.core.config
import pytest
from tests.size import ROOT, sources

from miai import kernels
from miai.kernels.cache import compiling, find_cache, folder_of, needed_by
from miai.process import compilations, kernel_caches
from miai.process.agent_process import AgentProcess
from miai.process.compilations import (
    Announcement,
    KernelGroup,
    compilation_text,
    missing_of,
    prepare,
)
from miai.process.sandbox import ProcessLimits

DAY = 24 * 3600

WAITER = """
import sys
from pathlib import Path
from typing import Any, cast
from miai.kernels.cache import compiling
folder = Path(sys.argv[1])
print("waiting", flush=True)
with compiling(folder, "rules"):
    with (folder / "order").open("a") as file:
        file.write("second ")
    print("inside", flush=True)
    sys.stdin.readline()
"""


def start_waiter(folder: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", WAITER, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "waiting\n"
    return process


def test_the_cache_lies_where_it_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = tmp_path / "kernels"
    sources.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    assert find_cache("miai-go", sources, str(tmp_path / "numba")) == tmp_path / "numba" / "miai-go"
    assert find_cache("miai-go", sources, "") == sources / "__pycache__" / "miai-go"
    shutil.rmtree(sources / "__pycache__")
    (sources / "__pycache__").write_text("a file, so nothing can be written under it")
    assert find_cache("miai-go", sources, "") == tmp_path / "user" / "miai" / "miai-go"
    shutil.rmtree(tmp_path / "user" / "miai")
    (tmp_path / "user" / "miai").write_text("another")
    assert find_cache("miai-go", sources, "") is None


def test_an_edit_changes_the_folders_of_what_imports_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = tmp_path / "duel" / "kernels"
    sources.mkdir(parents=True)
    monkeypatch.syspath_prepend(str(tmp_path))
    texts = {
        "duel/__init__": "",
        "duel/kernels/__init__": "from miai.kernels import part",
        "duel/kernels/board": "SIZE = 1",
        "duel/kernels/moves": "from duel.kernels.board import (\n    SIZE,\n)",
        "duel/kernels/search": "def late():\n    from duel.kernels import part, moves",
        "duel/kernels/other": "import numpy",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(text)

    def folders() -> dict[str, Path]:
        return {p.stem: folder_of(tmp_path / "cache", p) for p in sources.glob("[!_]*.py")}

    first = folders()
    assert folders() == first
    assert all(folder.is_dir() for folder in first.values())
    for edited, dependent in [
        ("board", {"board", "moves", "search"}),
        ("moves", {"moves", "search"}),
        ("other", {"other"}),
        ("__init__", {"search"}),
    ]:
        path = sources / f"{edited}.py"
        path.write_text(path.read_text() + "\nTWO = 2")
        after = folders()
        assert {name for name in after if after[name] != first[name]} == dependent, edited
        first = after


def test_go_search_depends_on_the_rules_and_on_the_framework() -> None:
    """Code of all these is compiled into it; an edit of any must not leave it as it was."""
    from miai_go import kernels as of_go

    needed = needed_by([Path(of_go.__file__).parent / "uct.py"])
    names = {"/".join(path.parts[-3:]) for path in needed}
    of_search = {f"miai_go/kernels/{name}.py" for name in ("uct", "rules", "playouts", "tactical")}
    assert of_search | {"miai/kernels/__init__.py"} <= names
    assert "miai_go/kernels/forest.py" not in names


def test_a_new_folder_clears_away_those_unused_for_a_month(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    ages = {"rules-0123456789abcdef": 31, "rules-fedcba9876543210": 29, "notes": 100}
    for name, days in ages.items():
        (cache / name / "code").mkdir(parents=True)
        (cache / name / "code" / "play.nbc").write_text("code")
        then = time.time() - days * DAY
        os.utime(cache / name, (then, then))
    for name in ("search-0123456789abcdef.ready", "search.lock"):
        (cache / name).touch()
        os.utime(cache / name, (then, then))
    source = tmp_path / "rules.py"
    source.write_text("ONE = 1")
    used = folder_of(cache, source)
    kept = {"rules-fedcba9876543210", "notes", "search.lock", used.name}
    assert {f.name for f in cache.iterdir()} == kept
    assert (cache / "rules-fedcba9876543210" / "code" / "play.nbc").exists()


def test_use_keeps_a_folder_young(tmp_path: Path) -> None:
    source = tmp_path / "rules.py"
    source.write_text("ONE = 1")
    used = folder_of(tmp_path / "cache", source)
    then = time.time() - 100 * DAY
    os.utime(used, (then, then))
    assert folder_of(tmp_path / "cache", source) == used
    assert used.stat().st_mtime > time.time() - DAY


@pytest.mark.slow
def test_the_second_process_waits_until_the_first_has_compiled(tmp_path: Path) -> None:
    with compiling(tmp_path, "rules"):
        second = start_waiter(tmp_path)
        time.sleep(0.3)  # without a lock it would write first
        with (tmp_path / "order").open("a") as file:
            file.write("first ")
    second.communicate("done\n", timeout=60)
    assert second.returncode == 0
    assert (tmp_path / "order").read_text() == "first second "


def test_a_process_that_dies_while_it_compiles_stops_nobody(tmp_path: Path) -> None:
    first = start_waiter(tmp_path)
    assert first.stdout is not None
    assert first.stdout.readline() == "inside\n"
    first.send_signal(signal.SIGKILL)
    first.communicate(timeout=60)
    assert not (tmp_path / "rules.ready").exists()
    began = time.monotonic()
    with compiling(tmp_path, "rules"):
        pass
    assert time.monotonic() - began < 20, "a wait for a lock ends after two minutes"
    assert (tmp_path / "rules.ready").exists()


def test_compiled_kernels_need_no_lock(tmp_path: Path) -> None:
    with compiling(tmp_path, "rules"):
        pass
    (tmp_path / "rules.lock").unlink()
    with compiling(tmp_path, "rules"):
        pass
    assert not (tmp_path / "rules.lock").exists()


def test_a_failure_marks_nothing_as_compiled(tmp_path: Path) -> None:
    with pytest.raises(KeyError), compiling(tmp_path, "rules"):
        raise KeyError
    assert not (tmp_path / "rules.ready").exists()


def test_an_unwritable_cache_works_without_a_lock(tmp_path: Path) -> None:
    for folder in (None, tmp_path / "missing"):
        with compiling(folder, "rules"):
            pass
    assert list(tmp_path.iterdir()) == []


def test_threads_that_declare_kernels_at_once_keep_their_folders(tmp_path: Path) -> None:
    """Otherwise one of them finds the other's folder, or none and writes to the working folder."""
    setting: Any = numba.core.config
    before, seen = setting.CACHE_DIR, dict[str, set[str]]()

    def declare(name: str) -> None:
        for _ in range(20):
            with kernels._numba_cache(tmp_path / name):
                seen.setdefault(name, set()).add(setting.CACHE_DIR)
                time.sleep(0.002)
                seen[name].add(setting.CACHE_DIR)

    threads = [threading.Thread(target=declare, args=(name,)) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {name: {str(tmp_path / name)} for name in ("a", "b")}
    assert before == setting.CACHE_DIR


@pytest.mark.slow
def test_what_lies_with_the_kernels_is_compiled_or_makes_their_tables() -> None:
    own = ("framework", "miai", "kernels")  # how kernels are declared
    files = [p for p in sources() if "kernels" in p.parts and p.parts[:3] != own]
    functions = [f for p in files for f in ast.parse((ROOT / p).read_text("utf-8")).body]
    tables = ["empty_grid", "ladder_room", "board_words", "empty_board", "trail_words", "pair"]
    tables += ["_rays", "_leaps", "_kept_rights", "_keys", "_square_values"]
    plain = [f for f in functions if isinstance(f, ast.FunctionDef) and not f.decorator_list]
    assert {f.name for f in plain} == {*tables}


def test_a_part_is_compiled_into_its_kernels_alone() -> None:
    def twice(number: int) -> int:
        return 2 * number

    def more(number: int) -> int:
        return doubled(number) + 1

    doubled, kernel = kernels.part(twice), kernels._compiled(more, _nrt=False)
    assert kernel(20) == 41
    for function, translated in ((doubled, False), (kernel, True)):
        (compiled,) = cast(Any, function).overloads.values()
        engine = compiled.library._codegen._engine
        assert engine.is_symbol_defined(compiled.fndesc.mangled_name) is translated


@pytest.mark.parametrize(
    ("game", "agent", "trusted"),
    [
        ("tic_tac_toe", "random", True),
        ("go", "mcts", True),
        ("rbc", "rbc-strong", True),
        ("go", "file", False),
        ("go", "program", False),
        ("go", "gtp", False),
        ("rbc", "reconchess", False),
        ("go", "no-such-agent", False),
    ],
)
def test_code_that_parameters_name_never_runs_unconfined(
    game: str, agent: str, trusted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert kernel_caches.is_unfilled(game, agent, {}) is trusted


@pytest.mark.slow
@pytest.mark.parametrize(("game", "compiles"), [("go", True), ("tic_tac_toe", False)])
def test_caches_are_filled_once_for_agents_with_kernels(game: str, compiles: bool) -> None:
    mark = kernel_caches._mark(game, "random", {})
    assert mark is not None
    mark.unlink(missing_ok=True)
    limits = ProcessLimits(hidden=(str(mark.parent),))
    for _ in range(2):
        with AgentProcess(game, {}, "random", {}, name="a", limits=limits) as seat:
            seat.new_game(1, player=0, log=None)
            assert mark.exists() is compiles
            assert kernel_caches.is_unfilled(game, "random", {}) is not compiles


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return two groups of kernels of a plugin whose cache is empty; the second one fails."""
    package = tmp_path / "miai_pair" / "kernels"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").touch()
    (package / "__init__.py").write_text(PAIR)
    (package / "sums.py").write_text(SUMS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    assert compilations.families_of("miai_pair") == ["miai_pair.kernels"]
    return compilations.groups_of("miai_pair.kernels")


PAIR = """
from pathlib import Path
from miai.kernels import KernelFamily
from miai.process.compilations import KernelGroup

FAMILY = KernelFamily("miai-pair", Path(__file__).parent, {
    "sums": KernelGroup("miai_pair.kernels.sums:load", 2, 1.0),
    "broken": KernelGroup("miai_pair.kernels.sums:fail", 1, 9.0),
})
"""
SUMS = """
from miai.kernels import part
from miai_pair.kernels import FAMILY

@part
def added(a, b):
    return a + b

@FAMILY.kernel
def twice(a):
    return added(a, a)

@FAMILY.kernel
def thrice(a):
    return added(a, added(a, a))

def load():
    with FAMILY.compiling("sums"):
        twice(1), thrice(1)

def fail():
    with FAMILY.compiling("broken"):
        raise SystemExit("no such kernel")
"""


@pytest.mark.slow
def test_groups_are_compiled_in_other_processes_once(pair: list[str], tmp_path: Path) -> None:
    told = dict[str, bool]()
    prepare(pair, told.__setitem__)
    assert told == {"miai_pair.kernels:sums": True, "miai_pair.kernels:broken": False}
    (ready,) = tmp_path.rglob("sums-*.ready")
    assert ready.read_text().split()[0] == "2", "the part is no kernel"
    assert missing_of(pair) == ["miai_pair.kernels:broken"]
    assert compilation_text() == ""
    assert not list((tmp_path / "user" / "miai" / "compiling").iterdir())


def test_all_processes_of_a_user_know_what_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    assert compilation_text() == ""
    first = Announcement("a", KernelGroup("m:f", 4, 40.0), remain=True)
    second = Announcement("b", KernelGroup("m:f", 7, 20.0), remain=True)
    assert compilation_text() == "compiling once, 0 of 11, about 30 s"
    first.count()  # 10 of 60 seconds' work, in
    later = time.time() + 20
    monkeypatch.setattr("time.time", lambda: later)
    assert compilation_text() == "compiling once, 1 of 11, about 100 s"
    dead = subprocess.Popen(["true"])
    dead.wait()
    folder = tmp_path / "miai" / "compiling"
    (folder / "c").write_text(f"{dead.pid} 0 99 9 0")
    (folder / "d").write_text("nonsense")
    assert compilation_text() == "compiling once, 1 of 11, about 100 s"
    first.end()
    second.end()
    assert compilation_text() == "", "all 11 are there"


def test_what_is_compiled_is_said_once_in_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(compilations, "_LOOK_SECONDS", 0.02)
    monkeypatch.setattr(compilations, "_PATIENCE", 0.1)
    said = list[str]()
    with compilations.say_compilations(said.append, pause=60.0):
        time.sleep(0.1)
        assert said == []
        announcement = Announcement("a", KernelGroup("m:f", 3, 30.0))
        time.sleep(0.3)
        announcement.end()
    assert len(said) == 1
    assert said[0].startswith("compiling once, 0 of 3, about ")


FIRST_GAME = """
import sys, miai
from numba.core import event
compiled = []
class Compiled(event.Listener):
    def on_start(self, event): pass
    def on_end(self, event): compiled.append(event.data["dispatcher"].py_func.__name__)
game = miai.load_game(sys.argv[1])
agent = miai.make_agent(sys.argv[2], game, seed=1)
event.register("numba:compile", Compiled())
miai.play(game, [agent, miai.make_agent(sys.argv[2], game, seed=2)], seed=1, move_limit=4)
print(sorted(set(compiled)))
"""


@pytest.mark.slow
@pytest.mark.parametrize(("game", "agent"), [("go", "mcts"), ("rbc", "rbc-strong")])
def test_a_first_game_needs_no_other_kernels_than_declared(
    game: str, agent: str, tmp_path: Path
) -> None:
    caches = {"NUMBA_CACHE_DIR": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "user")}
    command = [sys.executable, "-c", FIRST_GAME, game, agent]
    done = subprocess.run(
        command, env={**os.environ, **caches}, capture_output=True, text=True, check=False
    )
    assert done.stdout == "[]\n", done.stderr
