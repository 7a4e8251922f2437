"""Writes the pages of the site that follow from the code.

These are the games, the agents, the keys of a tournament's config, the rules of the conformance
kit, the gallery and the API reference. They come from the registry and from the packages' modules,
so that they cannot fall behind: what is registered has a page, with the parameters that it checks.
Positions are drawn by the renderer of each game after a few random moves with a fixed seed.
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

from pydantic_core import PydanticUndefined

import miai
from common import evidence
from miai.api import renderer_for
from miai.clock import TimeControl
from miai.game import Game, Player, State
from miai.parameters import describe_parameters
from miai.plugins.loader import registry
from miai.plugins.registry import Component
from miai.process.sandbox import ProcessLimits
from miai.render import DrawingRenderer
from miai.testing import AGENT_RULES, GAME_RULES, RENDERER_RULES
from miai_tournaments.config import schema

if TYPE_CHECKING:
    from sphinx.application import Sphinx

SEED: Final = 4
PLIES: Final = 24
PLAYER_KINDS: Final = ("agent", "search")
BUDGETS: Final = ("simulations", "nodes", "seconds", "depth", "worlds", "movetime", "time")
"""Parameters that limit how long an agent thinks."""

API: Final[Mapping[str, tuple[str, ...]]] = {
    "Framework": (
        *("miai", "miai.api", "miai.game", "miai.agent", "miai.information", "miai.parameters"),
        *("miai.errors", "miai.clock", "miai.values", "miai.record", "miai.record_reader"),
        *("miai.render", "miai.scenes", "miai.markup", "miai.squares", "miai.environments"),
        *("miai.playing", "miai.plugins", "miai.search", "miai.beliefs", "miai.testing"),
        *("miai.process.sandbox", "miai.cli.options", "miai.web.sections"),
    ),
    "Tournaments": (
        *("miai_tournaments.api", "miai_tournaments.formats", "miai_tournaments.ratings"),
        *("miai_tournaments.report.report", "miai_tournaments.report.joint_ratings"),
        *("miai_tournaments.store.store", "miai_tournaments.store.database"),
        *("miai_tournaments.workers.executor", "miai_tournaments.workers.jobs"),
    ),
    "Go": (
        *("miai_go.errors", "miai_go.rules", "miai_go.sgf", "miai_go.gtp.players"),
        *("miai_go.search.advice", "miai_go.nets.encoder", "miai_go.nets.network"),
        *("miai_go.nets.oracle", "miai_go.learning.data.dataset", "miai_go.learning.data.shards"),
        *("miai_go.tsumego.problem_sgf", "miai_go.tsumego.zones", "miai_go.tsumego.solver.solver"),
        *("miai_go.tsumego.problems.families", "miai_go.tsumego.networks.array_nets"),
    ),
    "Reconnaissance Blind Chess": (
        *("miai_rbc.rules", "miai_rbc.belief", "miai_rbc.agents", "miai_rbc.pictures"),
        *("miai_rbc.rbc_parameters", "miai_rbc.chess_files"),
    ),
    "Small games": ("miai_classics", "miai_miniblind"),
    "OpenSpiel": ("miai_openspiel",),
}
"""Modules, and packages with all that is in them, that programs and plugins import."""
LEFT_OUT: Final = re.compile(r"\.kernels(\.|$)|\.plugin$|\.builtin$")
"""Modules without a page all the same: compiled kernels, and lists of components."""

CONFIG: Final[Mapping[str, tuple[type[schema.ConfigSection], *tuple[type, ...]]]] = {
    "[tournament]": (schema.TournamentSection,),
    "[format]": (schema.FormatSection,),
    "[game]": (schema.GameSection,),
    "[time]": (schema.TimeSection, TimeControl),
    "[openings]": (schema.OpeningsSection,),
    "[openings.balance]": (schema.BalanceSection,),
    "[adjudication]": (schema.AdjudicationSection,),
    "[[adjudication.rules]]": (schema.RuleSection,),
    "[limits]": (schema.LimitsSection, ProcessLimits),
    "[run]": (schema.RunSection,),
    "[[players]]": (schema.PlayerSection,),
}
"""The tables of a tournament's config, each with its model and the class that explains it."""
NAMES: Final[Mapping[str, str]] = {
    "name": "name of the component, or of the player",
    "agent": "agent of the player: a component, or ``FILE.py:CLASS``",
    "parameters": "parameters of the component; all other keys of the table are parameters, too",
}
"""What a key means where no docstring says more."""

LIMITS: Final[Mapping[str, str]] = {
    "minimum": "from",
    "maximum": "to",
    "exclusiveMinimum": "above",
    "exclusiveMaximum": "below",
}
"""How the pages write the limits of a JSON schema."""

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
    pages[folder / "config.md"] = _config_page()
    pages[folder / "checks.md"] = _checks_page()
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
    return "\n".join(map(_parameter, rows)) + "\n"


def _parameter(row: Mapping[str, Any]) -> str:
    unit = f" {row['unit']}" if row["unit"] else ""
    default = "required" if row["required"] else f"default `{_cell(row['default'])}`{unit}"
    if row["default"] is PydanticUndefined:  # made for each config
        default = ""
    facts = "; ".join(filter(None, (row["type"], _limits(row["limits"]), default)))
    return f"`{row['name']}`\n: {_sentence(row['help'])}\n  *{facts}*\n"


def _limits(limits: Mapping[str, Any]) -> str:
    parts = [
        ", ".join(f"`{_cell(value)}`" for value in limit)
        if isinstance(limit, (list, tuple))
        else f"{LIMITS.get(name, name)} {_cell(limit)}"
        for name, limit in limits.items()
    ]
    return "; ".join(parts)


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")


def _text(value: str) -> str:
    """Return plain text as Markdown; what looks like markup is shown as it is."""
    return re.sub(r"([*_<>\[\]|])", r"\\\1", value.rstrip(".").replace("\n", " "))


def _sentence(value: str) -> str:
    """Return a text with code in backticks as a sentence of Markdown."""
    parts = value.replace("``", "`").split("`")
    text = "`".join(part if n % 2 else _text(part) if part else "" for n, part in enumerate(parts))
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


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


# -- the config of a tournament -------------------------------------------------------------------


def meanings_of(kind: type) -> dict[str, str]:
    """Return the texts of the section Attributes of a class's docstring, by attribute."""
    text = (inspect.getdoc(kind) or "").partition("Attributes:\n")[2].partition("\n\n")[0]
    meanings = {}
    for names, meaning in re.findall(r"^  ([a-z_, ]+): (.*(?:\n    .*)*)", text, re.MULTILINE):
        for name in names.split(", "):
            meanings[name] = " ".join(meaning.split())
    return meanings


def _config_page() -> str:
    parts = [
        "# The config of a tournament\n\nAll tables and keys, from the models that check them. "
        "[Tournaments](../tournaments.md) shows a whole file. Unknown keys are refused, with the "
        "nearest known one. Above the tables, `plugins` names "
        "[files of plugins](../plugins.md#a-plugin-in-a-file-of-its-own).\n"
    ]
    for title, kinds in CONFIG.items():
        meanings = {
            **NAMES,
            **{name: text for kind in kinds for name, text in meanings_of(kind).items()},
        }
        (first, *_) = (inspect.getdoc(kinds[0]) or "").split("\n\n")
        _, colon, about = " ".join(first.split()).partition(": ")
        parts.append(f"## `{title}`\n" + (colon and f"\n{_sentence(about)}\n"))
        for row in describe_parameters(kinds[0]):
            if title != "[openings]" or not row["name"].startswith("balance."):
                parts.append(_parameter({**row, "help": meanings[row["name"]]}))
    return "\n".join(parts)


# -- the conformance kit --------------------------------------------------------------------------


def _checks_page() -> str:
    kinds = {"a game": GAME_RULES, "an agent": AGENT_RULES, "a renderer": RENDERER_RULES}
    sections = [
        f"## Rules of {kind}\n\n"
        + "\n".join(f"- **{name}**: {_sentence(rule)}" for name, rule in rules.items())
        for kind, rules in kinds.items()
    ]
    return (
        "# The rules of the checks\n\nWhat [the conformance kit](../tutorial.md#check-the-game) "
        "checks of games, agents and renderers.\n\n" + "\n\n".join(sections) + "\n"
    )


# -- API reference --------------------------------------------------------------------------------


def modules_of(name: str) -> Iterator[str]:
    """Yield a module or, for a package, the package and the modules in it."""
    root = import_module(name)
    yield name
    if name == "miai" or not hasattr(root, "__path__"):
        return
    for found in pkgutil.walk_packages(root.__path__, f"{name}."):
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
        "# API reference\n\nWhat programs and plugins import, from the docstrings. What a module "
        f"imports from another room is documented there.\n\n{listing}\n",
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
