"""The plugin's entry point: formats, executors, stores, and the commands of tournaments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from miai.plugins.hooks import hookimpl
from miai_tournaments.kinds import EXECUTOR, FORMAT, STORE

if TYPE_CHECKING:
    import typer

    from miai.plugins.registry import Registry

_COMPONENTS = """
miai_tournaments.formats.static
  tournament-format round-robin RoundRobin RoundRobinParameters
    Every player meets every other in each round
  tournament-format gauntlet Gauntlet GauntletParameters
    One or a few players meet all others
  tournament-format pairings Pairings PairingsParameters
    Listed pairings, with weights, colours and settings
miai_tournaments.formats.match
  tournament-format match MatchFormat MatchFormatParameters
    One player against the others, for a number of pairs or until an SPRT decides
miai_tournaments.formats.swiss
  tournament-format swiss Swiss SwissParameters
    Players with similar points meet in each round
miai_tournaments.formats.knockout
  tournament-format knockout Knockout KnockoutParameters
    The loser of a match is out; seeded by the config's order
miai_tournaments.formats.adaptive
  tournament-format adaptive Adaptive AdaptiveParameters
    The pairs that narrow the ratings' intervals most, by Fisher information
miai_tournaments.formats.sweep
  tournament-format sweep SweepFormat SweepFormatParameters
    Parameters of one agent: grid, sample or successive halving
miai_tournaments.workers.executor
  executor processes process_executor
    Worker processes on this machine
  executor serial SerialExecutor
    One game after the other, in the runner
miai_tournaments.workers.ray_executor
  executor ray ray_executor RayParameters
    Workers that are actors of a Ray cluster
miai_tournaments.store.sqlite
  store sqlite SqliteDatabase
    A file in the run's folder
miai_tournaments.store.postgres
  store postgresql PostgresDatabase PostgresParameters
    A schema of a PostgreSQL database
  store postgres PostgresDatabase PostgresParameters
    The same as postgresql, for URLs that begin with postgres://
miai_tournaments.config.load
  config-file tournament config_file
    The config of a tournament
miai_tournaments.compare.config
  config-file comparison config_file
    The config of a comparison
miai_tournaments.web.runs
  web-section runs Runs
    Tournaments and comparisons
"""


@hookimpl
def miai_register(registry: Registry) -> None:
    """Add the formats, executors and stores, and the kinds of config."""
    for kind in (FORMAT, EXECUTOR, STORE):
        registry.declare(kind)
    registry.add_all(_COMPONENTS)


@hookimpl
def miai_register_commands(app: typer.Typer) -> None:
    """Add the commands."""
    from miai_tournaments.commands import compare as command
    from miai_tournaments.commands import rate as rating_command
    from miai_tournaments.commands import tournament as commands

    app.add_typer(commands.app, name="tournament")
    app.command("compare")(command.compare)
    app.command("rate")(rating_command.rate)
