"""Which versions a record names."""

from __future__ import annotations

from importlib.metadata import version

from miai.plugins.versions import versions_of


def test_libraries_that_a_plugin_requires_are_named_with_it() -> None:
    versions = versions_of("go", ["mcts", "random"])
    for name in ("miai", "miai-go", "numba", "numpy"):
        assert versions[name] == version(name)
    assert "numba" not in versions_of("tic_tac_toe", ["mcts"])


def test_unregistered_components_add_nothing() -> None:
    assert versions_of("no_such_game", ["no_such_agent"]).keys() == {"python", "miai", "numpy"}
