"""For authors: ``miai new``, a package to start from, and ``miai check``, the conformance kit."""

from __future__ import annotations

import importlib.util
import keyword
import re
from collections.abc import Mapping
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
    into: Annotated[
        Path,
        typer.Option(metavar="FOLDER", file_okay=False, help="Where to make the package's folder."),
    ] = Path(),
) -> None:
    """Write a package with a game, an agent or both, and tests that pass.

    The folder miai-NAME has pyproject.toml with the entry point, the code, its tests and a README.
    `pip install -e .` in it makes the name work everywhere.
    """
    from miai.files import write_text, writing

    if game and kind is not PackageKind.AGENT:
        raise ConfigError(f"--game {game}: is for a new agent; {_a(kind)} has a game of its own")
    texts = package(kind, name, game=game or _GAME)
    folder = into / f"miai-{_dashed(name)}"
    if folder.exists():
        raise ConfigError(f"{folder}: exists already; choose another name, or a folder with --into")
    with writing(folder, ConfigError):
        for path, text in texts.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            write_text(folder / path, text)
    print(f"written to {folder}: {', '.join(texts)}")
    print(f"Next: cd {folder} && pip install -e '.[test]' && pytest")


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


def package(kind: PackageKind, name: str, *, game: str = _GAME) -> Mapping[str, str]:
    """Return the files of a new package, by their path.

    Args:
      kind: what it begins with.
      name: name of its game or agent.
      game: the game of an agent.

    Raises:
      ConfigError: the name does not suit a package.
      PluginError: the agent's game is not installed, or broken.
    """
    from miai.api import load_game

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
    }
    facts["agent_camel"] = _camel(facts["agent"])
    parts = [
        part for part in (PackageKind.GAME, PackageKind.AGENT) if kind in (part, PackageKind.PLUGIN)
    ]
    facts["registrations"] = "".join(_registration(part, facts) for part in parts).rstrip()
    requirements, wins = ["miai>=0.2"], True
    seats: tuple[str, ...] = ("first", "second")
    if kind is PackageKind.AGENT:
        info = load_game(game).info
        requirements += _distribution_of(game)
        seats, wins = info.player_names, info.max_game_length <= _SHORT
        wins = wins and info.perfect_information and len(seats) == 2
        wins = wins and not (info.simultaneous or info.max_chance_outcomes)
    facts["dependencies"] = ", ".join(f'"{requirement}"' for requirement in requirements)
    facts["description"] = f"{title}, {' and '.join(_a(part) for part in parts)} for miai"
    first = facts["agent"] if PackageKind.AGENT in parts else "random"
    facts["players"] = " ".join(
        f"--{seat} {first if number == 0 else 'random'}" for number, seat in enumerate(seats)
    )
    files = {
        "pyproject.toml": "pyproject.toml",
        "README.md": "README.md",
        f"{facts['package']}/plugin.py": "plugin.py",
    }
    for part in parts:
        files[f"{facts['package']}/{part}.py"] = f"{part}.py"
        test = "test_winning_agent.py" if part is PackageKind.AGENT and wins else f"test_{part}.py"
        files[f"tests/test_{module}_{part}.py"] = test
    texts = {path: _text(template, facts) for path, template in files.items()}
    texts[f"{facts['package']}/__init__.py"] = f'"""{facts["description"]}."""\n'
    return dict(sorted(texts.items()))


_SUMMARIES: Final = {
    PackageKind.GAME: "Take 1 to 3 counters in turn; who takes the last one wins",
    PackageKind.AGENT: "Wins at once where it can, and else plays at random",
}


def _registration(part: PackageKind, facts: Mapping[str, str]) -> str:
    """Return the call that registers the game or the agent of a package."""
    agent = part is PackageKind.AGENT
    return _REGISTRATION.substitute(
        kind=part,
        name=facts["agent" if agent else "name"],
        package=facts["package"],
        camel=facts["agent_camel" if agent else "camel"],
        summary=_SUMMARIES[part],
        scope=f'        game="{facts["game"]}",\n' if agent else "",
    )


def _text(template: str, facts: Mapping[str, str]) -> str:
    source = (_SKELETON / f"{template}.txt").read_text(encoding="utf-8")
    return Template(source).substitute(facts)


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
