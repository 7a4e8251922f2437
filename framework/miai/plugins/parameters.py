"""Parameter models: what a component can be told, checked and listed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, ValidationError
from pydantic.config import JsonDict
from pydantic_core import CoreSchema, PydanticUndefined

from miai.errors import ParameterError, near_matches
from miai.plugins.wording import wording

ModelT = TypeVar("ModelT", bound=BaseModel)

_NO_SCHEMAS = frozenset({"default", "metadata", "expected"})
_PLAIN_TYPES = ("int", "float", "bool")


def _strict(schema: Any) -> Any:
    """Return a part of a schema with its numbers and truth values strict."""
    if isinstance(schema, (list, tuple)):
        return type(schema)(_strict(part) for part in schema)
    if not isinstance(schema, dict):
        return schema
    copy = {k: v if k in _NO_SCHEMAS else _strict(v) for k, v in schema.items()}
    return {"strict": True, **copy} if copy.get("type") in _PLAIN_TYPES else copy


class StrictModel(BaseModel):
    """A frozen model to which an unknown name is an error.

    Numbers and truth values are taken as what they are: ``true`` is not 1 and ``"3"`` is not 3,
    but 1 is a number with a fraction, too. All else is as pydantic has it: a list makes a tuple,
    a text a path.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, validate_default=True
    )

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema of the model, strict where it is of numbers and truth values."""
        schema: CoreSchema = _strict(handler(source))
        return schema


class Parameters(StrictModel):
    """Base of every parameter model."""


def parameter(
    default: Any = PydanticUndefined,
    *,
    help: str,
    unit: str | None = None,
    component: str | None = None,
    **limits: Any,
) -> Any:
    """Declare one parameter of a `Parameters` model.

    Args:
      default: its default; without one the parameter is required.
      help: one line for `miai list`.
      unit: ``points``, ``seconds``, ``plies``, ``Elo``; None where it has none.
      component: the kind of component that the parameter names, ``evaluator`` say. A tournament
        then looks for it before anything is started, and checks the parameters of ``x`` that
        are in ``x_parameters``.
      limits: pydantic's constraints (``ge``, ``le``, ``gt``, ``lt``, ``max_length``, ...).
    """
    told = {"unit": unit, "component": component}
    extra: JsonDict = {key: value for key, value in told.items() if value}
    return Field(default, description=help, json_schema_extra=extra or None, **limits)


def named_components(filled: BaseModel) -> Iterator[tuple[str, str, str, Mapping[str, Any]]]:
    """Yield (parameter, kind, name, parameters) of each component that the values name."""
    for field, info in type(filled).model_fields.items():
        extra = info.json_schema_extra
        kind = extra.get("component") if isinstance(extra, dict) else None
        name = getattr(filled, field)
        if isinstance(kind, str) and isinstance(name, str):
            yield field, kind, name, getattr(filled, f"{field}_parameters", {})


def build_parameters(model: type[ModelT], values: Mapping[str, Any], *, where: str = "") -> ModelT:
    """Return the model filled with `values`.

    Args:
      where: path of the values in their file, for the message: ``players[2]``.

    Raises:
      ParameterError: an unknown name, a wrong type or a value out of range; all of them are told,
        one a line.
    """
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        lines = [explain(detail, model, where) for detail in mistakes(error)]
        raise ParameterError("\n".join(lines)) from None


def mistakes(error: ValidationError) -> list[Mapping[str, Any]]:
    """Return what is wrong, but that a list is too short because entries in it are wrong."""
    details = error.errors()
    paths = [detail["loc"] for detail in details]
    return [
        detail
        for detail in details
        if detail["type"] != "too_short"
        or not any(len(p) > len(own := detail["loc"]) and p[: len(own)] == own for p in paths)
    ]


def explain(detail: Mapping[str, Any], model: type[BaseModel], where: str) -> str:
    """Return one line that says what is wrong with one parameter, and the remedy."""
    path = where
    for part in detail["loc"]:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else str(part)
    if detail["type"] == "extra_forbidden":
        name = str(detail["loc"][-1])
        known = _fields_at(model, detail["loc"][:-1])
        return f"{path}: unknown parameter. {near_matches(name, known) or 'There are none.'}"
    if detail["type"] == "missing":
        return f"{path}: is required"
    return f"{path}: {wording(detail)}"


def _fields_at(model: type[BaseModel], path: tuple[Any, ...]) -> list[str]:
    """Return the names that are known at a path below the model; empty when it is no model."""
    current: Any = model
    for part in path:
        if isinstance(part, str) and isinstance(current, type) and issubclass(current, BaseModel):
            field = current.model_fields.get(part)
            current = field.annotation if field else None
            for argument in getattr(current, "__args__", ()):
                if isinstance(argument, type) and issubclass(argument, BaseModel):
                    current = argument
    if isinstance(current, type) and issubclass(current, BaseModel):
        return [f.alias or name for name, f in current.model_fields.items()]
    return []


def describe_parameters(model: type[BaseModel]) -> list[dict[str, Any]]:
    """Return one row a parameter: name, type, default, unit, help, limits; JSON-able."""
    properties = model.model_json_schema()["properties"] if model.model_fields else {}
    rows: list[dict[str, Any]] = []
    for name, field in model.model_fields.items():
        schema = properties.get(field.alias or name, {})
        variants = schema.get("anyOf", [schema])
        kinds = [str(v.get("type", v.get("const", "any"))) for v in variants]
        limits = {
            key: v[key]
            for v in variants
            for key in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "enum")
            if key in v
        }
        rows.append(
            {
                "name": field.alias or name,
                "type": " or ".join(kinds),
                "required": field.is_required(),
                "default": None if field.is_required() else field.get_default(),
                "unit": schema.get("unit"),
                "limits": limits,
                "help": field.description or "",
            }
        )
    return rows
