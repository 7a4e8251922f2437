"""Finds plugins, loads them one by one and isolates the broken ones.

pluggy's ``load_setuptools_entrypoints`` is all-or-nothing, so the loader goes entry by entry. A
broken plugin costs one warning line, and its error is chained as the cause when a component is
missing. If two plugins claim one name, the later one is broken; miai's own plugins come first.

Environment:
  MIAI_PLUGINS: comma-separated names of the only plugins to load.
  MIAI_DISABLE_PLUGINS: comma-separated names of plugins not to load; ``all`` for every one.
  MIAI_TRACE_PLUGINS: if set to anything but 0, every hook call is printed on standard error.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points, requires
from typing import TYPE_CHECKING, Literal

import pluggy

from miai.errors import MissingExtraError, PluginLoadError
from miai.plugins import builtin, hooks
from miai.plugins.registry import Registry

if TYPE_CHECKING:
    import typer


GROUP = "miai"
OWN_EXTRA = "plugins"
"""The extra of miai that requires the plugins released with it. Those are loaded first, so that
other plugins cannot take their names."""


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
      state: loaded, disabled or broken.
      error: why it is broken; None otherwise.
      absent: what the components need whose extra is not installed, one line each, from `check`.
    """

    name: str
    target: str
    distribution: str
    version: str
    state: Literal["loaded", "disabled", "broken"]
    error: BaseException | None = None
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
        self._register("miai", builtin)
        self.plugins = [PluginStatus("miai", builtin.__name__, "", "", "loaded")]
        entries = entry_points(group=GROUP) if entries is None else entries
        own = _own_distributions()
        ranked = sorted(entries, key=lambda entry: (_distribution(entry) not in own, entry.name))
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

    def _load(self, entry: EntryPoint, *, disabled: bool) -> PluginStatus:
        distribution = entry.dist.name if entry.dist else ""
        version = entry.dist.version if entry.dist else ""
        facts = (entry.name, entry.value, distribution, version)
        if disabled:
            return PluginStatus(*facts, "disabled")
        try:
            self._register(entry.name, entry.load())
        except (Exception, SystemExit) as error:  # a module that exits is broken too
            self.registry.broken[entry.name] = error
            _warn(
                f"plugin '{entry.name}' ({entry.value}) is broken and left out: "
                f"{type(error).__name__}: {error}; see `miai plugins check`"
            )
            return PluginStatus(*facts, "broken", error)
        return PluginStatus(*facts, "loaded")

    def _register(self, name: str, module: object) -> None:
        """Register all of a plugin, or nothing."""
        self.manager.register(module, name)
        try:
            self.manager.check_pending()
            draft = self.registry.for_plugin(name)
            self._only(module, "miai_register")(registry=draft)
            self.registry.merge(draft)
        except BaseException:
            self.manager.unregister(module)
            raise

    def add_commands(self, app: typer.Typer) -> None:
        """Let every plugin add its commands; a failure costs one warning line."""
        for name, module in self.manager.list_name_plugin():
            try:
                self._only(module, "miai_register_commands")(app=app)
            except Exception as error:
                _warn(f"plugin '{name}' cannot add its commands: {type(error).__name__}: {error}")

    def check(self) -> list[PluginStatus]:
        """Import and check every component of every loaded plugin; return the plugins' states.

        A component whose extra is not installed is no defect; `PluginStatus.absent` names it.
        """
        absent: dict[str, dict[str, list[str]]] = {}
        errors: dict[str, BaseException] = {
            c.plugin: PluginLoadError(
                f"{c.kind} '{c.name}': no loaded plugin declares the kind '{c.kind}'"
            )
            for c in self.registry.dormant()
        }
        for kind in self.registry.kinds:
            for component in self.registry.components(kind):
                try:
                    component.check()
                except MissingExtraError as error:
                    needs = absent.setdefault(component.plugin, {})
                    needs.setdefault(error.extra, []).append(f"{component.kind} {component.name}")
                except PluginLoadError as error:
                    errors.setdefault(component.plugin, error)
        checked = [
            replace(p, state="broken", error=errors[p.name]) if p.name in errors else p
            for p in self.plugins
        ]
        return [
            replace(
                plugin,
                absent=tuple(
                    f"not installed: {extra}, for {_few(names)}; pip install '{extra}'"
                    for extra, names in sorted(absent.get(plugin.name, {}).items())
                ),
            )
            for plugin in checked
        ]

    def _only(self, module: object, hook: str) -> pluggy.HookCaller:
        others = [p for p in self.manager.get_plugins() if p is not module]
        return self.manager.subset_hook_caller(hook, others)


@lru_cache(maxsize=1)
def plugin_host() -> PluginHost:
    """Return the plugins of this process; the first call loads them."""
    return PluginHost()


def registry() -> Registry:
    """Return the registry of this process with the components of all plugins."""
    return plugin_host().registry


def _few(names: list[str]) -> str:
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _own_distributions() -> set[str]:
    """Return the names of miai and of the plugins that its extra `OWN_EXTRA` requires."""
    requirements = [text.partition(";") for text in requires("miai") or ()]
    pattern = re.compile(rf"""extra\s*==\s*['"]{OWN_EXTRA}['"]""")
    return {"miai"} | {
        _normalized(re.split(r"[^\w.-]", name.strip(), maxsplit=1)[0])
        for name, _, marker in requirements
        if pattern.search(marker)
    }


def _distribution(entry: EntryPoint) -> str:
    return _normalized(entry.dist.name) if entry.dist else ""


def _normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _names(environment: Mapping[str, str], variable: str) -> set[str]:
    return {name.strip() for name in environment.get(variable, "").split(",") if name.strip()}


def _warn(message: str) -> None:
    warnings.warn(message, PluginWarning, stacklevel=3)
