"""Kinds of component: what a factory returns is checked on every build, of every kind."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import miai
import miai.plugins.kinds
from miai.errors import PluginLoadError, RegistrationError, UnknownComponentError
from miai.plugins.kinds import AGENT, KINDS, Kind
from miai.plugins.loader import registry
from miai.plugins.registry import Registry
from miai_go.kinds import KINDS as GO_KINDS
from miai_tournaments.kinds import EXECUTOR, FORMAT, STORE

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


@pytest.mark.parametrize(
    ("kind", "name"),
    [(kind, name) for kind in EVERY for name in kind.moved],
    ids=lambda value: getattr(value, "name", value),
)
def test_a_name_that_is_gone_says_what_to_use(kind: Kind[Any], name: str) -> None:
    assert kind.moved
    with pytest.raises(UnknownComponentError, match=f"{kind.name} '{name}' is (gone|now)"):
        registry().get(kind, name)


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


def test_a_search_that_serves_as_an_agent_is_closed_with_it() -> None:
    closed: list[bool] = []

    class Search:
        def new_game(self, seed: int) -> None: ...
        def advance(self, action: int) -> None: ...
        def search(self, state: object, *, seconds: float | None = None) -> None: ...
        def close(self) -> None:
            closed.append(True)

    own = Registry().for_plugin("own")
    own.add("search", "own", lambda game, parameters: Search(), summary="")
    agent = own.build(AGENT, "own", miai.load_game("tic_tac_toe"))
    agent.close()
    assert closed == [True]


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
    code = (
        "import miai, sys\n"
        "assert set(miai.__all__) <= set(dir(miai))\n"
        "assert 'Agent' not in vars(miai) and 'pydantic' not in sys.modules\n"
        "first = miai.Agent\n"
        "assert vars(miai)['Agent'] is first\n"
        "for name in miai.__all__: getattr(miai, name)\n"
        "assert callable(miai.play)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
