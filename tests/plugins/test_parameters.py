"""Parameter models check what they are told and explain what is wrong."""

from __future__ import annotations

import re
from typing import Any, Literal

import pytest

import miai
from miai.errors import ParameterError
from miai.plugins.parameters import build_parameters, describe_parameters


class Inner(miai.Parameters):
    width: int = miai.parameter(3, help="Width", ge=1)


class Example(miai.Parameters):
    simulations: int = miai.parameter(1000, help="Budget", unit="simulations", ge=1, le=10**9)
    mode: Literal["uct", "puct"] = miai.parameter("uct", help="Selection")
    seconds: float | None = miai.parameter(None, help="Time", unit="seconds", gt=0)
    inner: Inner = miai.parameter(Inner(), help="Nested")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"simulatoins": 5}, "players[2].simulatoins: unknown parameter. Did you mean 'simulat"),
        ({"simulations": 0}, "players[2].simulations: is at least 1, got 0"),
        ({"simulations": "many"}, "players[2].simulations: is a whole number, got 'many'"),
        (
            {"mode": "uctt"},
            "players[2].mode: 'uctt' is unknown. Did you mean 'uct' or",
        ),
        ({"seconds": float("nan")}, "players[2].seconds: "),
        ({"inner": {"widht": 4}}, "players[2].inner.widht: unknown parameter. Did you mean 'wid"),
    ],
)
def test_a_wrong_value_is_told_with_path_cause_and_remedy(
    values: dict[str, Any], message: str
) -> None:
    with pytest.raises(ParameterError, match=re.escape(message)):
        build_parameters(Example, values, where="players[2]")


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(ParameterError) as caught:
        build_parameters(Example, {"simulations": 0, "speed": 1})
    assert len(str(caught.value).splitlines()) == 2


def test_parameters_are_described_with_defaults_units_and_limits() -> None:
    rows = {row["name"]: row for row in describe_parameters(Example)}
    assert rows["simulations"]["default"] == 1000
    assert rows["simulations"]["unit"] == "simulations"
    assert rows["simulations"]["limits"] == {"minimum": 1, "maximum": 10**9}
    assert rows["mode"]["limits"] == {"enum": ["uct", "puct"]}
    assert rows["seconds"]["type"] == "number or null"


def test_a_filled_model_cannot_be_changed() -> None:
    filled = build_parameters(Example, {})
    with pytest.raises(ValueError, match="frozen"):
        filled.simulations = 5
