"""``miai play``: one game in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from miai.game import Game, State
    from miai.record import GameRecord, MoveRecord


def add_commands(app: typer.Typer) -> None:
    """Add the command to the command line."""
    settings = {"allow_extra_args": True, "ignore_unknown_options": True}
    app.command("play", context_settings=settings)(play)


def play(
    context: typer.Context,
    game_name: Annotated[str, typer.Argument(metavar="GAME", help="Name of the game.")],
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="A parameter of the game; may be repeated."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of agents and chance.")] = 0,
    record: Annotated[
        str, typer.Option(metavar="FILE", help="Write the game; the suffix names the format.")
    ] = "",
    quiet: Annotated[bool, typer.Option("--quiet", help="Show the result only.")] = False,
) -> None:
    """Play one game here, with an agent for each player.

    Players are named as the game names them: `miai play go --black human --white mcts`. Their
    parameters follow a dot: `--white.simulations 5000`. A player that is not named is `human`.
    """
    from miai.api import load_game
    from miai.cli.players import parse_players
    from miai.cli.values import parse_assignment
    from miai.match import play as play_game

    game = load_game(game_name, **dict(parse_assignment(text) for text in settings or []))
    known = [option for parameter in context.command.params for option in parameter.opts]
    players = parse_players(game, context.args, known=known)
    writer = _writer(game, record) if record else None
    agents = [player.make_agent(game) for player in players]
    human = any(player.agent == "human" for player in players)
    show = None if quiet or human else _show_move
    result = play_game(game, agents, seed=seed, on_move=show)
    print(_result(game, result))
    if writer:
        writer(result)


def _writer(game: Game, file: str) -> Any:
    """Return what writes a record to `file`; the format is settled before the game begins."""
    from miai.errors import ConfigError, UnknownComponentError
    from miai.plugins.loader import registry

    path = Path(file)
    try:
        component = registry().get(
            "record-format", path.suffix.removeprefix("."), game=game.info.name
        )
    except UnknownComponentError as error:
        raise ConfigError(f"--record {file}: {error}") from error
    if not path.parent.is_dir():
        raise ConfigError(f"--record {file}: no folder '{path.parent}'; create it first")
    format_ = component.build(values={})

    def write(record: GameRecord) -> None:
        path.write_text(format_.write(record), encoding="utf-8")
        print(f"written to {path}")

    return write


def _show_move(state: State, move: MoveRecord) -> None:
    actor = "chance" if move.actor < 0 else state.game.info.player_names[move.actor]
    seconds = "" if move.seconds is None else f"  ({move.seconds:.2f} s)"
    print(f"{move.ply + 1:3}. {actor} {move.text}{seconds}")
    print(_picture(state))


def _picture(state: State) -> str:
    from miai.information import PlayerView
    from miai.render import renderer_for

    if not state.game.info.perfect_information:
        return str(state)
    return renderer_for(state.game).render(PlayerView.at(state, 0))


def _result(game: Game, record: GameRecord) -> str:
    names = game.info.player_names
    scores = ", ".join(f"{n} {r:+g}" for n, r in zip(names, record.returns, strict=True))
    detail = f" ({record.detail})" if record.detail else ""
    loser = f" by {names[record.loser]}" if record.loser is not None else ""
    return f"{record.termination}{loser}{detail}: {scores}"
