"""Parameter models, config files, and messages about wrong values.

A component's parameters are fields of a `Parameters` model: checked when filled, listed by
`miai list`. Config files are TOML, checked against models in the same way.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, Self, TypeVar, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic.config import JsonDict
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, PydanticUndefined

from miai.errors import ConfigError, ParameterError, near_matches
from miai.files import absence, reading
from miai.plain import parse_assignment, parse_value

ModelT = TypeVar("ModelT", bound=BaseModel)

Detail = Mapping[str, Any]
"""An entry of ``pydantic.ValidationError.errors()``."""

NAME_PATTERN = r"^[\w+-][\w.+-]*$"
"""Pattern of names that become parts of file names; ``..`` would lead out of the folder."""

TYPED: Final[set[object]] = set()  # values of a game's parameters on this command line

# -- models ---------------------------------------------------------------------------------------

_NO_SCHEMAS = frozenset({"default", "metadata", "expected"})
_PLAIN_TYPES = ("int", "float", "bool")


def _strict(schema: Any) -> Any:
    if isinstance(schema, (list, tuple)):
        return type(schema)(_strict(part) for part in schema)
    if not isinstance(schema, dict):
        return schema
    copy = {k: v if k in _NO_SCHEMAS else _strict(v) for k, v in schema.items()}
    return {"strict": True, **copy} if copy.get("type") in _PLAIN_TYPES else copy


class StrictModel(BaseModel):
    """A frozen model that refuses unknown names.

    Numbers and booleans are strict: ``true`` is not 1 and ``"3"`` is not 3, but a float field
    accepts 1. Other values are converted as usual in pydantic: a list to a tuple, a text to a path.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, validate_default=True
    )

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema of the model with strict numbers and booleans."""
        schema: CoreSchema = _strict(handler(source))
        return schema


KIND: Final = "kind"
"""The parameter by which the tables of a choice differ."""


class Parameters(StrictModel):
    """Base of every parameter model.

    A parameter whose type is another model is a table. A union of models is a choice between
    tables: each has a parameter ``kind`` of its own `Literal`, and the parameter is declared with
    ``discriminator=KIND``. The name of a kind stands for a table with nothing else in it, and a
    table that names no kind is of the default's.

    Attributes:
      moved: what became of names that the model had, for messages: ``{"precision":
        "is now network.precision"}``.
    """

    moved: ClassVar[Mapping[str, str]] = {}

    @model_validator(mode="before")
    @classmethod
    def _write_out_kinds(cls, values: Any) -> Any:
        if not isinstance(values, Mapping):
            return values
        written = dict(values)
        for name, field in cls.model_fields.items():
            if field.discriminator and name in values:
                value, default = values[name], field.get_default()
                if isinstance(value, str):
                    written[name] = {KIND: value}
                elif isinstance(value, Mapping) and isinstance(default, BaseModel):
                    written[name] = {KIND: getattr(default, KIND), **value}
        return written


def parameter(
    default: Any = PydanticUndefined,
    *,
    help: str,
    unit: str | None = None,
    component: str | None = None,
    opens: Literal["program", "file", "weights"] | None = None,
    **limits: Any,
) -> Any:
    """Declare one parameter of a `Parameters` model.

    Args:
      default: the default value; a parameter without one is required.
      help: one line for `miai list`.
      unit: such as ``points``, ``seconds``, ``plies`` or ``Elo``; None for none.
      component: the kind of component that the parameter names, such as ``evaluator``. A tournament
        then finds the component before it starts, and checks its parameters: those of ``x`` are in
        ``x_parameters`` or ``x_settings``.
      opens: what of this machine the parameter names; weights by a path or a shipped name. Forms of
        `miai web` give no value other than the default or a shipped name.
      limits: pydantic's constraints (``ge``, ``le``, ``gt``, ``lt``, ``max_length``, ...).
    """
    extra: JsonDict = {}
    if unit:
        extra["unit"] = unit
    if component:
        extra["component"] = component
    if opens:
        extra["opens"] = opens
    return Field(default, description=help, json_schema_extra=extra or None, **limits)


class CommandParameters(Parameters):
    """Parameters of a component that starts a program; `command` is also given as one line."""

    command: tuple[str, ...] = parameter(
        help="Program and arguments, as a list or one line, without a shell",
        min_length=1,
        opens="program",
    )
    cwd: str = parameter("", help="Working directory of the program (default: the current one)")
    environment: dict[str, str] = parameter(
        {}, help="Environment variables, added to the current ones"
    )

    @property
    def folder(self) -> Path | None:
        """The program's working directory; None for this process's."""
        return Path(self.cwd).expanduser() if self.cwd else None

    @field_validator("cwd")
    @classmethod
    def _is_a_folder(cls, folder: str) -> str:
        if folder and not Path(folder).expanduser().is_dir():
            raise ValueError(f"{folder} is not a folder")
        return folder

    @field_validator("command", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return tuple(shlex.split(value)) if isinstance(value, str) else value

    @field_validator("command")
    @classmethod
    def _names_a_program(cls, command: tuple[str, ...]) -> tuple[str, ...]:
        if not command[0].strip():
            raise ValueError("the first word of the command must be a program")
        if any("\0" in word for word in command):
            raise ValueError("the command contains a null character")
        return command


def tables_of(field: FieldInfo) -> tuple[type[BaseModel], ...]:
    """Return the models of a parameter that is a table, several for a choice; else none."""
    candidates = get_args(field.annotation) if field.discriminator else (field.annotation,)
    return tuple(c for c in candidates if isinstance(c, type) and issubclass(c, BaseModel))


def kind_of(table: type[BaseModel]) -> str:
    """Return the kind of a table that belongs to a choice."""
    return str(table.model_fields[KIND].get_default())


def filled_parameters(filled: BaseModel, path: str = "") -> Iterator[tuple[str, FieldInfo, Any]]:
    """Yield (path, field, value) for each parameter, those of tables included: ``table.name``."""
    for name, field in type(filled).model_fields.items():
        value = getattr(filled, name)
        if tables_of(field):
            yield from filled_parameters(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", field, value


def named_components(filled: BaseModel) -> Iterator[tuple[str, str, str, Mapping[str, Any]]]:
    """Yield (parameter, kind, name, parameters) for each component that a parameter names."""
    values = {path: value for path, _, value in filled_parameters(filled)}
    for path, field, name in filled_parameters(filled):
        kind = _extra(field, "component")
        if kind and isinstance(name, str):
            given = values.get(f"{path}_settings", {})
            yield path, kind, name, values.get(f"{path}_parameters", given)


def opened(filled: BaseModel) -> Iterator[tuple[str, str]]:
    """Yield (parameter, what it opens) for each whose value is not for strangers to choose."""
    for path, field, value in filled_parameters(filled):
        opens = _extra(field, "opens")
        shipped = opens == "weights" and re.fullmatch(r"[\w-]+", value) and not Path(value).exists()
        if opens and value != field.get_default() and not shipped:
            yield path, opens


def _extra(field: FieldInfo, key: str) -> str:
    extra = field.json_schema_extra
    return str(extra.get(key) or "") if isinstance(extra, dict) else ""


def set_parameter(values: dict[str, Any], path: str, value: Any, *, where: str = "") -> None:
    """Set a parameter in a table of values by its path: ``table.name``.

    The kind of a choice may come before or after the parameters of its table. Raises
    `ParameterError` if the path leads below a value that is not a table; `where` is what messages
    put before the path: ``--black.``.
    """
    *tables, name = path.split(".")
    for table in tables:
        below = values.setdefault(table, {})
        if isinstance(below, str):
            below = values[table] = {KIND: below}
        if not isinstance(below, dict):
            raise ParameterError(f"{where}{path}: '{table}' has a value already, so no keys")
        values = below
    former = values.get(name)
    if isinstance(former, dict):
        if not isinstance(value, str):
            raise ParameterError(f"{where}{path}: has keys already, so no value")
        value = {**former, KIND: value}
    values[name] = value


def describe_parameters(model: type[BaseModel]) -> list[dict[str, Any]]:
    """Return a row for each parameter: name, type, default, unit, help and so on, plain data.

    The parameters of a table are rows of their own, named ``table.name``; those of a choice follow
    a row with its kinds, and name the kinds that have them unless all have.
    """
    return list(_rows(model, None))


def _rows(model: type[BaseModel], filled: BaseModel | None) -> Iterator[dict[str, Any]]:
    """Yield the rows of a model; `filled` has the defaults, where these are not the model's own."""
    properties = model.model_json_schema()["properties"] if model.model_fields else {}
    for name, field in model.model_fields.items():
        default = None if field.is_required() else field.get_default()
        if filled is not None:
            default = getattr(filled, name)
        name = field.alias or name
        row = _row(name, field, default, properties.get(name, {}))
        tables = tables_of(field)
        if not tables:
            yield row
        elif field.discriminator:
            kind = getattr(default, KIND, None)
            yield {
                **row,
                "type": "string",
                "default": kind,
                "limits": {"enum": [kind_of(table) for table in tables]},
            }
        inner: dict[str, dict[str, Any]] = {}
        owners: dict[str, list[type[BaseModel]]] = {}
        for table in tables:
            for below in _rows(table, default if isinstance(default, table) else None):
                inner.setdefault(below["name"], below)
                owners.setdefault(below["name"], []).append(table)
        for path, below in inner.items():
            if field.discriminator and path == KIND:
                continue
            kinds = _kinds_with(owners[path], tables, "{}")
            only = f" ({name} = {kinds})" if kinds else ""
            yield {**below, "name": f"{name}.{path}", "help": below["help"] + only}


def _kinds_with(
    owners: Sequence[type[BaseModel]], choice: Sequence[type[BaseModel]], form: str
) -> str:
    """Return the kinds of a choice that have a parameter; empty if all have it."""
    every = len(owners) == len(choice)
    return "" if every else " or ".join(form.format(kind_of(table)) for table in owners)


def _row(name: str, field: FieldInfo, default: Any, schema: Mapping[str, Any]) -> dict[str, Any]:
    variants = schema.get("anyOf", [schema])
    return {
        "name": name,
        "type": " or ".join(str(v.get("type", v.get("const", "any"))) for v in variants),
        "required": field.is_required(),
        "default": default,
        "unit": schema.get("unit"),
        "component": schema.get("component"),
        "limits": {
            key: int(v[key]) if isinstance(v[key], float) and v[key].is_integer() else v[key]
            for v in variants
            for key in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "enum")
            if key in v
        },
        "help": field.description or "",
        **({"opens": schema["opens"]} if "opens" in schema else {}),
    }


# -- values ---------------------------------------------------------------------------------------


def build_parameters(model: type[ModelT], values: Mapping[str, Any], *, where: str = "") -> ModelT:
    """Return the model filled with `values`; `where` is their path in a file: ``players[2]``.

    Raises `ParameterError`, which lists all mistakes, one per line.
    """
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        lines = [explain(detail, model, where) for detail in mistakes(error)]
        raise ParameterError("\n".join(lines)) from None


def build_options(
    model: type[ModelT], values: Mapping[str, Any], *, names: Mapping[str, str]
) -> ModelT:
    """Return the model filled with a command's options; `names` are these by parameter.

    Raises `ParameterError`, which lists all mistakes, one per line, each with its ``--option``.
    """
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        lines = []
        for detail in mistakes(error):
            path, words = _explained(detail, model, "")
            lines.append(f"{names.get(path.partition('[')[0], 'options')}: {words}")
        raise ParameterError("\n".join(lines)) from None


def mistakes(error: ValidationError) -> list[Mapping[str, Any]]:
    """Return all errors but those of lists that are too short because an entry is wrong."""
    details = error.errors()
    paths = [detail["loc"] for detail in details]
    return [
        detail
        for detail in details
        if detail["type"] != "too_short"
        or not any(len(p) > len(own := detail["loc"]) and p[: len(own)] == own for p in paths)
    ]


def explain(detail: Mapping[str, Any], model: type[BaseModel], where: str) -> str:
    """Return one line that says what is wrong with a parameter, and what to do."""
    return ": ".join(filter(None, _explained(detail, model, where)))


def _explained(detail: Mapping[str, Any], model: type[BaseModel], where: str) -> tuple[str, str]:
    """Return the path of a mistake, empty for the whole model, and what is wrong there."""
    place = _Place(model)
    for part in detail["loc"]:
        place.enter(part)
    path = where
    for step in place.steps:
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else step
    kinds, kind = [kind_of(table) for table in place.choice], detail["type"]
    if kind == "extra_forbidden":
        words = place.why_unknown()
    elif kind == "missing":
        words = "is required"
    elif kind == "union_tag_not_found":
        words = f"name its {KIND}, one of {', '.join(kinds)}"
    elif kind == "union_tag_invalid":
        words = _literal(detail["input"][KIND], {"expected": ", ".join(map(repr, kinds))})
    elif kinds and kind in ("dict_type", "model_type", "model_attributes_type"):
        words = f"expected one of {', '.join(kinds)}, or a table, got {_shown(detail['input'])}"
    else:
        words = wording(detail)
    return path, words


class _Place:
    """A place in a model, which the location of an error leads to.

    Attributes:
      steps: the names and numbers on the way, as a user writes them, without the kinds of choices.
      field: the last parameter on the way; None for an unknown one.
    """

    def __init__(self, model: type[BaseModel]) -> None:
        self.steps: list[str | int] = []
        self.field: FieldInfo | None = None
        self._below: type[BaseModel] | None = model  # the table that the next name is in
        self._table: type[BaseModel] | None = model  # the one that the last name is in
        self._siblings: tuple[type[BaseModel], ...] = ()  # the choice that `_table` is of

    @property
    def choice(self) -> tuple[type[BaseModel], ...]:
        """The tables that the last parameter is a choice of; none if it is not a choice."""
        field = self.field
        return tables_of(field) if field is not None and field.discriminator else ()

    def enter(self, part: str | int) -> None:
        """Follow a part of a location."""
        chosen = [table for table in self.choice if kind_of(table) == part]
        if chosen and self._below is None:
            self._below = chosen[0]
            return
        self.steps.append(part)
        if isinstance(part, int):
            return
        self._siblings = self.choice
        self._table = self._below
        self.field = self._table.model_fields.get(part) if self._table else None
        self._below = (
            None if self.field is None or self.field.discriminator else _table_in(self.field)
        )

    def why_unknown(self) -> str:
        """Return why the last name is not a parameter here, and what to write instead."""
        name, table = str(self.steps[-1]), self._table
        if table is None:
            return "unknown parameter. There are none."
        for base in table.__mro__:
            if name in vars(base).get("moved", {}):
                return str(vars(base)["moved"][name])
        owners = [t for t in self._siblings if name in t.model_fields]
        if owners:
            named, quoted = (_kinds_with(owners, self._siblings, f) for f in ("{}", "'{}'"))
            return f"is a parameter of the {KIND} {named} only; write {KIND} = {quoted}"
        inner = []
        for key, field in table.model_fields.items():
            tables, key = tables_of(field), field.alias or key
            owners = [t for t in tables if name in t.model_fields]
            if owners:
                kinds = _kinds_with(owners, tables, "'{}'")
                inner.append(f"{key}.{name}" + (f", with {key} = {kinds}" if kinds else ""))
        if inner:
            return f"unknown parameter. Write {' or '.join(inner)}."
        names = [field.alias or key for key, field in table.model_fields.items()]
        return f"unknown parameter. {near_matches(name, names) or 'There are none.'}"


def _table_in(field: FieldInfo) -> type[BaseModel] | None:
    """Return the model of a parameter, or of the entries of its list; None if it has none."""
    for candidate in (field.annotation, *get_args(field.annotation)):
        if isinstance(candidate, type) and issubclass(candidate, BaseModel):
            return candidate
    return None


def value_of_text(text: str, kind: str) -> Any:
    """Return the value of a text that was typed for a parameter of a type.

    Args:
      kind: the type as in `describe_parameters`. Texts stay as they are, and those of a list may
        stand without quotes.
    """
    if kind in ("string", "string or null"):
        return text
    value = parse_value(text)
    if kind == "array" and isinstance(value, str):
        return text.removeprefix("[").removesuffix("]").replace(",", " ").split()
    return value


# -- config files ---------------------------------------------------------------------------------

MAX_FILE_BYTES: Final = 1 << 20


def read_toml(
    path: Path, *, example: str, about: Callable[[Path], str] | None = None
) -> tuple[str, dict[str, Any]]:
    """Return the text and the values of a config file.

    For messages, `example` is an existing config file, and `about` returns what to say of a folder
    of a special kind, or an empty text. Raises `ConfigError`.
    """
    text = _read(path, example, about)
    try:
        return text, tomllib.loads(text)
    except ValueError as error:  # TOMLDecodeError, or a number of thousands of digits
        raise ConfigError(f"{path}: is not TOML: {error}") from None
    except RecursionError:
        raise ConfigError(f"{path}: is not TOML: nested too deep") from None


def fill(model: type[ModelT], raw: Mapping[str, Any], *, source: str) -> ModelT:
    """Return the model filled with a config's values; `source` is the file, for messages.

    Raises `ConfigError`, which lists all mistakes, one per line.
    """
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        lines = [f"{source}: {explain(detail, model, '')}" for detail in error.errors()]
        message = "\n".join(lines).replace("unknown parameter", "unknown key")
        raise ConfigError(message) from None


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A kind of config file.

    Attributes:
      noun: what it is called, with its article: ``a tournament``.
      command: the command that takes it, without the file.
      required, optional: names of its tables.
      load: returns the model of the whole file; may import heavy libraries.
    """

    noun: str
    command: str
    required: frozenset[str]
    optional: frozenset[str]
    load: Callable[[], type[BaseModel]]

    @classmethod
    def of(cls, model: type[BaseModel], *, noun: str = "", command: str = "") -> Self:
        """Return the kind of a model that is imported already."""
        required = {name for name, field in model.model_fields.items() if field.is_required()}
        optional = frozenset(model.model_fields) - required
        return cls(noun, command, frozenset(required), optional, lambda: model)

    def has_tables(self, raw: Mapping[str, Any]) -> bool:
        """Return whether all tables of a file are known, and all required ones are there."""
        return self.required <= set(raw) <= self.required | self.optional

    def same_tables(self, other: ConfigFile) -> bool:
        """Return whether two kinds have the same tables."""
        return (self.required, self.optional) == (other.required, other.optional)

    def accepts(self, raw: Mapping[str, Any]) -> bool:
        """Return whether a file has no mistake, or cannot be checked without a missing library."""
        try:
            self.load().model_validate(raw)
        except ValidationError:
            return False
        except ImportError:
            return True
        return True


def assign(raw: dict[str, Any], assignments: Iterable[str], model: type[BaseModel]) -> None:
    """Apply assignments ``table.key=value`` to a parsed config whose tables are fields of a model.

    Raises `ConfigError` if an assignment is malformed or its path does not exist.
    """
    for assignment in assignments:
        path, value = parse_assignment(assignment)
        table, *keys = path.split(".")
        if table not in model.model_fields:
            near = near_matches(table, model.model_fields)
            raise ConfigError(f"--set {path}: there is no table '{table}'. {near}")
        if not keys:
            raise ConfigError(f"--set {path}: is a table; name one of its keys: {table}.key=value")
        target: Any = raw
        for step in (table, *keys[:-1]):
            target = target.setdefault(step, {}) if isinstance(target, dict) else None
        if not isinstance(target, dict):
            raise ConfigError(f"--set {path}: '{keys[-1]}' is below a value, which has no keys")
        target[keys[-1]] = value


def _read(path: Path, example: str, about: Callable[[Path], str] | None) -> str:
    with reading(path, ConfigError):
        if not path.is_file():
            raise ConfigError(f"{path}: {_why_unread(path, example, about)}")
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ConfigError(f"{path}: is not a config file: larger than {MAX_FILE_BYTES} bytes")
        content = path.read_bytes()
    try:
        return content.decode("utf-8-sig")  # editors may write a byte order mark
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not UTF-8 text, as TOML is: {error}") from None


def _why_unread(path: Path, example: str, about: Callable[[Path], str] | None) -> str:
    """Return why a path is not a config file, and what to name instead."""
    special = about(path) if about is not None and path.is_dir() else ""
    if special:
        return special
    if path.exists():
        what = "a folder" if path.is_dir() else "a pipe or a device"
        return f"is {what}; name a config file, such as {example}"
    folder = path.parent
    message = absence(path, [p.name for p in folder.glob("*.toml")] if folder.is_dir() else [])
    return message if "toml" in message else f"{message} Name a config file, such as {example}."


# -- what is wrong with a value -------------------------------------------------------------------

_KINDS = {
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "string_type": 'a text in quotes, "like this"',
    "list_type": "a list in brackets",
    "tuple_type": "a list in brackets",
    "dict_type": "a table of keys and values",
    "model_type": "a table of keys and values",
    "model_attributes_type": "a table of keys and values",
}
_BOUNDS = {
    "greater_than_equal": ("ge", "is too small; at least {}"),
    "greater_than": ("gt", "is too small; more than {}"),
    "less_than_equal": ("le", "is too large; at most {}"),
    "less_than": ("lt", "is too large; less than {}"),
}


def wording(detail: Detail) -> str:
    """Return what is wrong with a value and what it could be."""
    kind, value, context = detail["type"], detail["input"], detail.get("ctx", {})
    if kind in _KINDS:
        return f"expected {_KINDS[kind]}, got {_shown(value, exact=True)}"
    if kind in _BOUNDS:
        key, words = _BOUNDS[kind]
        return f"{_shown(value)} {words.format(_shown(context[key]))}"
    translate = _OTHERS.get(kind)
    if translate is not None:
        return translate(value, context)
    message = str(detail["msg"]).removeprefix("Value error, ")
    if isinstance(value, (Mapping, BaseModel)):
        return message
    said = isinstance(value, str) and repr(value) in message
    return message if said else f"{message}, got {_shown(value)}"


def _literal(value: Any, context: Mapping[str, Any]) -> str:
    names = re.findall(r"'([^']*)'", context["expected"])
    if not names:
        return f"expected {context['expected']}, got {_shown(value)}"
    near = near_matches(value, names) if isinstance(value, str) else ""
    guess = f"; d{near[1:]}" if near.startswith("Did") else ""
    return f"{_shown(value)} is not one of {', '.join(names)}{guess}"


def _pattern(value: Any, context: Mapping[str, Any]) -> str:
    if context["pattern"] == NAME_PATTERN:
        return f"{_shown(value)} is not a name: use letters, digits and _ . + -, no dot first"
    return f"{_shown(value)} does not match {context['pattern']}"


def _multiple(value: Any, context: Mapping[str, Any]) -> str:
    step = context["multiple_of"]
    below = value - value % step
    if below + step == below:
        return f"{_shown(value)} is too large"
    near = f"{_shown(below)} or {_shown(below + step)}"
    return f"{_shown(value)} is not a multiple of {_shown(step)}; use {near}"


_OTHERS: Mapping[str, Callable[[Any, Mapping[str, Any]], str]] = {
    "literal_error": _literal,
    "enum": _literal,
    "string_pattern_mismatch": _pattern,
    "multiple_of": _multiple,
    "too_short": lambda _, context: (
        f"has too few entries: {context['actual_length']}; at least {context['min_length']}"
    ),
    "too_long": lambda _, context: f"has too many entries; at most {context['max_length']}",
    "string_too_long": lambda value, context: (
        f"a text of {len(value)} characters is too long; at most {context['max_length']}"
    ),
    "string_too_short": lambda value, context: (
        f"a text of {len(value)} characters is too short; at least {context['min_length']}"
    ),
}


def _shown(value: Any, *, exact: bool = False) -> str:
    """Return a value as in a config, shortened if long; if `exact`, 3.0 is not 3."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and not exact and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
