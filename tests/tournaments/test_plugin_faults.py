"""A plugin's executor or store that fails is one line that names it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from miai.errors import PluginError
from miai.plugins.loader import registry
from miai_tournaments.api import run_tournament
from miai_tournaments.workers.executor import SerialExecutor
from miai_tournaments.workers.jobs import JobOutcome

CONFIG = {
    "tournament": {"name": "t", "seed": 7, "rounds": 1},
    "game": {"name": "tic_tac_toe"},
    "players": [{"name": name, "agent": "random"} for name in ("ann", "bob")],
}


@pytest.fixture
def add(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Any], None]:
    """Register a component for the test."""
    monkeypatch.setattr(registry(), "_components", dict(registry()._components))
    return lambda kind, made: registry().add(kind, "flawed", made, summary="Flawed")


def fail(*_: object, **__: object) -> Any:
    raise OSError("boom")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("__enter__", fail, "OSError: boom"),
        ("__exit__", fail, "OSError: boom"),
        ("submit", fail, "OSError: boom"),
        ("wait", fail, "OSError: boom"),
        ("wait", lambda *_: [None], r"wait\(\) returned None"),
        ("wait", lambda *_: [JobOutcome(job_id="x")], "it has no job 'x'"),
        ("capacity", "many", "capacity is 'many'"),
        ("running", property(fail), "OSError: boom"),
    ],
)
def test_an_executor_that_fails(
    name: str, value: Any, message: str, add: Callable[[str, Any], None], tmp_path: Path
) -> None:
    def made(*context: Any) -> Any:
        executor = SerialExecutor(*context)
        executor.__class__ = type("Flawed", (SerialExecutor,), {name: value})
        executor.__dict__.pop(name, None)
        return executor

    add("executor", made)
    title = "executor 'flawed' of plugin 'miai'"
    with pytest.raises(PluginError, match=f"{title}.* failed: .*{message}"):
        run_tournament(CONFIG, tmp_path / "out", executor="flawed")


@pytest.mark.parametrize("address", [{"a": 1}, {"a": object()}])
def test_a_store_that_fails_leaves_no_address(
    address: Any, add: Callable[[str, Any], None], tmp_path: Path
) -> None:
    methods = dict.fromkeys(("create", "look", "connect"), fail)
    quiet = dict.fromkeys(("check_new", "exists"), lambda _: None)
    flawed = type("Flawed", (), {"path": None, "address": address, **methods, **quiet})
    add("store", lambda *_: flawed())
    with pytest.raises(PluginError, match="store 'flawed' of plugin 'miai' failed: "):
        run_tournament({**CONFIG, "run": {"store": "flawed"}}, tmp_path, executor="serial")
    assert {path.name for path in tmp_path.iterdir()} <= {"lock"}
