"""Defaults and bounds: what functions, classes and models take, as files to be read."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType

import pytest
from annotated_types import BaseMetadata as Bound
from pydantic import BaseModel
from tests.whole_texts import assert_expected

PACKAGES = (
    *("miai", "miai_tournaments", "miai_go", "miai_rbc"),
    *("miai_classics", "miai_miniblind", "miai_openspiel"),
)
PLAIN = (bool, int, float, str, tuple)


def defaults_in(owner: ModuleType | type, module: str) -> Iterator[str]:
    """Yield the defaults of functions; of models the bounds too, which are those of the docs."""
    for value in vars(owner).values():
        function = inspect.unwrap(getattr(value, "__func__", value))
        if getattr(function, "__module__", "") != module:
            continue
        said = list[str]()
        if inspect.isfunction(function):
            parameters = inspect.signature(function).parameters.values()
            said = [f"{p.name}={p.default!r}" for p in parameters if isinstance(p.default, PLAIN)]
        elif inspect.isclass(function):
            yield from defaults_in(function, module)
            fields = function.model_fields if issubclass(function, BaseModel) else {}
            for name, field in fields.items():
                said += [f"{name}={field.default!r}"] * isinstance(field.default, PLAIN)
                said += [f"{name}: {bound}" for bound in field.metadata if isinstance(bound, Bound)]
        if said:
            yield f"{module}.{function.__qualname__}: {', '.join(said)}"


@pytest.mark.parametrize("package", PACKAGES)
def test_defaults_and_bounds_are_those_that_were_read(package: str) -> None:
    lines: list[str] = []
    for module in walk_packages(import_module(package).__path__, f"{package}."):
        if not module.name.endswith("__main__"):
            lines += defaults_in(import_module(module.name), module.name)
    assert_expected(f"defaults/{package}.txt", "\n".join(lines))
