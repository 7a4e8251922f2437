"""The registry: components by kind and name, built from parameters.

A component is a factory and a parameter model. The factory is called with the context of its kind
(see `KINDS`) and the filled model: ``factory(parameters)`` for a game,
``factory(game, parameters)`` for an agent, a search or an evaluator.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from miai.errors import (
    MiaiError,
    PluginLoadError,
    RegistrationError,
    UnknownComponentError,
    near_matches,
)

if TYPE_CHECKING:
    from miai.parameters import Parameters


KINDS: Mapping[str, str] = {
    "game": "A game; factory(parameters) -> miai.Game",
    "agent": "A player; factory(game, parameters) -> miai.Agent",
    "search": "A search, which also plays as an agent; factory(game, parameters) -> "
    "miai.search.Search",
    "evaluator": "Values and priors of states; factory(game, parameters) -> miai.search.Evaluator",
    "belief": "A set of possible worlds; factory(game, player, parameters) -> miai.BeliefState",
    "record-format": "A file format of game records; factory(parameters) -> "
    "miai.record.RecordFormat",
    "opening-reader": "Reads openings from a file; factory(game, parameters) -> "
    "miai.playing.openings.OpeningReader",
    "adjudicator": "Decides games before their end; factory(game, parameters) -> "
    "miai.playing.adjudication.Adjudicator",
    "renderer": "Shows a state to people; factory(game, parameters) -> miai.render.Renderer",
    "belief-problem": "A game for searches over beliefs, with roots; factory(parameters) -> "
    "miai.beliefs.RootedProblem",
    "belief-search": "A search over beliefs; factory(problem, parameters) -> "
    "miai.beliefs.BeliefSearcher",
    "bounds": "Bounds on the values of beliefs; factory(universe, parameters) -> "
    "miai.beliefs.bounds.Bounds",
    "tournament-format": "Who meets whom in a tournament; factory(entrants, parameters) -> "
    "miai_tournaments.formats.format.Format",
    "retention": "Which remembered beliefs are kept; factory(parameters) -> "
    "miai.beliefs.retention.Retention",
}
"""The kinds that the framework itself declares, with what their factories take and return."""

_ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    kind: tuple(summary.partition("factory(")[2].partition(")")[0].split(", "))
    for kind, summary in KINDS.items()
}


@dataclass(frozen=True, slots=True)
class Component:
    """One registered component.

    Attributes:
      kind, name: what it is found by.
      factory: import path ``module:attribute`` or the callable itself.
      parameters: the parameter model, by import path or itself; None for no parameters.
      summary: one line for people.
      game: the game it is for; None for any game.
      plugin: name of the plugin that registered it.
    """

    kind: str
    name: str
    factory: str | Callable[..., Any]
    parameters: str | type[Parameters] | None
    summary: str
    game: str | None
    plugin: str

    def load_factory(self) -> Callable[..., Any]:
        """Return the factory, imported now. Raises `PluginLoadError` when that fails."""
        loaded: Callable[..., Any] = self._load(self.factory)
        return loaded

    def load_parameters(self) -> type[Parameters]:
        """Return the parameter model, imported now. Raises `PluginLoadError` on failure."""
        from miai.parameters import Parameters

        if self.parameters is None:
            return Parameters
        model: type[Parameters] = self._load(self.parameters)
        return model

    def fill(self, values: Mapping[str, Any], *, where: str = "") -> Parameters:
        """Return the parameter model filled with values. Raises `ParameterError`."""
        from miai.parameters import build_parameters

        return build_parameters(
            self.load_parameters(), values, where=where or f"{self.kind} '{self.name}'"
        )

    def build(self, *context: Any, values: Mapping[str, Any], where: str = "") -> Any:
        """Return the component built in its context.

        Raises:
          ParameterError: the values do not fit the parameter model.
          PluginLoadError: the component's module cannot be imported, or its factory raises
            anything but a `MiaiError`.
        """
        factory, parameters = self.load_factory(), self.fill(values, where=where)
        try:
            return factory(*context, parameters)
        except MiaiError:
            raise
        except Exception as error:
            raise PluginLoadError(
                f"{self._title}: its factory failed: {type(error).__name__}: {error}; a defect of "
                "the plugin, which `miai plugins check` may explain"
            ) from error

    def check(self) -> None:
        """Import the component and see whether its factory takes what its kind is given.

        Raises:
          PluginLoadError: it cannot be imported, or the factory cannot be called so.
        """
        factory = self.load_factory()
        self.load_parameters()
        arguments = _ARGUMENTS.get(self.kind)
        if arguments is None:
            return
        try:
            inspect.signature(factory).bind(*arguments)
        except ValueError:  # of compiled code, some of which tells no signature
            return
        except TypeError as error:
            raise PluginLoadError(
                f"{self._title}: {self.factory} cannot be called as factory"
                f"({', '.join(arguments)}): {error}"
            ) from error

    @property
    def _title(self) -> str:
        return f"{self.kind} '{self.name}' of plugin '{self.plugin}'"

    def _load(self, target: Any) -> Any:
        if not isinstance(target, str):
            return target
        module, _, attribute = target.partition(":")
        try:
            loaded: Any = importlib.import_module(module)
            for part in attribute.split("."):
                loaded = getattr(loaded, part)
        except Exception as error:
            raise PluginLoadError(
                f"{self._title}: {target} cannot be imported: {type(error).__name__}: {error}"
            ) from error
        return loaded


@dataclass(slots=True)
class Registry:
    """Components by kind, name and game.

    Attributes:
      kinds: summary of every declared kind.
      broken: name and error of the plugins that could not be loaded.
    """

    kinds: dict[str, str] = field(default_factory=lambda: dict(KINDS))
    broken: dict[str, BaseException] = field(default_factory=dict)
    _components: dict[tuple[str, str, str | None], Component] = field(default_factory=dict)
    _plugin: str = "miai"

    def for_plugin(self, plugin: str) -> Registry:
        """Return a registry that notes `plugin` on what is added; nothing is shared with this one.

        The loader merges it with `merge` when the plugin has registered without an error, so a
        plugin that fails halfway leaves nothing behind.
        """
        return Registry(kinds=dict(self.kinds), _plugin=plugin)

    def merge(self, other: Registry) -> None:
        """Take over all kinds and components of `other`, or none of them.

        Raises:
          RegistrationError: the name of a component is taken.
        """
        for key, component in other._components.items():
            if key in self._components:
                self._refuse_duplicate(component, self._components[key])
        self.kinds.update(other.kinds)
        self._components.update(other._components)

    def declare_kind(self, kind: str, *, summary: str) -> None:
        """Declare a kind of component, named ``plugin.kind``."""
        self.kinds.setdefault(kind, summary)

    def add(
        self,
        kind: str,
        name: str,
        factory: str | Callable[..., Any],
        *,
        summary: str,
        parameters: str | type[Parameters] | None = None,
        game: str | None = None,
    ) -> None:
        """Add a component.

        Args:
          kind: a declared kind; a kind of another plugin may be filled too.
          name: its name, unique in its kind (and game).
          factory: import path ``module:attribute``, imported on first use, or a callable.
          summary: one line for `miai list`.
          parameters: a `miai.Parameters` subclass or its import path; None for no parameters.
          game: the one game it is for. A component for the game at hand wins over one for any.

        A component of a kind that belongs to a plugin which is not loaded stays dormant.

        Raises:
          RegistrationError: the name is taken, or the framework declares no such kind.
        """
        if "." not in kind and kind not in self.kinds:
            raise RegistrationError(
                f"plugin '{self._plugin}': '{name}' is of kind '{kind}', which nobody declares. "
                f"{near_matches(kind, self.kinds)} A plugin's own kinds are named plugin.kind."
            )
        component = Component(kind, name, factory, parameters, summary, game, self._plugin)
        key = (kind, name, game)
        if key in self._components:
            self._refuse_duplicate(component, self._components[key])
        self._components[key] = component

    def components(self, kind: str, *, game: str | None = None) -> list[Component]:
        """Return the components of a kind by name; with `game`, only those that serve it.

        Raises:
          UnknownComponentError: no such kind.
        """
        if kind not in self.kinds:
            raise UnknownComponentError(
                f"no kind of component is called '{kind}'. {near_matches(kind, self.kinds)}"
            )
        found = [c for c in self._components.values() if c.kind == kind]
        if game is not None:
            special = {c.name for c in found if c.game == game}
            found = [c for c in found if c.game == game or (not c.game and c.name not in special)]
        return sorted(found, key=lambda c: (c.name, c.game or ""))

    def get(self, kind: str, name: str, *, game: str | None = None) -> Component:
        """Return a component; one for the game at hand before one for any game.

        An agent that is not registered is looked for among the searches: a search plays under its
        own name.

        Raises:
          UnknownComponentError: no such kind or name; the message offers near matches and names
            broken plugins, whose first error is chained as the cause.
        """
        for candidate in ("agent", "search") if kind == "agent" else (kind,):
            for special in (game, None):
                component = self._components.get((candidate, name, special))
                if component is not None:
                    return component if candidate == kind else _as_agent(component)
        raise self._unknown(kind, name, game) from next(iter(self.broken.values()), None)

    def dormant(self) -> list[Component]:
        """Return the components whose kind no loaded plugin declares."""
        return [c for c in self._components.values() if c.kind not in self.kinds]

    def agents(self, *, game: str | None = None) -> list[Component]:
        """Return all that can play: agents, and searches under their own names."""
        found = self.components("agent", game=game)
        names = {(c.name, c.game) for c in found}
        found += [
            _as_agent(c)
            for c in self.components("search", game=game)
            if (c.name, c.game) not in names
        ]
        return sorted(found, key=lambda c: (c.name, c.game or ""))

    def _unknown(self, kind: str, name: str, game: str | None) -> UnknownComponentError:
        known = self.agents(game=game) if kind == "agent" else self.components(kind, game=game)
        message = f"no {kind} is called '{name}'" + (f" for {game}" if game else "")
        message += f". {near_matches(name, {c.name for c in known})}"
        if self.broken:
            names = ", ".join(f"'{plugin}'" for plugin in self.broken)
            message += f" Broken plugins may have brought it: {names}; see `miai plugins check`."
        return UnknownComponentError(message)

    def _refuse_duplicate(self, new: Component, old: Component) -> None:
        scope = f" for game '{new.game}'" if new.game else ""
        raise RegistrationError(
            f"plugin '{new.plugin}': {new.kind} '{new.name}'{scope} is already registered by "
            f"plugin '{old.plugin}'; choose another name or disable one of them with "
            "MIAI_DISABLE_PLUGINS"
        )


def _as_agent(search: Component) -> Component:
    """Return the agent that plays by a search."""

    def factory(game: Any, parameters: Any) -> Any:
        from miai.search.agent import SearchAgent

        return SearchAgent(game, search.load_factory()(game, parameters))

    return replace(search, kind="agent", factory=factory)
