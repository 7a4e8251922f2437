"""The hooks that a plugin can implement.

A plugin is a module of a distribution with an entry point in the group ``miai``. The module
imports nothing heavy: it names its components by import path, and they are imported when used::

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
"""Marks a function of a plugin module as the implementation of the hook of its name."""


@hookspec
def miai_register(registry: Registry) -> None:
    """Add components and declare kinds. Called once, when plugins are loaded.

    Example::

        @hookimpl
        def miai_register(registry):
            registry.declare(ENCODER)
            registry.add("go.encoder", "oneplane", "miai_go.nets:OnePlane",
                         summary="Own stones 1, theirs -1")
    """


@hookspec
def miai_register_commands(app: typer.Typer) -> None:
    """Add commands to the command line. Called when the ``miai`` command starts.

    Import inside the commands, not beside them: ``miai --help`` calls this too.

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
    """Be told of a finished game, in the process that refereed it. The record is not to be changed.

    An exception raised here is reported as a warning and does not touch the game's result.

    Example::

        @hookimpl
        def miai_game_finished(record):
            print(record.game, record.returns)
    """
