"""The registry: components by kind and name, built from parameters.

A component is a factory and a parameter model. The factory is called with the context of its kind
(see `miai.plugins.kinds`) and the filled model: ``factory(parameters)`` for a game,
``factory(game, parameters)`` for an agent, a search or an evaluator. What it returns is checked
against the type that the kind names.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from miai.errors import (
    ConfigError,
    MiaiError,
    MissingExtraError,
    ParameterError,
    PluginError,
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
      kind: name of its kind, which may be undeclared.
      name: its name, unique in its kind and game.
      factory: the factory or its import path ``module:attribute``.
      parameters: the parameter model or its import path; None for no parameters.
      summary: one line for people.
      game: the only game it is for; None for any game.
      plugin: name of the plugin that registered it.
      contract: its kind; None while no plugin declares it.
      foreign: whether it runs code that its parameters name, and that nobody trusts.
      kernels: the groups of kernels that it calls, all of them: ``miai_go.kernels:rules``. Empty
        if it has none, or does not say.
    """

    kind: str
    name: str
    factory: str | Callable[..., Any]
    parameters: str | type[Parameters] | None
    summary: str
    game: str | None
    plugin: str
    contract: Kind[T] | None = None
    foreign: bool = False
    kernels: tuple[str, ...] = ()

    def load_factory(self) -> Callable[..., Any]:
        """Import and return the factory.

        Raises:
          MissingExtraError: it needs a library of an extra that is not installed.
          PluginLoadError: it cannot be imported for another reason.
        """
        factory: Callable[..., Any] = self._load(self.factory)
        return factory

    def load_parameters(self) -> type[Parameters]:
        """Import and return the parameter model.

        Raises as `load_factory`, and `PluginLoadError` if it is not a model.
        """
        from miai.parameters import Parameters

        if self.parameters is None:
            return Parameters
        model: object = self._load(self.parameters)
        if not (isinstance(model, type) and issubclass(model, Parameters)):
            raise PluginLoadError(
                f"{self.title}: {self.parameters} is not a model of parameters: derive it from "
                "miai.Parameters"
            )
        return model

    @property
    def needs_parameters(self) -> bool:
        """Whether it has parameters without a default; False if they cannot be loaded."""
        try:
            model = self.load_parameters()
        except PluginError:
            return False
        return any(field.is_required() for field in model.model_fields.values())

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
          MissingExtraError: a library of an extra is not installed.
          PluginLoadError: the module cannot be imported, or the factory fails or returns
            an object of another type than its kind's. A `MiaiError` of the factory passes.
        """
        factory, parameters = self.load_factory(), self.fill(values, where=where)
        try:
            return self.checked(factory(*context, parameters))
        except MiaiError:
            raise
        except Exception as error:
            self._raise_missing_extra(error, str(self.factory))
            raise PluginLoadError(
                f"{self.title}: its factory failed: {type(error).__name__}: {error}; if the "
                "parameters are right, a defect of the plugin: `miai plugins check` may explain it"
            ) from error

    def checked(self, component: Any) -> T:
        """Return what the factory built. Raises `PluginLoadError` if its type is wrong."""
        fault = None if self.contract is None else self.contract.fault(component)
        if fault is not None:
            raise PluginLoadError(f"{self.title}: its factory {fault}; a defect of the plugin")
        result: T = component
        return result

    def defects(self) -> Iterator[PluginError]:
        """Import the component and check the signature of its factory; yield what is wrong.

        A `MissingExtraError` says that a library is not installed, which is no defect.
        """
        factory: Callable[..., Any] | None = None
        try:
            factory = self.load_factory()
        except (PluginLoadError, MissingExtraError) as error:
            yield error
        try:
            self.load_parameters()
        except (PluginLoadError, MissingExtraError) as error:
            yield error
        if self.contract is None or factory is None:
            return
        try:
            self._load(self.contract.returns)
        except (PluginLoadError, MissingExtraError) as error:
            yield error
        arguments = (*self.contract.context, "parameters")
        try:
            inspect.signature(factory).bind(*arguments)
        except ValueError:  # some compiled code has no signature
            return
        except TypeError as error:
            defect = PluginLoadError(
                f"{self.title}: {self.factory} cannot be called as factory"
                f"({', '.join(arguments)}): {error}"
            )
            defect.__cause__ = error
            yield defect

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
            self._raise_missing_extra(error, target)
            raise PluginLoadError(
                f"{self.title}: {target} cannot be imported: {type(error).__name__}: {error}"
            ) from error

    def _raise_missing_extra(self, error: Exception, target: str) -> None:
        """Raise `MissingExtraError` if an error is that a library of an extra is missing."""
        if isinstance(error, ImportError):
            from miai.plugins.extras import missing_extra

            missing = missing_extra(error, target.partition(".")[0], self.title)
            if missing is not None:
                raise missing from error


@dataclass(slots=True)
class Registry:
    """Components by kind, name and game.

    Attributes:
      kinds: every declared kind, by name.
      broken: the error of each plugin that could not be loaded, by its name.
      faults: the wrong registrations of one plugin, of which all are to be reported; None where
        they are raised.
    """

    kinds: dict[str, Kind[Any]] = field(default_factory=lambda: {k.name: k for k in KINDS})
    broken: dict[str, BaseException] = field(default_factory=dict)
    faults: list[RegistrationError] | None = None
    _components: dict[tuple[str, str, str | None], Component[Any]] = field(default_factory=dict)
    _plugin: str = "miai"

    def for_plugin(self, plugin: str) -> Registry:
        """Return an empty registry for one plugin, with the kinds of this one.

        It collects wrong registrations in `faults`, and is merged only if there are none, so that a
        plugin that fails leaves nothing.
        """
        return Registry(kinds=dict(self.kinds), faults=[], _plugin=plugin)

    def conflicts(self, other: Registry) -> list[RegistrationError]:
        """Return an error for each component of `other` whose name is taken."""
        return [
            _duplicate(component, self._components[key])
            for key, component in other._components.items()
            if key in self._components
        ]

    def adds_to(self, other: Registry) -> bool:
        """Return whether it has components, or kinds that `other` lacks."""
        return bool(self._components) or not self.kinds.keys() <= other.kinds.keys()

    def merge(self, other: Registry) -> None:
        """Add all kinds and components of `other`, which has no `conflicts`."""
        self.kinds.update(other.kinds)
        self._components.update(other._components)

    def declare(self, kind: Kind[Any]) -> None:
        """Declare a kind of component, named ``plugin.kind``.

        Raises `RegistrationError`, or collects it in `faults`, if another plugin declares another
        kind of that name.
        """
        if self.kinds.setdefault(kind.name, kind) != kind:
            self._refuse(
                RegistrationError(
                    f"plugin '{self._plugin}': the kind '{kind.name}' is already declared with "
                    f"{self.kinds[kind.name].contract}; choose another name"
                )
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
        foreign: bool = False,
        kernels: Sequence[str] = (),
    ) -> None:
        """Add a component.

        Args:
          kind: the kind's name, which may belong to another plugin. While that plugin is not
            loaded, the component stays dormant.
          name: the component's name, unique in its kind and game.
          factory: a callable, or its import path ``module:attribute``, imported on first use.
          summary: one line for `miai list`.
          parameters: a `miai.Parameters` subclass or its import path; None for no parameters.
          game: the only game it is for; such a component takes precedence over one for any game.
          foreign: whether it runs code that its parameters name: a file, a program, a module.
          kernels: see `Component`; compiled beside each other before an agent's first game.

        Raises:
          RegistrationError: the name is taken, or the framework declares no such kind. It is
            collected in `faults` while a plugin registers.
        """
        # A plugin's own kind may be declared by a plugin that is loaded later, or not installed.
        if "." not in kind and kind not in self.kinds:
            self._refuse(
                RegistrationError(
                    f"plugin '{self._plugin}': '{name}' is of the undeclared kind '{kind}'. "
                    f"{near_matches(kind, self.kinds)} A plugin's own kinds are named plugin.kind."
                )
            )
            return
        about = (kind, name, factory, parameters, summary, game, self._plugin)
        component: Component[Any] = Component(*about, foreign=foreign, kernels=tuple(kernels))
        key = (kind, name, game)
        if key in self._components:
            self._refuse(_duplicate(component, self._components[key]))
            return
        self._components[key] = component

    def add_all(self, lines: str) -> None:
        """Add many components, which lines of text name.

        For example::

            miai_mygame.game
              game mygame MyGame MyParameters
                A game of mine
              renderer mygame MyRenderer game=mygame
                The board and the last move

        Below each module, a line for each component: its kind, name and factory, its parameter
        model if it has one, the game that it is for, if any, whether it is ``foreign``, and its
        ``kernels=miai_mygame.kernels:rules,search``; then its summary. The models are of the same
        module, unless a second one follows the first.
        Raises as `add`.
        """
        modules, fields = [""], [""]
        for line in lines.strip().splitlines():
            if not line.startswith(" "):
                modules = line.split()
            elif not line.startswith("    "):
                fields = line.split()
            else:
                (kind, name, factory, *rest), game, model = fields, None, None
                kernels: list[str] = []
                for word in rest:
                    if word.startswith("game="):
                        game = word.removeprefix("game=")
                    elif word.startswith("kernels="):
                        family, _, groups = word.removeprefix("kernels=").partition(":")
                        kernels = [f"{family}:{group}" for group in groups.split(",")]
                    elif word != "foreign":
                        model = f"{modules[-1]}:{word}"
                self.add(
                    kind,
                    name,
                    f"{modules[0]}:{factory}",
                    parameters=model,
                    summary=line.strip(),
                    game=game,
                    foreign="foreign" in rest,
                    kernels=kernels,
                )

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
        """Return the components of a kind, sorted by name; with `game`, only those that support it.

        If `adapted`, include those of other kinds that serve as this kind through an adapter, such
        as searches, which play as agents. Raises `UnknownComponentError` for an unknown kind.
        """
        declared = self.kind(kind)
        every = [c for c in self._components.values() if c.kind == declared.name]
        if game is not None:
            # Of two components of a name the one for the game is listed, as it is the one that is
            # built.
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
        """Return a component; one for `game` takes precedence over one for any game.

        Kinds with an adapter to this one are searched last: a search plays as an agent under its
        own name. Raises `UnknownComponentError`, which offers near matches and names broken
        plugins; the first error of these is chained as the cause.
        """
        declared = self.kind(kind)
        for special in (game, None):
            # The one for the game first: a compiled search takes the place of the generic one.
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

    def check_named(self, filled: Parameters, game: str, *, where: str) -> None:
        """Check the components that parameters name, and theirs. Raises as `opened`."""
        list(self.opened(filled, game, where=where))

    def opened(self, filled: Parameters, game: str, *, where: str, only: str = "") -> Iterator[str]:
        """Yield as `miai.parameters.opened`, of the components that parameters name, too.

        Raises `ParameterError` if a component does not exist, or its parameters are wrong.
        """
        from miai.parameters import named_components, opened

        yield from (f"{where}.{path}" for path, opens in opened(filled) if only in ("", opens))
        for path, kind, name, values in named_components(filled):
            try:
                component = self.get(kind, name, game=game)
            except UnknownComponentError as error:
                raise ParameterError(f"{where}.{path}: {error}") from error
            below = component.fill(values, where=f"{where}.{path}_parameters")
            yield from self.opened(below, game, where=f"{where}.{path}_parameters", only=only)

    def dormant(self) -> list[Component[Any]]:
        """Return the components whose kind no loaded plugin declares."""
        return [c for c in self._components.values() if c.kind not in self.kinds]

    def refuse_file(self, kind: Kind[Any] | str, name: str, *, write: str) -> None:
        """Refuse the name of a file in the working folder that is not a component's, too.

        Programs are named by their path; `write` shows how, with ``{}`` in place of the path.

        Raises:
          ConfigError: there is such a file.
        """
        known = {component.name for component in self.components(kind, adapted=True)}
        if name not in known and os.sep not in name and Path(name).is_file():
            remedy = f"to run the file of that name as a program write {write.format(f'./{name}')}"
            if name.endswith(".py"):
                remedy += f"; a plugin is named in the environment, MIAI_PLUGIN_FILES={name}"
            raise ConfigError(f"no {self.kind(kind).name} is called '{name}'; {remedy}")

    def kind(self, kind: Kind[Any] | str) -> Kind[Any]:
        """Return a declared kind. Raises `UnknownComponentError`."""
        name = kind if isinstance(kind, str) else kind.name
        if name not in self.kinds:
            raise UnknownComponentError(
                f"no kind of component is called '{name}'. {near_matches(name, self.kinds)}"
            )
        return self.kinds[name]

    def _unknown(self, kind: Kind[Any], name: str, game: str | None) -> UnknownComponentError:
        components = self.components(kind, game=game, adapted=True)
        message = f"no {kind.name} is called '{name}'" + (f" for {game}" if game else "")
        about = {c.name: c.summary for c in components}
        message += f". {near_matches(name, about, about=about)}"
        if self.broken:
            names = ", ".join(f"'{plugin}'" for plugin in self.broken)
            message += f" It may belong to a broken plugin: {names}; see `miai plugins check`."
        return UnknownComponentError(message)

    def _refuse(self, error: RegistrationError) -> None:
        """Raise an error, or collect it."""
        if self.faults is None:
            raise error
        self.faults.append(error)


def _duplicate(new: Component[Any], old: Component[Any]) -> RegistrationError:
    scope = f" for game '{new.game}'" if new.game else ""
    return RegistrationError(
        f"plugin '{new.plugin}': {new.kind} '{new.name}'{scope} is already registered by "
        f"plugin '{old.plugin}'; choose another name or disable one of them with "
        "MIAI_DISABLE_PLUGINS"
    )


def _adapted(component: Component[Any], kind: Kind[T], adapter: str) -> Component[T]:
    """Return a component of another kind as one of `kind`, through an adapter."""

    def factory(*arguments: Any) -> T:
        *context, parameters = arguments
        original = component.checked(component.load_factory()(*context, parameters))
        result: T = imported(adapter)(*context, original)
        return result

    return replace(component, kind=kind.name, factory=factory, contract=kind)
