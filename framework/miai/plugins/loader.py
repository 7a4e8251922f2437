"""Finds plugins, loads them one by one and isolates the broken ones.

pluggy's ``load_setuptools_entrypoints`` is all-or-nothing, so the loader goes entry by entry. A
broken plugin costs one warning line, and its error is chained as the cause when a component is
missing. If two plugins claim one name, the later one is broken; miai's own plugins come first.

Environment:
  MIAI_PLUGINS: comma-separated names of the only plugins to load.
  MIAI_DISABLE_PLUGINS: comma-separated names of plugins not to load; ``all`` for every one.
  MIAI_PLUGIN_FILES: plugins that are files, separated as in PATH; a config names its own.
  MIAI_TRACE_PLUGINS: if set to anything but 0, every hook call is printed on standard error.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pluggy

from miai.errors import MissingExtraError, PluginLoadError
from miai.plain import listed, one_line
from miai.plugins import builtin, hooks
from miai.plugins.extras import install_line, missing_extra, normalized
from miai.plugins.file_modules import FILES, import_file
from miai.plugins.registry import Registry

if TYPE_CHECKING:
    import typer


GROUP = "miai"
OWN = {"miai", *(f"miai-{name}" for name in ("classics", "go", "miniblind", "openspiel", "rbc"))}
"""The distributions that are released together. Their plugins are loaded first, so that other
plugins cannot take their names."""

_MOST_NAMES = 3


class PluginWarning(UserWarning):
    """A plugin is broken or a name in the environment matches no plugin."""


@dataclass(frozen=True, slots=True)
class PluginStatus:
    """An installed plugin and its state.

    Attributes:
      name: name of its entry point.
      target: the entry point's module.
      distribution, version: the distribution that it is part of; empty for the built-in plugin.
      state: loaded, disabled, broken, or incomplete: the plugin needs an extra that is not
        installed.
      errors: why it is broken; from `check`, all defects.
      absent: what it or its components need whose extra is not installed, one line each; those of
        components from `check`.
    """

    name: str
    target: str
    distribution: str
    version: str
    state: Literal["loaded", "disabled", "broken", "incomplete"]
    errors: tuple[BaseException, ...] = ()
    absent: tuple[str, ...] = ()


class PluginHost:
    """The plugins of one process.

    Attributes:
      manager: pluggy's manager; `manager.hook` calls the hooks.
      registry: all components.
      plugins: every installed plugin, loaded or not.
    """

    def __init__(
        self,
        *,
        entries: Iterable[EntryPoint] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        environment = os.environ if environment is None else environment
        self.manager = pluggy.PluginManager(hooks.PROJECT)
        self.manager.add_hookspecs(hooks)
        if environment.get("MIAI_TRACE_PLUGINS", "0") != "0":
            self.manager.trace.root.setwriter(sys.stderr.write)
            self.manager.enable_tracing()
        self.registry = Registry()
        self._drafts: dict[str, Registry] = {}  # what broken plugins registered
        self._inert: set[str] = set()  # plugins that registered nothing
        self._register("miai", builtin)
        self.plugins = [PluginStatus("miai", builtin.__name__, "", "", "loaded")]
        entries = entry_points(group=GROUP) if entries is None else entries
        # Miai's own come first: of two plugins that claim a name, the later one is left out.
        ranked = sorted(
            entries, key=lambda e: (normalized(e.dist.name if e.dist else "") not in OWN, e.name)
        )
        self._load_all(ranked, environment)

    def _load_all(self, entries: list[EntryPoint], environment: Mapping[str, str]) -> None:
        only = _names(environment, "MIAI_PLUGINS")
        disabled = _names(environment, "MIAI_DISABLE_PLUGINS")
        installed = {entry.name for entry in entries}
        for name in (only | disabled) - installed - {"all"}:
            _warn(f"the environment names the plugin '{name}', which is not installed")
        for entry in entries:
            off = bool(only and entry.name not in only) or bool(disabled & {entry.name, "all"})
            self.plugins.append(self._load(entry, disabled=off))
        for path in filter(None, environment.get(FILES, "").split(os.pathsep)):
            try:
                self.load_file(Path(path))
            except PluginLoadError as error:
                _warn(str(error))

    def load_file(self, path: Path) -> None:
        """Load a plugin that is a Python file, unless it is loaded.

        Raises:
          PluginLoadError: it cannot be imported, registers nothing, or takes a name that is taken.
        """
        path = path.expanduser().absolute()
        if any(status.target == str(path) for status in self.plugins):
            return
        module = import_file(path, PluginLoadError)
        errors = self._register(path.stem, module)
        if not errors and (fault := self._idle(path.stem)):
            errors = (PluginLoadError(fault),)
        if errors:
            text = one_line(f"{type(errors[0]).__name__}: {errors[0]}")
            raise PluginLoadError(f"{path}: is not loaded as a plugin: {text}")
        self.plugins.append(PluginStatus(path.stem, str(path), "", "", "loaded"))

    def _load(self, entry: EntryPoint, *, disabled: bool) -> PluginStatus:
        distribution = entry.dist.name if entry.dist else ""
        version = entry.dist.version if entry.dist else ""
        facts = (entry.name, entry.value, distribution, version)
        if disabled:
            return PluginStatus(*facts, "disabled")
        try:
            errors = self._register(entry.name, entry.load())
        except (Exception, SystemExit) as error:  # a module that exits is broken too
            errors = (error,)
        if not errors:
            return PluginStatus(*facts, "loaded")
        first = errors[0]
        self.registry.broken[entry.name] = first
        if isinstance(first, ImportError):
            package = entry.value.partition(".")[0]
            missing = missing_extra(first, package, f"plugin '{entry.name}'")
            if missing is not None:
                self.registry.broken[entry.name] = missing
                _warn(f"{missing}; until then it is left out")
                return PluginStatus(*facts, "incomplete", absent=(str(missing),))
        _warn(
            f"plugin '{entry.name}' ({entry.value}) is broken and left out: "
            f"{one_line(f'{type(first).__name__}: {first}')}; see `miai plugins check`"
        )
        return PluginStatus(*facts, "broken", errors)

    def _register(self, name: str, module: object) -> tuple[BaseException, ...]:
        """Register all of a plugin, or nothing; return what prevents it."""
        errors: list[BaseException] = []
        # Into a draft, so that a plugin that fails halfway leaves nothing behind.
        draft = self.registry.for_plugin(name)
        self.manager.register(module, name)
        try:
            self.manager.check_pending()
            self._only(module, "miai_register")(registry=draft)
        except (Exception, SystemExit) as error:
            errors.append(error)
        except BaseException:
            self.manager.unregister(module)
            raise
        errors = [*(draft.faults or ()), *errors, *self.registry.conflicts(draft)]
        if errors:
            self.manager.unregister(module)
            self._drafts[name] = draft
        else:
            self._inert |= set() if draft.adds_to(self.registry) else {name}
            self.registry.merge(draft)
        return tuple(errors)

    def add_commands(self, app: typer.Typer) -> None:
        """Let every plugin add its commands; a failure costs one warning line."""
        for name, module in self.manager.list_name_plugin():
            try:
                self._only(module, "miai_register_commands")(app=app)
            except Exception as error:
                reason = one_line(f"{type(error).__name__}: {error}")
                _warn(f"plugin '{name}' cannot add its commands: {reason}")

    def check(self) -> list[PluginStatus]:
        """Import and check every component of every plugin; return the plugins' states.

        All defects are found, those of the components of a broken plugin included. A component
        whose extra is not installed is no defect; `PluginStatus.absent` names it.
        """
        absent: dict[str, dict[str, list[str]]] = {}
        errors: dict[str, list[BaseException]] = {p.name: [*p.errors] for p in self.plugins}
        for plugin in self.plugins:
            if plugin.state == "loaded" and (fault := self._idle(plugin.name)):
                errors[plugin.name].append(PluginLoadError(f"plugin '{plugin.name}' {fault}"))
        for source in (self.registry, *self._drafts.values()):
            # A draft knows the kinds of its time; later plugins may have declared those it lacks.
            source.kinds = {**source.kinds, **self.registry.kinds}
            for c in source.dormant():
                text = f"{c.kind} '{c.name}': no loaded plugin declares the kind '{c.kind}'"
                errors[c.plugin].append(PluginLoadError(text))
            for kind in source.kinds:
                for component in source.components(kind):
                    for error in component.defects():
                        if isinstance(error, MissingExtraError):
                            needs = absent.setdefault(component.plugin, {})
                            names = needs.setdefault(error.extra, [])
                            name = f"{component.kind} {component.name}"
                            names += [name] * (name not in names)
                        else:
                            errors[component.plugin].append(error)
        return [
            replace(
                plugin,
                state="broken" if errors[plugin.name] else plugin.state,
                errors=tuple(errors[plugin.name]),
                absent=(
                    *plugin.absent,
                    *(
                        f"not installed: {extra}, for {listed(names, limit=_MOST_NAMES)}; "
                        f"{install_line(extra)}"
                        for extra, names in sorted(absent.get(plugin.name, {}).items())
                    ),
                ),
            )
            for plugin in self.plugins
        ]

    def _idle(self, name: str) -> str:
        """Return why a loaded plugin does nothing; empty if it does something."""
        module = self.manager.get_plugin(name)
        hooked = {caller.name for caller in self.manager.get_hookcallers(module) or ()}
        if hooked - {"miai_register"}:
            return ""
        if not hooked and hasattr(module, "miai_register"):
            return "registers nothing: its function miai_register is not marked with @miai.hookimpl"
        if not hooked:
            return (
                "registers nothing: its module has no function miai_register marked with "
                "@miai.hookimpl"
            )
        if name in self._inert:
            return "registers nothing: its miai_register adds no component and declares no kind"
        return ""

    def _only(self, module: object, hook: str) -> pluggy.HookCaller:
        others = [p for p in self.manager.get_plugins() if p is not module]
        return self.manager.subset_hook_caller(hook, others)


@lru_cache(maxsize=1)
def plugin_host() -> PluginHost:
    """Return the plugins of this process; the first call loads them."""
    return PluginHost()


def use_plugin_file(path: Path) -> None:
    """Load a plugin that is a file, here and in processes to come; see `PluginHost.load_file`."""
    plugin_host().load_file(path)
    files = os.environ.get(FILES, "").split(os.pathsep)
    os.environ[FILES] = os.pathsep.join(dict.fromkeys([*filter(None, files), str(path.absolute())]))


def registry() -> Registry:
    """Return the registry of this process with the components of all plugins."""
    return plugin_host().registry


def _names(environment: Mapping[str, str], variable: str) -> set[str]:
    return {name.strip() for name in environment.get(variable, "").split(",") if name.strip()}


def _warn(message: str) -> None:
    warnings.warn(message, PluginWarning, stacklevel=3)
