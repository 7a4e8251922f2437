"""For authors: ``miai new``, a package to start from, and ``miai check``, the conformance kit."""

from __future__ import annotations

import importlib.util
import keyword
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from string import Template
from typing import Annotated, Final

import typer

from miai.cli.listing import complete_game
from miai.cli.play import GameName, GameSettings, game_of
from miai.errors import ConfigError

_NAME: Final = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*")
_LONGEST: Final = 40
_GAME: Final = "tic_tac_toe"
_PLAIN: Final = ("game", "Take 1 to 3 counters in turn; who takes the last one wins")
_ROUNDS: Final = ("rounds", "The highest bid that nobody else makes wins a prize")
"""The file of a game with no traits and of one with some, and what they are in a line."""
_AGENT: Final = "Wins at once where it can, and else plays at random"
_MOST_PLAYERS: Final = 10
_SHORT: Final = 100
"""Plies of a game in which a new agent is tested by many games."""
_SKELETON: Final = Path(__file__).parent / "skeleton"

_REGISTRATION: Final = Template("""\
    registry.add(
        "$kind",
        "$name",
        "$package.$kind:$camel",
        parameters="$package.$kind:${camel}Parameters",
        summary="$summary",
$scope    )
""")


class PackageKind(StrEnum):
    """What a new package begins with."""

    GAME = "game"
    AGENT = "agent"
    PLUGIN = "plugin"


@dataclass(frozen=True, slots=True)
class Traits:
    """What a new game has.

    Attributes:
      players: how many play.
      hidden: whether it hides information from players.
      chance: whether it has dice, cards or the like.
      simultaneous: whether players act at once.
    """

    players: int = 2
    hidden: bool = False
    chance: bool = False
    simultaneous: bool = False


def add_commands(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command("new")(new)
    app.command("check")(check)


def new(
    kind: Annotated[
        PackageKind,
        typer.Argument(
            metavar="game|agent|plugin",
            help="What the package begins with; a plugin has a game and an agent for it.",
        ),
    ],
    name: Annotated[str, typer.Argument(help="Name of the game or agent, such as nim.")],
    game: Annotated[
        str,
        typer.Option(
            metavar="GAME",
            help="Installed game that a new agent plays (default: tic_tac_toe).",
            autocompletion=complete_game,
        ),
    ] = "",
    players: Annotated[
        int | None,
        typer.Option(min=2, max=_MOST_PLAYERS, help="Players of a new game (default: 2)."),
    ] = None,
    hidden: Annotated[
        bool | None, typer.Option("--hidden", help="A new game hides information.")
    ] = None,
    chance: Annotated[bool | None, typer.Option("--chance", help="A new game has chance.")] = None,
    simultaneous: Annotated[
        bool | None, typer.Option("--simultaneous", help="Players of a new game act at once.")
    ] = None,
    into: Annotated[
        Path,
        typer.Option(metavar="FOLDER", file_okay=False, help="Where to make the package's folder."),
    ] = Path(),
) -> None:
    """Write a package with a game, an agent or both, and tests that pass.

    The folder miai-NAME has pyproject.toml with the entry point, the code, its tests and a README.
    `pip install -e .` in it makes the name work everywhere. At a terminal, what a new game has is
    asked for unless an option says it.
    """
    given = {"hidden": hidden, "chance": chance, "simultaneous": simultaneous}
    flags = {name: bool(flag) for name, flag in given.items()}
    option = next((name for name, flag in flags.items() if flag), "players" if players else None)
    if kind is PackageKind.AGENT and option:
        raise ConfigError(f"--{option}: is for a new game; an agent plays one that is there")
    if game and kind is not PackageKind.AGENT:
        raise ConfigError(f"--game {game}: is for a new agent; {_a(kind)} has a game of its own")
    _check_name(name, kind)
    if kind is not PackageKind.AGENT and not option:
        players, flags = _asked(flags)
    traits = Traits(players=players or 2, **flags)
    texts = package(kind, name, game=game or _GAME, traits=traits)
    folder = into / f"miai-{_dashed(name)}"
    _write(folder, texts)
    print(f"written to {folder}: {', '.join(texts)}")
    print(f"Next: cd {folder} && pip install -e '.[test]' && pytest")


def _write(folder: Path, texts: Mapping[str, str]) -> None:
    """Write the files of a new folder. Raises `ConfigError`."""
    from miai.files import write_text, writing

    if folder.exists():
        raise ConfigError(f"{folder}: exists already; choose another name, or a folder with --into")
    with writing(folder, ConfigError):
        for path, text in texts.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            write_text(folder / path, text)


def _asked(flags: Mapping[str, bool]) -> tuple[int, dict[str, bool]]:
    """Ask a person at a terminal what a game has; nobody else is asked."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return 2, dict(flags)
    players = typer.prompt(f"Players, 2 to {_MOST_PLAYERS}", default=2, type=int)
    if not 2 <= players <= _MOST_PLAYERS:
        raise ConfigError(f"{players} players: a game has 2 to {_MOST_PLAYERS}")
    asked = {"hidden": "Hidden information", "chance": "Chance", "simultaneous": "Acting at once"}
    return players, {flag: typer.confirm(text, default=False) for flag, text in asked.items()}


def check(
    game_name: GameName,
    settings: GameSettings = None,
    games: Annotated[int, typer.Option(min=1, help="Random games to play.")] = 20,
    seed: Annotated[int, typer.Option(help="Seed of all that is random in the check.")] = 0,
    worlds: Annotated[
        int, typer.Option(min=1, help="Worlds up to which beliefs are checked.")
    ] = 2000,
) -> None:
    """Check that a game keeps the rules that searches, referee and players rely on.

    Random games are played, and every rule is checked in all their positions. What breaks a rule is
    listed with the actions that lead to it, and the exit status is 2.
    """
    from miai.api import load_game
    from miai.testing import check_game

    name, parameters = game_of(game_name, settings or [])
    report = check_game(load_game(name, **parameters), seed=seed, games=games, worlds=worlds)
    beliefs = f", {report.beliefs} beliefs" if report.beliefs else ""
    print(
        f"{report.subject}: no violation in {report.games} games, {report.positions} positions"
        f"{beliefs}"
    )
    for reason in report.skipped:
        print(f"left out: {reason}")


def package(
    kind: PackageKind, name: str, *, game: str = _GAME, traits: Traits = Traits()
) -> Mapping[str, str]:
    """Return the files of a new package, by their path.

    Args:
      kind: what it begins with.
      name: name of its game or agent.
      game: the game of an agent.
      traits: what the game has.

    Raises:
      ConfigError: the name does not suit a package.
      PluginError: the agent's game is not installed, or broken.
    """
    _check_name(name, kind)
    dashed, module = _dashed(name), name.replace("-", "_")
    title = module.replace("_", " ").capitalize()
    facts = {
        "name": name,
        "dashed": dashed,
        "package": f"miai_{module}",
        "title": title,
        "camel": _camel(name),
        "agent": name if kind is PackageKind.AGENT else f"{dashed}-player",
        "game": game if kind is PackageKind.AGENT else name,
        "players": str(traits.players),
        **{flag: "#" * getattr(traits, flag) for flag in ("hidden", "chance", "simultaneous")},
    }
    game_file, facts["summary"] = _PLAIN if traits == Traits() else _ROUNDS
    facts["agent_camel"] = _camel(facts["agent"])
    parts = [PackageKind(part) for part in ("game", "agent") if kind in (part, "plugin")]
    facts["registrations"] = "".join(_registration(part, facts) for part in parts).rstrip()
    requirements, wins = ["miai>=0.2"], traits == Traits()
    seats: Sequence[str] = ("first", "second")
    if traits.players > 2:
        seats = tuple(f"player{number}" for number in range(1, traits.players + 1))
    facts["seats"] = str(seats).replace("'", '"')
    if kind is PackageKind.AGENT:
        requirements += _distribution_of(game)
        seats, wins = _seats_of(game)
    facts["dependencies"] = ", ".join(f'"{requirement}"' for requirement in requirements)
    facts["description"] = f"{title}, {' and '.join(_a(part) for part in parts)} for miai"
    first = facts["agent"] if PackageKind.AGENT in parts else "random"
    facts["seated"] = " ".join(
        f"--{seat} {first if number == 0 else 'random'}" for number, seat in enumerate(seats)
    )
    files = {
        "pyproject.toml": "pyproject.toml",
        "README.md": "README.md",
        f"{facts['package']}/plugin.py": "plugin.py",
    }
    for part in parts:
        file = game_file if part is PackageKind.GAME else "agent"
        files[f"{facts['package']}/{part}.py"] = f"{file}.py"
        test = "test_winning_agent.py" if part is PackageKind.AGENT and wins else f"test_{file}.py"
        files[f"tests/test_{module}_{part}.py"] = test
    texts = {path: _text(template, facts) for path, template in files.items()}
    texts[f"{facts['package']}/__init__.py"] = f'"""{facts["description"]}."""\n'
    return dict(sorted(texts.items()))


def _seats_of(game: str) -> tuple[Sequence[str], bool]:
    """Return the players of an installed game, and whether an agent can be tested by its wins."""
    from miai.api import load_game

    info = load_game(game).info
    alternating = not (info.simultaneous or info.max_chance_outcomes)
    short = info.max_game_length <= _SHORT and len(info.player_names) == 2
    return info.player_names, short and info.perfect_information and alternating


def _registration(part: PackageKind, facts: Mapping[str, str]) -> str:
    """Return the call that registers the game or the agent of a package."""
    agent = part is PackageKind.AGENT
    return _REGISTRATION.substitute(
        kind=part,
        name=facts["agent" if agent else "name"],
        package=facts["package"],
        camel=facts["agent_camel" if agent else "camel"],
        summary=_AGENT if agent else facts["summary"],
        scope=f'        game="{facts["game"]}",\n' if agent else "",
    )


def _text(template: str, facts: Mapping[str, str]) -> str:
    """Return a file: a template with its facts, and the lines for the traits that the game has."""
    source = (_SKELETON / f"{template}.txt").read_text(encoding="utf-8")
    lines, shown = list[str](), [True]
    for line in source.splitlines():
        match line.split():
            case ["#:", "if", trait]:
                shown.append(bool(facts[trait]))
            case ["#:", "else"]:
                shown[-1] = not shown[-1]
            case ["#:", "end"]:
                shown.pop()
            case _ if all(shown):
                lines.append(line)
    return Template("\n".join(lines) + "\n").substitute(facts)


def _check_name(name: str, kind: PackageKind) -> None:
    """Raise `ConfigError` unless a name suits a component, a package and a class."""
    from miai.plugins.loader import registry

    if not _NAME.fullmatch(name) or len(name) > _LONGEST or keyword.iskeyword(_camel(name)):
        raise ConfigError(
            f"{name!r}: is not a name for {_a(kind)}; use at most {_LONGEST} lower-case letters, "
            "digits and single dashes or underscores, a letter first, such as 'nim' or "
            "'four_in_a_row'"
        )
    package = f"miai_{name.replace('-', '_')}"
    if importlib.util.find_spec(package) is not None:
        raise ConfigError(
            f"{name!r}: the package {package} is installed already; choose another name"
        )
    part = PackageKind.AGENT if kind is PackageKind.AGENT else PackageKind.GAME
    for component in registry().components(part.value, adapted=True):
        if component.name == name:
            raise ConfigError(
                f"{name!r}: is already {_a(part)}, of plugin '{component.plugin}'; choose another "
                "name"
            )


def _distribution_of(game: str) -> list[str]:
    """Return the distribution of a game. Raises `UnknownComponentError`."""
    from miai.plugins.loader import plugin_host

    host = plugin_host()
    plugin = host.registry.get("game", game).plugin
    return [p.distribution for p in host.plugins if p.name == plugin and p.distribution]


def _a(part: PackageKind) -> str:
    return f"an {part}" if part is PackageKind.AGENT else f"a {part}"


def _dashed(name: str) -> str:
    return name.replace("_", "-")


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in re.split(r"[-_]", name))
