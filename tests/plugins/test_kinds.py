"""Kinds of component: what a factory returns is checked on every build, of every kind."""

from __future__ import annotations

from typing import Any

import pytest
from tests.framework.histories import TTT, seen_by
from tests.slow import with_slow
from tests.warm_command import run_python

import miai
import miai.plugins.kinds
from miai.beliefs.sets import Universe
from miai.clock import ClockReading, TimeControl
from miai.errors import (
    AgentUnavailableError,
    ConfigError,
    ParameterError,
    PluginError,
    PluginLoadError,
    RegistrationError,
)
from miai.plugins.kinds import AGENT, KINDS, Kind
from miai.plugins.loader import registry
from miai.plugins.registry import Component, Registry
from miai.search.protocol import SearchResult
from miai_go.kinds import KINDS as GO_KINDS
from miai_tournaments.kinds import EXECUTOR, FORMAT, STORE

PLUGINS = ("classics", "miai", "go", "miniblind", "rbc", "tournaments")
EVERY = (*KINDS, *GO_KINDS, FORMAT, EXECUTOR, STORE)


def test_all_declared_kinds_are_these() -> None:
    assert set(registry().kinds) == {kind.name for kind in EVERY}


@pytest.mark.parametrize("kind", EVERY, ids=[kind.name for kind in EVERY])
def test_a_factory_that_returns_something_else_is_refused(kind: Kind[Any]) -> None:
    own = Registry().for_plugin("wrong")
    own.kinds[kind.name] = kind
    own.add(kind.name, "a-number", lambda *arguments: 3, summary="")
    context = [object()] * len(kind.context)
    with pytest.raises(PluginLoadError, match=r"returned int, not .*; a defect of the plugin"):
        own.get(kind, "a-number").build(*context, values={})


@pytest.mark.parametrize("kind", EVERY, ids=[kind.name for kind in EVERY])
def test_only_a_kind_that_says_so_may_return_none(kind: Kind[Any]) -> None:
    optional = {"go.adviser", "go.policy-head", "go.value-head"}
    assert (kind.fault(None) is None) == (kind.name in optional)


def test_a_protocol_names_what_is_missing() -> None:
    class Half:
        def new_game(self, seed: int) -> None: ...
        def advance(self, action: int) -> None: ...

    own = Registry().for_plugin("half")
    own.add("search", "half", lambda game, parameters: Half(), summary="")
    with pytest.raises(PluginLoadError, match="it has no close, search"):
        own.get("search", "half").build(object(), values={})
    with pytest.raises(PluginLoadError, match=r"search 'half' of plugin 'half'.*no close, search"):
        own.get(AGENT, "half").build(miai.load_game("tic_tac_toe"), values={})


def test_a_search_that_serves_as_an_agent_follows_the_game() -> None:
    calls: list[object] = []

    class Search:
        def new_game(self, seed: int) -> None:
            calls.append(seed)
            if seed == 9:
                raise ConfigError("weights are missing")

        def advance(self, action: int) -> None:
            calls.append(action)

        def search(self, state: miai.State, *, seconds: float | None = None) -> SearchResult:
            visits = {0: 3, 2: 9, 1: 3, 5: 1, 6: 1, 7: 1}
            values = {2: 0.123456789, 0: -0.5}
            return SearchResult(action=2, value=2 / 3, visits=visits, values=values, pv=(2, 0))

        def ponder(self, state: miai.State, stop: object) -> None:
            calls.append((state.history(), stop))

        def close(self) -> None:
            calls.append("close")

    own = Registry().for_plugin("own")
    own.add("search", "own", lambda game, parameters: Search(), summary="")
    game = miai.load_game("tic_tac_toe")
    agent = own.build(AGENT, "own", game)
    agent.new_game(7, player=0)
    for observation in seen_by(game, 0, [4, 0]):
        agent.observe(observation)
    agent.ponder(stop := lambda: True)
    assert agent.act(ClockReading(control=TimeControl())).statistics == {
        "value": 0.666667,
        "value_unit": "utility",
        "pv": [2, 0],
        "top": [[2, 9, 0.1235], [0, 3, -0.5], [1, 3, 0.0], [5, 1, 0.0], [6, 1, 0.0]],
    }
    agent.close()
    assert calls == [7, 4, 0, ([4, 0], stop), "close"]
    with pytest.raises(AgentUnavailableError, match="weights are missing"):
        agent.new_game(9, player=0)
    for name, message in (
        ("kuhn_poker", "kuhn_poker hides information, which this search cannot handle; ismcts, pi"),
        ("matching_pennies", "players act at once, which this search does not handle; mcts does"),
    ):
        with pytest.raises(AgentUnavailableError, match=message):
            own.build(AGENT, "own", miai.load_game(name))


def test_two_plugins_cannot_declare_one_kind_differently() -> None:
    own = Registry().for_plugin("own")
    own.declare(Kind("own.part", "builtins:str", (), "Parts"))
    own.declare(Kind("own.part", "builtins:str", (), "Parts"))
    own.declare(Kind("own.part", "builtins:int", (), "Parts"))
    assert own.faults is not None
    (fault,) = own.faults
    assert "already declared with factory" in str(fault)
    bare = Registry()
    bare.declare(Kind("own.part", "builtins:str", (), "Parts"))
    with pytest.raises(RegistrationError, match="already declared with factory"):
        bare.declare(Kind("own.part", "builtins:int", (), "Parts"))


def test_public_names_are_listed_and_kept() -> None:
    run_python(
        "import miai, sys\n"
        "assert set(miai.__all__) <= set(dir(miai))\n"
        "assert 'Agent' not in vars(miai) and 'pydantic' not in sys.modules\n"
        "first = miai.Agent\n"
        "assert vars(miai)['Agent'] is first\n"
        "for name in miai.__all__: getattr(miai, name)\n"
        "assert callable(miai.play)\n"
    )


def context_of(component: Component[Any]) -> list[object]:
    """Return what `miai.make` needs: the component's game or, if it serves any, one of these."""
    kind = registry().kind(component.kind)
    games = {"go": "go", "opening-reader": "tic_tac_toe", "belief": "kuhn_poker"}
    name = component.game or games.get(component.kind.partition(".")[0], "tic_tac_toe")
    if component.kind == "game":
        return []
    if component.kind == "belief-search":
        problem = "rbc" if component.name.startswith("rbc") else "mini_rbc"
        return [miai.make("belief-problem", problem)]
    game = miai.load_game(name)
    values = {"player": 1, "universe": Universe(miai.make("belief-problem", "mini_rbc"))}
    others = [9 if part == "size" else values[part] for part in kind.context if part != "game"]
    return [game, *others]


@pytest.mark.parametrize("plugin", with_slow(PLUGINS, *PLUGINS[1:]))
def test_every_component_is_made_by_its_name(plugin: str) -> None:
    """Of kinds whose context is not a tournament, a site or part of a network."""
    inner = {"site", "entrants", "workload", "folder", "shape"}
    kinds = [kind for kind in EVERY if inner.isdisjoint(kind.context)]
    components = [c for k in kinds for c in registry().components(k) if c.plugin == plugin]
    assert components
    for component in components:
        if not component.needs_parameters and component.game != "program":
            result = miai.make(component.kind, component.name, *context_of(component))
            factory = component.load_factory()
            assert not isinstance(factory, type) or type(result) is factory, component.title
            assert registry().kind(component.kind).fault(result) is None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("serch", "mcts"), "no kind of component is called 'serch'. Did you mean 'search'"),
        (("search", "mtcs", TTT), "no search is called 'mtcs' for tic_tac_toe. Did you mean"),
        (("search", "mcts"), r"miai.make\('search', 'mcts', game, \*\*parameters\)"),
        (("search", "mcts", "tic_tac_toe"), r"made by miai.make\('search', 'mcts', game, "),
        (("belief", "sampled", TTT), r"miai.make\('belief', 'sampled', game, player, "),
        (("record-format", "sgf", TTT), "no record-format is called 'sgf' for tic_tac_toe"),
    ],
)
def test_what_cannot_be_made_says_how_it_is_made(words: tuple[Any, ...], message: str) -> None:
    with pytest.raises(PluginError, match=message):
        miai.make(*words)
    with pytest.raises(ParameterError, match=r"simulatons.*simulations"):
        miai.make("search", "mcts", TTT, simulatons=3)
    assert miai.make("agent", "mcts", TTT, simulations=3, seed=4).default_seed == 4
