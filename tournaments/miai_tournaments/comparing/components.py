"""Checks what a comparison's config names: searches, problems, and what searches name in turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from miai.belief_search import BeliefSearcher, RootedProblem
from miai.errors import ParameterError, UnknownComponentError
from miai.plugins.loader import registry
from miai.plugins.parameters import Parameters, named_components
from miai_tournaments.comparing.blocks import Arm, game_name
from miai_tournaments.comparing.mistakes import Mistakes
from miai_tournaments.comparing.schema import ComparisonConfig

_ARM_KEYS = frozenset({"name", "search", "parameters"})


class Components:
    """The searches and problems of a config, as far as they are right.

    Attributes:
      arms: the arms whose searches and parameters are right.
      problems: all parameters of the problem of each cell, by its number.
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
        """Make every arm's searcher for every problem it is to search, once."""
        tried: set[tuple[str, str]] = set()
        for cell in config.cells:
            for number, arm in enumerate(self.arms):
                if (game_name(cell), arm.name) in tried or arm.name not in (cell.arms or arm.name):
                    continue
                tried.add((game_name(cell), arm.name))
                with mistakes.built_at(f"arms[{number}]"):
                    make_searcher(arm, make_problem(cell.problem, cell.parameters))

    def _check_cell(self, number: int, table: Mapping[str, Any], mistakes: Mistakes) -> None:
        name, given = table.get("problem"), table.get("parameters", {})
        if not isinstance(name, str) or not isinstance(given, Mapping):
            return  # the models have told why
        with mistakes.at(f"cells[{number}].problem"):
            component = registry().get("belief-problem", name)
            filled = component.fill(given, where=f"cells[{number}].parameters")
            with mistakes.built_at(f"cells[{number}].parameters"):
                problem: RootedProblem = component.load_factory()(filled)
                self.problems[number] = filled.model_dump(mode="json")
                classes = table.get("classes")
                for kind in classes if isinstance(classes, list) else ():
                    if isinstance(kind, str):
                        path, known = f"cells[{number}].classes", problem.root_classes
                        mistakes.refuse_unknown(path, kind, known, "class of roots")


def make_problem(name: str, given: Mapping[str, Any]) -> RootedProblem:
    """Return a problem of that name. Raises what its factory raises."""
    component = registry().get("belief-problem", name)
    problem: RootedProblem = component.load_factory()(component.fill(given))
    return problem


def make_searcher(arm: Arm, problem: RootedProblem) -> BeliefSearcher:
    """Return an arm's searcher that knows nothing yet. Raises what its factory raises."""
    component = registry().get("belief-search", arm.search)
    searcher: BeliefSearcher = component.load_factory()(problem, component.fill(arm.given))
    return searcher


def _arm(table: Mapping[str, Any], *, where: str) -> Arm:
    name = str(table.get("search", "recursive"))
    component = registry().get("belief-search", name)
    inner = table.get("parameters", {})
    given = {key: value for key, value in table.items() if key not in _ARM_KEYS}
    given |= inner if isinstance(inner, Mapping) else {}
    parameters = _resolved(component.fill(given, where=where), where=where)
    return Arm(name=str(table.get("name")), search=name, given=given, parameters=parameters)


def _resolved(filled: Parameters, *, where: str) -> dict[str, Any]:
    """Return all parameters, those of the components that they name filled in as well.

    Raises:
      ParameterError: there is no such component, or its parameters are wrong.
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
    found = raw.get(name)
    tables = found if isinstance(found, list) else []
    return [(number, table) for number, table in enumerate(tables) if isinstance(table, Mapping)]
