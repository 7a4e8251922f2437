"""The first things that a newcomer tries: help, lists, completion, extras, a wrong file."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.child_imports import install
from tests.tournaments.support import RANDOMS, config_text
from tests.warm_command import call_miai, run_miai

from miai.errors import MissingExtraError
from miai.parameters import ConfigFile
from miai.plugins.extras import install_line, missing_extra
from miai.plugins.kinds import CONFIG_FILE
from miai.plugins.loader import registry

ROOT = Path(__file__).parents[2]
CONFIGS = ROOT / "configs"


def without(modules: Sequence[str], *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command line where some modules cannot be imported."""
    code = (
        "import sys\n"
        f"sys.modules.update(dict.fromkeys({list(modules)!r}))\n"
        "from miai.cli.main import main\n"
        f"sys.argv = ['miai', *{list(words)!r}]\n"
        "main()"
    )
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=False
    )


# Extras


@pytest.mark.slow
def test_a_plugin_whose_extra_is_absent_is_not_broken() -> None:
    done = without(("torch",), "plugins", "check")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "broken" not in done.stdout
    (line,) = [line for line in done.stdout.splitlines() if "not installed" in line]
    assert line.startswith("    not installed: miai-go[nn], for go.")
    assert line.endswith(f"; {install_line('miai-go[nn]')}")
    plugins = json.loads(without(("torch",), "plugins", "check", "--json").stdout)
    assert {p["name"]: bool(p["absent"]) for p in plugins}["go"]
    assert {p["state"] for p in plugins if p["name"] != "openspiel"} == {"loaded"}


@pytest.mark.slow
def test_a_component_whose_extra_is_absent_names_it() -> None:
    done = without(("torch",), "list", "go.networks", "tower")
    assert done.returncode == 0
    done = without(("numba",), "compare", str(CONFIGS / "compare-quick.toml"))
    assert done.returncode == 2
    install = install_line("miai[sketches]")
    assert f"needs numba, which is not installed: {install}" in done.stderr
    assert "(and at 6 other places)" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "options", "extra"),
    [
        ("ray", ("--executor", "ray"), "miai[ray]"),
        ("psycopg", ("--store", "postgresql://me@h/x"), "miai[postgres]"),
    ],
)
def test_an_executor_or_store_whose_extra_is_absent_names_it(
    module: str, options: tuple[str, ...], extra: str, tmp_path: Path
) -> None:
    config, out = str(CONFIGS / "quickstart.toml"), tmp_path / "run"
    done = without((module,), "tournament", "run", config, "--out", str(out), *options)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert f"needs {module}, which is not installed: {install_line(extra)}" in line
    assert not out.exists()


def test_only_a_missing_module_of_an_extra_counts() -> None:
    absent = missing_extra(ModuleNotFoundError("x", name="torch.nn"), "miai_go", "it")
    assert isinstance(absent, MissingExtraError)
    assert absent.extra == "miai-go[nn]"
    install = install_line("miai-go[nn]")
    assert str(absent) == f"it needs torch, which is not installed: {install}"
    ray = missing_extra(ModuleNotFoundError("x", name="ray"), "miai_tournaments", "it")
    assert ray is not None
    assert ray.extra == "miai[ray]"  # and not miai[dev]
    assert missing_extra(ModuleNotFoundError("x", name="no_such_module"), "miai_go", "it") is None
    assert missing_extra(ImportError("x", name="torch"), "miai_go", "it") is None
    own = ModuleNotFoundError("x", name="miai_go.no_such_module")
    assert missing_extra(own, "miai_go", "it") is None, "a defect of the plugin"


PACKAGES = {
    "framework/miai": ".",
    "tournaments/miai_tournaments": ".",
    "plugins/classics/miai_classics": "plugins/classics",
    "plugins/go/miai_go": "plugins/go",
    "plugins/miniblind/miai_miniblind": "plugins/miniblind",
    "plugins/rbc/miai_rbc": "plugins/rbc",
}
COMES_WITH = {"llvmlite": "numba", "pydantic_core": "pydantic"}
"""Modules that are part of a library that is required."""
IMPORT = re.compile(
    r"(?m)^ *(?:import (\w+)[\w.]*(?: as \w+)?(?:  #.*)?$|from (\w+)[\w.]* import )"
)


def imported(package: Path) -> set[str]:
    """Return the top-level third-party modules that a package imports anywhere."""
    tops = set()
    for file in package.rglob("*.py"):
        for found in IMPORT.finditer(file.read_text("utf-8")):
            tops.add(found[1] or found[2])
    return {top for top in tops - sys.stdlib_module_names if not top.startswith("miai")}


def required(source: Path) -> set[str]:
    """Return the names that a distribution requires, by itself or in an extra other than dev."""
    project = tomllib.loads((source / "pyproject.toml").read_text("utf-8"))["project"]
    texts = list(project["dependencies"])
    for extra, names in project.get("optional-dependencies", {}).items():
        texts += names if extra != "dev" else []
    return {re.split(r"[^\w.-]", text, maxsplit=1)[0].lower().replace("-", "_") for text in texts}


@pytest.mark.parametrize("package", PACKAGES)
def test_what_is_imported_is_required_or_in_an_extra(package: str) -> None:
    """Else an absent library makes a plugin broken, and no message can name the extra."""
    known = required(ROOT) | required(ROOT / PACKAGES[package]) | {"pytest"}  # of pytest's plugin
    modules = {COMES_WITH.get(module, module).lower() for module in imported(ROOT / package)}
    assert modules
    assert modules <= known, f"neither required nor in an extra: {sorted(modules - known)}"


# Help, lists, completion


@pytest.mark.parametrize("words", [(), ("tournament",), ("tournament", "run"), ("go", "train")])
def test_help_has_a_short_option(words: tuple[str, ...]) -> None:
    short, long = (call_miai([*words, option]) for option in ("-h", "--help"))
    assert short.returncode == 0
    assert short.stdout == long.stdout
    assert "-h, --help" in short.stdout


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("miai list se", ["searches"]),
        ("miai list games tic", ["tic_tac_toe"]),
        ("miai list searches alp", ["alpha-beta", "alphago", "alphazero"]),
        ("miai list agents --game kuh", ["kuhn_poker"]),
    ],
)
def test_the_shell_completes_names(line: str, expected: list[str]) -> None:
    words = line.split(" ")
    asked = {"_MIAI_COMPLETE": "complete_bash", "COMP_WORDS": line}
    done = run_miai([], env={**os.environ, **asked, "COMP_CWORD": str(len(words) - 1)})
    assert done.stdout.split() == expected, done.stderr


# A config of another kind


LEARNING = (  # whose commands import torch
    ("go train sl", "go-zero-5x5.toml", "AlphaGo Zero's loop; use `miai go train zero"),
    ("go train zero", "go-rl.toml", "a training by policy gradient; use `miai go train rl"),
    ("go tsumego train", "swiss.toml", "a tournament; use `miai tournament run"),
)


@pytest.mark.parametrize(
    ("command", "config", "right"),
    [
        ("tournament run", "go-sl.toml", "a supervised training; use `miai go train sl"),
        ("compare", "quickstart.toml", "a tournament; use `miai tournament run"),
        *(pytest.param(*each, marks=pytest.mark.slow) for each in LEARNING),
    ],
)
def test_a_config_of_another_kind_names_its_command(
    command: str, config: str, right: str, tmp_path: Path
) -> None:
    done = call_miai([*command.split(), str(CONFIGS / config)], cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"miai: {CONFIGS / config}: is the config of {right}")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_kinds_of_config_name_the_tables_of_their_models() -> None:
    for component in registry().components(CONFIG_FILE):
        kind = component.build(values={})
        assert kind.same_tables(ConfigFile.of(kind.load())), component.name


@pytest.mark.slow
def test_a_training_config_is_recognised_without_torch() -> None:
    path = CONFIGS / "go-value.toml"
    done = without(["torch"], "tournament", "run", str(path))
    assert done.returncode == 2
    right = "a training by policy gradient or the training of a value network; use "
    assert done.stderr.startswith(f"miai: {path}: is the config of {right}"), done.stderr


# Watching before the run


@pytest.mark.slow
def test_watch_waits_for_a_run(tmp_path: Path) -> None:
    pexpect = pytest.importorskip("pexpect")
    run = tmp_path / "run"
    viewer = pexpect.spawn(
        sys.executable, ["-m", "miai", "tournament", "watch", str(run)], dimensions=(40, 120)
    )
    viewer.expect("waiting for one", timeout=30)
    config = tmp_path / "x.toml"
    config.write_text(config_text(*RANDOMS[:2]))
    done = run_miai(["tournament", "run", str(config), "--out", str(run)], timeout=60)
    assert done.returncode == 0, done.stderr
    assert f"in the browser: miai tournament report {run} --open" in done.stdout
    viewer.expect("the run is complete", timeout=30)
    viewer.expect(pexpect.EOF, timeout=30)
    other = pexpect.spawn(
        sys.executable, ["-m", "miai", "tournament", "watch", str(tmp_path / "none")]
    )
    other.expect("waiting for one", timeout=30)
    time.sleep(0.2)
    other.kill(signal.SIGINT)
    other.expect(pexpect.EOF, timeout=30)
    other.close()
    assert other.exitstatus == 0


def test_the_line_that_installs_an_extra_needs_no_index_with_miai(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a checkout that again; from a wheel the libraries of the extra, in their versions."""
    facts = (
        "Requires-Dist: numpy\n"
        "Requires-Dist: torch <3,>=2.6 ; extra == 'nn'\nRequires-Dist: onnx>=1; extra == 'onnx'\n"
    )
    info = install(tmp_path, "duel", "miai_duel", facts)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert install_line("miai-duel[nn]") == "pip install 'torch<3,>=2.6'"
    assert install_line("miai-duel[nn,onnx]") == "pip install 'torch<3,>=2.6' 'onnx>=1'"
    url = {"url": "file:///home/me/my%20duel", "dir_info": {"editable": True}}
    (info / "direct_url.json").write_text(json.dumps(url))
    assert install_line("miai-duel[nn]") == "pip install -e '/home/me/my duel[nn]'"
    (info / "direct_url.json").write_text("[]")
    assert install_line("miai-duel[nn]") == "pip install 'torch<3,>=2.6'"


# Words that are nearly right


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("play chess", "'dark-chess' or .*'rbc' .Reconnaissance Blind Chess"),
        ("agents", "No such command 'agents'. Did you mean 'miai list agents'"),
        ("searches", "Did you mean 'miai list searches'"),
        ("play go --set size=9", "size: unknown parameter. Did you mean 'board_size'"),
        ("play go --white gnugo", "Did you mean 'gtp' .External engine such as GNU Go"),
        ("warm gpo", "no plugin or agent is called 'gpo'. Did you mean 'go'"),
    ],
)
def test_what_a_newcomer_guesses_leads_to_what_there_is(words: str, offered: str) -> None:
    done = call_miai(words.split())
    assert done.returncode == 2
    assert re.search(offered, done.stderr), done.stderr


def test_nothing_is_left_to_compile_for_plugins_without_kernels() -> None:
    enabled = {**os.environ, "MIAI_DISABLE_PLUGINS": ""}
    done = run_miai(["warm", "classics", "openspiel"], env=enabled)
    assert (done.returncode, done.stdout) == (0, "Nothing is left to compile.\n")
