"""The players of a config, and its format; a table ``[[players]]`` with seeds becomes a team."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from miai.errors import ConfigError, ParameterError
from miai.plugins.loader import registry
from miai.plugins.registry import Component
from miai_tournaments.config.mistakes import Mistakes
from miai_tournaments.config.schema import MAX_NAME, MAX_PLAYERS, PLAYER_KEYS, TournamentConfig
from miai_tournaments.formats.format import Entrants, Format
from miai_tournaments.kinds import FORMAT
from miai_tournaments.store.rows import PlayerRow


def parameters_of(table: Mapping[str, Any], own: frozenset[str]) -> dict[str, Any]:
    """Return the parameters in a table: its keys except `own`, and those under ``parameters``."""
    rest = {key: value for key, value in table.items() if key not in own | {"parameters"}}
    inner = table.get("parameters", {})
    return {**rest, **inner} if isinstance(inner, dict) else rest


def players_of(table: Mapping[str, Any], game: str, *, where: str) -> list[PlayerRow]:
    """Return the players of one table: one, or one for each of its seeds.

    Raises:
      MiaiError: the agent or its parameters are wrong.
    """
    name, team = str(table.get("name")), str(table.get("team") or "")
    values, agent = parameters_of(table, PLAYER_KEYS), table["agent"]
    seeds = table.get("seeds", ())
    if not isinstance(seeds, (list, tuple)) or not seeds:
        return [player(name, agent, values, game, team=team, where=where)]
    own = "seed" in registry().get("agent", agent, game=game).load_parameters().model_fields
    if own and "seed" in values:
        raise ParameterError(f"{where}.seed: is also set by seeds; leave one of them out")
    return [
        player(
            f"{name}-s{seed}",
            agent,
            {**values, "seed": seed} if own else values,
            game,
            team=team or name,
            where=where,
        )
        for seed in seeds
    ]


def player(
    name: str, agent: str, values: Mapping[str, Any], game: str, *, team: str, where: str
) -> PlayerRow:
    """Return a player. Raises `MiaiError` if the agent or its parameters are wrong."""
    if agent == "human":
        raise ConfigError("people cannot play in tournaments; use `miai play`")
    filled = registry().get("agent", agent, game=game).fill(values, where=where)
    registry().check_named(filled, game, where=where)
    return PlayerRow(
        name=name,
        agent=agent,
        given=filled.model_dump(mode="json", exclude_unset=True),
        parameters=filled.model_dump(mode="json"),
        team=team,
    )


def names_of(config: TournamentConfig) -> list[tuple[int, str]]:
    """Return the players' names, each with the number of its table."""
    return [
        (number, f"{table.name}-s{seed}" if seed is not None else table.name)
        for number, table in enumerate(config.players)
        for seed in table.seeds or (None,)
    ]


def check_names(names: Sequence[tuple[int, str]], problems: Mistakes) -> None:
    """Check the players' names, each with the number of its table."""
    seen: dict[str, int] = {}
    for number, name in names:
        # Names become parts of file names, and some file systems ignore case.
        first = seen.setdefault(name.casefold(), number)
        if first != number:
            problems.add(
                f"players[{number}].name",
                f"'{name}' is also the name of players[{first}]; names must differ by more than "
                "case",
            )
        if len(name) > MAX_NAME:
            problems.add(
                f"players[{number}].name", f"'{name}' is too long; at most {MAX_NAME} characters"
            )
    if len(names) > MAX_PLAYERS:
        problems.add("players", f"{len(names)} in all, but at most {MAX_PLAYERS} can play")


def format_component(name: str) -> Component[Format]:
    """Return the component of a format. Raises `UnknownComponentError`."""
    return registry().get(FORMAT, name)


def build_format(
    name: str,
    parameters: Mapping[str, Any],
    players: Sequence[PlayerRow],
    *,
    rounds: int,
    seed: int,
    payoff_bound: float | None,
    seats: int,
) -> Format:
    """Return the format of a tournament.

    Args:
      name: name of the component.
      parameters: its parameters in the config.
      players: the players in the order of the config.
      rounds: ``tournament.rounds``.
      seed: seed of the run.
      payoff_bound, seats: see `Entrants`.

    Raises:
      MiaiError: the format does not exist or its plugin is broken, or its parameters are wrong or
        do not suit the players.
    """
    component = format_component(name)
    entrants = Entrants(
        players=tuple(player.name for player in players),
        rounds=rounds,
        seed=seed,
        teams={player.name: player.team for player in players if player.team},
        payoff_bound=payoff_bound,
        seats=seats,
    )
    return component.build(entrants, values=parameters, where="format")
