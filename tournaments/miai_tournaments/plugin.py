"""The plugin's entry point: formats, executors, stores, and the commands of tournaments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from miai.plugins.hooks import hookimpl
from miai_tournaments.kinds import EXECUTOR, FORMAT, STORE

if TYPE_CHECKING:
    import typer

    from miai.plugins.registry import Registry


_FORMATS = (
    ("round-robin", "static", "RoundRobin", "Every player meets every other in each round"),
    ("gauntlet", "static", "Gauntlet", "One or a few players meet all others"),
    (
        "match",
        "match",
        "MatchFormat",
        "One player against the others, for a number of pairs or until an SPRT decides",
    ),
    ("swiss", "swiss", "Swiss", "Players with similar points meet in each round"),
    (
        "knockout",
        "knockout",
        "Knockout",
        "The loser of a match is out; seeded by the config's order",
    ),
    (
        "adaptive",
        "adaptive",
        "Adaptive",
        "The pairs that narrow the ratings' intervals most, by Fisher information",
    ),
    ("pairings", "static", "Pairings", "Listed pairings, with weights, colours and settings"),
    (
        "sweep",
        "sweep",
        "SweepFormat",
        "Parameters of one agent: grid, sample or successive halving",
    ),
)

_EXECUTORS = (
    ("processes", "executor:process_executor", None, "Worker processes on this machine"),
    ("serial", "executor:SerialExecutor", None, "One game after the other, in the runner"),
    (
        "ray",
        "ray_executor:ray_executor",
        "ray_executor:RayParameters",
        "Workers that are actors of a Ray cluster",
    ),
)
_STORES = (
    ("sqlite", "sqlite:SqliteDatabase", None, "A file in the run's folder"),
    (
        "postgresql",
        "postgres:PostgresDatabase",
        "postgres:PostgresParameters",
        "A schema of a PostgreSQL database",
    ),
    (
        "postgres",
        "postgres:PostgresDatabase",
        "postgres:PostgresParameters",
        "The same as postgresql, for URLs that begin with postgres://",
    ),
)


@hookimpl
def miai_register(registry: Registry) -> None:
    """Add the formats, executors and stores, and the kinds of config."""
    for kind in (FORMAT, EXECUTOR, STORE):
        registry.declare(kind)
    for name, module, attribute, summary in _FORMATS:
        path = f"miai_tournaments.formats.{module}:{attribute}"
        registry.add(FORMAT.name, name, path, parameters=f"{path}Parameters", summary=summary)
    for kind, package, rows in ((EXECUTOR, "workers", _EXECUTORS), (STORE, "store", _STORES)):
        for name, factory, model, summary in rows:
            registry.add(
                kind.name,
                name,
                f"miai_tournaments.{package}.{factory}",
                parameters=model and f"miai_tournaments.{package}.{model}",
                summary=summary,
            )
    for name, module in (("tournament", "config.load"), ("comparison", "compare.config")):
        path = f"miai_tournaments.{module}:config_file"
        registry.add("config-file", name, path, summary=f"The config of a {name}")
    path = "miai_tournaments.web.runs:Runs"
    registry.add("web-section", "runs", path, summary="Tournaments and comparisons")


@hookimpl
def miai_register_commands(app: typer.Typer) -> None:
    """Add the commands."""
    from miai_tournaments.commands import compare as command
    from miai_tournaments.commands import rate as rating_command
    from miai_tournaments.commands import tournament as commands

    app.add_typer(commands.app, name="tournament")
    app.command("compare")(command.compare)
    app.command("rate")(rating_command.rate)
