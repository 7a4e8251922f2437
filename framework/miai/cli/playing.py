"""``miai play``: one game in the terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, cast

import typer

if TYPE_CHECKING:
    from miai.agent import Agent
    from miai.cli.players import PlayerOptions
    from miai.game import Game, State
    from miai.record import GameRecord, MoveRecord
    from miai.search.protocol import Search


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
    adviser: Annotated[
        str,
        typer.Option(
            metavar="SEARCH",
            help="Search that a person may ask for hints; by default the opponent's, or mcts.",
        ),
    ] = "",
) -> None:
    """Play one game here, with an agent for each player.

    Players are named as the game names them: `miai play go --black human --white mcts`. Their
    parameters follow a dot: `--white.simulations 5000`. A player that is not named is `human`.
    """
    from miai.api import load_game
    from miai.cli.players import parse_players
    from miai.cli.saving import writer_to
    from miai.cli.values import parse_assignment
    from miai.record import Termination

    game = load_game(game_name, **dict(parse_assignment(text) for text in settings or []))
    known = [option for parameter in context.command.params for option in parameter.opts]
    players = parse_players(game, context.args, known=known)
    writer = writer_to(game, record) if record else None
    advise = _adviser(game, players, adviser)
    agents = [player.make_agent(game) for player in players]
    shown = _Shown(quiet=quiet, human=any(player.agent == "human" for player in players))
    result = _played(game, agents, seed=seed, shown=shown, adviser=advise)
    never_began = result.termination == Termination.UNAVAILABLE and not result.moves
    if never_began and result.loser is not None:
        raise players[result.loser].unavailable(result.detail)
    shown.show_end()
    print(_result(game, result))
    if writer:
        writer(result)
        print(f"written to {record}")


def _adviser(
    game: Game, players: Sequence[PlayerOptions], name: str
) -> Callable[[], Search] | None:
    """Return what makes the search that people may ask; None where they may not.

    It is one of its own, by the same parameters where an opponent plays by it, so that asking does
    not change how the opponent plays.

    Raises:
      MiaiError: no search has the name, or the game hides information.
    """
    from miai.errors import HiddenInformationError
    from miai.plugins.loader import registry

    if not game.info.perfect_information:
        if name:
            raise HiddenInformationError(
                f"--adviser {name}: {game.info.name} hides information; no search may look at it"
            )
        return None
    searches = {component.name for component in registry().components("search")}
    playing = next((p for p in players if p.agent in searches and name in ("", p.agent)), None)
    chosen = playing.agent if playing else name or "mcts"
    component = registry().get("search", chosen, game=game.info.name)
    values = playing.values if playing else {}
    return lambda: cast("Search", component.build(game, values=values))


def _played(
    game: Game,
    agents: Sequence[Agent],
    *,
    seed: int,
    shown: _Shown,
    adviser: Callable[[], Search] | None,
) -> GameRecord:
    """Return the record of the game.

    Raises:
      PluginError: the game itself failed.
      OSError: the moves cannot be printed.
    """
    from miai.cli.people import Table
    from miai.cli.saving import save_unfinished
    from miai.errors import MiaiError, PluginError
    from miai.plugins.loader import registry

    table = Table(
        game, agents, note=shown.note, save=partial(save_unfinished, game), adviser=adviser
    )
    try:
        return table.play(seed=seed)
    except (MiaiError, OSError):
        raise
    except Exception as error:  # what agents raise ends the game with a record
        name = game.info.name
        plugin = registry().get("game", name).plugin
        raise PluginError(
            f"game '{name}' of plugin '{plugin}' failed, so there is no result: "
            f"{type(error).__name__}: {error}; a defect of the plugin: tell its author, with what "
            "MIAI_TRACEBACK=1 shows"
        ) from error


class _Shown:
    """Shows a game as it goes on, unless a person plays or nothing is to be shown."""

    def __init__(self, *, quiet: bool, human: bool) -> None:
        self._moves = not quiet and not human
        self._end = not quiet and human
        self._last: State | None = None

    def note(self, state: State, move: MoveRecord) -> None:
        """Take in a move and the state after it."""
        self._last = state
        if self._moves:
            _show_move(state, move)

    def show_end(self) -> None:
        """Show a person who was not shown everything what there was."""
        state = self._last
        if self._end and state is not None and not state.game.info.perfect_information:
            print(f"All there was:\n{state}")


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
