"""Sweep: compares variants of one agent, with parameters from a grid or a sample.

The variants play against the other players of the config, or against each other if there are none.
With ``method = "halving"`` the better ones continue to a next rung with more games each (successive
halving: Jamieson and Talwalkar, Non-stochastic best arm identification, AISTATS 2016); a rung is
judged by its own games, when all of them are played.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any, Literal, cast

from pydantic import ValidationError, field_validator, model_validator

from miai.errors import ParameterError
from miai.pages.document import counted
from miai.parameters import Parameters, StrictModel, explain, parameter
from miai.seeds import derive_seed
from miai_tournaments.formats.format import (
    MOST,
    Entrants,
    Format,
    FormatStep,
    Meeting,
    Pairing,
    Variants,
    by_round,
    points_by_player,
)

MAX_VARIANTS = 900
"""Maximum number of variants of a sweep."""

_TRIES = 100
"""Draws for each variant before giving up on finding enough different ones."""

Value = bool | int | float | str


class Range(StrictModel):
    """A range to draw from, including both ends; whole numbers if both ends are.

    Attributes:
      low, high: the ends.
      log: whether to draw uniformly on a logarithmic scale.
    """

    low: int | float
    high: int | float
    log: bool = False

    @model_validator(mode="after")
    def _ordered(self) -> Range:
        if self.low >= self.high:
            raise ValueError(f"low {self.low:g} must be less than high {self.high:g}")
        if self.log and self.low <= 0:
            raise ValueError("low must be more than 0 where log is true")
        return self

    def draw(self, rng: random.Random) -> int | float:
        """Return a number."""
        whole = isinstance(self.low, int) and isinstance(self.high, int)
        if not self.log:
            if whole:
                return rng.randint(cast("int", self.low), cast("int", self.high))
            return rng.uniform(self.low, self.high)
        number = math.exp(rng.uniform(math.log(self.low), math.log(self.high)))
        number = min(max(number, self.low), self.high)
        return round(number) if whole else number


class SweepFormatParameters(Parameters):
    """Parameters of the sweep."""

    player: str = parameter(help="Name of the player whose parameters are varied")
    vary: dict[str, tuple[Value, ...] | Range] = parameter(
        min_length=1,
        max_length=32,
        help="For each parameter a list of values, or low, high and log to draw from",
    )
    method: Literal["grid", "random", "halving"] = parameter(
        "grid", help="grid: all combinations; random: samples; halving: either, halved at each rung"
    )
    samples: int | None = parameter(
        None, ge=1, le=MAX_VARIANTS, help="Number of variants drawn (default: all combinations)"
    )
    rounds: int = parameter(
        1, ge=1, le=MOST, help="Pairs of games with each opponent (first rung)", unit="rounds"
    )

    @field_validator("vary", mode="before")
    @classmethod
    def _readable(cls, vary: object) -> object:
        """Check lists and ranges here: pydantic's messages for unions are hard to read."""
        if not isinstance(vary, Mapping):
            return vary
        return {name: _list_or_range(str(name), values) for name, values in vary.items()}

    @model_validator(mode="after")
    def _consistent(self) -> SweepFormatParameters:
        if any(values == () for values in self.vary.values()):
            raise ValueError("vary: a list is empty")
        if self.method == "random" and self.samples is None:
            raise ValueError("a random sweep needs samples")
        if self.method == "grid" and self.samples is not None:
            raise ValueError("a grid takes all combinations; leave out samples")
        if self.samples is None and any(isinstance(values, Range) for values in self.vary.values()):
            raise ValueError("vary: a range of low and high needs samples")
        return self


def _list_or_range(name: str, values: object) -> object:
    """Return the list or range of a parameter. Raises `ValueError` if it is neither."""
    if isinstance(values, Mapping):
        try:
            return Range.model_validate(dict(values))
        except ValidationError as error:
            wrong = error.errors()[-1]  # of several kinds of number the widest one
            raise ValueError(explain({**wrong, "loc": wrong["loc"][:1]}, Range, name)) from None
    if isinstance(values, Range):
        return values
    if not isinstance(values, (list, tuple)) or not all(isinstance(v, Value) for v in values):
        raise ValueError(f"{name}: give a list of numbers or texts, or a table of low and high")
    texts = [repr(value) for value in values]
    if twice := sorted({text for text in texts if texts.count(text) > 1}):
        raise ValueError(f"{name}: has {twice[0]} twice; two players would be the same")
    return values


class SweepFormat(Format):
    """The sweep. The variants form a team with the name of the player that they replace."""

    def __init__(self, entrants: Entrants, parameters: SweepFormatParameters) -> None:
        team = parameters.player
        self._variants = [name for name in entrants.players if entrants.teams.get(name) == team]
        self._others = [name for name in entrants.players if name not in set(self._variants)]
        if not self._variants:
            raise ParameterError(f"format.player: no player is called '{team}'")
        values = self.variants(parameters, seed=entrants.seed).values
        self._values = dict(zip(self._variants, values, strict=False))  # fewer for a field by hand
        self._rounds = parameters.rounds
        self._halving = parameters.method == "halving"

    @classmethod
    def variants(cls, parameters: SweepFormatParameters, *, seed: int) -> Variants:
        """Return the variants, drawn with the seed or in the order of the lists."""
        if parameters.samples is None:
            values = _grid(parameters)
        else:
            values = _sample(parameters, parameters.samples, derive_seed(seed, "sweep"))
        return Variants(player=parameters.player, values=values)

    def more(self, played: Sequence[Meeting], *, room: int) -> FormatStep:
        """Return the games of the next rung, or the ranking."""
        rungs = by_round(played)
        remaining, out, before = list(self._variants), list[str](), 0
        for number, rounds in enumerate(self._plan(), start=1):
            if number not in rungs:
                facts = self._facts(remaining, out, number)
                openings = range(before + 1, before + rounds + 1)
                pairings = list(self._rung(remaining, number, openings))
                return FormatStep(pairings=pairings, facts=facts)
            before += rounds
            points = points_by_player(rungs[number])
            # Points of this rung only: in earlier rungs the survivors were chosen for their luck
            # too.
            remaining.sort(key=lambda name: -points[name])  # ties keep their order
            stay = self._stay(len(remaining)) if self._halving else len(remaining)
            remaining, out = remaining[:stay], remaining[stay:] + out
        return FormatStep(finished=True, facts=self._facts(remaining, out, None))

    def most_games(self) -> int:
        """Return the number of games."""
        count, games = len(self._variants), 0
        for rounds in self._plan():
            games += rounds * count * (2 * len(self._others) or count - 1)
            count = self._stay(count)
        return games

    def title(self) -> str:
        """Return the number of variants and the rounds of the first rung."""
        halving = ", halved" if self._halving else ""
        return f"sweep of {len(self._variants)} variants, {counted(self._rounds, 'round')}{halving}"

    def _stay(self, count: int) -> int:
        """Return how many of `count` variants continue."""
        return math.ceil(count / 2)

    def _plan(self) -> Iterator[int]:
        """Yield the rounds of each rung."""
        rounds, count = self._rounds, len(self._variants)
        yield rounds
        while self._halving and (count := self._stay(count)) > 1:
            rounds *= 2
            yield rounds

    def _rung(self, names: Sequence[str], number: int, openings: range) -> Iterator[Pairing]:
        """Yield a rung's pairings; openings continue after those of the rung before."""
        pairings = list(product(names, self._others) if self._others else combinations(names, 2))
        for opening in openings:
            for one, other in pairings:
                yield Pairing(first=one, second=other, round=number, opening=opening)

    def _facts(
        self, remaining: Sequence[str], out: Sequence[str], rung: int | None
    ) -> Mapping[str, Any]:
        names = ", ".join(remaining[:5]) + (" ..." if len(remaining) > 5 else "")
        best = f"best variant: {remaining[0]}{_in_brackets(self._values.get(remaining[0], {}))}"
        return {
            "kind": "sweep",
            "ranking": [*remaining, *out],
            "left": [*remaining],
            "text": best if rung is None else f"rung {rung}: {names}",
            "parameters": {name: dict(values) for name, values in self._values.items()},
        }


def _in_brackets(values: Mapping[str, Any]) -> str:
    """Return rounded parameters in brackets; the fact ``parameters`` has the exact values."""
    words = (
        f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in values.items()
    )
    return f" ({', '.join(words)})" if values else ""


def _grid(parameters: SweepFormatParameters) -> list[dict[str, Any]]:
    """Return all combinations. Raises `ParameterError` if there are too many."""
    lists = {name: values for name, values in parameters.vary.items() if isinstance(values, tuple)}
    count = math.prod(map(len, lists.values()))
    if count > MAX_VARIANTS:
        raise ParameterError(
            f"format.vary: leads to {count} variants; use at most {MAX_VARIANTS}, or draw samples"
        )
    return [dict(zip(lists, values, strict=True)) for values in product(*lists.values())]


def _sample(parameters: SweepFormatParameters, samples: int, seed: int) -> list[dict[str, Any]]:
    """Draw different combinations. Raises `ParameterError` if there are not enough."""
    rng = random.Random(seed)
    variants: dict[str, dict[str, Any]] = {}
    for _ in range(samples * _TRIES):
        values = {
            name: choices.draw(rng) if isinstance(choices, Range) else rng.choice(choices)
            for name, choices in parameters.vary.items()
        }
        variants.setdefault(repr(values), values)
        if len(variants) == samples:
            return list(variants.values())
    raise ParameterError(
        f"format.samples: {samples} different variants cannot be drawn; {len(variants)} were found"
    )
