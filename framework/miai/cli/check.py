"""``miai check``: the conformance kit for a game, from the command line."""

from __future__ import annotations

from typing import Annotated

import typer


def add_commands(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("check")(check)


def check(
    game_name: Annotated[
        str, typer.Argument(metavar="GAME", help="Name of the game, or its program.")
    ],
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="Set a parameter of the game; may be repeated."
        ),
    ] = None,
    games: Annotated[int, typer.Option(min=1, help="Random games to play.")] = 20,
    seed: Annotated[int, typer.Option(help="Seed of all that is random in the check.")] = 0,
    worlds: Annotated[
        int, typer.Option(min=1, help="Worlds up to which beliefs are checked.")
    ] = 2000,
) -> None:
    """Check that a game keeps the rules that searches, referee and players rely on.

    Random games are played, and every rule is checked in all their positions. What breaks a rule is
    listed with the actions that lead to it, and the exit status is 2.
    """
    from miai.api import load_game
    from miai.cli.play import game_of
    from miai.testing import check_game

    name, parameters = game_of(game_name, settings or [])
    report = check_game(load_game(name, **parameters), seed=seed, games=games, worlds=worlds)
    beliefs = f", {report.beliefs} beliefs" if report.beliefs else ""
    print(
        f"{report.subject}: no violation in {report.games} games, {report.positions} positions"
        f"{beliefs}"
    )
    for reason in report.skipped:
        print(f"left out: {reason}")
