"""What is to be searched: blocks of roots, and the arms that search them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from miai_tournaments.comparing.schema import CellSection, ComparisonConfig
from miai_tournaments.store.comparisons import SearchKey

_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One way to search.

    Attributes:
      name: of the arm.
      search: a component of kind ``belief-search``.
      given: its parameters as the config gives them.
      parameters: all of them, defaults included.
    """

    name: str
    search: str
    given: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def k(self) -> int | None:
        """The hashes of a sketch, where the arm has that parameter."""
        for values in (self.parameters, self.parameters.get("bounds_parameters", {})):
            found = values.get("k") if isinstance(values, Mapping) else None
            if type(found) is int and found > 0:
                return found
        return None

    def without_k(self) -> str:
        """Return what the arm has in common with those that differ in `k` alone."""
        inner = self.parameters.get("bounds_parameters", {})
        rest = {key: value for key, value in inner.items() if key != "k"}
        own = {key: value for key, value in self.parameters.items() if key != "k"}
        return repr((self.search, {**own, "bounds_parameters": rest}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A cell of the table: roots of one class of one problem, searched to one depth.

    Attributes:
      game: name of the problem with its parameters.
      problem, given, parameters: the component, its parameters as given and with defaults.
      depth, kind, warm, seeds, roots, max_nodes: see `CellSection`.
      arms: names of those that search, the one whose values are taken for true first.
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
        """What names the block: game, depth, class and whether searchers are warm."""
        return self.game, self.depth, self.kind, self.warm

    @property
    def names(self) -> tuple[str | int, ...]:
        """What names the block, as seeds are derived from it."""
        return self.game, self.depth, self.kind, int(self.warm)

    @property
    def title(self) -> str:
        """The block in words."""
        return f"{self.game}, depth {self.depth}, {self.kind} roots" + ", warm" * self.warm

    @property
    def count(self) -> int:
        """How many searches the block has."""
        return len(self.seeds) * self.roots * len(self.arms)

    def searches(self) -> Iterator[SearchKey]:
        """Yield the searches of the block, root by root, in the order in which they are made."""
        for seed in self.seeds:
            for root in range(self.roots):
                for arm in self.arms:
                    yield SearchKey(*self.cell, seed, root, arm)


def game_name(cell: CellSection) -> str:
    """Return the name that a cell's problem has in tables: ``mini_rbc-n4-w2``, say."""
    if cell.name is not None:
        return cell.name
    parts = [cell.problem]
    for key, value in cell.parameters.items():
        if value is True:
            parts.append(key)
        elif value is not False:
            parts.append(f"{key}{value}")
    return re.sub(r"[^\w.+-]", "_", "-".join(parts))[:_LONGEST_NAME]


def blocks_of(config: ComparisonConfig, parameters: Mapping[str, Mapping[str, Any]]) -> list[Block]:
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
                    Block(
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
