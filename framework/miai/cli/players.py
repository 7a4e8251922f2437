"""Who plays in ``miai play``: ``--black mcts --black.simulations 5000``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from miai.cli.values import parse_value
from miai.errors import AgentUnavailableError, ConfigError, near_matches

if TYPE_CHECKING:
    from miai.agent import Agent
    from miai.game import Game

DEFAULT_AGENT = "human"


@dataclass(slots=True)
class PlayerOptions:
    """What the command line says of one player.

    Attributes:
      player: its name in the game.
      agent: the agent that plays; empty while none is named.
      values: the agent's parameters.
      texts: the options as they were written.
    """

    player: str
    agent: str = ""
    values: dict[str, Any] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)

    def make_agent(self, game: Game) -> Agent:
        """Return the agent, in this process.

        Raises:
          MiaiError: there is none of that name, its parameters are wrong or it cannot be had; the
            message names the options.
        """
        from miai.api import make_agent
        from miai.plugins.loader import registry

        component = registry().get("agent", self.agent, game=game.info.name)
        if self.values and not component.load_parameters().model_fields:
            raise ConfigError(f"{self.texts[-1]}: agent '{self.agent}' takes no parameters")
        component.fill(self.values, where=f"--{self.player}")
        try:
            return make_agent(self.agent, game, **self.values)
        except AgentUnavailableError as error:
            raise self.unavailable(str(error)) from error

    def unavailable(self, reason: str) -> AgentUnavailableError:
        """Return the error that names the options whose agent cannot be had."""
        told = " ".join(self.texts) or f"--{self.player} {self.agent}"
        return AgentUnavailableError(f"{told}: {reason}")


def parse_players(
    game: Game, words: Sequence[str], *, known: Iterable[str] = ()
) -> list[PlayerOptions]:
    """Return what the words of a command line say of each player of a game.

    Args:
      known: the command's other options, for near matches.

    Raises:
      ConfigError: an option is unknown or has no value, or a word is no option.
    """
    players = {name: PlayerOptions(name) for name in game.info.player_names}
    for option, text in _pairs(game, words, known=known):
        name, _, parameter = option.removeprefix("--").partition(".")
        player = players[name]
        if parameter:
            player.values[parameter.replace("-", "_")] = parse_value(text)
        else:
            player.agent = text
        player.texts.append(f"{option} {text}")
    for player in players.values():
        if player.values and not player.agent:
            raise ConfigError(_without_agent(game, player))
        player.agent = player.agent or DEFAULT_AGENT
    return list(players.values())


def _pairs(game: Game, words: Sequence[str], *, known: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield options, each of a player of the game, with their values."""
    left = [part for word in words for part in _split_option(word)]
    left.reverse()
    while left:
        option = left.pop()
        if not option.startswith("--"):
            raise ConfigError(_no_option(game, [option, *reversed(left)]))
        if option.removeprefix("--").partition(".")[0] not in game.info.player_names:
            raise ConfigError(_unknown_option(game, option, known))
        if not left or left[-1].startswith("--"):
            raise ConfigError(f"option '{option}' needs a value: {_usage(game)}")
        yield option, left.pop()


def _split_option(word: str) -> list[str]:
    option, equals, value = word.partition("=")
    return [option, value] if word.startswith("--") and equals else [word]


def _no_option(game: Game, words: Sequence[str]) -> str:
    """Return what is wrong with words that should have been options, with their right spelling."""
    names = game.info.player_names
    agents = [word for word in words if not word.startswith("--")]
    wanted = agents if len(agents) == len(words) == len(names) else []
    return f"'{words[0]}' names no player. Write: {_usage(game, wanted)}"


def _unknown_option(game: Game, option: str, known: Iterable[str]) -> str:
    options = [*known, *(f"--{name}" for name in game.info.player_names)]
    return (
        f"unknown option '{option}'; {game.info.name} is played by "
        f"{' and '.join(game.info.player_names)}. {near_matches(option.split('.')[0], options)}"
    )


def _without_agent(game: Game, player: PlayerOptions) -> str:
    """Return whom a parameter may be meant for, where no agent was named."""
    from miai.plugins.loader import registry

    asked = set(player.values)
    able = [
        component.name
        for component in registry().agents(game=game.info.name)
        if asked <= set(component.load_parameters().model_fields)
    ]
    told = " ".join(player.texts)
    lead = f"{told}: an agent's parameter, but --{player.player} names no agent"
    if not able:
        return f"{lead}, and no agent has it; see `miai list agents --game {game.info.name}`"
    return f"{lead}. Write: --{player.player} {able[0]} {told}" + (
        f"; {' and '.join(able[1:])} would take it too" if able[1:] else ""
    )


def _usage(game: Game, agents: Sequence[str] = ()) -> str:
    """Return how the players of a game are named."""
    names = game.info.player_names
    opponent = "mcts" if game.info.perfect_information else "random"
    chosen = agents or ["human", *[opponent] * (len(names) - 1)]
    players = " ".join(f"--{n} {a}" for n, a in zip(names, chosen, strict=True))
    return f"miai play {game.info.name} {players}"
