"""Commands whose options are the parameters of a model."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Literal

import pytest
import typer
from typer.testing import CliRunner

import miai
from miai.cli.options import Options, add_command
from miai.errors import ParameterError
from miai.parameters import KIND

if TYPE_CHECKING:
    from miai.parameters import Parameters


class Plain(miai.Parameters):
    """One kind of a choice."""

    kind: Literal["plain"] = "plain"


class Halving(miai.Parameters):
    """The other kind."""

    kind: Literal["halving"] = "halving"
    considered: int = miai.parameter(16, ge=1, help="Moves considered")


class Settings(miai.Parameters):
    """What the command takes."""

    komi_spread: float = miai.parameter(0.5, ge=0, le=9, unit="points", help="Spread of komi")
    name: str = miai.parameter(help="Name of the run")
    precision: Literal["fp32", "int8"] = miai.parameter("fp32", help="Precision")
    rules: tuple[str, ...] = miai.parameter((), help="Rules to accept")
    quick: bool = miai.parameter(False, help="Search less")
    reuse: bool = miai.parameter(True, help="Begin with no tree")
    root: Plain | Halving = miai.parameter(Plain(), help="Root", discriminator=KIND)


def run(
    out: Annotated[str, typer.Argument(help="Where to write.")],
    *,
    count: Annotated[int, typer.Option(help="Games.")] = 3,
    settings: Parameters,  # in a command, a model that is not imported yet
) -> None:
    """Do something."""
    print(out, count, settings.model_dump_json(exclude_unset=True))


@pytest.fixture(name="app")
def _app() -> typer.Typer:
    app = typer.Typer(rich_markup_mode=None)
    add_command(app, "run", run, settings=Options(f"{__name__}:Settings", {"komi_spread": 1.0}))
    return app


def test_options_fill_the_model(app: typer.Typer) -> None:
    words = "there --count 4 --name 7 --rules aga --rules chinese --no-reuse --root.considered 8"
    result = CliRunner().invoke(app, [*words.split(), "--root", "halving"])
    assert result.exit_code == 0, result.output
    root = '{"kind":"halving","considered":8}'
    rest = f'"name":"7","rules":["aga","chinese"],"reuse":false,"root":{root}'
    assert result.output == f'there 4 {{"komi_spread":1.0,{rest}}}\n'


def test_the_help_shows_bounds_defaults_and_choices(app: typer.Typer) -> None:
    text = " ".join(CliRunner().invoke(app, ["--help"]).output.split())
    assert "--count <int> Games. [default: 3] --komi-spread <float> Spread of komi." in text
    assert "[default: 1 points; 0<=x<=9]" in text
    assert "--precision <fp32|int8>" in text
    assert "Moves considered (root = halving). [default: 16; x>=1]" in text
    assert "--no-reuse" in text
    assert "--quick " in text


def test_a_mistake_names_the_option(app: typer.Typer) -> None:
    words = "there --name x --komi-spread 10 --root.considered 2 --precision fp3"
    with pytest.raises(ParameterError) as caught:
        CliRunner().invoke(app, words.split(), catch_exceptions=False)
    assert str(caught.value).splitlines() == [
        "--komi-spread: 10 is too large; at most 9",
        "--precision: 'fp3' is not one of fp32, int8; did you mean 'fp32'?",
        "--root.considered: is a parameter of the kind halving only; write kind = 'halving'",
    ]


def test_a_required_parameter_is_a_required_option(app: typer.Typer) -> None:
    result = CliRunner().invoke(app, ["there"])
    assert result.exit_code == 2
    assert "--name" in result.output


def test_the_model_is_imported_when_the_command_is_used() -> None:
    app = typer.Typer(rich_markup_mode=None)
    app.callback()(lambda: None)
    add_command(app, "run", run, settings=Options("xmlrpc.server:Settings"))
    sys.modules.pop("xmlrpc.server", None)
    assert CliRunner().invoke(app, ["--help"]).exit_code == 0
    assert "xmlrpc.server" not in sys.modules
    assert isinstance(CliRunner().invoke(app, ["run", "--help"]).exception, AttributeError)
