"""Writes the pages of the site that follow from the code: games, agents, gallery, API reference.

The pages come from the registry and from the packages' modules, so that they cannot fall behind:
what is registered has a page, with the parameters that it checks. Positions are drawn by the
renderer of each game after a few random moves with a fixed seed.
"""

from __future__ import annotations

import inspect
import pkgutil
import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import miai
from common import evidence
from miai.api import renderer_for
from miai.game import Game, Player, State
from miai.parameters import describe_parameters
from miai.plugins.loader import registry
from miai.plugins.registry import Component
from miai.render import DrawingRenderer

if TYPE_CHECKING:
    from sphinx.application import Sphinx

SEED: Final = 4
PLIES: Final = 24
PLAYER_KINDS: Final = ("agent", "search")
BUDGETS: Final = ("simulations", "nodes", "seconds", "depth", "worlds", "movetime", "time")
"""Parameters that limit how long an agent thinks."""

API: Final[Mapping[str, tuple[str, ...]]] = {
    "Framework": ("miai",),
    "Tournaments": ("miai_tournaments",),
    "Go": ("miai_go",),
    "Reconnaissance Blind Chess": ("miai_rbc",),
    "Small games": ("miai_classics", "miai_miniblind"),
    "OpenSpiel": ("miai_openspiel",),
}
LEFT_OUT: Final = re.compile(
    r"\.kernels(\.|$)|\.__main__$|reconchess_bots\.|pytest_plugin$|\.cli\.main$"
)
"""Modules without a page: compiled kernels, entry points, and bots that need their host."""

_NO_WORD: Final = re.compile(r"[^a-z0-9]+")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension with Sphinx."""
    app.add_config_value("catalogue_repository_links", [], "env")
    app.connect("builder-inited", lambda app: write_pages(Path(app.srcdir)))
    app.connect("source-read", _redirect_links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_pages(docs: Path) -> None:
    """Write all generated pages below `docs`; what is unchanged keeps its time."""
    folder = docs / "catalogue"
    pages: dict[Path, str] = {}
    # A game that is a program has no rules of its own; docs/programs.md is about it.
    games = [game for game in registry().components("game") if not game.needs_parameters]
    agents: list[Component[Any]] = [c for kind in PLAYER_KINDS for c in registry().components(kind)]
    measured = evidence.rows().values()
    for component in games:
        pages[folder / "games" / f"{component.name}.md"] = _game_page(component, agents)
        picture = picture_of(miai.load_game(component.name))
        if picture.startswith("<svg"):
            pages[folder / "pictures" / f"{component.name}.svg"] = picture
    for component in agents:
        pages[folder / "agents" / f"{slug(component)}.md"] = _agent_page(component, measured)
    pages[folder / "games" / "index.md"] = _index("Games", [game.name for game in games])
    pages[folder / "agents" / "index.md"] = _index("Agents", sorted(map(slug, agents)))
    pages[folder / "gallery.md"] = _gallery(docs, [game.name for game in games])
    for path, text in _api_pages():
        pages[docs / "api" / path] = text
    for path, text in pages.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for old in [*folder.rglob("*.md"), *folder.rglob("*.svg"), *(docs / "api").rglob("*.md")]:
        if old not in pages:
            old.unlink()


def slug(component: Component[Any]) -> str:
    """Return the file name of an agent's page, distinct for agents of one name in two games."""
    return f"{component.game}-{component.name}" if component.game else component.name


# -- pictures -------------------------------------------------------------------------------------


def position_of(game: Game) -> State:
    """Return a position after some random moves; the same for the same game."""
    rng = random.Random(SEED)
    state = game.new_initial_state()
    for _ in range(min(PLIES, game.info.max_game_length // 2 + 1)):
        if state.is_terminal():
            break
        if state.current_player() is Player.CHANCE:
            outcomes = state.chance_outcomes()
            action = rng.choices([a for a, _ in outcomes], [p for _, p in outcomes])[0]
        else:
            action = rng.choice(state.legal_actions())
        following = state.child(action)
        if following.is_terminal():
            break
        state = following
    return state


def picture_of(game: Game) -> str:
    """Return a position as SVG if the game can be drawn, else as text."""
    state, renderer = position_of(game), renderer_for(game)
    if not isinstance(renderer, DrawingRenderer):
        return str(state)
    picture = str(renderer.svg_state(state))  # plain: markup escapes what is put into it
    opening, _, rest = picture.partition(">")
    head = opening.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg" width="360"', 1)
    return f"{head}><defs>{renderer.svg_definitions()}</defs>{rest}"


def _shown(name: str, *, depth: str) -> str:
    picture = picture_of(miai.load_game(name))
    if picture.startswith("<svg"):
        return f"![A position of {name}]({depth}pictures/{name}.svg)"
    return f"```text\n{picture}\n```"


# -- games and agents -----------------------------------------------------------------------------


def _game_page(component: Component[Any], agents: list[Component[Any]]) -> str:
    game = miai.load_game(component.name)
    info = game.info
    players = ", ".join(f"`{player}`" for player in info.player_names)
    facts = [
        ("Players", players),
        ("Information", "perfect" if info.perfect_information else "hidden"),
        ("Chance", "yes" if info.max_chance_outcomes else "no"),
        ("Actions", f"{info.num_distinct_actions:,}"),
        ("Maximum length", f"{info.max_game_length:,} plies"),
        ("Returns", f"{info.min_utility:g} to {info.max_utility:g}"),
        ("Plugin", f"`{component.plugin}`"),
    ]
    rows = "\n".join(f"| {name} | {value} |" for name, value in facts)
    players_of = [a for a in agents if a.game in (None, component.name)]
    names = "\n".join(
        f"- [{a.name}](../agents/{slug(a)}.md): {_text(a.summary)}" for a in players_of
    )
    return (
        f"# {component.name}\n\n{_text(component.summary)}.\n\n"
        f"{_shown(component.name, depth='../')}\n\n"
        f"| | |\n|---|---|\n{rows}\n\n"
        f"The rules, the actions and what players observe are on the page on "
        f"[games](../../games.md#{component.name}).\n\n"
        f"## Parameters\n\n{_parameters(component)}\n"
        f"## Agents that play it\n\n{names}\n"
    )


def _agent_page(component: Component[Any], measured: Iterable[evidence.Row]) -> str:
    games = f"`{component.game}`" if component.game else "any game that suits it"
    budgets = [
        f"`{p['name']}`"
        for p in describe_parameters(component.load_parameters())
        if p["name"] in BUDGETS
    ]
    strength = "\n".join(
        f"- {row.what}: {row.result()}{row.origin()}"
        for row in measured
        if component.name in row.agents
    )
    shown = _shown(component.game, depth="../") + "\n\n" if component.game else ""
    place = f" ({component.game})" if component.game else ""
    return (
        f"# {component.name}{place}\n\n{_text(component.summary)}.\n\n{shown}"
        f"| | |\n|---|---|\n| Plays | {games} |\n| Kind | {component.kind} |\n"
        f"| Plugin | `{component.plugin}` |\n"
        f"| Budgets | {', '.join(budgets) or 'none: it answers at once'} |\n\n"
        f"## Measured strength\n\n{strength or 'Not measured.'}\n\n"
        f"The commands are with the [benchmarks](../../benchmarks.md).\n\n"
        f"## Parameters\n\n{_parameters(component)}"
    )


def _parameters(component: Component[Any]) -> str:
    rows = describe_parameters(component.load_parameters())
    if not rows:
        return "None.\n"
    lines = []
    for row in rows:
        unit = f" {row['unit']}" if row["unit"] else ""
        default = "required" if row["required"] else f"default `{_cell(row['default'])}`{unit}"
        facts = "; ".join(filter(None, (row["type"], _limits(row["limits"]), default)))
        lines.append(f"`{row['name']}`\n: {_text(row['help'])}.\n  *{facts}*\n")
    return "\n".join(lines) + "\n"


def _limits(limits: Mapping[str, Any]) -> str:
    parts = [
        ", ".join(f"`{_cell(value)}`" for value in limit)
        if isinstance(limit, (list, tuple))
        else f"{name} {_cell(limit)}"
        for name, limit in limits.items()
    ]
    return "; ".join(parts)


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")


def _text(value: str) -> str:
    """Return plain text as Markdown; what looks like markup is shown as it is."""
    return re.sub(r"([*_<>\[\]|])", r"\\\1", value.rstrip(".").replace("\n", " "))


def _index(title: str, pages: list[str]) -> str:
    listed = "\n".join(pages)
    return (
        f"# {title}\n\nWhat the installed plugins register, a page each: a picture, the "
        f"parameters, and what was measured.\n\n```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n"
    )


def _gallery(docs: Path, games: list[str]) -> str:
    figures = "\n\n".join(
        f"### {path.stem.replace('-', ' ')}\n\n![{path.stem}](../pictures/{path.name})"
        for path in sorted((docs / "pictures").glob("*.svg"))
    )
    pages = "\n\n".join(
        f"### {path.stem}\n\n![{path.stem}](../pictures/{path.name})"
        for path in sorted((docs / "pictures").glob("*.png"))
    )
    boards = "\n\n".join(f"### {name}\n\n{_shown(name, depth='')}" for name in games)
    return (
        "# Gallery\n\nPictures that miai draws. Every one is made by a command of miai or by the "
        f"renderer of a game.\n\n## Pages in the browser\n\n{pages}\n\n## Boards\n\n{boards}"
        f"\n\n## Plots\n\n{figures}\n"
    )


# -- API reference --------------------------------------------------------------------------------


def modules_of(package: str) -> Iterator[str]:
    """Yield the modules of a package that have a page, the package itself first."""
    root = import_module(package)
    yield package
    for found in pkgutil.walk_packages(root.__path__, f"{package}."):
        if not LEFT_OUT.search(found.name):
            yield found.name


def _api_pages() -> Iterator[tuple[Path, str]]:
    tops = []
    for title, packages in API.items():
        rooms: dict[str, list[str]] = defaultdict(list)
        for package in packages:
            for name in modules_of(package):
                parts = name.split(".")
                rooms[".".join(parts[:2]) if len(parts) > 2 else parts[0]].append(name)
        pages = []
        for room, names in sorted(rooms.items()):
            page = _NO_WORD.sub("-", room.lower())
            pages.append(page)
            yield Path(f"{page}.md"), _room_page(room, names)
        tops.append((title, pages))
    listing = "\n\n".join(
        f"```{{toctree}}\n:caption: {title}\n:maxdepth: 1\n\n" + "\n".join(pages) + "\n```"
        for title, pages in tops
    )
    yield (
        Path("index.md"),
        "# API reference\n\nAll public classes and functions, from their docstrings. What a "
        f"module imports from another room is documented there.\n\n{listing}\n",
    )


def _room_page(room: str, names: list[str]) -> str:
    parts = [f"# {room}\n"]
    for name in sorted(names):
        if not inspect.getdoc(import_module(name)):
            continue
        parts.append(f"## {name}\n\n```{{eval-rst}}\n.. automodule:: {name}\n   :members:\n```\n")
    return "\n".join(parts)


# -- links ----------------------------------------------------------------------------------------


def _redirect_links(app: Sphinx, name: str, source: list[str]) -> None:
    """Turn links to files outside the site into plain code."""
    prefixes = "|".join(map(re.escape, app.config.catalogue_repository_links))
    pattern = re.compile(rf"\[([^\]]+)\]\(\.\./((?:{prefixes})[^)]*)\)")
    source[0] = pattern.sub(lambda link: f"{link[1]} (`{link[2]}`)", source[0])
