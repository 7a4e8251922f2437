"""What a comparison's config file can say: one model a table of the file."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, model_validator

from miai_tournaments.config.schema import NAME, Component, Section

MAX_SEARCHES = 1_000_000
"""Most searches of one comparison."""

Name = Annotated[str, Field(pattern=NAME, max_length=60)]
Seed = Annotated[int, Field(ge=0, lt=2**63)]
Depth = Annotated[int, Field(ge=1, le=1000)]
Class = Annotated[str, Field(min_length=1, max_length=40)]


class ComparisonSection(Section):
    """``[comparison]``.

    Attributes:
      name: of the comparison, and of its folder below ``runs/``.
      seeds: of the roots; each cell draws its roots with every one of them.
      baseline: the arm that speed-ups are measured against.
      truth: the arm whose values are taken for true; it must make no errors. By default the
        baseline.
      warm: whether one searcher searches all roots of a cell, with what it has learnt from those
        before; else every root is searched by a fresh one.
      repeats: searches of the same root of which the median time counts.
      deepening: whether depth 1, 2, ... are searched before.
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
        """The arm whose values are taken for true."""
        return self.truth or self.baseline


class ArmSection(Component):
    """``[[arms]]``: a name, a search, and the search's parameters."""

    name: Name
    search: str = "recursive"


class CellSection(Section):
    """``[[cells]]``: a problem, and the roots that it is searched from.

    Attributes:
      problem: a component of kind ``belief-problem``; `parameters` are its own.
      name: of the problem with its parameters, in tables; by default made of both.
      depths, classes: each depth with each class is a cell of the table.
      roots: of each class, depth and seed.
      seeds, warm: instead of those of ``[comparison]``.
      max_nodes: of one search; one that needs more is incomplete. With it searches go deeper step
        by step.
      arms: names of the arms that search; by default all.
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
                raise ValueError(f"{key}: one of them stands there twice")
        return self


class ComparisonConfig(Section):
    """The whole file."""

    comparison: ComparisonSection
    arms: tuple[ArmSection, ...] = Field(min_length=1, max_length=100)
    cells: tuple[CellSection, ...] = Field(min_length=1, max_length=1000)
