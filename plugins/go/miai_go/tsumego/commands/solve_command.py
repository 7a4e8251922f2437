"""``miai go solve``: solve problems of life and death by proof."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Sequence
from enum import StrEnum
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from miai.cli.options import AsJson, print_json
from miai_go.errors import ProblemError

if TYPE_CHECKING:
    from miai_go.tsumego.problem_sgf import Problem
    from miai_go.tsumego.solver.reports import Summary
    from miai_go.tsumego.solver.solver import ProblemReport, Solver


_DURATION: Final = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?)(ms|s|m|h)?")
_UNITS: Final = {"ms": 0.001, None: 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
_LINE_SECONDS: Final = 30.0


class First(StrEnum):
    """The side that moves first."""

    ATTACKER = "attacker"
    DEFENDER = "defender"


class KoSide(StrEnum):
    """The ko master, who may retake every ko at once."""

    ATTACKER = "attacker"
    DEFENDER = "defender"
    NOBODY = "nobody"


ProblemFiles = Annotated[
    list[Path], typer.Argument(help="SGF files with problems, folders or archives.")
]
FirstMover = Annotated[
    First | None,
    typer.Option("--first", help="First mover to find solving moves for (default: both)."),
]
KoMaster = Annotated[
    KoSide, typer.Option("--ko", help="Ko master, who may retake every ko at once.")
]
TimeLimit = Annotated[
    str | None,
    typer.Option(
        "--limit",
        help="Time limit per problem, such as 500ms or 2m (default: 10s, none with --nodes).",
    ),
]
MaxNodes = Annotated[
    int | None, typer.Option("--nodes", min=1, help="Maximum positions per problem.")
]
TableMemory = Annotated[
    int, typer.Option("--memory", min=1, max=1 << 16, help="Memory for the search table, MiB.")
]
TreeFile = Annotated[
    Path | None, typer.Option("--tree", help="SGF file for the proof of a single problem.")
]
TreeNodes = Annotated[
    int,
    typer.Option("--tree-nodes", min=1, max=100_000, help="Maximum nodes in the file of --tree."),
]
MaxProblems = Annotated[
    int | None, typer.Option("--most", min=1, help="Maximum number of problems to solve.")
]
OrderingNetwork = Annotated[
    str,
    typer.Option(
        "--network",
        metavar="NAME|FILE",
        help="Network that orders the search: shipped, none or a file.",
    ),
]


def add_commands(group: typer.Typer) -> None:
    """Add the command to a group."""
    group.command("solve")(solve)


def solve(
    paths: ProblemFiles,
    first: FirstMover = None,
    ko: KoMaster = KoSide.ATTACKER,
    limit: TimeLimit = None,
    nodes: MaxNodes = None,
    memory: TableMemory = 256,
    tree: TreeFile = None,
    tree_nodes: TreeNodes = 2_000,
    max_problems: MaxProblems = None,
    network: OrderingNetwork = "shipped",
    as_json: AsJson = False,
) -> None:
    """Solve problems of life and death: is the marked block safe, and which moves decide it?

    A problem is an SGF position with a mark (MA) on the block in question. Several problems get one
    line each and a summary; those that cannot be read are listed there.
    """
    from miai_go.tsumego.solver.ordering_net import find_ordering
    from miai_go.tsumego.solver.solver import KO_MASTERS, Solver

    advice = find_ordering(network)
    seconds = None if limit is None and nodes is not None else seconds_of(limit or "10s")
    sides = _sides(first)
    masters = sorted(KO_MASTERS, key=lambda master: master.name.lower() != ko.value)
    # Read before the first search, so that a mistake in the last file shows at once.
    problems = _read_problems(paths, max_problems, single=tree is not None)
    last: tuple[Problem, Solver, ProblemReport] | None = None
    results = _Results(len(problems), as_json=as_json)
    try:
        for problem in problems:
            if isinstance(problem, ProblemError):
                results.refuse(problem)
                continue
            try:
                solver = Solver(
                    problem, ko_masters=masters, table_bytes=memory << 20, network=advice
                )
            except ProblemError as error:
                results.refuse(ProblemError(f"{problem.name}: {error}"))
                continue
            report = solver.solve(
                first=None if first is None else sides[0], seconds=seconds, nodes=nodes
            )
            results.add(problem, report)
            last = (problem, solver, report)
    except KeyboardInterrupt:
        results.stopped = True
    finally:
        results.close()
    results.conclude()
    if tree is not None and last is not None:
        problem, solver, report = last
        _check_solved(tree, report, sides)
        write_tree(tree, problem, solver, first, nodes=tree_nodes)


def _read_problems(
    paths: Sequence[Path], count: int | None, *, single: bool
) -> list[Problem | ProblemError]:
    """Return the first problems of files, with an error in place of each that is unreadable."""
    from miai_go.tsumego.problem_sgf import problems_of

    problems = list(islice(chain.from_iterable(map(problems_of, paths)), count))
    readable = sum(not isinstance(problem, ProblemError) for problem in problems)
    if not problems:
        raise ProblemError(f"{', '.join(map(str, paths))}: contains no SGF")
    if single and readable != 1:
        raise ProblemError(
            f"--tree shows the proof of one problem, not of {readable}; set --most 1"
        )
    return problems


def seconds_of(text: str) -> float:
    """Return the seconds of a duration such as 10s, 500ms or 2m. Raises `ProblemError`."""
    match = _DURATION.fullmatch(text.strip())
    seconds = float(match[1]) * _UNITS[match[2]] if match else 0.0
    if not seconds:
        raise ProblemError(f"--limit {text[:40]!r} is not a time; write 500ms, 10s or 2m")
    return seconds


def _sides(first: First | None) -> tuple[int, ...]:
    return (0, 1) if first is None else (list(First).index(first),)


class _Results:
    """Prints each problem when it is solved, and the summary; with --json, all at the end."""

    def __init__(self, count: int, *, as_json: bool) -> None:
        from miai.progress import make_progress
        from miai_go.tsumego.solver.reports import Summary

        self.summary: Summary = Summary()
        self.stopped = False
        self._count, self._alone = count, count == 1
        self._json = as_json
        self._rows: list[dict[str, Any]] = []
        self._view = make_progress("Solve problems", unit="problems", aside=as_json)
        if not self._alone:
            self._view.begin(done=0, total=count)

    def add(self, problem: Problem, report: ProblemReport) -> None:
        """Print a problem and its report."""
        from miai_go.tsumego.solver import reports

        self.summary.add(problem, report)
        if self._json:
            self._rows.append(reports.plain(problem, report))
        elif self._alone:
            print(reports.describe(problem, report), flush=True)
        else:
            self._view.note(reports.describe_in_a_line(problem, report))
        self._advance()

    def refuse(self, error: ProblemError) -> None:
        """Add a problem that cannot be read to the summary."""
        self.summary.unreadable.append(str(error))
        self._advance()

    def close(self) -> None:
        """Remove the progress bar."""
        self._view.close()

    def conclude(self) -> None:
        """Print the summary; raise what ends the command with an error."""
        if self._json:
            rows = {"problems": self._rows, "unreadable": self.summary.unreadable}
            end = {"summary": self.summary.as_dict(), "interrupted": self.stopped}
            print_json({**rows, **end})
        elif not self._alone or self.summary.unreadable:
            print("\n".join(self.summary.lines()))
        sys.stdout.flush()
        if self.stopped:
            done = self.summary.count + len(self.summary.unreadable)
            raise KeyboardInterrupt(f"interrupted after {done} of {self._count} problems")
        if not self.summary.count:
            raise ProblemError("no problem could be read; see the errors above")

    def _advance(self) -> None:
        if not self._alone:
            self._view.advance("solved", every=_LINE_SECONDS if self._json else math.inf)
            self._view.refresh()


def _check_solved(tree: Path, report: ProblemReport, sides: tuple[int, ...]) -> None:
    if any(report.answers[side].is_safe is None for side in sides):
        raise ProblemError(
            f"{tree}: not written: there is no proof to show for an unsolved problem; raise "
            "--limit or --nodes"
        )


def write_tree(
    path: Path,
    problem: Problem,
    solver: Solver,
    first: First | None = None,
    *,
    nodes: int = 2_000,
    seconds: float | None = 30.0,
) -> None:
    """Write the proofs of a problem, for one first mover or both.

    Raises:
      ProblemError: the problem is not solved within the time, or the file cannot be written.
    """
    from miai.files import write_bytes, writing
    from miai_go.tsumego.solver.proof_tree import proof_tree, write_proofs

    prover = solver.prover()
    proofs = [proof_tree(prover, side, nodes=nodes, seconds=seconds) for side in _sides(first)]
    with writing(path, ProblemError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, write_proofs(problem, proofs))
