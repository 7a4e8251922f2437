"""The config file of a comparison as models, and the blocks of searches that it describes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field, model_validator

from miai_tournaments.compare.results import SearchKey
from miai_tournaments.config.schema import NAME, ComponentSection, ConfigSection

MAX_SEARCHES = 1_000_000
"""Maximum number of searches of a comparison."""

Name = Annotated[str, Field(pattern=NAME, max_length=60)]
Seed = Annotated[int, Field(ge=0, lt=2**63)]
Depth = Annotated[int, Field(ge=1, le=1000)]
Class = Annotated[str, Field(min_length=1, max_length=40)]


class ComparisonSection(ConfigSection):
    """``[comparison]``.

    Attributes:
      name: name of the comparison, and of its folder below ``runs/``.
      seeds: seeds of the roots; each cell draws roots with each of them.
      baseline: arm that speed-ups are measured against.
      truth: arm whose values count as true; it must make no errors. Default: the baseline.
      warm: whether one searcher, which keeps its knowledge, searches all roots of a cell; otherwise
        each root has a fresh one.
      repeats: number of searches of each root; the median time counts.
      deepening: whether depths 1, 2, ... are searched first.
    """

    name: Name
    seeds: tuple[Seed, ...] = Field(default=(1,), min_length=1, max_length=1000)
    baseline: Name
    truth: Name | None = None
    warm: bool = False
    repeats: int = Field(default=1, ge=1, le=101)
    deepening: bool = False

    @property
    def judge(self) -> str:
        """The arm whose values count as true."""
        return self.truth or self.baseline


class ArmSection(ComponentSection):
    """``[[arms]]``: a name, a search and its parameters."""

    name: Name
    search: str = "recursive"


class CellSection(ConfigSection):
    """``[[cells]]``: a problem and the roots to search.

    Attributes:
      problem: a component of kind ``belief-problem``, with its `parameters`.
      name: name of the problem in tables; default: from problem and parameters.
      depths, classes: each depth with each class is a cell of the table.
      roots: number of roots for each class, depth and seed.
      seeds, warm: override those of ``[comparison]``.
      max_nodes: node limit of a search, which then deepens step by step; a search that needs more
        is incomplete.
      arms: names of the arms that search (default: all).
    """

    problem: str
    parameters: dict[str, Any] = Field(default_factory=dict)
    name: Name | None = None
    depths: tuple[Depth, ...] = Field(min_length=1, max_length=100)
    classes: tuple[Class, ...] = Field(min_length=1, max_length=100)
    roots: int = Field(ge=1, le=100_000)
    seeds: tuple[Seed, ...] | None = Field(default=None, min_length=1, max_length=1000)
    warm: bool | None = None
    max_nodes: int | None = Field(default=None, ge=1)
    arms: tuple[Name, ...] | None = None

    @model_validator(mode="after")
    def _none_twice(self) -> CellSection:
        for key in ("depths", "classes", "seeds", "arms"):
            values = getattr(self, key) or ()
            if len(set(values)) < len(values):
                raise ValueError(f"{key}: contains a duplicate")
        return self


class ComparisonConfig(ConfigSection):
    """The whole file."""

    comparison: ComparisonSection
    arms: tuple[ArmSection, ...] = Field(min_length=1, max_length=100)
    cells: tuple[CellSection, ...] = Field(min_length=1, max_length=1000)


_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """A search with its parameters.

    Attributes:
      name: name of the arm.
      search: a component of kind ``belief-search``.
      given: parameters in the config.
      parameters: all parameters, defaults included.
    """

    name: str
    search: str
    given: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def k(self) -> int | None:
        """Hashes per sketch, if the arm has that parameter."""
        for values in (self.parameters, self.parameters.get("bounds_parameters", {})):
            k = values.get("k") if isinstance(values, Mapping) else None
            if type(k) is int and k > 0:
                return k
        return None

    def without_k(self) -> str:
        """Return a key that arms share which differ in `k` alone."""
        inner = self.parameters.get("bounds_parameters", {})
        rest = {key: value for key, value in inner.items() if key != "k"}
        own = {key: value for key, value in self.parameters.items() if key != "k"}
        return repr((self.search, {**own, "bounds_parameters": rest}))


@dataclass(frozen=True, slots=True, kw_only=True)
class RootBlock:
    """A cell of the table: roots of one class of one problem, searched to one depth.

    Attributes:
      game: name of the problem with its parameters.
      problem, given, parameters: the component, its parameters in the config and with defaults.
      depth, kind, warm, seeds, roots, max_nodes: see `CellSection`.
      arms: names of the arms, the one whose values count as true first.
    """

    game: str
    problem: str
    given: Mapping[str, Any]
    parameters: Mapping[str, Any]
    depth: int
    kind: str
    warm: bool
    seeds: tuple[int, ...]
    roots: int
    max_nodes: int | None
    arms: tuple[str, ...]

    @property
    def cell(self) -> tuple[str, int, str, bool]:
        """Key of the block: game, depth, class and whether searchers are warm."""
        return self.game, self.depth, self.kind, self.warm

    @property
    def names(self) -> tuple[str | int, ...]:
        """Key of the block for deriving seeds."""
        return self.game, self.depth, self.kind, int(self.warm)

    @property
    def title(self) -> str:
        """The block in words."""
        return f"{self.game}, depth {self.depth}, {self.kind} roots" + ", warm" * self.warm

    @property
    def count(self) -> int:
        """Number of searches."""
        return len(self.seeds) * self.roots * len(self.arms)

    def searches(self) -> Iterator[SearchKey]:
        """Yield the searches of the block, root by root, in the order in which they are done."""
        for seed in self.seeds:
            for root in range(self.roots):
                for arm in self.arms:
                    yield SearchKey(*self.cell, seed, root, arm)


def game_name(cell: CellSection) -> str:
    """Return the name of a cell's problem in tables, such as ``mini_rbc-n4-w2``."""
    if cell.name is not None:
        return cell.name
    parts = [cell.problem]
    for key, value in cell.parameters.items():
        if value is True:
            parts.append(key)
        elif value is not False:
            parts.append(f"{key}{value}")
    return re.sub(r"[^\w.+-]", "_", "-".join(parts))[:_LONGEST_NAME]


def blocks_of(
    config: ComparisonConfig, parameters: Mapping[str, Mapping[str, Any]]
) -> list[RootBlock]:
    """Return the blocks of a config, in its order.

    Args:
      parameters: all parameters of each game's problem.
    """
    section, every = config.comparison, [arm.name for arm in config.arms]
    blocks = []
    for cell in config.cells:
        names = [name for name in every if name in (cell.arms or every)]
        names.sort(key=lambda name: name != section.judge)
        for depth in cell.depths:
            for kind in cell.classes:
                blocks.append(
                    RootBlock(
                        game=game_name(cell),
                        problem=cell.problem,
                        given=cell.parameters,
                        parameters=parameters[game_name(cell)],
                        depth=depth,
                        kind=kind,
                        warm=section.warm if cell.warm is None else cell.warm,
                        seeds=cell.seeds or section.seeds,
                        roots=cell.roots,
                        max_nodes=cell.max_nodes,
                        arms=tuple(names),
                    )
                )
    return blocks
