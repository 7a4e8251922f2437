"""Parameter models check what they are told and explain what is wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import pytest
from pydantic import field_validator, model_validator

import miai
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


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"simulatoins": 5}, "players[2].simulatoins: unknown parameter. Did you mean 'simulat"),
        ({"simulations": 0}, "players[2].simulations: 0 is too small; at least 1"),
        ({"simulations": "many"}, "players[2].simulations: expected a whole number, got 'many'"),
        ({"simulations": True}, "players[2].simulations: expected a whole number, got true"),
        ({"simulations": "20"}, "players[2].simulations: expected a whole number, got '20'"),
        ({"simulations": 20.0}, "players[2].simulations: expected a whole number, got 20.0"),
        ({"seconds": "-0.5"}, "players[2].seconds: expected a number, got '-0.5'"),
        ({"seconds": True}, "players[2].seconds: expected a number, got true"),
        ({"verbose": 1}, "players[2].verbose: expected true or false, got 1"),
        ({"verbose": "yes"}, "players[2].verbose: expected true or false, got 'yes'"),
        ({"points": 7.3}, "players[2].points: 7.3 is not a multiple of 0.5; use 7 or 7.5"),
        ({"points": -0.2}, "players[2].points: -0.2 is not a multiple of 0.5; use -0.5 or 0"),
        ({"inner": {"width": True}}, "players[2].inner.width: expected a whole number, got true"),
        ({"type": True}, "players[2].type: expected a whole number, got true"),
        ({"label": ".."}, "players[2].label: '..' is not a name: use letters, digits and _"),
        (
            {"mode": "uctt"},
            "players[2].mode: 'uctt' is not one of uct, puct; did you mean 'uct' or",
        ),
        ({"seconds": float("nan")}, "players[2].seconds: expected a finite number, got nan"),
        ({"seconds": 0.0}, "players[2].seconds: 0 is too small; more than 0"),
        ({"simulations": 2 * 10**9}, "2000000000 is too large; at most 1000000000"),
        ({"verbose": "perhaps"}, "players[2].verbose: expected true or false, got 'perhaps'"),
        ({"inner": True}, "players[2].inner: expected a table of keys and values, got true"),
        ({"moves": 3}, "players[2].moves: expected a list in brackets, got 3"),
        ({"moves": ["a1", 3]}, "players[2].moves[1]: expected a text in quotes"),
        ({"moves": []}, "players[2].moves: has too few entries: 0; at least 1"),
        ({"moves": ["a"] * 3}, "players[2].moves: has too many entries; at most 2"),
        ({"label": "x" * 5}, "players[2].label: a text of 5 characters is too long; at most 4"),
        ({"label": ""}, "players[2].label: a text of 0 characters is too short; at least 1"),
        ({"label": "a b"}, "players[2].label: 'a b' is not a name: use letters, digits and _"),
        ({"inner": {"widht": 4}}, "players[2].inner.widht: unknown parameter. Did you mean 'wid"),
    ],
)
def test_a_wrong_value_is_reported_with_path_cause_and_remedy(
    values: dict[str, Any], message: str
) -> None:
    with pytest.raises(ParameterError, match=re.escape(message)):
        build_parameters(Example, values, where="players[2]")


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


def test_a_component_without_parameters_says_so() -> None:
    with pytest.raises(ParameterError, match=r"speed: unknown parameter\. There are none\."):
        build_parameters(miai.Parameters, {"speed": 1})


def test_validation_errors_do_not_quote_whole_values() -> None:
    game = miai.load_game("tic_tac_toe")
    with pytest.raises(ParameterError) as caught:
        miai.make_agent("mcts", game, simulations=0)
    assert str(caught.value).endswith(": simulations = 0 needs a budget in seconds")


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


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"root": "gumble"}, "x.root: 'gumble' is not one of puct, gumbel; did you mean 'gumbel'"),
        ({"root": 3}, "x.root: expected one of puct, gumbel, or a table, got 3"),
        ({"root": {"kind": "gumbel", "considered": 0}}, "x.root.considered: 0 is too small"),
        (
            {"root": {"considered": 3}},
            "x.root.considered: is a parameter of the kind gumbel only; write kind = 'gumbel'",
        ),
        ({"root": {"kind": "gumbel", "consider": 3}}, "x.root.consider: unknown parameter. Did"),
        ({"network": {"precisoin": 1}}, "x.network.precisoin: unknown parameter. Did you mean 'pr"),
        ({"precision": "fp32"}, "x.precision: unknown parameter. Write network.precision."),
        (
            {"considered": 3},
            "x.considered: unknown parameter. Write root.considered, with root = 'gumbel'.",
        ),
        ({"share": 1}, "x.share: is now network.seconds"),
        ({"old": 1}, "x.old: was removed: nothing read it"),
    ],
)
def test_mistakes_in_tables_and_choices_name_the_place(
    values: dict[str, Any], message: str
) -> None:
    with pytest.raises(ParameterError, match=re.escape(message)):
        build_parameters(Search, values, where="x")


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


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"low": 3, "high": 2}, "low is above high"),
        ({"rank": "zz"}, "rank: 'zz' is not a rank"),
        ({"rank": "other"}, "rank: an unknown rank, got 'other'"),
    ],
)
def test_a_message_says_a_place_and_a_value_once(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        build_parameters(Range, values)
    assert str(caught.value) == message


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
