"""``miai go tsumego generate|list``: problems made by the program."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from miai.cli.options import AsJson, Options, add_command, print_json

if TYPE_CHECKING:
    from miai_go.tsumego.problem_sgf import Problem
    from miai_go.tsumego.problems.generating import GeneratingJournal, WalledPlan


_LINE_SECONDS: Final = 30.0
_MAX_WORKERS: Final = 64


def add_commands(group: typer.Typer) -> None:
    """Add the commands to a group."""
    plan = Options("miai_go.tsumego.problems.generating:WalledPlan")
    add_command(group, "generate", generate, plan=plan)
    group.command("list")(list_problems)


def generate(
    plan: WalledPlan,
    out: Annotated[Path, typer.Option("--out", help="File (.sgf, .sgf.gz) or folder to write to.")],
    families: Annotated[
        bool, typer.Option("--families", help="Begin with the families, regardless of --empty.")
    ] = False,
    workers: Annotated[
        int, typer.Option("--workers", min=1, max=_MAX_WORKERS, help="Number of worker processes.")
    ] = 1,
    as_json: AsJson = False,
) -> None:
    """Generate problems with proved answers.

    They are random walled fights that are critical and interesting, no two of them equal under
    translation, symmetry and exchange of colours. The same seed gives the same problems. Repeat an
    interrupted command to resume it.
    """
    from miai_go.tsumego.problem_sgf import write_collection
    from miai_go.tsumego.problems.families import members

    command = (
        f"miai go tsumego generate --count {plan.count} --seed {plan.seed} --empty {plan.empty} "
        f"--nodes {plan.nodes}" + (" --families" if families else "")
    )
    if families:
        plan = plan.model_copy(update={"count": max(plan.count - len(list(members())), 0)})
    _check_out(out)
    began = time.perf_counter()
    problems, journal = _make(plan, out, workers, families=families, aside=as_json)
    digest = write_collection(out, problems, command=command)
    journal.remove()
    by_empty, seconds = _by_empty(problems), round(time.perf_counter() - began, 1)
    if as_json:
        row = {"problems": len(problems), "by_empty": by_empty, "sha256": digest}
        print_json({**row, "seconds": seconds})
        return
    sizes = ", ".join(f"{size}: {number}" for size, number in by_empty.items())
    print(f"{out}: {len(problems)} problems in {seconds} s; by empty points {sizes}")
    print(f"SHA-256 of the SGF {digest}; next: miai go solve {out}")


def list_problems(as_json: AsJson = False) -> None:
    """List the families and the shipped problems."""
    from miai_go.tsumego.problem_sgf import shipped_problems

    rows = _family_rows()
    problems = shipped_problems()
    statuses = Counter(_kind(problem) for problem in problems)
    if as_json:
        shipped = {
            "problems": len(problems),
            "by_kind": dict(statuses),
            "by_empty": _by_empty(problems),
            "by_board": {str(k): v for k, v in sorted(Counter(p.size for p in problems).items())},
        }
        print_json({"families": rows, "shipped": shipped})
        return
    for row in rows:
        counts = ", ".join(f"{number} {status}" for status, number in row["statuses"].items())
        print(f"{row['family']:32} {row['members']:3}  empty {row['empty']:6} {counts}")
    print(f"shipped: {len(problems)} problems")
    for kind, number in sorted(statuses.items()):
        print(f"    {number:5}  {kind}")
    print("    by empty points:")
    for size, number in _by_empty(problems).items():
        print(f"    {number:5}  {size}")


def _make(
    plan: WalledPlan, out: Path, workers: int, *, families: bool, aside: bool
) -> tuple[list[Problem], GeneratingJournal]:
    from miai.progress import make_progress
    from miai_go.tsumego.problems.families import family_keys, family_problems
    from miai_go.tsumego.problems.generating import GeneratingJournal, draws_of, make_walled, shares

    view = make_progress("Generate problems", unit="problems", aside=aside)

    def show(empty: int, done: int, goal: int) -> None:
        status = f"{empty} empty points: {done} of {goal} problems"
        view.reach(before[empty] + done, status, every=_LINE_SECONDS)

    before, count = {}, 0
    for empty, goal in shares(plan).items():
        before[empty], count = count, count + goal
    journal = GeneratingJournal(out, draws_of(plan))
    try:
        begin = [problem for _, problem in family_problems()] if families else []
        known = family_keys() if families else frozenset()
        view.begin(done=0, total=plan.count)
        walled = make_walled(plan, journal, workers=workers, excluded=known, progress=show)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"interrupted; {journal.path} has the problems so far: repeat the command to resume"
        ) from None
    finally:
        view.close()
    return begin + walled, journal


def _check_out(out: Path) -> None:
    """Check that the name of the output is that of a file, or of a folder."""
    from miai_go.errors import ProblemError

    if out.name.endswith((".sgf", ".sgf.gz")):
        if out.is_dir():
            raise ProblemError(f"--out {out}: is a folder; name a file in it")
    elif out.suffix or out.is_file():
        raise ProblemError(f"--out {out}: name a file that ends in .sgf or .sgf.gz, or a folder")


def _family_rows() -> list[dict[str, Any]]:
    from miai_go.tsumego.problems.families import members
    from miai_go.tsumego.zones import find_zone

    rows = []
    for family, group in groupby(members(), key=lambda member: member.family):
        statuses, sizes = Counter[str](), []
        for member in group:
            problem = member.diagram.place(19)
            sizes.append(find_zone(problem.stones, problem.target).empty)
            statuses[member.fate.status.value + (" (ko)" if member.fate.ko else "")] += 1
        rows.append(
            {
                "family": family,
                "members": len(sizes),
                "empty": f"{min(sizes)}-{max(sizes)}",
                "statuses": dict(statuses),
                "source": member.source,
            }
        )
    return rows


def _by_empty(problems: Iterable[Problem]) -> dict[str, int]:
    counts = Counter(problem.empty for problem in problems if problem.empty is not None)
    return {str(empty): counts[empty] for empty in sorted(counts)}


def _kind(problem: Problem) -> str:
    if problem.to_play is None:
        return "alive" if problem.safe else "dead"
    return f"critical, {'defender' if problem.safe else 'attacker'} to play"
