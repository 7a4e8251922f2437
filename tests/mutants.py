"""Wrong edits that tests must notice: ``make mutants``, or ``python -m tests.mutants --help``.

Draws places in the packages at random, changes each as an operator of Cosmic Ray says, and runs
``make test``, and of the slow tests of the part that the place lies in those that name its package:
first the files that import the module. Each worker edits a copy of the checkout. A test that fails,
by itself too, kills the mutant if it passes without the edit. The journal has a line for each
mutant; an interrupted run continues from it. Whoever shows that a survivor changes nothing adds
``"same": "why"`` to its line: the next run draws another in its place, and records the reason.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final

from tests.records import write_row
from tests.size import ROOT, lines_of, sources

PARTS: Final = {
    "framework": "framework",
    "tournaments": "tournaments",
    **{f"plugins/{name}": name for name in ("go", "rbc", "classics", "miniblind", "openspiel")},
}
NUMBERS: Final = "core/NumberReplacer"
STAR: Final = "core/ReplaceBinaryOperator_Mul"
"""What also meets the ``*`` before keywords, whose calls mypy checks."""
SAME: Final = {
    f"core/ReplaceComparisonOperator_{name}"
    for name in ("Eq_Is", "NotEq_IsNot", "Is_Eq", "IsNot_NotEq")
}
"""Operators that put identity for equality, or the reverse: for None and numbers it is the same."""
QUICK: Final = "not slow and not soak"
SLOW: Final = "slow and not soak"
TIMEOUT: Final = 3600.0
"""Seconds of one run of tests, even beside other work. A test that hangs is killed long before."""


@dataclass(frozen=True)
class Mutant:
    """One edit.

    Attributes:
      path: the file, from the top of the checkout.
      operator: the name that Cosmic Ray gives the change.
      occurrence: the number of the place among those of the operator in the file.
      line: where it is.
    """

    path: str
    operator: str
    occurrence: int
    line: int


def draw(count: int, seed: int) -> Iterator[Mutant]:
    """Yield mutants: a file in proportion to its lines, a place in it, a change of that place."""
    from cosmic_ray.ast import ast_nodes, get_ast_from_path
    from cosmic_ray.plugins import get_operator, operator_names

    generator = random.Random(seed)
    files = sources()
    weights = [lines_of([path]) for path in files]
    operators = {name: get_operator(name) for name in operator_names() if name not in SAME}
    plain = {name: make() for name, make in operators.items() if not make.arguments()}
    drawn: set[tuple[str, tuple[int, int]]] = set()
    while len(drawn) < count:
        (path,) = generator.choices(files, weights)
        nodes = list(ast_nodes(get_ast_from_path(ROOT / path)))
        unread, settings = _left_out(path)
        lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
        places: dict[tuple[int, int], list[Mutant]] = {}
        for name, operator in plain.items():
            left_out = unread + settings * (name == NUMBERS)
            spots = (start for node in nodes for start, _ in operator.mutation_positions(node))
            for number, place in enumerate(spots):
                star = name.startswith(STAR) and lines[place[0] - 1][place[1] :].startswith("*,")
                if not star and not any(first <= place <= last for first, last in left_out):
                    mutant = Mutant(str(path), name, number, place[0])
                    places.setdefault(place, []).append(mutant)
        if places:
            place = generator.choice(sorted(places))
            mutant = generator.choice(places[place])
            if (str(path), place) not in drawn and _is_program(edited(mutant, ROOT / path)):
                drawn.add((str(path), place))
                yield mutant


def edited(mutant: Mutant, path: Path) -> str:
    """Return the text of a file with the edit."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    text = path.read_text(encoding="utf-8")
    code: str = mutate_code(text, get_operator(mutant.operator)(), mutant.occurrence)
    return code or text


def _is_program(text: str) -> bool:
    """Whether Python reads it: ``%`` for the ``*`` before keywords needs no test."""
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


Span = tuple[tuple[int, int], tuple[int, int]]
"""The first and the last place of a piece of code, each a line and a column."""


def _left_out(path: Path) -> tuple[list[Span], list[Span]]:
    """Return where no test could notice an edit, and the numbers that are settings.

    Nothing reads ``int | None`` in an annotation; ``frozen=True`` of a dataclass and
    ``@abstractmethod`` refuse only what mypy refuses; ``@cache`` saves time alone. A number is a
    setting where a name is given to it, or a type, and from ten on: as the seconds of a time limit
    or the characters that a message shows, one more or less is as good.
    """
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    parts: list[ast.expr | None] = []
    settings: list[ast.expr | None] = []
    for node in ast.walk(tree):
        parts += [getattr(node, name, None) for name in ("annotation", "returns")]
        if isinstance(node, ast.ClassDef):
            calls = [call for call in node.decorator_list if isinstance(call, ast.Call)]
            words = [word for call in calls for word in call.keywords]
            parts += [word.value for word in words if word.arg in ("frozen", "kw_only", "slots")]
        if isinstance(node, ast.FunctionDef):
            parts += [
                name
                for name in node.decorator_list
                if isinstance(name, ast.Name) and name.id in ("abstractmethod", "cache")
            ]
        if isinstance(node, ast.AnnAssign):
            settings.append(node.value)
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            settings += [node] * (abs(node.value) >= 10)
    return _spans(parts), _spans(settings)


def _spans(parts: list[ast.expr | None]) -> list[Span]:
    return [  # an @ is a part of its decorator
        (
            (part.lineno, max(0, part.col_offset - 1)),
            (part.end_lineno or 0, part.end_col_offset or 0),
        )
        for part in parts
        if isinstance(part, ast.expr)
    ]


# -- one mutant -----------------------------------------------------------------------------------


class Copy:
    """A copy of the checkout, with its cache of kernels, whose packages are imported in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        left_out = shutil.ignore_patterns(".venv", ".git", ".mutants", "_build", "runs", ".*_cache")
        shutil.copytree(ROOT, folder, ignore=left_out)
        for words in (["init", "-q"], ["add", "-A"]):  # tests ask git for the project's files
            subprocess.run(["git", *words], cwd=folder, check=True)
        paths = [".", "docs/site", "framework", "tournaments"]
        paths += [name for name in PARTS if name.startswith("plugins/")]
        self.environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(str(folder / path) for path in paths),
        }

    def fails(self, tests: list[str], marks: str, left_out: Sequence[str] = ()) -> str | None:
        """Run the tests with some marks, but some, until one fails; return which one, or None."""
        cache = self.folder / ".pytest_cache"
        shutil.rmtree(cache, ignore_errors=True)
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-m", marks]
        command += ["-o", f"cache_dir={cache}", "--timeout=120", "--timeout-method=thread", *tests]
        command += [f"--deselect={test}" for test in left_out]
        try:
            run = subprocess.run(
                command,
                cwd=self.folder,
                env=self.environment,
                capture_output=True,
                text=True,
                timeout=TIMEOUT,
            )
        except subprocess.TimeoutExpired:
            return "time limit"
        if run.returncode in (0, 5):  # all passed, or none was chosen
            return None
        failed = cache / "v" / "cache" / "lastfailed"  # whole names, with all that is in brackets
        names = json.loads(failed.read_text("utf-8")) if failed.exists() else {}
        return next(iter(names), f"pytest's exit status {run.returncode}")


def tests_of(path: Path) -> tuple[list[str], list[str], list[str], list[str]]:
    """Return the test files that import a module, others of its part, of the rest, and slow ones.

    The likelier they are to notice an edit, the earlier. The slow ones are those of the part that
    name the module's package; what the others would have noticed counts as a survivor.
    """
    part = PARTS["/".join(path.parts[: 2 if path.parts[0] == "plugins" else 1])]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    listed = re.search(rf"^TESTS_{part} := (.+)$", makefile, re.MULTILINE)
    assert listed, f"the Makefile has no TESTS_{part}"
    folders = tuple(f"{folder}/" for folder in listed[1].split())
    top = 1 if path.parts[0] != "plugins" else 2
    module = ".".join(path.with_suffix("").parts[top:]).removesuffix(".__init__")
    package, _, name = module.rpartition(".")
    imported = re.compile(rf"\b{re.escape(module)}\b|from {re.escape(package)} import .*\b{name}\b")
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    texts = {str(file.relative_to(ROOT)): file.read_text("utf-8") for file in files}
    near = [file for file, text in texts.items() if imported.search(text)]
    # Those of its name first, and then those of its package: they are likely to notice.
    near.sort(key=lambda file: (not file.startswith(folders), name not in file))
    far = sorted(texts.keys() - near, key=lambda file: (package not in texts[file], file))
    own = [file for file in [*near, *far] if file.startswith(folders)]
    rest = [file for file in own if file not in near]
    own.sort(key=lambda file: not file.startswith("tests/types/"))  # quickest of the slow ones
    around, folder = package.removesuffix(".kernels"), f"/{path.parts[-2]}/"
    slow = [file for file in own if around in texts[file] or folder in file]
    return near, rest, [file for file in far if file not in own], slow


def _killer(tests: list[str], marks: str, copy: Copy, clean: Copy) -> str | None:
    """Return a test that fails with the edit, by itself too, and not without it; None if none does.

    Other failures are faults of the test or of the machine.
    """
    left_out: list[str] = []
    while killer := copy.fails(tests, marks, left_out):
        again = [killer] if "::" in killer else tests
        if copy.fails(again, marks) and not clean.fails(again, marks):
            return killer
        if killer in left_out or "::" not in killer:
            break
        left_out.append(killer)
    return None


def judge(mutant: Mutant, copy: Copy, clean: Copy) -> dict[str, Any]:
    """Return a line of the journal: what the mutant is, its diff, and the test that killed it."""
    path = Path(mutant.path)
    file = copy.folder / path
    original, code = file.read_text(encoding="utf-8"), edited(mutant, file)
    before, after = original.splitlines(), code.splitlines()
    changed = [f"{a.strip()} -> {b.strip()}" for a, b in zip(before, after, strict=False) if a != b]
    killer = None
    try:
        file.write_text(code, encoding="utf-8")
        near, rest, others, slow = tests_of(path)
        for tests, marks in ((near, QUICK), (rest, QUICK), (slow, SLOW), (others, QUICK)):
            killer = _killer(tests, marks, copy, clean) if tests else None
            if killer:
                break
    finally:
        file.write_text(original, encoding="utf-8")
    return {**asdict(mutant), "change": changed[:1], "killed_by": killer}


def main() -> None:
    """Draw mutants and judge them."""
    parser = argparse.ArgumentParser(description="Make wrong edits that tests must notice.")
    parser.add_argument("--count", type=int, default=100, help="mutants to draw (default: 100)")
    parser.add_argument(
        "--seed", type=int, default=random.randrange(10**6), help="seed (default: random)"
    )
    parser.add_argument(
        "--workers", type=int, default=2, help="mutants judged at once, each in a copy (default: 2)"
    )
    options = parser.parse_args()
    folder = ROOT / ".mutants"
    folder.mkdir(exist_ok=True)
    journal = folder / f"seed-{options.seed}.jsonl"
    lines = journal.read_text(encoding="utf-8").splitlines() if journal.exists() else []
    done = [json.loads(line) for line in lines]
    known = {(line["path"], line["operator"], line["occurrence"]) for line in done}
    same = [line for line in done if "same" in line]
    todo = [
        mutant
        for mutant in draw(options.count + len(same), options.seed)
        if (mutant.path, mutant.operator, mutant.occurrence) not in known
    ]
    copies: SimpleQueue[Copy] = SimpleQueue()
    for number in range(options.workers):
        copies.put(Copy(folder / f"copy-{number}"))
    clean = Copy(folder / "clean")

    def judge_in_turn(mutant: Mutant) -> dict[str, Any]:
        copy = copies.get()
        try:
            return judge(mutant, copy, clean)
        finally:
            copies.put(copy)

    with ThreadPoolExecutor(options.workers) as pool, journal.open("a", encoding="utf-8") as stream:
        for line in pool.map(judge_in_turn, todo):
            done.append(line)
            stream.write(json.dumps(line) + "\n")
            stream.flush()
            killed = sum(bool(each["killed_by"]) for each in done)
            print(f"{killed} of {len(done)} killed; {line['path']}:{line['line']} {line['change']}")
            print(f"  {line['operator']}: {line['killed_by'] or 'SURVIVED'}", flush=True)
    print(f"seed {options.seed}: {journal}")
    if options.count >= 100:
        killed = sum(bool(each["killed_by"]) for each in done)
        command = f"make mutants MUTANTS='--count {options.count} --seed {options.seed}'"
        left = [
            {key: str(line.get(key, "")) for key in ("path", "line", "change", "same")}
            for line in done
            if not line["killed_by"]
        ]
        figure = f"{killed} of {len(done) - len(same)} killed"
        peer = f"{len(same)} more change nothing" * bool(same)
        write_row("mutants", figure, peer=peer, command=command, table=left)


if __name__ == "__main__":
    main()
