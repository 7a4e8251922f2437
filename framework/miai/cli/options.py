"""Commands whose options are the parameters of a model: name, type, bounds, default and help.

    add_command(group, "import", import_games, filters=Options("mygame.records:Filters"))

The function then has an argument ``filters``, filled from ``--min-moves`` and the others. The model
is imported only when the command runs or shows its help, so that `miai --help` answers at once.
"""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, get_type_hints

import typer
from typer.core import TyperCommand

from miai.plugins.kinds import imported

if TYPE_CHECKING:
    from pydantic import BaseModel

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
ConfigPath = Annotated[Path, typer.Argument(metavar="CONFIG", help="Config file (TOML).")]

_TYPES: Final = {"integer": "int", "number": "float", "boolean": "true|false", "array": "text"}
_LOW: Final = {"minimum": "<=", "exclusiveMinimum": "<"}
_HIGH: Final = {"maximum": "<=", "exclusiveMaximum": "<"}


def print_json(value: object) -> None:
    """Print plain data as JSON."""
    print(json.dumps(value, indent=2))


@dataclass(frozen=True, slots=True)
class Options:
    """The options that fill a model.

    Attributes:
      model: import path of the model, ``module:attribute``.
      defaults: defaults of the command that are not the model's.
    """

    model: str
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def load(self) -> type[BaseModel]:
        """Import and return the model."""
        model: type[BaseModel] = imported(self.model)
        return model

    def rows(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the option and the description of each parameter; see `describe_parameters`."""
        from miai.parameters import describe_parameters

        for row in describe_parameters(self.load()):
            name = row["name"]
            if name in self.defaults:
                row = {**row, "default": self.defaults[name], "required": False}
            negation = "no-" if row["type"] == "boolean" and row["default"] is True else ""
            option = f"--{negation}{name.replace('_', '-')}"
            yield option, row

    def fill(self, texts: Mapping[str, Any]) -> BaseModel:
        """Return the model filled from the command line. Raises `ParameterError`."""
        from miai.parameters import build_options, set_parameter, value_of_text

        values, names = dict(self.defaults), dict[str, str]()
        for option, row in self.rows():
            names[row["name"]], text = option, texts.get(row["name"])
            if row["type"] == "boolean":
                if text:
                    values[row["name"]] = not row["default"]
            elif text:
                value = text if isinstance(text, list) else value_of_text(text, row["type"])
                set_parameter(values, row["name"], value)
        return build_options(self.load(), values, names=names)


def add_command(
    group: typer.Typer, name: str, function: Callable[..., None], **models: Options
) -> None:
    """Add a command to a group.

    Args:
      models: the arguments of the function that are filled models; its others are declared as
        typer wants them, and evaluated here.
    """
    filled: dict[str, Any] = {}

    class ModelCommand(TyperCommand):
        """The command with the options of its models, in the place of the arguments."""

        def get_params(self, ctx: Any) -> list[Any]:
            """Return the parameters in the function's order; called for help and to parse."""
            plain = iter(super().get_params(ctx))
            params: list[Any] = []
            for argument in inspect.signature(function).parameters:
                if argument in models:
                    params += _params(argument, models[argument])
                else:
                    params.append(next(plain))
            return [*params, *plain]

        def invoke(self, ctx: Any) -> Any:
            for argument, options in models.items():
                filled[argument] = options.fill(_taken(ctx.params, argument))
            return super().invoke(ctx)

    @functools.wraps(function)
    def run(**plain: Any) -> None:
        function(**plain, **filled)

    run.__signature__ = _plain_signature(function, models)  # type: ignore[attr-defined]
    run.__annotations__ = {}
    del run.__wrapped__
    group.command(name, cls=ModelCommand)(run)


def _plain_signature(
    function: Callable[..., None], models: Mapping[str, Options]
) -> inspect.Signature:
    """Return the signature without the models, whose types are imported for checkers only."""
    signature = inspect.signature(function)
    plain = [p for name, p in signature.parameters.items() if name not in models]
    hints = {p.name: p.annotation for p in plain}
    stub = type("Stub", (), {"__annotations__": hints, "__module__": function.__module__})
    types = get_type_hints(stub, include_extras=True)
    return signature.replace(
        parameters=[p.replace(annotation=types[p.name]) for p in plain], return_annotation=None
    )


def _taken(values: MutableMapping[str, Any], argument: str) -> dict[str, Any]:
    """Remove the texts of one model's options from a command's; return them by parameter."""
    prefix = f"{argument}__"
    names = [name for name in values if name.startswith(prefix)]
    return {name.removeprefix(prefix).replace("__", "."): values.pop(name) for name in names}


def _params(argument: str, options: Options) -> list[Any]:
    """Return the options of a model as typer makes them from a function."""
    declared = []
    for option, row in options.rows():
        kind: Any = {"boolean": bool, "array": list[str]}.get(row["type"], str)
        # A choice of values is named, and completed by the shell; of other values the type is.
        choices = [str(choice) for choice in row["limits"].get("enum", ())]
        types = [name for name in row["type"].split(" or ") if name != "null"]
        shown = "|".join(choices) or _TYPES.get(types[0], "text")
        default = typer.Option(
            ... if row["required"] else None,
            option,
            help=_help(row),
            metavar=None if kind is bool else f"<{shown}>",
            show_default=False,
            autocompletion=_completion(choices) if choices else None,
        )
        name = f"{argument}__{row['name'].replace('.', '__')}"
        declared.append(
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind
            )
        )

    def stub(**values: Any) -> None: ...

    stub.__signature__ = inspect.Signature(declared)  # type: ignore[attr-defined]
    stub.__annotations__ = {}
    app = typer.Typer(add_completion=False)
    app.command()(stub)
    return list(typer.main.get_command(app).params)


def _completion(choices: Sequence[str]) -> Callable[[str], list[str]]:
    return lambda incomplete: [choice for choice in choices if choice.startswith(incomplete)]


def _help(row: Mapping[str, Any]) -> str:
    """Return the help of an option, with its unit, default and bounds."""
    default, limits = row["default"], row["limits"]
    unit = f" {row['unit']}" if row["unit"] else ""
    facts = (
        []
        if default in (None, "", (), []) or row["type"] == "boolean"
        else [f"default: {_shown(default)}{unit}"]
    )
    low = [(_shown(limits[key]), sign) for key, sign in _LOW.items() if key in limits]
    high = [sign + _shown(limits[key]) for key, sign in _HIGH.items() if key in limits]
    if low and high:
        facts.append(f"{low[0][0]}{low[0][1]}x{high[0]}")
    elif low or high:
        facts.append("x" + (high[0] if high else low[0][1].replace("<", ">") + low[0][0]))
    text = f"{row['help']}."
    return f"{text}  [{'; '.join(facts)}]" if facts else text


def _shown(value: Any) -> str:
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else str(getattr(value, "value", value))
