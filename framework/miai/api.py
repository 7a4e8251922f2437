"""Games, agents and what else serves a game, by name."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from miai.agent import Agent
from miai.errors import ConfigError, ParameterError, UnknownComponentError
from miai.game import Game
from miai.playing.adjudication import Panel
from miai.playing.opponents import Analyst, Opponent, Opponents
from miai.plugins.kinds import ADJUDICATOR, AGENT, GAME, OPPONENTS, RECORD_FORMAT, RENDERER
from miai.plugins.loader import registry
from miai.record import RecordFormat
from miai.render import PlainRenderer, Renderer

if TYPE_CHECKING:
    from miai.plugins.registry import Component

T = TypeVar("T")

_SIMULATIONS: Final = (10, 100, 1_000)
"""Budgets of the tree searches that play a game without opponents of its own."""
_SOLVABLE: Final = 100
"""Actions times plies of games that alpha-beta searches to their end."""


def load_game(name: str, **parameters: Any) -> Game:
    """Return a game by name: ``miai.load_game("go", board_size=9, komi=7.5)``.

    Raises `PluginError`: the name or a parameter is wrong, or the plugin is broken; and
    `GameFailedError` if the game is a program that cannot be started.
    """
    return registry().build(GAME, name, values=parameters)


def game_names() -> list[str]:
    """Return the names of the games that need no parameters, sorted."""
    games = registry().components(GAME)
    return sorted(component.name for component in games if not component.needs_parameters)


def recorded_game(name: str, parameters: Mapping[str, Any]) -> Game:
    """Return the game of a record or a store, which may be of foreign origin.

    A program that it names, as its rules or as their referee, runs only if this process has started
    it already, by another order, or if the variable ``MIAI_RUN_PROGRAMS`` of the environment is set
    to anything but 0.

    Raises:
      PluginError: the name or a parameter is wrong, or the plugin is broken.
      ConfigError: it names a program that may not run.
    """
    component = registry().get(GAME, name)
    if any(registry().opened(component.fill(parameters), name, where=name, only="program")):
        from miai.process.program_game import has_started

        allowed = os.environ.get("MIAI_RUN_PROGRAMS", "0") not in ("", "0")
        if not (allowed or has_started(parameters)):
            raise ConfigError(
                f"the game '{name}' of the file names a program, which a file may not start; if "
                "you trust it, set MIAI_RUN_PROGRAMS=1 in the environment"
            )
    return component.build(values=parameters)


def make(kind: str, name: str, /, *context: Any, **parameters: Any) -> Any:
    """Return any component: ``miai.make("search", "mcts", game, simulations=100)``.

    Args:
      kind: kind of component, such as ``evaluator``; ``miai list`` names all.
      name: its name.
      context: what its factory takes before the parameters, see `miai.plugins.kinds`: mostly the
        game, of a ``belief`` the player, too. A game that the factory does not take still chooses
        among components of one name: ``miai.make("record-format", "sgf", go)``.
      parameters: its parameters; of an ``agent`` also ``seed``, see `make_agent`.

    Raises:
      PluginError: kind, name, context or a parameter is wrong.
      MiaiError: what the component itself raises, such as `UnsuitableGameError`.
    """
    takes = registry().kind(kind).context
    game = next((given.info.name for given in context if isinstance(given, Game)), None)
    if "game" not in takes:
        context = tuple(given for given in context if not isinstance(given, Game))
    if len(context) != len(takes) or ("game" in takes and game is None):
        call = ", ".join((f"miai.make('{kind}', '{name}'", *takes))
        raise ParameterError(f"this kind of component is made by {call}, **parameters)")
    if kind == AGENT.name:
        return make_agent(name, *context, **parameters)
    return _prepared(registry().get(kind, name, game=game)).build(*context, values=parameters)


def make_agent(name: str, game: Game, *, seed: int | None = None, **parameters: Any) -> Agent:
    """Return an agent in this process: ``miai.make_agent("mcts", game, simulations=1000, seed=1)``.

    The seed is that of each of its games; by default `play` derives one for each game.

    Raises:
      PluginError: the name or a parameter is wrong for the game.
      AgentUnavailableError: an engine, extra or file is missing; the message names it.
    """
    component = _prepared(registry().get(AGENT, name, game=game.info.name))
    agent = component.build(game, values=parameters)
    agent.default_seed, agent.component, agent.settings = seed, name, parameters
    return agent


def _prepared(component: Component[T]) -> Component[T]:
    """Return a component whose kernels are compiled."""
    if component.kernels:
        from miai.process.child import CONFINED
        from miai.process.compilations import prepare

        if CONFINED not in os.environ:  # there nothing could be stored
            prepare(component.kernels)
    return component


def record_format(name: str, game: str) -> RecordFormat:
    """Return a record format for the game of that name. Raises `UnknownComponentError`."""
    component = registry().get(RECORD_FORMAT, name, game=game)
    return component.build(values={})


def renderer_for(game: Game) -> Renderer:
    """Return the game's renderer, or the plain one."""
    name = game.info.name
    try:
        component = registry().get(RENDERER, name, game=name)
    except UnknownComponentError:
        return PlainRenderer()
    return component.build(game, values={})


def make_panel(
    game: Game, rules: Mapping[str, Mapping[str, Any]], *, hold_out: float = 0.0
) -> Panel:
    """Return a panel of adjudicators by name, each with its parameters.

    Raises `PluginError` if a name or a parameter is wrong, `UnsuitableGameError` if an adjudicator
    cannot judge this game.
    """
    components = {name: registry().get(ADJUDICATOR, name, game=game.info.name) for name in rules}
    adjudicators = {
        name: component.build(game, values=rules[name], where=f"adjudication[{name}]")
        for name, component in components.items()
    }
    return Panel(game, adjudicators, hold_out=hold_out)


def opponents_of(game: Game) -> list[Opponent]:
    """Return the opponents of a game that can play here, weakest first.

    A game without opponents of its own has random moves, and tree searches of growing budgets.
    """
    known = _opponents(game)
    ranks: Sequence[Opponent] = list(_default(game)) if known is None else known.ranks
    return [opponent for opponent in ranks if _is_registered(opponent, game.info.name)]


def analyst_of(game: Game) -> Analyst:
    """Return who judges games of this game and board.

    Where no plugin names one it is alpha-beta if the game is small enough to be searched to its
    end, else a tree search, over a belief if the game hides information.
    """
    known = _opponents(game)
    named = None if known is None else known.analyst
    if named is not None and _is_registered(named, game.info.name):
        return named
    info, size = game.info, game.num_distinct_actions() * game.max_game_length()
    turns = info.perfect_information and not (info.simultaneous or info.max_chance_outcomes)
    if turns and info.num_players == 2 and info.utility_sum is not None and size <= _SOLVABLE:
        return Analyst(agent="alpha-beta", parameters={"nodes": 0}, budget="nodes")
    return Analyst(agent=_tree_search(game), parameters={"simulations": _SIMULATIONS[-1]})


def _opponents(game: Game) -> Opponents | None:
    name = game.info.name
    try:
        component = registry().get(OPPONENTS, name, game=name)
    except UnknownComponentError:
        return None
    return component.build(game, values={})


def _tree_search(game: Game) -> str:
    return "mcts" if game.info.perfect_information else "ismcts"


def _default(game: Game) -> Iterator[Opponent]:
    yield Opponent(name="random", agent="random", summary="random moves")
    search = _tree_search(game)
    for simulations in _SIMULATIONS:
        yield Opponent(
            name=f"{search}-{simulations}",
            agent=search,
            parameters={"simulations": simulations},
            summary=f"{search}, {simulations:,} simulations per move",
        )


def _is_registered(opponent: Opponent | Analyst, game: str) -> bool:
    try:
        registry().get(AGENT, opponent.agent, game=game)
    except UnknownComponentError:
        return False
    return True
