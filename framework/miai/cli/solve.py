"""``miai solve``: an approximate equilibrium of a game, by regret minimisation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from miai.cli.play import GameName, GameSettings, game_of
from miai.errors import ConfigError

if TYPE_CHECKING:
    from miai.equilibria.solver import EquilibriumSolver

SOLUTION: Final = "solution.safetensors"
_FLOOR: Final = 1e-12  # of a logarithmic axis


def add_commands(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("solve")(solve)


def solve(
    game_name: GameName,
    settings: GameSettings = None,
    algorithm: Annotated[
        Literal["cfr", "cfr+", "pcfr+"], typer.Option("--solver", help="Algorithm.")
    ] = "pcfr+",
    iterations: Annotated[int, typer.Option(min=1, help="Number of iterations.")] = 1000,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder (default: runs/GAME-SOLVER).")
    ] = None,
    max_histories: Annotated[
        int, typer.Option(min=1, help="Largest tree that is extracted.")
    ] = 5_000_000,
) -> None:
    """Solve a game of two players and constant sum; an existing DIR is continued.

    DIR then contains the policy, solution.safetensors, which the agent `solved` plays, and how it
    converged as a table and a plot.
    """
    from miai.api import load_game
    from miai.files import locked, writing
    from miai.plugins.extras import missing_extra
    from miai.progress import make_progress, show_activity

    name, parameters = game_of(game_name, settings or [])
    game = load_game(name, **parameters)
    try:
        from miai.equilibria.solver import EquilibriumSolver, run
        from miai.equilibria.tree import extract
    except ImportError as error:
        raise missing_extra(error, "miai", "miai solve") or error from None
    with show_activity("Extracting the tree") as show:
        tree = extract(game, max_histories=max_histories, progress=lambda n: show(f"{n:,}"))
    sizes = f"{tree.histories:,} histories, {len(tree):,} information sets, {tree.slots:,} actions"
    print(f"{game.info.title}: {sizes}")
    folder = out or Path("runs") / f"{game.info.name.replace(':', '-')}-{algorithm}"
    with writing(folder, ConfigError, remedy="name another folder with --out"):
        folder.mkdir(parents=True, exist_ok=True)
    busy = ConfigError(f"--out {folder}: another process works there; wait, or name another folder")
    with locked(folder / ".lock", busy):
        solver = EquilibriumSolver(tree, algorithm)
        if (folder / SOLUTION).exists():
            solver.load(folder / SOLUTION)
            print(f"continuing after {solver.iterations:,} iterations")
        hint = "Ctrl-C stops; the same command continues"
        progress = make_progress(f"Solving by {algorithm}", unit="iterations", hint=hint)
        try:
            run(solver, iterations, folder / SOLUTION, progress)
        except KeyboardInterrupt:
            stopped = f"stopped after {solver.iterations:,} iterations"
            raise KeyboardInterrupt(f"{stopped}; the same command continues") from None
        _report(solver, folder)


def _report(solver: EquilibriumSolver, folder: Path) -> None:
    """Print how the solver converged, and write it as a table and a plot."""
    from miai.files import write_text
    from miai.pages.charts import Axis, Plot, Points, figure

    head = "iterations,value_of_first_player,exploitability\n"
    lines = [f"{count},{value!r},{regret!r}\n" for count, value, regret in solver.rows]
    write_text(folder / "convergence.csv", "".join([head, *lines]))
    points = [(float(count), max(_FLOOR, regret)) for count, _, regret in solver.rows]
    x, y = (Axis(label=label, logarithmic=True) for label in ("iterations", "exploitability"))
    marks = [Points(label="", points=points, series=0)]
    plot = Plot(title=solver.algorithm, x=x, y=y, marks=marks, width=400)
    title = f"{solver.tree.game.info.title}: exploitability of the average policy"
    write_text(folder / "convergence.svg", figure(title, [[plot]]))
    print("iterations  value of the first player  exploitability")
    for count, value, regret in solver.rows:
        print(f"{count:10,}  {value:25.6f}  {regret:14.3e}")
    print(f"Written to {folder}: {SOLUTION}, convergence.csv, convergence.svg")
