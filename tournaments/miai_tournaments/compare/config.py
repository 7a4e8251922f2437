"""The config file of a comparison, read and checked before anything is searched.

Searches, problems and the components that they name are looked up and built once; all mistakes are
reported together, a line each, with file and path.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from miai.beliefs.protocol import BeliefSearcher, RootedProblem
from miai.errors import ConfigError, MiaiError, ParameterError, UnknownComponentError
from miai.parameters import ConfigFile, Parameters, explain, named_components, read_toml
from miai.parameters import mistakes as mistakes_of
from miai.plain import one_line
from miai.plugins.configs import refuse_other_config
from miai.plugins.kinds import BELIEF_PROBLEM, BELIEF_SEARCH
from miai.plugins.loader import registry
from miai_tournaments.compare.results import FILE_NAME
from miai_tournaments.compare.schema import (
    MAX_SEARCHES,
    Arm,
    ComparisonConfig,
    RootBlock,
    blocks_of,
    game_name,
)
from miai_tournaments.config.mistakes import Mistakes


@contextmanager
def _building_at(mistakes: Mistakes, path: str) -> Iterator[None]:
    """As `Mistakes.at`, for a factory, which does not know its own place in the config."""
    with mistakes.at(path):
        try:
            yield
        except MiaiError as error:
            if not isinstance(error, ParameterError):
                raise
            raise ConfigError(one_line(str(error))) from error
        except ValueError as error:
            raise ConfigError(one_line(str(error))) from error


_ARM_KEYS = frozenset({"name", "search", "parameters"})


class Components:
    """The valid searches and problems of a config.

    Attributes:
      arms: arms with valid searches and parameters.
      problems: all parameters of each cell's problem, by number of the cell.
    """

    def __init__(self, raw: Mapping[str, Any], mistakes: Mistakes) -> None:
        self.arms: list[Arm] = []
        self.problems: dict[int, dict[str, Any]] = {}
        for number, table in _tables(raw, "arms"):
            with mistakes.at(f"arms[{number}].search"):
                self.arms.append(_arm(table, where=f"arms[{number}]"))
        for number, table in _tables(raw, "cells"):
            self._check_cell(number, table, mistakes)

    def try_all(self, config: ComparisonConfig, mistakes: Mistakes) -> None:
        """Build every arm's searcher for each of its problems once."""
        tried: set[tuple[str, str]] = set()
        for cell in config.cells:
            for number, arm in enumerate(self.arms):
                if (game_name(cell), arm.name) in tried or arm.name not in (cell.arms or arm.name):
                    continue
                tried.add((game_name(cell), arm.name))
                with _building_at(mistakes, f"arms[{number}]"):
                    make_searcher(arm, make_problem(cell.problem, cell.parameters))

    def _check_cell(self, number: int, table: Mapping[str, Any], mistakes: Mistakes) -> None:
        name, given = table.get("problem"), table.get("parameters", {})
        if not isinstance(name, str) or not isinstance(given, Mapping):
            return  # reported by the models
        with mistakes.at(f"cells[{number}].problem"):
            component = registry().get(BELIEF_PROBLEM, name)
            filled = component.fill(given, where=f"cells[{number}].parameters")
            with _building_at(mistakes, f"cells[{number}].parameters"):
                problem: RootedProblem = component.build(values=given)
                self.problems[number] = filled.model_dump(mode="json")
                classes = table.get("classes")
                for kind in classes if isinstance(classes, list) else ():
                    if isinstance(kind, str):
                        path, known = f"cells[{number}].classes", problem.root_classes
                        mistakes.refuse_unknown(path, kind, known, "class of roots")


def make_problem(name: str, given: Mapping[str, Any]) -> RootedProblem:
    """Build a problem. Raises what its factory raises."""
    problem: RootedProblem = registry().build(BELIEF_PROBLEM, name, values=given)
    return problem


def make_searcher(arm: Arm, problem: RootedProblem) -> BeliefSearcher:
    """Build a fresh searcher of an arm. Raises what its factory raises."""
    searcher: BeliefSearcher = registry().build(
        BELIEF_SEARCH, arm.search, problem, values=arm.given
    )
    return searcher


def _arm(table: Mapping[str, Any], *, where: str) -> Arm:
    name = str(table.get("search", "recursive"))
    component = registry().get(BELIEF_SEARCH, name)
    inner = table.get("parameters", {})
    given = {key: value for key, value in table.items() if key not in _ARM_KEYS}
    given |= inner if isinstance(inner, Mapping) else {}
    parameters = _resolved(component.fill(given, where=where), where=where)
    return Arm(name=str(table.get("name")), search=name, given=given, parameters=parameters)


def _resolved(filled: Parameters, *, where: str) -> dict[str, Any]:
    """Return all parameters, including those of the components that they name.

    Raises:
      ParameterError: a component does not exist, or its parameters are wrong.
    """
    values = filled.model_dump(mode="json")
    for field, kind, name, given in named_components(filled):
        try:
            component = registry().get(kind, name)
        except UnknownComponentError as error:
            raise ParameterError(f"{where}.{field}: {error}") from error
        inner = f"{where}.{field}_parameters"
        own = _resolved(component.fill(given, where=inner), where=inner)
        if f"{field}_parameters" in values:
            values[f"{field}_parameters"] = own
    return values


def _tables(raw: Mapping[str, Any], name: str) -> list[tuple[int, Mapping[str, Any]]]:
    tables = raw.get(name)
    entries = tables if isinstance(tables, list) else []
    return [(number, entry) for number, entry in enumerate(entries) if isinstance(entry, Mapping)]


_EXAMPLE = "configs/compare-quick.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A checked config.

    Attributes:
      config: the config.
      arms: arms by name, in the order of the config.
      blocks: blocks of searches, in the order of the config.
      text, source: content and path of the file.
    """

    config: ComparisonConfig
    arms: Mapping[str, Arm]
    blocks: tuple[RootBlock, ...]
    text: str
    source: str

    @property
    def name(self) -> str:
        """Name of the comparison."""
        return self.config.comparison.name

    @property
    def baseline(self) -> str:
        """The arm that speed-ups are measured against."""
        return self.config.comparison.baseline

    @property
    def judge(self) -> str:
        """The arm whose values are taken for true."""
        return self.config.comparison.judge


def config_file(parameters: Parameters) -> ConfigFile:
    """Return the kind of file that `load_comparison` takes."""
    return ConfigFile.of(ComparisonConfig, noun="a comparison", command="miai compare")


def load_comparison(path: Path) -> Comparison:
    """Return the comparison that a config file describes.

    Raises:
      ConfigError: the file cannot be read, or something in it is wrong.
    """
    text, raw = read_toml(path, example=_EXAMPLE, about=_about_folder)
    refuse_other_config(path, raw, ComparisonConfig)
    mistakes = Mistakes(raw, source=str(path))
    config = _validate(raw, mistakes)
    components = Components(raw, mistakes)
    if config is not None:
        _check_names(config, mistakes)
    mistakes.raise_if_any()
    assert config is not None
    parameters = {game_name(c): components.problems[n] for n, c in enumerate(config.cells)}
    blocks = blocks_of(config, parameters)
    _check_blocks(config, blocks, mistakes)
    mistakes.raise_if_any()
    components.try_all(config, mistakes)
    mistakes.raise_if_any()
    return Comparison(
        config=config,
        arms={arm.name: arm for arm in components.arms},
        blocks=tuple(blocks),
        text=text,
        source=str(path),
    )


def _about_folder(path: Path) -> str:
    if (path / FILE_NAME).exists():
        return "is a comparison's folder; name its config file, and the folder with --out"
    return ""


def _validate(raw: Mapping[str, Any], mistakes: Mistakes) -> ComparisonConfig | None:
    try:
        return ComparisonConfig.model_validate(raw)
    except ValidationError as error:
        for detail in mistakes_of(error):
            line = explain(detail, ComparisonConfig, "")
            if detail["loc"] in (("arms",), ("cells",)) and detail["type"] != "too_short":
                table = detail["loc"][0]
                line += f"; write [[{table}]], in double brackets, above the keys of each"
            mistakes.add_line(line.replace("unknown parameter", "unknown key"))
        return None


def _check_names(config: ComparisonConfig, mistakes: Mistakes) -> None:
    """Check that arms have unique names, and that named arms exist."""
    section, names = config.comparison, [arm.name for arm in config.arms]
    for number, name in enumerate(names):
        if (first := names.index(name)) != number:
            mistakes.add(f"arms[{number}].name", f"'{name}' is the name of arms[{first}] too")
    mistakes.refuse_unknown("comparison.baseline", section.baseline, names, "arm")
    if section.truth is not None:
        mistakes.refuse_unknown("comparison.truth", section.truth, names, "arm")
    for number, cell in enumerate(config.cells):
        for name in cell.arms or ():
            mistakes.refuse_unknown(f"cells[{number}].arms", name, names, "arm")
        for needed in sorted({section.baseline, section.judge}):
            if cell.arms is not None and needed not in cell.arms:
                message = f"lack '{needed}'; every cell needs the baseline and truth"
                mistakes.add(f"cells[{number}].arms", message)


def _check_blocks(config: ComparisonConfig, blocks: list[RootBlock], mistakes: Mistakes) -> None:
    """Check that blocks have unique names, and that there are not too many searches."""
    games: dict[str, tuple[int, object]] = {}
    for number, cell in enumerate(config.cells):
        name, problem = game_name(cell), (cell.problem, cell.parameters)
        first, other = games.setdefault(name, (number, problem))
        if other != problem:
            message = f"'{name}' names another problem in cells[{first}]; give each its own name"
            mistakes.add(f"cells[{number}].name", message)
    seen: set[object] = set()
    for block in blocks:
        if block.cell in seen:
            mistakes.add("cells", f"'{block.title}' is there twice; put all of its seeds into one")
        seen.add(block.cell)
    count = sum(block.count for block in blocks)
    if count > MAX_SEARCHES:
        mistakes.add("cells", f"make {count} searches; the maximum is {MAX_SEARCHES}")
