"""Parameter models check what they are told and explain what is wrong."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from types import ModuleType
from typing import Any, ClassVar, Literal, Self

import pytest
from annotated_types import BaseMetadata as Bound
from pydantic import BaseModel, field_validator, model_validator
from tests.whole_texts import assert_expected, assert_transcript, refusal, table_of

import miai
from miai.api import make_panel
from miai.beliefs import named_bounds
from miai.clock import TimeControl
from miai.errors import ParameterError
from miai.parameters import (
    KIND,
    NAME_PATTERN,
    build_parameters,
    describe_parameters,
    named_components,
    set_parameter,
)
from miai.search.evaluators import refuse_seconds
from miai_tournaments.ratings.sprt import Sprt


class Inner(miai.Parameters):
    width: int = miai.parameter(3, help="Width", ge=1)


class Example(miai.Parameters):
    simulations: int = miai.parameter(1000, help="Budget", unit="simulations", ge=1, le=10**9)
    mode: Literal["uct", "puct"] = miai.parameter("uct", help="Selection")
    seconds: float | None = miai.parameter(None, help="Time", unit="seconds", gt=0)
    inner: Inner = miai.parameter(Inner(), help="Nested")
    verbose: bool = miai.parameter(False, help="Whether to say more")
    moves: tuple[str, ...] = miai.parameter(("a1",), help="List", min_length=1, max_length=2)
    points: float = miai.parameter(0.0, help="Komi", multiple_of=0.5)
    place: Path = miai.parameter(Path(), help="A file")
    type: int = miai.parameter(0, help="A name that schemas have too")
    label: str = miai.parameter("x", help="Name", min_length=1, max_length=4, pattern=NAME_PATTERN)


def test_other_values_are_converted_as_before() -> None:
    filled = build_parameters(
        Example,
        {
            "moves": ["a1", "b2"],
            "place": "x/y",
            "seconds": 3,
            "inner": {"width": 2},
            "mode": "puct",
        },
    )
    assert filled.moves == ("a1", "b2")
    assert filled.place == Path("x/y")
    assert (filled.seconds, type(filled.seconds)) == (3.0, float)
    sent = json.loads(json.dumps(filled.model_dump(mode="json")))  # as to an agent's process
    assert build_parameters(Example, sent) == filled
    assert Example(inner=Inner(width=2), moves=("a1", "b2")).inner == filled.inner


def test_all_errors_are_reported_at_once() -> None:
    with pytest.raises(ParameterError) as caught:
        build_parameters(Example, {"simulations": 0, "speed": 1})
    assert len(str(caught.value).splitlines()) == 2


def test_a_filled_model_cannot_be_changed() -> None:
    filled = build_parameters(Example, {})
    with pytest.raises(ValueError, match="frozen"):
        filled.simulations = 5


class Puct(miai.Parameters):
    kind: Literal["puct"] = "puct"
    temperature: float = miai.parameter(1.0, help="Temperature of priors", gt=0)


class Gumbel(miai.Parameters):
    kind: Literal["gumbel"] = "gumbel"
    considered: int = miai.parameter(16, help="Moves considered at the root", ge=1)


class Network(miai.Parameters):
    precision: Literal["fp32", "int8"] = miai.parameter("fp32", help="Precision")
    evaluator: str | None = miai.parameter(None, help="Evaluator", component="evaluator")
    evaluator_parameters: dict[str, Any] = miai.parameter({}, help="Its parameters")
    seconds: float | None = miai.parameter(None, help="Time", unit="seconds")


class Search(miai.Parameters):
    moved: ClassVar = {"share": "is now network.seconds", "old": "was removed: nothing read it"}

    root: Puct | Gumbel = miai.parameter(Puct(), help="Selection at the root", discriminator=KIND)
    network: Network = miai.parameter(Network(precision="int8"), help="Running the network")


class Halving(Gumbel):
    kind: Literal["halving"] = "halving"  # type: ignore[assignment]
    rounds: int = miai.parameter(3, help="Rounds")


class Even(Halving):
    kind: Literal["even"] = "even"  # type: ignore[assignment]


class Rooted(miai.Parameters):
    root: Puct | Halving | Even = miai.parameter(Puct(), help="Root", discriminator=KIND)
    tail: Halving | Even = miai.parameter(Even(), help="Tail", discriminator=KIND)


class Range(miai.Parameters):
    low: int = 0
    high: int = 9
    rank: str = ""

    @field_validator("rank")
    @classmethod
    def _check_rank(cls, rank: str) -> str:
        if rank:
            raise ValueError("'zz' is not a rank" if rank == "zz" else "an unknown rank")
        return rank

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.low > self.high:
            raise ValueError("low is above high")
        return self


def test_a_wrong_value_is_reported_with_path_cause_and_remedy() -> None:
    """Of the models above."""

    def answer(line: str) -> str:
        model, _, table = line.partition(": ")
        where = {"Example": "players[2]", "Search": "x"}.get(model, "")
        return refusal(lambda: build_parameters(globals()[model], table_of(table), where=where))

    assert_transcript("model-mistakes.txt", answer)


def test_wrong_parameters_of_components_are_explained() -> None:
    def answer(line: str) -> str:
        subject, _, table = line.partition(":")
        subject, _, game = subject.partition(" of ")
        kind, name = subject.split()
        values = table_of(table.strip())
        attempts: dict[str, Callable[[], object]] = {
            "game": lambda: miai.load_game(name, **values),
            "agent": lambda: miai.make_agent(name, miai.load_game(game), **values),
            "judges": lambda: make_panel(miai.load_game(game), values),
            "bounds": lambda: named_bounds(name, **values),
            "time": lambda: TimeControl(**values),
            "sprt": lambda: Sprt(**values),
        }
        return refusal(attempts[kind])

    assert_transcript("wrong-parameters.txt", answer)


def test_the_defaults_of_a_table_are_those_of_its_model() -> None:
    rows = {row["name"]: row["default"] for row in describe_parameters(Search)}
    assert rows["network.precision"] == "int8"


def test_kinds_that_share_a_parameter_are_named_together() -> None:
    rows = {row["name"]: row["help"] for row in describe_parameters(Rooted)}
    assert rows["root.rounds"] == "Rounds (root = halving or even)"
    assert rows["tail.rounds"] == "Rounds"
    message = "Write root.rounds, with root = 'halving' or 'even' or tail.rounds."
    with pytest.raises(ParameterError, match=message):
        build_parameters(Rooted, {"rounds": 3})


def test_a_choice_is_named_by_its_kind_or_written_as_a_table() -> None:
    written = build_parameters(Search, {"root": {"kind": "gumbel", "considered": 8}})
    assert written.root == Gumbel(considered=8)
    assert build_parameters(Search, {"root": "gumbel"}).root == Gumbel()
    assert build_parameters(Search, {"root": {"temperature": 0.5}}).root == Puct(temperature=0.5)
    given = written.model_dump(mode="json", exclude_unset=True)
    assert given == {"root": {"kind": "gumbel", "considered": 8}}
    assert build_parameters(Search, given) == written


@pytest.mark.parametrize("paths", [["root", "root.considered"], ["root.considered", "root"]])
def test_paths_lead_into_tables_in_any_order(paths: list[str]) -> None:
    values: dict[str, Any] = {}
    for path in paths:
        set_parameter(values, path, {"root": "gumbel", "root.considered": 8}[path])
    assert build_parameters(Search, values).root == Gumbel(considered=8)
    with pytest.raises(ParameterError, match=r"--x\.root\.considered\.a: 'considered' has a value"):
        set_parameter(values, "root.considered.a", 1, where="--x.")


def test_components_and_seconds_are_found_in_tables() -> None:
    filled = build_parameters(Search, {"network": {"evaluator": "rollout", "seconds": 1.0}})
    assert list(named_components(filled)) == [("network.evaluator", "evaluator", "rollout", {})]
    with pytest.raises(ParameterError, match=r"x\.network\.seconds: a budget in seconds"):
        refuse_seconds(filled, where="x")


PACKAGES = ("tournaments", "go", "rbc", "classics", "miniblind", "openspiel")
PLAIN = (bool, int, float, str, tuple)


def defaults_in(owner: ModuleType | type, module: str) -> Iterator[str]:
    """Yield the defaults of what is public; of models the bounds too."""
    for value in vars(owner).values():
        function = inspect.unwrap(getattr(value, "__func__", value))
        private = re.match("_(?!_)", getattr(function, "__name__", "_"))
        if private or getattr(function, "__module__", "") != module:
            continue
        said = list[str]()
        if inspect.isfunction(function):
            for p in inspect.signature(function).parameters.values():
                star = "*" * (p.kind is p.KEYWORD_ONLY)
                value = f"={p.default!r}" * isinstance(p.default, PLAIN)
                said += [f"{star}{p.name}{value}"] * bool(star or value)
        elif inspect.isclass(function):
            yield from defaults_in(function, module)
            fields = function.model_fields if issubclass(function, BaseModel) else {}
            for name, field in fields.items():
                said += [f"{name}={field.default!r}"] * isinstance(field.default, PLAIN)
                said += [f"{name}: {bound}" for bound in field.metadata if isinstance(bound, Bound)]
        if said:
            yield f"{module}.{function.__qualname__}: {', '.join(said)}"


def names_for_type_checkers(module: ModuleType) -> set[str]:
    """Return what a module imports for type checkers alone, as it would make programs slow."""
    tree = ast.parse(inspect.getsource(module))
    blocks = [n for n in tree.body if isinstance(n, ast.If) and "TYPE_CHECKING" in ast.dump(n.test)]
    imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.asname or alias.name for node in imports for alias in node.names}


@pytest.mark.parametrize("package", ["miai", *(f"miai_{name}" for name in PACKAGES)])
def test_defaults_and_bounds_are_those_that_were_read(package: str) -> None:
    pytest.importorskip({"miai_go": "torch", "miai_openspiel": "pyspiel"}.get(package, package))
    lines: list[str] = []
    for module in walk_packages(import_module(package).__path__, f"{package}."):
        if not module.name.endswith("__main__"):
            loaded = import_module(module.name)
            assert not vars(loaded).keys() & names_for_type_checkers(loaded)
            lines += defaults_in(loaded, module.name)
    assert_expected(f"defaults/{package}.txt", "\n".join(lines))
