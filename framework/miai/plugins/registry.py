"""The registry: components by kind and name, built from parameters.

A component is a factory and a parameter model. The factory is called with the context of its kind
(see `miai.plugins.kinds`) and the filled model: ``factory(parameters)`` for a game,
``factory(game, parameters)`` for an agent, a search or an evaluator.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from miai.errors import (
    MiaiError,
    PluginLoadError,
    RegistrationError,
    UnknownComponentError,
    near_matches,
)
from miai.plugins.kinds import KINDS, Kind, load_path

if TYPE_CHECKING:
    from miai.parameters import Parameters

T = TypeVar("T")


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
      contract: the declared kind, which every build is checked against; None while no loaded
        plugin declares it.
    """

    kind: str
    name: str
    factory: str | Callable[..., Any]
    parameters: str | type[Parameters] | None
    summary: str
    game: str | None
    plugin: str
    contract: Kind[Any] | None = None

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
          PluginLoadError: the component's module cannot be imported, its factory raises anything
            but a `MiaiError`, or it returns something that the kind does not accept.
        """
        self.load_factory()  # before the parameters: its failure explains more
        return self._call(*context, self.fill(values, where=where))

    def _call(self, *arguments: Any) -> Any:
        factory = self.load_factory()
        try:
            built = factory(*arguments)
        except MiaiError:
            raise
        except Exception as error:
            raise PluginLoadError(
                f"{self._title}: its factory failed: {type(error).__name__}: {error}; a defect of "
                "the plugin, which `miai plugins check` may explain"
            ) from error
        if self.contract is not None and not self.contract.accepts(built):
            wanted = self.contract.returns.rpartition(":")[2].rpartition(".")[2]
            raise PluginLoadError(
                f"{self._title}: its factory made a {type(built).__name__}, not "
                f"{'an' if wanted[0] in 'AEIOU' else 'a'} {wanted}; a defect of the plugin"
            )
        return built

    def adapted(self) -> Component:
        """Return the component of the kind that this one's kind serves as."""
        kind = self.contract
        assert kind is not None

        def factory(*arguments: Any) -> Any:
            return load_path(kind.adapter)(*arguments[:-1], self._call(*arguments))

        return replace(self, kind=kind.serves_as, factory=factory, contract=None)

    def check(self) -> None:
        """Import the component and see whether its factory takes what its kind is given.

        Raises:
          PluginLoadError: it cannot be imported, or the factory cannot be called so.
        """
        factory = self.load_factory()
        self.load_parameters()
        if self.contract is None:
            return
        arguments = self.contract.arguments
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
        try:
            return load_path(target)
        except Exception as error:
            raise PluginLoadError(
                f"{self._title}: {target} cannot be imported: {type(error).__name__}: {error}"
            ) from error


@dataclass(slots=True)
class Registry:
    """Components by kind, name and game.

    Attributes:
      kinds: every declared kind by name.
      broken: name and error of the plugins that could not be loaded.
    """

    kinds: dict[str, Kind[Any]] = field(default_factory=lambda: {kind.name: kind for kind in KINDS})
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

    def declare_kind(self, kind: Kind[Any]) -> None:
        """Declare a kind of component, named ``plugin.kind``."""
        self.kinds.setdefault(kind.name, kind)

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
        found = [self._declared(c) for c in self._components.values() if c.kind == kind]
        if game is not None:
            special = {c.name for c in found if c.game == game}
            found = [c for c in found if c.game == game or (not c.game and c.name not in special)]
        return sorted(found, key=lambda c: (c.name, c.game or ""))

    def get(self, kind: str, name: str, *, game: str | None = None) -> Component:
        """Return a component; one for the game at hand before one for any game.

        A name that is not registered is looked up in the kinds that can serve as this one: a
        search plays as an agent under its own name.

        Raises:
          UnknownComponentError: no such kind or name; the message offers near matches and names
            broken plugins, whose first error is chained as the cause.
        """
        for candidate in (kind, *self._substitutes(kind)):
            for special in (game, None):
                component = self._components.get((candidate, name, special))
                if component is not None:
                    return self._serving(component, kind)
        raise self._unknown(kind, name, game) from next(iter(self.broken.values()), None)

    def build(
        self,
        kind: Kind[T],
        name: str,
        *context: Any,
        values: Mapping[str, Any],
        game: str | None = None,
        where: str = "",
    ) -> T:
        """Return the component of a kind and name, built in its context.

        Raises:
          UnknownComponentError, ParameterError, PluginLoadError: see `get` and `Component.build`.
        """
        built: T = self.get(kind.name, name, game=game).build(*context, values=values, where=where)
        return built

    def dormant(self) -> list[Component]:
        """Return the components whose kind no loaded plugin declares."""
        return [c for c in self._components.values() if c.kind not in self.kinds]

    def serving(self, kind: str, *, game: str | None = None) -> list[Component]:
        """Return the components of a kind and those that can serve as one, such as searches."""
        serving = {(c.name, c.game): c for c in self.components(kind, game=game)}
        for substitute in self._substitutes(kind):
            for component in self.components(substitute, game=game):
                serving.setdefault((component.name, component.game), self._serving(component, kind))
        return sorted(serving.values(), key=lambda c: (c.name, c.game or ""))

    def _substitutes(self, kind: str) -> list[str]:
        return [k.name for k in self.kinds.values() if k.serves_as == kind]

    def _declared(self, component: Component) -> Component:
        return replace(component, contract=self.kinds.get(component.kind))

    def _serving(self, component: Component, kind: str) -> Component:
        component = self._declared(component)
        return component if component.kind == kind else self._declared(component.adapted())

    def _unknown(self, kind: str, name: str, game: str | None) -> UnknownComponentError:
        known = self.serving(kind, game=game)
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
