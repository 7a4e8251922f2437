"""Mutation testing: makes wrong edits on purpose and runs the tests that should notice them.

    python tests/mutants.py                    400 mutants, over all rooms
    python tests/mutants.py --rooms ratings formats --most 40
    python tests/mutants.py --survivors        those that survived, after tests were added

A mutant is one edit: another comparison, a constant off by one, a sign, a statement left out. It is
killed if a test fails or hangs. Mutants are sampled by hash, so that the sample stays the same
while the code around it changes. Results go to `.mutants/results.jsonl` one by one: an interrupted
run goes on with the same command. At the end docs/mutants.md is written. Mutants that change no
behaviour are listed with the reason in tests/equivalent_mutants.toml.

Kernels are compiled again for each mutant, which takes up to a minute; they are not interpreted
instead, as numpy's integers overflow and mix otherwise than numba's.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import hashlib
import json
import os
import queue
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SCRATCH = ROOT / ".mutants"
RESULTS = SCRATCH / "results.jsonl"
EQUIVALENT = ROOT / "tests" / "equivalent_mutants.toml"
PAGE = ROOT / "docs" / "mutants.md"
PLUGINS = ("go", "rbc", "classics", "miniblind")
PACKAGES = ("framework", "tournaments", *(f"plugins/{name}" for name in PLUGINS))
SEED = 1
PATIENCE = 40.0
"""Seconds that a mutant's tests may take beyond twice what they take without it."""
COMPILATION = 60.0  # more, for a mutant of a kernel
MOST_MEMORY = 8 << 30


@dataclass(frozen=True, slots=True)
class Room:
    """Code under test and the tests that should notice a change of it.

    Attributes:
      sources: glob patterns of the modules.
      tests: files of tests, in the order in which they run.
    """

    sources: Sequence[str]
    tests: Sequence[str]


def _modules(folder: str, names: str) -> list[str]:
    return [f"{folder}/{name}.py" for name in names.split()]


def _tests(folder: str, names: str) -> list[str]:
    return [f"tests/{folder}/test_{name}.py" for name in names.split()]


GO, RBC = "plugins/go/miai_go", "plugins/rbc/miai_rbc"
MIAI, TOURNAMENTS = "framework/miai", "tournaments/miai_tournaments"
ROOMS = {
    "go rules": Room(
        [*_modules(f"{GO}/rules", "board chains scoring state"), f"{GO}/kernels/rules.py"],
        _tests("go", "rules board board_counts chains game scoring known_positions"),
    ),
    "other rules": Room(
        [
            f"{RBC}/rules/*.py",
            "plugins/classics/miai_classics/*_*.py",
            *_modules("plugins/miniblind/miai_miniblind", "mini_rbc phantom_lines sub_hunt"),
        ],
        [
            *_tests("classics", "kuhn_poker phantom_tic_tac_toe tic_tac_toe"),
            *_tests("miniblind", "miniblind_rules problems_and_games miniblind_conformance"),
            *_tests("rbc", "rules_of_games differential rbc_renderer memory history belief"),
            *_tests("rbc", "rbc_bad_input"),
        ],
    ),
    "search": Room(
        [f"{MIAI}/search/*.py"],
        _tests(
            "framework",
            "mcts alphabeta worlds ismcts_reference evaluators value_units adjudication",
        ),
    ),
    "go search": Room([f"{GO}/kernels/uct.py"], _tests("go", "tree agents")),
    "beliefs": Room(
        [
            *_modules(f"{MIAI}/beliefs", "agent problem search sets"),
            f"{MIAI}/beliefs/compiled/*.py",
            f"{MIAI}/beliefs/kernels/*.py",
        ],
        [
            *_tests("belief_search", "small_games values hashed_sets problems_of_games compiled"),
            *_tests("belief_search", "retention set_kernels sketches on_demand"),
            *_tests("miniblind", "problems_and_games"),
            *_tests("rbc", "rbc_belief_minimax rbc_compiled"),
        ],
    ),
    "bounds": Room(
        _modules(f"{MIAI}/beliefs", "bounds sketches retention"),
        _tests("belief_search", "retention sketches values small_games hashed_sets compiled"),
    ),
    "rbc belief": Room(
        [f"{RBC}/belief/*.py", *_modules(f"{RBC}/kernels", "filters scan")],
        _tests("rbc", "belief scans history rules_of_games move_choice rbc_agents rbc_bad_input"),
    ),
    "ratings": Room(
        [f"{TOURNAMENTS}/ratings/*.py"],
        _tests("tournaments", "ratings sprt payoffs performance teams rating_libraries counting"),
    ),
    "formats": Room(
        [f"{TOURNAMENTS}/formats/*.py"],
        _tests(
            "tournaments",
            "formats_schedules formats_swiss formats_config schedule formats_store formats_runs "
            "sprt payoffs coverage",
        ),
    ),
    "clocks": Room(
        [f"{MIAI}/clock.py", f"{MIAI}/playing/match.py"],
        _tests("framework", "clock match record adjudication agent_process"),
    ),
    "store": Room(
        [f"{TOURNAMENTS}/store/*.py"],
        _tests(
            "tournaments",
            "store corrupt_rows faults bad_input ahead failures joining postgres_store",
        ),
    ),
    "solver": Room(
        _modules(f"{GO}/life", "ordering proof_tree prover solver walled zones"),
        _tests(
            "tsumego",
            "tsumego_solver tsumego_prover tsumego_proofs tsumego_walled tsumego_exhaustion "
            "tsumego_ordering tsumego_families",
        ),
    ),
}

# What may be edited ------------------------------------------------------------------------------

COMPARISONS = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
ARITHMETIC = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Add,),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult,),
    ast.Mod: (ast.FloorDiv,),
    ast.LShift: (ast.RShift,),
    ast.RShift: (ast.LShift,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
    ast.BitXor: (ast.BitOr,),
    ast.Pow: (ast.Mult,),
}
CALLS = {
    "min": "max",
    "max": "min",
    "any": "all",
    "all": "any",
    "mean": "median",
    "median": "mean",
    "floor": "ceil",
    "ceil": "floor",
    "append": "remove",
    "sorted": "list",
    "sum": "len",
    "argmax": "argmin",
    "argmin": "argmax",
    "maximum": "minimum",
    "minimum": "maximum",
    "discard": "add",
    "add": "discard",
}
FINAL = {"TYPE_CHECKING", "Field", "Literal", "TypeVar", "NewType", "cast", "Annotated"}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One edit of one module.

    Attributes:
      path: the module.
      function: qualified name of the function or class around the edit; "" in the module's body.
      line: the line of the edit, counted from 1; where it lies, not part of its identity.
      before, after: the expression or statement, without and with the edit.
      number: its number among equal edits of the function.
      start, end: the edit's range in bytes.
    """

    room: str
    path: str
    function: str
    line: int
    before: str
    after: str
    number: int
    start: int
    end: int

    @property
    def name(self) -> str:
        """What stays the same when the lines around it change."""
        again = f" #{self.number}" if self.number else ""
        return f"{self.path}:{self.function}: {self.before} -> {self.after}{again}"

    @property
    def rank(self) -> str:
        """Its place in the random order."""
        return hashlib.sha256(f"{SEED}:{self.name}".encode()).hexdigest()


class _Edits(ast.NodeVisitor):
    """Collects the edits of a module as (function, node, text instead of it)."""

    def __init__(self) -> None:
        self.edits: list[tuple[str, Any, str]] = []
        self._names: list[str] = []

    def add(self, node: ast.AST, after: ast.AST | str) -> None:
        text = after if isinstance(after, str) else f"({ast.unparse(after)})"
        self.edits.append((".".join(self._names), node, text))

    def visit(self, node: ast.AST) -> None:
        method = getattr(self, f"visit_{type(node).__name__}", None)
        if method is None:
            self.generic_visit(node)
        else:
            method(node)

    def _definition(self, node: Any) -> None:
        self._names.append(node.name)
        for child in node.body:
            self.visit(child)
        if hasattr(node, "args"):  # defaults, not annotations or decorators
            for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
                self.visit(default)
        self._names.pop()

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _definition  # noqa: N815

    def _nothing(self, node: ast.AST) -> None:
        """Leave out: texts, messages of errors, types, and what no test can see."""

    visit_JoinedStr = visit_Raise = visit_Import = visit_ImportFrom = _nothing  # noqa: N815
    visit_Assert = visit_Global = visit_TypeAlias = _nothing  # noqa: N815

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self.add(node, "pass")
            self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.add(node, "pass")
        for other in ARITHMETIC.get(type(node.op), ()):
            changed = copy.deepcopy(node)
            changed.op = other()
            self.add(node, ast.unparse(changed))
        self.visit(node.value)

    def visit_Compare(self, node: ast.Compare) -> None:
        for i, op in enumerate(node.ops):
            for other in COMPARISONS[type(op)]:
                changed = copy.deepcopy(node)
                changed.ops[i] = other()
                self.add(node, changed)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        for other in ARITHMETIC.get(type(node.op), ()):
            changed = copy.deepcopy(node)
            changed.op = other()
            self.add(node, changed)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        changed = copy.deepcopy(node)
        changed.op = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
        self.add(node, changed)
        for i in range(len(node.values)):
            fewer = copy.deepcopy(node)
            del fewer.values[i]
            self.add(node, fewer.values[0] if len(fewer.values) == 1 else fewer)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not | ast.USub):
            self.add(node, node.operand)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.add(node, ast.IfExp(node.test, node.orelse, node.body))
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            self.add(node, str(not value))
        elif isinstance(value, int):
            self.add(node, f"({value + 1})")
            self.add(node, f"({value - 1})")
        elif isinstance(value, float):
            self.add(node, f"({2 * value + (value == 0)})")

    def visit_Call(self, node: ast.Call) -> None:
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name in FINAL:
            return
        if name in CALLS:
            changed = copy.deepcopy(node)
            function: Any = changed.func
            setattr(function, "attr" if hasattr(function, "attr") else "id", CALLS[name])
            self.add(node, changed)
        symmetric = name in ("min", "max", "minimum", "maximum")
        if (
            len(node.args) == 2
            and not symmetric
            and all(isinstance(a, ast.Name | ast.Attribute) for a in node.args)
        ):
            swapped = copy.deepcopy(node)
            swapped.args.reverse()
            self.add(node, swapped)
        self.generic_visit(node)

    def visit_Break(self, node: ast.Break) -> None:
        self.add(node, "continue")

    def visit_Continue(self, node: ast.Continue) -> None:
        self.add(node, "break")


def mutants_of(room: str, path: Path, *, checked: bool = True) -> list[Mutant]:
    """Return the mutants of a module; those that do not compile only if not `checked`."""
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    visitor = _Edits()
    visitor.visit(ast.parse(source))
    name = path.relative_to(ROOT).as_posix()
    numbers: dict[tuple[str, str, str], int] = {}
    mutants: list[Mutant] = []
    for function, node, after in visitor.edits:
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        before = ast.unparse(node)
        key = (function, before, after)
        number = numbers[key] = numbers.get(key, -1) + 1
        mutant = Mutant(room, name, function, node.lineno, before, after, number, start, end)
        if not checked or _compiles(edited(mutant, source)):
            mutants.append(mutant)
    return mutants


def _compiles(source: bytes) -> bool:
    try:
        compile(source, "mutant", "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True


def edited(mutant: Mutant, source: bytes) -> bytes:
    """Return a module's source with the edit."""
    return source[: mutant.start] + mutant.after.encode() + source[mutant.end :]


def sample(rooms: Sequence[str], most: int) -> list[Mutant]:
    """Return mutants in random order, equally many from each room as far as it has them."""
    pools = []
    for room in rooms:
        paths = {path for glob in ROOMS[room].sources for path in ROOT.glob(glob)}
        pool = [m for path in sorted(paths) for m in mutants_of(room, path)]
        pools.append(sorted(pool, key=lambda mutant: mutant.rank))
    chosen: list[Mutant] = []
    for i in range(max(map(len, pools))):
        chosen += [pool[i] for pool in pools if i < len(pool)]
    return chosen[:most]


# Running ------------------------------------------------------------------------------------------


class Copy:
    """A copy of the checkout in which modules are edited and tests run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir(parents=True)
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            capture_output=True,
            cwd=ROOT,
            check=True,
        ).stdout.decode()
        for name in filter(None, listed.split("\0")):
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / name).is_file():
                shutil.copy2(ROOT / name, target)
        self._edits = 0
        self.environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([*(str(folder / p) for p in PACKAGES), str(folder)]),
            "PYTHONPYCACHEPREFIX": str(folder / ".bytecode"),
            "PYTHONHASHSEED": "0",
        }

    @contextlib.contextmanager
    def edit(self, mutant: Mutant) -> Iterator[None]:
        """Edit a module while the block runs."""
        path = self.folder / mutant.path
        source = path.read_bytes()
        kernels = path.parent / "__pycache__" if path.parent.name == "kernels" else None
        before = set(kernels.iterdir()) if kernels is not None and kernels.exists() else set()
        self._write(path, edited(mutant, source))
        try:
            yield
        finally:
            self._write(path, source)
            if kernels is not None and kernels.exists():
                for folder in set(kernels.iterdir()) - before:
                    shutil.rmtree(folder, ignore_errors=True)

    def _write(self, path: Path, source: bytes) -> None:
        """Write a module with a time of its own, by which Python knows its bytecode."""
        self._edits += 1
        path.write_bytes(source)
        bytecode = self.folder / ".bytecode" / str(path.parent).lstrip("/")
        for old in bytecode.glob(f"{path.stem}.cpython-*.pyc"):
            old.unlink()

    def test(self, files: Sequence[str], timeout: float) -> tuple[bool, str]:
        """Run tests until one fails; return whether all passed, and which failed or what hung."""
        words = ("-x", "-q", "-m", "not slow", "-p", "no:cacheprovider", "--no-header")
        command = [sys.executable, "-m", "pytest", *words, *files]
        process = subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment,
            text=True,
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            preexec_fn=_limit,
        )
        try:
            output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            return False, "timeout"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if process.returncode == 0:
            return True, ""
        lines = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]
        last = output.strip().splitlines()[-1:] or ["no output"]
        return False, lines[0].split(" - ")[
            0
        ] if lines else f"exit {process.returncode}: {last[0][:80]}"


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Run:
    """The mutants that are left, the workers' copies, and what is known of the tests' times."""

    def __init__(self, mutants: Sequence[Mutant], workers: int, commit: str) -> None:
        self.commit = commit
        self._jobs: dict[str, queue.SimpleQueue[Mutant]] = {}
        for mutant in mutants:
            self._jobs.setdefault(mutant.room, queue.SimpleQueue()).put(mutant)
        self._workers, self._total, self._done = workers, len(mutants), 0
        self._lock = threading.Lock()
        self._killers: dict[str, list[str]] = {}

    def run(self) -> None:
        """Run all, room by room."""
        copies = [Copy(SCRATCH / f"copy-{i}") for i in range(self._workers)]
        for room, jobs in self._jobs.items():
            seconds = self._baseline(copies, room)
            threads = [
                threading.Thread(target=self._work, args=(c, room, jobs, seconds)) for c in copies
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    def _baseline(self, copies: Sequence[Copy], room: str) -> float:
        """Run the unedited code; return the slowest copy's seconds, kernels compiled."""
        times = []

        def first(each: Copy) -> None:
            each.test(ROOMS[room].tests, 1800.0)  # compiles
            began = time.monotonic()
            passed, what = each.test(ROOMS[room].tests, 1800.0)
            times.append(time.monotonic() - began)
            if not passed:
                sys.exit(f"{room}: tests fail without a mutant: {what}")

        threads = [threading.Thread(target=first, args=(each,)) for each in copies]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if len(times) < len(copies):
            raise SystemExit(1)
        print(f"{room}: {max(times):.0f} s without a mutant", flush=True)
        return max(times)

    def _work(
        self, where: Copy, room: str, jobs: queue.SimpleQueue[Mutant], seconds: float
    ) -> None:
        while True:
            try:
                mutant = jobs.get_nowait()
            except queue.Empty:
                return
            with self._lock:
                killers = self._killers.setdefault(mutant.path, [])
                tests = [*killers, *(t for t in ROOMS[room].tests if t not in killers)]
            began = time.monotonic()
            with where.edit(mutant):
                compilation = COMPILATION if "/kernels/" in mutant.path else 0.0
                passed, what = where.test(tests, 2 * seconds + PATIENCE + compilation)
            self._record(mutant, passed, what, time.monotonic() - began)

    def _record(self, mutant: Mutant, survived: bool, what: str, seconds: float) -> None:
        row = {
            "mutant": mutant.name,
            "room": mutant.room,
            "line": mutant.line,
            "survived": survived,
            "by": what,
            "commit": self.commit,
            "seconds": round(seconds, 1),
        }
        with self._lock:
            file = what.partition(" ")[2].partition("::")[0]
            killers = self._killers[mutant.path]
            test = next((t for t in ROOMS[mutant.room].tests if file and file.startswith(t)), None)
            if test is not None:
                if test in killers:
                    killers.remove(test)
                killers.insert(0, test)
            self._done += 1
            with RESULTS.open("a", encoding="utf-8") as file_of_results:
                file_of_results.write(json.dumps(row) + "\n")
            fate = "SURVIVED" if survived else "killed"
            print(
                f"{self._done}/{self._total} {fate} {seconds:.0f} s {mutant.name} {what}",
                flush=True,
            )


# The page -----------------------------------------------------------------------------------------

HEAD = """# Mutation testing

`make mutants` makes {count} wrong edits, one at a time, and runs the tests that should notice: \
another comparison, a constant off by one, a lost sign, a statement left out, two arguments \
swapped. The edits are sampled with a fixed seed, equally many from each of these rooms. A mutant \
is killed if a test fails or hangs. Edits that change no behaviour are listed with the reason in \
`tests/equivalent_mutants.toml`.

| room | mutants | killed | argued equivalent | survived |
|---|---|---|---|---|
"""


def arguments_of_equivalence() -> dict[str, str]:
    """Return the reasons why mutants change no behaviour, by the mutants' names."""
    if not EQUIVALENT.exists():
        return {}
    rows = tomllib.loads(EQUIVALENT.read_text("utf-8"))["mutant"]
    return {name: row["reason"] for row in rows for name in row["names"]}


def read_results() -> dict[str, dict[str, Any]]:
    """Return the last result of each mutant."""
    if not RESULTS.exists():
        return {}
    rows = map(json.loads, RESULTS.read_text("utf-8").splitlines())
    return {row["mutant"]: row for row in rows}


def page(mutants: Sequence[Mutant], results: dict[str, dict[str, Any]]) -> str:
    """Return the page."""
    reasons = arguments_of_equivalence()
    text, survivors, sums = HEAD.format(count=len(mutants)), [], [0, 0, 0, 0]
    for room in dict.fromkeys(m.room for m in mutants if m.name in results):
        rows = [results[m.name] for m in mutants if m.room == room and m.name in results]
        alive = [row["mutant"] for row in rows if row["survived"]]
        argued = [name for name in alive if name in reasons]
        survivors += [name for name in alive if name not in reasons]
        counts = [len(rows), len(rows) - len(alive), len(argued), len(alive) - len(argued)]
        sums = [a + b for a, b in zip(sums, counts, strict=True)]
        text += f"| {room} | {' | '.join(map(str, counts))} |\n"
    share = (sums[1] + sums[2]) / max(1, sums[0])
    text += f"| all | {' | '.join(map(str, sums))} |\n\n"
    commits = sorted({results[m.name]["commit"] for m in mutants if m.name in results})
    date = datetime.now(tz=UTC).date().isoformat()
    text += f"{share:.1%} are killed or argued equivalent. {date}, commits {', '.join(commits)}.\n"
    if survivors:
        text += "\nSurvivors:\n\n" + "".join(f"- `{name}`\n" for name in survivors)
    return text


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the mutants and write the page; return 1 if more than one in twenty survive."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rooms", nargs="+", choices=list(ROOMS), default=list(ROOMS))
    parser.add_argument("--most", type=int, default=400, help="number of mutants")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--survivors", action="store_true", help="run survivors again")
    parser.add_argument("--again", action="store_true", help="run all again")
    parser.add_argument("--list", action="store_true", help="list the mutants, run none")
    options = parser.parse_args(arguments)
    mutants = sample(options.rooms, options.most)
    if options.list:
        print("\n".join(f"{m.room:12} {m.line:4} {m.name}" for m in mutants))
        return 0
    SCRATCH.mkdir(exist_ok=True)
    results, reasons = read_results(), arguments_of_equivalence()

    def wanted(mutant: Mutant) -> bool:
        row = results.get(mutant.name)
        if row is None or options.again:
            return True
        return options.survivors and row["survived"] and mutant.name not in reasons

    head = ["git", "rev-parse", "--short=7", "HEAD"]
    commit = subprocess.run(head, capture_output=True, text=True, cwd=ROOT, check=True).stdout
    Run([m for m in mutants if wanted(m)], options.workers, commit.strip()).run()
    results = read_results()
    text = page(mutants, results)
    print(text)
    if set(options.rooms) == set(ROOMS):
        PAGE.write_text(text, "utf-8")
    alive = sum(results[m.name]["survived"] and m.name not in reasons for m in mutants)
    return int(alive > len(mutants) / 20)


if __name__ == "__main__":
    sys.exit(main())
