"""``miai play``: one game in the terminal.

The players are options named by the game: ``--black mcts --black.simulations 5000``.
"""

from __future__ import annotations

import os
import re
import secrets
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from miai.errors import AgentUnavailableError, ConfigError, near_matches
from miai.plain import listed, parse_value
from miai.plugins.kinds import AGENT, GAME, SEARCH

if TYPE_CHECKING:
    from miai.agent import Agent
    from miai.game import Game, State
    from miai.playing.match import Seat
    from miai.record import GameRecord, MoveRecord
    from miai.search.protocol import Search


_SEED_BITS = 48

GameName = Annotated[str, typer.Argument(metavar="GAME", help="Name of the game, or its program.")]
GameSettings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="Set a parameter of the game; may be repeated."
    ),
]
SeedNumber = Annotated[
    int | None,
    typer.Option(help="Seed of the agents and of chance (default: a new one, printed at the end)."),
]
RecordFile = Annotated[
    str, typer.Option(metavar="FILE", help="Write the game; the suffix selects the format.")
]
ReplayFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        dir_okay=False,
        help="Write a page that shows the game (default: for people at a terminal, one in the "
        "user's data folder).",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Show only the result.")]
AdviserName = Annotated[
    str,
    typer.Option(
        metavar="AGENT",
        help="Agent that gives hints (default: the strongest that is installed).",
    ),
]


def add_commands(app: typer.Typer) -> None:
    """Add the command to the command line."""
    settings = {"allow_extra_args": True, "ignore_unknown_options": True}
    app.command("play", context_settings=settings)(play)


def play(
    context: typer.Context,
    game_name: GameName,
    settings: GameSettings = None,
    seed: SeedNumber = None,
    record: RecordFile = "",
    replay: ReplayFile = None,
    quiet: Quiet = False,
    adviser: AdviserName = "",
) -> None:
    """Play one game in the terminal.

    Each player of the game is an option: `miai play go --black human --white mcts`. Its parameters
    follow a dot: `--white.simulations 5000`. A path is a program: `--white "./bot --level 3"`, and
    the game may be one, too: `miai play ./nim.js`. A class of a Python file plays as well:
    `--white ./my_agent.py:MyAgent`. The default agent is `human`.

    In a game that hides information a person sees only what its player observes, until the game is
    over. Several people there, or where players act at once, have their turns on a screen that
    vanishes with what was typed. A game between agents shows the true positions.
    """
    from miai.api import load_game
    from miai.record import ending_text

    game_name, parameters = game_of(game_name, settings or [])
    game = load_game(game_name, **parameters)
    options = [option for parameter in context.command.params for option in parameter.opts]
    players = parse_players(game, context.args, known=options)
    writer = writer_to(game, record) if record else None
    drawn = secrets.randbits(_SEED_BITS) if seed is None else seed
    people = any(player.agent == "human" for player in players)
    display = _GameDisplay(quiet=quiet, human=people)
    result = _play_game(game, parameters, players, seed=drawn, display=display, adviser=adviser)
    print("The game is over: " * people + ending_text(result, game))
    display.show_end()
    if seed is None and not quiet:
        print(f"--seed {drawn} plays with the same chance and the same agents again.")
    if writer:
        writer(result)
        print(f"written to {record}")
    if replay or (people and not quiet and sys.stdin.isatty() and sys.stdout.isatty()):
        _write_replay(result, replay)


def game_of(name: str, settings: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """Return the name and the parameters of a game on the command line; a path is a program.

    Raises `ConfigError` for a setting that is none.
    """
    from miai.parameters import TYPED, set_parameter
    from miai.plain import parse_assignment
    from miai.plugins.loader import registry

    parameters = dict[str, Any]()
    for text in settings:
        path, value = parse_assignment(text)
        set_parameter(parameters, path, value, where="--set ")
        TYPED.add(str(value))
    if "/" not in name:  # no game has such a name
        registry().refuse_file(GAME, name, write="{}")
        return name, parameters
    if "command" in parameters:
        raise ConfigError(f"--set command: the program {name} is the command")
    from miai.process.program_game import program_game

    return program_game({**parameters, "program": name})


def _write_replay(record: GameRecord, path: Path | None) -> None:
    from miai.files import user_data, write_text, writing
    from miai.pages.replay_page import replay_page

    if path is None:
        day = datetime.now().astimezone().date().isoformat()
        path = user_data() / "games" / f"{day}-{record.game}-{record.seed:x}.html"
    with writing(path, ConfigError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, replay_page(record, path.stem))
    print(f"replay: {path}")


def _adviser(
    game: Game, players: Sequence[PlayerOptions], name: str
) -> Callable[[], Search] | None:
    """Return a factory of the search for hints; None in games that hide information.

    It is that of the strongest agent, never the opponent, unless a name is given.
    """
    from miai.api import analyst_of
    from miai.plugins.loader import registry

    if not game.info.perfect_information:
        return None
    best = analyst_of(game)
    search, values = best.agent, best.parameters
    if name:
        playing = (player.values for player in players if player.agent == name)
        search, values = name, next(playing, {})
    elif search not in {component.name for component in registry().components("search")}:
        search, values = "mcts", {}
    component = registry().get(SEARCH, search, game=game.info.name)
    return lambda: component.build(game, values=values)


def _blind_adviser(
    game: Game, settings: Mapping[str, Any], players: Sequence[PlayerOptions], name: str
) -> tuple[str, Callable[[], Seat]] | None:
    """Return the agent for hints in a game that hides information, which has its own process."""
    from miai.api import analyst_of
    from miai.plugins.loader import registry
    from miai.process.agent_process import AgentProcess

    if game.info.perfect_information:
        return None
    playing = {player.agent: player.values for player in players}
    if name:
        values = playing.get(name, {})
        agent = registry().get(AGENT, name, game=game.info.name).build(game, values=values)
        agent.close()  # it would play: a search that needs the whole position refuses
        return name, lambda: AgentProcess(game.info.name, settings, name, values, name=name)
    best = analyst_of(game)
    found = best.agent, best.parameters
    return best.agent, lambda: AgentProcess(game.info.name, settings, *found, name=best.agent)


def _play_game(
    game: Game,
    parameters: Mapping[str, Any],
    players: Sequence[PlayerOptions],
    *,
    seed: int,
    display: _GameDisplay,
    adviser: str,
) -> GameRecord:
    """Return the record of the game.

    Raises `PluginError` if the game itself fails, `AgentUnavailableError` if it cannot begin.
    """
    from miai.cli.people import PlaySession
    from miai.errors import MiaiError, PluginError
    from miai.plugins.loader import registry
    from miai.record import Termination

    # Before the agents, which may take seconds to build: a wrong name of the adviser is told first.
    advise = _adviser(game, players, adviser)
    blind = _blind_adviser(game, parameters, players, adviser)
    table = PlaySession(
        game,
        [player.make_agent(game) for player in players],
        note=display.note,
        save=partial(save_unfinished, game),
        adviser=advise,
        blind_adviser=blind,
    )
    try:
        record = table.play(seed=seed)
    except (MiaiError, OSError):
        raise
    except Exception as error:  # of the game: an agent's error ends it with a record
        name = game.info.name
        plugin = registry().get("game", name).plugin
        raise PluginError(
            f"game '{name}' of plugin '{plugin}' failed, so there is no result: "
            f"{type(error).__name__}: {error}; a defect of the plugin: please report it to its "
            "author, with the traceback that MIAI_TRACEBACK=1 shows"
        ) from error
    finally:
        table.close()
    never_began = record.termination == Termination.UNAVAILABLE and not record.moves
    if never_began and record.loser is not None:
        raise players[record.loser].unavailable(record.detail)
    return record


class _GameDisplay:
    """Shows the moves of a game between agents, and the end of a game with people."""

    def __init__(self, *, quiet: bool, human: bool) -> None:
        self._moves = not quiet and not human
        self._end = not quiet and human
        self._last: State | None = None

    def note(self, state: State, move: MoveRecord) -> None:
        """Show a move and the state after it."""
        from miai.api import renderer_for
        from miai.cli.people import show_position
        from miai.information import PlayerView

        self._last, info = state, state.game.info
        if not self._moves:
            return
        actor = "chance" if move.actor < 0 else info.player_names[move.actor]
        seconds = "" if move.seconds is None else f"  ({move.seconds:.2f} s)"
        print(f"{move.ply + 1:3}. {actor} {move.text}{seconds}")
        if state.pending_actions():
            return  # the others act at the same time
        if info.perfect_information:
            show_position(renderer_for(state.game), PlayerView.at(state, 0), sys.stdout)
        else:
            print(state)

    def show_end(self) -> None:
        """Show a person the full final position of a game that hides information."""
        state = self._last
        if self._end and state is not None and not state.game.info.perfect_information:
            print(f"The full position:\n{state}")


DEFAULT_AGENT = "human"

_MOST_PLAYERS = 5  # in the example of a command


@dataclass(slots=True)
class PlayerOptions:
    """The command-line options for one player.

    Attributes:
      player: its name in the game.
      agent: name of its agent; empty until an option names one.
      values: the agent's parameters.
      texts: the options as written.
    """

    player: str
    agent: str = ""
    values: dict[str, Any] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)

    def make_agent(self, game: Game) -> Agent:
        """Return the agent, in this process. Raises `MiaiError`, which names the options."""
        from miai.api import make_agent
        from miai.plugins.loader import registry

        component = registry().get("agent", self.agent, game=game.info.name)
        if self.values and not component.load_parameters().model_fields:
            raise ConfigError(f"{self.texts[-1]}: agent '{self.agent}' takes no parameters")
        filled = component.fill(self.values, where=f"--{self.player}")
        registry().check_named(filled, game.info.name, where=f"--{self.player}")
        try:
            return make_agent(self.agent, game, **self.values)
        except AgentUnavailableError as error:
            raise self.unavailable(str(error)) from error

    def unavailable(self, reason: str) -> AgentUnavailableError:
        """Return the error that names the options of an unavailable agent."""
        options = " ".join(self.texts) or f"--{self.player} {self.agent}"
        return AgentUnavailableError(f"{options}: {reason}")


def parse_players(
    game: Game, words: Sequence[str], *, known: Iterable[str] = ()
) -> list[PlayerOptions]:
    """Return the options of each player of a game, parsed from the words of a command line.

    `known` are the command's other options, for near matches. Raises `ConfigError`.
    """
    from miai.parameters import set_parameter
    from miai.plugins import agent_files
    from miai.plugins.loader import registry

    players = {name: PlayerOptions(name) for name in game.info.player_names}
    for option, text in _pairs(game, words, known=known):
        name, _, parameter = option.removeprefix("--").partition(".")
        player = players[name]
        if parameter:
            path = parameter.replace("-", "_")
            set_parameter(player.values, path, parse_value(text), where=f"--{name}.")
        elif "/" in text and not agent_files.split_reference(text):  # no agent has such a name
            if text.endswith(".py") and Path(text).is_file() and not os.access(text, os.X_OK):
                raise ConfigError(
                    f"{option} {text}: name the agent's class too, {text}:CLASS; to run the file "
                    "as a program make it executable"
                )
            if re.fullmatch(r"\S+\.py:\S*", text):
                raise ConfigError(f"{option} {text}: name a class after the colon, FILE.py:CLASS")
            player.agent, player.values["command"] = "program", text
        else:
            file, *arguments = text.split(maxsplit=1) or [text]
            write = f'"{{}} {arguments[0]}"' if arguments else "{}"
            registry().refuse_file(AGENT, file, write=f"{option} {write}")
            player.agent = text
        player.texts.append(f"{option} {text}")
    for player in players.values():
        if reference := agent_files.split_reference(player.agent):
            player.agent = agent_files.NAME
            player.values = {**reference, "parameters": player.values}
        if player.values and not player.agent:
            raise ConfigError(_without_agent(game, player))
        player.agent = player.agent or DEFAULT_AGENT
    return list(players.values())


def _pairs(game: Game, words: Sequence[str], *, known: Iterable[str]) -> Iterator[tuple[str, str]]:
    names, remaining = game.info.player_names, list[str]()
    for word in reversed(words):
        option, equals, value = word.partition("=")
        remaining += [value, option] if word.startswith("--") and equals else [word]
    while remaining:
        option = remaining.pop()
        if not option.startswith("--"):
            unread = [option, *reversed(remaining)]
            # Where agents alone were written, one for each player, the example names them.
            agents = [word for word in unread if not word.startswith("--")]
            line_up = agents if len(agents) == len(unread) == len(names) else []
            raise ConfigError(f"'{option}' names no player. Write: {_usage(game, line_up)}")
        if option.removeprefix("--").partition(".")[0] not in names:
            near = near_matches(option.split(".")[0], [*known, *(f"--{name}" for name in names)])
            raise ConfigError(
                f"unknown option '{option}'; {game.info.title} is played by {listed(names)}. {near}"
            )
        if not remaining or remaining[-1].startswith("--"):
            raise ConfigError(f"option '{option}' needs a value: {_usage(game)}")
        yield option, remaining.pop()


def _without_agent(game: Game, player: PlayerOptions) -> str:
    """Return the error message for a parameter without an agent, with agents that have it."""
    from miai.plugins.loader import registry

    names = set(player.values)
    able = [
        component.name
        for component in registry().components(AGENT, game=game.info.name, adapted=True)
        if names <= set(component.load_parameters().model_fields)
    ]
    options = " ".join(player.texts)
    lead = f"{options}: an agent's parameter, but --{player.player} names no agent"
    if not able:
        return f"{lead}, and no agent has it; see `miai list agents --game {game.info.name}`"
    return f"{lead}. Write: --{player.player} {able[0]} {options}" + (
        f"; {listed(able[1:])} accept it too" if able[1:] else ""
    )


def _usage(game: Game, agents: Sequence[str] = ()) -> str:
    names = game.info.player_names
    opponent = "mcts" if game.info.perfect_information else "random"
    line_up = agents or ["human", *[opponent] * (len(names) - 1)]
    players = [f"--{n} {a}" for n, a in zip(names, line_up, strict=True)]
    if len(players) > _MOST_PLAYERS:
        players = [*players[: _MOST_PLAYERS - 1], "...", players[-1]]
    info = game.info
    name = info.name if info.title == info.name else "..."  # as it was written
    return f"miai play {name} {' '.join(players)}"


def save_unfinished(game: Game, record: GameRecord, file: str) -> str:
    """Write an unfinished game; return a confirmation. Raises `ConfigError`."""
    if Path(file).suffix != ".jsonl":
        record.returns = ()  # only this format can mark the game as unfinished
    writer_to(game, file, option="save")(record)
    return f"written to {file}"


def writer_to(game: Game, file: str, *, option: str = "--record") -> Callable[[GameRecord], None]:
    """Return a function that writes a record to `file`, after checking format and folder.

    Raises `ConfigError`, which names the option, if no format has the suffix or it is not writable.
    """
    from miai.errors import UnknownComponentError
    from miai.files import refuse_unwritable, write_text, writing
    from miai.plugins.loader import registry

    path = Path(file)
    try:
        component = registry().get(
            "record-format", path.suffix.removeprefix("."), game=game.info.name
        )
    except UnknownComponentError as error:
        raise ConfigError(f"{option} {file}: {error}") from error
    refuse_unwritable(path, option)
    format_ = component.build(values={})
    effect = "plays the game again" if option == "--record" else "may do better"
    remedy = f"the same command with another file {effect}"

    def write(record: GameRecord) -> None:
        text = format_.write(record)
        with writing(f"{option} {file}", ConfigError, remedy=remedy):
            write_text(path, text)

    return write
