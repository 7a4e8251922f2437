"""``miai list`` and ``miai plugins``: the installed components and plugins."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import typer

from miai.errors import MissingExtraError, PluginLoadError, UnknownComponentError, near_matches
from miai.plain import one_line
from miai.plugins.loader import plugin_host

if TYPE_CHECKING:
    from miai.plugins.registry import Component, Registry


def add_commands(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command("list")(list_components)
    plugins = typer.Typer(help="Show and check plugins.", no_args_is_help=True)
    plugins.command("list")(list_plugins)
    plugins.command("check")(check_plugins)
    app.add_typer(plugins, name="plugins")


def _complete_kind(incomplete: str) -> list[str]:
    names = [plural_of(name) for name in plugin_host().registry.kinds]
    return [name for name in names if name.startswith(incomplete)]


def _complete_name(ctx: typer.Context, incomplete: str) -> list[str]:
    registry = plugin_host().registry
    kind = singular_of(ctx.params.get("kind") or "", registry)
    names = {component.name for component in registry.components(kind, adapted=True)}
    return sorted(name for name in names if name.startswith(incomplete))


def complete_game(incomplete: str) -> list[str]:
    """Return the games whose names begin so, for the shell."""
    names = {component.name for component in plugin_host().registry.components("game")}
    return sorted(name for name in names if name.startswith(incomplete))


def list_components(
    kind: str = typer.Argument(
        "",
        help="Kind of component, such as games (default: list the kinds).",
        autocompletion=_complete_kind,
    ),
    name: str = typer.Argument(
        "",
        help="A component, shown with its parameters (default: list all in short).",
        autocompletion=_complete_name,
    ),
    game: str = typer.Option(
        "",
        "--game",
        help="Show only components that support this game.",
        autocompletion=complete_game,
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """List games, agents, searches or other components, or one with its parameters."""
    registry = plugin_host().registry
    if not kind:
        texts = {kind.name: f"{kind.summary}; {kind.contract}" for kind in registry.kinds.values()}
        rows = [f"{name:18} {text}" for name, text in texts.items()]
        print(json.dumps(texts, indent=2) if as_json else "\n".join(rows))
        return
    kind = singular_of(kind, registry)
    if game:
        registry.get("game", game)
    components = registry.components(kind, game=game or None, adapted=True)
    if name:
        components = _named(components, kind, name)
    if as_json:
        print(json.dumps([describe(component) for component in components], indent=2, default=str))
    elif name:
        print("\n\n".join(_as_text(component) for component in components))
    elif components:
        print("\n".join(_headline(component) for component in components))
        print(f"\nParameters of one: miai list {plural_of(kind)} NAME")
    else:
        print(f"no component of kind '{kind}' is installed")


def _named(components: list[Component[Any]], kind: str, name: str) -> list[Component[Any]]:
    """Return the components with a name. Raises `UnknownComponentError` if there is none."""
    found = [component for component in components if component.name == name]
    if not found:
        known = near_matches(name, {component.name for component in components})
        raise UnknownComponentError(f"no {kind} is called '{name}'. {known}")
    return found


def _headline(component: Component[Any]) -> str:
    scope = f" (for {component.game})" if component.game else ""
    return f"{component.name}{scope}: {component.summary}  [{component.plugin}]"


def describe(component: Component[Any]) -> dict[str, Any]:
    """Return a component as plain data, as `miai list --json` prints it."""
    from miai.parameters import describe_parameters

    facts = ("kind", "name", "game", "plugin", "summary")
    row: dict[str, Any] = {name: getattr(component, name) for name in facts} | {"parameters": []}
    try:
        row["parameters"] = describe_parameters(component.load_parameters())
    except MissingExtraError as error:
        row["absent"] = str(error)
    except PluginLoadError as error:
        row["error"] = str(error)
    return row


def list_plugins(as_json: bool = typer.Option(False, "--json", help="Print JSON.")) -> None:
    """List the installed plugins and their state."""
    _print_plugins(plugin_host().plugins, as_json)


def check_plugins(as_json: bool = typer.Option(False, "--json", help="Print JSON.")) -> None:
    """Import all components of all plugins and show their defects.

    The exit status is 2 if there are any. What needs an extra that is not installed is not broken;
    it is named with the command that installs the extra.
    """
    plugins = plugin_host().check()
    _print_plugins(plugins, as_json)
    if any(plugin.state == "broken" for plugin in plugins):
        sys.stdout.flush()
        raise typer.Exit(2)


_PLUGIN_FACTS = ("name", "target", "distribution", "version", "state")


def _print_plugins(plugins: list[Any], as_json: bool) -> None:
    rows = [
        {
            **{name: getattr(plugin, name) for name in _PLUGIN_FACTS},
            "error": "\n".join(map(_chain, plugin.errors)),
            "absent": list(plugin.absent),
        }
        for plugin in plugins
    ]
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    for row in rows:
        origin = f"{row['distribution']} {row['version']}".strip()
        print(f"{row['name']:16} {row['state']:9} {row['target']:28} {origin}".rstrip())
        for line in (*row["error"].splitlines(), *row["absent"]):
            print(f"    {line}")


def _chain(first: BaseException) -> str:
    """Return an error and its causes, one per line, the error first."""
    lines = list[str]()
    error: BaseException | None = first
    while error is not None:
        if not lines or str(error) not in lines[-1]:  # most errors tell their cause
            lines.append(one_line(f"{type(error).__name__}: {error}"))
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "\n".join(lines)


def singular_of(kind: str, registry: Registry) -> str:
    """Return the kind that a singular or plural names (``game``, ``searches``, ``bounds``)."""
    for candidate in (kind, kind.removesuffix("s"), kind.removesuffix("es")):
        if candidate in registry.kinds:
            return candidate
    return kind


def plural_of(kind: str) -> str:
    """Return the plural of a kind's name."""
    if kind.endswith("s"):  # bounds
        return kind
    return f"{kind}es" if kind.endswith("ch") else f"{kind}s"


def _as_text(component: Component[Any]) -> str:
    row, lines = describe(component), [_headline(component)]
    if "absent" in row:
        lines.append(f"    {row['absent']}")
    if "error" in row:
        lines.append(f"    broken: {row['error']}")
    for p in row["parameters"]:
        default = "required" if p["required"] else f"default {_value(p['default'])}"
        unit = f" {p['unit']}" if p["unit"] and p["default"] is not None else ""
        limits = ", ".join(f"{_LIMITS[key]} {_value(v)}" for key, v in p["limits"].items())
        facts = "; ".join(filter(None, (f"{p['type']}, {default}{unit}", limits)))
        lines.append(f"    {p['name']:20} {p['help']} ({facts})")
    return "\n".join(lines)


_LIMITS = {
    "minimum": "at least",
    "maximum": "at most",
    "exclusiveMinimum": "more than",
    "exclusiveMaximum": "less than",
    "enum": "one of",
}


def _value(value: Any) -> str:
    return json.dumps(value, default=str) if not isinstance(value, str) else f"'{value}'"
