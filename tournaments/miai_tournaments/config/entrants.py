"""From the tables ``[[players]]`` to the players: a table with seeds is a team of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from miai.errors import ConfigError, ParameterError, UnknownComponentError
from miai.parameters import Parameters, named_components
from miai.plugins.loader import registry
from miai_tournaments.config.problems import Problems
from miai_tournaments.config.schema import MAX_NAME, MAX_PLAYERS, TournamentConfig
from miai_tournaments.store.rows import PlayerRow

_OWN = frozenset({"name", "agent", "team", "seeds"})


def parameters_of(table: Mapping[str, Any], own: frozenset[str]) -> dict[str, Any]:
    """Return the parameters in a table: its keys but `own`, and those under ``parameters``."""
    rest = {key: value for key, value in table.items() if key not in own | {"parameters"}}
    inner = table.get("parameters", {})
    return {**rest, **inner} if isinstance(inner, dict) else rest


def players_of(table: Mapping[str, Any], game: str, *, where: str) -> list[PlayerRow]:
    """Return the players of one table; several where it has seeds.

    Raises:
      MiaiError: the agent or its parameters are wrong.
    """
    name, team = str(table.get("name")), str(table.get("team") or "")
    values, agent = parameters_of(table, _OWN), table["agent"]
    seeds = table.get("seeds", ())
    if not isinstance(seeds, (list, tuple)) or not seeds:
        return [player(name, agent, values, game, team=team, where=where)]
    own = "seed" in registry().get("agent", agent, game=game).load_parameters().model_fields
    if own and "seed" in values:
        raise ParameterError(f"{where}.seed: comes from seeds; give one of them")
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
    """Return a player.

    Raises:
      MiaiError: there is no such agent for the game, or its parameters are wrong.
    """
    if agent == "human":
        raise ConfigError("a person plays with `miai play`, not in a tournament")
    filled = registry().get("agent", agent, game=game).fill(values, where=where)
    check_named(filled, game, where=where)
    return PlayerRow(
        name=name,
        agent=agent,
        given=filled.model_dump(mode="json", exclude_unset=True),
        parameters=filled.model_dump(mode="json"),
        team=team,
    )


def check_named(filled: Parameters, game: str, *, where: str) -> None:
    """Check the components that an agent's parameters name, and their parameters.

    Raises:
      ParameterError: there is no such component, or its parameters are wrong.
    """
    for field, kind, name, values in named_components(filled):
        try:
            component = registry().get(kind, name, game=game)
        except UnknownComponentError as error:
            raise ParameterError(f"{where}.{field}: {error}") from error
        component.fill(values, where=f"{where}.{field}_parameters")


def names_of(config: TournamentConfig) -> list[tuple[int, str]]:
    """Return the name of each player, with the number of the table that it comes from."""
    return [
        (number, f"{table.name}-s{seed}" if seed is not None else table.name)
        for number, table in enumerate(config.players)
        for seed in table.seeds or (None,)
    ]


def check_names(names: Sequence[tuple[int, str]], problems: Problems) -> None:
    """Check the names of all players, each with the number of the table that it comes from."""
    seen: dict[str, int] = {}
    for number, name in names:
        # Names become parts of file names, and not every file system tells capitals apart.
        first = seen.setdefault(name.casefold(), number)
        if first != number:
            problems.add(
                f"players[{number}].name",
                f"'{name}' is the name of players[{first}] too; names must differ by more than "
                "capitals",
            )
        if len(name) > MAX_NAME:
            problems.add(
                f"players[{number}].name", f"'{name}' is too long; at most {MAX_NAME} characters"
            )
    if len(names) > MAX_PLAYERS:
        problems.add("players", f"are {len(names)} in all; at most {MAX_PLAYERS}")
