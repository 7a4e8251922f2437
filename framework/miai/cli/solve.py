"""``miai solve``: an approximate equilibrium of a game, by regret minimisation."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from miai.cli.play import GameName, GameSettings, game_of
from miai.errors import ConfigError

if TYPE_CHECKING:
    from miai.equilibria.solver import Solver

SOLUTION: Final = "solution.safetensors"
_FLOOR: Final = 1e-12  # of a logarithmic axis


class SolverName(StrEnum):
    """The algorithms."""

    CFR = "cfr"
    CFR_PLUS = "cfr+"
    PCFR_PLUS = "pcfr+"


def add_commands(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("solve")(solve)


def solve(
    game_name: GameName,
    settings: GameSettings = None,
    solver_name: Annotated[
        SolverName, typer.Option("--solver", help="Algorithm (default pcfr+).", show_default=False)
    ] = SolverName.PCFR_PLUS,
    iterations: Annotated[int, typer.Option(min=1, help="Iterations (default 1000).")] = 1000,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder (default: runs/GAME-SOLVER).")
    ] = None,
    max_histories: Annotated[
        int, typer.Option(min=1, help="Largest tree that is extracted (default 5,000,000).")
    ] = 5_000_000,
) -> None:
    """Solve a game of two players and constant sum; an existing DIR is continued.

    DIR then contains the policy, solution.safetensors, which the agent `solved` plays, and how it
    converged as a table and a plot.
    """
    from miai.api import load_game
    from miai.files import locked
    from miai.plugins.extras import missing_extra
    from miai.progress import make_progress, show_activity

    name, parameters = game_of(game_name, settings or [])
    game = load_game(name, **parameters)
    try:
        from miai.equilibria.solver import Solver, run
        from miai.equilibria.tree import extract
    except ImportError as error:
        raise missing_extra(error, "miai", "miai solve") or error from None
    with show_activity("Extracting the tree") as show:
        tree = extract(
            game, max_histories=max_histories, progress=lambda n: show(f"{n:,} histories")
        )
    print(
        f"{game.info.title}: {tree.histories:,} histories, {len(tree):,} information sets, "
        f"{tree.slots:,} actions in them"
    )
    folder = out or Path("runs") / f"{game.info.name.replace(':', '-')}-{solver_name}"
    folder.mkdir(parents=True, exist_ok=True)
    busy = ConfigError(f"--out {folder}: another process works there; wait, or name another folder")
    with locked(folder / ".lock", busy):
        solver = Solver(tree, solver_name.value)
        if (folder / SOLUTION).exists():
            solver.load(folder / SOLUTION)
            print(f"continuing after {solver.iterations:,} iterations")
        progress = make_progress(
            f"Solving {game.info.title} by {solver_name}",
            unit="iterations",
            hint="Ctrl-C stops; the same command continues",
        )
        try:
            run(solver, iterations, folder / SOLUTION, progress)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f"stopped after {solver.iterations:,} iterations; the same command continues"
            ) from None
        _report(solver, folder)


def _report(solver: Solver, folder: Path) -> None:
    """Print how the solver converged, and write it as a table and a plot."""
    from miai.files import write_text
    from miai.pages.charts import Axis, Plot, Points, figure

    lines = [f"{count},{value!r},{regret!r}" for count, value, regret in solver.rows]
    head = "iterations,value_of_first_player,exploitability"
    write_text(folder / "convergence.csv", "\n".join([head, *lines]) + "\n")
    points = [(float(count), max(_FLOOR, regret)) for count, _, regret in solver.rows]
    title = f"{solver.tree.game.info.title}: exploitability of the average policy"
    plot = Plot(
        title=solver.algorithm,
        x=Axis(label="iterations", logarithmic=True),
        y=Axis(label="exploitability", logarithmic=True),
        marks=[Points(label="", points=points, series=0)],
        width=400,
    )
    write_text(folder / "convergence.svg", figure(title, [[plot]]))
    print("iterations  value of the first player  exploitability")
    for count, value, regret in solver.rows:
        print(f"{count:10,}  {value:25.6f}  {regret:14.3e}")
    print(f"Written to {folder}: {SOLUTION}, convergence.csv, convergence.svg")
