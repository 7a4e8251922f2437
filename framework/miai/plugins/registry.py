"""The registry: components by kind and name, built from parameters.

A component is a factory and a parameter model. The factory is called with the context of its kind
(see `miai.plugins.kinds`) and the filled model: ``factory(parameters)`` for a game,
``factory(game, parameters)`` for an agent, a search or an evaluator. What it returns is checked
against the type that the kind names.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from miai.errors import (
    MiaiError,
    PluginLoadError,
    RegistrationError,
    UnknownComponentError,
    near_matches,
)
from miai.plugins.kinds import KINDS, Kind, imported

if TYPE_CHECKING:
    from miai.parameters import Parameters

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Component(Generic[T]):
    """One registered component.

    Attributes:
      kind, name: what it is found by. `kind` is a name; the kind may be undeclared.
      factory: import path ``module:attribute`` or the callable itself.
      parameters: the parameter model, by import path or itself; None for no parameters.
      summary: one line for people.
      game: the game it is for; None for any game.
      plugin: name of the plugin that registered it.
      contract: its kind; None while no plugin declares that.
    """

    kind: str
    name: str
    factory: str | Callable[..., Any]
    parameters: str | type[Parameters] | None
    summary: str
    game: str | None
    plugin: str
    contract: Kind[T] | None = None

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

    def build(self, *context: Any, values: Mapping[str, Any], where: str = "") -> T:
        """Return the component built in its context.

        Raises:
          ParameterError: the values do not fit the parameter model.
          PluginLoadError: the component's module cannot be imported, or its factory raises
            anything but a `MiaiError`, or returns something else than its kind says.
        """
        factory, parameters = self.load_factory(), self.fill(values, where=where)
        try:
            built: T = factory(*context, parameters)
        except MiaiError:
            raise
        except Exception as error:
            raise PluginLoadError(
                f"{self.title}: its factory failed: {type(error).__name__}: {error}; a defect of "
                "the plugin, which `miai plugins check` may explain"
            ) from error
        fault = None if self.contract is None else self.contract.fault(built)
        if fault is not None:
            raise PluginLoadError(f"{self.title}: its factory {fault}; a defect of the plugin")
        return built

    def check(self) -> None:
        """Import the component and see whether its factory takes what its kind is given.

        Raises:
          PluginLoadError: it cannot be imported, or the factory cannot be called so.
        """
        factory = self.load_factory()
        self.load_parameters()
        if self.contract is None:
            return
        self._load(self.contract.returns)
        arguments = (*self.contract.context, "parameters")
        try:
            inspect.signature(factory).bind(*arguments)
        except ValueError:  # of compiled code, some of which tells no signature
            return
        except TypeError as error:
            raise PluginLoadError(
                f"{self.title}: {self.factory} cannot be called as factory"
                f"({', '.join(arguments)}): {error}"
            ) from error

    @property
    def title(self) -> str:
        """The component and its plugin, for messages."""
        return f"{self.kind} '{self.name}' of plugin '{self.plugin}'"

    def _load(self, target: Any) -> Any:
        if not isinstance(target, str):
            return target
        try:
            return imported(target)
        except Exception as error:
            raise PluginLoadError(
                f"{self.title}: {target} cannot be imported: {type(error).__name__}: {error}"
            ) from error


@dataclass(slots=True)
class Registry:
    """Components by kind, name and game.

    Attributes:
      kinds: every declared kind, by name.
      broken: name and error of the plugins that could not be loaded.
    """

    kinds: dict[str, Kind[Any]] = field(default_factory=lambda: {k.name: k for k in KINDS})
    broken: dict[str, BaseException] = field(default_factory=dict)
    _components: dict[tuple[str, str, str | None], Component[Any]] = field(default_factory=dict)
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

    def declare(self, kind: Kind[Any]) -> None:
        """Declare a kind of component, named ``plugin.kind``.

        Raises:
          RegistrationError: another plugin declares a kind of that name differently.
        """
        if self.kinds.setdefault(kind.name, kind) != kind:
            raise RegistrationError(
                f"plugin '{self._plugin}': the kind '{kind.name}' is already declared with "
                f"{self.kinds[kind.name].contract}; choose another name"
            )

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
        component: Component[Any] = Component(
            kind, name, factory, parameters, summary, game, self._plugin
        )
        key = (kind, name, game)
        if key in self._components:
            self._refuse_duplicate(component, self._components[key])
        self._components[key] = component

    @overload
    def components(
        self, kind: Kind[T], *, game: str | None = None, adapted: bool = False
    ) -> list[Component[T]]: ...

    @overload
    def components(
        self, kind: str, *, game: str | None = None, adapted: bool = False
    ) -> list[Component[Any]]: ...

    def components(
        self, kind: Kind[Any] | str, *, game: str | None = None, adapted: bool = False
    ) -> list[Component[Any]]:
        """Return the components of a kind by name; with `game`, only those that serve it.

        Args:
          adapted: include components of other kinds that serve as this one through an adapter,
            such as searches, which play as agents.

        Raises:
          UnknownComponentError: no such kind.
        """
        declared = self._kind(kind)
        every = [c for c in self._components.values() if c.kind == declared.name]
        if game is not None:
            special = {c.name for c in every if c.game == game}
            every = [c for c in every if c.game == game or (not c.game and c.name not in special)]
        listed = [replace(component, contract=declared) for component in every]
        if adapted:
            names = {(c.name, c.game) for c in listed}
            for other, adapter in declared.adapters.items():
                for component in self.components(other, game=game):
                    if (component.name, component.game) not in names:
                        listed.append(_adapted(component, declared, adapter))
        return sorted(listed, key=lambda c: (c.name, c.game or ""))

    @overload
    def get(self, kind: Kind[T], name: str, *, game: str | None = None) -> Component[T]: ...

    @overload
    def get(self, kind: str, name: str, *, game: str | None = None) -> Component[Any]: ...

    def get(self, kind: Kind[Any] | str, name: str, *, game: str | None = None) -> Component[Any]:
        """Return a component; one for the game at hand before one for any game.

        A component that is not registered is looked for among the kinds that have an adapter to
        this one: a search plays as an agent under its own name.

        Raises:
          UnknownComponentError: no such kind or name; the message offers near matches and names
            broken plugins, whose first error is chained as the cause.
        """
        declared = self._kind(kind)
        for special in (game, None):
            component = self._components.get((declared.name, name, special))
            if component is not None:
                return replace(component, contract=declared)
        for other, adapter in declared.adapters.items():
            for special in (game, None):
                component = self._components.get((other, name, special))
                if component is not None:
                    component = replace(component, contract=self.kinds[other])
                    return _adapted(component, declared, adapter)
        raise self._unknown(declared, name, game) from next(iter(self.broken.values()), None)

    def build(
        self,
        kind: Kind[T],
        name: str,
        *context: Any,
        values: Mapping[str, Any] | None = None,
        game: str | None = None,
        where: str = "",
    ) -> T:
        """Return a component built in its context. Raises as `get` and `Component.build`."""
        return self.get(kind, name, game=game).build(*context, values=values or {}, where=where)

    def dormant(self) -> list[Component[Any]]:
        """Return the components whose kind no loaded plugin declares."""
        return [c for c in self._components.values() if c.kind not in self.kinds]

    def _kind(self, kind: Kind[Any] | str) -> Kind[Any]:
        name = kind if isinstance(kind, str) else kind.name
        if name not in self.kinds:
            raise UnknownComponentError(
                f"no kind of component is called '{name}'. {near_matches(name, self.kinds)}"
            )
        return self.kinds[name]

    def _unknown(self, kind: Kind[Any], name: str, game: str | None) -> UnknownComponentError:
        known = self.components(kind, game=game, adapted=True)
        message = f"no {kind.name} is called '{name}'" + (f" for {game}" if game else "")
        message += f". {near_matches(name, {c.name for c in known})}"
        if self.broken:
            names = ", ".join(f"'{plugin}'" for plugin in self.broken)
            message += f" Broken plugins may have brought it: {names}; see `miai plugins check`."
        return UnknownComponentError(message)

    def _refuse_duplicate(self, new: Component[Any], old: Component[Any]) -> None:
        scope = f" for game '{new.game}'" if new.game else ""
        raise RegistrationError(
            f"plugin '{new.plugin}': {new.kind} '{new.name}'{scope} is already registered by "
            f"plugin '{old.plugin}'; choose another name or disable one of them with "
            "MIAI_DISABLE_PLUGINS"
        )


def _adapted(component: Component[Any], kind: Kind[T], adapter: str) -> Component[T]:
    """Return a component of another kind as one of `kind`, through an adapter."""

    def factory(*arguments: Any) -> T:
        *context, parameters = arguments
        built = component.load_factory()(*context, parameters)
        fault = None if component.contract is None else component.contract.fault(built)
        if fault is not None:
            raise PluginLoadError(f"{component.title}: its factory {fault}; a defect of the plugin")
        served: T = imported(adapter)(*context, built)
        return served

    return replace(component, kind=kind.name, factory=factory, contract=kind)
