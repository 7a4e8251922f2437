"""Plugins are found one by one; a broken one costs a warning and nothing else."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint, PathDistribution, entry_points
from pathlib import Path

import pytest
from tests.child_imports import install
from tests.tournaments.support import RANDOMS, config_text
from tests.warm_command import run_miai

from miai.errors import PluginLoadError, UnknownComponentError
from miai.plugins.loader import PluginHost, PluginWarning
from miai.plugins.registry import Registry

REGISTERING = "from miai import hookimpl\n@hookimpl\ndef miai_register(registry):\n"
GOOD = """
from miai import hookimpl
from miai.plugins.kinds import Kind
COLOUR = Kind("good.colour", "builtins:str", (), "Colours")



@hookimpl
def miai_register(registry):
    registry.declare(COLOUR)
    registry.add("good.colour", "blue", lambda parameters: "blue", summary="The sky's")
    registry.add("agent", "good", "miai.agent:RandomAgent", summary="Good")
"""

BROKEN = {
    "syntax": "def miai_register(:",
    "import": "import no_such_module_anywhere",
    "raises": "raise RuntimeError('on import')",
    "exits": "import sys; sys.exit(3)",
    "hook_raises": GOOD + "    raise RuntimeError('half way')",
    "unknown_hook_argument": REGISTERING.replace("registry", "registrar") + "    pass",
    "unknown_hook": "from miai import hookimpl\n@hookimpl\ndef miai_no_such_hook(): pass",
    "undeclared_kind": REGISTERING + "    registry.add('agnt', 'x', 'a:b', summary='')",
    "name_taken": (
        f"{REGISTERING}    registry.add('agent', 'mine', 'a:b', summary='')\n"
        "    registry.add('agent', 'random', 'a:b', summary='')"
    ),
}


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the import path; the plugins in it are forgotten afterwards."""
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("plug_")]:
        del sys.modules[name]


def entry(folder: Path, name: str, source: str) -> EntryPoint:
    (folder / f"plug_{name}.py").write_text(source)
    return EntryPoint(name, f"plug_{name}", "miai")


def host(*found: EntryPoint, **environment: str) -> PluginHost:
    return PluginHost(entries=found, environment=environment)


def test_a_plugin_adds_components_and_a_kind_of_its_own(modules: Path) -> None:
    registry = host(entry(modules, "good", GOOD)).registry
    assert registry.get("good.colour", "blue").build(values={}) == "blue"
    assert registry.get("agent", "good").plugin == "good"


@pytest.mark.parametrize("defect", BROKEN)
def test_a_broken_plugin_is_isolated(modules: Path, defect: str) -> None:
    with pytest.warns(PluginWarning, match=r"plugin 'zbad' .* is broken") as warned:
        plugins = host(
            entry(modules, "good", GOOD.replace("agent", "search")),
            entry(modules, "zbad", BROKEN[defect]),
        )
    assert len(warned) == 1
    states = {p.name: p.state for p in plugins.plugins}
    assert states == {"miai": "loaded", "good": "loaded", "zbad": "broken"}
    # Nothing of the broken one stays behind, not even what it added before it failed.
    for kind in plugins.registry.kinds:
        assert all(c.plugin != "zbad" for c in plugins.registry.components(kind))


def test_using_a_broken_plugin_names_it_and_chains_its_error(modules: Path) -> None:
    with pytest.warns(PluginWarning):
        plugins = host(entry(modules, "bad", BROKEN["raises"]))
    with pytest.raises(UnknownComponentError, match=r"'bad'.*miai plugins check") as caught:
        plugins.registry.get("game", "chess")
    assert "on import" in str(caught.value.__cause__)


def test_a_component_of_a_missing_plugin_s_kind_is_dormant(modules: Path) -> None:
    source = GOOD.replace("registry.declare(COLOUR)", "pass")
    plugins = host(entry(modules, "good", source))
    assert plugins.plugins[-1].state == "loaded"
    assert [c.name for c in plugins.registry.dormant()] == ["blue"]
    checked = plugins.check()[-1]
    assert checked.state == "broken"
    assert "no loaded plugin declares the kind 'good.colour'" in str(checked.errors)


def test_the_environment_chooses_plugins(modules: Path) -> None:
    one = entry(modules, "one", "")
    two = entry(modules, "two", "raise RuntimeError")
    only = host(one, two, MIAI_PLUGINS="one")
    assert [p.state for p in only.plugins] == ["loaded", "loaded", "disabled"]
    off = host(one, two, MIAI_DISABLE_PLUGINS=" two ,")
    assert [p.state for p in off.plugins] == ["loaded", "loaded", "disabled"]
    none = host(one, two, MIAI_DISABLE_PLUGINS="all")
    assert [p.state for p in none.plugins] == ["loaded", "disabled", "disabled"]


def test_an_unknown_plugin_name_in_the_environment_is_reported(modules: Path) -> None:
    with pytest.warns(PluginWarning, match="'goo', which is not installed"):
        host(entry(modules, "good", GOOD), MIAI_DISABLE_PLUGINS="goo")


def test_tracing_prints_every_hook_call(modules: Path, capsys: pytest.CaptureFixture[str]) -> None:
    host(entry(modules, "good", GOOD), MIAI_TRACE_PLUGINS="1")
    assert "miai_register" in capsys.readouterr().err
    host(entry(modules, "good", GOOD), MIAI_TRACE_PLUGINS="0")
    assert capsys.readouterr().err == ""


def test_a_game_s_own_component_wins_over_one_for_any_game() -> None:
    registry = Registry()
    registry.add("search", "mcts", lambda: "any", summary="")
    registry.add("search", "mcts", lambda: "go", summary="", game="go")
    assert registry.get("search", "mcts", game="go").load_factory()() == "go"
    assert registry.get("search", "mcts", game="chess").load_factory()() == "any"
    assert [c.game for c in registry.components("search", game="go")] == ["go"]
    assert [c.game for c in registry.components("search", game="chess")] == [None]


def test_a_search_plays_as_an_agent_unless_an_agent_has_its_name() -> None:
    registry = Registry()
    registry.add("search", "deep", lambda: None, summary="a search")
    registry.add("search", "both", lambda: None, summary="a search")
    registry.add("agent", "both", lambda: None, summary="an agent")
    summaries = {c.name: c.summary for c in registry.components("agent", adapted=True)}
    assert summaries == {"deep": "a search", "both": "an agent"}
    assert registry.get("agent", "deep").kind == "agent"


def test_misspelt_names_get_near_matches() -> None:
    registry = Registry()
    registry.add("agent", "mcts", lambda: None, summary="")
    with pytest.raises(UnknownComponentError, match="Did you mean 'mcts'"):
        registry.get("agent", "mtcs")
    with pytest.raises(UnknownComponentError, match="Did you mean 'agent'"):
        registry.components("agnt")


def test_a_newcomer_takes_no_name_away_from_a_plugin_of_miai(modules: Path) -> None:
    source = REGISTERING + "    registry.add('search', 'mcts', 'a:b', summary='', game='go')\n"
    metadata = install(modules, "aaa", "plug_aaa", plug_aaa=source)
    newcomer = PathDistribution(metadata).entry_points
    with pytest.warns(PluginWarning, match="'aaa' .*'mcts' for game 'go' .* by plugin 'go'"):
        plugins = host(*newcomer, *entry_points(group="miai", name="go"))
    broken = [p.name for p in plugins.plugins if p.state == "broken"]
    assert broken == ["aaa"]
    assert plugins.registry.get("search", "mcts", game="go").plugin == "go"


@pytest.mark.parametrize(
    ("kind", "factory", "broken"),
    [
        ("game", "json:loads", False),  # takes one argument; what it returns is not looked at
        ("agent", "json:loads", True),
        ("agent", "miai.errors:USER", True),
        ("agent", "sys:path", True),
        ("belief", "miai.search.worlds:enumerated_belief", False),
        ("belief", "miai.agent:RandomAgent", True),
        ("agent", "builtins:max", False),  # compiled code need not tell its signature
    ],
)
def test_check_sees_whether_a_factory_takes_its_arguments(
    modules: Path, kind: str, factory: str, broken: bool
) -> None:
    source = f"{REGISTERING}    registry.add({kind!r}, 'x', {factory!r}, summary='')\n"
    checked = host(entry(modules, "x", source)).check()[-1]
    assert (checked.state == "broken") == broken
    assert bool(checked.errors) == broken


@pytest.mark.parametrize(
    ("factory", "cause"),
    [("json:loads", TypeError), ("no_such_module_anywhere:Agent", ModuleNotFoundError)],
)
def test_a_failing_factory_is_reported_with_its_plugin(
    factory: str, cause: type[Exception]
) -> None:
    registry = Registry()
    registry.add("agent", "bad", factory, summary="")
    with pytest.raises(PluginLoadError, match=r"'bad' of plugin 'miai'") as caught:
        registry.get("agent", "bad").build(None, values={})
    assert isinstance(caught.value.__cause__, cause)


SEVERAL = """
from miai import hookimpl
@hookimpl
def miai_register(registry):
    registry.add("agent", "random", "miai.agent:RandomAgent", summary="A taken name")
    registry.add("agnt", "x", "miai.agent:RandomAgent", summary="A misspelt kind")
    registry.add("agent", "one", "no_such_module_anywhere:Agent",
                 parameters="another_missing_module:Parameters", summary="")
    registry.add("belief", "two", "miai.agent:RandomAgent", summary="Takes too little",
                 parameters="miai.agent:Agent")
    registry.add("agent", "three", "miai.agent", summary="")
    raise RuntimeError("and then\\nit fails")
"""


def test_check_reports_all_defects_of_a_plugin_at_once(modules: Path) -> None:
    with pytest.warns(PluginWarning, match="is broken") as warned:
        plugins = host(entry(modules, "several", SEVERAL))
    assert len(warned) == 1
    checked = plugins.check()[-1]
    assert checked.state == "broken"
    texts = "\n".join(map(str, checked.errors))
    for words in (
        "agent 'random' is already registered by plugin 'miai'",
        "'x' is of the undeclared kind 'agnt'",
        "and then\nit fails",
        "no_such_module_anywhere:Agent cannot be imported",
        "another_missing_module:Parameters cannot be imported",
        "belief 'two' of plugin 'several': miai.agent:RandomAgent cannot be called as",
        "belief 'two' of plugin 'several': miai.agent:Agent is not a model of parameters",
        "miai.agent cannot be imported: ImportError: an import path is written module:attribute",
    ):
        assert words in texts
    assert len(checked.errors) == 8


NEEDING = "import rare_library_of_an_extra\n" + GOOD


def test_a_plugin_that_needs_an_extra_is_incomplete_not_broken(modules: Path) -> None:
    library = "Requires-Dist: rare-library-of-an-extra; extra == 'rare'\n"
    facts = f"Provides-Extra: rare\n{library}"
    metadata = install(modules, "needing", "plug_needing", facts, plug_needing=NEEDING)
    entries = PathDistribution(metadata).entry_points
    line = "pip install 'rare-library-of-an-extra'"
    with pytest.warns(PluginWarning, match=f"{re.escape(line)}; until then it is left out"):
        plugins = host(*entries)
    assert plugins.plugins[-1].state == "incomplete"
    checked = plugins.check()[-1]
    assert (checked.state, checked.errors) == ("incomplete", ())
    assert line in checked.absent[0]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "its module has no function miai_register marked with @miai.hookimpl"),
        (
            "def miai_register(registry): pass",
            "its function miai_register is not marked with @miai.hookimpl",
        ),
        (REGISTERING + "    pass", "its miai_register adds no component and declares no kind"),
    ],
)
def test_check_notices_a_plugin_that_registers_nothing(
    modules: Path, source: str, message: str
) -> None:
    plugins = host(entry(modules, "idle", source))
    assert plugins.plugins[-1].state == "loaded"
    checked = plugins.check()[-1]
    assert checked.state == "broken"
    assert message in str(checked.errors[0])


def test_a_plugin_of_commands_alone_registers_enough(modules: Path) -> None:
    source = "from miai import hookimpl\n@hookimpl\ndef miai_register_commands(app): pass"
    assert host(entry(modules, "commands", source)).check()[-1].state == "loaded"


def run(*words: str, cwd: Path, status: int = 0, **environment: str) -> str:
    done = run_miai(words, cwd=cwd, env={**os.environ, **environment}, timeout=120)
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "there is no such file"),
        ("import miai\n1 / 0\n", "cannot be imported: line 2: ZeroDivisionError"),
        ("def f(:\n", "cannot be imported: line 1: SyntaxError"),
        ("import miai\n", "is not loaded as a plugin: PluginLoadError: registers nothing"),
        (
            "import miai\n@miai.hookimpl\ndef miai_register(registry):\n"
            "    registry.add('game', 'go', miai.Game, summary='Another')\n",
            "game 'go' is already registered by plugin 'go'",
        ),
    ],
)
def test_a_file_that_is_no_plugin_is_one_mistake_of_the_config(
    tmp_path: Path, text: str | None, message: str
) -> None:
    (tmp_path / "x.toml").write_text('plugins = ["other.py"]\n' + config_text(*RANDOMS))
    if text is not None:
        (tmp_path / "other.py").write_text(text)
    first, *_ = run("tournament", "check", "x.toml", cwd=tmp_path, status=2).splitlines()
    assert first.startswith("miai: x.toml: plugins[0]: ")
    assert message in first
    if text is not None:
        said = run("list", "game", cwd=tmp_path, MIAI_PLUGIN_FILES="other.py")
        assert message in said
