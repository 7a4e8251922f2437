"""Prints how large the project is, beside its budgets: ``make size``, or ``python -m tests.size``.

A number above its budget is marked with ``!``. ``--json`` prints the same as JSON; ``--wheels``
builds the wheels too, without network. The exit status is 0 in any case; `tests/docs/test_size.py`
holds the budgets of lines, words, imports and parameters.
"""

from __future__ import annotations

import argparse
import ast
import json
import subprocess
import sys
import tempfile
import tokenize
import typing
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel
from tests import records

from miai.errors import PluginError
from miai.parameters import Parameters
from miai.plugins.loader import registry

ROOT: Final = Path(__file__).resolve().parents[1]
PACKAGES: Final = ("framework", "tournaments", "plugins")
DISTRIBUTIONS: Final = (".", *(f"plugins/{n}" for n in ("classics", "go", "miniblind", "rbc")))
FOREIGN: Final = "openspiel"
"""The plugin whose components have the parameters of OpenSpiel's own games."""

BUDGETS: Final[Mapping[str, float]] = {
    "lines of packages": 113_760,
    "lines of tests": 62_000,
    "seconds of make test": 240,
    "seconds of .ci/run": 900,
    "lines of README": 120,
    "words of README": 900,
    "words of documentation": 60_000,
    "circles of imports": 0,
    "parameters at the top": 400,
    "wheel of miai-go, MB": 5.0,
}


# -- lines ----------------------------------------------------------------------------------------


def tracked(*patterns: str) -> list[Path]:
    """Return the files that git tracks and that are there, by their path in the repository."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", *patterns]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [Path(name) for name in listed.split("\0") if name and (ROOT / name).is_file()]


def lines_of(files: Iterable[Path]) -> int:
    """Return the number of lines of text files."""
    return sum((ROOT / path).read_bytes().count(b"\n") for path in files)


def words_of(files: Iterable[Path]) -> int:
    """Return the number of words of text files, as ``wc`` counts them."""
    return sum(len((ROOT / path).read_bytes().split()) for path in files)


def sources() -> list[Path]:
    """Return the Python files of all packages."""
    return [path for path in tracked("*.py") if path.parts[0] in PACKAGES]


def _folder(path: Path) -> str:
    return "/".join(path.parts[: 2 if path.parts[0] == "plugins" else 1])


def comment_share(files: Iterable[Path]) -> float:
    """Return the percentage of lines that carry a comment."""
    commented = total = 0
    for path in files:
        total += lines_of([path])
        with (ROOT / path).open("rb") as stream:
            commented += sum(
                token.type == tokenize.COMMENT for token in tokenize.tokenize(stream.readline)
            )
    return 100 * commented / max(1, total)


# -- imports --------------------------------------------------------------------------------------


def module_names(files: Iterable[Path]) -> dict[str, Path]:
    """Return the importable modules among files; only whole packages have them."""
    names = {}
    files = list(files)
    inits = {path.parent for path in files if path.name == "__init__.py"}
    for path in files:
        top = path.parent
        while top.parent in inits:
            top = top.parent
        if top in inits:
            parts = path.relative_to(top.parent).with_suffix("").parts
            names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return names


def imports(files: Iterable[Path]) -> dict[Path, set[Path]]:
    """Return which files each file imports, by a statement anywhere in it.

    Statements in functions and under ``TYPE_CHECKING`` count. ``from package import name`` is an
    import of the module ``package.name`` if there is one, else of the package.
    """
    modules = module_names(files)
    edges: dict[Path, set[Path]] = {}
    for name, path in modules.items():
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        edges[path] = {
            modules[target]
            for node in ast.walk(tree)
            for target in _targets(node, package, modules)
            if target in modules
        } - {path}
    return edges


def _targets(node: ast.AST, package: str, modules: Mapping[str, Path]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        parts = package.split(".")
        above = parts[: len(parts) - node.level + 1] if node.level else []
        base = ".".join([*above, *filter(None, [node.module])])
        for alias in node.names:
            inner = f"{base}.{alias.name}"
            yield inner if inner in modules else base


def circles(edges: Mapping[Path, set[Path]]) -> list[list[Path]]:
    """Return the files of a circle of imports, if there is one."""
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return [sorted(set(error.args[1]))]
    return []


# -- components -----------------------------------------------------------------------------------


def parameter_counts() -> tuple[int, dict[str, int], dict[str, int]]:
    """Return the number of kinds, and the fields of each component and of each sub-table's model.

    A sub-table's model counts once, however many components it is part of.
    """
    components: dict[str, int] = {}
    tables: dict[str, int] = {}
    known = registry()
    for kind in known.kinds:
        for component in known.components(kind):
            if component.plugin == FOREIGN:
                continue
            try:
                model = component.load_parameters()
            except PluginError as error:  # an extra is not installed
                print(f"left out: {error}", file=sys.stderr)
                continue
            scope = f" of {component.game}" if component.game else ""
            components[f"{kind} {component.name}{scope}"] = len(model.model_fields)
            for table in _tables_below(model, set()):
                tables[f"{table.__module__}.{table.__qualname__}"] = len(table.model_fields)
    return len(known.kinds), components, tables


def _tables_below(model: type[BaseModel], seen: set[type]) -> Iterator[type[BaseModel]]:
    for field in model.model_fields.values():
        for part in _types_in(field.annotation):
            if issubclass(part, BaseModel) and part is not Parameters and part not in seen:
                seen.add(part)
                yield part
                yield from _tables_below(part, seen)


def _types_in(annotation: object) -> Iterator[type]:
    """Yield the classes that an annotation names, at any depth."""
    arguments = typing.get_args(annotation)
    if not arguments and isinstance(annotation, type):
        yield annotation
    for argument in arguments:
        yield from _types_in(argument)


# -- wheels ---------------------------------------------------------------------------------------


def wheel_sizes() -> dict[str, float]:
    """Build the wheels with hatchling; return the megabytes of each."""
    sizes = {}
    with tempfile.TemporaryDirectory() as folder:
        for distribution in DISTRIBUTIONS:
            subprocess.run(
                [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder],
                cwd=ROOT / distribution,
                check=True,
                capture_output=True,
            )
        for wheel in sorted(Path(folder).glob("*.whl")):
            name = wheel.name.partition("-")[0].replace("_", "-")
            sizes[f"wheel of {name}, MB"] = round(wheel.stat().st_size / 1e6, 1)
    return sizes


# -- the table ------------------------------------------------------------------------------------


def measure_text() -> dict[str, Any]:
    """Return the numbers that only reading takes, by their name: lines and words."""
    files = sources()
    lines = Counter({"lines of packages": lines_of(files)})
    for path in files:
        lines[f"  {_folder(path)}"] += lines_of([path])
    return {
        **lines,
        "lines of tests": lines_of(tracked("tests/*.py")),
        "lines of benchmarks": lines_of(tracked("benchmarks/*.py")),
        "modules": len(files),
        "lines of README": lines_of([Path("README.md")]),
        "words of README": words_of([Path("README.md")]),
        "words of documentation": words_of(tracked("docs/*.md", "README.md")),
    }


def latest_seconds() -> dict[str, float]:
    """Return how long the last green `make test` and `.ci/run` took in this checkout."""
    names = {"test": "seconds of make test", "ci": "seconds of .ci/run"}
    return {names[target]: took for target, took in records.seconds().items() if target in names}


def measure_structure() -> dict[str, Any]:
    """Return the numbers of comments, imports and components, and lists of what they count."""
    kinds, components, tables = parameter_counts()
    files = sources()
    found = circles(imports(files))
    largest = sorted(components.items(), key=lambda item: (-item[1], item[0]))
    return {
        "lines with a comment, %": round(comment_share(files), 1),
        "circles of imports": len(found),
        "kinds": kinds,
        "components": len(components),
        "parameters at the top": sum(components.values()),
        "parameters in sub-tables": sum(tables.values()),
        "circles": [[str(path) for path in members] for members in found],
        "largest components": dict(largest[:10]),
        "sub-tables": dict(sorted(tables.items())),
    }


def missed(numbers: Mapping[str, Any]) -> list[str]:
    """Return the names of the numbers that are above their budgets."""
    return [name for name, budget in BUDGETS.items() if numbers.get(name, 0) > budget]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Print how large the project is.")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--wheels", action="store_true", help="build the wheels, too")
    options = parser.parse_args(arguments)
    numbers = {**measure_text(), **measure_structure(), **latest_seconds()}
    if options.wheels:
        numbers.update(wheel_sizes())
    if options.json:
        print(json.dumps(numbers, indent=2))
        return
    above = missed(numbers)
    for name, value in numbers.items():
        if isinstance(value, list):
            for members in value:
                print(f"circle of {len(members)}: {', '.join(members)}")
        elif isinstance(value, dict):
            print(f"{name}:")
            for item, count in value.items():
                print(f"  {item:<62}{count:>8,}")
        else:
            budget = f"  budget {BUDGETS[name]:,}" if name in BUDGETS else ""
            print(f"{name:<30}{value:>10,}{budget}{'  !' if name in above else ''}")
    for name in BUDGETS.keys() - numbers.keys():
        print(f"{name:<30}not measured in this checkout")


if __name__ == "__main__":
    main()
