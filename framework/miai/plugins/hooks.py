"""The hooks that a plugin can implement.

A plugin is a module that a distribution names by an entry point of the group ``miai``. It imports
nothing heavy: its components are named by import path and imported on first use::

    # miai_mygame/plugin.py
    from miai import hookimpl

    @hookimpl
    def miai_register(registry):
        registry.add("game", "mygame", "miai_mygame.game:MyGame",
                     parameters="miai_mygame.game:MyParameters", summary="A game of mine")
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    import typer

    from miai.plugins.registry import Registry
    from miai.record import GameRecord


PROJECT = "miai"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)
"""Marks a function of a plugin module as an implementation of the hook of the same name."""


@hookspec
def miai_register(registry: Registry) -> None:
    """Add components and declare kinds. Called once, when plugins are loaded.

    Example::

        @hookimpl
        def miai_register(registry):
            registry.declare(ENCODER)  # a kind of its own, see `miai.plugins.kinds`
            registry.add("go.encoder", "zero", "miai_go.nets.encoders:ZeroEncoder",
                         summary="The planes of AlphaGo Zero")
    """


@hookspec
def miai_register_commands(app: typer.Typer) -> None:
    """Add commands to the command line. Called when the ``miai`` command starts.

    Import heavy modules inside the commands: ``miai --help`` calls this hook too.

    Example::

        @hookimpl
        def miai_register_commands(app):
            @app.command()
            def hello() -> None:
                "Say hello."
                print("hello")
    """


@hookspec
def miai_game_finished(record: GameRecord) -> None:
    """Called after each game, in the process that refereed it. The record must not be changed.

    An exception is reported as a warning and does not affect the game's result.

    Example::

        @hookimpl
        def miai_game_finished(record):
            print(record.game, record.returns)
    """
